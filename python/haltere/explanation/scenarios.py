"""The differences of two scenarios, and the scenarios between them: fields of links, flows and hosts, and mechanisms.

A field in which the scenarios differ is a part. It is switched wherever it differs, in all links and all flows at once,
so that a part is what a person would change: the queue, byte queue limits, the mark of the packets. Contenders that
differ are taken apart into their mechanisms (`mixtures`); where no mixtures lie between them they are one part.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from haltere import core
from haltere.errors import InputError
from haltere.explanation.mixtures import Part, Space
from haltere.fidelity import Fidelity
from haltere.fidelity import check as check_at

CONTENDER = "contender"
SHOWN = 3
"""So many values of a part are named at most."""
Steps = tuple[str | int, ...]
Scenario = dict[str, Any]
_ABSENT = object()


@dataclass(frozen=True)
class _Leaf:
    """A field in which two scenarios differ, with the value that each has there."""

    steps: Steps
    before: Any
    after: Any
    space: Space | None = None

    @property
    def name(self) -> str:
        """The field's name: the last name on the way to it."""
        return next(str(step) for step in reversed(self.steps) if isinstance(step, str))


@dataclass(frozen=True)
class Between:
    """Two scenarios, their differences, and the scenarios between them.

    Attributes:
        before, after: the scenarios.
        fidelity: where they run.
        parts: their differences; the same field or mechanism of several flows or links is one part.
    """

    before: Scenario
    after: Scenario
    fidelity: Fidelity
    parts: tuple[Part, ...]
    _leaves: tuple[_Leaf, ...] = field(repr=False)

    @classmethod
    def of(cls, before: Scenario, after: Scenario, fidelity: Fidelity) -> Between:
        """Find the differences of two scenarios."""
        leaves = tuple(_with_space(leaf, before, fidelity) for leaf in _differences(before, after, ()))
        found = [part for leaf in leaves for part in _parts_of(leaf)]
        return cls(before, after, fidelity, merged(found), leaves)

    def scenario(self, switched: set[str]) -> core.Scenario:
        """Return the scenario that has the second one's value of these parts; raise `InputError` if it cannot run."""
        made = copy.deepcopy(self.before)
        for leaf in self._leaves:
            _put(made, leaf.steps, _value(leaf, switched))
        try:
            scenario = core.parse(made)
            check_at(self.fidelity, scenario)
        except core.ScenarioProblem as problem:
            raise InputError(problem.message, field=problem.path or "scenario") from None
        return scenario


def merged(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Return parts of the same name as one, which has the values of all of them."""
    kept: dict[str, list[Part]] = {}
    for part in parts:
        kept.setdefault(part.name, []).append(part)
    return tuple(
        Part(
            name,
            _joined([one.before for one in some]),
            _joined([one.after for one in some]),
            needs=frozenset[str]().union(*(one.needs for one in some)),
        )
        for name, some in kept.items()
    )


def _joined(values: Sequence[str]) -> str:
    each = list(dict.fromkeys(values))
    more = f", and {len(each) - SHOWN} more" if len(each) > SHOWN else ""
    return ", ".join(each[:SHOWN]) + more


def _differences(before: Any, after: Any, steps: Steps) -> Iterator[_Leaf]:
    if isinstance(before, dict) and isinstance(after, dict):
        for name in dict.fromkeys([*before, *after]):
            yield from _differences(before.get(name, _ABSENT), after.get(name, _ABSENT), (*steps, name))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for place, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from _differences(one, other, (*steps, place))
    elif before is not after and before != after:
        yield _Leaf(steps, before, after)


def _with_space(leaf: _Leaf, scenario: Scenario, fidelity: Fidelity) -> _Leaf:
    """Return the leaf with the space of mixtures between its two contenders, if it is a contender and has one."""
    if leaf.name != CONTENDER or not isinstance(leaf.before, str) or not isinstance(leaf.after, str):
        return leaf
    flow: Any = scenario
    for step in leaf.steps[:-1]:
        flow = flow[step]
    try:
        space = Space.between(leaf.before, leaf.after, fidelity, str(flow.get("app", "https")))
    except InputError:
        return leaf
    return _Leaf(leaf.steps, leaf.before, leaf.after, space)


def _parts_of(leaf: _Leaf) -> list[Part]:
    if leaf.space is not None:
        return [Part(part.name, part.before, part.after, needs=part.needs) for part in leaf.space.parts]
    return [Part(leaf.name, _said(leaf.before), _said(leaf.after))]


def _said(value: Any) -> str:
    if value is _ABSENT:
        return "not set"
    if isinstance(value, bool):
        return "on" if value else "off"
    return value if isinstance(value, str) else json.dumps(value)


def _value(leaf: _Leaf, switched: set[str]) -> Any:
    if leaf.space is None:
        return leaf.after if leaf.name in switched else leaf.before
    names = leaf.space.names
    return leaf.space.text(sum(1 << place for place, name in enumerate(names) if name in switched))


def _put(scenario: Scenario, steps: Steps, value: Any) -> None:
    inside: Any = scenario
    for step in steps[:-1]:
        inside = inside[step]
    if value is _ABSENT:
        inside.pop(steps[-1], None)
    else:
        inside[steps[-1]] = copy.deepcopy(value)


def names_of(parts: Sequence[Part], mask: int) -> set[str]:
    """Return the names of the parts whose bits are set."""
    return {part.name for place, part in enumerate(parts) if mask >> place & 1}


def after_of(parts: Sequence[Part]) -> Mapping[int, tuple[int, ...]]:
    """For each part return the numbers of those that must be switched earlier."""
    place = {part.name: number for number, part in enumerate(parts)}
    return {place[part.name]: tuple(sorted(place[one] for one in part.needs)) for part in parts}
