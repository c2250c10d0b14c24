"""mochi over the kernel's TCP, with TLS by Go."""

from __future__ import annotations

from haltere.rig.programs._mochi import Mochi
from haltere.rig.programs.base import OF_THE_KERNEL

PROGRAM = Mochi(transport="tcp", summary="mochi: a broker of MQTT over TCP or TLS", congestion=OF_THE_KERNEL)
