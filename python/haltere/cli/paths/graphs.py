"""`haltere paths graph` and `routes`: graphs of a lake's traces or of a file, and their K shortest paths."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from rich.markup import escape

from haltere.cli import show
from haltere.cli.paths.options import Graphs
from haltere.errors import InputError, as_written, grouped
from haltere.paths.geography import Locator
from haltere.paths.graph import COLUMNS, Locate, PartialView, places_of, routes
from haltere.paths.graph_files import read_graph
from haltere.paths.lake import Lake
from haltere.paths.levels import Labels, Level
from haltere.paths.policy import Links, Rules
from haltere.paths.routes import CORRELATIONS
from haltere.paths.topology import Topology, check_out, of_routes, write
from haltere.stats import spearman


@dataclass(frozen=True)
class Given:
    """A lake or a file, and what is needed to make its graphs."""

    name: str
    lake: Lake | None
    file: PartialView | None
    labels: Labels
    locator: Locator | None
    rules: Rules | None = None

    def views(self, wanted: Graphs) -> Iterator[PartialView]:
        """Yield the graph of each draw; of a file it is the same each time."""
        for draw in range(wanted.draws):
            if self.file is not None:
                yield self.file
            elif self.lake is not None:
                # The draws of `haltere paths compare`, so that both make the same graphs.
                sample = self.lake.sample(wanted.traces, wanted.seed + draw, columns=list(COLUMNS))
                yield self.labels.view(sample, gaps=wanted.gaps)

    def locate(self, view: PartialView) -> Locator | None:
        """Return what locates the nodes of a graph: nothing where they are networks, or names of a file."""
        return self.locator if view.has_places else None


def opened(path: Path, wanted: Graphs) -> Given:
    """Open a lake, or read the file of a graph.

    Raises:
        InputError: if it is neither, or an option is not for its kind.
    """
    at = wanted.nodes.at()
    locator = None if wanted.mmdb is None else Locator(wanted.mmdb)
    policy = wanted.routing.policy()
    if path.is_dir():
        if wanted.weights is not None:
            raise InputError("is for files of graphs", field="--weights", right="a file in place of a lake")
        rules = None if policy is None else policy.rules(at)
        return Given(path.resolve().name, Lake(path), None, at.labels(), locator, rules)
    if policy is not None:
        right = "a lake: the nodes of a file are in no AS"
        raise InputError("is for lakes", field="--as-relationships", given=str(policy.relationships), right=right)
    if at != Level():
        right = "a lake: the nodes of a file stay what they are"
        raise InputError("is for lakes", field="--level", given=at.name, right=right)
    if wanted.among == "monitors":
        raise InputError("is for lakes", field="--among", given="monitors", right="nodes: a file names no monitors")
    if not path.is_file():
        raise InputError("there is no such lake or file", field=str(path), right="a lake's folder, or a graph's file")
    view = read_graph(path, wanted.weights)
    if locator is not None and view.labelled:
        show.note("The nodes are no addresses: they have no places.")
    return Given(path.name, None, view, Labels(), locator)


def with_names(view: PartialView, found: pl.DataFrame) -> pl.DataFrame:
    """Return paths with what their nodes are called in place of node numbers, which mean something in one graph."""
    names = view.names()
    named = found.with_columns(
        names.gather(found["source"]).alias("source"), names.gather(found["destination"]).alias("destination")
    )
    if "path" not in found.columns:
        return named
    each = found.select("path").with_row_index("of").explode("path")
    lists = each.with_columns(names.gather(each["path"]).alias("path")).group_by("of", maintain_order=True).agg("path")
    return named.with_columns(lists["path"])


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
            links = None if given.rules is None else given.rules.links(view)
            found = _draw(view, links, given, wanted, (draw, _nth(advance, draw, wanted.draws)))
            described.append(_describe(view, found, given.locate(view), links))
            if out is not None:
                kept.append(_with_ends(view, found))
    if out is not None:
        pl.concat(kept).write_parquet(out)
    _print_graphs(given.name, described, located=given.locator is not None)
    made_of = {draw["graph"]["traces"] for draw in described}
    if given.lake is not None and wanted.draws > 1 and max(made_of) < wanted.traces:
        show.note(
            f"The lake has {grouped(max(made_of))} clean traces, fewer than --traces: all draws are of the same traces "
            "and differ in the pairs alone."
        )


def _nth(advance: _Progress, draw: int, draws: int) -> _Progress:
    return lambda done, pairs: advance(draw * pairs + done, draws * pairs)


def _draw(
    view: PartialView, links: Links | None, given: Given, wanted: Graphs, nth: tuple[int, _Progress]
) -> pl.DataFrame:
    """The paths of one graph."""
    draw, advance = nth
    return routes(
        view,
        sources=wanted.sources,
        destinations=wanted.destinations,
        k=wanted.k,
        seed=wanted.seed + draw,
        draw=draw,
        among=wanted.among,
        cost=wanted.cost,
        relations=None if links is None else links.relations,
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


def _describe(view: PartialView, found: pl.DataFrame, locate: Locate | None, policy: Links | None) -> dict[str, Any]:
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
            **(_relations(policy) if policy is not None else {}),
            "pairs": pair.n_unique(),
            "paths": found.height,
            "diversity (%)": _percent(found.filter(pl.col("k") == 1)["diversity"].mean()),
            "nodes located (%)": _percent(found["located"].mean()),
            **({_SEVERAL: places_of(view, locate)[1]} if locate is not None and view.labelled else {}),
        },
        "k": {row["k"]: row for row in ks.iter_rows(named=True)},
        "spearman": coefficients,
    }


def _relations(links: Links) -> dict[str, int]:
    """How many links are of each relation, for paths that are valley-free."""
    return {
        "valley-free: links within an AS": links.inside,
        "valley-free: links of customer and provider": links.transit,
        "valley-free: links of peers": links.peering,
        "valley-free: links of unknown relationship": links.unknown,
    }


def _percent(share: Any) -> float | None:
    return None if share is None else 100 * float(share)


def _print_graphs(name: str, described: list[dict[str, Any]], *, located: bool) -> None:
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
    return f"{grouped(round(value))}" if value == round(value) or abs(value) >= 1000 else show.number(value, digits)


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
        if given.rules is not None:
            right += ", or --unknown-relationships free: the policy may leave no path"
        raise InputError("have no path between them", field="the nodes", right=right)
    _say(given.name, whole)
    if out is not None:
        _write_paths(out, whole, used)


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
        relations=None if given.rules is None else given.rules.links(view).relations,
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
    title = escape(f"{name}: {grouped(whole.height)} paths of {grouped(pairs)} pairs")
    table = show.table("draw", "k", "hops", "delay (ms)", "difference (%)", "path", rows=rows, left=0, title=title)
    table.columns[-1].justify = "left"
    show.out().print(table)
    if whole.height > SHOWN:
        show.say(f"and {grouped(whole.height - SHOWN)} more; --out writes all of them")


def _write_paths(out: Path, whole: pl.DataFrame, used: Sequence[Topology]) -> None:
    if out.suffix == ".graphml" and len(used) > 1:
        raise InputError(
            "several draws are no graph", field="--draws", given=str(len(used)), right="1, or .csv or .parquet"
        )
    if out.suffix == ".csv":
        if whole["path"].explode().str.contains(_BETWEEN, literal=True).any():
            raise InputError("names of nodes hold “ | ”, which is put between them", field="--out", right=".parquet")
        whole = whole.with_columns(pl.col("path").list.join(_BETWEEN))
    write(out, whole, used[0])
