"""Which mechanisms two contenders differ in, and the contenders between them: each mixture is a text that can be run.

Every difference is a `Part`. A mixture has some of the second contender's parts and the rest of the first's. Within
one transport every part can be switched by itself. Between TCP and QUIC that is so for what both have (such as
pacing). What one of them alone has is switched there, towards what equals the other (`equals.py`), and so before the
transport changes or after it. What no switch brings together is the part `transport`: the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from haltere import core
from haltere.errors import ArgumentError, InputError
from haltere.explanation import equals
from haltere.fidelity import Fidelity, of, simulated
from haltere.plugins import store

CONTROL, TRANSPORT, IMPLEMENTATION = "congestion control", "transport", "implementation"
"""Names of the parts that are no switches. The last two name the rest, which no switch explains."""
REST = (TRANSPORT, IMPLEMENTATION)


@dataclass(frozen=True)
class Point:
    """The parts and settings of one contender; `fixed` are settings that its congestion control ignores."""

    text: str
    transport: str
    implementation: str | None
    model: bool
    control: str
    values: Mapping[str, str]
    fixed: frozenset[str]

    @property
    def family(self) -> str:
        """The transport without regard to the number of paths: `tcp` or `quic`."""
        return self.transport.removeprefix("mp")

    @classmethod
    @cache
    def read(cls, text: str, fidelity: Fidelity) -> Point:
        """Return what a contender runs with; raise `ScenarioProblem` if it cannot run at this fidelity."""
        found = core.effective(text, fidelity)
        settings: list[dict[str, Any]] = found["settings"]
        values = {one["name"]: equals.plain(found["transport"], one, settings) for one in settings}
        return cls(
            text,
            found["transport"],
            found["implementation"],
            found["model"],
            found["congestion"],
            {name: value for name, value in values.items() if value is not None},
            frozenset(one["name"] for one in settings if one["fixed"]),
        )


@dataclass(frozen=True)
class Part:
    """One difference between two contenders.

    Attributes:
        name: the switch's name, or that of a group of switches.
        before, after: what the first and the second contender have.
        settings: the values of its switches at the first and at the second contender.
        only: the transport that alone has these switches, or `model` if production stacks lack them; None if both have.
        needs: names of the parts that must be switched earlier.
    """

    name: str
    before: str
    after: str
    settings: tuple[Mapping[str, str], Mapping[str, str]] = ({}, {})
    only: str | None = None
    needs: frozenset[str] = field(default_factory=frozenset)

    def __post_init__(self) -> None:
        for name in ("before", "after"):  # people see no digest of a file of code
            object.__setattr__(self, name, store.shown(getattr(self, name)))


@dataclass(frozen=True)
class Space:
    """The mixtures of two contenders.

    A mixture is the integer whose bit i says whether it has part i of the second contender.
    """

    a: Point
    b: Point
    parts: tuple[Part, ...]
    fidelity: Fidelity

    @classmethod
    def between(cls, a: str, b: str, fidelity: Fidelity = "model", app: str = "https") -> Space:
        """Return the space between two contenders.

        Raises:
            InputError: if one of them cannot run, or if nothing lies between them.
        """
        if not of(fidelity).simulated:
            raise ArgumentError(
                "has no mixtures, as a kernel's mechanisms cannot all be switched",
                field="fidelity",
                given=fidelity,
                right=" or ".join(simulated()),
            )
        one, other = (_point(text, fidelity) for text in (a, b))
        if (one.model and not other.model) or (one.family, other.family) == ("quic", "tcp"):
            mirrored = cls(other, one, _parts(other, one, app), fidelity)
            return mirrored._turned()
        return cls(one, other, _parts(one, other, app), fidelity)._checked()

    def _turned(self) -> Space:
        """Return the same space from the other end."""
        behind: dict[str, set[str]] = {part.name: set() for part in self.parts}
        for part in self.parts:
            for other in part.needs:
                behind[other].add(part.name)
        parts = (
            Part(part.name, part.after, part.before, part.settings[::-1], part.only, frozenset(behind[part.name]))
            for part in self.parts
        )
        return Space(self.b, self.a, tuple(parts), self.fidelity)._checked()

    def _checked(self) -> Space:
        if not self.parts:
            same = "the two contenders run with the same mechanisms, so that there is nothing to explain"
            known = "two contenders that differ"
            if of(self.fidelity).stacks and not self.a.model:
                known += f"; at fidelity {self.fidelity!r} quic/… means quinn, and quic@model/… the model"
            raise InputError(same, field="contender", given=f"{self.a.text} {self.b.text}", right=known)
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """The parts' names, in the order of their bits."""
        return tuple(part.name for part in self.parts)

    @property
    def after(self) -> dict[int, tuple[int, ...]]:
        """For each part the numbers of those that must be switched earlier."""
        place = {name: number for number, name in enumerate(self.names)}
        return {place[part.name]: tuple(sorted(place[one] for one in part.needs)) for part in self.parts}

    def text(self, mask: int) -> str:
        """Return a mixture as a contender that `haltere compare` can run."""
        if mask == 0:
            return self.a.text
        if mask == (1 << len(self.parts)) - 1:
            return self.b.text
        has = {part.name for number, part in enumerate(self.parts) if mask >> number & 1}
        end, other = (self.b, self.a) if has & set(REST) else (self.a, self.b)
        control = (self.b if CONTROL in has else self.a).control
        if not end.model:
            return self._in_stack(end, control, has)
        own = f"@{end.implementation}" if end.implementation else ""
        wanted: dict[str, str] = {}
        for point in (other, end):
            if point is end or point.control == control:
                wanted |= {
                    name: value
                    for name, value in point.values.items()
                    if name not in point.fixed and (point.family == end.family or name not in equals.UNLIKE)
                }
        for part in self.parts:
            if part.only in (None, end.family, "model"):
                wanted |= part.settings[part.name in has]
        if end.family == "quic":
            wanted = {name: equals.common(name, value) for name, value in wanted.items()}
        # A scheduler of a file has parameters, which the contender has with it alone.
        scheduler = wanted.get("scheduler", "")
        base = Point.read(
            f"{end.transport}{own}/{control}" + (f"+scheduler={scheduler}" if "/" in scheduler else ""), self.fidelity
        )
        return base.text + "".join(
            _written(name, value)
            for name, value in sorted(wanted.items())
            if name in base.values and name not in base.fixed and base.values[name] != value
        )

    def _in_stack(self, home: Point, control: str, has: set[str]) -> str:
        """Return a mixture that runs in a production stack, whose only mechanisms are those of a foreign control."""
        wanted = dict(home.values)
        for part in self.parts:
            if part.only != "model":
                wanted |= part.settings[part.name in has]
        ours = wanted.get("haltere") == "on"
        wanted = {
            name: value
            for name, value in wanted.items()
            if (ours if name in equals.OURS else value != "off") and value != equals.UNWRITTEN.get(name)
        }
        own = f"@{home.implementation}" if home.implementation else ""
        return f"{home.transport}{own}/{control}" + "".join(
            _written(name, value) for name, value in sorted(wanted.items())
        )


def _point(text: str, fidelity: Fidelity) -> Point:
    try:
        return Point.read(text, fidelity)
    except core.ScenarioProblem as problem:
        raise InputError(problem.message, field="contender") from None


def _written(name: str, value: str) -> str:
    return {"on": f"+{name}", "off": f"-{name}"}.get(value, f"+{name}={value}")


def _parts(a: Point, b: Point, app: str) -> tuple[Part, ...]:
    if not a.model:
        if a.family != b.family:
            raise InputError(
                "is a production stack of another transport",
                field="contender",
                given=f"{a.text} {b.text}",
                right=f"two steps: {a.text} quic@model/{a.control}, then quic@model/{a.control} {b.text}",
            )
        return tuple(_of_stacks(a, b))
    if a.family != b.family:
        return tuple(_of_transports(a, b, app))
    found = list(_shared(a, b, a.values.keys() & b.values.keys()))
    if a.transport != b.transport:
        found.append(Part(TRANSPORT, a.transport, b.transport))
    return tuple(found)


def _shared(a: Point, b: Point, names: Any) -> list[Part]:
    """Return the congestion control, and each switch that both have and that differs."""
    found = [Part(CONTROL, a.control, b.control)] if a.control != b.control else []
    say = equals.common if a.family != b.family else lambda _, value: value
    differ = [
        name
        for name in a.values
        if name in names and name not in a.fixed | b.fixed and say(name, a.values[name]) != say(name, b.values[name])
    ]
    for lead, led in equals.TOGETHER.items():
        if lead in differ:
            differ = [name for name in differ if name not in led]
    for name in differ:
        members = (name, *equals.TOGETHER.get(name, ()))
        sides = tuple({one: point.values[one] for one in members} for point in (a, b))
        found.append(Part(name, a.values[name], b.values[name], (sides[0], sides[1])))
    return found


def _of_transports(a: Point, b: Point, app: str) -> list[Part]:
    """Return the parts between TCP and QUIC; TCP comes first."""
    names = (a.values.keys() & b.values.keys()) - equals.UNLIKE
    found = _shared(a, b, names)
    alone = [_alone(group, a, b, app) for group in equals.TCP]
    before = [part for part in alone if part is not None]
    found += before
    found.append(Part(TRANSPORT, a.transport, b.transport, needs=frozenset(part.name for part in before)))
    later = [_alone(group, b, a, app) for group in equals.QUIC]
    found += [
        Part(part.name, part.before, part.after, part.settings, part.only, frozenset({TRANSPORT}))
        for part in later
        if part is not None
    ]
    return found


def _alone(group: equals.Group, point: Point, other: Point, app: str) -> Part | None:
    """Return the part of switches that one transport alone has, or None if they equal the other transport already.

    A switch that a congestion control ignores belongs to the control.
    """
    fixed = point.fixed | other.fixed
    own = {name: point.values[name] for name in group.neutral if name in point.values and name not in fixed}
    neutral = {name: group.neutral[name] for name in own}
    if own == neutral or (group.apps and app not in group.apps):
        return None
    lead = next(name for name in own if own[name] != neutral[name])
    sides = (own, neutral) if point.family == "tcp" else (neutral, own)
    shown = tuple(side[lead] for side in sides)
    return Part(group.name, shown[0], shown[1], sides, point.family)


def _of_stacks(a: Point, b: Point) -> list[Part]:
    """Return the parts between two implementations of QUIC; the first is a production stack."""
    if not b.model and _house(a) == _house(b):
        return _within_stack(a, b)
    found = []
    offers, mine = _takes_ours(a), a.values.get("haltere") == "on"
    like: Mapping[str, str] = {}
    if offers and not mine:
        like = equals.CONTROLS.get((_house(a), a.control), {})
        found.append(Part(f"{_house(a)}'s congestion control", "its own", "ours", (OWN, {**OURS, **like})))
    needs = frozenset(part.name for part in found)
    plain = {name: _rule(b, name) for name, value in like.items() if a.control != b.control or value != _rule(b, name)}
    for name, then in plain.items():
        found.append(Part(name, like[name], then, ({name: like[name]}, {name: then}), needs=needs))
    if a.control != b.control:
        found.append(Part(CONTROL, a.control, b.control, needs=needs | set(plain)))
    before, after = (_exit(point) for point in (a, b))
    if offers and before != after:
        found.append(Part("hystart", before, after, ({"hystart": before}, {"hystart": after}), needs=needs))
    found.append(Part(IMPLEMENTATION, _house(a), _house(b), needs=needs))
    if b.model:
        groups = equals.STACKS.get(_house(a), ())
        found += [
            Part(part.name, part.before, part.after, part.settings, "model", frozenset({IMPLEMENTATION}))
            for part in (_alone(group, b, b, "https") for group in groups)
            if part is not None
        ]
    elif _takes_ours(b) and b.values.get("haltere") != "on":
        name = f"{_house(b)}'s congestion control"
        earlier = {part.name for part in found} & {IMPLEMENTATION, *equals.OURS}
        found.append(Part(name, "ours", "its own", (OURS, OWN), None, frozenset(earlier)))
    return found


OWN: Mapping[str, str] = {"haltere": "off"}
OURS: Mapping[str, str] = {"haltere": "on", "hystart": "off"}
"""A production stack with its own congestion control, and with ours made to end slow start as its own does."""


def _within_stack(a: Point, b: Point) -> list[Part]:
    """Return the parts between two contenders of the same production stack."""
    found = [Part(CONTROL, a.control, b.control)] if a.control != b.control else []
    sides = [dict(point.values) for point in (a, b)]
    if sides[0].get("haltere") != sides[1].get("haltere"):  # the switches of our control come with it
        ours = [{name: side.pop(name) for name in ("haltere", *equals.OURS) if name in side} for side in sides]
        before, after = ({"haltere": "off", **side} for side in ours)
        found.append(Part("haltere", before["haltere"], after["haltere"], (before, after)))
    for name in sorted(sides[0].keys() | sides[1].keys()):
        unset = "off" if name not in equals.OURS else _default(a, name)
        now, then = (side.get(name, unset) for side in sides)
        if now != then:
            found.append(Part(name, now, then, ({name: now}, {name: then})))
    return found


def _default(point: Point, name: str) -> str:
    """Return the value that a switch of our congestion control has where nothing is set."""
    return Point.read(f"quic@model/{point.control}", "stack").values[name]


def _house(point: Point) -> str:
    return "model" if point.model else point.implementation or "quinn"


def _takes_ours(point: Point) -> bool:
    """Whether a stack takes our congestion control."""
    own = f"@{point.implementation}" if point.implementation else ""
    try:
        Point.read(f"{point.transport}{own}/{point.control}+haltere-hystart", "stack")
    except core.ScenarioProblem:
        return False
    return True


def _rule(point: Point, name: str) -> str:
    """Return the value of a switch of CUBIC's at the second contender, or the default where it has none."""
    value = point.values.get(name)
    return equals.UNWRITTEN[name] if value is None or name in point.fixed else value


def _exit(point: Point) -> str:
    """Return how slow start ends. The stacks that take our congestion control have none of their own."""
    if point.model:
        return point.values["hystart"]
    if point.values.get("haltere") != "on":
        return "off"
    return point.values.get("hystart") or _default(point, "hystart")
