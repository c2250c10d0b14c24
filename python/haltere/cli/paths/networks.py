"""`haltere paths graph`, `routes`, `nodes` and `links`: their options."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from haltere.cli.paths import options


def graph(
    lake: options.LakeOrGraph,
    traces: options.Traces = 100_000,
    sources: Annotated[int, typer.Option(min=1, help="Number of nodes where paths begin.")] = 10,
    destinations: Annotated[
        int, typer.Option(min=1, help="Number of nodes where they end, the same for all sources.")
    ] = 10_000,
    k: Annotated[int, typer.Option(min=1, max=1000, help="Shortest paths a pair.")] = 10,
    draws: Annotated[int, typer.Option(min=1, help="Number of graphs, each made of a sample of its own.")] = 5,
    seed: options.Seed = 1,
    gaps: options.Gaps = "span",
    among: options.Among = "nodes",
    cost: options.Cost = "hops",
    level: options.LevelName = "address",
    pfx2as: options.Pfx2as = None,
    annotations: options.Annotations = None,
    aliases: options.Aliases = None,
    ixp: options.Ixp = None,
    weights: options.Weights = None,
    mmdb: options.Mmdb = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Parquet file for all paths, a row each.", show_default=False)
    ] = None,
    threads: options.Threads = None,
) -> None:
    """Build graphs of sampled traces, or read one, and measure the K shortest paths of many pairs in them.

    Length, delay, difference, diversity and, with a database of places, how far paths go out of their way, as in the
    study of the evolution of end-to-end paths; each over several draws.

    `haltere paths graph lake/2011 --mmdb GeoLite2-City.mmdb`
    """
    from haltere.cli.paths import graph as command
    from haltere.cli.paths.views import Wanted
    from haltere.paths.levels import Level

    at = Level(level, pfx2as, annotations, aliases, ixp)
    wanted = Wanted(traces, sources, destinations, k, draws, seed, gaps, among, cost, at, weights, mmdb, threads)
    command.graph(lake, wanted, out=out)


def routes(
    lake: options.LakeOrGraph,
    begin: Annotated[
        list[str] | None, typer.Option("--from", help="A node where paths begin; again for more.", show_default=False)
    ] = None,
    end: Annotated[
        list[str] | None, typer.Option("--to", help="A node where they end; again for more.", show_default=False)
    ] = None,
    traces: options.Traces = 100_000,
    sources: Annotated[int, typer.Option(min=1, help="Without --from: how many nodes are drawn.")] = 10,
    destinations: Annotated[int, typer.Option(min=1, help="Without --to: how many nodes are drawn.")] = 100,
    k: Annotated[int, typer.Option(min=1, max=1000, help="Shortest paths a pair.")] = 10,
    draws: Annotated[int, typer.Option(min=1, help="Number of graphs, each made of a sample of its own.")] = 1,
    seed: options.Seed = 1,
    gaps: options.Gaps = "span",
    among: options.Among = "nodes",
    cost: options.Cost = "hops",
    level: options.LevelName = "address",
    pfx2as: options.Pfx2as = None,
    annotations: options.Annotations = None,
    aliases: options.Aliases = None,
    ixp: options.Ixp = None,
    weights: options.Weights = None,
    mmdb: options.Mmdb = None,
    out: options.Out = None,
    threads: options.Threads = None,
) -> None:
    """List the K shortest paths themselves, node by node, with the measures of each.

    Between nodes that are named, or drawn at random as `haltere paths graph` draws them. GraphML holds the nodes and
    links that the paths take, and how many take each.

    `haltere paths routes lake/2011 --from AS64500 --level as --pfx2as routeviews-rv2-20110301.pfx2as.gz --out k.csv`
    """
    from haltere.cli.paths import routes as command
    from haltere.cli.paths.views import Wanted
    from haltere.paths.levels import Level

    at = Level(level, pfx2as, annotations, aliases, ixp)
    wanted = Wanted(traces, sources, destinations, k, draws, seed, gaps, among, cost, at, weights, mmdb, threads)
    command.list_them(lake, wanted, begin=begin or [], end=end or [], out=out)


def nodes(
    lake: options.LakePath,
    against: options.Against = None,
    level: options.LevelName = "address",
    pfx2as: options.Pfx2as = None,
    annotations: options.Annotations = None,
    aliases: options.Aliases = None,
    ixp: options.Ixp = None,
    traces: options.Traces = 100_000,
    seed: options.Seed = 1,
    gaps: options.Gaps = "span",
    monitors: options.Monitors = "both",
    out: options.Out = None,
) -> None:
    """List the nodes that a lake's clean traces show, or which came and went between two lakes.

    `haltere paths nodes lake/2011 --level as --pfx2as routeviews-rv2-20110301.pfx2as.gz --out ases.csv`
    """
    from haltere.cli.paths import topology as command
    from haltere.paths.levels import Level

    wanted = command.Wanted(traces, seed, gaps, Level(level, pfx2as, annotations, aliases, ixp), monitors)
    command.list_them("nodes", lake, wanted, against=against, out=out)


def links(
    lake: options.LakePath,
    against: options.Against = None,
    level: options.LevelName = "address",
    pfx2as: options.Pfx2as = None,
    annotations: options.Annotations = None,
    aliases: options.Aliases = None,
    ixp: options.Ixp = None,
    traces: options.Traces = 100_000,
    seed: options.Seed = 1,
    gaps: options.Gaps = "span",
    monitors: options.Monitors = "both",
    out: options.Out = None,
) -> None:
    """List the links that a lake's clean traces show, or which came and went between two lakes.

    Nodes and links that were not seen may be there: each change has the probability that it is chance, and each lake an
    estimate of how many there are in all.

    `haltere paths links lake/2006 --against lake/2011 --out changed.parquet`
    """
    from haltere.cli.paths import topology as command
    from haltere.paths.levels import Level

    wanted = command.Wanted(traces, seed, gaps, Level(level, pfx2as, annotations, aliases, ixp), monitors)
    command.list_them("links", lake, wanted, against=against, out=out)


COMMANDS: dict[str, Callable[..., Any]] = {"graph": graph, "routes": routes, "nodes": nodes, "links": links}
"""The commands of this module by their names."""
