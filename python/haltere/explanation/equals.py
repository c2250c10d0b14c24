"""The mechanisms of a transport or stack that equal switches of another at some value, as far as switches can say it.

A group is a mechanism that one side alone has, with the values of its switches (`neutral`) at which that side does what
the other does without them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Group:
    """A mechanism of one side: its name, the values at which it equals the other side, and what it is.

    With `apps` it counts only for these applications.
    """

    name: str
    neutral: Mapping[str, str]
    what: str
    apps: Sequence[str] = field(default_factory=tuple)


TCP = (
    Group(
        "handshake",
        {"tfo": "on"},
        "TCP's own round trip before that of TLS. With Fast Open and a cookie at hand both fit into one, as in QUIC.",
        ("https",),
    ),
    Group("tls12", {"tls12": "off"}, "TLS 1.2, whose handshake takes a round trip more."),
    Group("falsestart", {"falsestart": "off"}, "False Start of TLS 1.2."),
    Group("earlydata", {"earlydata": "off"}, "Early data over TCP."),
    Group(
        "segmentation offload",
        {"tso": "off", "tso-least": "1", "tso-defer": "off", "tsq": "off"},
        "Super-segments, which leave back to back and wait to fill up, and TCP small queues. QUIC's model has none.",
    ),
    Group(
        "acknowledgements",
        {"hurried-acks": "off", "sack-compression": "off", "delack": "on"},
        "TCP hurries some acknowledgements and holds back others. QUIC does neither.",
    ),
    Group(
        "prr", {"prr": "off"}, "Proportional rate reduction. QUIC's window comes down at once (RFC 9002 section 7.3.2)."
    ),
    Group("rack", {"rack": "off"}, "Losses found by time. Without it both transports go by three later packets."),
    Group("sack", {"sack": "on"}, "Without selective acknowledgements TCP knows less than QUIC always does."),
    Group("tick", {"tick": "off"}, "The kernel's timers go by its tick. A stack in user space reads an exact clock."),
    Group("nagle", {"nagle": "off"}, "Nagle's algorithm. QUIC has none."),
    Group("growth", {"growth": "exact"}, "CUBIC's window in Linux's units. QUIC's is exact."),
)
"""Mechanisms that TCP alone has."""

QUIC = (
    Group(
        "time-threshold",
        {"time-threshold": "off"},
        "Losses found by time. Without it QUIC goes by three later packets.",
    ),
    Group(
        "burst", {"burst": "1"}, "Datagrams that leave back to back when paced. TCP without offload paces each segment."
    ),
    Group(
        "ack-frequency", {"ack-frequency": "off"}, "The extension by which the sender asks for fewer acknowledgements."
    ),
    Group("0rtt", {"0rtt": "off"}, "The request in 0-RTT packets."),
    Group("retry", {"retry": "off"}, "A Retry packet first."),
    Group("versionnegotiation", {"versionnegotiation": "off"}, "Version negotiation first."),
    Group("growth of quinn", {"growth": "exact"}, "A window that grows as quinn counts it. TCP's is Linux's or exact."),
)
"""Mechanisms that QUIC alone has."""

STACKS: Mapping[str, tuple[Group, ...]] = {
    "quinn": (
        Group("burst", {"burst": "10"}, "quinn lets ten datagrams go back to back (pacing.rs, MIN_BURST_SIZE)."),
        Group("undo", {"undo": "off"}, "quinn takes no reduction back."),
    ),
}
"""By stack, the mechanisms that our model of QUIC has in another form."""

CONTROLS: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("quinn", "cubic"): {"reno-friendly": "quinn"},
}
"""By stack and congestion control, the switches at which our control works as the stack's."""

OURS = frozenset({"hystart", "reno-friendly"})
"""Switches of our congestion control inside a stack."""
UNWRITTEN: Mapping[str, str] = {"reno-friendly": "linux"}
"""Values of these switches that need not be written, as every congestion control has them."""

UNLIKE = frozenset({"header", "growth"})
"""Switches that both transports have and that mean different things there, or have other values."""

TOGETHER: Mapping[str, tuple[str, ...]] = {"rto": ("rto-min",)}
"""Switches that set others, which then belong to the same part."""


def common(name: str, value: str) -> str:
    """Return a value as QUIC writes it: TCP's `ecn` names a rule by which marks are echoed."""
    return "on" if name == "ecn" and value != "off" else value


def plain(transport: str, setting: Mapping[str, Any], settings: Sequence[Mapping[str, Any]]) -> str | None:
    """Return a setting's value where it is `auto` and can be said; None if another setting says the same."""
    name, value = setting["name"], str(setting["value"])
    if transport.endswith("quic"):
        if name == "delack":  # ack-every=1 is the same
            return None
        if name == "unpaced" and value == "auto":
            return next(str(one["value"]) for one in settings if one["name"] == "initial-window")
    return value


ABOUT: Mapping[str, str] = {group.name: group.what for group in (*TCP, *QUIC)} | {
    "congestion control": "The algorithm, with what it brings: its startup, its own pacing, its own recovery.",
    "transport": "What no switch explains: headers, MTU discovery, sizes of handshakes, what acknowledgements carry.",
    "implementation": "What no switch explains: the code of the stack.",
}
"""A description of each part, by name."""
