"""About how long a campaign takes, from running a small sample of it."""

from __future__ import annotations

import json
import time
import zlib
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from haltere import core, fidelity
from haltere.fidelity import Fidelity
from haltere.runner.executor import Task, ThreadExecutor
from haltere.study import Run

SAMPLES_PER_GROUP = 6
BUDGET_S = 15.0


@dataclass(frozen=True)
class Estimate:
    """An estimate, not a promise: `seconds` of wall-clock time on `workers` workers, from `sampled` runs."""

    runs: int
    seconds: float
    workers: int
    sampled: int


def estimate(runs: Sequence[Run], *, workers: int | None = None) -> Estimate:
    """Estimate the time of some runs.

    Runs are grouped by what they transfer (number of flows, their sizes or the duration), which decides most of the
    work; of each group a few are drawn (seeded, so always the same), run, and their mean time stands for the rest: CPU
    time in the model, wall-clock time on real Linux.
    """
    executor = ThreadExecutor(workers)
    groups: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        groups[_transfer(run)].append(run)
    sampled, seconds, begun = 0, 0.0, time.monotonic()
    with ThreadPoolExecutor(executor.workers) as pool:
        for key, members in sorted(groups.items()):
            first = [run for run in members if run.replication == 0] or members
            dice = np.random.default_rng([members[0].seed, zlib.crc32(key.encode())])
            drawn = [first[i] for i in dice.choice(len(first), min(SAMPLES_PER_GROUP, len(first)), replace=False)]
            if time.monotonic() - begun > BUDGET_S:
                drawn = drawn[:1]
            where = members[0].fidelity
            if where in fidelity.SIMULATED:
                spent = list(pool.map(_cpu_seconds, drawn))
            else:
                drawn = drawn[: executor.workers]
                spent = [_wall_seconds(where, drawn, workers)] * len(drawn)
            sampled += len(spent)
            seconds += sum(spent) / len(spent) * len(members)
    return Estimate(len(runs), seconds / executor.workers, executor.workers, sampled)


def _transfer(run: Run) -> str:
    scenario = run.treatment.scenario
    flows = [[flow.get("size"), flow.get("count")] for flow in scenario.get("flows", [])]
    return json.dumps([run.fidelity, flows, scenario.get("duration")])


def _wall_seconds(where: Fidelity, drawn: Sequence[Run], workers: int | None) -> float:
    """Return how long a worker of a rig takes for a run, its start included."""
    engine = fidelity.executor(where, workers)
    tasks = [Task(str(i), run.scenario_json, run.seed, run.replication) for i, run in enumerate(drawn)]
    began = time.monotonic()
    for _ in engine.execute(tasks):
        pass
    return time.monotonic() - began


def _cpu_seconds(run: Run) -> float:
    before = time.thread_time()
    core.run(run.scenario_json, run.seed, run.replication, run.fidelity)
    return time.thread_time() - before
