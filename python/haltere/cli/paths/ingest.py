"""`haltere paths ingest`, `lake` and `generate`: fill a lake, list its content, and generate files."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from haltere import paths as store
from haltere.cli import show
from haltere.errors import HaltereError

CLASSES = ("clean", "incomplete", "toolong", "repeat", "loop")
TITLES = ("traces", "clean", "incomplete", "too long", "repeat", "loop", "other records", "damaged records")


def ingest(paths: Sequence[str], lake: Path, *, source: str | None, threads: int | None, as_json: bool) -> None:
    """Read files into a lake and print the outcome; exit code 1 if a file could not be read."""
    with show.progress("ingesting", "kB") as advance:
        files = store.ingest(
            paths,
            lake,
            source=source,
            threads=threads,
            on_progress=lambda done, everything: advance(done // 1000, everything // 1000),
        )
    added = [file["entry"] for file in files if file["became"] == "ingested"]
    _check_sums(added)
    if as_json:
        show.data({"files": files})
    else:
        _print(files, added, lake)
    if any(file["became"] == "unreadable" for file in files):
        sys.exit(1)


def _check_sums(added: list[dict[str, Any]]) -> None:
    for entry in added:
        sums = (sum(entry["classes"].values()), sum(entry["days"].values()), entry["rows"])
        if any(number != entry["traces"] for number in sums):
            raise HaltereError(
                f"{entry['name']}: {entry['traces']} traces were read, the classes have {sums[0]}, the days {sums[1]}, "
                f"the lake {sums[2]}\n  please report it: this is a fault of haltere's"
            )


def _print(files: list[dict[str, Any]], added: list[dict[str, Any]], lake: Path) -> None:
    table = _table("source", "format", "files")
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for entry in added:
        packed = "" if entry["compression"] == "none" else f", {entry['compression']}"
        groups.setdefault((entry["source"], entry["kind"] + packed), []).append(entry)
    for (source, kind), entries in sorted(groups.items()):
        table.add_row(escape(source), kind, f"{len(entries):,}", *_numbers(entries))
    if len(groups) != 1:
        table.add_section()
        table.add_row("in all", "", f"{len(added):,}", *_numbers(added))
    became = Counter(file["became"] for file in files)
    console = show.out()
    console.print(table)
    known = became["known"]
    taken = became["ingested"]
    said = [f"{taken:,} {'file is' if taken == 1 else 'files are'} in {escape(str(lake))} now"]
    said += [f"{known:,} {'was' if known == 1 else 'were'} there already"] if known else []
    said += [f"{became['unreadable']:,} could not be read"] if became["unreadable"] else []
    console.print(", ".join(said), soft_wrap=True)
    if measured := sum(entry["multipaths"] for entry in added):
        links = sum(entry["links"] for entry in added)
        show.say(f"{measured:,} multipath measurements have {links:,} links")
    for file in files:
        for line in _troubles(file):
            show.note(f"{file['file']}: {line}")


def _table(*titles: str) -> Table:
    table = show.table(*titles, *TITLES, left=len(titles) - 1)
    for column in table.columns[: len(titles) - 1]:
        column.no_wrap = True
    return table


def _numbers(entries: list[dict[str, Any]]) -> list[str]:
    classes = [sum(entry["classes"].get(name, 0) for entry in entries) for name in CLASSES]
    traces, other, damaged = (sum(entry[name] for entry in entries) for name in ("traces", "other_records", "damaged"))
    return [f"{number:,}" for number in (traces, *classes, other, damaged)]


def _troubles(file: dict[str, Any]) -> list[str]:
    lines = [file["note"]] if file["note"] else []
    if entry := file["entry"]:
        lines += [f"at byte {d['offset']}: {d['what']}; {d['skipped']} bytes lost" for d in entry["damage"]]
        more = entry["damaged"] - len(entry["damage"])
        lines += [f"and {more} more damaged records"] if more > 0 else []
    return lines


def lake(lake: Path, *, as_json: bool) -> None:
    """Print what a lake holds; exit code 1 if some of its files are missing or damaged."""
    held = store.describe(lake)
    if as_json:
        show.data(held)
    else:
        table = _table("source", "days", "monitors", "files")
        for name, source in held["sources"].items():
            dated = [day for day in source["days"] if day != "unknown"]
            days = f"{len(dated)}: {dated[0]} to {dated[-1]}" if dated else "none"
            days += ", some without" if dated and "unknown" in source["days"] else ""
            monitors = f"{len(source['monitors']):,}"
            table.add_row(escape(name), days, monitors, f"{source['files']:,}", *_numbers([source]))
        show.out().print(table)
        stored = sum(source["stored"] for source in held["sources"].values())
        traces = sum(source["traces"] for source in held["sources"].values())
        if traces:
            show.say(f"{stored / 1e6:,.1f} MB, {stored / traces:.0f} bytes a trace")
        for part in held["missing"]:
            show.note(f"{lake / part}: is missing")
        for part in held["damaged"]:
            show.note(f"{lake / part}: is damaged: its end is missing")
        if held["missing"] or held["damaged"]:
            show.note("Ingesting the same files of traceroutes again makes these parts anew.")
    if held["missing"] or held["damaged"]:
        sys.exit(1)


def generate(out: Path, **wanted: Any) -> None:
    """Write files of generated traces and say which."""
    with show.progress("generating", "traces") as advance:
        files = store.generate(out, **wanted, on_progress=advance)
    show.out().print(f"{len(files):,} files of generated traces are in {escape(str(out))}")
