"""`haltere run`, and `haltere status`, which says how far it is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from haltere.adhoc.conditions import RUNS
from haltere.cli import complete
from haltere.cli.commands.shared import CLUSTER, STUDIES, AsJson, Experiments, Variant, Workers
from haltere.fidelity import summaries

app = typer.Typer()

FidelityOption = Annotated[
    list[str] | None,
    typer.Option(
        "--fidelity", help=f"Where: {summaries()}. May be given again, to lay them side by side.", rich_help_panel=RUNS
    ),
]


@app.command(rich_help_panel=STUDIES)
def run(
    study: Annotated[
        Path,
        typer.Argument(
            help="A study's folder or file, a shipped study's name, or a plain scenario file.",
            autocompletion=complete.studies,
        ),
    ],
    replications: Annotated[int | None, typer.Option(help="Instead of the study's own number.")] = None,
    variant: Variant = None,
    experiment: Experiments = None,
    fidelity: FidelityOption = None,
    workers: Workers = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the results (default results/NAME).")] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Run on a Dask cluster: its scheduler's address. Needs haltere[cluster].",
            rich_help_panel=CLUSTER,
        ),
    ] = None,
    slurm: Annotated[
        str | None,
        typer.Option(
            metavar="JOBS",
            help="Run in jobs of Slurm: `jobs=20,cores=8,memory=16GB,walltime=02:00:00,queue=short`; what is left out "
            "stands in the configuration of dask-jobqueue. Needs haltere[cluster].",
            rich_help_panel=CLUSTER,
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say how many runs there are and about how long they take.")
    ] = False,
) -> None:
    """Run every run of a study that has not been run yet.

    Everything is checked before anything runs. Runs go on in parallel; a campaign that was stopped (Ctrl-C) or killed
    continues where it stopped when the same command is given again. The tables do not depend on the number of workers.

    `haltere run studies/quic-dumbbell --dry-run`

    `haltere run studies/quic-dumbbell --replications 3 --experiment base`

    `haltere run studies/quic-dumbbell --dask tcp://10.0.0.1:8786`
    """
    from haltere.cli.run import run as command

    command(
        study,
        replications=replications,
        variant=variant,
        experiments=experiment,
        fidelity=fidelity,
        workers=workers,
        out=out,
        dask=dask,
        slurm=slurm,
        dry_run=dry_run,
    )


@app.command(rich_help_panel=STUDIES)
def status(
    results: Annotated[Path, typer.Argument(help="The folder that a campaign writes into.")], as_json: AsJson = False
) -> None:
    """Say how far a campaign is: from another terminal, while it runs here or on a cluster.

    `haltere status results/quic-dumbbell`
    """
    from haltere.cli.run import tell_status as command

    command(results, as_json=as_json)
