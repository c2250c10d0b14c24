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
    wheel: Annotated[
        Path | None,
        typer.Option(help="The wheel that made the results (default: put together from this installation)."),
    ] = None,
    playground: Annotated[
        Path | None, typer.Option(help="The page of `make playground` (default: that of this clone, if it was built).")
    ] = None,
) -> None:
    """Put a study, its results, report, claims and the wheel into one archive that others can check and run again.

    Authors and licence stand in `artifact.toml` in the study's folder. The claims are judged, which runs their code.

    `haltere pack results/quic-dumbbell`
    """
    from haltere.cli.results import pack

    pack(results, out, study, wheel, playground)


@app.command(rich_help_panel=STUDIES)
def unpack(
    archive: Annotated[Path, typer.Argument(help="A file written by `haltere pack`.")],
    out: Annotated[Path | None, typer.Option(help="The folder (default NAME-unpacked).")] = None,
    workers: Workers = None,
    run: Annotated[bool, typer.Option("--run/--no-run", help="Whether to run the study again and compare.")] = True,
    allow_code: Annotated[
        bool,
        typer.Option(
            "--allow-code",
            help="Run the archive's code, such as its claims, too. It has all your rights: read it first.",
        ),
    ] = False,
) -> None:
    """Check and unpack an archive, run its study again, compare the tables to the byte, and say what agreed.

    With `--allow-code` the claims are judged again, too. The exit code is 0 if all that was compared is the same, 5 if
    something is not.

    `haltere unpack quic-dumbbell.tar.gz --allow-code`
    """
    from haltere import plugins
    from haltere.cli.results import unpack

    if allow_code:
        plugins.allow()
    raise typer.Exit(unpack(archive, out, workers, run=run))
