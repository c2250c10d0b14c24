"""Commands around studies: to design, judge, report, begin and list them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from haltere.cli.commands.shared import STUDIES, AsJson, Experiments, StudyName, Variant, Workers

app = typer.Typer()


@app.command(rich_help_panel=STUDIES)
def design(
    study: Annotated[Path, typer.Argument(help="A study's folder or file.")],
    variant: Variant = None,
    experiment: Experiments = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the pictures (default designs/NAME).")] = None,
) -> None:
    """Draw a study's space-filling designs before anything runs: every two factors against each other.

    Each experiment gives one picture as SVG, PDF and PNG.

    `haltere design studies/multipath`
    """
    from haltere.cli.studies import design as command

    command(study, variant=variant, experiments=experiment, out=out)


@app.command(rich_help_panel=STUDIES)
def when(
    study: StudyName,
    claim: Annotated[
        list[int] | None, typer.Option(help="Only this claim, by its number in the report. May be given again.")
    ] = None,
    minutes: Annotated[float, typer.Option(help="How long to search.")] = 10.0,
    results: Annotated[Path | None, typer.Option(help="The results of the study (default `results/NAME`).")] = None,
    variant: Variant = None,
    workers: Workers = None,
    as_json: AsJson = False,
) -> None:
    """Search under what changes a study's claims would be judged otherwise.

    It needs the results of the study, and keeps what it found beside them. The same command goes on where it stopped.

    `haltere when quic-dumbbell --claim 2 --minutes 5`
    """
    from haltere.cli.studies import when as command

    command(study, results=results, variant=variant, claims=claim, minutes=minutes, workers=workers, as_json=as_json)


@app.command(rich_help_panel=STUDIES)
def report(
    results: Annotated[
        Path, typer.Argument(help="A folder written by `haltere run`; also of a campaign that still runs.")
    ],
    study: Annotated[Path | None, typer.Option(help="The study's folder, if it is no longer where it was.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Another folder for it, or a file that ends in .html: the page alone, to pass on."),
    ] = None,
    ask: Annotated[
        bool,
        typer.Option(
            "--ask",
            help="Put the simulator into the page, which then runs treatments, also changed ones (1.5 MB more).",
        ),
    ] = False,
    playground: Annotated[
        Path | None,
        typer.Option(help="The page of `make playground`, for --ask (default: that of this clone, if it was built)."),
    ] = None,
) -> None:
    """Write the report of some results: one HTML file, and each figure as SVG and PDF.

    `haltere report results/quic-dumbbell`

    `haltere report results/quic-dumbbell --out quic-dumbbell.html --ask`
    """
    from haltere.cli.studies import report as command

    command(results, study, out, ask=ask, page=playground)


@app.command(rich_help_panel=STUDIES)
def keep(
    results: Annotated[Path, typer.Argument(help="A folder written by `haltere run`.")],
    study: Annotated[Path | None, typer.Option(help="The study's folder, if it is no longer where it was.")] = None,
) -> None:
    """Keep verdicts and numbers beside the study, and write them into its pages.

    They go into `kept/NAME.json` in the study's folder. Its Markdown pages have marks such as `<!-- kept: claims -->`,
    between which the numbers are written. It says which verdicts, and which numbers beyond chance, have changed.

    `haltere keep results/my-study`
    """
    from haltere.cli.kept import keep as command

    command(results, study)


@app.command(rich_help_panel=STUDIES)
def pages(
    places: Annotated[
        list[Path] | None, typer.Argument(metavar="[PLACE]...", help="Pages, or folders of them.")
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Only say which pages differ from what is kept.")] = False,
    canary: Annotated[
        bool,
        typer.Option("--canary", help="First run a few runs of each study, which tell whether its numbers are stale."),
    ] = False,
) -> None:
    """Write the numbers of pages anew from what studies keep.

    `haltere pages my-study`
    """
    from haltere.cli.kept import pages as command

    command(places or [Path()], check=check, canary=canary)


@app.command(rich_help_panel=STUDIES)
def new(
    name: Annotated[Path | None, typer.Argument(help="The study's folder, which is also its name.")] = None,
    congestion_control: Annotated[
        Path | None,
        typer.Option(
            help="In the place of a study: a congestion control, as a file that ends in `.py`, `.c` or `.rs`."
        ),
    ] = None,
    scheduler: Annotated[
        Path | None, typer.Option(help="A path scheduler, as a file that ends in `.py` or `.c`.")
    ] = None,
    queue: Annotated[Path | None, typer.Option(help="A queue discipline, as such a file.")] = None,
) -> None:
    """Write a commented start of a study that runs in seconds, or of code of your own.

    `haltere new my-study`, `haltere new --congestion-control mine.py`, `haltere new --queue mine.py`
    """
    from haltere.cli import studies

    studies.new(name, {"congestion-control": congestion_control, "scheduler": scheduler, "queue": queue})


@app.command("list", rich_help_panel=STUDIES)
def list_everything(as_json: AsJson = False) -> None:
    """List what there is to work with: shipped studies, studies here, presets of links, and results here."""
    from haltere.cli.studies import everything

    everything(as_json=as_json)
