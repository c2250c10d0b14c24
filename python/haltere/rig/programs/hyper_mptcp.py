"""Our own pair over the kernel's MPTCP: HTTP/2 by hyper, TLS 1.3 by rustls."""

from __future__ import annotations

from haltere.rig.programs._own import Own
from haltere.rig.programs.base import Congestion

PROGRAM = Own(
    name="hyper",
    summary="our own pair: HTTP/2 (hyper), TLS 1.3 (rustls), the kernel's MPTCP",
    transport="mptcp",
    congestion=Congestion("socket"),
)
