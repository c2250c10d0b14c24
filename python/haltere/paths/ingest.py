"""Reads files of traceroutes into a lake, describes a lake, and writes files of generated traces."""

from __future__ import annotations

import datetime
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from haltere import _core
from haltere.errors import ArgumentError, InputError, Interrupted
from haltere.paths.lake import FORMAT, is_whole

STDIN = "-"


def check(files: Sequence[str]) -> None:
    """Refuse paths that cannot be files of traces, before any file is read."""
    if not files:
        raise InputError("no file is given", field="FILE", right="files of traceroutes, or - for standard input")
    for name in files:
        path = Path(name)
        if name == STDIN or path.is_file() or path.is_fifo() or path.is_char_device():
            continue
        right = "the files in it, such as " + str(path / "*") if path.is_dir() else "the path of a file that exists"
        raise InputError("is a folder" if path.is_dir() else "there is no such file", field=name, right=right)
    if list(files).count(STDIN) > 1:
        raise InputError("standard input can be read once", field="FILE", given="- twice", right="one -")


def stored_bytes(files: Sequence[str]) -> int:
    """Return how many bytes the files have on disk; 0 if that is not known of one."""
    sizes = [0 if name == STDIN else Path(name).stat().st_size for name in files]
    return sum(sizes) if all(sizes) else 0


def count(
    files: Sequence[str], *, threads: int | None = None, on_progress: Callable[[int], None] | None = None
) -> dict[str, Any]:
    """Return `{"files": [...], "total": {...}}`: traces, classes and damaged records, a file and in all.

    Args:
        files: paths, or `-` for standard input.
        threads: files read at once, or threads that read one; one a CPU if not given.
        on_progress: called now and then with the bytes read so far, as they are stored.
    """
    check(files)
    answer: dict[str, Any] = json.loads(_core.count_paths(list(files), threads or os.cpu_count() or 1, on_progress))
    return answer


def texts(file: str, limit: int | None = None) -> Iterator[str]:
    """Yield the traces of a file as text, many at once; at most `limit` traces."""
    check([file])
    try:
        yield from _core.PathTexts(file, limit)
    except OSError as error:
        raise InputError(str(error), field=file, right="a format of docs/reference/traces.md") from None


KINDS = ("warts", "arts", "atlas")


def ingest(
    paths: Sequence[str],
    lake: str | Path,
    *,
    source: str | None = None,
    threads: int | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> list[dict[str, Any]]:
    """Read files into a lake, and return the outcome of each, in the order of their paths.

    Each is `{"file": ..., "became": "ingested" | "known" | "unreadable", "entry": {...} | None, "note": str | None}`;
    an entry is what the lake's ledger keeps of the file (`docs/reference/traces.md`).

    Args:
        paths: files, folders with all that is below them, or `-` for standard input.
        lake: the lake's folder, made if there is none.
        source: the platform that measured; by the files' formats if not given.
        threads: files read at once, or threads that read one; one a CPU if not given.
        on_progress: called now and then with the bytes read so far, as they are stored, and all bytes.

    Raises:
        InputError: if a path does not exist or the lake cannot be written to.
        Interrupted: on Ctrl-C; the files that were finished are in the lake.
    """
    if not paths:
        raise InputError("no file is given", field="PATH", right="files of traceroutes, folders of them, or -")
    if "-" in paths and source is None:
        raise ArgumentError(
            "is not given, and standard input has no name to derive it from", field="source", right="such as ark"
        )
    try:
        answer_json = _core.ingest_paths(list(paths), str(lake), source, threads or os.cpu_count() or 1, on_progress)
    except KeyboardInterrupt:
        raise Interrupted(f"stopped: {lake} has every file that was finished; the same command goes on") from None
    answer = json.loads(answer_json)
    _check(answer)
    files: list[dict[str, Any]] = answer["files"]
    return files


def _check(answer: dict[str, Any]) -> None:
    if refused := answer.get("refused"):
        raise InputError(refused["problem"], field=refused["place"], right=refused["right"])


def entries(lake: str | Path) -> Iterator[dict[str, Any]]:
    """Yield the entries of a lake's ledger: one a file that was read, in the order of the files' digests.

    Raises:
        InputError: if there is no lake, or it is of another format, or an entry cannot be read.
    """
    about = Path(lake) / "lake.json"
    right = "a folder that `haltere paths ingest` made"
    if not about.is_file():
        raise InputError("is no lake: it has no lake.json", field=str(lake), right=right)
    said = _json(about, right)
    if said.get("format") not in range(1, FORMAT + 1):
        raise InputError(
            f"the lake has format {said.get('format')}, this version of haltere knows formats 1 to {FORMAT}",
            field=str(about),
            right="the version of haltere that wrote it, or a newer one",
        )
    for path in sorted((Path(lake) / "ingested").glob("*.json")):
        if not path.name.startswith("."):
            yield _json(path, "the entry as it was written; without it, its file can be ingested again")


def _json(path: Path, right: str) -> dict[str, Any]:
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read: {error}", field=str(path), right=right) from None
    if not isinstance(said, dict):
        raise InputError("holds no object", field=str(path), right=right)
    return said


def describe(lake: str | Path) -> dict[str, Any]:
    """Return what a lake holds, by its ledger: `{"sources": {name: {...}}, "missing": [...], "damaged": [...]}`.

    Of a source: `files`, `bytes` (of the files as they were read), `stored` (of the lake's), `traces`, `damaged`,
    `other_records`, `classes`, `monitors` (traces of each, those beyond the first 65 536 of a file left out) and `days`
    (rows of each). `missing` has the files of the lake that should be there and are not, `damaged` those that were cut.
    """
    sources: dict[str, dict[str, Any]] = {}
    missing, cut = [], []
    for entry in entries(lake):
        numbers = ("files", "bytes", "stored", "traces", "damaged", "other_records")
        into = sources.setdefault(
            entry["source"],
            {**dict.fromkeys(numbers, 0), "classes": Counter(), "monitors": Counter(), "days": Counter()},
        )
        into["files"] += 1
        for name in ("bytes", "traces", "damaged", "other_records"):
            into[name] += entry[name]
        for name in ("classes", "monitors", "days"):
            into[name].update(entry[name])
        for part in entry["parts"]:
            try:
                into["stored"] += (Path(lake) / part).stat().st_size
            except OSError:
                missing.append(part)
                continue
            if not is_whole(Path(lake) / part):
                cut.append(part)
    for held in sources.values():
        for name in ("monitors", "days"):
            held[name] = dict(sorted(held[name].items()))
        held["classes"] = dict(held["classes"])
    return {"sources": dict(sorted(sources.items())), "missing": missing, "damaged": cut}


def generate(
    out: str | Path,
    *,
    traces: int,
    seed: int = 1,
    monitors: int = 1,
    start: str = "2011-03-01",
    days: int = 1,
    kind: str = "warts",
    ipv6: bool = False,
    threads: int | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> list[str]:
    """Write gzip'd files of traces that look like measured ones, one a monitor and day, and return their paths.

    Args:
        out: the folder, made if there is none.
        traces: how many in all; monitors and days have as many each, but for one.
        seed: the same seed makes the same traces.
        monitors: how many monitors measure; they are called `mon-01` and so on.
        start: the first day, such as `2011-03-01`.
        days: how many days.
        kind: `warts`, `arts` (IPv4 alone) or `atlas`.
        ipv6: whether addresses are IPv6.
        threads: monitors whose files are written at once; one a CPU if not given.
        on_progress: called now and then with the traces written so far and all traces.

    Raises:
        InputError: if a number or the day is out of range, or the folder cannot be written to.
        Interrupted: on Ctrl-C.
    """
    if kind not in KINDS:
        raise ArgumentError("there is no such format", field="kind", given=kind, right=" or ".join(KINDS))
    if kind == "arts" and ipv6:
        raise ArgumentError("ARTS has no IPv6", field="ipv6", right="the format warts or atlas")
    for name, number, least, most in (
        ("traces", traces, 1, 10**12),
        ("seed", seed, 0, 2**64 - 1),
        ("monitors", monitors, 1, 10_000),
        ("days", days, 1, 36_525),
    ):
        if not least <= number <= most:
            raise ArgumentError("is out of range", field=name, given=str(number), right=f"{least} to {most}")
    day = _day(start)
    threads = threads or os.cpu_count() or 1
    try:
        answer_json = _core.generate_paths(
            str(out), kind, traces, seed, monitors, day, days, ipv6=ipv6, threads=threads, on_progress=on_progress
        )
    except KeyboardInterrupt:
        raise Interrupted(f"stopped: {out} has some of the files") from None
    answer = json.loads(answer_json)
    _check(answer)
    files: list[str] = answer["files"]
    return files


def _day(start: str) -> str:
    try:
        day = datetime.date.fromisoformat(start)
    except ValueError:
        raise ArgumentError("is no day", field="start", given=start, right="a day such as 2011-03-01") from None
    if day.year < 1970:
        right = "a day from 1970-01-01 on"
        raise ArgumentError("is before instants are counted", field="start", given=start, right=right)
    return day.isoformat()
