"""Synthetic results of the dumbbell study: the agreed tables, from a fixed seed, with truths that tests may set."""

from __future__ import annotations

import itertools
import json
import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from haltere.metrics import quantities
from haltere.metrics.tables import Tables
from haltere.results.tables import build

BASE = {
    "transport": ["tcp", "quic"],
    "congestion": ["cubic", "bbr"],
    "rate": ["5Mbit/s", "40Mbit/s", "100Mbit/s"],
    "delay": ["10ms", "50ms", "100ms"],
    "loss": ["0%", "1%", "5%"],
    "size": ["2MB", "32MB"],
}
PAIRS = {
    "transport": ["tcp", "quic"],
    "congestion": ["bbr/bbr", "bbr/cubic", "cubic/bbr", "cubic/cubic"],
    "rate": BASE["rate"],
    "delay": BASE["delay"],
    "loss": BASE["loss"],
}
EXPERIMENTS = {"base": BASE, "pairs": PAIRS}

STUDY = """
[study]
name = "quic-dumbbell"
title = "QUIC against TCP over a dumbbell"
question = "Where does QUIC really beat TCP + TLS 1.3 + HTTP/2, and does CUBIC or BBR matter to it?"
source = "A. T. de Oliveira Filho, Uma análise experimental de desempenho do protocolo QUIC, UFPE, 2020"
seed = 2020
replications = 10
fidelity = "model"

[experiments.base]
title = "One client, one server"
design = "full-factorial"
[experiments.base.factors]
transport = ["tcp", "quic"]
congestion = ["cubic", "bbr"]
rate = ["5Mbit/s", "40Mbit/s", "100Mbit/s"]
delay = ["10ms", "50ms", "100ms"]
loss = ["0%", "1%", "5%"]
size = ["2MB", "32MB"]
[experiments.base.scenario.topology]
kind = "dumbbell"
pairs = 1
access = { rate = "1Gbit/s" }
[experiments.base.scenario.topology.bottleneck]
rate = "{rate}"
queue = "1000p"
mtu = "1500B"
down = { delay = "{delay}", loss = "{loss}" }
[[experiments.base.scenario.flows]]
contender = "{transport}/{congestion}"
size = "{size}"

[experiments.pairs]
title = "Two clients, two servers"
design = "full-factorial"
[experiments.pairs.factors]
transport = ["tcp", "quic"]
congestion = [
  { label = "bbr/bbr", first = "bbr", second = "bbr" },
  { label = "bbr/cubic", first = "bbr", second = "cubic" },
  { label = "cubic/bbr", first = "cubic", second = "bbr" },
  { label = "cubic/cubic", first = "cubic", second = "cubic" },
]
rate = ["5Mbit/s", "40Mbit/s", "100Mbit/s"]
delay = ["10ms", "50ms", "100ms"]
loss = ["0%", "1%", "5%"]
[experiments.pairs.scenario.topology]
kind = "dumbbell"
pairs = 2
[experiments.pairs.scenario.topology.bottleneck]
rate = "{rate}"
queue = "1000p"
down = { delay = "{delay}", loss = "{loss}" }
[[experiments.pairs.scenario.flows]]
contender = "{transport}/{congestion.first}"
pair = 0
size = "32MB"
[[experiments.pairs.scenario.flows]]
contender = "{transport}/{congestion.second}"
pair = 1
size = "32MB"
"""

Levels = Mapping[str, str]


@dataclass
class Truth:
    """The truth of a synthetic world. Each function sees the levels of a treatment.

    `time` multiplies the completion time, `overhead` is the share of the object's bytes, `unfair` the distance of
    Jain's index from 1, `spread` the noise of `unfair`; `fails` says which (treatment, replication) fail.
    """

    time: Callable[[Levels], float] = lambda levels: 1.0
    overhead: Callable[[Levels], float] = lambda levels: 0.05 if levels["transport"] == "tcp" else 0.07
    unfair: Callable[[Levels], float] = lambda levels: 0.05
    spread: Callable[[Levels], float] = lambda levels: 0.01
    fails: Callable[[Levels, int], bool] = lambda levels, replication: False
    experiments: Mapping[str, Mapping[str, list[str]]] = field(default_factory=lambda: EXPERIMENTS)
    replications: int = 10
    noise: float = 0.04
    seed: int = 2020


def plausible() -> Truth:
    """A world not unlike what such studies find."""

    def time(levels: Levels) -> float:
        loss, delay = quantities.value(levels["loss"]) or 0.0, quantities.value(levels["delay"]) or 0.0
        factor = 1.0
        if levels["congestion"].startswith("cubic"):
            factor += 40 * loss * math.sqrt(delay)
        if levels["transport"] == "quic":
            factor *= 1.02 - 2.5 * loss * math.sqrt(delay) * 4 if loss else 1.015
        return factor

    def unfair(levels: Levels) -> float:
        mixed = len(set(levels["congestion"].split("/"))) > 1
        return (0.2 if mixed else 0.02) * (0.6 if levels["transport"] == "quic" else 1.0)

    return Truth(time=time, unfair=unfair)


def make(truth: Truth) -> Tables:
    """The result tables of a world."""
    runs: list[dict[str, Any]] = []
    flows: list[dict[str, Any]] = []
    for experiment, factors in truth.experiments.items():
        for treatment, combination in enumerate(itertools.product(*factors.values())):
            levels = dict(zip(factors, combination, strict=True))
            for replication in range(truth.replications):
                keys = {"run_id": f"{experiment}-{treatment:03}-{replication:02}", "experiment": experiment}
                keys |= {"treatment": treatment, **levels, "replication": replication}
                _one_run(truth, keys, levels, replication, runs, flows)
    tables = {"infer_schema_length": None}
    return Tables(pl.DataFrame(runs, **tables), pl.DataFrame(flows, **tables), truth.experiments)


def _one_run(
    truth: Truth,
    keys: dict[str, Any],
    levels: Levels,
    replication: int,
    runs: list[dict[str, Any]],
    flows: list[dict[str, Any]],
) -> None:
    pairs = levels["congestion"].split("/")
    # Common random numbers: the chance of a run depends on the path and the replication, not on who competes.
    path = sum(ord(c) * (i + 1) for i, c in enumerate(levels["rate"] + levels["delay"] + levels["loss"]))
    common = np.random.default_rng([truth.seed, path, replication])
    own = np.random.default_rng([truth.seed, keys["treatment"], len(keys["experiment"]), replication])
    lossless = levels["loss"] == "0%"
    scatter = 1.0 if lossless else math.exp(truth.noise * common.normal() + truth.noise / 2 * own.normal())
    size = int(quantities.value(levels.get("size", "32MB")) or 0)
    rate, delay = quantities.value(levels["rate"]) or 1.0, quantities.value(levels["delay"]) or 0.0
    wire = int(size * (1 + truth.overhead(levels)))
    time = (8 * wire * len(pairs) / rate + 4 * delay) * truth.time(levels) * scatter
    failed = truth.fails(levels, replication)
    error = "time limit of 1h reached with 1 048 576 of 32 000 000 bytes delivered" if failed else None
    jain = max(0.51, 1 - abs(truth.unfair(levels) + (0.0 if lossless else truth.spread(levels) * own.normal())))
    packets = wire // 1500
    lost = 0 if lossless else int(packets * (quantities.value(levels["loss"]) or 0.0))
    status = "failed" if failed else "ok"
    runs.append(
        {
            **keys,
            "status": status,
            "error": error,
            "virtual_s": time,
            "events": packets * 4,
            "data_packets": packets,
            "jain": None if failed or len(pairs) == 1 else jain,
        }
    )
    # Two flows with rates 1 ± x have Jain's index 1 / (1 + x²).
    imbalance = math.sqrt(1 / max(jain, 0.5) - 1) if len(pairs) > 1 else 0.0
    for flow, congestion in enumerate(pairs):
        mine = time * (1 + (imbalance if flow else -imbalance))
        flows.append(
            {
                **keys,
                "flow": flow,
                "contender": f"{levels['transport']}/{congestion}",
                "pair": flow,
                "start_s": 0.0,
                "completion_s": None if failed else mine,
                "handshake_s": delay * (2 if levels["transport"] == "tcp" else 1),
                "bytes": size,
                "goodput_bps": None if failed else 8 * size / mine,
                "throughput_bps": None if failed else 8 * wire / mine,
                "wire_bytes": wire,
                "overhead_bytes": wire - size,
                "sent_packets": packets + lost,
                "retransmitted_packets": lost,
                "lost_packets": lost,
                "spurious_retransmissions": 0,
                "blocked_s": 0.0,
                "most_held_bytes": 0,
                "timeouts": 0,
                "status": status,
                "error": error,
            }
        )


def write(tables: Tables, results: Path) -> None:
    """Write the tables and a manifest as a campaign leaves them."""
    results.mkdir(parents=True, exist_ok=True)
    tables.runs.write_parquet(results / "runs.parquet")
    tables.flows.write_parquet(results / "flows.parquet")
    build([], {}, {})["links"].write_parquet(results / "links.parquet")
    failed = tables.runs.filter(pl.col("status") != "ok").height
    study = tomllib.loads(STUDY)
    manifest = {
        "format": 1,
        "haltere": "0.1.0",
        "study": study["study"],
        "variant": None,
        "experiments": {
            name: {
                "title": study["experiments"][name]["title"],
                "design": "full-factorial",
                "factors": factors,
                "treatments": math.prod(len(levels) for levels in factors.values()),
            }
            for name, factors in tables.factors.items()
        },
        "replications": int(tables.runs["replication"].n_unique()),
        "seed": 2020,
        "counts": {"runs": tables.runs.height, "ok": tables.runs.height - failed, "failed": failed},
        "started": "2025-01-01T10:00:00+00:00",
        "finished": "2025-01-01T10:04:10+00:00",
        "command": "haltere run studies/quic-dumbbell --replications 10 --out results/quic-dumbbell",
        "study_file": "studies/quic-dumbbell/study.toml",
        "study_text": STUDY,
        "git_commit": "0123456789abcdef0123456789abcdef01234567",
        "machine": {"system": "Linux", "architecture": "x86_64", "cpu": None, "cpus": 2, "python": "3.11.7"},
    }
    (results / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
