"""Small traces of events on a base path, as plain data: the kinds of events, their bounds, and how they read.

Times are whole milliseconds from the beginning of a run, rates whole percents of the base path's rate, losses the
numbers of packets in the data direction. So a trace is the same on every machine, and its JSON is short.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, ClassVar, Literal, get_args

from haltere.errors import ArgumentError, InputError, as_written, refuse_below
from haltere.metrics import quantities
from haltere.plugins import store

Way = Literal["down", "up"]
"""A direction: `down` is that of the data, `up` that of the acknowledgements."""
PACKET_BYTES = 1500
"""Length of a full IP packet, by which the packets of a run are counted beforehand."""


@dataclass(frozen=True)
class Bound:
    """The range of a field, and why a path of this world keeps to it.

    Attributes:
        least, most: its ends, in the field's unit.
        rest: the end at which the event does least, towards which a trace is made smaller.
        log: whether values are drawn evenly over magnitudes.
    """

    least: int
    most: int
    rest: int
    why: str
    log: bool = True


RATE = Bound(10, 1000, 100, "cells and shared links change their rate so much within seconds")
DELAY = Bound(1, 300, 1, "a handover or a new route adds no more; beyond it are geostationary satellites")
JITTER = Bound(1, 100, 1, "schedulers of radio links and aggregation of frames add so much")
REORDERING = Bound(1, 50, 1, "two routes of one path differ by no more")
PERIOD = Bound(10, 2000, 2000, "faster changes are shorter than what a packet takes")
OUTAGE = Bound(1, 1500, 1, "a longer one is a broken path")
PACKETS = Bound(1, 100, 1, "a burst of losses, as of a full queue elsewhere")
EVERY = Bound(1, 1000, 1000, "losses at regular distances, as of a policer")
CROSS = Bound(1, 400, 1, "whoever sends beside has a faster access link")
ON = Bound(10, 2000, 10, "bursts from a window's length to seconds")
OFF = Bound(0, 5000, 5000, "none: a constant rate", log=False)
LASTS = Bound(10, 60_000, 10, "no longer than the run")
AT = Bound(0, 60_000, 0, "within the run", log=False)
FIRST = Bound(1, 1_000_000, 1, "a packet of the run")

IN_A_ROW = 3
"""The most packets that are lost in a row. Losses by number wait for their packets: after a timeout a flow sends one
packet at a time, ever later, and more losses in a row would keep it silent for longer than the longest outage. Bursts
that lose more in a row are outages, which end by themselves."""


@dataclass(frozen=True)
class Limits:
    """The bounds of a whole trace. Beyond the shares a path is broken, or what a contender gets is not its own doing.

    Args:
        events: the most events: more would explain nothing.
        loss: the most losses by number, as a share of the packets that the base path can carry.
        outage: the most time in outages, as a share of the run.
        cross: the most cross traffic, as a share of the capacity in the mean of the run.

    Raises:
        InputError: if it is fewer than one event, or a share is not between 0 and the default.
    """

    events: int = 6
    loss: float = 0.02
    outage: float = 0.10
    cross: float = 0.50

    def __post_init__(self) -> None:
        refuse_below(1, events=self.events)
        for name in ("loss", "outage", "cross"):
            most = type(self).__dataclass_fields__[name].default
            if not 0 <= getattr(self, name) <= most:
                raise ArgumentError(
                    "is no such share",
                    field=name,
                    given=as_written(getattr(self, name)),
                    right=f"from 0 to {most:g}, beyond which a path is broken",
                )


@dataclass(frozen=True, order=True)
class Rate:
    """The rate is so many percents of the base path's, for a time."""

    at_ms: int
    lasts_ms: int
    percent: int
    kind: ClassVar[str] = "rate"
    bounds: ClassVar[Mapping[str, Bound]] = {"at_ms": AT, "lasts_ms": LASTS, "percent": RATE}

    @property
    def words(self) -> str:
        """The event as people read it."""
        return f"the rate is {self.percent / 100:g} times as high{_when(self.at_ms, self.lasts_ms)}"


@dataclass(frozen=True, order=True)
class Delay:
    """Packets of a direction take longer, for a time."""

    at_ms: int
    lasts_ms: int
    extra_ms: int
    way: Way = "down"
    kind: ClassVar[str] = "delay"
    bounds: ClassVar[Mapping[str, Bound]] = {"at_ms": AT, "lasts_ms": LASTS, "extra_ms": DELAY}

    @property
    def words(self) -> str:
        """The event as people read it."""
        return f"{_CARRIED[self.way]} take {self.extra_ms} ms longer{_when(self.at_ms, self.lasts_ms)}"


@dataclass(frozen=True, order=True)
class Jitter:
    """The delay of a direction changes up and down, in halves of a period; the order of packets is kept."""

    at_ms: int
    lasts_ms: int
    extra_ms: int
    period_ms: int
    way: Way = "down"
    kind: ClassVar[str] = "jitter"
    bounds: ClassVar[Mapping[str, Bound]] = {
        "at_ms": AT,
        "lasts_ms": LASTS,
        "extra_ms": JITTER,
        "period_ms": PERIOD,
    }

    @property
    def words(self) -> str:
        """The event as people read it."""
        every = f"in every other half of {self.period_ms} ms"
        return f"{_CARRIED[self.way]} take {self.extra_ms} ms longer {every}{_when(self.at_ms, self.lasts_ms)}"


@dataclass(frozen=True, order=True)
class Reordering(Jitter):
    """The delay of a direction changes up and down, and packets overtake others when it falls."""

    kind: ClassVar[str] = "reordering"
    bounds: ClassVar[Mapping[str, Bound]] = {**Jitter.bounds, "extra_ms": REORDERING}

    @property
    def words(self) -> str:
        """The event as people read it."""
        period = f"every {self.period_ms} ms"
        return (
            f"{_CARRIED[self.way]} overtake earlier ones by up to {self.extra_ms} ms {period}"
            f"{_when(self.at_ms, self.lasts_ms)}"
        )


@dataclass(frozen=True, order=True)
class Outage:
    """Packets of a direction are lost, for a time."""

    at_ms: int
    lasts_ms: int
    way: Way = "down"
    kind: ClassVar[str] = "outage"
    bounds: ClassVar[Mapping[str, Bound]] = {"at_ms": AT, "lasts_ms": OUTAGE}

    @property
    def words(self) -> str:
        """The event as people read it."""
        return f"all {_CARRIED[self.way]} are lost{_when(self.at_ms, self.lasts_ms)}"


@dataclass(frozen=True, order=True)
class Loss:
    """Packets of the data direction are lost by their numbers: `count` of them, each `every` after the one before."""

    first: int
    count: int
    every: int
    kind: ClassVar[str] = "loss"
    bounds: ClassVar[Mapping[str, Bound]] = {"first": FIRST, "count": PACKETS, "every": EVERY}

    @property
    def numbers(self) -> range:
        """The packets that are lost, counted from 1."""
        return range(self.first, self.first + self.count * self.every, self.every)

    @property
    def words(self) -> str:
        """The event as people read it."""
        if self.count == 1:
            return f"packet {self.first} is lost"
        if self.every == 1:
            return f"packets {self.first} to {self.numbers[-1]} are lost"
        return f"{self.count} packets are lost, from {self.first} on one in {self.every}"


@dataclass(frozen=True, order=True)
class Load:
    """Datagrams share the link, for a time: bursts of `on_ms` with `off_ms` between them."""

    at_ms: int
    lasts_ms: int
    percent: int
    on_ms: int
    off_ms: int
    kind: ClassVar[str] = "load"
    bounds: ClassVar[Mapping[str, Bound]] = {
        "at_ms": AT,
        "lasts_ms": LASTS,
        "percent": CROSS,
        "on_ms": ON,
        "off_ms": OFF,
    }

    @property
    def share(self) -> float:
        """Its mean rate while it lasts, of the base path's rate."""
        return self.percent / 100 * self.on_ms / (self.on_ms + self.off_ms)

    @property
    def words(self) -> str:
        """The event as people read it."""
        rate = f"datagrams at {self.percent / 100:g} times the rate"
        shape = f"{rate} in bursts of {self.on_ms} ms, every {self.on_ms + self.off_ms} ms," if self.off_ms else rate
        return f"{shape} share the link{_when(self.at_ms, self.lasts_ms)}"


Event = Rate | Delay | Jitter | Reordering | Outage | Loss | Load
KINDS: dict[str, type[Any]] = {one.kind: one for one in get_args(Event)}
"""All kinds of events, by their names."""
_CARRIED: dict[str, str] = {"down": "packets", "up": "acknowledgements"}


def _when(at_ms: int, lasts_ms: int) -> str:
    return f", {at_ms / 1000:g} s to {(at_ms + lasts_ms) / 1000:g} s"


@dataclass(frozen=True)
class Base:
    """The path without events, and how long a run lasts.

    Args:
        rate, rtt, queue: as in scenarios; the RTT is split evenly.
        seconds: length of a run.

    Raises:
        InputError: if rate or RTT is no such quantity, or the length is not from 2 to 60 s.
    """

    rate: str = "10Mbit/s"
    rtt: str = "40ms"
    queue: str = "1bdp"
    seconds: int = 15

    def __post_init__(self) -> None:
        for name, of, right in (("rate", "rate", "10Mbit/s"), ("rtt", "time", "40ms")):
            given = getattr(self, name)
            value = quantities.value(given)
            if not value or value < 0 or quantities.dimension(given) != of:
                raise ArgumentError(f"is not a {of}", field=name, given=as_written(given), right=f"such as {right}")
        if store.queue_file(self.queue):
            right = "a limit or a discipline that is built in"
            raise ArgumentError("is code of yours, which is attacked as a contender alone", field="queue", right=right)
        if not 2 <= self.seconds <= 60:
            right = "whole seconds from 2 to 60: longer runs leave too few of them"
            raise ArgumentError("is no length of a run", field="seconds", given=as_written(self.seconds), right=right)

    @property
    def bps(self) -> int:
        """The rate in bit/s."""
        return round(quantities.value(self.rate) or 0)

    @property
    def ends_ms(self) -> int:
        """The end of a run."""
        return 1000 * self.seconds

    @property
    def packets(self) -> int:
        """The full packets that the path can carry in a run."""
        return max(1, self.bps * self.seconds // (8 * PACKET_BYTES))


def within(events: Iterable[Event], base: Base, limits: Limits = Limits()) -> tuple[Event, ...]:
    """Return events moved into their bounds, in order.

    Args:
        events: events that may be out of bounds. Where they break a bound of the whole trace, later ones are made
            shorter, or left out.
        base: the path.
        limits: the bounds of the whole trace.
    """
    kept: list[Event] = []
    left = {
        Loss: float(int(limits.loss * base.packets)),
        Outage: limits.outage * base.ends_ms,
        Load: limits.cross * base.ends_ms,
    }
    for event in dict.fromkeys(events):
        fits = _cut(_inside(event, base), left.get(type(event)))
        if fits is not None and fits not in kept and len(kept) < limits.events and _in_a_row([*kept, fits]) <= IN_A_ROW:
            kept.append(fits)
            if type(fits) in left:
                left[type(fits)] -= _cost(fits)
    return tuple(sorted(kept, key=_order))


def _cost(event: Event) -> float:
    """The share of its kind's bound that an event takes: packets, or milliseconds of the full rate."""
    if isinstance(event, Loss):
        return event.count
    return event.lasts_ms * (event.share if isinstance(event, Load) else 1)


def _in_a_row(events: Iterable[Event]) -> int:
    """The most packets that a trace loses in a row."""
    longest, length, before = 0, 0, -1
    for number in sorted({number for event in events if isinstance(event, Loss) for number in event.numbers}):
        length = length + 1 if number == before + 1 else 1
        longest, before = max(longest, length), number
    return longest


def _cut(event: Event, left: float | None) -> Event | None:
    """Return the event with no more losses, or no longer, than what is left of the bound; None if that is nothing."""
    if left is None or _cost(event) <= left:
        return event
    if isinstance(event, Loss):
        return replace(event, count=int(left)) if left >= 1 else None
    share = event.share if isinstance(event, Load) else 1
    lasts = int(left / share)
    return replace(event, lasts_ms=lasts) if lasts >= event.bounds["lasts_ms"].least else None


def _order(event: Event) -> tuple[str, tuple[Any, ...]]:
    return event.kind, tuple(asdict(event).values())


def with_values(event: Event, **values: int | str) -> Event:
    """Return an event with other values of some fields."""
    changed: Any = replace
    made: Event = changed(event, **values)
    return made


def _inside(event: Event, base: Base) -> Event:
    values = {
        name: min(max(int(getattr(event, name)), bound.least), bound.most) for name, bound in event.bounds.items()
    }
    if "at_ms" in values:
        shortest = event.bounds["lasts_ms"].least
        values["at_ms"] = min(values["at_ms"], base.ends_ms - shortest)
        values["lasts_ms"] = min(values["lasts_ms"], base.ends_ms - values["at_ms"])
    else:
        values["first"] = min(values["first"], base.packets)
        values["count"] = min(values["count"], IN_A_ROW) if values["every"] == 1 else values["count"]
    return with_values(event, **values)


def written(events: Sequence[Event]) -> list[dict[str, Any]]:
    """Return a trace as data for JSON: a table an event."""
    return [{"kind": event.kind, **asdict(event)} for event in events]


def read(data: Sequence[Mapping[str, Any]]) -> tuple[Event, ...]:
    """Return the trace that `written` returned as data.

    Raises:
        InputError: if there is no such event.
    """
    return tuple(_read(one, f"events[{place}]") for place, one in enumerate(data))


def _read(one: Mapping[str, Any], path: str) -> Event:
    kind = KINDS.get(str(one.get("kind")))
    if kind is None:
        raise InputError(
            "is no kind of event", field=f"{path}.kind", given=as_written(one.get("kind")), right=", ".join(KINDS)
        )
    known = {field.name for field in fields(kind)}
    values = {name: value for name, value in one.items() if name != "kind"}
    wrong = next((name for name in values if name not in known), None)
    missing = next((name for name in kind.bounds if name not in values), None)
    if wrong or missing:
        raise InputError(
            "is no such event",
            field=path,
            given=as_written(dict(one)),
            right=f"its fields are {', '.join(sorted(known))}",
        )
    made: Event = kind(**values)
    return made


def refuse_kinds(kinds: Iterable[str]) -> None:
    """Raise `InputError` if one of some kinds of events is none."""
    for name in kinds:
        if name not in KINDS:
            raise ArgumentError("is no kind of event", field="only", given=as_written(name), right=", ".join(KINDS))
