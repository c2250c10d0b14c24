"""The `haltere` command."""

from __future__ import annotations

import codecs
import errno
import os
import signal
import sys
import unicodedata
from io import TextIOWrapper

BROKEN, REFUSED, FAULTY_DISK, INTERRUPTED = 1, 2, 6, 130
"""Exit codes: haltere itself went wrong; what was given cannot be used; a disk is full or does not work; stopped by
Ctrl-C. See `haltere.cli.exits`."""
CLOSED_PIPE = 128 + signal.SIGPIPE
"""The exit code, as shells have it, where the program that reads the output has ended, such as `head`."""
_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)
_ASCII = str.maketrans({"–": "-", "—": "-", "−": "-", "…": "...", "×": "x", "÷": "/", "µ": "u", "ø": "o"})
"""Characters of our output that ASCII has something like, and that Unicode does not take apart."""


def main() -> None:
    """Run the command line; every error is one readable block on standard error, with a code of `haltere.cli.exits`."""
    from haltere.errors import ArgumentError, HaltereError, Interrupted

    _suit(sys.stdout, sys.stderr)
    try:
        _run()
    except Interrupted as stopped:
        sys.exit(_say(str(stopped), INTERRUPTED))
    except ArgumentError as error:
        from haltere.cli.options import option_of

        sys.exit(_say(f"error: {error.shown(option_of(sys.argv[1:]))}"))
    except HaltereError as error:
        sys.exit(_say(f"error: {error}"))
    except ModuleNotFoundError as error:
        sys.exit(_missing(error))
    except BrokenPipeError:
        _write_nowhere()
        sys.exit(CLOSED_PIPE)
    except OSError as error:
        code = _of_file(error)
        try:
            sys.stdout.flush()
        except OSError:  # what could not be written is still there
            _write_nowhere()
        sys.exit(code)
    except Exception as error:
        if os.environ.get("HALTERE_TRACEBACK"):
            raise
        sys.exit(_broken(error))


def _run() -> None:
    from haltere.cli import moved
    from haltere.cli.app import app

    moved.refuse(sys.argv[1:])
    try:
        app(prog_name="haltere")
    except SystemExit as ended:
        # The libraries of the command line end with 1, the code of our own faults, where nobody reads any more.
        if isinstance(ended.__context__, BrokenPipeError):
            raise BrokenPipeError from None
        sys.stdout.flush()
        raise


def _missing(error: ModuleNotFoundError) -> int:
    """Say which extra brings a package that is not installed; return the exit code."""
    from haltere import extras

    explained = extras.explained(error)
    if explained is not None:
        return _say(f"error: {explained}")
    if os.environ.get("HALTERE_TRACEBACK"):
        raise error
    return _broken(error)


def _broken(error: Exception) -> int:
    return _say(
        f"error: haltere itself went wrong: {type(error).__name__}: {error}\n"
        "  HALTERE_TRACEBACK=1 shows where; please report it",
        BROKEN,
    )


def _write_nowhere() -> None:
    """Send what is still to be written nowhere, so that Python's end does not fail at it."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _of_file(error: OSError) -> int:
    """Say which file cannot be used, and why; return the exit code."""
    file, why = error.filename or "a file", error.strerror or error
    if error.errno not in _DISK:
        return _say(f"error: {file}: cannot be used: {why}")
    right = "free space or another folder; then the same command, as runs that were finished and written are kept"
    return _say(f"error: {file}: cannot be written: {why}\n  right: {right}", FAULTY_DISK)


def _say(block: str, code: int = REFUSED) -> int:
    sys.stderr.write(block + "\n")
    return code


def _suit(*streams: object) -> None:
    """Let streams whose encoding lacks a character, as ASCII does, show one that is like it."""
    codecs.register_error("haltere", _alike)
    for stream in streams:
        if isinstance(stream, TextIOWrapper) and not stream.encoding.lower().startswith("utf"):
            stream.reconfigure(errors="haltere")


def _alike(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    plain = (unicodedata.normalize("NFKD", one.translate(_ASCII)).encode("ascii", "ignore").decode() for one in text)
    return "".join(one or "?" for one in plain), error.end
