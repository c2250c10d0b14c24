"""Our own pair over QUIC: HTTP/3 by h3, QUIC by quinn."""

from __future__ import annotations

from haltere.rig.programs._own import Own
from haltere.rig.programs.base import Congestion

PROGRAM = Own(
    name="quinn",
    summary="our own pair: HTTP/3 (h3), QUIC (quinn) with its own congestion control",
    transport="quic",
    congestion=Congestion("program", {"newreno": "newreno", "cubic": "cubic", "bbr": "bbr"}),
)
