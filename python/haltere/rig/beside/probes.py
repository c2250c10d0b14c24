"""Probes on real sockets: requests whose round-trip times are taken, and who answers them.

The requests and their times are those of the model's probes (docs/how-to/probes.md).
"""

from __future__ import annotations

import json
import socket
import struct
import time
from typing import Any

from haltere import _core
from haltere.rig.beside.base import Span, Stop, Worker, bound, number_in, numbered
from haltere.rig.namespaces import Rig
from haltere.rig.plan import Probe

Json = dict[str, Any]
_NEVER = 1 << 63
_IP_HEADER = 20
_ECHO_REQUEST, _ECHO_REPLY = 8, 0
_PIECE = 1 << 16


class Prober(Worker):
    """The end that sends requests. One subclass a protocol says how."""

    def __init__(self, probe: Probe, sock: socket.socket, to: tuple[str, int], stop: Stop) -> None:
        super().__init__(sock, stop)
        self.probe, self.to = probe, to
        self.sent: list[int] = []
        self.answered: dict[int, int] = {}
        self.lost: set[int] = set()
        self._undecided = 0
        self._next = _NEVER
        self._epoch = 0

    def send(self, number: int) -> None:
        """Send a request."""
        raise NotImplementedError

    def receive(self) -> list[int]:
        """Return the numbers of the answers that can be read now."""
        raise NotImplementedError

    def work(self, span: Span) -> None:
        """Send requests and take their answers until the run ends, or all are answered or lost."""
        self._epoch = span.epoch
        if self.stop.wait([], span.start) is None:
            return
        self.connect(span.end)
        self._next = time.monotonic_ns()
        while not self._over():
            self._give_up(time.monotonic_ns())
            self._send_due(span.until)
            wake = min(self._next, self._timeout(), span.end)
            if (ready := self.stop.wait([self.sock], wake)) is None or time.monotonic_ns() >= span.end:
                return
            if ready:
                for number in self.receive():
                    self._take(number, time.monotonic_ns())

    def connect(self, until: int) -> None:  # noqa: ARG002 (that of TCP needs it)
        """Prepare the socket; it may take until `until` on the monotonic clock, ns."""
        self.sock.connect(self.to)

    def result(self, number: int) -> Json:
        """Return what results hold of probe `number`; requests that are undecided have no row."""
        decided = [n for n in range(len(self.sent)) if n in self.answered or n in self.lost or self.error]
        rtt = [(self.answered[n] - self.sent[n]) * 1e-9 if n in self.answered else None for n in decided]
        seen = {
            "probe": number,
            "kind": self.probe.kind,
            "size_bytes": self.probe.size_bytes,
            "pair": self.probe.pair,
            "sent": len(self.sent),
            "sent_s": [(self.sent[n] - self._epoch) * 1e-9 for n in decided],
            "rtt_s": rtt,
            "error": self.error,
        }
        answer: Json = json.loads(_core.probe_result(json.dumps(seen)))
        return answer

    def _over(self) -> bool:
        return self._next == _NEVER and self._undecided == len(self.sent) > 0

    def _timeout(self) -> int:
        return self.sent[self._undecided] + self.probe.timeout_ns if self._undecided < len(self.sent) else _NEVER

    def _send_due(self, until: int) -> None:
        while self._next <= (now := time.monotonic_ns()):
            if self._next > until:
                self._next = _NEVER
                return
            number = len(self.sent)
            self.sent.append(now)
            self.send(number)
            # Of a probe that waits, the answer or the time-out sets the next time.
            self._next = now + self.probe.interval_ns if self.probe.mode == "free-running" else _NEVER
            # The last request has no next time, so that the work is over with its answer.
            if self._next > until or len(self.sent) == self.probe.count:
                self._next = _NEVER

    def _take(self, number: int, now: int) -> None:
        if number >= len(self.sent) or number in self.answered or number in self.lost:
            return
        self.answered[number] = now
        self._decided(self.sent[number], now)

    def _give_up(self, now: int) -> None:
        while self._timeout() <= now:
            number = self._undecided
            self.lost.add(number)
            self._decided(self.sent[number], now)

    def _decided(self, sent: int, now: int) -> None:
        while self._undecided in self.answered or self._undecided in self.lost:
            self._undecided += 1
        if self.probe.mode == "stop-and-wait":
            done = self.probe.count is not None and len(self.sent) >= self.probe.count
            self._next = _NEVER if done else max(sent + self.probe.interval_ns, now)


class UdpProber(Prober):
    """Datagrams that a program answers."""

    def send(self, number: int) -> None:
        """Send a datagram."""
        self.sock.send(numbered(number, self.probe.size_bytes))

    def receive(self) -> list[int]:
        """Read one answer."""
        return [number_in(self.sock.recv(_PIECE))]


class IcmpProber(Prober):
    """Echo requests (RFC 792), which the other host's kernel answers."""

    def send(self, number: int) -> None:
        """Send an echo request. Its sequence number is the number's last 16 bits; the payload holds the whole."""
        payload = numbered(number, self.probe.size_bytes)
        head = struct.pack("!BBHHH", _ECHO_REQUEST, 0, 0, self._name, number & 0xFFFF)
        words = struct.unpack("!8H", (head + payload)[:16])  # the rest is zeros
        total = sum(words)
        while total >> 16:
            total = (total & 0xFFFF) + (total >> 16)
        self.sock.send(head[:2] + struct.pack("!H", total ^ 0xFFFF) + head[4:] + payload)

    def receive(self) -> list[int]:
        """Read one packet; it may be another one's."""
        packet = self.sock.recv(_PIECE)
        kind, _, _, name, _ = struct.unpack_from("!BBHHH", packet, _IP_HEADER)
        return [number_in(packet[_IP_HEADER + 8 :])] if (kind, name) == (_ECHO_REPLY, self._name) else []

    @property
    def _name(self) -> int:
        return self.to[1]

    def connect(self, until: int) -> None:  # noqa: ARG002 (that of TCP needs it)
        """Take packets of the other host only."""
        self.sock.connect((self.to[0], 0))


class TcpProber(Prober):
    """Messages on one connection, which a program answers with as many bytes."""

    _heard = 0

    def connect(self, until: int) -> None:
        """Open the connection."""
        self.sock.settimeout(max(1e-3, (until - time.monotonic_ns()) * 1e-9))
        self.sock.connect(self.to)
        self.sock.settimeout(None)

    def send(self, _number: int) -> None:
        """Write a message."""
        self.sock.sendall(bytes(self.probe.size_bytes))

    def receive(self) -> list[int]:
        """Read what is there, and return the numbers of the answers that are whole by it."""
        piece = self.sock.recv(_PIECE)
        if not piece:
            raise ConnectionResetError(0, "the connection was closed")
        before = self._heard // self.probe.size_bytes
        self._heard += len(piece)
        return list(range(before, self._heard // self.probe.size_bytes))


class Echo(Worker):
    """Answers each datagram with itself."""

    def work(self, span: Span) -> None:
        """Answer until the run ends."""
        while (ready := self.stop.wait([self.sock], span.end)) is not None and time.monotonic_ns() < span.end:
            for one in ready:
                data, sender = one.recvfrom(_PIECE)
                one.sendto(data, sender)


class TcpEcho(Worker):
    """Answers each message on a connection with as many bytes, when it is there as a whole."""

    def __init__(self, sock: socket.socket, size: int, stop: Stop) -> None:
        super().__init__(sock, stop)
        self._size = size

    def work(self, span: Span) -> None:
        """Answer until the run ends."""
        if not self.stop.wait([self.sock], span.end):
            return
        talk, _ = self.sock.accept()
        with talk:
            _tuned(talk)
            heard = 0
            while self.stop.wait([talk], span.end):
                piece = talk.recv(_PIECE)
                if not piece:
                    return
                whole = (heard + len(piece)) // self._size - heard // self._size
                heard += len(piece)
                talk.sendall(bytes(whole * self._size))


def _tuned(sock: socket.socket) -> None:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")


def make(rig: Rig, probe: Probe, port: int, stop: Stop) -> tuple[Prober, Worker | None]:
    """Return the two ends of a probe; a host's kernel answers ICMP itself."""
    to = (rig.plan.address(probe.receiver), port)
    if probe.kind == "icmp":
        return IcmpProber(probe, bound(rig, probe.sender, socket.SOCK_RAW, socket.IPPROTO_ICMP), to, stop), None
    if probe.kind == "udp":
        echo = Echo(bound(rig, probe.receiver, socket.SOCK_DGRAM, port=port), stop)
        return UdpProber(probe, bound(rig, probe.sender, socket.SOCK_DGRAM), to, stop), echo
    listening = bound(rig, probe.receiver, socket.SOCK_STREAM, port=port)
    listening.listen(1)
    sender = bound(rig, probe.sender, socket.SOCK_STREAM)
    _tuned(sender)
    return TcpProber(probe, sender, to, stop), TcpEcho(listening, probe.size_bytes, stop)
