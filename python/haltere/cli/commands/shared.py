"""What several commands take, and the panels that help lists them in."""

from __future__ import annotations

from typing import Annotated

import typer

ONE, STUDIES, REFERENCE = "One line, no file", "Studies", "Reference"
"""Panels of commands."""
INSIDE, CLUSTER = "Looking inside", "On a cluster"
"""Panels of options."""

Contenders = Annotated[
    list[str], typer.Argument(help="What competes, such as `tcp/cubic quic/bbr`.", show_default=False)
]
AsJson = Annotated[bool, typer.Option("--json", help="JSON for programs.")]
