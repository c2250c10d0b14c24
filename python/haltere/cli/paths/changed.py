"""`haltere paths changed`: the paths of monitors to destinations, the same or another one in a later period."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from rich.markup import escape

from haltere.cli import show
from haltere.cli.paths.comparisons import Changed
from haltere.errors import InputError
from haltere.paths.lake import Lake
from haltere.paths.pairs import COLUMNS, changed_paths


def list_them(first: Path, second: Path, wanted: Changed) -> None:
    """Print how many paths changed, in all and by monitor; write every pair if `out` is given."""
    out = wanted.out
    _check_out(out)
    labels = wanted.nodes.at().labels()
    rows = [Lake(path).sample(wanted.traces, wanted.seed, columns=list(COLUMNS)) for path in (first, second)]
    found = changed_paths(rows[0], rows[1], labels, destination=wanted.destination)
    if found.pairs.is_empty():
        right = "lakes with monitors and destinations in common; --destination prefix joins those of a prefix"
        raise InputError("the lakes have no pair of monitor and destination in common", field=str(second), right=right)
    shares = found.shares()
    table = []
    for row in shares.iter_rows(named=True):
        counts = (f"{row[name]:,}" for name in ("pairs", "same", "changed", "unclear"))
        table.append((row["monitor"] or "all", *counts, _share(row), _percent(row["unsteady"])))
    titles = ("monitor", "pairs", "same", "changed", "unclear", "changed (%)", "several paths in a period (%)")
    title = escape(f"{first.name} to {second.name}: paths of {found.pairs.height:,} pairs")
    show.out().print(show.table(*titles, rows=table, title=title))
    said = f"In {first.name} alone are {found.first:,} pairs, in {second.name} alone {found.second:,}."
    show.say(said)
    if out is not None:
        _write(out, found.pairs)


def _share(row: dict[str, float | None]) -> str:
    if row["share"] is None or row["low"] is None or row["high"] is None:
        return "–"
    return f"{_percent(row['share'])} [{_percent(row['low'])}, {_percent(row['high'])}]"


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}"


def _check_out(out: Path | None) -> None:
    if out is not None and out.suffix not in (".csv", ".parquet"):
        raise InputError(
            "has an ending that says no known form", field="--out", given=str(out), right=".csv or .parquet"
        )
    if out is not None and not out.parent.is_dir():
        raise InputError("there is no such folder", field="--out", given=str(out.parent), right="one that exists")


def _write(out: Path, pairs: pl.DataFrame) -> None:
    if out.suffix == ".parquet":
        pairs.write_parquet(out)
        return
    pairs.with_columns(pl.col("path_first", "path_second").list.join(" | ")).write_csv(out)
