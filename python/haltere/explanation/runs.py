"""Runs mixtures on common random numbers and returns one metric of each run."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from haltere import fidelity as fidelities
from haltere.adhoc.comparison import entry_of
from haltere.adhoc.conditions import Conditions
from haltere.errors import ArgumentError, InputError, as_written
from haltere.executor import Executor, Outcome, Task
from haltere.explanation.mixtures import Space
from haltere.fidelity import Fidelity

Cell = tuple[int, int]
"""A mixture and a replication."""
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Measure:
    """A metric of `compare` that can be explained.

    With `ratio` mixtures are set against each other by the logarithm of their ratio, else by their difference.
    """

    name: str
    label: str
    unit: str
    column: str
    scale: float = 1.0
    ratio: bool = True


MEASURES = {
    one.name: one
    for one in (
        Measure("completion_time", "completion time", "s", "completion_s"),
        Measure("goodput", "goodput", "Mbit/s", "goodput_bps", 1e-6),
        Measure("wire_bytes", "bytes on the wire", "MB", "wire_bytes", 1e-6),
        Measure("mean_rtt", "mean RTT", "ms", "mean_rtt_s", 1e3),
        Measure("rtt_p95", "95th percentile of the RTT", "ms", "rtt_p95_s", 1e3),
        Measure("retransmissions", "retransmissions", "packets", "retransmitted_packets", ratio=False),
        Measure("lost_packets", "lost packets", "packets", "lost_packets", ratio=False),
        Measure("queueing_delay", "queueing delay", "ms", "queueing_delay_s", 1e3, ratio=False),
        Measure("max_queueing_delay", "maximum queueing delay", "ms", "max_queueing_delay_s", 1e3, ratio=False),
    )
}
"""The metrics, by name."""


def measure_named(name: str) -> Measure:
    """Return a metric.

    Raises:
        InputError: if there is none of this name.
    """
    if name not in MEASURES:
        raise ArgumentError("is not a metric", field="metric", given=as_written(name), right=", ".join(MEASURES))
    return MEASURES[name]


@dataclass(frozen=True)
class How:
    """How runs are made: on `workers` processes, by an executor, until `stop` is set; `on_progress` hears of it."""

    workers: int | None = None
    executor: Executor | None = None
    stop: threading.Event | None = None
    on_progress: Progress | None = None


class Ground(Protocol):
    """The network that a contender runs over, and the traffic that it sends."""

    @property
    def fidelity(self) -> Fidelity:
        """Where it runs."""
        ...

    def texts(self, contender: str) -> tuple[str, str]:
        """Return the scenario of even and of odd replications as JSON; raise `InputError` if it cannot run."""
        ...

    def entry(self, contender: str, result: dict[str, Any], seed: int, replication: int) -> dict[str, Any]:
        """Return a run's entry, as `haltere.adhoc.comparison.ENTRY` has it."""
        ...


@dataclass(frozen=True)
class Alone:
    """The ground of `compare`: a contender alone under some conditions."""

    conditions: Conditions

    @property
    def fidelity(self) -> Fidelity:
        """Where it runs."""
        return self.conditions.fidelity

    def texts(self, contender: str) -> tuple[str, str]:
        """Return the scenario of even and of odd replications."""
        even, odd = (self.conditions.scenario([contender], reverse_starts=odd).json for odd in (False, True))
        return even, odd

    def entry(self, contender: str, result: dict[str, Any], seed: int, replication: int) -> dict[str, Any]:
        """Return a run's entry."""
        return entry_of([contender], result, self.conditions, replication, seed + replication)


@dataclass
class Runs:
    """The runs of a space's mixtures on one ground; what was run once is not run again.

    Attributes:
        values: the metric of each run; None if it failed.
        refused: why a mixture cannot run, by mixture.
        failures: the first reason for which runs of a mixture failed, by mixture.
    """

    space: Space
    ground: Ground
    measure: Measure
    seed: int
    values: dict[Cell, float | None] = field(default_factory=dict)
    refused: dict[int, str] = field(default_factory=dict)
    failures: dict[int, str] = field(default_factory=dict)
    _scenarios: dict[int, tuple[str, str]] = field(default_factory=dict)

    def allowed(self, mask: int) -> bool:
        """Whether a mixture can run, as far as that can be told before."""
        if mask not in self._scenarios and mask not in self.refused:
            text = self.space.text(mask)
            try:
                self._scenarios[mask] = self.ground.texts(text)
            except InputError as error:
                if mask in (0, (1 << len(self.space.parts)) - 1):
                    raise
                self.refused[mask] = error.problem
        return mask not in self.refused

    def run(self, cells: Iterable[Cell], how: How) -> None:
        """Run the cells that have not been run yet."""
        wanted = self.missing(cells)
        executor = how.executor or fidelities.executor(self.ground.fidelity, how.workers)
        for done, outcome in enumerate(executor.execute(self.tasks(wanted), how.stop), 1):
            self.take(outcome)
            if how.on_progress:
                how.on_progress(done, len(wanted))

    def missing(self, cells: Iterable[Cell]) -> list[Cell]:
        """Return the cells that have not been run yet."""
        return [cell for cell in dict.fromkeys(cells) if cell not in self.values]

    def tasks(self, cells: Iterable[Cell]) -> Iterator[Task]:
        """Yield the tasks of some cells."""
        for mask, replication in cells:
            self.allowed(mask)
            text = self._scenarios[mask][replication % 2]
            yield Task(f"{mask} {replication}", text, self.seed, replication)

    def take(self, outcome: Outcome) -> None:
        """Note the metric of a run."""
        mask, replication = (int(word) for word in outcome.key.split()[-2:])
        entry = self.ground.entry(self.space.text(mask), json.loads(outcome.result_json), self.seed, replication)
        value, reason = entry[self.measure.column], entry["error"]
        if reason is None and value is None:
            reason = f"it has no {self.measure.label}"
        if reason is None and self.measure.ratio and value <= 0:
            reason = f"its {self.measure.label} is 0"
        if reason is None and not math.isfinite(value):
            reason = f"its {self.measure.label} is not finite"
        if reason is not None:
            self.failures.setdefault(mask, str(reason))
        self.values[mask, replication] = None if reason is not None else float(value) * self.measure.scale
