"""The commands around studies and their results: their options. What they do is loaded only when they run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

STUDIES = "Studies"
AsJson = Annotated[bool, typer.Option("--json", help="JSON for programs.")]
ResultsFolder = Annotated[Path, typer.Argument(help="A folder written by `haltere run`.", show_default=False)]


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command("new", rich_help_panel=STUDIES)(_new)
    app.command("list", rich_help_panel=STUDIES)(_list)
    app.command("explore", rich_help_panel=STUDIES)(_explore)
    app.command("diff", rich_help_panel=STUDIES)(_diff)


def _new(
    name: Annotated[Path, typer.Argument(help="The study's folder, which is also its name.", show_default=False)],
) -> None:
    """Write a small commented study that runs in seconds: study.toml, figures.toml and claims.py.

    `haltere new my-study`
    """
    from haltere.cli.start import new

    new(name)


def _list(as_json: AsJson = False) -> None:
    """List what there is to work with: shipped studies, studies here, presets of links, and results here."""
    from haltere.cli.start import everything

    everything(as_json=as_json)


def _explore(
    results: Annotated[
        list[Path],
        typer.Argument(help="Folders written by `haltere run`, or one that holds such folders.", show_default=False),
    ],
) -> None:
    """Write a page in which any metric is put against any factor, down to one run; it needs no network.

    Of several results folders, or of a folder that holds some, an index page is written, too.

    `haltere explore results/quic-dumbbell`

    `haltere explore results`
    """
    from haltere.cli.explore import command

    command(results)


def _diff(
    a: Annotated[Path, typer.Argument(help="A results folder.", show_default=False)],
    b: Annotated[Path, typer.Argument(help="Another, such as of another version.", show_default=False)],
    metric: Annotated[
        list[str] | None, typer.Option(help="Only this metric (may be given again).", show_default=False)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say what changed from one results folder to another, treatment by treatment, and whether it is real.

    Runs of the same seed and replication are compared in pairs, and p is corrected for the number of comparisons. The
    exit code is 0 if no change is real, 1 if one is or more runs fail, 2 if the folders cannot be compared.

    `haltere diff results/before results/after`
    """
    from haltere.cli.diff import command

    raise typer.Exit(command(a, b, metric, as_json=as_json))
