"""`haltere compare` and `haltere validate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from haltere.adhoc.conditions import Comparison
from haltere.cli.commands.shared import ONE, AsJson, Contenders
from haltere.cli.options import takes

app = typer.Typer()


@app.command(rich_help_panel=ONE)
@takes(Comparison())
def compare(
    contenders: Contenders,
    conditions: Comparison,
    out: Annotated[Path | None, typer.Option(help="A file for a figure: its name ends in .svg, .pdf or .png.")] = None,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="A JSON list for programs: one entry a contender and replication. `against` in the entries of the one "
            "with the best mean has the ratio to each other, with interval and p-value.",
        ),
    ] = False,
) -> None:
    """Compare contenders on one link: who wins, and whether the difference is real.

    `haltere compare tcp/cubic tcp/bbr quic/cubic quic/bbr --rate 40Mbit/s --down-delay 50ms --up-delay 0ms --loss 1%`

    `haltere compare tcp/cubic quic/bbr --share --duration 60s --queue 1bdp`

    `haltere compare tcp/cubic tcp/bbr --flows 10 --rate 10Mbit/s --probe icmp:1450B:1s`

    `haltere compare tcp/cubic --preset dsl --queue 256kB --queue fq_codel --queue cake --direction both --share`

    `haltere compare rtp/gcc rtp/nada rtp/scream --rate 2Mbit/s --queue fq_codel`

    `haltere compare rtp/gcc roq/gcc roq/gcc+streams=frame roq/gcc+quic=none --rate 2Mbit/s --loss 1%`

    `haltere compare tcp@apache+wget2/cubic quic@quinn/cubic --loss 1% --fidelity linux`

    `haltere compare tcp/cubic quic/bbr --path rate=20Mbit/s,rtt=10ms,queue=50p --path rate=5Mbit/s,rtt=50ms,loss=1%`
    """
    from haltere.cli.compare import command

    command(contenders, conditions, as_json=as_json, out=out)


@app.command(rich_help_panel=ONE)
@takes(
    Comparison(size="8MiB", app="raw", replications=5),
    without=("share", "duration", "fidelity", "flows", "probe", "direction", "queues", "metric"),
)
def validate(
    contenders: Contenders,
    conditions: Comparison,
    out: Annotated[Path | None, typer.Option(help="Folder of the figure (default traces/validate-...).")] = None,
    as_json: AsJson = False,
) -> None:
    """Compare the model with a real Linux kernel, on one link with the same losses: a table, a figure, a verdict.

    Several contenders share the link. Needs a kernel: `haltere kernel build`. Where they disagree,
    `haltere first-difference` names the packet.

    `haltere validate tcp/cubic --rate 40Mbit/s --rtt 50ms --loss 1%`
    """
    from haltere.cli.validate import command

    command(contenders, conditions, out=out, as_json=as_json)
