"""Loads on real sockets: datagrams that keep to their own times, and who counts or answers them.

The datagrams, their times and the lengths of periods are those of the model's loads (docs/how-to/probes.md).
"""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from typing import Any

from haltere.rig.beside.base import HEADERS, Span, Stop, Worker, bound, number_in, numbered
from haltere.rig.namespaces import Rig
from haltere.rig.plan import Load

Json = dict[str, Any]
_PIECE = 1 << 16


class Source(Worker):
    """The end that sends."""

    def __init__(self, load: Load, sock: socket.socket, to: tuple[str, int], stop: Stop) -> None:
        super().__init__(sock, stop)
        self.load, self.to = load, to
        self.packets = self.answered = self.rounds = 0

    def work(self, span: Span) -> None:
        """Send until the run ends or all packets of the load are sent."""
        self.sock.connect(self.to)
        if self.stop.wait([], span.start) is None:
            return
        if self.load.kind == "trains":
            self._trains(span)
            return
        for at, rounds in self._times(span.start):
            if not self._at(at, span) or at > span.until:
                return
            self.rounds = rounds
            self._send()
        self._at(span.until, span)

    def result(self, number: int, sink: Sink) -> Json:
        """Return what results hold of load `number`."""
        return {
            "load": number,
            "load_kind": self.load.kind,
            "pair": self.load.pair,
            "sent_packets": self.packets,
            "sent_bytes": self.packets * (self.load.size_bytes + HEADERS),
            "received_packets": sink.packets,
            "received_bytes": sink.bytes,
            "answered_packets": self.answered,
            "rounds": self.rounds,
            "error": self.error or sink.error,
        }

    def _times(self, start: int) -> Iterator[tuple[int, int]]:
        """Yield when packets leave, at a constant rate or in periods of one, and how many periods are over by then."""
        if self.load.kind == "constant":
            number = 0
            while True:
                yield start + self._after(number), 0
                number += 1
        lengths = self.load.periods_ns
        for rounds, (on, off) in enumerate(zip(lengths[::2], [*lengths[1::2], 0], strict=False)):
            number = 0
            while (after := self._after(number)) < on:
                yield start + after, rounds
                number += 1
            start += on + off

    def _after(self, number: int) -> int:
        """Return how long after the first packet of a series one leaves. No rounding adds up."""
        bits = number * (self.load.size_bytes + HEADERS) * 8
        return bits * 10**9 // self.load.rate_bps if self.load.rate_bps else 0

    def _at(self, at: int, span: Span) -> bool:
        """Wait until a time and take answers meanwhile; return whether the run goes on."""
        while time.monotonic_ns() < at:
            ready = self.stop.wait([self.sock], min(at, span.end))
            if ready is None or time.monotonic_ns() >= span.end:
                return False
            if ready:
                self._hear()
        return True

    def _send(self) -> None:
        self.sock.send(numbered(self.packets, self.load.size_bytes))
        self.packets += 1

    def _hear(self) -> int:
        number = number_in(self.sock.recv(_PIECE))
        self.answered += 1
        return number

    def _trains(self, span: Span) -> None:
        """Send trains; the next follows the last answer after a gap, or a time-out without any."""
        start = span.start
        while self.load.count is None or self.rounds < self.load.count:
            if not self._at(start, span) or start > span.until:
                return
            first, before = self.packets, self.answered
            for number in range(self.load.packets or 1):
                at = start + self._after(number)
                if not self._at(at, span) or at > span.until:
                    return
                self._send()
            if not self._answers(first, self.answered - before, span):
                return
            self.rounds += 1
            start = max(time.monotonic_ns(), self._again)

    def _answers(self, first: int, heard: int, span: Span) -> bool:
        """Wait for the answers to a train whose packets have numbers from `first` on, of which some are there."""
        whole = self.packets - first
        last = self.load.count is not None and self.rounds + 1 >= self.load.count
        now = time.monotonic_ns()
        deadline = now + self.load.timeout_ns
        while heard < whole and now < deadline:
            ready = self.stop.wait([self.sock], min(deadline, span.end))
            now = time.monotonic_ns()
            if ready is None or now >= span.end:
                return False
            # An answer to a packet of an earlier train is late.
            if ready and self._hear() >= first:
                heard += 1
                deadline = now + self.load.timeout_ns
        self._again = now if last or heard < whole else now + self.load.gap_ns
        return True

    _again = 0


class Sink(Worker):
    """The end that receives: it counts packets, and answers them if they are to be answered."""

    def __init__(self, sock: socket.socket, answer: int | None, stop: Stop) -> None:
        super().__init__(sock, stop)
        self._answer = answer
        self.packets = self.bytes = 0

    def work(self, span: Span) -> None:
        """Receive until the run ends."""
        while (ready := self.stop.wait([self.sock], span.end)) is not None and time.monotonic_ns() < span.end:
            for one in ready:
                data, sender = one.recvfrom(_PIECE)
                self.packets += 1
                self.bytes += len(data) + HEADERS
                if self._answer is not None:
                    one.sendto(numbered(number_in(data), self._answer), sender)


def make(rig: Rig, load: Load, port: int, stop: Stop) -> tuple[Source, Sink]:
    """Return the two ends of a load."""
    sink = Sink(bound(rig, load.receiver, socket.SOCK_DGRAM, port=port), load.answer_bytes, stop)
    to = (rig.plan.address(load.receiver), port)
    return Source(load, bound(rig, load.sender, socket.SOCK_DGRAM), to, stop), sink
