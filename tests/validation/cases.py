"""The measured cases of tests/data/kernel.json and the same transfers in the simulator."""

from __future__ import annotations

import json
import math
import statistics as st
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from haltere import core
from haltere.adhoc import comparison
from haltere.adhoc.conditions import Conditions

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data" / "kernel.json"
SEED = 1
OURS_CALLED = {"reno": "newreno"}


@cache
def kernel() -> dict[str, Any]:
    """Return the measurements."""
    measured: dict[str, Any] = json.loads(DATA.read_text())
    return measured


def contender(congestion: str) -> str:
    """Return our name of a TCP with the kernel's congestion control."""
    return f"tcp/{OURS_CALLED.get(congestion, congestion)}"


@dataclass(frozen=True)
class Case:
    """One download as the kernel did it several times."""

    measured: dict[str, Any]

    @property
    def lossy(self) -> bool:
        """Whether packets are lost at random."""
        return bool(self.measured["loss_pct"])

    @property
    def times(self) -> list[float]:
        """The kernel's completion times, seconds."""
        return list(self.measured["times_s"])

    @property
    def name(self) -> str:
        """Its name in tables."""
        m = self.measured
        size = f"{m['size_bytes'] >> 20} MiB"
        return f"{m['bw_mbps']} Mbit/s, {m['delay_ms']} ms, {m['loss_pct']} %, {size}, {m['cc']}"

    def scenario(self) -> core.Scenario:
        """Return the scenario, the one that `haltere compare` makes of the same conditions."""
        m = self.measured
        conditions = Conditions(
            rate=f"{m['bw_mbps']}Mbit/s",
            down_delay=f"{m['delay_ms']}ms",
            up_delay="0ms",
            loss=f"{m['loss_pct']}%",
            size=f"{m['size_bytes']}B",
            queue="1000p",
            app="raw",
        )
        return conditions.scenario([contender(m["cc"])]).concrete()


@dataclass(frozen=True)
class Sample:
    """A case's download in the simulator, once a replication."""

    times: list[float]
    """Completion times, seconds."""
    random_drops: list[int]
    """Packets lost at random in the data direction."""

    @property
    def median(self) -> float:
        """The median completion time."""
        return st.median(self.times)


def cases() -> list[Case]:
    """Return every single-flow case."""
    return [Case(measured) for measured in kernel()["tcp_single_flow"]]


def simulate(wanted: Sequence[Case], replications: int) -> list[Sample]:
    """Run each case: once if it has no loss, else `replications` times."""
    scenarios = [case.scenario() for case in wanted]
    tasks = [(i, r) for i, case in enumerate(wanted) for r in range(replications if case.lossy else 1)]
    with ThreadPoolExecutor() as pool:
        results = list(pool.map(lambda task: json.loads(core.run(scenarios[task[0]], SEED, task[1])), tasks))
    samples = [Sample([], []) for _ in wanted]
    for (i, _), result in zip(tasks, results, strict=True):
        samples[i].times.append(result["flows"][0]["completion_s"])
        samples[i].random_drops.append(sum(link["dropped_loss"] for link in result["links"]))
    return samples


def error(case: Case, sample: Sample) -> float:
    """Return the log ratio of our median completion time to the kernel's."""
    return math.log(sample.median / case.measured["median_s"])


def quantile(values: Sequence[float], p: float) -> float:
    """Return the smallest value that a share `p` of the values does not exceed, as checks from outside take it."""
    return sorted(values)[min(len(values) - 1, int(p * len(values)))]


def spread_of_median(values: Sequence[float], resamples: int = 4000) -> tuple[float, float]:
    """Return how far the median is uncertain, as log ratios to it: the 95 % percentile bootstrap."""
    draws = np.random.default_rng(SEED).choice(np.asarray(values), size=(resamples, len(values)))
    low, high = np.quantile(np.log(np.median(draws, axis=1) / st.median(values)), [0.025, 0.975])
    return float(low), float(high)


def median_position(kernel_median: float, ours: Sequence[float], n: int, resamples: int = 20000) -> float:
    """Return how often a sample of `n` of our times has a median below the kernel's; 0 or 1 is far out."""
    draws = np.random.default_rng(SEED).choice(np.asarray(ours), size=(resamples, n))
    return float(np.mean(np.median(draws, axis=1) < kernel_median))


@dataclass(frozen=True)
class Share:
    """Two flows at one bottleneck."""

    pair: tuple[str, str]
    buffer_bdp: float
    theirs: list[float]
    ours: list[float]

    @property
    def difference(self) -> float:
        """Our mean share of the first flow less the kernel's."""
        return st.mean(self.ours) - st.mean(self.theirs)


def shares(replications: int) -> list[Share]:
    """Run every case of two flows at one bottleneck."""
    found = []
    for measured in kernel()["fairness"]:
        conditions = Conditions(
            rate="40Mbit/s",
            down_delay="50ms",
            up_delay="0ms",
            queue=f"{measured['queue_pkts']}p",
            app="raw",
            share=True,
            duration="60s",
        )
        pair = (measured["pair"][0], measured["pair"][1])
        entries = comparison.measure([contender(c) for c in pair], conditions, replications=replications, seed=SEED)
        goodput = [entry["goodput_bps"] for entry in entries]
        ours = [a / (a + b) for a, b in zip(goodput[::2], goodput[1::2], strict=True)]
        found.append(Share(pair, measured["buffer_bdp"], measured["share_first"], ours))
    return found
