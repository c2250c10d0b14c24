"""Violins: the density of a metric over runs, with median and quartiles.

The density is a Gaussian kernel estimate with Scott's bandwidth (D. W. Scott, Multivariate Density Estimation, 1992),
of the logarithms on a logarithmic axis; it ends at the least and the largest value.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import gaussian_kde

from haltere.figures.chart import (
    ChartFigure,
    ChartPanel,
    Dot,
    Sample,
    Shape,
    Strand,
    category_axis,
    named,
    number_axis,
    sample,
    title_of,
)
from haltere.figures.plots import Point
from haltere.figures.spec import FigureList, Violins
from haltere.metrics import quantities
from haltere.metrics.tables import Tables
from haltere.metrics.text import significant

_STEPS = 48


def violins(tables: Tables, spec: Violins, words: FigureList) -> ChartFigure:
    """The numbers of a figure of violins. Raises `NotInResultsError` if the results hold none of them."""
    whole = sample(tables, spec, words, [spec.x])
    present = set(whole.frame[spec.x].to_list())
    levels = [level for level in whole.levels[spec.x] if level in present]
    x, ticks, places = category_axis(words.factor(spec.x), spec.x, levels)
    y = number_axis(whole.metric.axis, [float(value) for value in whole.frame["value"]], log=spec.log)
    names = [level for level, _ in whole.split(spec.series)]
    width = 0.8 / len(names)
    panels = []
    for panel, part in whole.split(spec.panels):
        strands = []
        for level, one in Sample(part, whole.metric, whole.levels).split(spec.series):
            looks, label = named(whole, spec.series, level, spec)
            offset = (names.index(level) - (len(names) - 1) / 2) * width
            shapes, dots = [], []
            for at, runs in Sample(one, whole.metric, whole.levels).split(spec.x):
                values = np.asarray(runs["value"].to_list(), dtype=np.float64)
                texts = (quantities.text(panel, spec.panels), label, quantities.text(at, spec.x))
                place, centre = ", ".join(text for text in texts if text), places[at] + offset
                first, middle, third = (float(q) for q in np.quantile(values, [0.25, 0.5, 0.75]))
                said = f"median {significant(middle)}, quartiles {significant(first)} and {significant(third)}"
                said = " ".join(filter(None, (said, whole.metric.unit))) + f", {values.size} runs"
                shapes.append(Shape(outline(values, centre, 0.46 * width, log=y.log), 0.45, place, said))
                dots.append(Dot(centre, middle, place, said, first, third))
            strands.append(Strand(looks, label, dots=dots, shapes=shapes))
        panels.append(ChartPanel(quantities.text(panel, spec.panels), strands))
    return ChartFigure(spec, whole.metric, title_of(spec, whole.metric.label), x, y, panels, ticks)


def outline(values: NDArray[np.float64], centre: float, half: float, *, log: bool) -> list[Point]:
    """The outline of a violin: as wide as the density, `half` to each side where that is largest."""
    scale = np.log(values) if log else values
    low, high = float(scale.min()), float(scale.max())
    if values.size < 3 or high == low:
        flat = float(values.mean())
        return [(centre - half, flat), (centre + half, flat)]
    at = np.linspace(low, high, _STEPS)
    density = gaussian_kde(scale)(at)
    widths = half * density / density.max()
    levels = np.exp(at) if log else at
    right = [(centre + float(w), float(v)) for w, v in zip(widths, levels, strict=True)]
    return right + [(2 * centre - px, py) for px, py in reversed(right)]
