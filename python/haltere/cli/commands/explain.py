"""`haltere explain`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from haltere.adhoc.conditions import Comparison
from haltere.cli.commands.shared import ONE, AsJson
from haltere.cli.options import takes

app = typer.Typer()


@app.command(rich_help_panel=ONE)
@takes(Comparison(size="2MB"), without=("share", "duration"))
def explain(
    conditions: Comparison,
    a: Annotated[
        str | None, typer.Argument(help="The contender to start from, such as `tcp/cubic`.", show_default=False)
    ] = None,
    b: Annotated[
        str | None, typer.Argument(help="The contender to arrive at, such as `quic/cubic`.", show_default=False)
    ] = None,
    metric: Annotated[
        str,
        typer.Option(
            help="What is explained: `completion_time`, `goodput`, `wire_bytes`, `mean_rtt`, `retransmissions`, "
            "`lost_packets`, `queueing_delay` or `max_queueing_delay`."
        ),
    ] = "completion_time",
    orders: Annotated[
        int | None,
        typer.Option(
            help="Orders of switching for each replication, where there are too many to take all (default 16; with "
            "--study 1).",
            show_default=False,
        ),
    ] = None,
    study: Annotated[
        str | None,
        typer.Option(
            help="Instead of one set of conditions, all combinations of a study's levels: a map of where which "
            "mechanism matters. Without contenders, the differences that the study's tables `[[why]]` name; its report "
            "shows them. A folder, or a shipped study's name.",
            show_default=False,
        ),
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(
            help="The results of the study (default `results/NAME`), beside which the explanations of `[[why]]` are "
            "kept.",
            show_default=False,
        ),
    ] = None,
    experiment: Annotated[
        str | None,
        typer.Option(help="Which experiment of the study (default: the first that fits).", show_default=False),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the figure (SVG, PDF), a page (HTML) and the numbers (JSON).", show_default=False
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Explain a difference: which mechanisms make it, and how much each.

    `haltere explain tcp/cubic quic/cubic --rate 40Mbit/s --rtt 50ms --loss 1%`

    `haltere explain tcp/cubic tcp/cubic-hystart+initial-window=20 --metric retransmissions --out why`

    `haltere explain quic@quinn/cubic quic@model/cubic --fidelity stack --loss 5%`

    `haltere explain tcp/cubic quic/cubic --study quic-dumbbell --out map`

    `haltere explain --study quic-dumbbell`
    """
    from haltere.cli.explain import asked_by, command, contenders, over_study

    if study is not None and a is None and b is None:
        given = {"--metric": metric != "completion_time", "--orders": orders is not None, "--out": out is not None}
        beside = [*(name for name, there in given.items() if there), *(["--experiment"] if experiment else [])]
        asked_by(study, conditions, results, beside, as_json=as_json)
        return
    a, b = contenders(a, b, results)
    if study is not None:
        over_study(a, b, study, conditions, experiment, metric=metric, orders=orders, out=out, as_json=as_json)
    else:
        command(a, b, conditions, metric=metric, orders=orders, out=out, as_json=as_json)
