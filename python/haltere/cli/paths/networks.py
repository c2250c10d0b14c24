"""`haltere paths graph`, `routes` and `topology`: their options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from haltere.cli.options import fills
from haltere.cli.paths import options
from haltere.cli.paths.options import Graphs


@fills
def graph(
    lake: options.LakeOrGraph,
    graphs: Graphs,
    out: Annotated[Path | None, typer.Option("--out", help="Parquet file for all paths, a row each.")] = None,
) -> None:
    """Build graphs of sampled traces, or read one, and measure the K shortest paths of many pairs in them.

    Length, delay, difference, diversity and, with a database of places, how far paths go out of their way, as in the
    study of the evolution of end-to-end paths; each over several draws.

    `haltere paths graph lake/2011 --mmdb GeoLite2-City.mmdb`
    """
    from haltere.cli.paths import graph as command

    command.graph(lake, graphs, out=out)


_LISTED = Graphs(destinations=100, draws=1)


@fills
def routes(
    lake: options.LakeOrGraph,
    begin: Annotated[
        list[str] | None,
        typer.Option("--from", help="A node where paths begin, in place of drawn ones; again for more."),
    ] = None,
    end: Annotated[
        list[str] | None, typer.Option("--to", help="A node where they end, in place of drawn ones; again for more.")
    ] = None,
    graphs: Graphs = _LISTED,
    out: options.Out = None,
) -> None:
    """List the K shortest paths themselves, node by node, with the measures of each.

    Between nodes that are named, or drawn at random as `haltere paths graph` draws them. GraphML holds the nodes and
    links that the paths take, and how many take each.

    `haltere paths routes lake/2011 --from AS64500 --level as --pfx2as routeviews-rv2-20110301.pfx2as.gz --out k.csv`
    """
    from haltere.cli.paths import routes as command

    command.list_them(lake, graphs, begin=begin or [], end=end or [], out=out)


@dataclass(frozen=True)
class Seen:
    """The things to list, and the traces that show them."""

    of: Annotated[Literal["links", "nodes"], typer.Option(help="What is listed.")] = "links"
    against: Annotated[Path | None, typer.Option(help="A later period's lake: what came and went.")] = None
    nodes: options.Nodes = field(default_factory=options.Nodes)
    traces: options.Traces = 100_000
    seed: options.Seed = 1
    gaps: options.Gaps = "span"
    monitors: Annotated[
        Literal["both", "all"], typer.Option(help="With --against: by the traces of monitors of both lakes, or of all.")
    ] = "both"
    out: options.Out = None


@fills
def topology(lake: options.LakePath, wanted: Seen) -> None:
    """List the links or nodes that a lake's clean traces show, or which came and went between two lakes.

    Nodes and links that were not seen may be there: each change has the probability that it is chance, and each lake an
    estimate of how many there are in all.

    `haltere paths topology lake/2006 --against lake/2011 --out changed.parquet`

    `haltere paths topology lake/2011 --of nodes --level as --pfx2as routeviews-rv2-20110301.pfx2as.gz --out ases.csv`
    """
    from haltere.cli.paths import topology as command

    command.list_them(lake, wanted)


COMMANDS: dict[str, Callable[..., Any]] = {"graph": graph, "routes": routes, "topology": topology}
"""The commands of this module by their names."""
