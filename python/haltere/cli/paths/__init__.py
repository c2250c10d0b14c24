"""`haltere paths`: its commands and their options. Each command is carried out by another module of this package."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import typer

from haltere.cli.options import fills
from haltere.cli.paths import fetching
from haltere.cli.paths.options import (
    Draws,
    FirstDay,
    FirstLake,
    Gaps,
    Graphs,
    K,
    LakeOrGraph,
    LakePath,
    LastDay,
    Mmdb,
    Nodes,
    Out,
    Part,
    Routing,
    SecondLake,
    Seed,
    Sources,
    Threads,
    Traces,
)

app = typer.Typer(
    no_args_is_help=True,
    help="Measured Internet paths: traceroutes of CAIDA's Ark and skitter, RIPE Atlas, scamper, traceroute and mtr.",
)


@app.command()
def count(
    files: Annotated[list[str], typer.Argument(help="Files of traceroutes, packed or not; `-` is standard input.")],
    threads: Annotated[
        int | None, typer.Option(min=1, help="Files read at once, or threads of one (default: one a CPU).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON for programs, with more counts.")] = False,
) -> None:
    """Count what files hold: traces that are complete, incomplete, too long or looped, and damaged records.

    A trace is complete if the destination answered, too long over 30 hops, a loop if an address comes again at TTLs
    that are not neighbours, and clean if it is complete and neither. What cannot be read is reported with its place.

    `haltere paths count cycle-20110101/*.warts.gz`
    """
    from haltere.cli.paths import lakes as command

    command.count(files, threads=threads, as_json=as_json)


@app.command()
def show(
    file: Annotated[str, typer.Argument(help="A file of traceroutes; `-` is standard input.")],
    limit: Annotated[int | None, typer.Option("--limit", "-n", min=1, help="Traces shown (default: all).")] = None,
) -> None:
    """Print the traces of a file as text.

    `haltere paths show monitor.warts.gz -n 3`
    """
    from haltere.cli.paths import lakes as command

    command.texts(file, limit)


@app.command("ingest")
def into_lake(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH...", help="Files of traceroutes, packed or not, and folders of them; `-` is standard input."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", help="The lake's folder, made if there is none.")],
    source: Annotated[
        str | None,
        typer.Option(
            help="The platform that measured (default: skitter for ARTS, ark for warts, atlas, scamper, mtr, text)."
        ),
    ] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Files read at once, or threads of one (default: one a CPU).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON for programs: each file's entry.")] = False,
) -> None:
    """Read files into a lake: Parquet, a row a trace, by source and day.

    A file that is in the lake already is skipped, whatever its name is. So the same command continues where it was
    stopped, and adds what is new.

    `haltere paths ingest team-1/ --out lake`
    """
    from haltere.cli.paths import lakes as command

    command.ingest(paths, out, source=source, threads=threads, as_json=as_json)


@app.command("lake")
def of_lake(
    lake: LakePath,
    as_json: Annotated[
        bool, typer.Option("--json", help="JSON for programs, with every monitor and every day.")
    ] = False,
) -> None:
    """List what a lake holds, for each source: files, days, monitors, traces and their classes."""
    from haltere.cli.paths import lakes as command

    command.lake(lake, as_json=as_json)


@app.command("generate")
def generated(
    out: Annotated[Path, typer.Option("--out", help="The files' folder, made if there is none.")],
    traces: Annotated[int, typer.Option(min=1, help="Traces in all.")] = 100_000,
    seed: Seed = 1,
    monitors: Annotated[int, typer.Option(min=1, help="How many monitors measure.")] = 1,
    start: Annotated[str, typer.Option(help="The first day.")] = "2011-03-01",
    days: Annotated[int, typer.Option(min=1, help="How many days.")] = 1,
    kind: Annotated[str, typer.Option("--format", help="warts, arts or atlas.")] = "warts",
    ipv6: Annotated[bool, typer.Option("--ipv6", help="IPv6 addresses.")] = False,
) -> None:
    """Write gzip'd files of traces that look like measured ones, one a monitor and day: for trials and benches.

    `haltere paths generate --traces 1000000 --monitors 5 --days 2 --out files`
    """
    from haltere.cli.paths import lakes as command

    command.generate(out, traces=traces, seed=seed, monitors=monitors, start=start, days=days, kind=kind, ipv6=ipv6)


@app.command()
def summary(
    lake: LakePath,
    out: Annotated[Path, typer.Option("--out", "-o", help="The summary's file.")],
    source: Sources = None,
    first_day: FirstDay = None,
    last_day: LastDay = None,
    paths: Annotated[int, typer.Option(help="How many paths are drawn.")] = 1000,
    seed: Annotated[int, typer.Option(help="Of the draw.")] = 1,
) -> None:
    """Draw paths from a lake into a small file, for scenarios over measured paths.

    The file names its source and holds each path's round-trip time, length and round-trip times to its hops. A
    scenario takes it as `[topology] from = "paths", paths = "FILE"`.

    `haltere paths summary lake/2011 --paths 1000 --out ark-2011.json`
    """
    from haltere.cli.paths import lakes as command

    command.write(lake, out, sources=source, first_day=first_day, last_day=last_day, paths=paths, seed=seed)


@app.command()
def summaries(
    names: Annotated[
        list[str] | None, typer.Argument(help="Summaries' files or names (default: those that are shipped).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON for programs.")] = False,
) -> None:
    """List the summaries of paths: their sources, whether they are measured or reconstructed, and their quantiles.

    `haltere paths summaries`
    """
    from haltere.cli.paths import lakes as command

    command.table(names or [], as_json=as_json)


app.add_typer(fetching.app, name="fetch")


@app.command()
@fills
def graph(
    lake: LakeOrGraph,
    graphs: Graphs,
    out: Annotated[Path | None, typer.Option("--out", help="Parquet file for all paths, a row each.")] = None,
) -> None:
    """Build graphs of sampled traces, or read one, and measure the K shortest paths of many pairs in them.

    Length, delay, difference, diversity and, with a database of places, how far paths go out of their way, as in the
    study of the evolution of end-to-end paths; each over several draws.

    `haltere paths graph lake/2011 --mmdb GeoLite2-City.mmdb`
    """
    from haltere.cli.paths import graphs as command

    command.graph(lake, graphs, out=out)


_LISTED = Graphs(destinations=100, draws=1)


@app.command()
@fills
def routes(
    lake: LakeOrGraph,
    begin: Annotated[
        list[str] | None,
        typer.Option("--from", help="A node where paths begin, in place of drawn ones; again for more."),
    ] = None,
    end: Annotated[
        list[str] | None, typer.Option("--to", help="A node where they end, in place of drawn ones; again for more.")
    ] = None,
    graphs: Graphs = _LISTED,
    out: Out = None,
) -> None:
    """List the K shortest paths themselves, node by node, with the measures of each.

    Between nodes that are named, or drawn at random as `haltere paths graph` draws them. GraphML holds the nodes and
    links that the paths take, and how many take each.

    `haltere paths routes lake/2011 --from AS64500 --level as --pfx2as routeviews-rv2-20110301.pfx2as.gz --out k.csv`
    """
    from haltere.cli.paths import graphs as command

    command.list_them(lake, graphs, begin=begin or [], end=end or [], out=out)


@dataclass(frozen=True)
class Seen:
    """The things to list, and the traces that show them."""

    of: Annotated[Literal["links", "nodes"], typer.Option(help="What is listed.")] = "links"
    against: Annotated[Path | None, typer.Option(help="A later period's lake: what came and went.")] = None
    nodes: Nodes = field(default_factory=Nodes)
    traces: Traces = 100_000
    seed: Seed = 1
    gaps: Gaps = "span"
    monitors: Annotated[
        Literal["both", "all"], typer.Option(help="With --against: by the traces of monitors of both lakes, or of all.")
    ] = "both"
    out: Out = None


@app.command()
@fills
def topology(lake: LakePath, wanted: Seen) -> None:
    """List the links or nodes that a lake's clean traces show, or which came and went between two lakes.

    Nodes and links that were not seen may be there: each change has the probability that it is chance, and each lake an
    estimate of how many there are in all.

    `haltere paths topology lake/2006 --against lake/2011 --out changed.parquet`

    `haltere paths topology lake/2011 --of nodes --level as --pfx2as routeviews-rv2-20110301.pfx2as.gz --out ases.csv`
    """
    from haltere.cli.paths import changes as command

    command.list_topology(lake, wanted)


@dataclass(frozen=True)
class Compared:
    """The choices of a comparison of two lakes, and the folder of its report."""

    out: Annotated[Path, typer.Option("--out", help="Folder of the report and its figures.")] = Path("comparison")
    mmdb: Mmdb = None
    regions: Annotated[Path | None, typer.Option(help="CSV of monitors and their regions (monitor,region).")] = None
    keep: Annotated[
        list[str] | None, typer.Option(help="Only monitors of this region, such as EU; again for more.")
    ] = None
    part: Part = field(default_factory=Part)
    traces: Annotated[int, typer.Option(min=0, help="Traces of a partial view; 0 makes none.")] = 100_000
    sources: Annotated[int, typer.Option(min=1, help="Sources of pairs.")] = 10
    destinations: Annotated[int, typer.Option(min=1, help="Destinations of each source.")] = 10_000
    k: K = 10
    draws: Draws = 5
    resample: Annotated[
        Literal["none", "half", "bootstrap"],
        typer.Option(
            help="Draws of a lake with no more than --traces clean traces: all of them (no intervals over draws), a "
            "random half, or as many with replacement."
        ),
    ] = "none"
    nodes: Nodes = field(default_factory=Nodes)
    routing: Routing = field(default_factory=Routing)
    seed: Seed = 1
    threads: Threads = None
    study: Annotated[
        Path | None,
        typer.Option(help="Judge the claims of a study of two periods, and draw its figures: its folder or name."),
    ] = None
    dask: Annotated[str | None, typer.Option(help="Count on a Dask cluster: its scheduler's address.")] = None


@app.command()
@fills
def compare(first: FirstLake, second: SecondLake, wanted: Compared) -> None:
    """Compare two periods: lengths, delays, diversity, dispersion; tables and a report with figures.

    `haltere paths compare lake/2006 lake/2011 --study internet-paths --mmdb GeoLite2-City.mmdb --keep NA --keep EU`

    `haltere paths compare lake/2023 lake/2024 --family 4 --resample half`
    """
    from haltere.cli.paths import comparing as command

    command.compare(first, second, wanted)


@dataclass(frozen=True)
class Changed:
    """The meaning of a path and of a destination, the traces, and the file of the pairs."""

    nodes: Nodes = field(default_factory=Nodes)
    destination: Annotated[
        Literal["address", "prefix", "label"],
        typer.Option(help="What a destination is: the address, its /24 or /48, or its label at the level."),
    ] = "address"
    traces: Traces = 1_000_000
    seed: Seed = 1
    out: Annotated[Path | None, typer.Option("--out", help="File for every pair: .csv or .parquet.")] = None


@app.command()
@fills
def changed(first: FirstLake, second: SecondLake, wanted: Changed) -> None:
    """Say of how many pairs of monitor and destination the path changed between two lakes, and which.

    A pair's path is the one that most of its traces show. Where silent hops hide a part, a change is unclear.

    `haltere paths changed lake/2006 lake/2011 --level as --pfx2as routeviews-rv2-20110301.pfx2as.gz --out pairs.csv`
    """
    from haltere.cli.paths import changes as command

    command.list_changed(first, second, wanted)
