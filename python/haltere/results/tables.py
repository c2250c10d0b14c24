"""The result tables: which columns they have, and how RunResults become rows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import polars as pl

from haltere.stats.fairness import jain


class Run(Protocol):
    """What the tables take of a run (`haltere.study.Run`)."""

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


MESSAGES: dict[str, pl.DataType] = {
    "messages_published": pl.Int64(),
    "messages_delivered": pl.Int64(),
    "messages_duplicated": pl.Int64(),
    "messages_dropped": pl.Int64(),
    "messages_lost": pl.Int64(),
    "delivery_mean_s": pl.Float64(),
    "delivery_p50_s": pl.Float64(),
    "delivery_p95_s": pl.Float64(),
    "delivery_p99_s": pl.Float64(),
    "delivery_max_s": pl.Float64(),
}
"""The columns of flows with MQTT, null for others."""
RADIO: dict[str, pl.DataType] = {
    "radio_on_s": pl.Float64(),
    "radio_promotions": pl.Int64(),
    "radio_energy_estimate_j": pl.Float64(),
    "radio_bytes": pl.Int64(),
    "radio_on_per_message_s": pl.Float64(),
    "radio_energy_estimate_per_message_j": pl.Float64(),
    "radio_bytes_per_message": pl.Float64(),
}
"""The columns of flows with a radio, null for others."""
FLOW: dict[str, pl.DataType] = {
    "flow": pl.Int64(),
    "contender": pl.String(),
    "pair": pl.Int64(),
    "direction": pl.String(),
    "start_s": pl.Float64(),
    "completion_s": pl.Float64(),
    "handshake_s": pl.Float64(),
    "first_byte_s": pl.Float64(),
    "longest_gap_s": pl.Float64(),
    "bytes": pl.Int64(),
    "goodput_bps": pl.Float64(),
    "throughput_bps": pl.Float64(),
    "wire_bytes": pl.Int64(),
    "overhead_bytes": pl.Int64(),
    "sent_packets": pl.Int64(),
    "retransmitted_packets": pl.Int64(),
    "lost_packets": pl.Int64(),
    "spurious_retransmissions": pl.Int64(),
    "reinjected_bytes": pl.Int64(),
    "blocked_s": pl.Float64(),
    "most_held_bytes": pl.Int64(),
    "mean_held_bytes": pl.Float64(),
    "out_of_order_delay_mean_s": pl.Float64(),
    "out_of_order_delay_p95_s": pl.Float64(),
    "reordered_ratio": pl.Float64(),
    "three_reordered_ratio": pl.Float64(),
    "reordering_extent_mean": pl.Float64(),
    "reordering_extent_p95": pl.Float64(),
    "reordering_extent_max": pl.Int64(),
    "timeouts": pl.Int64(),
    "min_rtt_s": pl.Float64(),
    "mean_rtt_s": pl.Float64(),
    "rtt_p95_s": pl.Float64(),
    **RADIO,
    **MESSAGES,
    "objects_s": pl.List(pl.Float64()),
    "status": pl.String(),
    "error": pl.String(),
}
LINK: dict[str, pl.DataType] = {
    "link": pl.String(),
    "direction": pl.String(),
    "offered_packets": pl.Int64(),
    "delivered_packets": pl.Int64(),
    "delivered_bytes": pl.Int64(),
    "dropped_queue": pl.Int64(),
    "dropped_loss": pl.Int64(),
    "dropped_mtu": pl.Int64(),
    "marked_packets": pl.Int64(),
    "duplicated_packets": pl.Int64(),
    "max_queue_packets": pl.Int64(),
    "max_queue_bytes": pl.Int64(),
    "mean_queueing_delay_s": pl.Float64(),
    "dropped_early": pl.Int64(),
    "dropped_outage": pl.Int64(),
    "dropped_retries": pl.Int64(),
    "max_queueing_delay_s": pl.Float64(),
    "max_qdisc_packets": pl.Int64(),
    "max_qdisc_bytes": pl.Int64(),
    "mean_qdisc_delay_s": pl.Float64(),
    "max_qdisc_delay_s": pl.Float64(),
    "max_ring_packets": pl.Int64(),
    "mean_ring_delay_s": pl.Float64(),
    "max_ring_delay_s": pl.Float64(),
    "mean_queue_packets": pl.Float64(),
    "mean_queue_bytes": pl.Float64(),
    "mean_qdisc_packets": pl.Float64(),
    "mean_qdisc_bytes": pl.Float64(),
    "mean_ring_packets": pl.Float64(),
    "mean_ring_bytes": pl.Float64(),
}
CELL: dict[str, pl.DataType] = {
    "cell": pl.String(),
    "stations": pl.Int64(),
    "transmissions": pl.Int64(),
    "frames": pl.Int64(),
    "retries": pl.Int64(),
    "collisions": pl.Int64(),
    "collided": pl.Int64(),
    "dropped_retries": pl.Int64(),
    "busy_s": pl.Float64(),
    "busy_ratio": pl.Float64(),
}
"""What happened on the medium of a cell of IEEE 802.11."""
PROBE: dict[str, pl.DataType] = {
    "probe": pl.Int64(),
    "probe_kind": pl.String(),
    "size_bytes": pl.Int64(),
    "pair": pl.Int64(),
    "sent": pl.Int64(),
    "answered": pl.Int64(),
    "lost": pl.Int64(),
    "rtt_mean_s": pl.Float64(),
    "rtt_median_s": pl.Float64(),
    "rtt_p95_s": pl.Float64(),
    "rtt_p99_s": pl.Float64(),
    "rtt_min_s": pl.Float64(),
    "rtt_max_s": pl.Float64(),
    "rpm": pl.Float64(),
    "error": pl.String(),
}
SAMPLE: dict[str, pl.DataType] = {
    "probe": pl.Int64(),
    "probe_kind": pl.String(),
    "sent_s": pl.Float64(),
    "rtt_s": pl.Float64(),
}
"""A request of a probe: when it was sent, and its RTT, null if it was lost."""
LOAD: dict[str, pl.DataType] = {
    "load": pl.Int64(),
    "load_kind": pl.String(),
    "pair": pl.Int64(),
    "sent_packets": pl.Int64(),
    "sent_bytes": pl.Int64(),
    "received_packets": pl.Int64(),
    "received_bytes": pl.Int64(),
    "answered_packets": pl.Int64(),
    "rounds": pl.Int64(),
    "error": pl.String(),
}
RUN: dict[str, pl.DataType] = {
    "status": pl.String(),
    "error": pl.String(),
    "virtual_s": pl.Float64(),
    "events": pl.Int64(),
    "data_packets": pl.Int64(),
    "jain": pl.Float64(),
    "kernel": pl.String(),
    "attempts": pl.Int64(),
    "disturbed": pl.Boolean(),
    "lateness_p50_s": pl.Float64(),
    "lateness_p99_s": pl.Float64(),
    "lateness_max_s": pl.Float64(),
    "emulator_cpu_s": pl.Float64(),
    "endpoints_cpu_s": pl.Float64(),
}
"""A run's own columns. From `kernel` on they are of real runs only: on the wall clock, whether the machine disturbed
the run, how often it was made, how late packets left the links, and what it cost."""
PATH: dict[str, pl.DataType] = {"path_rtt_s": pl.Float64(), "path_hops": pl.Int64()}
"""The measured path that a run was over, where its topology is drawn from such."""
EXTRA = ("latency", "probes", "loads", "cells")
"""The tables that there are only if a run had probes, loads or cells."""
BOTTLENECK = (
    "delivered_packets",
    "delivered_bytes",
    "dropped_queue",
    "dropped_loss",
    "marked_packets",
    "max_queue_packets",
    "max_queue_bytes",
    "mean_queueing_delay_s",
    "dropped_early",
    "dropped_outage",
    "max_queueing_delay_s",
    "max_qdisc_packets",
    "mean_qdisc_delay_s",
    "max_ring_packets",
    "mean_ring_delay_s",
    "mean_queue_packets",
    "mean_qdisc_packets",
    "mean_ring_packets",
)
KEY = ("run_id", "experiment", "treatment", "fidelity", "replication", "seed")
"""The columns that tell runs apart, beside the factors."""
COLUMNS = frozenset(
    [*KEY, *RUN, *PATH, *FLOW, *LINK, *PROBE, *SAMPLE, *LOAD, *CELL, *(f"bottleneck_{name}" for name in BOTTLENECK)]
)
"""The names of all columns but the factors."""


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
    bottleneck = {f"bottleneck_{name}": LINK[name] for name in BOTTLENECK}
    rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in ("runs", "flows", "links", *EXTRA)}
    for run in runs:
        result = json.loads(finished[run.id])
        treatment = run.treatment
        key = (
            run.id,
            treatment.experiment,
            treatment.index,
            *(treatment.levels.get(name) for name in names),
            run.fidelity,
            run.replication,
        )
        narrow = bottleneck_of(result["links"])
        whole = {**result, "jain": _jain(result["flows"])}
        rows["runs"].append(
            (
                *key,
                run.seed,
                *_path(run),
                *(whole.get(name) for name in RUN),
                *(narrow.get(name) for name in BOTTLENECK),
            )
        )
        rows["flows"] += [(*key, *(flow.get(name) for name in FLOW)) for flow in result["flows"]]
        rows["links"] += [(*key, *(link.get(name) for name in LINK)) for link in result["links"]]
        probes, loads = result.get("probes", []), result.get("loads", [])
        rows["latency"] += [(*key, *(probe.get(name) for name in PROBE)) for probe in probes]
        rows["probes"] += [(run.id, *sample) for probe in probes for sample in samples(probe)]
        rows["loads"] += [(*key, *(load.get(name) for name in LOAD)) for load in loads]
        rows["cells"] += [(*key, *(cell.get(name) for name in CELL)) for cell in result.get("cells", [])]
    schemas: dict[str, dict[str, pl.DataType]] = {
        "runs": keys | {"seed": pl.Int64()} | PATH | RUN | bottleneck,
        "flows": keys | FLOW,
        "links": keys | LINK,
        "latency": keys | PROBE,
        "probes": {"run_id": keys["run_id"]} | SAMPLE,
        "loads": keys | LOAD,
        "cells": keys | CELL,
    }
    return {name: pl.DataFrame(rows[name], schema=schema, orient="row") for name, schema in schemas.items()}


def samples(probe: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a probe's requests (see `SAMPLE`)."""
    for sent, rtt in zip(probe["sent_s"], probe["rtt_s"], strict=True):
        yield probe["probe"], probe["probe_kind"], sent, rtt


def _path(run: Run) -> tuple[float | None, int | None]:
    return (None, None) if run.path is None else (run.path.rtt_us / 1e6, run.path.hops)


def bottleneck_of(links: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the row of the bottleneck in the data direction: the link of that name, or the only one; else nothing."""
    down = [link for link in links if link["direction"] == "down"]
    named = [link for link in down if link["link"] == "bottleneck"]
    return named[0] if named else down[0] if len(down) == 1 else {}


def _jain(flows: list[dict[str, Any]]) -> float | None:
    rates = [flow.get("throughput_bps") for flow in flows]
    if len(rates) < 2 or any(rate is None for rate in rates):
        return None
    return jain([float(rate) for rate in rates if rate is not None])
