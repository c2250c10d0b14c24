"""Queue disciplines by rtnetlink: requests are encoded here, and dumps decoded.

The message formats are those of rtnetlink(7), linux/rtnetlink.h and linux/pkt_sched.h. A request goes through a socket
of its own in the namespace of the interface; pyroute2 lacks half of the disciplines, and names others' parameters
otherwise than tc(8) does.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_NEWQDISC, _GETQDISC, _NEWCLASS, _NEWFILTER = 36, 38, 40, 44
_ERROR, _DONE = 2, 3
_REQUEST, _ACK, _DUMP, _CREATE, _EXCLUSIVE = 0x1, 0x4, 0x300, 0x400, 0x200
_KIND, _OPTIONS, _XSTATS, _STATS2, _STAB = 1, 2, 4, 7, 8
_BASIC, _QUEUE, _APP = 1, 3, 4
_NESTED, _TYPE_MASK = 0x8000, 0x3FFF
ROOT = 0xFFFF_FFFF
_ALL_PROTOCOLS = 0x0300
"""ETH_P_ALL in network byte order."""


def attribute(number: int, value: bytes) -> bytes:
    """Encode an attribute (netlink(7)), padded to a multiple of four bytes."""
    return struct.pack("=HH", 4 + len(value), number) + value + b"\0" * (-len(value) % 4)


def nested(number: int, *attributes: bytes) -> bytes:
    """Encode an attribute that holds attributes."""
    return attribute(number | _NESTED, b"".join(attributes))


def attributes(data: bytes) -> dict[int, bytes]:
    """Decode attributes: the value of each number; of a number that comes twice, the last."""
    found: dict[int, bytes] = {}
    at = 0
    while at + 4 <= len(data):
        length, number = struct.unpack_from("=HH", data, at)
        if length < 4 or at + length > len(data):
            break
        found[number & _TYPE_MASK] = data[at + 4 : at + length]
        at += length + (-length % 4)
    return found


@dataclass(frozen=True)
class Qdisc:
    """A qdisc as the kernel dumps it."""

    kind: str
    interface: int
    handle: int
    parent: int
    options: bytes
    sent_packets: int
    """Packets that it has given out."""
    sent_bytes: int
    backlog_packets: int
    backlog_bytes: int
    drops: int
    xstats: bytes
    """The discipline's own statistics, a structure of linux/pkt_sched.h."""


class Socket:
    """A netlink socket in the namespace that this thread is in when it is made."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.NETLINK_ROUTE)
        self._socket.bind((0, 0))
        self._number = 0

    def close(self) -> None:
        """Close it."""
        self._socket.close()

    def add_qdisc(
        self, interface: int, kind: str, options: bytes, *, handle: int, parent: int = ROOT, shorter: int = 0
    ) -> None:
        """Add a qdisc.

        Args:
            interface: the interface's index.
            kind: the name of the discipline.
            options: what TCA_OPTIONS holds.
            handle: the qdisc's own number, `major << 16`.
            parent: the class that it serves.
            shorter: bytes by which packets count less than their length here (TCA_STAB).

        Raises:
            OSError: if the kernel refuses it.
        """
        more = b""
        if shorter:
            # struct tc_sizespec: cell_log, size_log, cell_align, overhead, linklayer, mpu, mtu, tsize.
            more = nested(_STAB, attribute(1, struct.pack("=BBhiIIII", 0, 0, 0, -shorter, 1, 0, 0, 0)))
        self._ask(_NEWQDISC, (interface, handle, parent, 0), kind, attribute(_OPTIONS | _NESTED, options) + more)

    def add_class(self, interface: int, kind: str, options: bytes, *, handle: int, parent: int) -> None:
        """Add a class to a qdisc; raise `OSError` if the kernel refuses it."""
        self._ask(_NEWCLASS, (interface, handle, parent, 0), kind, attribute(_OPTIONS | _NESTED, options))

    def add_filter(self, interface: int, kind: str, options: bytes, *, parent: int) -> None:
        """Add a filter for packets of all protocols to a qdisc; raise `OSError` if the kernel refuses it."""
        where = (interface, 1, parent, 1 << 16 | _ALL_PROTOCOLS)
        self._ask(_NEWFILTER, where, kind, attribute(_OPTIONS | _NESTED, options))

    def qdiscs(self) -> list[Qdisc]:
        """Read all qdiscs of the namespace back, with their statistics (RTM_GETQDISC)."""
        answer = self._send(_GETQDISC, _DUMP, struct.pack("=BBHiIII", 0, 0, 0, 0, 0, 0, 0))
        return [_qdisc(data) for kind, data in answer if kind == _NEWQDISC]

    def _ask(self, message: int, where: tuple[int, int, int, int], kind: str, rest: bytes) -> None:
        """Send a request about a place: interface, handle, parent and info (struct tcmsg)."""
        head = struct.pack("=BBHiIII", 0, 0, 0, *where)
        body = head + attribute(_KIND, kind.encode() + b"\0") + rest
        try:
            for _ in self._send(message, _ACK | _CREATE | _EXCLUSIVE, body):
                pass
        except OSError as error:
            absent = error.errno == errno.ENOENT and message == _NEWQDISC
            why = "this kernel was built without it" if absent else error.strerror
            raise OSError(error.errno, f"the queue discipline {kind}: {why}") from None

    def _send(self, message: int, flags: int, body: bytes) -> Iterator[tuple[int, bytes]]:
        self._number += 1
        self._socket.send(struct.pack("=IHHII", 16 + len(body), message, _REQUEST | flags, self._number, 0) + body)
        while True:
            data = self._socket.recv(1 << 18)
            at = 0
            while at + 16 <= len(data):
                length, kind, _, number, _ = struct.unpack_from("=IHHII", data, at)
                inside = data[at + 16 : at + length]
                at += max(16, length + (-length % 4))
                if number != self._number:
                    continue
                if kind == _DONE:
                    return
                if kind == _ERROR:
                    (code,) = struct.unpack_from("=i", inside)
                    if code:
                        raise OSError(-code, os.strerror(-code))
                    return
                yield kind, inside


def _qdisc(data: bytes) -> Qdisc:
    _, _, _, interface, handle, parent, _ = struct.unpack_from("=BBHiIII", data)
    found = attributes(data[20:])
    statistics = attributes(found.get(_STATS2, b""))
    # struct gnet_stats_basic and struct gnet_stats_queue; each is there from the start, or not at all.
    passed = struct.unpack_from("=QI", statistics.get(_BASIC, b"").ljust(12, b"\0"))
    packets, size, drops, _, _ = struct.unpack_from("=IIIII", statistics.get(_QUEUE, b"").ljust(20, b"\0"))
    return Qdisc(
        kind=found[_KIND].rstrip(b"\0").decode(),
        interface=interface,
        handle=handle,
        parent=parent,
        options=found.get(_OPTIONS, b""),
        sent_packets=passed[1],
        sent_bytes=passed[0],
        backlog_packets=packets,
        backlog_bytes=size,
        drops=drops,
        xstats=statistics.get(_APP, found.get(_XSTATS, b"")),
    )


def words(data: bytes, names: Sequence[str]) -> dict[str, int]:
    """Read 32-bit numbers by the names of a structure's fields; those that are not there are left out."""
    count = min(len(names), len(data) // 4)
    return dict(zip(names, struct.unpack_from(f"={count}I", data), strict=False))
