"""Changes between two lakes: `haltere paths topology` and `changed`."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from rich.markup import escape

from haltere.cli import show
from haltere.cli.paths import Changed, Seen
from haltere.errors import InputError, grouped
from haltere.paths.graph import COLUMNS
from haltere.paths.lake import Lake, Selection
from haltere.paths.levels import Labels
from haltere.paths.pairs import COLUMNS as PAIR_COLUMNS
from haltere.paths.pairs import changed_paths
from haltere.paths.topology import Topology, check_out, estimated, topology, write
from haltere.paths.turnover import between

SHOWN = 20


def list_topology(lake: Path, wanted: Seen) -> None:
    """Print the nodes or links that most traces show, or what came and went; write all of them if `out` is given."""
    what, against, out = wanted.of, wanted.against, wanted.out
    check_out(out)
    if against is not None and out is not None and out.suffix == ".graphml":
        right = "a .csv or .parquet file; without --against, the topology of one lake"
        raise InputError("changes are no graph", field="--out", given=str(out), right=right)
    labels = wanted.nodes.at().labels()
    if against is None:
        one = _of(Lake(lake), wanted, labels)
        table = one.nodes if what == "nodes" else one.links
        found = table.sort("traces", descending=True, maintain_order=True)
        title = f"{lake.name}: {grouped(table.height)} {what} in {grouped(one.traces)} clean traces"
        _say(found.head(SHOWN), f"{title}; at least {grouped(round(estimated(table['traces'])))} by Chao's estimate")
        if out is not None:
            write(out, table, one)
        return
    lakes = _lakes(lake, against, wanted)
    one, other = (_of(each, wanted, labels) for each in lakes)
    moved = between(one, other)
    found = moved.tables[what]
    _say(
        found.filter(pl.col("became") != "stayed").head(SHOWN), f"{lake.name} to {against.name}: {moved.sentence(what)}"
    )
    of_both = zip((lake.name, against.name), moved.seen[what], moved.traces, moved.there[what], strict=True)
    for name, seen, traces, there in of_both:
        text = f"{name}: {grouped(seen)} seen in {grouped(traces)} traces, at least {grouped(round(there))} there"
        show.say(text)
    if out is not None:
        write(out, found, other)


def _lakes(first: Path, second: Path, wanted: Seen) -> tuple[Lake, Lake]:
    """Both lakes; of the monitors of both alone, as what only a lost monitor had seen has not gone."""
    lakes = Lake(first), Lake(second)
    if wanted.monitors == "all":
        return lakes
    names = [set(one.scan("monitor").unique().collect(engine="streaming")["monitor"]) for one in lakes]
    shared = tuple(sorted(names[0] & names[1]))
    if not shared:
        raise InputError(
            "the lakes have no monitor in common, so that what one alone shows says nothing of the network",
            field="--monitors",
            given="both",
            right="lakes with monitors in common, or --monitors all",
        )
    said = "1 monitor" if len(shared) == 1 else f"{len(shared)} monitors"
    more = ", ".join(shared[:12]) + (", …" if len(shared) > 12 else "")
    show.say(f"by the {said} of both lakes: {more}")
    return Lake(first, Selection(monitors=shared)), Lake(second, Selection(monitors=shared))


def _of(lake: Lake, wanted: Seen, labels: Labels) -> Topology:
    rows = lake.sample(wanted.traces, wanted.seed, columns=list(COLUMNS))
    return topology(rows, labels=labels, gaps=wanted.gaps)


def _say(rows: pl.DataFrame, title: str) -> None:
    table = show.table(
        *rows.columns, rows=[[_cell(value) for value in row] for row in rows.iter_rows()], title=escape(title)
    )
    for column, dtype in zip(table.columns, rows.dtypes, strict=True):
        column.justify = "right" if dtype.is_numeric() else "left"
    show.out().print(table)


def _cell(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{grouped(value)}" if isinstance(value, int) else f"{value:.2g}" if isinstance(value, float) else str(value)


def list_changed(first: Path, second: Path, wanted: Changed) -> None:
    """Print how many paths changed, in all and by monitor; write every pair if `out` is given."""
    out = wanted.out
    _check_out(out)
    labels = wanted.nodes.at().labels()
    rows = [Lake(path).sample(wanted.traces, wanted.seed, columns=list(PAIR_COLUMNS)) for path in (first, second)]
    found = changed_paths(rows[0], rows[1], labels, destination=wanted.destination)
    if found.pairs.is_empty():
        right = "lakes with monitors and destinations in common; --destination prefix joins those of a prefix"
        raise InputError("the lakes have no pair of monitor and destination in common", field=str(second), right=right)
    shares = found.shares()
    table = []
    for row in shares.iter_rows(named=True):
        counts = (f"{grouped(row[name])}" for name in ("pairs", "same", "changed", "unclear"))
        table.append((row["monitor"] or "all", *counts, _share(row), _percent(row["unsteady"])))
    titles = ("monitor", "pairs", "same", "changed", "unclear", "changed (%)", "several paths in a period (%)")
    title = escape(f"{first.name} to {second.name}: paths of {grouped(found.pairs.height)} pairs")
    show.out().print(show.table(*titles, rows=table, title=title))
    said = f"In {first.name} alone are {grouped(found.first)} pairs, in {second.name} alone {grouped(found.second)}."
    show.say(said)
    if out is not None:
        _write_pairs(out, found.pairs)


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


def _write_pairs(out: Path, pairs: pl.DataFrame) -> None:
    if out.suffix == ".parquet":
        pairs.write_parquet(out)
        return
    pairs.with_columns(pl.col("path_first", "path_second").list.join(" | ")).write_csv(out)
