"""Cumulative distributions of a metric over runs."""

from __future__ import annotations

import numpy as np

from haltere.figures.chart import (
    ChartFigure,
    ChartPanel,
    Dot,
    Sample,
    Strand,
    named,
    number_axis,
    sample,
    thinned,
    title_of,
)
from haltere.figures.plots import Axis
from haltere.figures.spec import Cdfs, Chart, FigureList
from haltere.metrics import quantities
from haltere.metrics.tables import Tables
from haltere.metrics.text import significant

_TOLD = (0.1, 0.25, 0.5, 0.75, 0.9)
"""The shares at which a curve answers."""


def cdfs(tables: Tables, spec: Cdfs, words: FigureList) -> ChartFigure:
    """The numbers of a figure of distributions. Raises `NotInResultsError` if the results hold none of them."""
    whole = sample(tables, spec, words, [])
    panels = []
    for panel, part in whole.split(spec.panels):
        inside = Sample(part, whole.metric, whole.levels)
        title = quantities.text(panel, spec.panels)
        strands = [
            _strand(inside, spec, level, one["value"].to_list(), title) for level, one in inside.split(spec.series)
        ]
        panels.append(ChartPanel(title, strands))
    values = [float(value) for value in whole.frame["value"]]
    x = number_axis(whole.metric.axis, values, log=spec.log)
    return ChartFigure(
        spec, whole.metric, title_of(spec, whole.metric.label), x, Axis("share of runs", 0.0, 1.0), panels
    )


def _strand(inside: Sample, spec: Chart, level: str, values: list[float], panel: str) -> Strand:
    looks, label = named(inside, spec.series, level, spec)
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    line = [(float(ordered[0]), 0.0)]
    line += [(float(ordered[i]), (i + 1) / ordered.size) for i in thinned(ordered.size)]
    dots = []
    for share in _TOLD:
        at = float(np.quantile(ordered, share, method="inverted_cdf"))
        place = ", ".join(name for name in (panel, label, f"{100 * share:.0f} % of {ordered.size} runs") if name)
        unit = f" {inside.metric.unit}" if inside.metric.unit else ""
        dots.append(Dot(at, share, place, f"at most {significant(at)}{unit}"))
    return Strand(looks, label, line, steps=True, dots=dots)
