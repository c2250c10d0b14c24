"""How `haltere` ends: the exit codes that scripts can rely on (`docs/reference/exit-codes.md`)."""

from __future__ import annotations

import typer

from haltere.cli import BROKEN, CLOSED_PIPE, FAULTY_DISK, INTERRUPTED, REFUSED

__all__ = [
    "ALL_FAILED",
    "BROKEN",
    "CLOSED_PIPE",
    "DIFFERENT",
    "FAULTY_DISK",
    "INTERRUPTED",
    "REFUSED",
    "SOME_FAILED",
    "end",
]

SOME_FAILED = 3
"""Some runs, flows or claims failed; what the others gave is written."""
ALL_FAILED = 4
"""Every run, or every flow, failed."""
DIFFERENT = 5
"""Two results differ: `diff` found a real change, or `unpack` other tables than those that were packed."""


def end(failed: int, everything: int) -> None:
    """End with the exit code of so many failures, or return if there were none."""
    if failed:
        raise typer.Exit(ALL_FAILED if failed >= everything else SOME_FAILED)
