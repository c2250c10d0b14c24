"""The base of a rig's probes and loads: sockets in a host's namespace, waiting, and the threads that use them."""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import socket
import threading
import time
import weakref
from dataclasses import dataclass

from haltere.rig.namespaces import Rig, inside

HEADERS = 28
"""Bytes of IP and of UDP or ICMP beside a payload."""
NUMBER = 8
"""Bytes of a payload that hold a packet's number."""
BUFFER = 1 << 25
"""Bytes of a socket's buffers: so many that they never limit, as the model's hosts have no limit."""
_SO_SNDBUFFORCE, _SO_RCVBUFFORCE = 32, 33
_CLOSE_NS = 20_000
"""The time before a thread's next packet in which it sleeps instead of looking at its sockets."""
_PR_SET_TIMERSLACK = 29
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Span:
    """The time in which something is done, on the monotonic clock in ns."""

    epoch: int
    """The beginning of the run."""
    start: int
    until: int
    """Nothing is sent later."""
    end: int
    """The end of the run at the latest."""


class Stop:
    """Tells threads to end, also those that wait."""

    def __init__(self) -> None:
        self.fd = os.eventfd(0, os.EFD_CLOEXEC)
        weakref.finalize(self, os.close, self.fd)

    def set(self) -> None:
        """Tell all threads."""
        os.eventfd_write(self.fd, 1)

    def wait(self, sockets: list[socket.socket], until: int) -> list[socket.socket] | None:
        """Wait until a socket can be read, or a time has come.

        Returns:
            The sockets that can be read; `None` if the thread is to end.
        """
        while (left := until - time.monotonic_ns()) > _CLOSE_NS:
            # select(2) may take a thousandth longer than it was told.
            ready, _, _ = select.select([self.fd, *(one.fileno() for one in sockets)], [], [], 0.998e-9 * left)
            if ready:
                return None if self.fd in ready else [one for one in sockets if one.fileno() in ready]
        time.sleep(max(0, left) * 1e-9)
        return []


class Worker:
    """An end of a probe or load, which works in a thread of its own."""

    error: str | None = None
    """Why it could not do its work."""

    def __init__(self, sock: socket.socket, stop: Stop) -> None:
        self.sock, self.stop = sock, stop
        self._thread: threading.Thread | None = None

    def begin(self, span: Span) -> None:
        """Start the thread."""
        self._thread = threading.Thread(target=self._work, args=(span,), daemon=True)
        self._thread.start()

    def join(self) -> None:
        """Wait until its work is done."""
        if self._thread is not None:
            self._thread.join()

    def close(self) -> None:
        """Close its socket."""
        self.sock.close()

    def _work(self, span: Span) -> None:
        # Timers ring when they are due, not up to 50 us later (prctl(2)).
        _libc.prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)
        try:
            self.work(span)
        except OSError as error:
            self.error = error.strerror or str(error)

    def work(self, span: Span) -> None:
        """Do its work."""
        raise NotImplementedError


def bound(rig: Rig, node: int, kind: int, protocol: int = 0, *, port: int = 0) -> socket.socket:
    """Return a socket in a node's namespace, bound to its first address."""
    with inside(rig.nodes[node].fd):
        made = socket.socket(socket.AF_INET, kind | socket.SOCK_CLOEXEC, protocol)
    for option in (_SO_SNDBUFFORCE, _SO_RCVBUFFORCE) if kind != socket.SOCK_STREAM else ():
        with contextlib.suppress(PermissionError):  # an ordinary user's namespace has the machine's own bounds
            made.setsockopt(socket.SOL_SOCKET, option, BUFFER)
    made.bind((rig.plan.address(node), port))
    return made


def numbered(number: int, size: int) -> bytes:
    """Return a payload of `size` bytes that holds a number."""
    return number.to_bytes(NUMBER, "big").ljust(size, b"\0")


def number_in(payload: bytes) -> int:
    """Return the number that a payload holds."""
    return int.from_bytes(payload[:NUMBER], "big")
