"""`haltere paths`: its commands and their options. What a command does stands in the module beside this one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

app = typer.Typer(
    no_args_is_help=True,
    help="Measured Internet paths: traceroutes of CAIDA's Ark and skitter, RIPE Atlas, scamper, traceroute and mtr.",
)


@app.command("count")
def count(
    files: Annotated[
        list[str],
        typer.Argument(help="Files of traceroutes, packed or not; `-` is standard input.", show_default=False),
    ],
    threads: Annotated[
        int | None, typer.Option(min=1, help="Files read at once (default: one a CPU).", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON for programs, with more counts.")] = False,
) -> None:
    """Say what files hold: traces that are complete, incomplete, too long or looped, and damaged records.

    A trace is complete if the destination answered, too long over 30 hops, a loop if an address comes again at TTLs
    that are not neighbours, and clean if it is complete and neither. What cannot be read is reported with its place.

    `haltere paths count cycle-20110101/*.warts.gz`
    """
    from haltere.cli.paths import files as command

    command.count(files, threads=threads, as_json=as_json)


@app.command("show")
def show(
    file: Annotated[str, typer.Argument(help="A file of traceroutes; `-` is standard input.", show_default=False)],
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=1, help="Traces shown (default: all).", show_default=False)
    ] = None,
) -> None:
    """Print the traces of a file as text.

    `haltere paths show monitor.warts.gz -n 3`
    """
    from haltere.cli.paths import files as command

    command.texts(file, limit)


@app.command("graph")
def graph_in_use(
    lake: Annotated[Path, typer.Argument(help="A lake that `haltere paths ingest` wrote.", show_default=False)],
    traces: Annotated[int, typer.Option(min=1, help="Clean traces that a graph is made of.")] = 100_000,
    sources: Annotated[int, typer.Option(min=1, help="Nodes where paths begin.")] = 10,
    destinations: Annotated[int, typer.Option(min=1, help="Nodes where they end, the same for all sources.")] = 10_000,
    k: Annotated[int, typer.Option(min=1, help="Shortest paths a pair.")] = 10,
    draws: Annotated[int, typer.Option(min=1, help="Graphs, each of a sample of its own.")] = 5,
    seed: Annotated[int, typer.Option(min=0, help="Of all draws.")] = 1,
    gaps: Annotated[
        Literal["span", "cut"], typer.Option(help="Silent hops: `span` counts them in a longer link, `cut` makes none.")
    ] = "span",
    among: Annotated[
        Literal["nodes", "monitors"], typer.Option(help="Which nodes may be sources: all, or where traces begin.")
    ] = "nodes",
    cost: Annotated[Literal["hops", "delay"], typer.Option(help="What paths are short in.")] = "hops",
    mmdb: Annotated[
        Path | None, typer.Option(help="A database of places in MaxMind's format.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Parquet file for all paths, a row each.", show_default=False)
    ] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Default: one a CPU.", show_default=False)] = None,
) -> None:
    """Build graphs of sampled traces and measure the K shortest paths of many pairs in them.

    Length, delay, difference, diversity and, with a database of places, how far paths go out of their way, as in the
    study of the evolution of end-to-end paths; each over several draws.

    `haltere paths graph lake/2011 --mmdb GeoLite2-City.mmdb`
    """
    from haltere.cli.paths import graph as command

    wanted = command.Wanted(traces, sources, destinations, k, seed, gaps, among, cost, mmdb, threads)
    command.graph(lake, wanted, draws=draws, out=out)
