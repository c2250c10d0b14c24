"""Writes a trace as a scenario: the events become courses of rate and delay, outages, losses by number, and loads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from haltere.attack.events import PACKET_BYTES, Base, Delay, Event, Jitter, Load, Loss, Outage, Rate, Reordering, Way
from haltere.metrics import quantities

START_SPREAD = "200ms"
"""Flows start at a time drawn from this in each replication, so that nothing rests on one moment."""
LONGEST_MS = 300
"""Delays of several events add up to this at most."""
Table = dict[str, Any]


@dataclass(frozen=True)
class Place:
    """Where a contender meets a trace.

    Attributes:
        flows: 1 if it is alone on a link that has the events; 2 if it is beside its like behind one bottleneck, where
            the events are those of the second flow's access link.
        from_share: the share of the run after which goodput counts.
    """

    flows: Literal[1, 2] = 1
    from_share: float = 0.0


ALONE = Place()


def document(base: Base, events: Sequence[Event], contender: str, place: Place = ALONE) -> Table:
    """Return the scenario in which a contender meets a trace, as nested tables."""
    flow = {"contender": contender, "app": "raw", "start_spread": START_SPREAD}
    link = _link(base)
    if place.flows == 1:
        topology: Table = {"kind": "point-to-point", "link": _with_events(link, base, events)}
        flows = [flow]
    else:
        ways = {"down": {"delay": "0ms"}, "up": {"delay": "0ms"}}
        access = _with_events(ways, base, events)
        links = [
            {"name": "access 0", "from": "server 0", "to": "left", "link": {"delay": "0ms"}},
            {"name": "access 1", "from": "server 1", "to": "left", "link": access},
            {"name": "bottleneck", "from": "left", "to": "client", "link": link},
        ]
        topology = {"kind": "graph", "links": links}
        flows = [{**flow, "server": f"server {number}", "client": "client"} for number in range(2)]
    scenario: Table = {"topology": topology, "flows": flows, "duration": f"{base.seconds}s"}
    if place.from_share:
        scenario["measure_from"] = f"{round(base.ends_ms * place.from_share)}ms"
    loads = [_load(event, base) for event in events if isinstance(event, Load)]
    return scenario | ({"loads": loads} if loads else {})


def on_hosts(scenario: Table) -> Table:
    """Return a scenario for real hosts: links of our emulator, which alone change, and ticks of one kernel."""
    return {**scenario, "links": "haltere", "ticks": "shared"}


def _link(base: Base) -> Table:
    half = (quantities.value(base.rtt) or 0) / 2
    delay = f"{round(half * 1e9)}ns"
    return {
        "rate": base.rate,
        "queue": _limit(base),
        "down": {"delay": delay},
        "up": {"delay": delay},
    }


def _limit(base: Base) -> str:
    """The queue, with a limit in bandwidth-delay products as packets: the base path's, whatever the events are."""
    if not base.queue.endswith("bdp"):
        return base.queue
    try:
        products = float(base.queue.removesuffix("bdp"))
    except ValueError:
        return base.queue  # the scenario's own error says what is wrong with it
    return f"{max(1, int(products * base.bps * (quantities.value(base.rtt) or 0) / (8 * PACKET_BYTES)))}p"


def _with_events(link: Mapping[str, Any], base: Base, events: Sequence[Event]) -> Table:
    """Return a link with the events, but for loads, which are no part of it."""
    made = {**link, "down": dict(link["down"]), "up": dict(link["up"])}
    rates = [event for event in events if isinstance(event, Rate)]
    if rates:
        made["down"]["rate"] = _rate(rates, base)
    ways: tuple[Way, ...] = ("down", "up")
    for way in ways:
        own = [event for event in events if isinstance(event, Delay | Jitter) and event.way == way]
        if own:
            made[way]["delay"] = _delay(own, made[way]["delay"], base)
        out = [event for event in events if isinstance(event, Outage) and event.way == way]
        if out:
            made[way]["outage"] = [{"from": f"{start}ms", "to": f"{end}ms"} for start, end in _joined(out)]
    lost = sorted({number for event in events if isinstance(event, Loss) for number in event.numbers})
    if lost:
        made["down"]["loss"] = {"model": "list", "packets": lost}
    return made


def _rate(events: Sequence[Rate], base: Base) -> Table:
    """The course of the rate; where events overlap, their factors are multiplied, within the bounds of one."""
    points: dict[int, int] = {}
    edges = {0, *(at for one in events for at in (one.at_ms, one.at_ms + one.lasts_ms) if at < base.ends_ms)}
    for at in sorted(edges):
        percent = 100.0
        for one in events:
            if one.at_ms <= at < one.at_ms + one.lasts_ms:
                percent *= one.percent / 100
        points[at] = max(1, round(base.bps * min(max(percent, 10.0), 1000.0) / 100))
    return _course({at: f"{bps}bit/s" for at, bps in points.items()})


def _delay(events: Sequence[Delay | Jitter], usual: str, base: Base) -> Table:
    """The course of the delay; where events overlap, what they add is added, up to `LONGEST_MS`."""
    changes: dict[int, int] = {0: 0}
    for start, end, more in (edge for one in events for edge in _edges(one)):
        changes[start] = changes.get(start, 0) + more
        changes[end] = changes.get(end, 0) - more
    points, extra = {}, 0
    for at in sorted(at for at in changes if at < base.ends_ms):
        extra += changes[at]
        points[at] = min(extra, LONGEST_MS)
    own = round((quantities.value(usual) or 0) * 1e9)
    course = _course({at: f"{own + 1_000_000 * extra}ns" for at, extra in points.items()})
    return course | ({"reorder": True} if any(isinstance(one, Reordering) for one in events) else {})


def _edges(event: Delay | Jitter) -> Iterable[tuple[int, int, int]]:
    """Yield from when to when an event adds how many milliseconds."""
    end = event.at_ms + event.lasts_ms
    if isinstance(event, Delay):
        yield event.at_ms, end, event.extra_ms
        return
    half = event.period_ms // 2
    for start in range(event.at_ms, end, 2 * half):
        yield start, min(start + half, end), event.extra_ms


def _course(points: Mapping[int, str]) -> Table:
    """A function of time by its points, in milliseconds, without those at which nothing changes."""
    kept: dict[int, str] = {}
    before = None
    for at, value in points.items():
        if value != before:
            kept[at] = before = value
    return {"at": [f"{at}ms" for at in kept], "value": list(kept.values())}


def _joined(outages: Sequence[Outage]) -> list[tuple[int, int]]:
    """The periods of outages in order; those that meet are one."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted((one.at_ms, one.at_ms + one.lasts_ms) for one in outages):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _load(event: Load, base: Base) -> Table:
    rate = f"{max(1, base.bps * event.percent // 100)}bit/s"
    shape: Table = {"kind": "constant"}
    if event.off_ms:
        shape = {"kind": "on-off", "on": f"{event.on_ms}ms", "off": f"{event.off_ms}ms", "periods": "constant"}
    return {**shape, "rate": rate, "start": f"{event.at_ms}ms", "duration": f"{event.lasts_ms}ms"}
