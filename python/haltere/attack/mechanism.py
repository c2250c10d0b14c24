"""Names the mechanism of a finding: which parts of the difference between the two, and which of its switches.

`haltere explain` takes the difference between the two apart, on the ground of the trace. Where they differ in little
but the congestion control this says no more than that. So each switch of the contender is tried as well: a mechanism
is named if the harm falls by half without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from haltere import core
from haltere.attack.arena import Arena, Events
from haltere.attack.harms import Harm
from haltere.errors import HaltereError, InputError, counted
from haltere.explanation import Explanation
from haltere.explanation.explaining import explained_by
from haltere.explanation.mixtures import CONTROL, Space
from haltere.explanation.runs import How, Runs
from haltere.fidelity import Fidelity
from haltere.metrics import Metric
from haltere.plugins import store
from haltere.stats import Interval, trimmed_mean
from haltere.when.changes import switched, switches, transport_of
from haltere.when.runs import OutOfTimeError

REPLICATIONS = 13
"""With so many replications the switches of a transport, some 100, can be told from chance together."""
EXPLAINED = 8
"""Replications of the explanation."""
HALF = 0.5
"""A switch names the mechanism if it takes this share of the harm away."""
SHOWN = 3
_HARM = "harm"


@dataclass(frozen=True)
class Switched:
    """A switch of the contender, and the harm that it takes away, beside the contender as it is.

    Attributes:
        text: the switch as it is written, such as `-rack`.
        share: the share of the harm that it takes away.
        interval: the harm that it takes away, with an interval that allows for all switches that were tried.
    """

    text: str
    share: float
    interval: Interval


@dataclass(frozen=True)
class Mechanism:
    """The mechanism of a finding, as far as it was shown.

    Attributes:
        explanation: of the difference between the two; None if nothing lies between them, or it could not be made.
        switches: those that take half of the harm away or more, the strongest first.
        tried: how many switches were tried.
    """

    explanation: Explanation | None
    switches: tuple[Switched, ...]
    tried: int

    def sentences(self, contender: str) -> list[str]:
        """Return what can be said, no more than was shown."""
        said = []
        if self.explanation is not None and not self._control_alone():
            said.append(f"Taken apart: {self.explanation.answer}")
        elif self.explanation is not None:
            said.append(f"Taken apart: the {CONTROL} alone makes the difference")
        tried = counted(self.tried, "other value") + f" of switches of {store.shown(contender)}"
        if not self.switches:
            return [*said, f"None of {tried} takes half of the harm away"]
        some = [f"{one.text} takes {min(1.0, one.share):.0%} of the harm away" for one in self.switches[:SHOWN]]
        more = len(self.switches) - SHOWN
        rest = [f"{more} more take half or more"] if more > 0 else []
        return [*said, f"Of {tried}: {'; '.join([*some, *rest])}"]

    def _control_alone(self) -> bool:
        found = self.explanation
        real = [part.name for part, effect in found.ranked if effect.real] if found is not None else []
        return real == [CONTROL]

    def data(self) -> dict[str, Any]:
        """Return it for programs."""
        return {
            "explanation": None if self.explanation is None else self.explanation.data(),
            "switches": [
                {"switch": one.text, "share": one.share, "low": one.interval.low, "high": one.interval.high}
                for one in self.switches
            ],
            "tried": self.tried,
        }


def mechanism(arena: Arena, events: Events, conditions: str) -> Mechanism:
    """Look for the mechanism of a finding.

    Args:
        arena: one with a seed of its own.
        events: the finding.
        conditions: the ground in a line.

    Raises:
        OutOfTimeError: if the arena stops.
    """
    tried = _tried(arena, events)
    found = _switches(arena, events, tried)
    explanation = _explanation(arena, events, conditions)
    if arena.stop.is_set():
        raise OutOfTimeError
    return Mechanism(explanation, found, len(tried))


def _tried(arena: Arena, events: Events) -> dict[str, str]:
    """The contender with each switch that changes it and can run there, by the switch's text."""
    contender, where = arena.rivals.contender, arena.rivals.fidelity
    each = ((one.text, switched(contender, one, where)) for one in switches(transport_of(contender)))
    return {text: made for text, made in each if made is not None and _runs(arena, events, made) is None}


def _runs(arena: Arena, events: Events, contender: str) -> str | None:
    """Why a contender cannot run under a trace, or None."""
    try:
        arena.scenario(events, contender)
    except core.ScenarioProblem as problem:
        return problem.message
    return None


def _switches(arena: Arena, events: Events, tried: Mapping[str, str]) -> tuple[Switched, ...]:
    rivals, harm = arena.rivals, arena.harm
    cells = [(events, at) for at in range(REPLICATIONS)]
    contenders = [rivals.contender, rivals.against, *tried.values()]
    mine, other, *each = arena.quantities(cells, [(one, 0) for one in contenders])
    confidence = 1 - 0.05 / max(1, len(tried))
    found = []
    for text, values in zip(tried, each, strict=True):
        both = [
            (harm.harm(a, b), harm.harm(a, c))
            for a, b, c in zip(mine, other, values, strict=True)
            if a is not None and b is not None and c is not None
        ]
        if len(both) < len(cells):
            continue
        whole = trimmed_mean([one for one, _ in both]).value
        half = trimmed_mean([taken - HALF * one for one, taken in both], confidence)
        if half.low is not None and half.low > 0 and whole > 0:
            taken = trimmed_mean([taken for _, taken in both], confidence)
            found.append(Switched(text, taken.value / whole, taken))
    return tuple(sorted(found, key=lambda one: -one.share))


@dataclass(frozen=True)
class _Ground:
    """The ground of a trace, for an explanation: its entries have the quantity of the harm alone."""

    arena: Arena
    events: Events

    @property
    def fidelity(self) -> Fidelity:
        """Where it runs."""
        return self.arena.rivals.fidelity

    def scenarios(self, contender: str) -> tuple[core.Scenario, core.Scenario]:
        """Return the scenario, the same for even and odd replications."""
        refused = _runs(self.arena, self.events, contender)
        if refused is not None:
            raise InputError(refused, field="contender")
        scenario = self.arena.scenario(self.events, contender)
        return scenario, scenario

    def entry(self, contender: str, result: dict[str, Any], seed: int, replication: int) -> dict[str, Any]:  # noqa: ARG002 (the protocol's)
        """Return a run's entry."""
        return {_HARM: self.arena.harm.of(result, self.arena.rivals.base), "error": result["error"]}


def _metric(harm: Harm) -> Metric:
    """The quantity of a harm as a metric."""
    return Metric(
        harm.name,
        harm.measures,
        harm.unit,
        column=_HARM,
        divisor=1 / harm.scale,
        better="higher" if harm.higher_is_better else "lower",
        comparison="ratio" if harm.ratio else "difference",
    )


def _explanation(arena: Arena, events: Events, conditions: str) -> Explanation | None:
    rivals = arena.rivals
    try:
        space = Space.between(rivals.contender, rivals.against, rivals.fidelity, "raw")
        runs = Runs(space, _Ground(arena, events), _metric(arena.harm), arena.seed)
        how = How(executor=arena.executor, stop=arena.stop)
        return explained_by(runs, EXPLAINED, conditions, how=how)
    except HaltereError:  # nothing lies between them, or no order of the parts can run
        return None
