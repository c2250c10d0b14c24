"""The table of all treatments: a row a treatment, its levels, its metrics with intervals, its failed runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from haltere.figures.spec import FigureList
from haltere.metrics import METRICS, Metric, quantities
from haltere.metrics.tables import Tables, summarise
from haltere.metrics.text import decimals, fixed
from haltere.stats import Interval


@dataclass(frozen=True, slots=True)
class Field:
    """One cell: what it shows, what it sorts by, and, for a metric, the half width of its interval."""

    text: str
    key: str
    half: str = ""


@dataclass(frozen=True)
class TreatmentTable:
    """The treatments of one experiment."""

    experiment: str
    title: str
    factors: Sequence[tuple[str, str, Sequence[str]]]
    metrics: Sequence[Metric]
    rows: Sequence[Sequence[Field]]


def tables(results: Tables, words: FigureList, manifest: Mapping[str, Any]) -> list[TreatmentTable]:
    """One table for each experiment of the results."""
    return [_table(results, words, name, one) for name, one in manifest["experiments"].items()]


def _table(results: Tables, words: FigureList, experiment: str, about: Mapping[str, Any]) -> TreatmentTable:
    factors = list(results.factors[experiment])
    found = {}
    for metric in (part for one in METRICS.values() for part in results.parted(one, experiment)):
        values = results.values(experiment, metric)
        if not values.is_empty():
            found[metric] = summarise(values, factors)
    runs = (
        results.experiment_runs(experiment)
        .group_by(["treatment", *factors])
        .agg(runs=pl.len(), failed=(pl.col("status") != "ok").sum())
    )
    rows = []
    for row in runs.sort("treatment").to_dicts():
        key = tuple(str(row[factor]) for factor in factors)
        fields = [_level(level, factor) for level, factor in zip(key, factors, strict=True)]
        fields += [_measured(intervals.get(key)) for intervals in found.values()]
        ok = row["runs"] - row["failed"]
        rows.append([*fields, Field(str(ok), str(ok)), Field(str(row["failed"]), str(row["failed"]))])
    heads = [
        (factor, words.factor(factor), [quantities.text(level, factor) for level in results.levels(experiment, factor)])
        for factor in factors
    ]
    return TreatmentTable(experiment, about.get("title") or experiment, heads, list(found), rows)


def _level(level: str, factor: str) -> Field:
    number = quantities.value(level)
    return Field(quantities.text(level, factor), level if number is None else f"{number:g}")


def _measured(found: Interval | None) -> Field:
    if found is None:
        return Field("–", "")
    places = decimals(found.value)
    half = ""
    if found.low is not None and found.high is not None and not found.exact:
        half = fixed((found.high - found.low) / 2, places)
    return Field(fixed(found.value, places), f"{found.value:.6g}", half)
