"""`haltere paths`: its commands and their options. Each command is carried out by another module of this package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

MAX_SEED = 2**63 - 1
"""The greatest seed: draws add their number to it, which must fit into 64 bits."""

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
    """Count what files hold: traces that are complete, incomplete, too long or looped, and damaged records.

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


@app.command("ingest")
def into_lake(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH...",
            help="Files of traceroutes, packed or not, and folders of them; `-` is standard input.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option("--out", help="The lake's folder, made if there is none.", show_default=False)],
    source: Annotated[
        str | None,
        typer.Option(
            help="The platform that measured (default: skitter for ARTS, ark for warts, atlas, scamper, mtr, text).",
            show_default=False,
        ),
    ] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Files read at once (default: one a CPU).", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON for programs: each file's entry.")] = False,
) -> None:
    """Read files into a lake: Parquet, a row a trace, by source and day.

    A file that is in the lake already is skipped, whatever its name is. So the same command continues where it was
    stopped, and adds what is new.

    `haltere paths ingest team-1/ --out lake`
    """
    from haltere.cli.paths import ingest as command

    command.ingest(paths, out, source=source, threads=threads, as_json=as_json)


@app.command("lake")
def of_lake(
    lake: Annotated[Path, typer.Argument(help="A lake that `haltere paths ingest` made.", show_default=False)],
    as_json: Annotated[
        bool, typer.Option("--json", help="JSON for programs, with every monitor and every day.")
    ] = False,
) -> None:
    """List what a lake holds, for each source: files, days, monitors, traces and their classes."""
    from haltere.cli.paths import ingest as command

    command.lake(lake, as_json=as_json)


@app.command("generate")
def generated(
    out: Annotated[Path, typer.Option("--out", help="The files' folder, made if there is none.", show_default=False)],
    traces: Annotated[int, typer.Option(min=1, help="Traces in all.")] = 100_000,
    seed: Annotated[int, typer.Option(min=0, max=MAX_SEED, help="The same seed makes the same traces.")] = 1,
    monitors: Annotated[int, typer.Option(min=1, help="How many monitors measure.")] = 1,
    start: Annotated[str, typer.Option(help="The first day.")] = "2011-03-01",
    days: Annotated[int, typer.Option(min=1, help="How many days.")] = 1,
    kind: Annotated[str, typer.Option("--format", help="warts, arts or atlas.")] = "warts",
    ipv6: Annotated[bool, typer.Option("--ipv6", help="IPv6 addresses.")] = False,
) -> None:
    """Write gzip'd files of traces that look like measured ones, one a monitor and day: for trials and benches.

    `haltere paths generate --traces 1000000 --monitors 5 --days 2 --out files`
    """
    from haltere.cli.paths import ingest as command

    command.generate(out, traces=traces, seed=seed, monitors=monitors, start=start, days=days, kind=kind, ipv6=ipv6)


@app.command("graph")
def graph_in_use(
    lake: Annotated[Path, typer.Argument(help="A lake that `haltere paths ingest` wrote.", show_default=False)],
    traces: Annotated[int, typer.Option(min=1, help="Number of clean traces that a graph is made of.")] = 100_000,
    sources: Annotated[int, typer.Option(min=1, help="Number of nodes where paths begin.")] = 10,
    destinations: Annotated[
        int, typer.Option(min=1, help="Number of nodes where they end, the same for all sources.")
    ] = 10_000,
    k: Annotated[int, typer.Option(min=1, max=1000, help="Shortest paths a pair.")] = 10,
    draws: Annotated[int, typer.Option(min=1, help="Number of graphs, each made of a sample of its own.")] = 5,
    seed: Annotated[int, typer.Option(min=0, max=MAX_SEED, help="Names all random draws.")] = 1,
    gaps: Annotated[
        Literal["span", "cut"], typer.Option(help="Silent hops: `span` counts them in a longer link, `cut` makes none.")
    ] = "span",
    among: Annotated[
        Literal["nodes", "monitors"], typer.Option(help="Which nodes may be sources: all, or where traces begin.")
    ] = "nodes",
    cost: Annotated[Literal["hops", "delay"], typer.Option(help="The cost by which paths are short.")] = "hops",
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


_Lake = Annotated[Path, typer.Argument(help="A lake that `haltere paths ingest` wrote.", show_default=False)]
_Against = Annotated[Path | None, typer.Option(help="A later period's lake: what came and went.", show_default=False)]
_Level = Annotated[
    Literal["address", "prefix", "router", "as"],
    typer.Option(help="What a node is: an address, its /24 or /48, a router (--aliases), an AS (--pfx2as)."),
]
_Pfx2as = Annotated[Path | None, typer.Option(help="CAIDA's prefix-to-AS data, packed or not.", show_default=False)]
_Aliases = Annotated[Path | None, typer.Option(help="Alias sets: the .nodes file of an ITDK.", show_default=False)]
_Ixp = Annotated[
    Path | None,
    typer.Option(help="Peering networks of exchanges, whose addresses are left out.", show_default=False),
]
_Traces = Annotated[int, typer.Option(min=1, help="How many clean traces are drawn.")]
_Seed = Annotated[int, typer.Option(min=0, max=MAX_SEED, help="Names the draw.")]
_Gaps = Annotated[
    Literal["span", "cut"], typer.Option(help="Silent hops: `span` links what is at both sides, `cut` does not.")
]
_Monitors = Annotated[
    Literal["both", "all"], typer.Option(help="With --against: by the traces of monitors of both lakes, or of all.")
]
_Out = Annotated[
    Path | None,
    typer.Option("--out", help="File for all of them: .csv, .parquet or .graphml.", show_default=False),
]


@app.command("nodes")
def nodes_of(
    lake: _Lake,
    against: _Against = None,
    level: _Level = "address",
    pfx2as: _Pfx2as = None,
    aliases: _Aliases = None,
    ixp: _Ixp = None,
    traces: _Traces = 100_000,
    seed: _Seed = 1,
    gaps: _Gaps = "span",
    monitors: _Monitors = "both",
    out: _Out = None,
) -> None:
    """List the nodes that a lake's clean traces show, or which came and went between two lakes.

    `haltere paths nodes lake/2011 --level as --pfx2as routeviews-rv2-20110301.pfx2as.gz --out ases.csv`
    """
    from haltere.cli.paths import topology as command

    wanted = command.Wanted(traces, seed, gaps, level, monitors, pfx2as, aliases, ixp)
    command.list_them("nodes", lake, wanted, against=against, out=out)


@app.command("links")
def links_of(
    lake: _Lake,
    against: _Against = None,
    level: _Level = "address",
    pfx2as: _Pfx2as = None,
    aliases: _Aliases = None,
    ixp: _Ixp = None,
    traces: _Traces = 100_000,
    seed: _Seed = 1,
    gaps: _Gaps = "span",
    monitors: _Monitors = "both",
    out: _Out = None,
) -> None:
    """List the links that a lake's clean traces show, or which came and went between two lakes.

    What was not seen may be there: each change has the probability that it is chance, and each lake an estimate of how
    many there are in all.

    `haltere paths links lake/2006 --against lake/2011 --out changed.parquet`
    """
    from haltere.cli.paths import topology as command

    wanted = command.Wanted(traces, seed, gaps, level, monitors, pfx2as, aliases, ixp)
    command.list_them("links", lake, wanted, against=against, out=out)


@app.command("compare")
def compare(
    first: Annotated[Path, typer.Argument(help="The earlier period's lake.", show_default=False)],
    second: Annotated[Path, typer.Argument(help="The later period's lake.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", help="Folder of the report and its figures.")] = Path("comparison"),
    mmdb: Annotated[
        Path | None,
        typer.Option(help="Database of places in MaxMind's format (GeoLite2 City).", show_default=False),
    ] = None,
    regions: Annotated[
        Path | None, typer.Option(help="CSV of monitors and their regions (monitor,region).", show_default=False)
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(help="Only monitors of this region, such as EU; again for more.", show_default=False),
    ] = None,
    source: Annotated[
        list[str] | None, typer.Option(help="Only this source; again for more.", show_default=False)
    ] = None,
    first_day: Annotated[str | None, typer.Option("--from", help="First day.", show_default=False)] = None,
    last_day: Annotated[str | None, typer.Option("--to", help="Last day.", show_default=False)] = None,
    family: Annotated[Literal["4", "6"] | None, typer.Option(help="Only IPv4 or IPv6.", show_default=False)] = None,
    repeats: Annotated[
        bool, typer.Option("--repeats", help="Traces in which an address only repeats count as clean, not as loops.")
    ] = False,
    traces: Annotated[int, typer.Option(min=0, help="Traces of a partial view; 0 makes none.")] = 100_000,
    sources: Annotated[int, typer.Option(min=1, help="Sources of pairs.")] = 10,
    destinations: Annotated[int, typer.Option(min=1, help="Destinations of each source.")] = 10_000,
    k: Annotated[int, typer.Option("--k", min=1, max=1000, help="Shortest paths of a pair.")] = 10,
    draws: Annotated[int, typer.Option(min=1, help="Partial views, each from traces drawn anew.")] = 5,
    resample: Annotated[
        Literal["none", "half", "bootstrap"],
        typer.Option(
            help="Draws of a lake with no more than --traces clean traces: all of them (no intervals over draws), a "
            "random half, or as many with replacement."
        ),
    ] = "none",
    level: _Level = "address",
    pfx2as: _Pfx2as = None,
    aliases: _Aliases = None,
    ixp: _Ixp = None,
    seed: Annotated[int, typer.Option(min=0, max=MAX_SEED, help="Names all random draws.")] = 1,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads for shortest paths (default: one a CPU).", show_default=False)
    ] = None,
    dask: Annotated[
        str | None, typer.Option(help="Count on a Dask cluster: its scheduler's address.", show_default=False)
    ] = None,
) -> None:
    """Compare two periods: lengths, delays, diversity, dispersion, the paper's claims, and a report with its figures.

    `haltere paths compare lake/2006 lake/2011 --mmdb GeoLite2-City.mmdb --keep NA --keep EU`
    """
    from haltere.cli.paths import comparing as command
    from haltere.paths.evolution import Options

    options = Options(
        traces=traces,
        sources=sources,
        destinations=destinations,
        k=k,
        draws=draws,
        resample=resample,
        level=level,
        labels=aliases if level == "router" else pfx2as,
        exchanges=ixp,
        seed=seed,
        mmdb=mmdb,
        regions=regions,
        keep=tuple(keep or ()),
        threads=threads,
    )
    chosen = command.selection(
        source or [], first_day, last_day, None if family is None else int(family), repeats=repeats
    )
    command.compare(first, second, options, chosen, out, dask)


@app.command("summary")
def summary(
    lake: Annotated[Path, typer.Argument(help="A lake that `haltere paths ingest` wrote.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", "-o", help="The summary's file.", show_default=False)],
    source: Annotated[
        list[str] | None, typer.Option(help="Only this platform's traces; may be repeated.", show_default=False)
    ] = None,
    first_day: Annotated[
        str | None, typer.Option("--from", help="The first day, as 2011-01-31.", show_default=False)
    ] = None,
    last_day: Annotated[str | None, typer.Option("--to", help="The last day.", show_default=False)] = None,
    paths: Annotated[int, typer.Option(help="How many paths are drawn.")] = 1000,
    seed: Annotated[int, typer.Option(help="Of the draw.")] = 1,
) -> None:
    """Draw paths from a lake into a small file, for scenarios over measured paths.

    The file names its source and holds each path's round-trip time, length and round-trip times to its hops. A
    scenario takes it as `[topology] from = "paths", paths = "FILE"`.

    `haltere paths summary lake/2011 --paths 1000 --out ark-2011.json`
    """
    from haltere.cli.paths import summary_files as command

    command.write(lake, out, sources=source, first_day=first_day, last_day=last_day, paths=paths, seed=seed)


@app.command("summaries")
def summaries(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Summaries' files or names (default: those that are shipped).", show_default=False),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON for programs.")] = False,
) -> None:
    """List the summaries of paths: their sources, whether they are measured or reconstructed, and their quantiles.

    `haltere paths summaries`
    """
    from haltere.cli.paths import summary_files as command

    command.table(names or [], as_json=as_json)
