"""`haltere paths topology`: what a lake's traces show of a network, and what came and went."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from rich.markup import escape

from haltere.cli import show
from haltere.cli.paths.networks import Seen
from haltere.errors import InputError
from haltere.paths.graph import COLUMNS
from haltere.paths.lake import Lake, Selection
from haltere.paths.levels import Labels
from haltere.paths.topology import Topology, check_out, estimated, topology, write
from haltere.paths.turnover import between

SHOWN = 20


def list_them(lake: Path, wanted: Seen) -> None:
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
        title = f"{lake.name}: {table.height:,} {what} in {one.traces:,} clean traces"
        _say(found.head(SHOWN), f"{title}; at least {estimated(table['traces']):,.0f} by Chao's estimate")
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
        text = f"{name}: {seen:,} seen in {traces:,} traces, at least {there:,.0f} there"
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
    return f"{value:,}" if isinstance(value, int) else f"{value:.2g}" if isinstance(value, float) else str(value)
