"""Our own servers and clients as a program: `python -m haltere.rig.programs._peer server|client ...`."""

from __future__ import annotations

import sys

from haltere import _core

if __name__ == "__main__":
    sys.exit(_core.peer(sys.argv[1:]))
