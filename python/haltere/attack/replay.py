"""Runs a finding on a Linux kernel in virtual time, and says whether the harm is there as well."""

from __future__ import annotations

import json
from dataclasses import dataclass
from statistics import median
from typing import Any

from haltere import fidelity
from haltere.attack.arena import Events, Rivals
from haltere.attack.harms import HARMS, Harm
from haltere.attack.scenario import document, on_hosts
from haltere.errors import InputError
from haltere.executor import Task
from haltere.scenario import Scenario
from haltere.stats import Interval, trimmed_mean

WHERE = "linux"
REPLICATIONS = 8
"""Runs of each contender on the kernel; of fewer than six there is no interval."""


@dataclass(frozen=True)
class Replayed:
    """A finding on a kernel.

    Attributes:
        harm: the harm that was looked for there.
        kernel: the kernel's name; empty if nothing ran.
        refused: why it cannot run there, or None.
        mine, other: the quantity of each run of the contender and of the other.
        interval: the trimmed mean of the harms, less those without events; None if nothing ran.
    """

    harm: Harm
    kernel: str = ""
    refused: str | None = None
    mine: tuple[float, ...] = ()
    other: tuple[float, ...] = ()
    interval: Interval | None = None

    @property
    def holds(self) -> bool:
        """Whether the harm is there as well: its interval lies beyond the margin."""
        return self.interval is not None and self.interval.low is not None and self.interval.low > self.harm.margin

    def sentence(self) -> str:
        """Return what the replay shows."""
        if self.interval is None:
            return f"It cannot be replayed on Linux: {self.refused}"
        there = "is there as well" if self.holds else "is not shown"
        quantities = " and ".join(self.harm.shown(median(one)) for one in (self.mine, self.other))
        harm = f"{self.harm.between(self.interval)}, in {len(self.mine)} runs of each"
        return f"On {self.kernel} the harm {there}: {self.harm.measures} {quantities}, {harm}"

    def data(self) -> dict[str, Any]:
        """Return it for programs."""
        found = self.interval
        return {
            "kernel": self.kernel,
            "refused": self.refused,
            "holds": self.holds,
            "contender": list(self.mine),
            "against": list(self.other),
            "harm": None if found is None else found.value,
            "low": None if found is None else found.low,
            "high": None if found is None else found.high,
        }


def replay(
    rivals: Rivals,
    harm: Harm,
    events: Events,
    seed: int,
    *,
    replications: int = REPLICATIONS,
    workers: int | None = None,
) -> Replayed:
    """Run both contenders under a trace on the kernel.

    A stall is looked for as lost goodput: a kernel does not show the times between two reads.

    Raises:
        InputError: if there is no kernel; the error says how to get one.
    """
    harm = HARMS["goodput"] if harm is HARMS["stall"] else harm
    scenarios = []
    for trace in (events, ()):
        for contender in (rivals.contender, rivals.against):
            made = on_hosts(document(rivals.base, trace, contender, harm.place))
            try:
                scenarios.append(Scenario(made, fidelity=WHERE).concrete())
            except InputError as error:
                return Replayed(harm, refused=error.problem)
    executor = fidelity.executor(WHERE, workers)
    tasks = [
        Task(f"{at} {replication}", scenario, seed, replication)
        for replication in range(replications)
        for at, scenario in enumerate(scenarios)
    ]
    found: dict[str, float | None] = {}
    failed = ""
    for outcome in executor.execute(tasks):
        result = json.loads(outcome.result_json)
        failed = failed or str(result["error"] or "")
        found[outcome.key] = harm.of(result, rivals.base)
    each = [[found.get(f"{at} {replication}") for at in range(len(scenarios))] for replication in range(replications)]
    whole = [[value for value in one if value is not None] for one in each]
    whole = [one for one in whole if len(one) == len(scenarios)]
    kernel = f"Linux {fidelity.about(WHERE).get('version', '')}".strip()
    if not whole:
        return Replayed(harm, kernel, failed or f"the kernel does not show the {harm.measures}")
    interval = trimmed_mean([harm.harm(a, b) - harm.harm(c, d) for a, b, c, d in whole])
    return Replayed(harm, kernel, None, tuple(one[0] for one in whole), tuple(one[1] for one in whole), interval)
