"""Options of several commands, and the panels that help lists them in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from haltere.adhoc.conditions import RUNS
from haltere.cli import complete

ONE, STUDIES, REFERENCE = "One line, no file", "Studies", "Reference"
"""Panels of commands."""
INSIDE, CLUSTER = "Looking inside", "On a cluster"
"""Panels of options."""

Contenders = Annotated[
    list[str],
    typer.Argument(help="What competes, such as `tcp/cubic quic/bbr`.", autocompletion=complete.contenders),
]
AsJson = Annotated[bool, typer.Option("--json", help="JSON for programs.")]
StudyName = Annotated[
    Path,
    typer.Argument(help="A study's folder, or the name of a shipped study.", autocompletion=complete.studies),
]
Variant = Annotated[str | None, typer.Option(help="A variant of the study, laid over it.")]
Experiments = Annotated[
    list[str] | None, typer.Option("--experiment", help="Only this experiment (may be given again).")
]
Workers = Annotated[int | None, typer.Option(help="Runs at once (default: one a CPU).", rich_help_panel=RUNS)]
