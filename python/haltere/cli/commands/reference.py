"""Commands that print what can be said, and how fast the simulator is."""

from __future__ import annotations

from typing import Annotated

import typer

from haltere.cli.commands.shared import REFERENCE, AsJson

app = typer.Typer()


@app.command(rich_help_panel=REFERENCE)
def bench(as_json: Annotated[bool, typer.Option("--json", help="A JSON list for programs.")] = False) -> None:
    """Measure the simulator's speed on this machine: data packets a CPU-second, and memory."""
    from haltere.cli.reference import bench as command

    command(as_json=as_json)


@app.command(rich_help_panel=REFERENCE)
def algorithms(as_json: AsJson = False) -> None:
    """List what a contender can consist of: transports, congestion controls and switches, with their sources."""
    from haltere.cli.reference import algorithms as command

    command(as_json=as_json)


@app.command(rich_help_panel=REFERENCE)
def queues(
    name: Annotated[str | None, typer.Argument(help="One of them, in full.")] = None, as_json: AsJson = False
) -> None:
    """List the queue disciplines with their parameters, defaults and sources.

    `haltere queues red`
    """
    from haltere.cli.reference import queues as command

    command(name, as_json=as_json)


@app.command(rich_help_panel=REFERENCE)
def presets(
    name: Annotated[str | None, typer.Argument(help="One of them, with its numbers.")] = None,
    as_json: AsJson = False,
    as_toml: Annotated[
        bool, typer.Option("--toml", help="One of them as a file to change: `--path FILE` takes it.")
    ] = False,
) -> None:
    """List the presets of links and cells, with the source of each number.

    `haltere presets 4g`

    `haltere presets dsl --toml > my-line.toml`
    """
    from haltere.cli.reference import presets as command

    command(name, as_json=as_json, as_toml=as_toml)


@app.command(rich_help_panel=REFERENCE)
def schema(of: Annotated[str, typer.Argument(help="`scenario`, `study` or `figures`.")] = "scenario") -> None:
    """Print the JSON Schema of a scenario, of a study file or of the file of its figures, for editors."""
    from haltere.cli.reference import schema as command

    command(of)
