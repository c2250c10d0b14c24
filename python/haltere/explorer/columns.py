"""The data of the explorer's page: a list a column, a place a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
from scipy import special

from haltere.figures.spec import FigureList
from haltere.metrics import METRICS, quantities
from haltere.metrics.contenders import keys, look
from haltere.metrics.tables import Tables
from haltere.results import Results, columns
from haltere.results.numbers import columns as numbers_of
from haltere.results.tables import KEY

OF_STUDY, METRIC, RAW = "In the study's figures", "Metrics", "Columns as recorded"
"""The groups of what may be shown, in their order."""
_DIGITS = 6
"""Significant digits of a number on the page."""


def gather(results: Results, words: FigureList | None = None) -> dict[str, Any]:
    """Return experiments, factors, metrics and the columns of all runs.

    Metrics come first, and of them those that the study's figures show; after them every other numeric column of the
    tables, where flows and probes of a run are averaged. Columns without any number are left out. `words` are those of
    the study's `figures.toml`.
    """
    described: Mapping[str, Any] = results.manifest.get("experiments", {})
    levels = {name: dict(one.get("factors", {})) for name, one in described.items()}
    runs = results.runs
    words = words or FigureList()
    factors = _factors(levels, words)
    metrics, numbers = _metrics(results, levels)
    figures = [one for every in words.lists().values() for one in every]
    declared = {name for one in figures for field in one.metrics for name in [getattr(one, field)]}
    for one in metrics:
        if one["group"] == METRIC and one["name"].partition(" of ")[0] in declared:
            one["group"] = OF_STUDY
    metrics.sort(key=lambda one: (OF_STUDY, METRIC, RAW).index(one["group"]))
    codes = {name: {level: code for code, level in enumerate(one["levels"])} for name, one in factors.items()}
    names = list(levels)
    return {
        "experiments": [
            {"name": name, "title": described[name].get("title") or name, "factors": list(levels[name])}
            for name in names
        ],
        "factors": factors,
        "metrics": metrics,
        "t": [None, None, *(round(float(special.stdtrit(n - 1, 0.975)), 6) for n in range(2, 201))],
        "runs": {
            "id": runs["run_id"].to_list(),
            "experiment": [names.index(name) for name in runs["experiment"]],
            "treatment": runs["treatment"].to_list(),
            "replication": runs["replication"].to_list(),
            "factors": {
                name: [-1 if level is None else codes[name].get(level, -1) for level in runs[name]]
                for name in factors
                if name in runs.columns
            },
            "numbers": numbers,
            "errors": {
                str(at): error or "failed"
                for at, (status, error) in enumerate(zip(runs["status"], runs["error"], strict=True))
                if status != "ok"
            },
        },
    }


def _factors(levels: Mapping[str, Mapping[str, Sequence[str]]], words: FigureList) -> dict[str, dict[str, Any]]:
    together: dict[str, list[str]] = {}
    for experiment in levels.values():
        for name, own in experiment.items():
            together.setdefault(name, []).extend(own)
    found = {}
    for name, own in together.items():
        ordered = quantities.ordered(own)
        looks = [look(key) for key in keys(ordered).values()]
        values = [quantities.value(level) for level in ordered]
        found[name] = {
            "label": words.factor(name),
            "levels": ordered,
            "text": [quantities.text(level, name) for level in ordered],
            "values": values if all(value is not None for value in values) else None,
            "colours": [[one.light, one.dark] for one in looks],
        }
    return found


def _metrics(
    results: Results, levels: Mapping[str, Mapping[str, Sequence[str]]]
) -> tuple[list[dict[str, Any]], dict[str, list[float | None]]]:
    tables = Tables.of(results)
    keys = results.runs.select("run_id")
    described: list[dict[str, Any]] = []
    numbers: dict[str, list[float | None]] = {}
    of_flows = tables.by_likeness()
    parts = [
        (part, table)
        for one in METRICS.values()
        for table in (of_flows if one.table == "flows" else [tables])
        for part in table.parted(one)
    ]
    for metric, table in parts:
        frame = table.by_run(metric)
        column = keys.join(frame, on="run_id", how="left", maintain_order="left")["value"]
        if column.null_count() < column.len():
            name = metric.name if metric.flow is None else f"{metric.name} of {metric.flow}"
            described.append(
                {"name": name, "label": metric.label, "unit": metric.unit, "says": metric.definition, "group": METRIC}
            )
            numbers[name] = _rounded(column)
    sources = {"": ("run", results.runs), "flow: ": ("flow", results.flows), "probe: ": ("probe", results.latency)}
    skipped = {*KEY, "flow", "pair", "probe", *(name for one in levels.values() for name in one)}
    skipped |= numbers_of(results.manifest).keys()
    for prefix, (of, rows) in sources.items():
        about = columns.of(of)
        names = [name for name, kind in rows.schema.items() if kind.is_numeric() and name not in skipped]
        means = rows.group_by("run_id").agg(pl.col(names).mean()) if names else rows.select("run_id").unique()
        joined = keys.join(means, on="run_id", how="left", maintain_order="left")
        for name in names:
            if joined[name].null_count() < joined.height:
                unit, says = (about[name].unit, about[name].meaning) if name in about else ("", "")
                described.append(
                    {"name": prefix + name, "label": prefix + name, "unit": unit, "says": says, "group": RAW}
                )
                numbers[prefix + name] = _rounded(joined[name])
    return described, numbers


def _rounded(column: pl.Series) -> list[float | None]:
    values = column.cast(pl.Float64).round_sig_figs(_DIGITS).to_list()
    return [
        None if value is None or value != value else int(value) if value == int(value) else value for value in values
    ]
