"""Puts a scenario's queue discipline into a kernel, below a shaper with the link's rate; reads its counters back."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass

from haltere.rig import tc
from haltere.rig.disciplines import ETHERNET, Link, Values, named, packets, rate_spec, size
from haltere.rig.tc import attribute

BUCKETS = 256
"""Classes of a drr whose queue does not say how many flows it tells apart."""


def interface_queue(queue: Mapping[str, str]) -> int | None:
    """Return the length that the interface's queue must have, packets, for disciplines whose limit that is."""
    discipline, values = named(queue)
    if discipline.kind not in ("pfifo_fast", "prio", "drr"):
        return None
    return packets(values.get("limit", "1000p"))


def build(socket: tc.Socket, interface: int, queue: Mapping[str, str], link: Link) -> None:
    """Put a shaper with the link's rate and, as its child, the queue's discipline at an interface.

    The shaper is an htb with an empty bucket: it takes a packet from its child at the instant at which the one before
    has been serialised, as a link does. (A tbf looks a packet ahead, which takes it out of the discipline one packet's
    time too early.) Serialisation itself is left to what comes behind.

    Raises:
        OSError: if the kernel refuses it, for instance because it lacks the discipline.
    """
    discipline, values = named(queue)
    # struct tc_htb_glob: version, rate2quantum, defcls, debug, direct_pkts.
    glob = attribute(2, struct.pack("=IIIII", 3, 10, 1, 0, 0))
    socket.add_qdisc(interface, "htb", glob, handle=SHAPER, shorter=ETHERNET)
    # struct tc_htb_opt: rate, ceil, buffer, cbuffer, quantum, level, prio; then both rates in byte/s.
    spec = rate_spec(link.rate_bps)
    bucket = attribute(1, spec + spec + struct.pack("=IIIII", 0, 0, max(link.mtu, 1500) * 2, 0, 0))
    rate = struct.pack("=Q", max(1, link.rate_bps // 8))
    socket.add_class(
        interface, "htb", bucket + attribute(6, rate) + attribute(7, rate), handle=SHAPER | 1, parent=SHAPER
    )
    options = discipline.options(values, link)
    socket.add_qdisc(interface, discipline.kind, options, handle=QUEUE, parent=SHAPER | 1)
    if discipline.kind == "tbf" and (limit := values.get("limit", "1000p")).endswith("p"):
        fifo = struct.pack("=I", packets(limit))
        socket.add_qdisc(interface, "pfifo", fifo, handle=QUEUE + MAJOR, parent=QUEUE | 1)
    if discipline.kind == "drr":
        _drr(socket, interface, values, link)


MAJOR = 1 << 16
SHAPER, QUEUE = MAJOR, 2 * MAJOR
"""The handles of the shaper and of the discipline."""


def _drr(socket: tc.Socket, interface: int, values: Values, link: Link) -> None:
    """Make the classes, one for each value of a hash of a packet's addresses and ports, and the filter (tc-drr(8))."""
    flows = int(values.get("flows", str(BUCKETS)))
    quantum = size(values["quantum"]) if "quantum" in values else link.mtu
    for number in range(1, flows + 1):
        share = attribute(1, struct.pack("=I", quantum))
        socket.add_class(interface, "drr", share, handle=QUEUE | number, parent=QUEUE)
    # Keys: source, destination, protocol and ports. Mode 1 hashes.
    words = {1: 0b11111, 2: 1, 3: QUEUE | 1, 8: flows}
    written = b"".join(attribute(number, struct.pack("=I", value)) for number, value in words.items())
    socket.add_filter(interface, "flow", written, parent=QUEUE)


@dataclass(frozen=True)
class Counts:
    """The counters of a discipline, in packets."""

    drops: int
    early: int
    """Drops that were not for lack of room; `drops` counts them as well."""
    marks: int
    backlog_packets: int
    backlog_bytes: int


def counts(socket: tc.Socket, interface: int, queue: Mapping[str, str]) -> Counts:
    """Read back what the discipline at an interface has counted."""
    discipline, _ = named(queue)
    found = next(q for q in socket.qdiscs() if q.interface == interface and q.handle == QUEUE)
    own = tc.words(found.xstats, discipline.xstats)
    early = found.drops if discipline.early else 0
    if discipline.overlimit:
        early = max(0, found.drops - sum(own.get(name, 0) for name in discipline.overlimit))
    marks = sum(own.get(name, 0) for name in discipline.marks)
    if discipline.kind == "cake":
        marks = _cake_marks(found.xstats)
    return Counts(found.drops, early, marks, found.backlog_packets, found.backlog_bytes)


_TINS, _TIN_MARKED = 10, 8
"""TCA_CAKE_STATS_TIN_STATS and TCA_CAKE_TIN_STATS_ECN_MARKED_PACKETS."""


def _cake_marks(data: bytes) -> int:
    tins = tc.attributes(tc.attributes(data).get(_TINS, b""))
    return sum(int.from_bytes(tc.attributes(tin).get(_TIN_MARKED, b"")[:4], "little") for tin in tins.values())
