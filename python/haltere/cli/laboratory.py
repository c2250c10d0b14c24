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
    app.command("export", rich_help_panel=STUDIES)(_export)
    app.command("pack", rich_help_panel=STUDIES)(_pack)
    app.command("unpack", rich_help_panel=STUDIES)(_unpack)


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
    exit code is 0 if no change is real, 5 if one is or more runs fail, 2 if the folders cannot be compared.

    `haltere diff results/before results/after`
    """
    from haltere.cli.diff import command

    raise typer.Exit(command(a, b, metric, as_json=as_json))


def _export(
    results: ResultsFolder,
    form: Annotated[str, typer.Option("--format", help="`csv` or `parquet`.")] = "csv",
    table: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this table, such as `flows` or `treatments` (means and intervals); may be given again.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the files (default RESULTS/csv).", show_default=False)
    ] = None,
) -> None:
    """Write the tables of some results as CSV or Parquet, with a table of each treatment's means.

    `haltere export results/quic-dumbbell --table treatments`
    """
    from haltere.cli.archive import export_tables

    export_tables(results, form, table, out)


def _pack(
    results: ResultsFolder,
    out: Annotated[
        Path | None, typer.Option(help="The archive (default NAME.tar.gz here).", show_default=False)
    ] = None,
    study: Annotated[
        Path | None, typer.Option(help="The study's folder, if it is no longer where it was.", show_default=False)
    ] = None,
) -> None:
    """Put a study, its results, report and versions into one archive that others can run again.

    `haltere pack results/quic-dumbbell`
    """
    from haltere.cli.archive import pack

    pack(results, out, study)


def _unpack(
    archive: Annotated[Path, typer.Argument(help="A file written by `haltere pack`.", show_default=False)],
    out: Annotated[Path | None, typer.Option(help="The folder (default NAME-unpacked).", show_default=False)] = None,
    workers: Annotated[int | None, typer.Option(help="Runs at once (default: one a CPU).", show_default=False)] = None,
    run: Annotated[bool, typer.Option("--run/--no-run", help="Whether to run the study again and compare.")] = True,
) -> None:
    """Unpack an archive of results, run its study again, and compare the tables to the byte.

    The exit code is 0 if all tables are the same, 5 if one is not.

    `haltere unpack quic-dumbbell.tar.gz`
    """
    from haltere.cli.archive import unpack

    raise typer.Exit(unpack(archive, out, workers, run=run))
