"""Recognises the copies of a trace in a lake, so that each trace counts once.

Two rows of the same `key` are copies: a file was ingested twice, packed in two ways. The same trace in another encoding
(warts, and the JSON of it) has another key, as the formats do not say the same of it. Two rows from files of different
formats are copies where source (or, if it is not known, monitor), destination, start, path length, delay, and TTL and
address of every answer are the same. Copies have the same start, so that they are on the same day.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import polars as pl

_SAME = ("_who", "dst", "start", "hops", "rtt_us")


def left_out(files: Sequence[str]) -> pl.Series:
    """Return the keys of traces that are in the files once more in another encoding; of each trace the least key stays.

    Args:
        files: Parquet files of whole days of a lake.
    """
    none = pl.Series("key", [], dtype=pl.UInt64)
    mixed = [file for day in _days(files) if len({_format(file) for file in day}) > 1 for file in day]
    if not mixed:
        return none
    who = pl.coalesce(pl.col("src"), pl.col("monitor").cast(pl.Binary)).alias("_who")
    rows = _rows(mixed).filter(pl.col("start").is_not_null())
    narrow = rows.select("key", who, *_SAME[1:]).unique("key").collect(engine="streaming")
    # Few traces agree in so much, and only of these the paths are read.
    alike = narrow.filter(narrow.select(_SAME).is_duplicated())["key"]
    if alike.is_empty():
        return none
    whole = rows.filter(pl.col("key").is_in(alike.implode())).unique("key")
    found = whole.select("key", who, *_SAME[1:], "hop_ttl", "hop_addr").collect(engine="streaming")
    path = [
        pl.col("hop_ttl").cast(pl.List(pl.String)).list.join(" "),
        pl.col("hop_addr").list.eval(_hex()).list.join(" "),
    ]
    least = pl.col("key").min().over(*_SAME, *path)
    return found.filter(pl.col("key") != least)["key"]


def once(rows: pl.LazyFrame, files: Sequence[str]) -> tuple[pl.LazyFrame, bool]:
    """Return rows without the copies among them, and whether there are any.

    Args:
        rows: rows of the files, with their key.
        files: the Parquet files that the rows are from, of whole days.
    """
    others = left_out(files)
    keys = _rows(files).select("key").collect(engine="streaming")["key"]
    if others.len():
        rows = rows.filter(~pl.col("key").is_in(others.implode()))
    if keys.n_unique() == keys.len():
        return rows, bool(others.len())
    return rows.unique("key", keep="any"), True


def _rows(files: Sequence[str]) -> pl.LazyFrame:
    """Return the rows of parts of either format: format 1 has fewer columns, and all that is asked for."""
    return pl.scan_parquet(list(files), hive_partitioning=False, missing_columns="insert", extra_columns="ignore")


def _hex() -> pl.Expr:
    return pl.element().bin.encode("hex")


def _days(files: Sequence[str]) -> list[list[str]]:
    days: dict[str, list[str]] = {}
    for file in files:
        days.setdefault(Path(file).parent.name, []).append(file)
    return list(days.values())


def _format(file: str) -> str:
    """The format of the file that a part was made of, by the ledger; if the ledger does not say, the part's source."""
    path = Path(file)
    lake, digest = path.parents[3], path.stem.partition("-")[0]
    return _of_entry(lake / "ingested" / f"{digest}.json") or path.parent.parent.name


@lru_cache(maxsize=4096)
def _of_entry(entry: Path) -> str:
    try:
        said = json.loads(entry.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ""
    return str(said.get("kind", "")) if isinstance(said, dict) else ""
