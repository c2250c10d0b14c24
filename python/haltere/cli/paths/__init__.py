"""`haltere paths`: its commands and their options. What a command does stands in the module beside this one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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

    A file that is in the lake already is passed over, whatever its name is: the same command goes on where it was
    stopped, and brings in what is new.

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
    """Say what a lake holds, a source each: files, days, monitors, traces and their classes."""
    from haltere.cli.paths import ingest as command

    command.lake(lake, as_json=as_json)


@app.command("generate")
def generated(
    out: Annotated[Path, typer.Option("--out", help="The files' folder, made if there is none.", show_default=False)],
    traces: Annotated[int, typer.Option(min=1, help="Traces in all.")] = 100_000,
    seed: Annotated[int, typer.Option(min=0, help="The same seed makes the same traces.")] = 1,
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

    command.generate(
        out, traces=traces, seed=seed, monitors=monitors, start=start, days=days, kind=kind, ipv6=ipv6
    )
