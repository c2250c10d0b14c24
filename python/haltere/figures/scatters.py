"""One metric against another: a point a treatment or a run."""

from __future__ import annotations

import polars as pl

from haltere.figures.chart import ChartFigure, ChartPanel, Dot, Sample, Strand, named, number_axis, sample, title_of
from haltere.figures.data import NotInResultsError
from haltere.figures.spec import FigureList, Scatters
from haltere.metrics import quantities
from haltere.metrics.tables import Tables
from haltere.metrics.text import significant


def scatters(tables: Tables, spec: Scatters, words: FigureList) -> ChartFigure:
    """The numbers of a scatter plot. Raises `NotInResultsError` if the results hold none of them."""
    whole, other = sample(tables, spec, words, []), sample(tables, spec, words, [], spec.against)
    factors = [name for name in whole.frame.columns if name not in ("replication", "value")]
    keys = [*factors, "replication"]
    both = whole.frame.join(
        other.frame.rename({"value": "other"}), on=keys, how="inner", nulls_equal=True, maintain_order="left"
    )
    if both.is_empty():
        message = f"no completed run has both {whole.metric.label.lower()} and {other.metric.label.lower()}"
        raise NotInResultsError(message)
    if spec.each == "treatment":
        both = both.group_by(factors, maintain_order=True).agg(pl.col("value", "other").mean())
    panels = []
    for panel, part in Sample(both, whole.metric, whole.levels).split(spec.panels):
        strands = []
        for level, one in Sample(part, whole.metric, whole.levels).split(spec.series):
            looks, label = named(whole, spec.series, level, spec)
            dots = [_dot(row, factors, (other, whole)) for row in one.to_dicts()]
            strands.append(Strand(looks, label, dots=dots))
        panels.append(ChartPanel(quantities.text(panel, spec.panels), strands))
    x = number_axis(other.metric.axis, both["other"].to_list(), log=spec.log)
    y = number_axis(whole.metric.axis, both["value"].to_list(), log=spec.log)
    return ChartFigure(spec, whole.metric, title_of(spec, whole.metric.label), x, y, panels)


def _dot(row: dict[str, object], factors: list[str], samples: tuple[Sample, Sample]) -> Dot:
    place = ", ".join(quantities.text(str(row[factor]), factor) for factor in factors if row[factor] is not None)
    if "replication" in row:
        place += f", replication {row['replication']}"
    numbers = float(str(row["other"])), float(str(row["value"]))
    said = ", ".join(
        f"{one.metric.label} {significant(number)} {one.metric.unit}".strip()
        for one, number in zip(samples, numbers, strict=True)
    )
    return Dot(*numbers, place, said)
