"""Lines with 95 % intervals, cumulative distributions, and scatter plots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import polars as pl

from haltere.errors import counted
from haltere.figures.parts import AnyMark, Axis, Dot, Figure, Line, NotInResultsError
from haltere.figures.samples import (
    Part,
    ends,
    factor_axis,
    joined,
    mean_axis,
    number_axis,
    sample,
    thinned,
    value_text,
    wide_range,
)
from haltere.figures.spec import Chart, Data, Description
from haltere.metrics.text import significant


class Lines(Chart):
    """The metric's mean with its 95 % interval along the factor `x`, to scale where its levels are quantities.

    Levels that are names are points beside each other: no line joins them, as nothing lies between.
    """

    description = Description("lines", "line", "Means with 95 % intervals along a factor.")

    x: str

    def figure(self, data: Data) -> Figure:
        """Compute what is drawn."""
        whole = sample(data, self)
        found, levels = whole.means(self.x), whole.levels(self.x)
        x, places = factor_axis(data.words.factor(self.x), self.x, levels)

        def marks(part: Part) -> Sequence[AnyMark]:
            dots = []
            for level in levels:
                mean = found.get((*part.keys, level))
                if mean is not None:
                    place = part.at(data.words.level(self.x, level))
                    value = value_text(mean, whole.metric)
                    at = part.along(x, places[level])
                    dots.append(Dot(at, mean.value, y_ends=ends(mean), place=place, value=value))
            return joined(x, dots)

        values = [value for mean in found.values() for value in (mean.value, *(ends(mean) or ()))]
        if self.log or (self.log is None and wide_range(found.values())):
            y = mean_axis(whole.metric.axis, found.values())
        else:
            y = number_axis(whole.metric.axis, values, log=False, zero=min(values) >= 0)
        return whole.draw(x, y, marks)


_TOLD = (0.1, 0.25, 0.5, 0.75, 0.9)
"""The shares at which a curve answers."""


class Cdfs(Chart):
    """The cumulative distribution of the metric over runs."""

    description = Description("cdfs", "cdf", "The cumulative distribution over runs.")

    def figure(self, data: Data) -> Figure:
        """Compute what is drawn."""
        whole = sample(data, self)
        unit = f" {whole.metric.unit}" if whole.metric.unit else ""

        def marks(part: Part) -> Sequence[AnyMark]:
            ordered = np.sort(part.frame["value"].to_numpy())
            line = [(float(ordered[0]), 0.0)]
            line += [(float(ordered[i]), (i + 1) / ordered.size) for i in thinned(ordered.size)]
            dots = []
            for share in _TOLD:
                at = float(np.quantile(ordered, share, method="inverted_cdf"))
                place = part.at(f"{100 * share:.0f} % of {counted(ordered.size, 'run')}")
                dots.append(Dot(at, share, form="answer", place=place, value=f"at most {significant(at)}{unit}"))
            return [Line(line, steps=True), *dots]

        x = number_axis(whole.metric.axis, whole.frame["value"].to_list(), log=bool(self.log))
        return whole.draw(x, Axis("share of runs", 0.0, 1.0), marks)


class Scatters(Chart):
    """The metric against another one, `against`, a point a treatment (its means) or a run."""

    description = Description("scatters", "scatter", "A metric against another one.")
    metrics = ("metric", "against")

    against: str
    each: Literal["treatment", "run"] = "treatment"

    def figure(self, data: Data) -> Figure:
        """Compute what is drawn."""
        whole, other = sample(data, self), sample(data, self, metric=self.against)
        factors = [name for name in whole.frame.columns if name not in ("replication", "value")]
        both = whole.frame.join(
            other.frame.rename({"value": "other"}),
            on=[*factors, "replication"],
            how="inner",
            nulls_equal=True,
            maintain_order="left",
        )
        if both.is_empty():
            message = f"no completed run has both {whole.metric.label.lower()} and {other.metric.label.lower()}"
            raise NotInResultsError(message)
        if self.each == "treatment":
            both = both.group_by(factors, maintain_order=True).agg(pl.col("value", "other").mean())

        def dot(row: dict[str, Any]) -> Dot:
            place = ", ".join(data.words.level(name, row[name]) for name in factors if row[name] is not None)
            if self.each == "run":
                place += f", replication {row['replication']}"
            value = ", ".join(
                f"{one.metric.label} {significant(row[column])} {one.metric.unit}".strip()
                for one, column in ((other, "other"), (whole, "value"))
            )
            return Dot(row["other"], row["value"], form="point", place=place, value=value)

        def marks(part: Part) -> Sequence[AnyMark]:
            return [dot(row) for row in part.frame.to_dicts()]

        x = number_axis(other.metric.axis, both["other"].to_list(), log=bool(self.log))
        y = number_axis(whole.metric.axis, both["value"].to_list(), log=bool(self.log))
        return replace(whole, frame=both).draw(x, y, marks)
