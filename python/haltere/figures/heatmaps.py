"""Heat maps: a metric's mean as a colour over two factors."""

from __future__ import annotations

import polars as pl

from haltere.figures.chart import ChartFigure, ChartPanel, Shape, Strand, category_axis, sample, title_of
from haltere.figures.screen import value_text
from haltere.figures.spec import FigureList, Heatmaps
from haltere.metrics import quantities
from haltere.metrics.tables import Tables, summarise
from haltere.metrics.text import significant

_FAINTEST, _STRONGEST = 0.08, 0.75


def heatmaps(tables: Tables, spec: Heatmaps, words: FigureList) -> ChartFigure:
    """The numbers of a heat map. Raises `NotInResultsError` if the results hold none of them.

    The colour goes from the least mean to the largest, over all panels; each cell has its number.
    """
    whole = sample(tables, spec, words, [spec.x, spec.y])
    keys = [name for name in (spec.panels, spec.y, spec.x) if name]
    means = whole.frame.group_by([*keys, "replication"], maintain_order=True).agg(pl.col("value").mean())
    found = summarise(means, keys)
    across = [level for level in whole.levels[spec.x] if any(key[-1] == level for key in found)]
    down = [level for level in whole.levels[spec.y] if any(key[-2] == level for key in found)]
    x, x_ticks, columns = category_axis(words.factor(spec.x), spec.x, across)
    y, y_ticks, rows = category_axis(words.factor(spec.y), spec.y, down)
    low, high = min(one.value for one in found.values()), max(one.value for one in found.values())
    panels = []
    for panel, _ in whole.split(spec.panels):
        shapes = []
        for key, interval in found.items():
            if spec.panels and key[0] != panel:
                continue
            cx, cy = columns[key[-1]], rows[key[-2]]
            share = (interval.value - low) / (high - low) if high > low else 0.5
            corners = [(cx - 0.5, cy - 0.5), (cx + 0.5, cy - 0.5), (cx + 0.5, cy + 0.5), (cx - 0.5, cy + 0.5)]
            place = ", ".join(quantities.text(level, name) for level, name in zip(key, keys, strict=True))
            strength = _FAINTEST + share * (_STRONGEST - _FAINTEST)
            shapes.append(
                Shape(corners, strength, place, value_text(interval, whole.metric), significant(interval.value, 2))
            )
        panels.append(ChartPanel(quantities.text(panel, spec.panels), [Strand("level 2", "", shapes=shapes)]))
    title = title_of(spec, whole.metric.label)
    return ChartFigure(spec, whole.metric, title, x, y, panels, x_ticks, y_ticks)
