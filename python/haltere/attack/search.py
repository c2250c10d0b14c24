"""Evolves traces that hurt a contender more than another, and makes the worst of them small.

A generation of new traces is evaluated in one replication; those that come above the least of the survivors are
evaluated in all of the search's, and their mean harm decides. The first survivors are evaluated in one replication more
each generation, so that none stays first by luck. Where nothing better was found for some generations the
search begins again with new traces. The best of each beginning are compared in more replications, and the first of
them is made smaller as long as most of its harm remains.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from haltere.attack.arena import Arena, Events
from haltere.attack.drawing import Draw, stream, tournament
from haltere.attack.events import Event, with_values, within
from haltere.when.runs import OutOfTimeError

POPULATION = 24
"""Survivors of a generation, and new traces of the next."""
REPLICATIONS = 3
"""Replications of the search."""
PATIENCE = 10
"""After so many generations without a better trace the search begins again."""
BETTER = 0.01
"""A trace is better if its harm is larger by this share."""
LEADING, CANDIDATES = 3, 8
"""So many traces of each beginning, and so many of all, are compared in `COMPARED` further replications."""
REPEATED = 12
"""The first `LEADING` survivors are evaluated once more each generation, up to so many times."""
COMPARED = range(REPEATED, REPEATED + 8)
HALVINGS = 3
"""So often the way of a field to its rest is halved."""
KEPT = 0.8
"""A trace that is made smaller keeps this share of its harm."""
NOTHING = -math.inf
"""The harm of a trace under which a run failed."""


@dataclass(frozen=True)
class Scored:
    """A trace and its harms in the replications in which it was looked at, from 0 on."""

    events: Events
    harms: tuple[float, ...]

    @property
    def harm(self) -> float:
        """Their mean."""
        return fmean(self.harms)


@dataclass
class Evolution:
    """A search in one arena.

    Attributes:
        arena: where traces are evaluated.
        draw: what traces are made of.
        budget: the most evaluations.
        on_progress: called with the evaluations so far and the largest harm.
    """

    arena: Arena
    draw: Draw
    budget: int
    on_progress: Callable[[int, float], None] = lambda _done, _harm: None
    _leading: list[Scored] = field(default_factory=list)

    def run(self) -> list[Scored]:
        """Search until the budget is used up or the arena stops; the traces that hurt, those that hurt most first."""
        number = 0
        try:
            while self.arena.evaluations < self.budget:
                self._begin(number)
                number += 1
        except OutOfTimeError:
            pass
        return [one for one in self._leading if one.harm > 0]

    def _begin(self, number: int) -> None:
        """Evolve new traces until nothing better comes."""
        dice = stream(self.arena.seed, f"attack {self.arena.harm.name} {number}")
        others = self._leading
        survivors = self._survivors([], [self.draw.anew(dice) for _ in range(POPULATION)])
        waited, best = 0, survivors[0].harm
        while waited < PATIENCE and self.arena.evaluations < self.budget:
            ranked = [one.events for one in survivors]
            made = [
                self.draw.child(tournament(ranked, dice), tournament(ranked, dice), dice) for _ in range(POPULATION)
            ]
            survivors = self._repeated(self._survivors(survivors, made))
            waited = waited + 1 if survivors[0].harm <= best + BETTER * abs(best) else 0
            best = survivors[0].harm
            self._leading = sorted([*others, *survivors[:LEADING]], key=lambda one: -one.harm)
            self.on_progress(self.arena.evaluations, self._leading[0].harm)

    def _survivors(self, before: Sequence[Scored], made: Sequence[Events]) -> list[Scored]:
        """Return the best of the survivors so far and of new traces."""
        known = {one.events for one in before}
        new = [events for events in dict.fromkeys(made) if events and events not in known]
        least = before[-1].harm if before else NOTHING
        first = _harms(self.arena, [(events, 0) for events in new])
        hopeful = [(events, harm) for events, harm in zip(new, first, strict=True) if harm > least]
        rest = range(1, REPLICATIONS)
        more = _harms(self.arena, [(events, at) for events, _ in hopeful for at in rest])
        size = len(rest)
        scored = [
            Scored(events, (harm, *more[at * size : (at + 1) * size])) for at, (events, harm) in enumerate(hopeful)
        ]
        ranked = sorted([*before, *scored], key=lambda one: -one.harm)[:POPULATION]
        return ranked or [Scored((), (NOTHING,))]

    def _repeated(self, survivors: Sequence[Scored]) -> list[Scored]:
        """Return the survivors, of which the first were evaluated in one replication more."""
        again = [one for one in survivors[:LEADING] if one.events and len(one.harms) < REPEATED]
        harms = _harms(self.arena, [(one.events, len(one.harms)) for one in again])
        more = {one.events: (*one.harms, harm) for one, harm in zip(again, harms, strict=True)}
        found = [Scored(one.events, more.get(one.events, one.harms)) for one in survivors]
        return sorted(found, key=lambda one: -one.harm)


def _harms(arena: Arena, cells: Sequence[tuple[Events, int]]) -> list[float]:
    return [NOTHING if pair is None else pair.harm for pair in arena.evaluate(cells)]


def chosen(arena: Arena, ranked: Sequence[Scored]) -> Scored | None:
    """Return the one of the best traces that does most harm in the further replications; None if none does any."""
    some = ranked[:CANDIDATES]
    harms = _harms(arena, [(one.events, at) for one in some for at in COMPARED])
    size = len(COMPARED)
    scored = [Scored(one.events, tuple(harms[at * size : (at + 1) * size])) for at, one in enumerate(some)]
    scored = [one for one in scored if one.harm > 0]
    return max(scored, key=lambda one: one.harm, default=None)


def smaller(arena: Arena, found: Scored, draw: Draw) -> Scored:
    """Return a trace with fewer and smaller events that keeps `KEPT` of the harm in the same replications.

    Events are taken away one after another, then the fields of each go towards the end at which it does least: all of
    the way, or as far as halving finds. When the arena stops, it is what was reached.
    """
    making = _Smaller(arena, draw, found, KEPT * found.harm)
    try:
        for event in found.events:
            making.without(event)
        for event in making.found.events:
            making.shrink(event)
    except OutOfTimeError:
        pass
    return making.found


@dataclass
class _Smaller:
    """A trace that is made smaller, as far as it was."""

    arena: Arena
    draw: Draw
    found: Scored
    least: float

    def without(self, event: Event) -> None:
        """Take an event away if the rest does enough harm."""
        rest = self._others(event)
        if rest:
            self._try(rest)

    def shrink(self, event: Event) -> None:
        """Move the fields of an event towards their rest."""
        for name, bound in event.bounds.items():
            if name in ("at_ms", "first"):
                continue
            far = bound.rest
            for _ in range(1 + HALVINGS):
                if far == getattr(event, name):
                    break
                less = with_values(event, **{name: far})
                if self._try(within((less, *self._others(event)), self.draw.base, self.draw.limits)):
                    event = less
                    if far == bound.rest:
                        break
                    far = (far + bound.rest) // 2
                else:
                    far = (far + int(getattr(event, name))) // 2

    def _others(self, event: Event) -> Events:
        return tuple(one for one in self.found.events if one != event)

    def _try(self, events: Events) -> bool:
        """Evaluate a trace, and keep it if it does enough harm."""
        made = Scored(events, tuple(_harms(self.arena, [(events, at) for at in COMPARED])))
        if made.harm >= self.least:
            self.found = made
        return made.harm >= self.least
