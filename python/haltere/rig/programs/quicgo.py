"""quic-go, a QUIC implementation in Go; both ends are the small program in `peers/quicgo`."""

from __future__ import annotations

from haltere.rig.programs import base
from haltere.rig.programs.base import Command, Measured, Program, Setup

_PROGRAM = "haltere-quicgo"


class QuicGo(Program):
    """Its congestion control is NewReno: quic-go makes its CUBIC with the option `reno` set, and leaves no choice."""

    name = "quicgo"
    summary = "quic-go: HTTP/3, QUIC with its own NewReno"
    transport = "quic"
    packages = base.built("quicgo")
    congestion = base.Congestion("program", {"newreno": "newreno"})

    def version(self) -> str:
        return base.first_line(_PROGRAM, "version")

    def server(self, at: Setup) -> Command:
        self.congestion.word(at.congestion)
        argv = (
            base.path(_PROGRAM),
            "server",
            f"{at.server}:{at.port}",
            str(at.cert),
            str(at.key),
            str(at.object.parent),
        )
        return Command(argv, environment=base.ALONE, ready=base.Listening("udp", at.port))

    def client(self, at: Setup) -> Command:
        words = (at.client, f"{at.server}:{at.port}", base.NAME, str(at.ca), at.object.name)
        return Command((base.path(_PROGRAM), "client", *words), environment=base.ALONE)

    def read(self, at: Setup) -> Measured:
        report = base.last_json(at.client_log, "the quic-go client")
        status = report.pop("status")
        return Measured(**report, details={"status": status})


PROGRAMS = (QuicGo(),)
