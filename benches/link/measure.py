#!/usr/bin/env python3
"""Measure the emulator on this machine: errors of delay and rate, throughput. Needs root, Linux and a built haltere.

Two network namespaces without names are joined by an emulated link; nothing outside them is touched, nothing remains.

    .venv/bin/python benches/link/measure.py [delay] [rate] [throughput] [--realtime] [--spin 100] [--seconds 10]
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import socket
import statistics
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from haltere import _core

CLONE_NEWNET = 0x40000000
SO_TIMESTAMPNS = 35
UDP_SEGMENT = 103
A, B = "10.9.0.1", "10.9.0.2"
LIBC = ctypes.CDLL(None, use_errno=True)


def namespace() -> int:
    """Return an open file of a new namespace; the caller's own stays what it is."""
    made: list[int] = []

    def make() -> None:
        if LIBC.unshare(CLONE_NEWNET):
            return
        made.append(os.open("/proc/thread-self/ns/net", os.O_RDONLY))

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    if not made:
        raise SystemExit("cannot make a network namespace: be root")
    return made[0]


@contextmanager
def inside(space: int) -> Iterator[None]:
    """Be in a namespace, this thread only."""
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    LIBC.setns(space, CLONE_NEWNET)
    try:
        yield
    finally:
        LIBC.setns(before, CLONE_NEWNET)
        os.close(before)


class Bed:
    """Two namespaces and a link from A to B."""

    def __init__(self, down: dict[str, Any], up: dict[str, Any] | None = None, **manner: Any) -> None:
        self.a, self.b = namespace(), namespace()
        ends = [
            {"netns": f"/proc/{os.getpid()}/fd/{space}", "interface": name}
            for space, name in ((self.a, "t0"), (self.b, "t1"))
        ]
        link = {"name": "link", "ends": ends, "down": down, "up": up or {}}
        self.emulator = _core.Emulator(json.dumps({**manner, "links": [link]}))
        for space, name, own, peer in ((self.a, "t0", A, B), (self.b, "t1", B, A)):
            with inside(space):
                subprocess.run(["ip", "address", "add", own, "peer", peer, "dev", name], check=True)
        self.emulator.start()

    def socket(self, space: int, kind: socket.SocketKind) -> socket.socket:
        """Return a socket in a namespace."""
        with inside(space):
            return socket.socket(socket.AF_INET, kind)

    def stop(self) -> dict[str, Any]:
        """Take the link away and return its report."""
        report: dict[str, Any] = json.loads(self.emulator.stop())
        os.close(self.a)
        os.close(self.b)
        return report


def receive(sock: socket.socket, until: threading.Event, out: list[tuple[int, bytes]]) -> None:
    """Take packets in with the kernel's time of arrival (CLOCK_REALTIME, ns)."""
    sock.settimeout(0.2)
    while not until.is_set():
        try:
            data, ancillary, _, _ = sock.recvmsg(2048, 64)
        except TimeoutError:
            continue
        seconds, nanoseconds = struct.unpack("qq", ancillary[0][2][:16])
        out.append((seconds * 10**9 + nanoseconds, data))


@contextmanager
def receiving(bed: Bed) -> Iterator[tuple[socket.socket, list[tuple[int, bytes]]]]:
    """Yield a socket at A that sends to B, and the list of what arrives there."""
    to, arrived, until = bed.socket(bed.b, socket.SOCK_DGRAM), [], threading.Event()
    to.bind((B, 0))
    to.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    to.setsockopt(socket.SOL_SOCKET, 33, 1 << 26)  # SO_RCVBUFFORCE
    thread = threading.Thread(target=receive, args=(to, until, arrived))
    thread.start()
    sender = bed.socket(bed.a, socket.SOCK_DGRAM)
    sender.connect(to.getsockname())
    try:
        yield sender, arrived
    finally:
        until.set()
        thread.join()


def percentile(values: list[float], p: float) -> float:
    """Return the value that p per cent do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(p / 100 * len(ordered)))]


def delay(milliseconds: int, seconds: float, **manner: Any) -> dict[str, Any]:
    """One-way delay of each packet: stamped by the sender in the payload, and by the receiving kernel."""
    bed = Bed({"delay_ns": milliseconds * 10**6}, **manner)
    gap = 0.003
    with receiving(bed) as (sender, arrived):
        start = time.monotonic()
        for n in range(int(seconds / gap)):
            # Phases all over: the next packet is not sent when one departs.
            time.sleep(max(0.0, start + n * gap + (n * 7919 % 1000) * 1e-6 - time.monotonic()))
            sender.send(struct.pack("q", time.time_ns()))
        time.sleep(milliseconds / 1000 + 0.3)
    report = bed.stop()
    errors = [(at - struct.unpack("q", data)[0]) / 1e3 - milliseconds * 1e3 for at, data in arrived]
    return {
        "case": f"delay {milliseconds} ms",
        "packets": len(errors),
        "median_us": statistics.median(errors),
        "p99_us": percentile(errors, 99),
        "least_us": min(errors),
        "lateness_median_us": report["lateness_s"]["p50"] * 1e6,
        "lateness_p99_us": report["lateness_s"]["p99"] * 1e6,
        "cpu_s": report["cpu_s"],
    }


def rate(bps: int, seconds: float, **manner: Any) -> dict[str, Any]:
    """The rate of a full link: bytes over the time from the first arrival to the last."""
    bed = Bed({"rate_bps": bps, "queue": {"packets": 5000}}, **manner)
    with receiving(bed) as (sender, arrived):
        payload = bytes(1472)
        every = 1500 * 8 / bps / 1.5  # half as many again
        start, n = time.monotonic(), 0
        while time.monotonic() < start + seconds:
            due = int((time.monotonic() - start) / every)
            while n < due:
                sender.send(payload)
                n += 1
            time.sleep(0.0005)
        time.sleep(0.5)
    report = bed.stop()
    times = [at for at, _ in arrived]
    found = (len(times) - 1) * 1500 * 8 / ((times[-1] - times[0]) * 1e-9)
    return {
        "case": f"rate {bps / 1e6:g} Mbit/s",
        "packets": len(times),
        "error_percent": 100 * (found / bps - 1),
        "cpu_s": report["cpu_s"],
    }


def udp_throughput(seconds: float, *, segment: bool, **manner: Any) -> dict[str, Any]:
    """UDP packets of 1500 bytes as fast as they come: what is handed on, even if the receiver cannot follow."""
    bed = Bed({"queue": {"packets": 1000}}, **manner)
    to = bed.socket(bed.b, socket.SOCK_DGRAM)
    to.bind((B, 0))
    sender = bed.socket(bed.a, socket.SOCK_DGRAM)
    sender.connect(to.getsockname())
    pieces = 44 if segment else 1
    if segment:
        sender.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, 1472)
    payload = bytes(1472 * pieces)
    start = time.monotonic()
    while time.monotonic() < start + seconds:
        for _ in range(64):
            sender.send(payload)
    elapsed = time.monotonic() - start
    report = bed.stop()
    link = report["links"][0]
    return {
        "case": f"UDP, {pieces} packets a send" + suffix(manner),
        "gbps": link["delivered_bytes"] * 8e-9 / elapsed,
        "cpu_s_per_s": report["cpu_s"] / elapsed,
        "calls": report["calls"],
    }


def tcp_throughput(seconds: float, **manner: Any) -> dict[str, Any]:
    """One TCP connection, no rate limit: bytes of IP packets that the emulator hands on."""
    bed = Bed({"queue": {"packets": 1000}}, **manner)
    listener = bed.socket(bed.b, socket.SOCK_STREAM)
    listener.bind((B, 0))
    listener.listen()
    sender = bed.socket(bed.a, socket.SOCK_STREAM)
    sender.connect(listener.getsockname())
    receiver, _ = listener.accept()

    def drain() -> None:
        buffer = bytearray(1 << 20)
        while receiver.recv_into(buffer):
            pass

    thread = threading.Thread(target=drain)
    thread.start()
    start, payload = time.monotonic(), bytes(1 << 20)
    while time.monotonic() < start + seconds:
        sender.sendall(payload)
    sender.shutdown(socket.SHUT_WR)
    thread.join()
    elapsed = time.monotonic() - start
    report = bed.stop()
    return {
        "case": "one TCP connection" + suffix(manner),
        "gbps": report["links"][0]["delivered_bytes"] * 8e-9 / elapsed,
        "cpu_s_per_s": report["cpu_s"] / elapsed,
        "calls": report["calls"],
    }


def suffix(manner: dict[str, Any]) -> str:
    """Return the manner in words."""
    return "".join(f", {name}" for name, on in manner.items() if on)


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", choices=["delay", "rate", "throughput", []], help="default: all")
    parser.add_argument("--spin", type=int, default=0, help="be awake so many us before each departure")
    parser.add_argument("--realtime", action="store_true", help="it runs before every ordinary thread")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    what = options.what or ["delay", "rate", "throughput"]
    manner: dict[str, Any] = {"realtime": True} if options.realtime else {}
    if options.spin:
        manner["spin_ns"] = options.spin * 1000
    seconds, rows = options.seconds, []
    if "delay" in what:
        rows += [delay(ms, seconds, **manner) for ms in (10, 50, 100)]
    if "rate" in what:
        rows += [rate(bps, seconds, **manner) for bps in (1_000_000, 40_000_000, 200_000_000)]
    if "throughput" in what:
        rows += [udp_throughput(seconds, segment=segment, **manner) for segment in (False, True)]
        rows += [udp_throughput(seconds, segment=True, coalesce=True, **manner)]
        rows += [tcp_throughput(seconds, coalesce=coalesce, **manner) for coalesce in (False, True)]
    for row in rows:
        if options.json:
            print(json.dumps(row))
        else:
            print(", ".join(f"{k} {v:.4g}" if isinstance(v, float) else f"{v}" for k, v in row.items()))


if __name__ == "__main__":
    main()
