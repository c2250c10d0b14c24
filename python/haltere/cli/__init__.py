"""The `haltere` command."""

from __future__ import annotations

import os
import sys

BROKEN, REFUSED, INTERRUPTED = 1, 2, 130
"""Exit codes: haltere itself went wrong; what was given cannot be used; stopped by Ctrl-C. See `haltere.cli.exits`."""


def main() -> None:
    """Run the command line; every error is one readable block on standard error, with a code of `haltere.cli.exits`."""
    from haltere.errors import ArgumentError, HaltereError, Interrupted

    try:
        from haltere.cli import moved
        from haltere.cli.app import app

        moved.refuse(sys.argv[1:])
        app(prog_name="haltere")
    except Interrupted as stopped:
        sys.exit(_say(str(stopped), INTERRUPTED))
    except ArgumentError as error:
        from haltere.cli.options import option_of

        sys.exit(_say(f"error: {error.shown(option_of(sys.argv[1:]))}"))
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
                "  HALTERE_TRACEBACK=1 shows where; please report it",
                BROKEN,
            )
        )


def _say(block: str, code: int = REFUSED) -> int:
    sys.stderr.write(block + "\n")
    return code
