"""`haltere paths`: its commands and their options. What a command does stands in the module beside this one."""

from __future__ import annotations

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
