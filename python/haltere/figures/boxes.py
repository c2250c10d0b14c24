"""Box plots: how a metric is spread over the treatments of an experiment, a value a treatment (its mean).

A box holds the middle half of the values, its line is the median and its diamond the mean. Whiskers end at the farthest
value within 1.5 interquartile ranges of the box, and what lies beyond is drawn alone (J. W. Tukey, Exploratory Data
Analysis, 1977).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from haltere.figures.parts import AnyMark, Axis, Box, Figure, Table
from haltere.figures.samples import Part, listed_axis, sample
from haltere.figures.spec import Data, Description, SideBySide
from haltere.metrics import Metric, quantities
from haltere.metrics.text import significant

_REACH = 1.5
"""Interquartile ranges that a whisker reaches at most."""


class Boxes(SideBySide):
    """Box plots over treatments: `metric` on y, the levels of `x` on x, the levels of `series` side by side."""

    description = Description(
        "boxes",
        "box",
        "How a metric is spread over treatments.",
        section="Spread over treatments",
        hint="A box holds the middle half of the treatments, each with its mean; its line is the median, its diamond "
        "the mean, and whiskers end within 1.5 times its height.",
    )

    log: bool = True
    """Whether y is logarithmic."""

    def figure(self, data: Data) -> Figure:
        """Compute what is drawn."""
        whole = sample(data, self, only=self.only)
        factors = [column for column in whole.frame.columns if column not in ("replication", "value")]
        means = whole.frame.group_by(factors).agg(pl.col("value").mean()).sort(factors, nulls_last=True)
        whole = replace(whole, frame=means)
        label = data.words.factor(self.x)
        x, places = listed_axis(label, self.x, whole.levels(self.x))
        unit = f" {whole.metric.unit}" if whole.metric.unit else ""
        every: list[Spread] = []
        rows: list[Sequence[str]] = []

        def marks(part: Part) -> Sequence[AnyMark]:
            found = []
            for level, values in part.split(self.x, places):
                one, text = spread(values), quantities.text(level, self.x)
                every.append(one)
                rows.append((text, part.place, *one.texts()))
                at = part.beside(places[level])
                box = Box(at, 0.8 * part.width, one.quartiles, (one.low, one.high), one.mean, one.beyond,
                          place=part.at(data.words.level(self.x, level)), value=one.says(unit))  # fmt: skip
                found.append(box)
            return found

        figure = whole.draw(x, Axis(whole.metric.axis, 0.0, 1.0), marks)
        y = _axis(whole.metric, every, log=self.log)
        heads = (label[:1].upper() + label[1:], "", "Median", "Mean", "Quartiles", "Treatments")
        order = [text for _, text in x.names]
        rows.sort(key=lambda row: order.index(row[0]) if row[0] in order else 0)
        panels = [replace(panel, y=y) for panel in figure.panels]
        return replace(figure, panels=panels, own_table=Table(heads, rows))


@dataclass(frozen=True, slots=True)
class Spread:
    """The numbers of a box: the quartiles, the ends of the whiskers, the mean, the values beyond, the number of all."""

    quartiles: tuple[float, float, float]
    low: float
    high: float
    mean: float
    beyond: tuple[float, ...]
    count: int

    def texts(self) -> Sequence[str]:
        """Median, mean, quartiles and number of values, as a table shows them."""
        first, median, third = map(significant, self.quartiles)
        return median, significant(self.mean), f"{first} to {third}", str(self.count)

    def says(self, unit: str) -> str:
        """The answer of the box when pointed at."""
        first, median, third = map(significant, self.quartiles)
        return (
            f"median {median}, mean {significant(self.mean)}, quartiles {first} and {third}{unit}, "
            f"{self.count} treatments, {len(self.beyond)} beyond the whiskers"
        )


def spread(values: Sequence[float]) -> Spread:
    """The numbers of a box. Raises `ValueError` without values."""
    if not values:
        raise ValueError("a box needs a value")
    sample = np.sort(np.asarray(values, dtype=np.float64))
    first, median, third = (float(q) for q in np.quantile(sample, [0.25, 0.5, 0.75]))
    reach = _REACH * (third - first)
    inside = (sample >= first - reach) & (sample <= third + reach)
    within, beyond = sample[inside], tuple(sample[~inside].tolist())
    return Spread(
        (first, median, third), float(within[0]), float(within[-1]), float(sample.mean()), beyond, sample.size
    )


def _axis(metric: Metric, found: Sequence[Spread], *, log: bool) -> Axis:
    ends = [value for one in found for value in (one.low, one.high, one.mean, *one.beyond)]
    positive = [value for value in ends if value > 0]
    if log and positive:
        return Axis(metric.axis, min(positive) / 1.3, max(positive) * 1.3, log=True)
    high = max(ends)
    return Axis(metric.axis, min(0.0, *ends), high * 1.05 if high > 0 else 1.0)
