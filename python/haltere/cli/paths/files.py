"""`haltere paths count` and `haltere paths show`: the content of files of traceroutes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from haltere import paths
from haltere.cli import show

COLUMNS = ("traces", "complete", "incomplete", "too long", "loop", "clean", "damaged records")


def count(files: Sequence[str], *, threads: int | None, as_json: bool) -> None:
    """Print the counts of each file and of all; exit code 1 if a file could not be read at all."""
    paths.check(files)
    everything = paths.stored_bytes(files)
    with show.progress("reading", "kB") as advance:
        counted = paths.count(
            files, threads=threads, on_progress=lambda done: advance(done // 1000, everything // 1000 or done // 1000)
        )
    if as_json:
        show.data(counted)
    else:
        _print(counted)
    if any(file["error"] for file in counted["files"]):
        sys.exit(1)


def _print(counted: dict[str, Any]) -> None:
    rows = []
    for file in counted["files"]:
        kind = file["format"] + ("" if file["compression"] == "none" else f", {file['compression']}")
        rows.append((file["file"], "unreadable" if file["error"] else kind, *_numbers(file)))
    table = show.table("file", "format", *COLUMNS, rows=rows, left=2)
    if len(counted["files"]) > 1:
        table.add_section()
        table.add_row("in all", "", *_numbers(counted["total"]))
    show.out().print(table)
    for file in counted["files"]:
        for line in _troubles(file):
            show.note(f"{file['file']}: {line}")


def _numbers(counts: dict[str, Any]) -> list[str]:
    flags = counts["flags"]
    shown = (flags[name] for name in ("complete", "incomplete", "toolong", "loop", "clean"))
    values = (counts["traces"], *shown, counts["damaged"])
    return [f"{value:,}" for value in values]


def _troubles(file: dict[str, Any]) -> list[str]:
    if file["error"]:
        return [file["error"]]
    lines = [f"at byte {d['offset']}: {d['what']}; {d['skipped']} bytes lost" for d in file["damage"]]
    more = file["damaged"] - len(lines)
    return lines + ([f"and {more} more damaged records"] if more > 0 else [])


def texts(file: str, limit: int | None) -> None:
    """Print the traces of a file as text."""
    for text in paths.texts(file, limit):
        sys.stdout.write(text)
