"""Our HTTP/2 server and Chromium."""

from __future__ import annotations

from haltere.rig.programs import hyper
from haltere.rig.programs._browser import Browser

PROGRAM = Browser(
    name="hyper+chromium",
    summary="our HTTP/2 server and headless Chromium, the kernel's TCP",
    own=hyper.PROGRAM,
    protocol="h2",
)
