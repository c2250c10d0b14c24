"""`haltere paths graph`: the graph of a lake's traces, and its K shortest paths."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from rich.markup import escape

from haltere.cli import show
from haltere.cli.paths.options import Graphs
from haltere.cli.paths.views import Given, opened, with_names
from haltere.errors import InputError
from haltere.paths.graph import Locate, PartialView, places_of, routes
from haltere.paths.routes import CORRELATIONS
from haltere.stats import spearman

_Progress = Callable[[int, int], None]
_SEVERAL = "routers in several places"


def graph(path: Path, wanted: Graphs, *, out: Path | None) -> None:
    """Print measures of the graphs of some draws; write the paths of all of them if `out` is given."""
    if out is not None and not out.parent.is_dir():
        raise InputError("there is no such folder", field="--out", given=str(out.parent), right="one that exists")
    given = opened(path, wanted)
    described, kept = [], []
    with show.progress("finding paths", "pairs") as advance:
        for draw, view in enumerate(given.views(wanted)):
            found = _draw(view, given, wanted, draw, _nth(advance, draw, wanted.draws))
            described.append(_describe(view, found, given.locate(view)))
            if out is not None:
                kept.append(_with_ends(view, found))
    if out is not None:
        pl.concat(kept).write_parquet(out)
    _print(given.name, described, located=given.locator is not None)
    made_of = {draw["graph"]["traces"] for draw in described}
    if given.lake is not None and wanted.draws > 1 and max(made_of) < wanted.traces:
        show.note(
            f"The lake has {max(made_of):,} clean traces, fewer than --traces: all draws are of the same traces and "
            "differ in the pairs alone."
        )


def _nth(advance: _Progress, draw: int, draws: int) -> _Progress:
    return lambda done, pairs: advance(draw * pairs + done, draws * pairs)


def _draw(view: PartialView, given: Given, wanted: Graphs, draw: int, advance: _Progress) -> pl.DataFrame:
    """The paths of one graph."""
    return routes(
        view,
        sources=wanted.sources,
        destinations=wanted.destinations,
        k=wanted.k,
        seed=wanted.seed + draw,
        draw=draw,
        among=wanted.among,
        cost=wanted.cost,
        locate=given.locate(view),
        threads=wanted.threads,
        on_progress=advance,
    )


def _with_ends(view: PartialView, found: pl.DataFrame) -> pl.DataFrame:
    """Return paths with the addresses of their ends, or their names above the level of addresses."""
    if view.labelled:
        return with_names(view, found)
    address = view.nodes["address"]
    return found.with_columns(
        address.gather(found["source"]).alias("source"), address.gather(found["destination"]).alias("destination")
    )


def _describe(view: PartialView, found: pl.DataFrame, locate: Locate | None) -> dict[str, Any]:
    """Return the measures of one draw: of the graph, of each k, and the correlation coefficients."""
    largest = view.nodes["component"].eq(0).sum() / view.nodes.height
    ks = found.group_by("k").agg(
        pl.col("hops").median(),
        (pl.col("delay_us").median() / 1000).alias("delay_ms"),
        pl.col("difference").mean(),
        pl.col("dispersion").median(),
        pl.col("delay_dispersion").median(),
    )
    pair = found["source"].cast(pl.UInt64) * view.nodes.height + found["destination"]
    coefficients = {}
    for one in CORRELATIONS:
        both = found.select(one.x, one.y).drop_nulls()
        coefficient = spearman(both[one.x], both[one.y]).value if both.height else math.nan
        coefficients[one.name] = None if math.isnan(coefficient) else coefficient
    return {
        "graph": {
            "traces": view.traces,
            "nodes": view.nodes.height,
            "links": view.links.height,
            "components": view.components,
            "nodes in the largest (%)": 100 * largest,
            "links over silent hops": view.links["hops"].gt(1).sum(),
            "delays raised to 1 µs": view.raised,
            "links without a delay": view.links["delay_us"].null_count(),
            "pairs": pair.n_unique(),
            "paths": found.height,
            "diversity (%)": _percent(found.filter(pl.col("k") == 1)["diversity"].mean()),
            "nodes located (%)": _percent(found["located"].mean()),
            **({_SEVERAL: places_of(view, locate)[1]} if locate is not None and view.labelled else {}),
        },
        "k": {row["k"]: row for row in ks.iter_rows(named=True)},
        "spearman": coefficients,
    }


def _percent(share: Any) -> float | None:
    return None if share is None else 100 * float(share)


def _print(name: str, described: list[dict[str, Any]], *, located: bool) -> None:
    console = show.out()
    many = f", {len(described)} draws: median (least – greatest)" if len(described) > 1 else ""
    rows = [
        (thing, _over([draw["graph"][thing] for draw in described]))
        for thing in described[0]["graph"]
        if located or thing != "nodes located (%)"
    ]
    rows += [
        (f"Spearman: {thing}", _over([draw["spearman"][thing] for draw in described], 2))
        for thing in described[0]["spearman"]
    ]
    console.print(show.table("", "", rows=rows, title=f"{escape(name)}: the graph{many}"))
    titles = {"hops": "hops", "delay_ms": "delay (ms)", "difference": "difference to the first (%)"}
    if located:
        titles |= {"dispersion": "geographic dispersion", "delay_dispersion": "delay dispersion"}
    lines = []
    for k in sorted({k for draw in described for k in draw["k"]}):
        rows_of = [draw["k"].get(k, {}) for draw in described]
        scale = {"difference": 100}
        cells = [_over([_scaled(row.get(column), scale.get(column, 1)) for row in rows_of]) for column in titles]
        lines.append((str(k), *cells))
    title = "K shortest paths: medians; of differences the mean"
    console.print(show.table("k", *titles.values(), rows=lines, left=0, title=title))


def _scaled(value: float | None, by: float) -> float | None:
    return None if value is None else value * by


def _over(values: list[float | None], digits: int = 3) -> str:
    """The median over draws, with the least and the greatest if they differ."""
    known = sorted(float(value) for value in values if value is not None)
    if not known:
        return "–"
    middle, low, high = (_number(value, digits) for value in (float(np.median(known)), known[0], known[-1]))
    return middle if low == high else f"{middle} ({low} – {high})"


def _number(value: float, digits: int) -> str:
    return f"{value:,.0f}" if value == round(value) or abs(value) >= 1000 else show.number(value, digits)
