"""Congestion controls in the shadow of a flow's, and where they parted from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_EVENTS = {
    "start": "at the start",
    "established": "when the handshake is complete",
    "sent": "as a packet is sent",
    "ack": "at an ACK",
    "echo": "at an ACK with ECN",
    "lost": "as a packet is found lost",
    "congestion": "as congestion is detected",
    "undo": "as a reduction proves spurious",
    "recovered": "at the end of recovery",
    "segment_size": "as the segment size changes",
}
_STATES = {
    "slow_start": "slow start",
    "avoidance": "congestion avoidance",
    "recovery": "recovery",
    "timeout": "timeout recovery",
}


@dataclass(frozen=True)
class Decision:
    """The requests of a congestion control: bytes and bit/s. `ssthresh` is None if it is not set.

    `pacing_rate_bps` is None if the algorithm asks for none. `state` is `slow_start`, `avoidance`, `recovery` or
    `timeout`.
    """

    cwnd: int
    ssthresh: int | None
    pacing_rate_bps: int | None
    state: str

    def __str__(self) -> str:
        """Return it in words, such as `46 336 B in slow start`."""
        pace = "" if self.pacing_rate_bps is None else f", {self.pacing_rate_bps / 1e6:.3g} Mbit/s"
        return f"{_grouped(self.cwnd)} B{pace} in {_STATES.get(self.state, self.state)}"


@dataclass(frozen=True)
class Parting:
    """The first event after which two congestion controls ask for different things.

    Times are seconds of virtual time. The first of each pair is the flow's congestion control, the second the shadow's.
    """

    t_s: float
    event: Mapping[str, Any] = field(repr=False)
    bytes_in_flight: int
    before: tuple[Decision, Decision]
    after: tuple[Decision, Decision]

    @property
    def what(self) -> str:
        """The event in words."""
        event = self.event
        about = []
        if event["bytes"] is not None:
            verb = {"ack": "delivers ", "echo": "with marks since the start: "}.get(event["kind"], "")
            about.append(f"{verb}{_grouped(event['bytes'])} B")
        if event["rtt_s"] is not None:
            about.append(f"RTT {1e3 * event['rtt_s']:.3f} ms")
        if event["idle_s"] is not None:
            about.append(f"after {event['idle_s']:.3f} s without data")
        if event["cause"] is not None:
            about.append(event["cause"])
        words = _EVENTS.get(event["kind"], event["kind"])
        return f"{words} ({', '.join(about)})" if about else words


@dataclass(frozen=True)
class Shadow:
    """A congestion control in the shadow of a flow's: its contender, and where it parted (None: never)."""

    flow: int
    path: int
    number: int
    contender: str
    parting: Parting | None

    @property
    def who(self) -> str:
        """Its name in the series."""
        path = f" path {self.path}" if self.path else ""
        return f"flow {self.flow}{path} shadow {self.number}"

    def sentence(self, first: str) -> str:
        """Say where it parts from the flow's congestion control, which is that of the contender `first`."""
        path = f" on path {self.path}" if self.path else ""
        if self.parting is None:
            return f"{self.contender} in the shadow of {first}{path} never asks for anything else"
        parting = self.parting
        return (
            f"{self.contender} in the shadow of {first}{path} parts at {parting.t_s:.6f} s, {parting.what}, with "
            f"{_grouped(parting.bytes_in_flight)} B in flight: {first} from {parting.before[0]} to {parting.after[0]}; "
            f"the shadow from {parting.before[1]} to {parting.after[1]}"
        )


def shadows_of(data: Mapping[str, Any]) -> list[Shadow]:
    """Return the shadows of a trace, as `haltere._core.trace` returns it (parsed from JSON)."""
    return [
        Shadow(one["flow"], one["path"], one["shadow"], one["contender"], _parting(one["parted"]))
        for one in data.get("shadows", ())
    ]


def _parting(data: Mapping[str, Any] | None) -> Parting | None:
    if data is None:
        return None

    def both(moment: str) -> tuple[Decision, Decision]:
        return Decision(**data[moment]["first"]), Decision(**data[moment]["shadow"])

    return Parting(data["t_s"], data["event"], data["bytes_in_flight"], both("before"), both("after"))


def _grouped(count: int) -> str:
    """Return a whole number with spaces between thousands."""
    return f"{count:,}".replace(",", " ")
