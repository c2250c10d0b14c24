"""The result tables: how RunResults become rows with the declared columns."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from haltere import extras
from haltere.results import columns
from haltere.stats.rates import jain

if TYPE_CHECKING:
    import polars as pl
else:
    pl = extras.module("polars")  # a comparison needs none of it


class Run(Protocol):
    """A run as the tables need it (`haltere.study.Run` is one)."""

    @property
    def id(self) -> str:
        """Its identity."""

    @property
    def treatment(self) -> Any:
        """Its experiment, its number there (`index`) and its levels."""

    @property
    def seed(self) -> int:
        """The study's seed."""

    @property
    def replication(self) -> int:
        """Its number within the treatment."""

    @property
    def fidelity(self) -> str:
        """Where it ran."""

    @property
    def path(self) -> Any:
        """The measured path that it drew."""


KEY = ("run_id", "experiment", "treatment", "fidelity", "replication", "seed")
"""The columns that tell runs apart, beside the factors."""
COLUMNS = frozenset([*KEY, *(column.name for column in columns.declared())])
"""The names of all columns but the factors."""
_ROWS = {"flows": "flow", "links": "link", "latency": "probe", "loads": "load", "cells": "cell"}
"""The thing that each row of a table stands for; tables with one row a run, and samples, are left out."""
EXTRA = ("latency", "probes", "loads", "cells")
"""The tables that there are only if a run had probes, loads or cells."""


def build(
    runs: Sequence[Run], finished: Mapping[str, str], factors: Mapping[str, Sequence[str]]
) -> dict[str, pl.DataFrame]:
    """Return the frames `runs`, `flows`, `links` and those of `EXTRA`, with rows in the order of `runs`.

    Args:
        runs: the runs, each of which must have finished.
        finished: RunResult JSON by run id.
        factors: the factors of each experiment; every factor is a column, null in the experiments that lack it.
    """
    names = list(dict.fromkeys(name for experiment in factors.values() for name in experiment))
    keys: dict[str, pl.DataType] = {"run_id": pl.String(), "experiment": pl.String(), "treatment": pl.Int64()}
    keys |= {name: pl.String() for name in names} | {"fidelity": pl.String(), "replication": pl.Int64()}
    schemas = {
        "runs": keys | {"seed": pl.Int64()} | columns.schema("run"),
        **{table: keys | columns.schema(rows) for table, rows in _ROWS.items()},
        "probes": {"run_id": keys["run_id"]} | columns.schema("request"),
    }
    rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in schemas}
    for run in runs:
        result = json.loads(finished[run.id])
        treatment = run.treatment
        levels = (treatment.levels.get(name) for name in names)
        key = (run.id, treatment.experiment, treatment.index, *levels, run.fidelity, run.replication)
        whole = _whole(run, result)
        rows["runs"].append((*key, run.seed, *(whole.get(name) for name in columns.of("run"))))
        for table, about in _ROWS.items():
            found = result.get("probes" if table == "latency" else table, ())
            rows[table] += [(*key, *(row.get(name) for name in columns.of(about))) for row in found]
        rows["probes"] += [(run.id, *sample) for probe in result.get("probes", ()) for sample in samples(probe)]
    return {name: pl.DataFrame(rows[name], schema=schema, orient="row") for name, schema in schemas.items()}


def samples(probe: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a probe's requests."""
    for sent, rtt in zip(probe["sent_s"], probe["rtt_s"], strict=True):
        yield probe["probe"], probe["probe_kind"], sent, rtt


def _whole(run: Run, result: dict[str, Any]) -> dict[str, Any]:
    """Return a run's own columns: of its result, its loads, its path, and its bottleneck."""
    path = {} if run.path is None else {"path_rtt_s": run.path.rtt_us / 1e6, "path_hops": run.path.hops}
    bottleneck = {f"bottleneck_{name}": value for name, value in bottleneck_of(result["links"]).items()}
    return {**result, **fairness(result["flows"]), **_loads(result), **path, **bottleneck}


def _loads(result: dict[str, Any]) -> dict[str, float]:
    """Return the rate of all loads of a run together, if it had some and took time."""
    loads = result.get("loads", ())
    received: int = sum(load["received_bytes"] for load in loads)
    return {"loads_bps": 8 * received / result["virtual_s"]} if loads and result["virtual_s"] else {}


def bottleneck_of(links: list[dict[str, Any]], direction: str = "down") -> dict[str, Any]:
    """Return the row of the bottleneck in a direction: the link of that name, or the only one; else nothing."""
    down = [link for link in links if link["direction"] == direction]
    named = [link for link in down if link["link"] == "bottleneck"]
    return named[0] if named else down[0] if len(down) == 1 else {}


def fairness(flows: list[dict[str, Any]]) -> dict[str, float | None]:
    """Return Jain's index over the flows of a run: within a direction, where they go both ways, and over all."""
    down, up = ([flow for flow in flows if (flow.get("direction") == "up") is upward] for upward in (False, True))
    if not (down and up):
        return {"jain": _jain(flows)}
    return {"jain": _jain(down), "jain_up": _jain(up), "jain_both": _jain(flows)}


def _jain(flows: list[dict[str, Any]]) -> float | None:
    rates = [flow.get("throughput_bps") for flow in flows]
    if len(rates) < 2 or any(rate is None for rate in rates) or not any(rates):
        return None  # Where nobody gets anything, nothing is shared.
    return jain([float(rate) for rate in rates if rate is not None])
