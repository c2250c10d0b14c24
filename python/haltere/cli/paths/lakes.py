"""Files of traceroutes, lakes, summaries: `haltere paths count`, `show`, `ingest`, `lake`, `generate`, `summary`."""

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
from haltere.cli.paths.options import day
from haltere.documents import shown
from haltere.errors import HaltereError, InputError, grouped
from haltere.paths.summary import MAX_PATHS, QUANTILES, Summary, find, from_lake, shipped

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
        _print_ingested(files, added, lake)
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


def _print_ingested(files: list[dict[str, Any]], added: list[dict[str, Any]], lake: Path) -> None:
    table = _table_of_traces("source", "format", "files")
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for entry in added:
        packed = "" if entry["compression"] == "none" else f", {entry['compression']}"
        groups.setdefault((entry["source"], entry["kind"] + packed), []).append(entry)
    for (source, kind), entries in sorted(groups.items()):
        table.add_row(escape(source), kind, f"{grouped(len(entries))}", *_numbers_of(entries))
    if len(groups) != 1:
        table.add_section()
        table.add_row("in all", "", f"{grouped(len(added))}", *_numbers_of(added))
    became = Counter(file["became"] for file in files)
    show.out().print(table)
    known, taken = became["known"], became["ingested"]
    said = [f"{grouped(taken)} {'file is' if taken == 1 else 'files are'} in {lake} now"]
    said += [f"{grouped(known)} {'was' if known == 1 else 'were'} there already"] if known else []
    said += [f"{grouped(became['unreadable'])} could not be read"] if became["unreadable"] else []
    show.say(", ".join(said))
    if measured := sum(entry["multipaths"] for entry in added):
        links = sum(entry["links"] for entry in added)
        show.say(f"{grouped(measured)} multipath measurements have {grouped(links)} links")
    for file in files:
        for line in _troubles_of_entry(file):
            show.note(f"{file['file']}: {line}")


def _table_of_traces(*titles: str) -> Table:
    table = show.table(*titles, *TITLES, left=len(titles) - 1)
    for column in table.columns[: len(titles) - 1]:
        column.no_wrap = True
    return table


def _numbers_of(entries: list[dict[str, Any]]) -> list[str]:
    classes = [sum(entry["classes"].get(name, 0) for entry in entries) for name in CLASSES]
    traces, other, damaged = (sum(entry[name] for entry in entries) for name in ("traces", "other_records", "damaged"))
    return [f"{grouped(number)}" for number in (traces, *classes, other, damaged)]


def _troubles_of_entry(file: dict[str, Any]) -> list[str]:
    lines = [file["note"]] if file["note"] else []
    return lines + (_damage(file["entry"]) if file["entry"] else [])


def _damage(of: dict[str, Any]) -> list[str]:
    lines = [f"at byte {d['offset']}: {d['what']}; {d['skipped']} bytes lost" for d in of["damage"]]
    more = of["damaged"] - len(lines)
    return lines + ([f"and {more} more damaged records"] if more > 0 else [])


def lake(lake: Path, *, as_json: bool) -> None:
    """Print what a lake holds; exit code 1 if some of its files are missing or damaged."""
    held = store.describe(lake)
    if as_json:
        show.data(held)
    else:
        table = _table_of_traces("source", "days", "monitors", "files")
        for name, source in held["sources"].items():
            dated = [day for day in source["days"] if day != "unknown"]
            days = f"{len(dated)}: {dated[0]} to {dated[-1]}" if dated else "none"
            days += ", some without" if dated and "unknown" in source["days"] else ""
            monitors = f"{grouped(len(source['monitors']))}"
            table.add_row(escape(name), days, monitors, f"{grouped(source['files'])}", *_numbers_of([source]))
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
    show.out().print(f"{grouped(len(files))} files of generated traces are in {escape(str(out))}")


COLUMNS = ("traces", "complete", "incomplete", "too long", "loop", "clean", "damaged records")


def count(files: Sequence[str], *, threads: int | None, as_json: bool) -> None:
    """Print the counts of each file and of all; exit code 1 if a file could not be read at all."""
    store.check(files)
    everything = store.stored_bytes(files)
    with show.progress("reading", "kB") as advance:
        counted = store.count(
            files, threads=threads, on_progress=lambda done: advance(done // 1000, everything // 1000 or done // 1000)
        )
    if as_json:
        show.data(counted)
    else:
        _print_counts(counted)
    if any(file["error"] for file in counted["files"]):
        sys.exit(1)


def _print_counts(counted: dict[str, Any]) -> None:
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
        for line in [file["error"]] if file["error"] else _damage(file):
            show.note(f"{file['file']}: {line}")


def _numbers(counts: dict[str, Any]) -> list[str]:
    flags = counts["flags"]
    shown = (flags[name] for name in ("complete", "incomplete", "toolong", "loop", "clean"))
    values = (counts["traces"], *shown, counts["damaged"])
    return [f"{grouped(value)}" for value in values]


def texts(file: str, limit: int | None) -> None:
    """Print the traces of a file as text."""
    for text in store.texts(file, limit):
        sys.stdout.write(text)


def write(
    lake: Path,
    out: Path,
    *,
    sources: Sequence[str] | None,
    first_day: str | None,
    last_day: str | None,
    paths: int,
    seed: int,
) -> None:
    """Draw a summary from a lake, write it, and show its quantiles."""
    if not 1 <= paths <= MAX_PATHS:
        raise InputError(
            "is not a number of paths", field="--paths", given=str(paths), right=f"a whole number from 1 to {MAX_PATHS}"
        )
    if not 0 <= seed < 2**63:
        raise InputError("is not a seed", field="--seed", given=str(seed), right="a whole number from 0")
    if out.is_dir():
        raise InputError("is a folder", field="--out", given=str(out), right=f"a file, such as {out / 'paths.json'}")
    first, last = day("--from", first_day), day("--to", last_day)
    if first and last and last < first:
        raise InputError("is before --from", field="--to", given=str(last_day), right=f"{first} or later")
    with show.err().status("drawing paths"):
        drawn = from_lake(lake, paths=paths, seed=seed, sources=sources, first_day=first, last_day=last)
    out.parent.mkdir(parents=True, exist_ok=True)
    drawn.write(out)
    console = show.out()
    console.print(_table_of_paths([drawn]))
    show.say(f"{len(drawn.paths)} paths of {drawn.traces} clean traces in {shown(out)}")


def table(names: Sequence[str], *, as_json: bool) -> None:
    """Show summaries with their quantiles and where they are from; those that are shipped if none is named."""
    found = [find(name, Path()) for name in names or shipped()]
    if as_json:
        data = [{"name": one.name, **one.described(), "quantiles": one.quantiles} for one in found]
        show.data(data)
        return
    console = show.out()
    console.print(_table_of_paths(found))
    for one in found:
        show.say(f"{one.name}: {one.about}")


def _table_of_paths(summaries: Sequence[Summary]) -> Table:
    rows = []
    for one in summaries:
        times, hops = one.quantiles["rtt_us"], one.quantiles["hops"]
        rows.append((one.name, one.origin, "RTT, ms", *(show.number(times[q] / 1e3) for q in QUANTILES)))
        rows.append(("", "", "hops", *(str(hops[q]) for q in QUANTILES)))
    return show.table("summary", "origin", "", *QUANTILES, rows=rows, left=3, caption="each quantile by itself")
