"""Our HTTP/3 server and Chromium, with Google's QUIC implementation as its client."""

from __future__ import annotations

from haltere.rig.programs import quinn
from haltere.rig.programs._browser import Browser

PROGRAM = Browser(
    name="quinn+chromium",
    summary="our HTTP/3 server (quinn) and headless Chromium",
    own=quinn.PROGRAM,
    protocol="h3",
)
