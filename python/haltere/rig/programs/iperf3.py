"""iperf3: a bulk load from server to client beside contenders."""

from __future__ import annotations

from haltere.rig.programs import base
from haltere.rig.programs.base import Command, Measured, Program, ProgramError, Setup

_DURATION_S = 10.0


class Iperf3(Program):
    """One TCP connection whose data goes from server to client, as contenders' does."""

    name = "iperf3"
    summary = "iperf3: one bulk TCP connection beside contenders"
    role = "load"
    app = "raw"
    packages = base.apt(iperf3="iperf3")
    congestion = base.Congestion("socket")

    def version(self) -> str:
        return base.first_line("iperf3", "--version")

    def server(self, at: Setup) -> Command:
        argv = (base.path("iperf3"), "--server", "--one-off", "--bind", at.server, "--port", str(at.port))
        return Command(argv, ready=base.Listening("tcp", at.port))

    def client(self, at: Setup) -> Command:
        much = ("--bytes", str(at.size)) if at.size is not None else ("--time", f"{at.duration_s or _DURATION_S:g}")
        options = ("--reverse", "--json", "--bind", at.client, "--congestion", self.congestion.word(at.congestion))
        return Command((base.path("iperf3"), "--client", at.server, "--port", str(at.port), *options, *much))

    def read(self, at: Setup) -> Measured:
        report = base.json_file(at.client_log, "iperf3")
        try:
            total = report["end"]["sum_received"]
            sender = report["end"]["streams"][0]["sender"]
        except LookupError as error:
            raise ProgramError(f"iperf3 left no report: {error}") from None
        return Measured(
            completion_s=total["seconds"],
            bytes=total["bytes"],
            details={"goodput_bps": total["bits_per_second"], "retransmits": sender.get("retransmits")},
        )


PROGRAMS = (Iperf3(),)
