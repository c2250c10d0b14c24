"""The command line: the commands in the order in which help lists them; `haltere.cli.commands` has their options."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from haltere.cli import paths
from haltere.cli.commands import (
    attack,
    compare,
    evaluate,
    explain,
    kernel,
    link,
    reference,
    results,
    run,
    studies,
    trace,
)

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="""A laboratory for transport protocols.

A **contender** is `transport[@implementation]/congestion[+on|-off|+to=value...]`: `tcp/cubic`, `quic/bbr-pacing`
(see `haltere algorithms`). Quantities carry units: `40Mbit/s`, `50ms`, `1%`, `32MiB`; a queue is `1000p` (packets),
`64kB`, `1bdp` or a discipline with parameters (see `haltere queues`). The same words stand in study files, on this
line and in the results.

Start with: `haltere compare tcp/cubic quic/bbr --rate 40Mbit/s --rtt 50ms --loss 1%`
""",
)


def _version(wanted: bool) -> None:
    if wanted:
        from haltere import core

        typer.echo(f"haltere {core.VERSION}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[  # noqa: ARG001 (its callback does it)
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    kernel: Annotated[
        str | None,
        typer.Option(
            envvar="HALTERE_KERNEL",
            help="The kernel of fidelity `linux`, by its name or version (see `haltere kernel list`).",
        ),
    ] = None,
    allow_code: Annotated[
        bool,
        typer.Option(
            "--allow-code",
            help="Run the code that study files name (`tcp/./mine.py`). It has all your rights: read it first.",
        ),
    ] = False,
    isolate: Annotated[
        str | None,
        typer.Option(
            metavar="SECONDS",
            envvar="HALTERE_ISOLATE",
            help="Make each run of the simulator in a process of its own, ended after so many seconds: code that "
            "crashes or loops for ever then fails its run alone.",
        ),
    ] = None,
) -> None:
    if isolate:
        os.environ["HALTERE_ISOLATE"] = isolate
    if allow_code:
        os.environ["HALTERE_ALLOW_CODE"] = "1"
    if kernel:
        os.environ["HALTERE_KERNEL"] = kernel


for part in (compare, explain, trace, attack, link, run, evaluate, studies, results, reference):
    app.add_typer(part.app)
app.add_typer(kernel.app, name="kernel", rich_help_panel="Real Linux")
app.add_typer(paths.app, name="paths", rich_help_panel="Measured paths")
