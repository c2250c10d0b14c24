"""`haltere explain`, and over the conditions of a study `haltere map` and `haltere why`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from haltere.adhoc.conditions import RUNS, Comparison
from haltere.cli import complete
from haltere.cli.commands.shared import ONE, STUDIES, AsJson, StudyName, Workers
from haltere.cli.options import fills, takes

app = typer.Typer()

First = Annotated[
    str,
    typer.Argument(help="The contender to start from, such as `tcp/cubic`.", autocompletion=complete.contenders),
]
Second = Annotated[
    str,
    typer.Argument(help="The contender to arrive at, such as `quic/cubic`.", autocompletion=complete.contenders),
]


@dataclass(frozen=True)
class Wanted:
    """The metric that is explained, the number of orders, and the file of the answer."""

    metric: Annotated[
        str,
        typer.Option(
            help="What is explained: a metric of flows or of the bottleneck, such as `completion_time`, `goodput`, "
            "`rtt_p95`, `retransmissions`, `loss_rate` or `queueing_delay`."
        ),
    ] = "completion_time"
    orders: Annotated[
        int, typer.Option(help="Orders of switching for each replication, where there are too many to take all.")
    ] = 16
    out: Annotated[
        Path | None, typer.Option(help="Folder for the figure (SVG, PDF), a page (HTML) and the numbers (JSON).")
    ] = None
    as_json: AsJson = False


@dataclass(frozen=True)
class Cells:
    """The combinations of a study's levels at which a difference is explained, and their runs."""

    experiment: Annotated[
        str | None, typer.Option(help="Which experiment of the study (default: the first that fits).")
    ] = None
    replications: Annotated[int, typer.Option(help="How often, each time with other losses.", rich_help_panel=RUNS)] = (
        10
    )
    fidelity: Annotated[str, typer.Option(help="Where: `model` or `stack`.", rich_help_panel=RUNS)] = "model"
    workers: Workers = None


@app.command(rich_help_panel=ONE)
@takes(Comparison(size="2MB"), without=("share", "duration", "direction", "queues", "metric"))
def explain(a: First, b: Second, conditions: Comparison, wanted: Wanted) -> None:
    """Explain a difference: which mechanisms make it, and how much each.

    `haltere explain tcp/cubic quic/cubic --rate 40Mbit/s --rtt 50ms --loss 1%`

    `haltere explain tcp/cubic tcp/cubic-hystart+initial-window=20 --metric retransmissions --out why`

    `haltere explain quic@quinn/cubic quic@model/cubic --fidelity stack --loss 5%`
    """
    from haltere.cli.explain import command

    command(a, b, conditions, wanted)


_OVER_A_STUDY = Wanted(orders=1)


@app.command("map", rich_help_panel=STUDIES)
@fills
def over_study(study: StudyName, a: First, b: Second, cells: Cells, wanted: Wanted = _OVER_A_STUDY) -> None:
    """Map where which mechanism matters: explain a difference at all combinations of a study's levels.

    `haltere map quic-dumbbell tcp/cubic quic/cubic --out map`
    """
    from haltere.cli.explain import over_study as command

    command(study, a, b, cells, wanted)


@app.command(rich_help_panel=STUDIES)
def why(
    study: StudyName,
    results: Annotated[
        Path | None,
        typer.Option(help="The results of the study (default `results/NAME`), beside which the explanations are kept."),
    ] = None,
    workers: Workers = None,
    as_json: AsJson = False,
) -> None:
    """Explain the differences that a study names in its tables `[[why]]`; its report shows the answers.

    `haltere why quic-dumbbell`
    """
    from haltere.cli.explain import asked_by

    asked_by(str(study), results, workers, as_json=as_json)
