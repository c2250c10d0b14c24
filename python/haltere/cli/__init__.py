"""The `haltere` command."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line; every error is one readable block on standard error and exit code 2."""
    from haltere.errors import HaltereError, Interrupted

    try:
        from haltere.cli.app import app

        app(prog_name="haltere")
    except Interrupted as stopped:
        _say(str(stopped))
        sys.exit(130)
    except HaltereError as error:
        sys.exit(_say(f"error: {error}"))
    except OSError as error:
        sys.exit(_say(f"error: {error.filename or 'a file'}: cannot be used: {error.strerror or error}"))
    except Exception as error:
        if os.environ.get("HALTERE_TRACEBACK"):
            raise
        sys.exit(
            _say(
                f"error: haltere itself went wrong: {type(error).__name__}: {error}\n"
                "  HALTERE_TRACEBACK=1 shows where; please report it"
            )
        )


def _say(block: str) -> int:
    sys.stderr.write(block + "\n")
    return 2
