"""Writes the playground's page: `python -m haltere.playground MODULE.wasm PAGE.html`."""

from __future__ import annotations

import sys
from pathlib import Path

from haltere.errors import HaltereError
from haltere.playground import write

if __name__ == "__main__":
    try:
        write(Path(sys.argv[1]), Path(sys.argv[2]))
    except HaltereError as error:
        sys.exit(str(error))
