"""A lake of measured paths: Parquet files, one row a trace, and the selection of rows that a question is about.

`haltere paths ingest` writes lakes; `docs/reference/traces.md` describes their content.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from haltere.errors import InputError, refuse_below
from haltere.paths.copies import left_out
from haltere.paths.engine import Engine, Here, batches

FORMAT = 2
"""Newest form of lakes that this version reads."""
SCHEMA: dict[str, Any] = {
    "key": pl.UInt64,
    "monitor": pl.String,
    "src": pl.Binary,
    "dst": pl.Binary,
    "start": pl.Datetime("us", "UTC"),
    "method": pl.String,
    "stop": pl.String,
    "class": pl.String,
    **dict.fromkeys(("complete", "toolong", "loop", "gap", "adjdup", "multi"), pl.Boolean),
    "hops": pl.UInt8,
    "rtt_us": pl.UInt32,
    "list_id": pl.UInt32,
    "cycle_id": pl.UInt32,
    "hop_ttl": pl.List(pl.UInt8),
    "hop_addr": pl.List(pl.Binary),
    "hop_rtt_us": pl.List(pl.UInt32),
    "sport": pl.UInt16,
    "dport": pl.UInt16,
    "hop_icmp_type": pl.List(pl.UInt8),
    "hop_icmp_code": pl.List(pl.UInt8),
    "hop_reply_ttl": pl.List(pl.UInt8),
    "mpls_hop": pl.List(pl.UInt16),
    "mpls_label": pl.List(pl.UInt32),
    "mpls_ttl": pl.List(pl.UInt8),
}
"""The columns of a lake. Parts of format 1 lack those from `sport` on, which are null there."""
UNKNOWN_DAY = "unknown"

_WORD = 2**64 - 1
_HALF = 2**32


@dataclass(frozen=True)
class Selection:
    """Which traces of a lake a question is about. None means no restriction.

    Attributes:
        sources: measuring platforms, as `--source` named them at ingest.
        first_day: the first day, counted.
        last_day: the last day, counted.
        monitors: names of monitors.
        family: 4 or 6.
        repeats: whether traces of the class `repeat` count as clean; by the study's definition they do not.
    """

    sources: tuple[str, ...] | None = None
    first_day: date | None = None
    last_day: date | None = None
    monitors: tuple[str, ...] | None = None
    family: int | None = None
    repeats: bool = False

    def filter(self) -> pl.Expr:
        """Return the condition on rows that are selected, except for source and day, which the folders' names give."""
        meant = pl.lit(value=True)
        if self.monitors is not None:
            meant = meant & pl.col("monitor").is_in(self.monitors)
        if self.family is not None:
            meant = meant & (pl.col("dst").bin.size() == (4 if self.family == 4 else 16))
        return meant


@dataclass(frozen=True)
class Part:
    """One Parquet file of a lake, and what its folders say."""

    path: Path
    source: str
    day: str


class Lake:
    """A lake, or the selected part of it.

    Args:
        path: the lake's folder.
        selection: which traces; all if not given.

    Raises:
        InputError: if the folder holds no lake that this version reads, or nothing of what was selected.
    """

    def __init__(self, path: str | Path, selection: Selection | None = None) -> None:
        self.path = Path(path)
        self.selection = selection or Selection()
        check(self.path)
        self.parts: tuple[Part, ...] = parts(self.path, "traces", self.selection)
        for part in self.parts:
            if not is_whole(part.path):
                raise damaged(part.path, "its end is missing")
        if not self.parts:
            raise InputError(
                "holds no traces" if self.selection == Selection() else "holds nothing of what was selected",
                field=str(path),
                right="a lake with traces; `haltere paths lake` shows what one holds",
            )

    @property
    def name(self) -> str:
        """The folder's name, which names the period in figures."""
        return self.path.resolve().name

    def days(self) -> list[str]:
        """Return the days with traces, in order; the unknown one last."""
        return sorted({part.day for part in self.parts})

    def files(self) -> list[str]:
        """Return the Parquet files' paths, in an order that depends on their names alone."""
        return [str(part.path) for part in self.parts]

    def batches(self) -> list[list[str]]:
        """Return the Parquet files' paths in batches to be worked on apart: the files of a day are in one."""
        days: dict[str, list[str]] = {}
        for part in self.parts:
            days.setdefault(part.day, []).append(str(part.path))
        return batches([days[day] for day in sorted(days)])

    def scan(self, *columns: str) -> pl.LazyFrame:
        """Return the selected rows, lazily, copies included; with `columns`, only these."""
        rows = scan(self.files(), self.selection)
        return rows.select(columns) if columns else rows

    def clean(self) -> pl.LazyFrame:
        """Return the selected rows of consistent traces, copies included: complete, at most 30 hops, no loop."""
        return self.scan().filter(pl.col("class") == "clean")

    def sample(self, n: int, seed: int, *, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Return `n` different clean traces, drawn without replacement, or all if there are fewer.

        Copies of a trace are one trace (`haltere.paths.copies`).

        Whether a trace is drawn depends on its `key` and the seed alone: neither on names and order of files nor on
        the machine. The traces whose priorities are least are the sample (bottom-n sampling; E. Cohen, H. Kaplan,
        "Summarizing data using bottom-k sketches", PODC 2007), so that the sample of a smaller n is its beginning.

        Args:
            n: how many traces.
            seed: of the draw.
            columns: which columns; all if not given.

        Returns:
            Rows in the order of their priorities.
        """
        return self.samples(n, [seed], columns=columns)[0]

    def samples(
        self, n: int, seeds: Sequence[int], *, columns: Sequence[str] | None = None, engine: Engine | None = None
    ) -> list[pl.DataFrame]:
        """Return the samples of several seeds, as `sample` does, but read the lake once for all of them.

        Args:
            n: how many traces each has.
            seeds: of the draws.
            columns: which columns; all if not given.
            engine: where files are read; this machine if not given.
        """
        refuse_below(1, traces=n)
        where = engine or Here()
        wanted = tuple(columns) if columns else tuple(SCHEMA)
        batch = [_Batch(tuple(files), self.selection, wanted) for files in self.batches()]
        clean = sum(where.map(_clean_rows, batch))
        found: dict[int, pl.DataFrame] = {}
        sought = dict.fromkeys(seeds, n)
        while sought:
            limits = {seed: _limit(clean, count) for seed, count in sought.items()}
            rows = pl.concat(where.map(partial(_drawn, limits=limits), batch))
            for seed, limit in limits.items():
                sample = _least(rows, n, seed, limit)
                if sample.height == n or limit == _WORD:
                    found[seed] = sample.select(wanted)
                    del sought[seed]
                else:
                    sought[seed] *= 2  # copies of traces had been counted, or by chance few keys are low
        return [found[seed] for seed in seeds]


def check(lake: Path) -> None:
    """Raise an `InputError` if a folder holds no lake that this version reads."""
    about = lake / "lake.json"
    if not about.is_file():
        raise InputError(
            "is no lake: it has no lake.json",
            field=str(lake),
            right="a folder that `haltere paths ingest FILES --out LAKE` wrote",
        )
    try:
        found: Any = json.loads(about.read_text(encoding="utf-8"))
        form = int(found["format"])
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"cannot be read: {error}", field=str(about), right="the lake.json that ingest wrote"
        ) from None
    if form > FORMAT:
        raise InputError(
            "is a lake of a newer haltere",
            field=str(about),
            given=f"format {form}",
            right=f"format {FORMAT} or older, or a newer haltere",
        )


def _wanted(part: Part, chosen: Selection) -> bool:
    if chosen.sources is not None and part.source not in chosen.sources:
        return False
    if chosen.first_day is None and chosen.last_day is None:
        return True
    if part.day == UNKNOWN_DAY:
        return False
    day = date.fromisoformat(part.day)
    return (chosen.first_day is None or day >= chosen.first_day) and (chosen.last_day is None or day <= chosen.last_day)


def is_whole(part: Path) -> bool:
    """Whether a Parquet file was written to its end, where its magic number stands."""
    try:
        with part.open("rb") as file:
            file.seek(-4, os.SEEK_END)
            return file.read() == b"PAR1"
    except OSError:
        return False


@contextmanager
def reading(files: Sequence[str]) -> Iterator[None]:
    """Name the file that is damaged, if reading some of a lake's fails.

    Raises:
        InputError: in place of polars' error, with the file and what mends it.
    """
    try:
        yield
    except (pl.exceptions.PolarsError, OSError) as error:
        for file in files:
            try:
                pl.scan_parquet(file, hive_partitioning=False).collect(engine="streaming")
            except (pl.exceptions.PolarsError, OSError) as cause:
                raise damaged(Path(file), str(cause).splitlines()[0]) from None
        raise error


def damaged(part: Path, reason: str) -> InputError:
    """Return the error that a part of a lake cannot be read, with what mends it."""
    entry = part.parents[3] / "ingested" / f"{part.stem.partition('-')[0]}.json"
    # Ingest looks for parts that are missing or cut, and does not read the others.
    first = "remove it; " if is_whole(part) else ""
    return InputError(
        f"is damaged: {reason}",
        field=str(part),
        right=f"the part as ingest wrote it: {first}ingesting the same file of traceroutes again makes it anew",
        notes=(f"the file is named in {entry}",) if entry.is_file() else (),
    )


def scan(files: Sequence[str], selection: Selection) -> pl.LazyFrame:
    """Return the selected rows of some Parquet files of a lake, lazily."""
    # Parts of format 1 have fewer columns.
    every = pl.scan_parquet(list(files), hive_partitioning=False, schema=SCHEMA, missing_columns="insert")
    rows = every.filter(selection.filter())
    if not selection.repeats:
        return rows
    kept = pl.when(pl.col("class") == "repeat").then(pl.lit("clean")).otherwise(pl.col("class"))
    return rows.with_columns(kept.alias("class"))


def priority(seed: int) -> pl.Expr:
    """Return a row's place in the draw of a seed: a permutation of its `key`, so that equal keys are equal traces.

    Two rounds of xor, multiplication by an odd number and folding of the upper half (as in MurmurHash3's finaliser),
    with numbers from the seed.
    """
    mixed = pl.col("key")
    for first, second in ((_word(seed, 0), _word(seed, 1)), (_word(seed, 2), _word(seed, 3))):
        mixed = (mixed ^ _u64(first)) * _u64(second | 1)
        mixed = mixed ^ (mixed // _u64(_HALF))
    return mixed


def _u64(value: int) -> pl.Expr:
    return pl.lit(value, dtype=pl.UInt64)


def _word(seed: int, place: int) -> int:
    """The number at a place of SplitMix64's sequence for a seed (G. Steele et al., OOPSLA 2014)."""
    z = (seed + (place + 1) * 0x9E3779B97F4A7C15) & _WORD
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _WORD
    return z ^ (z >> 31)


@dataclass(frozen=True)
class _Batch:
    """Some files of a lake, and the selection of their rows."""

    files: tuple[str, ...]
    selection: Selection
    columns: tuple[str, ...]

    def clean(self) -> pl.LazyFrame:
        return scan(self.files, self.selection).filter(pl.col("class") == "clean")


def _clean_rows(batch: _Batch) -> int:
    """How many clean rows there are, copies included."""
    with reading(batch.files):
        return int(batch.clean().select(pl.len()).collect(engine="streaming").item())


def _limit(rows: int, wanted: int) -> int:
    """Return a priority up to which at least `wanted` of so many rows lie, but for one case in a billion.

    Priorities are uniform. The number of those up to a limit is binomial: six standard deviations above what is wanted
    are enough (and some more where few are wanted).
    """
    ample = wanted + 6 * wanted**0.5 + 40
    return _WORD if ample >= rows else int(ample / rows * _WORD)


def _drawn(batch: _Batch, limits: Mapping[int, int]) -> pl.DataFrame:
    """The clean rows whose priority for one of the seeds is up to its limit."""
    drawn = [priority(seed) <= _u64(limit) for seed, limit in limits.items()]
    needed = list(dict.fromkeys(["key", *batch.columns]))
    rows = batch.clean().filter(pl.any_horizontal(drawn))
    with reading(batch.files):
        others = left_out(batch.files)
        if others.len():
            rows = rows.filter(~pl.col("key").is_in(others.implode()))
        return rows.select(needed).collect(engine="streaming")


def _least(rows: pl.DataFrame, n: int, seed: int, limit: int) -> pl.DataFrame:
    """The n rows of the least priorities up to the limit, equal ones once, in their order."""
    placed = rows.with_columns(priority(seed).alias("_priority")).filter(pl.col("_priority") <= _u64(limit))
    return placed.sort("_priority").unique("_priority", keep="first", maintain_order=True).head(n)


def parts(lake: Path, table: str, selection: Selection) -> tuple[Part, ...]:
    """Return the Parquet files of a lake's table (`traces`, `multipath`) that may hold what is selected.

    They are in the order of source, day and name.
    """
    found = []
    for path in sorted((lake / table).glob("source=*/day=*/*.parquet")):
        source, day = path.parent.parent.name.removeprefix("source="), path.parent.name.removeprefix("day=")
        found.append(Part(path, source, day))
    return tuple(part for part in found if _wanted(part, selection))


def links(lake: str | Path, selection: Selection | None = None) -> pl.LazyFrame:
    """Return the links of the selected measurements, lazily: a row for each link of each measurement.

    Raises:
        InputError: if the folder holds no lake, or the lake none of these measurements.
    """
    chosen = selection or Selection()
    check(Path(lake))
    found = parts(Path(lake), "multipath", chosen)
    if not found:
        raise InputError(
            "holds no multipath measurements" + ("" if selection is None else " of what was selected"),
            field=str(lake),
            right="a lake of warts or of scamper's JSON with records of tracelb",
        )
    return pl.scan_parquet([str(part.path) for part in found], hive_partitioning=False).filter(chosen.filter())
