"""mochi over QUIC, by quic-go."""

from __future__ import annotations

from haltere.rig.programs._mochi import Mochi
from haltere.rig.programs.base import Congestion

PROGRAM = Mochi(
    transport="quic",
    summary="mochi: a broker of MQTT over QUIC (quic-go, NewReno); its clients have the congestion control",
    congestion=Congestion("program", {"cubic": "cubic", "newreno": "newreno", "bbr": "bbr"}),
)
