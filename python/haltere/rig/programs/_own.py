"""The common part of our own two pairs; `crates/peers` is the program."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from haltere import core
from haltere.rig.programs.base import Command, Congestion, Listening, Measured, ProgramError, Role, Setup


@dataclass(frozen=True)
class Own:
    """A server and a client of `crates/peers`."""

    name: str
    summary: str
    transport: Literal["tcp", "quic", "mptcp"]
    congestion: Congestion
    role: Role = "contender"
    virtual: bool = True
    app: Literal["https", "raw"] = "https"
    packages: Mapping[str, str] = field(default_factory=dict)

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
        try:
            report = json.loads((at.folder / "client.json").read_text())
        except (OSError, ValueError) as error:
            raise ProgramError(f"{self.name}'s client left no report: {error}") from None
        times = {name: report.pop(name) for name in ("handshake_s", "first_byte_s", "completion_s", "bytes", "error")}
        return Measured(**times, details=report)
