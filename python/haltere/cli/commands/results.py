"""Commands around results: to explore, compare, export and pack them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from haltere.cli.commands.shared import STUDIES, AsJson, Workers

app = typer.Typer()

ResultsFolder = Annotated[Path, typer.Argument(help="A folder written by `haltere run`.")]


@app.command(rich_help_panel=STUDIES)
def explore(
    results: Annotated[
        list[Path], typer.Argument(help="Folders written by `haltere run`, or one that holds such folders.")
    ],
) -> None:
    """Write a page in which any metric is put against any factor, down to one run; it needs no network.

    Of several results folders, or of a folder that holds some, an index page is written, too.

    `haltere explore results/quic-dumbbell`

    `haltere explore results`
    """
    from haltere.cli.results import explore as command

    command(results)


@app.command(rich_help_panel=STUDIES)
def diff(
    a: Annotated[Path, typer.Argument(help="A results folder.")],
    b: Annotated[Path, typer.Argument(help="Another, such as of another version.")],
    metric: Annotated[list[str] | None, typer.Option(help="Only this metric (may be given again).")] = None,
    as_json: AsJson = False,
) -> None:
    """Say what changed from one results folder to another, treatment by treatment, and whether it is real.

    Runs of the same seed and replication are compared in pairs, and p is corrected for the number of comparisons. The
    exit code is 0 if no change is real, 5 if one is or more runs fail, 2 if the folders cannot be compared.

    `haltere diff results/before results/after`
    """
    from haltere.cli.results import diff as command

    raise typer.Exit(command(a, b, metric, as_json=as_json))


@app.command(rich_help_panel=STUDIES)
def export(
    results: ResultsFolder,
    form: Annotated[str, typer.Option("--format", help="`csv` or `parquet`.")] = "csv",
    table: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this table, such as `flows` or `treatments` (means and intervals); may be given again."
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the files (default RESULTS/csv).")] = None,
) -> None:
    """Write the tables of some results as CSV or Parquet, with a table of each treatment's means.

    `haltere export results/quic-dumbbell --table treatments`
    """
    from haltere.cli.results import export_tables

    export_tables(results, form, table, out)


@app.command(rich_help_panel=STUDIES)
def pack(
    results: ResultsFolder,
    out: Annotated[Path | None, typer.Option(help="The archive (default NAME.tar.gz here).")] = None,
    study: Annotated[Path | None, typer.Option(help="The study's folder, if it is no longer where it was.")] = None,
) -> None:
    """Put a study, its results, report and versions into one archive that others can run again.

    `haltere pack results/quic-dumbbell`
    """
    from haltere.cli.results import pack

    pack(results, out, study)


@app.command(rich_help_panel=STUDIES)
def unpack(
    archive: Annotated[Path, typer.Argument(help="A file written by `haltere pack`.")],
    out: Annotated[Path | None, typer.Option(help="The folder (default NAME-unpacked).")] = None,
    workers: Workers = None,
    run: Annotated[bool, typer.Option("--run/--no-run", help="Whether to run the study again and compare.")] = True,
) -> None:
    """Unpack an archive of results, run its study again, and compare the tables to the byte.

    The exit code is 0 if all tables are the same, 5 if one is not.

    `haltere unpack quic-dumbbell.tar.gz`
    """
    from haltere.cli.results import unpack

    raise typer.Exit(unpack(archive, out, workers, run=run))
