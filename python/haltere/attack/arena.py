"""Runs a contender and another one under traces, with common random numbers, and returns the harm of each trace."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from haltere import core, fidelity
from haltere.attack.events import Base, Event
from haltere.attack.harms import Harm
from haltere.attack.scenario import Table, document
from haltere.errors import ArgumentError, InputError, as_written
from haltere.executor import Executor, Task
from haltere.fidelity import Fidelity
from haltere.scenario import Scenario
from haltere.when.runs import OutOfTimeError

Events = tuple[Event, ...]
Cell = tuple[Events, int]
"""A trace and a replication."""


@dataclass(frozen=True)
class Pair:
    """One evaluation: the quantity of the contender and of the other, and the harm.

    Attributes:
        mine, other: the quantities under the trace.
        harm: the harm under the trace, less that without events in the same replication: what the trace does.
    """

    mine: float
    other: float
    harm: float


@dataclass(frozen=True)
class Rivals:
    """Who is hurt, beside whom, and where.

    Attributes:
        contender, against: the two, with code of users as its digest.
        base: the path without events.
        fidelity: where they run: a simulated one.
        apart: by how many replications the dice of the other are apart from the contender's. 0, but where it is asked
            how often chance alone is taken for harm.
    """

    contender: str
    against: str
    base: Base
    fidelity: Fidelity = "model"
    apart: int = 0

    @classmethod
    def of(cls, contender: str, against: str, base: Base, where: Fidelity = "model") -> Rivals:
        """Check that both can run on the path, and return them.

        Raises:
            InputError: naming what cannot run, or the fidelity if it is not simulated.
        """
        if not fidelity.of(where).simulated:
            right = " or ".join(fidelity.simulated())
            raise ArgumentError("is no simulator", field="fidelity", given=as_written(where), right=right)
        found = [_resolved(text, name, base, where) for text, name in ((contender, "contender"), (against, "against"))]
        return cls(found[0], found[1], base, where)


def _resolved(contender: str, name: str, base: Base, where: Fidelity) -> str:
    try:
        scenario = Scenario(document(base, (), contender), fidelity=where)
    except InputError as error:
        field = (error.field or "").removeprefix("topology.link.")
        field = name if field == "flows[0].contender" else field
        raise ArgumentError(error.problem, field=field or None, given=error.given, right=error.right) from None
    return str(scenario.data["flows"][0]["contender"])


@dataclass
class Arena:
    """Rivals and a harm; it runs what it is asked for, and counts the evaluations.

    Attributes:
        seed: names the dice.
        executor: what makes the runs.
        stop: set to run no more.
        evaluations: how many there were.
        calm: the harm without events, by replication; None where a run failed.
    """

    rivals: Rivals
    harm: Harm
    seed: int
    executor: Executor
    stop: threading.Event = field(default_factory=threading.Event)
    evaluations: int = 0
    calm: dict[int, float | None] = field(default_factory=dict)

    def document(self, events: Events, contender: str) -> Table:
        """Return the scenario of a contender under a trace, as nested tables."""
        return document(self.rivals.base, events, contender, self.harm.place)

    def scenario(self, events: Events, contender: str) -> core.Scenario:
        """Return the scenario of a contender under a trace, parsed."""
        return core.parse(self.document(events, contender))

    def evaluate(self, cells: Sequence[Cell]) -> list[Pair | None]:
        """Run both contenders in each cell; None where one of them failed.

        Raises:
            OutOfTimeError: if `stop` is set before the last run has finished.
        """
        first = [((), at) for at in sorted({at for _, at in cells} - self.calm.keys())]
        names = (self.rivals.contender, self.rivals.against)
        shifts = [(name, self.rivals.apart * at) for at, name in enumerate(names)]
        both = list(zip(*self.quantities([*first, *cells], shifts), strict=True))
        for (_, at), (a, b) in zip(first, both, strict=False):
            self.calm[at] = None if a is None or b is None else self.harm.harm(a, b)
        self.evaluations += len(cells)
        return [self._pair(a, b, at) for (_, at), (a, b) in zip(cells, both[len(first) :], strict=True)]

    def _pair(self, mine: float | None, other: float | None, replication: int) -> Pair | None:
        calm = self.calm[replication]
        if mine is None or other is None or calm is None:
            return None
        return Pair(mine, other, self.harm.harm(mine, other) - calm)

    def quantities(self, cells: Sequence[Cell], contenders: Sequence[tuple[str, int]]) -> list[list[float | None]]:
        """Return the quantity of each contender in each cell, a list a contender.

        Args:
            cells: traces and replications.
            contenders: each with the number by which its replications are shifted.

        Raises:
            OutOfTimeError: if `stop` is set before the last run has finished.
        """
        found: dict[str, float | None] = {}
        for outcome in self.executor.execute(self._tasks(cells, contenders), self.stop):
            found[outcome.key] = self.harm.of(json.loads(outcome.result_json), self.rivals.base)
        if len(found) < len(cells) * len(contenders):
            raise OutOfTimeError
        return [[found[f"{number} {at}"] for number in range(len(cells))] for at in range(len(contenders))]

    def _tasks(self, cells: Sequence[Cell], contenders: Sequence[tuple[str, int]]) -> Iterator[Task]:
        parsed: dict[Events, list[core.Scenario]] = {}
        for number, (events, replication) in enumerate(cells):
            if events not in parsed:
                parsed[events] = [self.scenario(events, name) for name, _ in contenders]
            for at, (_, shift) in enumerate(contenders):
                yield Task(f"{number} {at}", parsed[events][at], self.seed, replication + shift)
