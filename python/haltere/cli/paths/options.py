"""Options that several commands of `haltere paths` have."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated, Literal

import typer

from haltere.errors import InputError, as_written

MAX_SEED = 2**63 - 1
"""The greatest seed: draws add their number to it, which must fit into 64 bits."""

LakePath = Annotated[Path, typer.Argument(help="A lake that `haltere paths ingest` wrote.", show_default=False)]
LakeOrGraph = Annotated[
    Path,
    typer.Argument(
        help="A lake that `haltere paths ingest` wrote, or a graph's file: an edge list, ITDK's .links, GraphML, GML, "
        "Pajek.",
        show_default=False,
    ),
]
Against = Annotated[Path | None, typer.Option(help="A later period's lake: what came and went.", show_default=False)]
LevelName = Annotated[
    Literal["address", "prefix", "router", "as", "ixp"],
    typer.Option(
        help="What a node is: an address, its /24 or /48, a router (--aliases), an AS (--pfx2as or --annotations), "
        "an AS or an exchange between two (--ixp too)."
    ),
]
Pfx2as = Annotated[
    Path | None,
    typer.Option(help="CAIDA's prefix-to-AS data, or a routing table's dump (MRT); packed or not.", show_default=False),
]
Annotations = Annotated[
    Path | None,
    typer.Option(
        help="ASes of routers: bdrmapit's database, or an ITDK's .nodes.as (with --aliases).", show_default=False
    ),
]
Aliases = Annotated[Path | None, typer.Option(help="Alias sets: the .nodes file of an ITDK.", show_default=False)]
Ixp = Annotated[
    Path | None,
    typer.Option(
        help="Peering networks of exchanges (PeeringDB): nodes at the level ixp, left out at others.",
        show_default=False,
    ),
]
Weights = Annotated[
    Literal["hops", "ms", "us", "none"] | None,
    typer.Option(help="What a file's weights are: hops, delays in ms or µs, nothing.", show_default=False),
]
Traces = Annotated[int, typer.Option(min=1, help="How many clean traces are drawn.")]
Seed = Annotated[int, typer.Option(min=0, max=MAX_SEED, help="Names all random draws.")]
Gaps = Annotated[
    Literal["span", "cut"], typer.Option(help="Silent hops: `span` links what is at both sides, `cut` does not.")
]
Among = Annotated[
    Literal["nodes", "monitors"], typer.Option(help="Which nodes may be sources: all, or where traces begin.")
]
Cost = Annotated[Literal["hops", "delay"], typer.Option(help="The cost by which paths are short.")]
Monitors = Annotated[
    Literal["both", "all"], typer.Option(help="With --against: by the traces of monitors of both lakes, or of all.")
]
Mmdb = Annotated[Path | None, typer.Option(help="A database of places in MaxMind's format.", show_default=False)]
Threads = Annotated[int | None, typer.Option(min=1, help="Default: one a CPU.", show_default=False)]
Out = Annotated[
    Path | None,
    typer.Option("--out", help="File for all of them: .csv, .parquet or .graphml.", show_default=False),
]


def day(option: str, text: str | None) -> date | None:
    """Return the day that an option names; None if it is not given."""
    try:
        return None if text is None else date.fromisoformat(text)
    except ValueError:
        raise InputError("is not a day", field=option, given=as_written(text), right="a day, as 2011-01-31") from None
