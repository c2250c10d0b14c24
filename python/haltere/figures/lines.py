"""Lines along a factor: means with 95 % intervals over replications."""

from __future__ import annotations

import polars as pl

from haltere.figures.chart import (
    ChartFigure,
    ChartPanel,
    Dot,
    Sample,
    Strand,
    factor_axis,
    named,
    number_axis,
    sample,
    title_of,
)
from haltere.figures.screen import value_text
from haltere.figures.spec import FigureList, Lines
from haltere.metrics import quantities
from haltere.metrics.tables import Tables, summarise


def lines(tables: Tables, spec: Lines, words: FigureList) -> ChartFigure:
    """The numbers of a figure of lines. Raises `NotInResultsError` if the results hold none of them.

    Over factors that are named nowhere a replication is averaged first; the interval is taken over replications.
    """
    whole = sample(tables, spec, words, [spec.x])
    metric, keys = whole.metric, [name for name in (spec.panels, spec.series, spec.x) if name]
    means = whole.frame.group_by([*keys, "replication"], maintain_order=True).agg(pl.col("value").mean())
    found = summarise(means, keys)
    levels = [level for level in whole.levels[spec.x] if any(key[-1] == level for key in found)]
    x, ticks, places = factor_axis(words.factor(spec.x), spec.x, levels)
    panels = []
    for panel, part in whole.split(spec.panels):
        title = quantities.text(panel, spec.panels)
        strands = []
        for level, _ in Sample(part, metric, whole.levels).split(spec.series):
            looks, label = named(whole, spec.series, level, spec)
            dots = []
            for at in levels:
                interval = found.get(tuple(one for one in (panel, level, at) if one))
                if interval is not None:
                    place = ", ".join(text for text in (title, label, quantities.text(at, spec.x)) if text)
                    low, high = (None, None) if interval.exact else (interval.low, interval.high)
                    dots.append(Dot(places[at], interval.value, place, value_text(interval, metric), low, high))
            strands.append(Strand(looks, label, [(dot.x, dot.y) for dot in dots], dots=dots))
        panels.append(ChartPanel(title, strands))
    every = [dot for drawn in panels for strand in drawn.strands for dot in strand.dots]
    ends = [value for dot in every for value in (dot.y, dot.low, dot.high) if value is not None]
    y = number_axis(metric.axis, ends, log=spec.log, zero=not spec.log and min(ends) >= 0)
    return ChartFigure(spec, metric, title_of(spec, metric.label), x, y, panels, ticks)
