"""Draws traces at random, and makes new ones of others: the variation of an evolutionary search.

Every draw comes from a named stream of the seed, so that the same seed makes the same traces in the same order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from haltere.attack.events import KINDS, Base, Bound, Event, Limits, Load, Loss, Rate, with_values, within
from haltere.when.runs import seed_of

FIRST_EVENTS = 3
"""A trace that is drawn has so many events at most."""
CROSSED = 0.3
"""The share of new traces that have events of two others."""
STEP = 0.5
"""The deviation of the logarithm of the factor by which a field is changed."""
ONE_WAY = (Rate, Loss, Load)
"""Kinds of events that happen in the data direction alone."""
Events = tuple[Event, ...]


def stream(seed: int, name: str) -> np.random.Generator:
    """Return the random stream of a name."""
    return np.random.default_rng(seed_of(seed, name))


@dataclass(frozen=True)
class Draw:
    """The events that traces may be made of.

    Attributes:
        base: the path.
        kinds: the kinds of events.
        limits: the bounds of a whole trace.
    """

    base: Base
    kinds: tuple[str, ...]
    limits: Limits

    def anew(self, dice: np.random.Generator) -> Events:
        """Return a trace with one to `FIRST_EVENTS` events."""
        count = 1 + int(dice.integers(min(FIRST_EVENTS, self.limits.events)))
        return within((self._event(dice) for _ in range(count)), self.base, self.limits)

    def child(self, mother: Events, father: Events, dice: np.random.Generator) -> Events:
        """Return a trace made of two others: events of both, or the first one's with a change or two."""
        if dice.random() < CROSSED and mother != father:
            chosen = [event for event in (*mother, *father) if dice.random() < 0.5]
            made = within(chosen or mother, self.base, self.limits)
            if made != mother:
                return made
        for _ in range(1 + int(dice.integers(2))):
            mother = self._changed(mother, dice)
        return mother

    def _changed(self, events: Events, dice: np.random.Generator) -> Events:
        """Return a trace with an event added, repeated, removed, or changed."""
        action = dice.random()
        if not events or (action < 0.15 and len(events) < self.limits.events):
            return within((self._event(dice), *events), self.base, self.limits)
        place = int(dice.integers(len(events)))
        others = (*events[:place], *events[place + 1 :])
        if action < 0.25 and others:
            return others
        if action < 0.35:
            return within((*events, self._changed_event(events[place], dice, "at_ms", "first")), self.base, self.limits)
        return within((self._changed_event(events[place], dice), *others), self.base, self.limits)

    def _event(self, dice: np.random.Generator) -> Event:
        kind = KINDS[self.kinds[int(dice.integers(len(self.kinds)))]]
        values: dict[str, int | str] = {name: self._value(name, bound, dice) for name, bound in kind.bounds.items()}
        if kind not in ONE_WAY:
            values["way"] = ("down", "up")[int(dice.integers(2))]
        event: Event = kind(**values)
        return event

    def _value(self, name: str, bound: Bound, dice: np.random.Generator) -> int:
        most = bound.most
        if name in ("at_ms", "lasts_ms"):
            most = min(most, self.base.ends_ms)
        elif name == "first":
            return 1 + int(dice.integers(self.base.packets))
        if not bound.log:
            return bound.least + int(dice.integers(most - bound.least + 1))
        low, high = math.log(bound.least), math.log(most)
        return round(math.exp(low + (high - low) * dice.random()))

    def _changed_event(self, event: Event, dice: np.random.Generator, *only: str) -> Event:
        """Return an event with one field changed, one of `only` where these are given."""
        names = [name for name in only if name in event.bounds] or list(event.bounds)
        name = names[int(dice.integers(len(names)))]
        bound, before = event.bounds[name], int(getattr(event, name))
        if not only and not isinstance(event, ONE_WAY) and dice.random() < 0.1:
            return with_values(event, way="up" if event.way == "down" else "down")
        if dice.random() < 0.2:
            return with_values(event, **{name: self._value(name, bound, dice)})
        if name in ("at_ms", "first"):
            span = self.base.ends_ms if name == "at_ms" else self.base.packets
            return with_values(event, **{name: max(bound.least, before + round(dice.normal() * span * 0.05))})
        scaled = round(max(before, 1) * math.exp(STEP * dice.normal()))
        return with_values(event, **{name: scaled if scaled != before else before + (1 if dice.random() < 0.5 else -1)})


def tournament(ranked: Sequence[Events], dice: np.random.Generator, of: int = 3) -> Events:
    """Return the best of some that are drawn from a list, whose first is the best."""
    return ranked[int(dice.integers(len(ranked), size=of).min())]
