"""The table of all treatments: a row a treatment, its levels, its metrics with intervals, its failed runs.

Where flows of a run differ, each label and direction has a row of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from haltere.figures.spec import FigureList
from haltere.metrics import METRICS, Metric, quantities
from haltere.metrics.tables import Key, Tables, summarise
from haltere.metrics.text import decimals, fixed
from haltere.stats import Interval


@dataclass(frozen=True, slots=True)
class Field:
    """One cell: what it shows, what it sorts by, and, for a metric, its interval: `±0.2`, or `[0.1, 2.3]`."""

    text: str
    key: str
    spread: str = ""


@dataclass(frozen=True)
class TreatmentTable:
    """The treatments of one experiment. A `row` is a treatment, or a kind of flows of one."""

    experiment: str
    title: str
    factors: Sequence[tuple[str, str, Sequence[str]]]
    metrics: Sequence[Metric]
    rows: Sequence[Sequence[Field]]
    row: str = "treatment"


def tables(results: Tables, words: FigureList, manifest: Mapping[str, Any]) -> list[TreatmentTable]:
    """One table for each experiment of the results."""
    return [_table(results, words, name, one) for name, one in manifest["experiments"].items()]


def _table(results: Tables, words: FigureList, experiment: str, about: Mapping[str, Any]) -> TreatmentTable:
    factors = list(results.factors[experiment])
    found = _found(results, experiment)
    kinds = list(dict.fromkeys(kind for parts in found.values() for kind in parts if kind))
    runs = (
        results.experiment_runs(experiment)
        .group_by(["treatment", *factors])
        .agg(runs=pl.len(), failed=(pl.col("status") != "ok").sum())
    )
    rows: list[list[Field]] = []
    for row in runs.sort("treatment").to_dicts():
        key = tuple(str(row[factor]) for factor in factors)
        levels = [_level(level, factor) for level, factor in zip(key, factors, strict=True)]
        counts = [Field(str(n), str(n)) for n in (row["runs"] - row["failed"], row["failed"])]
        seen = [kind for kind in kinds if any(key in parts.get(kind, {}) for parts in found.values())]
        for kind in seen or ["–"] if kinds else [""]:
            named = [Field(kind, kind)] if kinds else []
            measured = [_measured(parts.get(kind, parts.get("", {})).get(key)) for parts in found.values()]
            rows.append([*levels, *named, *measured, *counts])
    heads = [
        (factor, words.factor(factor), [quantities.text(level, factor) for level in results.levels(experiment, factor)])
        for factor in factors
    ]
    if kinds:
        heads.append(("flow", "flow", kinds))
    return TreatmentTable(
        experiment, about.get("title") or experiment, heads, list(found), rows, "row" if kinds else "treatment"
    )


def _found(results: Tables, experiment: str) -> dict[Metric, dict[str, dict[Key, Interval]]]:
    """The intervals of each metric by treatment, for each kind of flows where those of a run differ."""
    found = {}
    for metric in METRICS.values():
        values: dict[str, pl.DataFrame] = {}
        for part in results.parted(metric, experiment):
            kind = " ".join(word for word in (part.flow, part.direction) if word)
            own = results.values(experiment, part)
            # Labels say the direction where a treatment has flows both ways; those of other treatments join them here.
            values[kind] = pl.concat([values[kind], own]) if kind in values else own
        if any(not frame.is_empty() for frame in values.values()):
            factors = list(results.factors[experiment])
            found[metric] = {kind: summarise(frame, factors, metric) for kind, frame in values.items()}
    return found


def _level(level: str, factor: str) -> Field:
    number = quantities.value(level)
    return Field(quantities.text(level, factor), level if number is None else f"{number:g}")


def _measured(found: Interval | None) -> Field:
    if found is None:
        return Field("–", "")
    places = decimals(found.value)
    spread = ""
    if found.low is not None and found.high is not None and not found.exact:
        below, above = (fixed(width, places) for width in (found.value - found.low, found.high - found.value))
        ends = (
            f"[{fixed(found.low, decimals(found.low, 2))}, {fixed(found.high, min(places, decimals(found.high, 3)))}]"
        )
        spread = f"±{above}" if below == above else ends
    return Field(fixed(found.value, places), f"{found.value:.6g}", spread)
