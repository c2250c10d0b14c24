"""Opens the path of a call and ends it, for programs that do neither. Started by itself; it needs nothing of haltere.

answer ADDRESS PORT COMMAND…: waits for a datagram at the port, and becomes the command.
open ADDRESS SERVER PORT SECONDS COMMAND…: starts the command, sends checks to the server's port once the own one is
open, and ends the command after so many seconds.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

_CHECKS_S = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
"""The time before each check: the retransmissions of STUN (RFC 8489 section 6.2.1)."""
_LOOK_S = 0.005
_PATIENCE_S = 5.0


def answer(address: str, port: str, *command: str) -> None:
    """Wait for a check, and become the command."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind((address, int(port)))
        sock.recv(1)
    os.execv(command[0], command)  # noqa: S606 (the command is the rig's own)


def opened(port: int) -> bool:
    """Return whether a UDP port of this network namespace is open."""
    rows = Path("/proc/self/net/udp").read_text().splitlines()[1:]
    return any(int(row.split()[1].rpartition(":")[2], 16) == port for row in rows)


def view(address: str, server: str, port: str, seconds: str, *command: str) -> int:
    """Start the command, open the path, and end the command; return its status, 0 if it was ended."""
    end = time.monotonic() + float(seconds)
    with subprocess.Popen(command) as viewer, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        while not opened(int(port)) and viewer.poll() is None and time.monotonic() < end:
            time.sleep(_LOOK_S)
        sock.bind((address, 0))
        for wait in _CHECKS_S:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return viewer.wait(max(0.0, min(wait, end - time.monotonic())))
            with contextlib.suppress(OSError):
                sock.sendto(b"\0", (server, int(port)))
        with contextlib.suppress(subprocess.TimeoutExpired):
            return viewer.wait(max(0.0, end - time.monotonic()))
        viewer.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            viewer.wait(_PATIENCE_S)
            return 0
        viewer.kill()
    return 0


if __name__ == "__main__":
    if sys.argv[1] == "answer":
        answer(*sys.argv[2:])
    sys.exit(view(*sys.argv[2:]))
