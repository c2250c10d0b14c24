"""quic-go, a QUIC implementation in Go; both ends are the small program in `peers/quicgo`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from haltere.rig.programs.base import (
    NAME,
    Command,
    Congestion,
    Listening,
    Measured,
    Role,
    Setup,
    first_line,
    last_json,
    path,
)

_PROGRAM = "haltere-quicgo"
_ALONE = {"QUIC_GO_DISABLE_GSO": "true"}
"""Datagrams are sent one by one, so that a queue sees packets and not trains of them."""


class QuicGo:
    """Its congestion control is NewReno: quic-go makes its CUBIC with the option `reno` set, and leaves no choice."""

    name = "quicgo"
    summary = "quic-go: HTTP/3, QUIC with its own NewReno"
    role: Role = "contender"
    virtual: bool = True
    transport: Literal["quic"] = "quic"
    app: Literal["https"] = "https"
    packages: Mapping[str, str] = {_PROGRAM: f"cd peers/quicgo && go build -o /usr/local/bin/{_PROGRAM} ."}
    congestion: Congestion = Congestion("program", {"newreno": "newreno"})

    def version(self) -> str:
        return first_line(_PROGRAM, "version")

    def server(self, at: Setup) -> Command:
        self.congestion.word(at.congestion)
        argv = (path(_PROGRAM), "server", f"{at.server}:{at.port}", str(at.cert), str(at.key), str(at.object.parent))
        return Command(argv, environment=_ALONE, ready=Listening("udp", at.port))

    def client(self, at: Setup) -> Command:
        words = (at.client, f"{at.server}:{at.port}", NAME, str(at.ca), at.object.name)
        return Command((path(_PROGRAM), "client", *words), environment=_ALONE)

    def read(self, at: Setup) -> Measured:
        report = last_json(at.client_log, "the quic-go client")
        status = report.pop("status")
        return Measured(**report, details={"status": status})


PROGRAM = QuicGo()
