"""`haltere paths`: its commands and their options. Each command is carried out by another module of this package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from haltere.cli.paths import comparisons, fetching, networks
from haltere.cli.paths.options import FirstDay, LakePath, LastDay, Seed, Sources

app = typer.Typer(
    no_args_is_help=True,
    help="Measured Internet paths: traceroutes of CAIDA's Ark and skitter, RIPE Atlas, scamper, traceroute and mtr.",
)


@app.command("count")
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
    from haltere.cli.paths import files as command

    command.count(files, threads=threads, as_json=as_json)


@app.command("show")
def show(
    file: Annotated[str, typer.Argument(help="A file of traceroutes; `-` is standard input.")],
    limit: Annotated[int | None, typer.Option("--limit", "-n", min=1, help="Traces shown (default: all).")] = None,
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
    from haltere.cli.paths import ingest as command

    command.ingest(paths, out, source=source, threads=threads, as_json=as_json)


@app.command("lake")
def of_lake(
    lake: LakePath,
    as_json: Annotated[
        bool, typer.Option("--json", help="JSON for programs, with every monitor and every day.")
    ] = False,
) -> None:
    """List what a lake holds, for each source: files, days, monitors, traces and their classes."""
    from haltere.cli.paths import ingest as command

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
    from haltere.cli.paths import ingest as command

    command.generate(out, traces=traces, seed=seed, monitors=monitors, start=start, days=days, kind=kind, ipv6=ipv6)


@app.command("summary")
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
    from haltere.cli.paths import summary_files as command

    command.write(lake, out, sources=source, first_day=first_day, last_day=last_day, paths=paths, seed=seed)


@app.command("summaries")
def summaries(
    names: Annotated[
        list[str] | None, typer.Argument(help="Summaries' files or names (default: those that are shipped).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON for programs.")] = False,
) -> None:
    """List the summaries of paths: their sources, whether they are measured or reconstructed, and their quantiles.

    `haltere paths summaries`
    """
    from haltere.cli.paths import summary_files as command

    command.table(names or [], as_json=as_json)


app.add_typer(fetching.app, name="fetch")
for _commands in (networks.COMMANDS, comparisons.COMMANDS):
    for _name, _command in _commands.items():
        app.command(_name)(_command)
