"""About how long a campaign takes, from running a small sample of it."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
import zlib
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, zip_longest

import numpy as np

from haltere import fidelity
from haltere.executor import ThreadExecutor
from haltere.fidelity import Fidelity
from haltere.study import Run

SAMPLES_PER_GROUP = 6
SAMPLES = 300
"""How many runs are drawn at most at one fidelity."""
BUDGET_S = 5.0
"""How long the sample is run at most (s of wall-clock time), all fidelities together."""


@dataclass(frozen=True)
class Estimate:
    """An estimate, not a promise: `seconds` of wall-clock time on `workers` workers, from `sampled` runs.

    If a run was still going on when time was up, and had taken longer than all others, the campaign takes `at_least` so
    long. If none could be run, `seconds` is None.
    """

    runs: int
    seconds: float | None
    workers: int
    sampled: int
    at_least: bool = False


@dataclass(frozen=True, slots=True)
class Spent:
    """The time (s) that a run took, or has taken so far."""

    seconds: float
    ended: bool = True


def estimate(runs: Sequence[Run], *, workers: int | None = None) -> Estimate:
    """Estimate the time of some runs, within a few seconds.

    Runs are grouped by fidelity and by what they transfer (number of flows, their sizes or the duration), which decides
    most of the work. Of each group a few are drawn (seeded, so always the same) and run in turn, until all have been
    run or the time is up. Their mean time stands for the rest of their group, and the mean of all groups for those of
    which none was run: CPU time in the model, wall-clock time on real Linux.

    Raises:
        InputError: if this machine lacks what a fidelity takes.
    """
    crew = ThreadExecutor(workers).workers
    by_fidelity: dict[Fidelity, list[Run]] = defaultdict(list)
    for run in runs:
        by_fidelity[run.fidelity].append(run)
    total, sampled, at_least = 0.0, 0, False
    left_s = BUDGET_S
    for number, (where, members) in enumerate(by_fidelity.items()):
        fidelity.executor(where, workers)
        groups = _groups(members)
        drawn = _drawn(groups)
        began = time.monotonic()
        spent = _timed(where, [run for _, run in drawn], crew, left_s / (len(by_fidelity) - number))
        left_s -= time.monotonic() - began
        longest = max((one.seconds for one in spent if one is not None and one.ended), default=0.0)
        times: dict[str, list[Spent]] = defaultdict(list)
        for (key, _), one in zip(drawn, spent, strict=True):
            # What has not ended tells something only if it has already taken longer than all that have.
            if one is not None and (one.ended or one.seconds > longest):
                times[key].append(one)
        if not times:
            return Estimate(len(runs), None, crew, sampled)
        means = {key: sum(one.seconds for one in of) / len(of) for key, of in times.items()}
        known = sum(len(groups[key]) for key in means)
        total += sum(mean * len(groups[key]) for key, mean in means.items()) * len(members) / known
        sampled += sum(one.ended for of in times.values() for one in of)
        at_least |= any(not one.ended for of in times.values() for one in of)
    return Estimate(len(runs), total / crew, crew, sampled, at_least)


def _groups(runs: Sequence[Run]) -> dict[str, list[Run]]:
    groups: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        scenario = run.treatment.scenario
        flows = [[flow.get("size"), flow.get("count")] for flow in scenario.get("flows", [])]
        groups[json.dumps([flows, scenario.get("duration")])].append(run)
    return groups


def _drawn(groups: dict[str, list[Run]]) -> list[tuple[str, Run]]:
    """Draw some runs of each group: one of each, then a second of each, in a random order of the groups."""
    by_group = []
    for key, members in sorted(groups.items()):
        first = [run for run in members if run.replication == 0] or members
        dice = np.random.default_rng([members[0].seed, zlib.crc32(key.encode())])
        chosen = dice.choice(len(first), min(SAMPLES_PER_GROUP, len(first)), replace=False)
        by_group.append([(key, first[i]) for i in chosen])
    np.random.default_rng(len(by_group)).shuffle(by_group)
    return [one for one in chain.from_iterable(zip_longest(*by_group)) if one is not None][:SAMPLES]


def _timed(where: Fidelity, runs: Sequence[Run], workers: int, budget_s: float) -> list[Spent | None]:
    """Run some in processes, each of which takes every nth, for `budget_s` at most; None for runs not begun."""
    shares = [range(start, len(runs), workers) for start in range(min(workers, len(runs)))]
    found: list[Spent | None] = [None] * len(runs)
    until = time.monotonic() + budget_s
    with ThreadPoolExecutor(len(shares)) as pool:
        answers = pool.map(lambda share: _process(where, [runs[i] for i in share], until), shares)
        for share, spent in zip(shares, answers, strict=True):
            for place, one in zip(share, spent, strict=False):
                found[place] = one
    return found


def _process(where: Fidelity, runs: Sequence[Run], until: float) -> list[Spent]:
    tasks = [(run.scenario_json, run.seed, run.replication) for run in runs]
    asked = json.dumps({"fidelity": where, "tasks": tasks})
    began = time.monotonic()
    with subprocess.Popen(
        [sys.executable, "-m", "haltere.runner.timed"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        stopped = False
        try:
            said, _ = process.communicate(asked, timeout=max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            stopped = True
            process.terminate()
            said, _ = process.communicate()
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
    spent = [Spent(float(line)) for line in said.splitlines()]
    if stopped and len(spent) < len(runs):
        spent.append(Spent(max(0.0, time.monotonic() - began - sum(one.seconds for one in spent)), ended=False))
    return spent
