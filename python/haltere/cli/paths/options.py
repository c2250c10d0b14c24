"""Options that several commands of `haltere paths` have."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from haltere.errors import InputError, as_written

if TYPE_CHECKING:
    from haltere.paths.lake import Selection
    from haltere.paths.levels import Level
    from haltere.paths.policy import Policy

MAX_SEED = 2**63 - 1
"""The greatest seed: draws add their number to it, which must fit into 64 bits."""

LakePath = Annotated[Path, typer.Argument(help="A lake that `haltere paths ingest` wrote.")]
FirstLake = Annotated[Path, typer.Argument(help="The earlier period's lake.")]
SecondLake = Annotated[Path, typer.Argument(help="The later period's lake.")]
LakeOrGraph = Annotated[
    Path,
    typer.Argument(
        help="A lake that `haltere paths ingest` wrote, or a graph's file: an edge list, ITDK's .links, GraphML, GML, "
        "Pajek."
    ),
]
Traces = Annotated[int, typer.Option(min=1, help="How many clean traces are drawn.")]
Seed = Annotated[int, typer.Option(min=0, max=MAX_SEED, help="Names all random draws.")]
Gaps = Annotated[
    Literal["span", "cut"], typer.Option(help="Silent hops: `span` links what is at both sides, `cut` does not.")
]
Mmdb = Annotated[Path | None, typer.Option(help="A database of places in MaxMind's format (GeoLite2 City).")]
K = Annotated[int, typer.Option("--k", min=1, max=1000, help="Shortest paths of a pair.")]
Draws = Annotated[int, typer.Option(min=1, help="Number of graphs, each from traces drawn anew.")]
Threads = Annotated[int | None, typer.Option(min=1, help="Threads for shortest paths (default: one a CPU).")]
Sources = Annotated[list[str] | None, typer.Option("--source", help="Only this platform's traces; again for more.")]
FirstDay = Annotated[str | None, typer.Option("--from", help="The first day, as 2011-01-31.")]
LastDay = Annotated[str | None, typer.Option("--to", help="The last day.")]
Out = Annotated[Path | None, typer.Option("--out", help="File for all of them: .csv, .parquet or .graphml.")]


@dataclass(frozen=True)
class Nodes:
    """The meaning of a node, and the files that give it."""

    level: Annotated[
        Literal["address", "prefix", "router", "as", "ixp"],
        typer.Option(
            help="What a node is: an address, its /24 or /48, a router (--aliases), an AS (--pfx2as or --annotations), "
            "an AS or an exchange between two (--ixp too)."
        ),
    ] = "address"
    pfx2as: Annotated[
        Path | None, typer.Option(help="CAIDA's prefix-to-AS data, or a routing table's dump (MRT); packed or not.")
    ] = None
    annotations: Annotated[
        Path | None, typer.Option(help="ASes of routers: bdrmapit's database, or an ITDK's .nodes.as (with --aliases).")
    ] = None
    aliases: Annotated[Path | None, typer.Option(help="Alias sets: the .nodes file of an ITDK.")] = None
    ixp: Annotated[
        Path | None,
        typer.Option(help="Peering networks of exchanges (PeeringDB): nodes at the level ixp, left out at others."),
    ] = None

    def at(self) -> Level:
        """Return the level of these options."""
        from haltere.paths.levels import Level

        return Level(self.level, self.pfx2as, self.annotations, self.aliases, self.ixp)


@dataclass(frozen=True)
class Routing:
    """The routing policy that paths obey."""

    as_relationships: Annotated[
        Path | None,
        typer.Option(
            help="Only valley-free paths: CAIDA's AS relationships (serial-1, -2); with --pfx2as or --annotations."
        ),
    ] = None
    unknown_relationships: Annotated[
        Literal["refuse", "peer", "free"],
        typer.Option(
            help="Links between nodes of no known relationship: no path follows them, they join peers, or any path may "
            "follow them."
        ),
    ] = "refuse"

    def policy(self) -> Policy | None:
        """Return the policy of these options; None if any path will do."""
        from haltere.paths.policy import Policy

        if self.as_relationships is None and self.unknown_relationships != "refuse":
            raise InputError(
                "is for valley-free paths",
                field="--unknown-relationships",
                given=self.unknown_relationships,
                right="--as-relationships, a file of AS relationships, too",
            )
        return None if self.as_relationships is None else Policy(self.as_relationships, self.unknown_relationships)


@dataclass(frozen=True)
class Graphs:
    """How graphs are made, and which paths in them are measured."""

    traces: Traces = 100_000
    sources: Annotated[int, typer.Option(min=1, help="Number of nodes where paths begin, drawn at random.")] = 10
    destinations: Annotated[
        int, typer.Option(min=1, help="Number of nodes where they end, the same for all sources.")
    ] = 10_000
    k: K = 10
    draws: Draws = 5
    seed: Seed = 1
    gaps: Gaps = "span"
    among: Annotated[
        Literal["nodes", "monitors"], typer.Option(help="Which nodes may be sources: all, or where traces begin.")
    ] = "nodes"
    cost: Annotated[Literal["hops", "delay"], typer.Option(help="The cost by which paths are short.")] = "hops"
    nodes: Nodes = field(default_factory=Nodes)
    routing: Routing = field(default_factory=Routing)
    weights: Annotated[
        Literal["hops", "ms", "us", "none"] | None,
        typer.Option(help="What a file's weights are: hops, delays in ms or µs, nothing."),
    ] = None
    mmdb: Mmdb = None
    threads: Threads = None


@dataclass(frozen=True)
class Part:
    """The part of a lake that is taken."""

    source: Sources = None
    first_day: FirstDay = None
    last_day: LastDay = None
    family: Annotated[Literal["4", "6"] | None, typer.Option(help="Only IPv4 or IPv6.")] = None
    repeats: Annotated[
        bool, typer.Option("--repeats", help="Traces in which an address only repeats count as clean, not as loops.")
    ] = False

    def selection(self) -> Selection:
        """Return what these options select; raise `InputError` if a day is none."""
        from haltere.paths.lake import Selection

        return Selection(
            sources=tuple(self.source or ()) or None,
            first_day=day("--from", self.first_day),
            last_day=day("--to", self.last_day),
            family=None if self.family is None else int(self.family),
            repeats=self.repeats,
        )


def day(option: str, text: str | None) -> date | None:
    """Return the day that an option names; None if it is not given."""
    try:
        return None if text is None else date.fromisoformat(text)
    except ValueError:
        raise InputError("is not a day", field=option, given=as_written(text), right="a day, as 2011-01-31") from None
