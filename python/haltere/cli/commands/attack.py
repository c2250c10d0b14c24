"""`haltere attack`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from haltere.adhoc.conditions import LINK, RUNS
from haltere.cli import complete
from haltere.cli.commands.shared import ONE, AsJson, Workers
from haltere.cli.options import fills
from haltere.fidelity import summaries

app = typer.Typer()

TRACES = "Traces"
"""The panel of the options that say what traces may be."""


@dataclass(frozen=True)
class BasePath:
    """The path without events."""

    rate: Annotated[str, typer.Option(help="Rate of the link.", rich_help_panel=LINK)] = "10Mbit/s"
    rtt: Annotated[str, typer.Option(help="Two-way delay, split evenly.", rich_help_panel=LINK)] = "40ms"
    queue: Annotated[
        str,
        typer.Option(help="A limit (64kB, 1bdp, 100p) or a discipline (see `haltere queues`).", rich_help_panel=LINK),
    ] = "1bdp"
    seconds: Annotated[int, typer.Option(help="Length of a run.", rich_help_panel=LINK)] = 15


@dataclass(frozen=True)
class Traces:
    """The bounds of traces."""

    only: Annotated[
        list[str] | None,
        typer.Option(
            help="Only events of this kind: `rate`, `delay`, `jitter`, `reordering`, `outage`, `loss` or `load`. May "
            "be given again.",
            rich_help_panel=TRACES,
        ),
    ] = None
    events: Annotated[int, typer.Option(help="The most events of a trace.", rich_help_panel=TRACES)] = 6
    cross: Annotated[
        float,
        typer.Option(help="The most cross traffic: its share of the capacity in the mean.", rich_help_panel=TRACES),
    ] = 0.5


@dataclass(frozen=True)
class Searching:
    """How it is searched and judged."""

    evaluations: Annotated[
        int,
        typer.Option(help="Evaluations of the search for each harm: a trace in one replication.", rich_help_panel=RUNS),
    ] = 3000
    minutes: Annotated[float, typer.Option(help="How long to search at most.", rich_help_panel=RUNS)] = 10.0
    replications: Annotated[
        int, typer.Option(help="Fresh replications in which the worst trace is judged.", rich_help_panel=RUNS)
    ] = 12
    seed: Annotated[int, typer.Option(help="Names all dice.", rich_help_panel=RUNS)] = 1
    fidelity: Annotated[str, typer.Option(help=f"Where: {summaries()}. A simulated one.", rich_help_panel=RUNS)] = (
        "model"
    )
    replay: Annotated[
        bool,
        typer.Option(
            "--replay", help="Run findings on a Linux kernel as well (see `haltere kernel`).", rich_help_panel=RUNS
        ),
    ] = False
    workers: Workers = None


@app.command(rich_help_panel=ONE)
@fills
def attack(
    contender: Annotated[
        str,
        typer.Argument(
            help="Who is attacked, such as `tcp/bbr` or `tcp/./mine.py`.", autocompletion=complete.contenders
        ),
    ],
    path: BasePath,
    traces: Traces,
    searching: Searching,
    against: Annotated[
        str,
        typer.Option(
            help="Beside whom it is hurt: the same events, the same dice.", autocompletion=complete.contenders
        ),
    ] = "tcp/cubic",
    hurt: Annotated[
        list[str] | None,
        typer.Option(help="Only this harm: `stall`, `goodput`, `starvation`, `queue` or `loss`. May be given again."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the scenarios, the figures and the numbers of findings.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Search small traces of events that hurt a contender more than another one in the same place.

    Events are steps of rate and delay, jitter, reordering, outages, losses and cross traffic, within bounds of paths
    of this world. The worst trace is made small and judged on fresh dice.

    `haltere attack tcp/bbr --hurt stall --minutes 2`

    `haltere attack tcp/cubic --against tcp/bbr --only load --cross 0.15 --hurt goodput --out found`
    """
    from haltere.cli.attack import command

    command(contender, path, traces, searching, against=against, hurt=hurt, out=out, as_json=as_json)
