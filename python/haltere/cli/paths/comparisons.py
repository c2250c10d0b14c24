"""`haltere paths compare` and `changed`: their options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from haltere.cli.options import fills
from haltere.cli.paths import options


@dataclass(frozen=True)
class Compared:
    """The choices of a comparison of two lakes, and the folder of its report."""

    out: Annotated[Path, typer.Option("--out", help="Folder of the report and its figures.")] = Path("comparison")
    mmdb: options.Mmdb = None
    regions: Annotated[Path | None, typer.Option(help="CSV of monitors and their regions (monitor,region).")] = None
    keep: Annotated[
        list[str] | None, typer.Option(help="Only monitors of this region, such as EU; again for more.")
    ] = None
    part: options.Part = field(default_factory=options.Part)
    traces: Annotated[int, typer.Option(min=0, help="Traces of a partial view; 0 makes none.")] = 100_000
    sources: Annotated[int, typer.Option(min=1, help="Sources of pairs.")] = 10
    destinations: Annotated[int, typer.Option(min=1, help="Destinations of each source.")] = 10_000
    k: options.K = 10
    draws: options.Draws = 5
    resample: Annotated[
        Literal["none", "half", "bootstrap"],
        typer.Option(
            help="Draws of a lake with no more than --traces clean traces: all of them (no intervals over draws), a "
            "random half, or as many with replacement."
        ),
    ] = "none"
    nodes: options.Nodes = field(default_factory=options.Nodes)
    seed: options.Seed = 1
    threads: options.Threads = None
    study: Annotated[
        Path | None,
        typer.Option(help="Judge the claims of a study of two periods, and draw its figures: its folder or name."),
    ] = None
    dask: Annotated[str | None, typer.Option(help="Count on a Dask cluster: its scheduler's address.")] = None


@fills
def compare(first: options.FirstLake, second: options.SecondLake, wanted: Compared) -> None:
    """Compare two periods: lengths, delays, diversity, dispersion; tables and a report with figures.

    `haltere paths compare lake/2006 lake/2011 --study internet-paths --mmdb GeoLite2-City.mmdb --keep NA --keep EU`

    `haltere paths compare lake/2023 lake/2024 --family 4 --resample half`
    """
    from haltere.cli.paths import comparing as command

    command.compare(first, second, wanted)


@dataclass(frozen=True)
class Changed:
    """The meaning of a path and of a destination, the traces, and the file of the pairs."""

    nodes: options.Nodes = field(default_factory=options.Nodes)
    destination: Annotated[
        Literal["address", "prefix", "label"],
        typer.Option(help="What a destination is: the address, its /24 or /48, or its label at the level."),
    ] = "address"
    traces: options.Traces = 1_000_000
    seed: options.Seed = 1
    out: Annotated[Path | None, typer.Option("--out", help="File for every pair: .csv or .parquet.")] = None


@fills
def changed(first: options.FirstLake, second: options.SecondLake, wanted: Changed) -> None:
    """Say of how many pairs of monitor and destination the path changed between two lakes, and which.

    A pair's path is the one that most of its traces show. Where silent hops hide a part, a change is unclear.

    `haltere paths changed lake/2006 lake/2011 --level as --pfx2as routeviews-rv2-20110301.pfx2as.gz --out pairs.csv`
    """
    from haltere.cli.paths import changed as command

    command.list_them(first, second, wanted)


COMMANDS: dict[str, Callable[..., Any]] = {"compare": compare, "changed": changed}
"""The commands of this module by their names."""
