"""Our own pairs, both ends in `crates/peers`: HTTP/2 by hyper over the kernel's TCP or MPTCP, HTTP/3 by h3, quinn."""

from __future__ import annotations

import sys

from haltere import core
from haltere.rig.programs.base import Command, Congestion, Listening, Measured, Program, Setup, Transport, json_file


class Own(Program):
    """A server and a client of `crates/peers`."""

    def __init__(self, name: str, transport: Transport, summary: str, congestion: Congestion) -> None:
        self.name, self.transport, self.summary, self.congestion = (
            name,
            transport,
            f"our own pair: {summary}",
            congestion,
        )

    def version(self) -> str:
        return core.VERSION

    def server(self, at: Setup) -> Command:
        # A subflow of MPTCP may come to any address of its host.
        own = "0.0.0.0" if self.transport == "mptcp" else at.server  # noqa: S104 (in a namespace of its own)
        return self._command(
            ("server", "--listen", f"{own}:{at.port}", "--stats", str(at.folder / "server.json")),
            ("--cert", str(at.cert), "--key", str(at.key), "--congestion", self.congestion.word(at.congestion)),
            ready=Listening("udp" if self.transport == "quic" else "tcp", at.port),
        )

    def client(self, at: Setup) -> Command:
        return self._command(
            ("client", "--connect", f"{at.server}:{at.port}", "--bind", at.client, "--ca", str(at.ca)),
            ("--size", str(at.bytes_to_fetch()), "--out", str(at.folder / "client.json")),
        )

    def _command(self, *parts: tuple[str, ...], ready: Listening | None = None) -> Command:
        (end, *rest), *more = parts
        mode = ("--mode", "tcp", "--multipath") if self.transport == "mptcp" else ("--mode", self.transport)
        words = (end, *mode, *rest, *(word for part in more for word in part))
        return Command((sys.executable, "-m", f"{__package__}._peer", *words), ready=ready, peer=words)

    def read(self, at: Setup) -> Measured:
        report = json_file(at.folder / "client.json", f"{self.name}'s client")
        times = {name: report.pop(name) for name in ("handshake_s", "first_byte_s", "completion_s", "bytes", "error")}
        return Measured(**times, details=report)


HTTP2 = "HTTP/2 (hyper), TLS 1.3 (rustls)"
HYPER = Own("hyper", "tcp", f"{HTTP2}, the kernel's TCP", Congestion("socket"))
QUINN = Own(
    "quinn",
    "quic",
    "HTTP/3 (h3), QUIC (quinn) with its own congestion control",
    Congestion("program", {name: name for name in ("newreno", "cubic", "bbr")}),
)
PROGRAMS = (HYPER, Own("hyper", "mptcp", f"{HTTP2}, the kernel's MPTCP", Congestion("socket")), QUINN)
