"""`haltere validate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from haltere.adhoc.conditions import Comparison
from haltere.cli.commands.shared import ONE, AsJson, Contenders
from haltere.cli.options import takes

app = typer.Typer()


@app.command(rich_help_panel=ONE)
@takes(Comparison(size="8MiB", app="raw", replications=5), without=("share", "duration", "fidelity", "flows", "probe"))
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
