"""`haltere paths compare` and `changed`: their options."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from haltere.cli.paths import options


def compare(
    first: Annotated[Path, typer.Argument(help="The earlier period's lake.", show_default=False)],
    second: Annotated[Path, typer.Argument(help="The later period's lake.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", help="Folder of the report and its figures.")] = Path("comparison"),
    mmdb: Annotated[
        Path | None,
        typer.Option(help="Database of places in MaxMind's format (GeoLite2 City).", show_default=False),
    ] = None,
    regions: Annotated[
        Path | None, typer.Option(help="CSV of monitors and their regions (monitor,region).", show_default=False)
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(help="Only monitors of this region, such as EU; again for more.", show_default=False),
    ] = None,
    source: Annotated[
        list[str] | None, typer.Option(help="Only this source; again for more.", show_default=False)
    ] = None,
    first_day: Annotated[str | None, typer.Option("--from", help="First day.", show_default=False)] = None,
    last_day: Annotated[str | None, typer.Option("--to", help="Last day.", show_default=False)] = None,
    family: Annotated[Literal["4", "6"] | None, typer.Option(help="Only IPv4 or IPv6.", show_default=False)] = None,
    repeats: Annotated[
        bool, typer.Option("--repeats", help="Traces in which an address only repeats count as clean, not as loops.")
    ] = False,
    traces: Annotated[int, typer.Option(min=0, help="Traces of a partial view; 0 makes none.")] = 100_000,
    sources: Annotated[int, typer.Option(min=1, help="Sources of pairs.")] = 10,
    destinations: Annotated[int, typer.Option(min=1, help="Destinations of each source.")] = 10_000,
    k: Annotated[int, typer.Option("--k", min=1, max=1000, help="Shortest paths of a pair.")] = 10,
    draws: Annotated[int, typer.Option(min=1, help="Partial views, each from traces drawn anew.")] = 5,
    resample: Annotated[
        Literal["none", "half", "bootstrap"],
        typer.Option(
            help="Draws of a lake with no more than --traces clean traces: all of them (no intervals over draws), a "
            "random half, or as many with replacement."
        ),
    ] = "none",
    level: options.LevelName = "address",
    pfx2as: options.Pfx2as = None,
    annotations: options.Annotations = None,
    aliases: options.Aliases = None,
    ixp: options.Ixp = None,
    seed: Annotated[int, typer.Option(min=0, max=options.MAX_SEED, help="Names all random draws.")] = 1,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads for shortest paths (default: one a CPU).", show_default=False)
    ] = None,
    dask: Annotated[
        str | None, typer.Option(help="Count on a Dask cluster: its scheduler's address.", show_default=False)
    ] = None,
) -> None:
    """Compare two periods: lengths, delays, diversity, dispersion, the paper's claims, and a report with its figures.

    `haltere paths compare lake/2006 lake/2011 --mmdb GeoLite2-City.mmdb --keep NA --keep EU`
    """
    from haltere.cli.paths import comparing as command
    from haltere.paths.evolution import Options
    from haltere.paths.levels import Level

    wanted = Options(
        traces=traces,
        sources=sources,
        destinations=destinations,
        k=k,
        draws=draws,
        resample=resample,
        level=Level(level, pfx2as, annotations, aliases, ixp),
        seed=seed,
        mmdb=mmdb,
        regions=regions,
        keep=tuple(keep or ()),
        threads=threads,
    )
    chosen = command.selection(
        source or [], first_day, last_day, None if family is None else int(family), repeats=repeats
    )
    command.compare(first, second, wanted, chosen, out, dask)


def changed(
    first: Annotated[Path, typer.Argument(help="The earlier period's lake.", show_default=False)],
    second: Annotated[Path, typer.Argument(help="The later period's lake.", show_default=False)],
    level: options.LevelName = "address",
    pfx2as: options.Pfx2as = None,
    annotations: options.Annotations = None,
    aliases: options.Aliases = None,
    ixp: options.Ixp = None,
    destination: Annotated[
        Literal["address", "prefix", "label"],
        typer.Option(help="What a destination is: the address, its /24 or /48, or its label at the level."),
    ] = "address",
    traces: options.Traces = 1_000_000,
    seed: options.Seed = 1,
    out: Annotated[
        Path | None, typer.Option("--out", help="File for every pair: .csv or .parquet.", show_default=False)
    ] = None,
) -> None:
    """Say of how many pairs of monitor and destination the path changed between two lakes, and which.

    A pair's path is the one that most of its traces show. Where silent hops hide a part, a change is unclear.

    `haltere paths changed lake/2006 lake/2011 --level as --pfx2as routeviews-rv2-20110301.pfx2as.gz --out pairs.csv`
    """
    from haltere.cli.paths import changed as command
    from haltere.paths.levels import Level

    at = Level(level, pfx2as, annotations, aliases, ixp)
    command.list_them(first, second, command.Wanted(traces, seed, at, destination), out=out)


COMMANDS: dict[str, Callable[..., Any]] = {"compare": compare, "changed": changed}
"""The commands of this module by their names."""
