"""`haltere paths routes`: the K shortest paths themselves, node by node."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl
from rich.markup import escape

from haltere.cli import show
from haltere.cli.paths.options import Graphs
from haltere.cli.paths.views import Given, opened, with_names
from haltere.errors import InputError, as_written
from haltere.paths.graph import PartialView, routes
from haltere.paths.topology import Topology, check_out, of_routes, write

SHOWN = 10
_BETWEEN = " | "


def list_them(path: Path, wanted: Graphs, *, begin: Sequence[str], end: Sequence[str], out: Path | None) -> None:
    """Print some of the paths; write all of them if `out` is given."""
    check_out(out)
    given = opened(path, wanted)
    tables, used = [], []
    with show.progress("making graphs", "draws") as advance:
        for draw, view in enumerate(given.views(wanted)):
            found = _found(view, given, wanted, draw, begin, end)
            tables.append(with_names(view, found))
            used.append(of_routes(view, found))
            advance(draw + 1, wanted.draws)
    whole = pl.concat(tables)
    if whole.is_empty():
        right = "nodes of one component" if begin or end else "more --traces"
        raise InputError("have no path between them", field="the nodes", right=right)
    _say(given.name, whole)
    if out is not None:
        _write(out, whole, used)


def _found(
    view: PartialView, given: Given, wanted: Graphs, draw: int, begin: Sequence[str], end: Sequence[str]
) -> pl.DataFrame:
    return routes(
        view,
        sources=_numbers(view, begin, "--from", given.name) if begin else wanted.sources,
        destinations=_numbers(view, end, "--to", given.name) if end else wanted.destinations,
        k=wanted.k,
        seed=wanted.seed + draw,
        draw=draw,
        among=wanted.among,
        cost=wanted.cost,
        locate=given.locate(view),
        nodes=True,
        threads=wanted.threads,
    )


def _numbers(view: PartialView, names: Sequence[str], option: str, where: str) -> list[int]:
    """The nodes of these names."""
    number = dict(zip(view.names(), view.nodes["node"], strict=True))
    unknown = [name for name in names if name not in number]
    if unknown:
        right = "what `haltere paths topology --of nodes` lists; a sample of more --traces may have it"
        raise InputError(f"is no node of the graph of {where}", field=option, given=as_written(unknown[0]), right=right)
    return [number[name] for name in names]


def _say(name: str, whole: pl.DataFrame) -> None:
    pairs = whole.select("draw", "source", "destination").n_unique()
    rows = []
    for row in whole.head(SHOWN).iter_rows(named=True):
        numbers = (row["delay_us"] and row["delay_us"] / 1000, row["difference"] and 100 * row["difference"])
        delay, difference = ("–" if one is None else show.number(one) for one in numbers)
        rows.append((*(str(row[name]) for name in ("draw", "k", "hops")), delay, difference, " → ".join(row["path"])))
    title = escape(f"{name}: {whole.height:,} paths of {pairs:,} pairs")
    table = show.table("draw", "k", "hops", "delay (ms)", "difference (%)", "path", rows=rows, left=0, title=title)
    table.columns[-1].justify = "left"
    show.out().print(table)
    if whole.height > SHOWN:
        show.say(f"and {whole.height - SHOWN:,} more; --out writes all of them")


def _write(out: Path, whole: pl.DataFrame, used: Sequence[Topology]) -> None:
    if out.suffix == ".graphml" and len(used) > 1:
        raise InputError(
            "several draws are no graph", field="--draws", given=str(len(used)), right="1, or .csv or .parquet"
        )
    if out.suffix == ".csv":
        if whole["path"].explode().str.contains(_BETWEEN, literal=True).any():
            raise InputError("names of nodes hold “ | ”, which is put between them", field="--out", right=".parquet")
        whole = whole.with_columns(pl.col("path").list.join(_BETWEEN))
    write(out, whole, used[0])
