"""Nodes and links of measured paths as tables, and which of them came and went between two periods."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from xml.sax.saxutils import escape, quoteattr

import numpy as np
import polars as pl

from haltere.errors import ArgumentError
from haltere.paths.graph import Gaps, PartialView, partial_view
from haltere.paths.levels import Labels

FORMATS = (".csv", ".parquet", ".graphml")


@dataclass(frozen=True)
class Topology:
    """A network at one level, as a sample of traces shows it.

    Attributes:
        nodes: a row a node, in the order of their labels: `node` (its label), `monitor` (whether traces begin there),
            `component` (0 is the largest), `degree` (its links), `traces` (how many pass it).
        links: a row a link: `a`, `b` (labels), `hops` (the fewest that it stands for; more than 1 over silent hops),
            `delay_us` (there and back; null if never timed), `traces` (how many show it).
        traces: how many traces it is made of.
    """

    nodes: pl.DataFrame
    links: pl.DataFrame
    traces: int


def topology(traces: pl.DataFrame, *, labels: Labels | None = None, gaps: Gaps = "span") -> Topology:
    """Return nodes and links that traces show.

    Args:
        traces: rows of a lake, such as those of `Lake.sample`.
        labels: of a level (`haltere.paths.levels.Level.labels`); addresses if not given.
        gaps: whether silent hops, and those without a label, are spanned by a link or cut the path.
    """
    rows = (labels or Labels()).paths(traces)
    view = partial_view(rows, gaps=gaps, labelled=rows is not traces)
    names = view.nodes.select("node", view.names().alias("label"))
    ends = pl.concat([view.links["a"], view.links["b"]]).alias("node").to_frame()
    degree = ends.group_by("node").agg(pl.len().alias("degree"))
    passed = rows.select(pl.concat_list(pl.col("src"), "hop_addr").list.unique().list.drop_nulls().alias("address"))
    seen = passed.explode("address").drop_nulls().group_by("address").agg(pl.len().alias("traces"))
    nodes = view.nodes.join(degree, on="node", how="left").join(seen, on="address", how="left").sort("node")
    nodes = nodes.select(
        names["label"].alias("node"),
        "monitor",
        "component",
        pl.col("degree").fill_null(0),
        pl.col("traces").fill_null(0),
    )
    links = view.links.join(names.rename({"node": "a", "label": "label_a"}), on="a", how="left")
    links = links.join(names.rename({"node": "b", "label": "label_b"}), on="b", how="left").sort("a", "b")
    links = links.select(
        pl.col("label_a").alias("a"), pl.col("label_b").alias("b"), "hops", "delay_us", pl.col("traces").cast(pl.UInt32)
    )
    return Topology(nodes, links, traces.height)


def of_routes(view: PartialView, routes: pl.DataFrame) -> Topology:
    """Return the nodes and links that paths take in a graph; `paths` says of each how many do.

    Args:
        view: the graph.
        routes: paths in it, as `haltere.paths.graph.routes` returns them with `nodes`.

    Returns:
        As `topology` does, with `paths` in place of `traces`.
    """
    names = view.names()
    each = routes.select("path").with_row_index("of").explode("path")
    passed = each.unique().group_by("path").agg(pl.len().alias("paths"))
    ends = each.with_columns(pl.col("path").shift(-1).over("of").alias("next")).drop_nulls("next")
    taken = ends.group_by(
        pl.min_horizontal("path", "next").alias("a"), pl.max_horizontal("path", "next").alias("b")
    ).agg(pl.col("of").n_unique().alias("paths"))
    links = taken.join(view.links.select("a", "b", "hops", "delay_us"), on=["a", "b"], how="left").sort("a", "b")
    every = pl.concat([links["a"], links["b"]]).alias("path").to_frame()
    degree = every.group_by("path").agg(pl.len().alias("degree"))
    nodes = passed.join(degree, on="path", how="left").join(
        view.nodes.select(pl.col("node").alias("path"), "monitor", "component"), on="path", how="left"
    )
    nodes = nodes.sort("path").select(
        names.gather(nodes.sort("path")["path"]).alias("node"),
        "monitor",
        "component",
        pl.col("degree").fill_null(0),
        "paths",
    )
    named = links.select(
        names.gather(links["a"]).alias("a"), names.gather(links["b"]).alias("b"), "hops", "delay_us", "paths"
    )
    return Topology(nodes, named, view.traces)


def estimated(times_seen: pl.Series) -> float:
    """Return about how many there are in all, those included that no trace showed: Chao's estimate, a lower bound.

    S + f1 (f1 - 1) / (2 (f2 + 1)), of which f1 were seen once and f2 twice (A. Chao, "Nonparametric estimation of the
    number of classes in a population", Scandinavian Journal of Statistics 11, 1984; bias-corrected form).
    """
    once, twice = (int((times_seen == times).sum()) for times in (1, 2))
    return len(times_seen) + once * (once - 1) / (2 * (twice + 1))


def changes(first: Topology, second: Topology, what: str = "links") -> pl.DataFrame:
    """Return the nodes or links of two topologies and what became of them, the surest first.

    A node or link that one of the periods does not show may be there unseen. `p` is the probability that all traces
    that show it would
    be of one period, whichever that is, if it were shown as often by both: (N / (N + M))^n + (M / (N + M))^n, of n
    traces that show it where N were read of one period and M of the other (a test conditional on n). Traces of one
    monitor resemble each other, so that true probabilities are larger.

    Args:
        first: the earlier one.
        second: the later one.
        what: `nodes` or `links`.

    Returns:
        The labels (`node`, or `a` and `b`), `traces_first`, `traces_second`, `became` (`stayed`, `came`, `went`) and
        `p` (null of what stayed).
    """
    keys = ["node"] if what == "nodes" else ["a", "b"]
    tables = [
        (one.nodes if what == "nodes" else one.links).select(*keys, pl.col("traces").cast(pl.Int64).alias(name))
        for one, name in ((first, "traces_first"), (second, "traces_second"))
    ]
    both = tables[0].join(tables[1], on=keys, how="full", coalesce=True).fill_null(0)
    total = first.traces + second.traces
    shares = [first.traces / total, second.traces / total] if total else [1.0, 0.0]
    became = (
        pl.when(pl.col("traces_first") == 0)
        .then(pl.lit("came"))
        .when(pl.col("traces_second") == 0)
        .then(pl.lit("went"))
        .otherwise(pl.lit("stayed"))
    )
    seen = pl.max_horizontal("traces_first", "traces_second")
    p = pl.when(pl.col("became") != "stayed").then(pl.sum_horizontal(pl.lit(of).pow(seen) for of in shares))
    return both.with_columns(became.alias("became")).with_columns(p.alias("p")).sort("p", *keys)


def adjusted(p: pl.Series) -> pl.Series:
    """Return p-values as Holm's method makes them for all of them together (S. Holm, 1979).

    Null is what was looked at and did not come or go. It counts among the tests, and stays null.
    """
    values = p.drop_nulls().to_numpy()
    order = np.argsort(values, kind="stable")
    steps = np.maximum.accumulate(values[order] * (len(p) - np.arange(len(values))))
    out = np.empty_like(values)
    out[order] = np.minimum(steps, 1.0)
    whole = p.to_list()
    each = iter(out.tolist())
    return pl.Series("p_holm", [None if value is None else next(each) for value in whole], dtype=pl.Float64)


def check_out(path: Path | None) -> None:
    """Refuse a file to write whose form is not known or whose folder is not there, before anything is read."""
    if path is None:
        return
    if path.suffix not in FORMATS:
        right = f"a file that ends with {', '.join(FORMATS)}"
        raise ArgumentError("has an ending that says no known form", field="out", given=str(path), right=right)
    if not path.parent.is_dir():
        raise ArgumentError("there is no such folder", field="out", given=str(path.parent), right="one that exists")


def write(path: Path, table: pl.DataFrame, whole: Topology) -> None:
    """Write a table as CSV or Parquet, or the topology as GraphML, by the file's ending.

    Raises:
        InputError: if the ending is another, or the folder does not exist.
    """
    check_out(path)
    writers: dict[str, Callable[[IO[bytes]], object]] = {
        ".csv": lambda file: table.write_csv(file),
        ".parquet": lambda file: table.write_parquet(file),
        ".graphml": lambda file: file.write(graphml(whole).encode()),
    }
    with path.open("wb") as file:
        writers[path.suffix](file)


_TYPES = {"monitor": "boolean"} | dict.fromkeys(("component", "degree", "traces", "paths", "hops", "delay_us"), "int")


def graphml(found: Topology) -> str:
    """Return the topology as GraphML (graphml.graphdrawing.org), which networkx, igraph and Gephi read."""
    of = {"node": found.nodes.columns[1:], "edge": found.links.columns[2:]}
    keys = [
        f'<key id="{kind[0]}_{name}" for="{kind}" attr.name="{name}" attr.type="{_TYPES[name]}"/>'
        for kind, names in of.items()
        for name in names
    ]

    def data(kind: str, row: dict[str, object]) -> str:
        told = ((name, row[name]) for name in of[kind] if row[name] is not None)
        return "".join(f'<data key="{kind[0]}_{name}">{escape(str(value).lower())}</data>' for name, value in told)

    nodes = [
        f"<node id={quoteattr(row['node'])}>{data('node', row)}</node>" for row in found.nodes.iter_rows(named=True)
    ]
    edges = [
        f"<edge source={quoteattr(row['a'])} target={quoteattr(row['b'])}>{data('edge', row)}</edge>"
        for row in found.links.iter_rows(named=True)
    ]
    head = ['<?xml version="1.0" encoding="UTF-8"?>', '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">']
    return "\n".join([*head, *keys, '<graph edgedefault="undirected">', *nodes, *edges, "</graph>", "</graphml>", ""])
