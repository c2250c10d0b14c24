"""ping: a load that measures the round-trip time beside contenders."""

from __future__ import annotations

import re

from haltere.rig.programs import base
from haltere.rig.programs.base import Command, Measured, Program, ProgramError, Setup

_TIMES = re.compile(r"= ([\d.]+)/([\d.]+)/([\d.]+)/([\d.]+) ms")
_INTERVAL_S = 0.1
_DURATION_S = 10.0


class Ping(Program):
    """Ten echoes a second, from the server's side, of the common 56 bytes."""

    name = "ping"
    summary = "ping: ten echoes a second beside contenders"
    role = "load"
    transport = "icmp"
    app = "raw"
    packages = base.apt(ping="iputils-ping")
    congestion = base.Congestion("program")

    def version(self) -> str:
        return base.first_line("ping", "-V")

    def server(self, at: Setup) -> None:
        del at

    def client(self, at: Setup) -> Command:
        count = max(1, round((at.duration_s or _DURATION_S) / _INTERVAL_S))
        return Command(
            (base.path("ping"), "-n", "-q", "-i", f"{_INTERVAL_S:g}", "-c", str(count), "-I", at.client, at.server)
        )

    def read(self, at: Setup) -> Measured:
        found = _TIMES.search(at.client_log.read_text(errors="replace"))
        if found is None:
            raise ProgramError("ping printed no times")
        names = ("min_s", "mean_s", "max_s", "deviation_s")
        return Measured(details={name: float(ms) / 1000 for name, ms in zip(names, found.groups(), strict=True)})


PROGRAMS = (Ping(),)
