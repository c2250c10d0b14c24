"""Runs mixtures on common random numbers and returns one metric of each run."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from haltere import core
from haltere import fidelity as fidelities
from haltere.adhoc.comparison import FIELDS, entry_of
from haltere.adhoc.conditions import Conditions
from haltere.errors import ArgumentError, InputError, as_written
from haltere.executor import Executor, Outcome, Task
from haltere.explanation.mixtures import Space
from haltere.fidelity import Fidelity
from haltere.metrics import METRICS, Metric

Cell = tuple[int, int]
"""A mixture and a replication."""
Progress = Callable[[int, int], None]


MEASURES = {
    name: metric
    for name, metric in METRICS.items()
    if metric.table in ("flows", "runs") and {metric.column, metric.share_of or metric.column} <= set(FIELDS)
}
"""The metrics that can be explained, by name: those that `compare` has."""


def measure_named(name: str) -> Metric:
    """Return a metric; raise `InputError` if there is none of this name."""
    if name not in MEASURES:
        raise ArgumentError("is not a metric", field="metric", given=as_written(name), right=", ".join(MEASURES))
    return MEASURES[name]


def measured(metric: Metric, entry: Mapping[str, Any]) -> float | None:
    """Return a metric of an entry in its unit; None if the entry lacks it."""
    value, whole = entry.get(metric.column), 1 if metric.share_of is None else entry.get(metric.share_of)
    return float(value) / whole / metric.divisor if value is not None and whole else None


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

    def scenarios(self, contender: str) -> tuple[core.Scenario, core.Scenario]:
        """Return the scenario of even and of odd replications; raise `InputError` if it cannot run."""
        ...

    def entry(self, contender: str, result: dict[str, Any], seed: int, replication: int) -> dict[str, Any]:
        """Return a run's entry, as `haltere.adhoc.comparison.FIELDS` has it."""
        ...


@dataclass(frozen=True)
class Alone:
    """The ground of `compare`: a contender alone under some conditions."""

    conditions: Conditions

    @property
    def fidelity(self) -> Fidelity:
        """Where it runs."""
        return self.conditions.fidelity

    def scenarios(self, contender: str) -> tuple[core.Scenario, core.Scenario]:
        """Return the scenario of even and of odd replications."""
        even, odd = (self.conditions.scenario([contender], reverse_starts=odd).concrete() for odd in (False, True))
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
    measure: Metric
    seed: int
    values: dict[Cell, float | None] = field(default_factory=dict)
    refused: dict[int, str] = field(default_factory=dict)
    failures: dict[int, str] = field(default_factory=dict)
    _scenarios: dict[int, tuple[core.Scenario, core.Scenario]] = field(default_factory=dict)

    def allowed(self, mask: int) -> bool:
        """Whether a mixture can run, as far as that can be told before."""
        if mask not in self._scenarios and mask not in self.refused:
            text = self.space.text(mask)
            try:
                self._scenarios[mask] = self.ground.scenarios(text)
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
            scenario = self._scenarios[mask][replication % 2]
            yield Task(f"{mask} {replication}", scenario, self.seed, replication)

    def take(self, outcome: Outcome) -> None:
        """Note the metric of a run."""
        mask, replication = (int(word) for word in outcome.key.split()[-2:])
        entry = self.ground.entry(self.space.text(mask), json.loads(outcome.result_json), self.seed, replication)
        value, reason = measured(self.measure, entry), entry["error"]
        if reason is None and value is None:
            reason = f"it has no {self.measure.spoken}"
        if reason is None and self.measure.ratio and value is not None and value <= 0:
            reason = f"its {self.measure.spoken} is 0"
        if reason is None and value is not None and not math.isfinite(value):
            reason = f"its {self.measure.spoken} is not finite"
        if reason is not None:
            self.failures.setdefault(mask, str(reason))
        self.values[mask, replication] = None if reason is not None else value
