"""Compares two lakes: counts, partial views and their shortest paths, and the data of the maps."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import polars as pl

from haltere.errors import InputError, Place
from haltere.figures.plots import Point, Track
from haltere.paths import graph
from haltere.paths.claims import Evolution
from haltere.paths.engine import Engine
from haltere.paths.geography import Locator
from haltere.paths.lake import Lake
from haltere.paths.periods import Period, compare
from haltere.paths.tallies import tally

_COLUMNS = ("monitor", "hops", "rtt_us", *graph.COLUMNS)

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""


@dataclass(frozen=True)
class Options:
    """What is measured of each period.

    Attributes:
        traces: m, of which a partial view is made; 0 makes none.
        sources: sources of pairs.
        destinations: destinations of each source.
        k: how many shortest paths of a pair.
        draws: how many partial views, each from traces drawn anew.
        seed: of all draws.
        mmdb: a database of locations in MaxMind's format.
        regions: a table of monitors and their regions (CSV with the columns `monitor` and `region`).
        keep: only monitors of these regions.
        tracks: how many paths are drawn on the map.
        threads: for shortest paths; one a CPU if not given.
    """

    traces: int = 100_000
    sources: int = 10
    destinations: int = 10_000
    k: int = 10
    draws: int = 5
    seed: int = 1
    mmdb: Path | None = None
    regions: Path | None = None
    keep: tuple[str, ...] = ()
    tracks: int = 120
    threads: int | None = None


@dataclass(frozen=True)
class Drawn:
    """The part of a period that is drawn on a map."""

    tracks: tuple[Track, ...]
    dots: tuple[tuple[Point, str, str], ...]


@dataclass(frozen=True)
class Measured:
    """Two periods, compared; and their maps, if places are known."""

    evolution: Evolution
    maps: tuple[Drawn, Drawn] | None


def measure(
    first: Lake, second: Lake, options: Options, *, engine: Engine | None = None, on_progress: Progress
) -> Measured:
    """Measure two lakes and compare them.

    Raises:
        InputError: if the database or the table of regions cannot be read, or no clean trace of a lake is selected.
    """
    locator = Locator(options.mmdb) if options.mmdb else None
    periods, maps = [], []
    for lake, colour in ((first, "first"), (second, "second")):
        places = _places(lake, locator)
        regions = _regions(places, options)
        kept = _kept(lake, regions, options)
        counted = tally(kept, engine, on_progress=partial(on_progress, f"{kept.name}: counting"))
        if not counted.classes()["clean"]:
            raise InputError(
                "has no clean trace: nothing can be said of its paths",
                field=str(kept.path),
                right="traces whose destinations answered; `haltere paths lake` shows what a lake holds",
            )
        on_progress(f"{kept.name}: drawing traces", 0, 0)
        seeds = [options.seed + draw for draw in range(options.draws)]
        samples: list[pl.DataFrame] = []
        if options.traces or locator is not None:  # lists of hops are most of a lake, so they are read only if needed
            samples = kept.samples(max(options.traces, 8 * options.tracks), seeds, columns=_COLUMNS, engine=engine)
        routes, views = _graphs(kept.name, samples if options.traces else [], options, locator, on_progress)
        periods.append(Period(kept.name, counted, kept.days(), dict(regions), routes, views))
        if locator is not None:
            maps.append(_drawn(kept, samples[0].head(8 * options.tracks), places, locator, colour, options.tracks))
    evolution = Evolution(periods[0], periods[1], compare(*periods, seed=options.seed))
    return Measured(evolution, (maps[0], maps[1]) if maps else None)


def _places(lake: Lake, locator: Locator | None) -> pl.DataFrame:
    """Where each monitor is: monitor, src, latitude, longitude, continent; the last three null without a database."""
    rows = lake.scan("monitor", "src").group_by("monitor").agg(pl.col("src").drop_nulls().min()).sort("monitor")
    monitors = rows.collect(engine="streaming")
    if locator is None:
        return monitors.with_columns(
            pl.lit(None, pl.Float64).alias("latitude"),
            pl.lit(None, pl.Float64).alias("longitude"),
            pl.lit(None, pl.String).alias("continent"),
        )
    return pl.concat([monitors, locator(monitors["src"])], how="horizontal")


def _regions(places: pl.DataFrame, options: Options) -> dict[str, str]:
    """The region of each monitor that has one: as the user's table says, or else its continent."""
    found = dict(places.select("monitor", "continent").drop_nulls().iter_rows())
    if options.regions:
        found.update(_table(options.regions))
    return found


def _table(path: Path) -> Mapping[str, str]:
    right = "a CSV file with the columns monitor and region"
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"cannot be read: {error}", field=str(path), right=right) from None
    found = {}
    for line, row in enumerate(rows, 2):
        monitor, region = (row.get(name) or "" for name in ("monitor", "region"))
        if not monitor.strip() or not region.strip():
            raise InputError("lacks a monitor or its region", place=Place(str(path), line), right=right)
        found[monitor.strip()] = region.strip()
    return found


def _kept(lake: Lake, regions: Mapping[str, str], options: Options) -> Lake:
    """The lake without the monitors of other regions than those asked for."""
    if not options.keep:
        return lake
    monitors = tuple(sorted(name for name, region in regions.items() if region in options.keep))
    if not monitors:
        known = ", ".join(sorted(set(regions.values()))) or "none: give --mmdb or --regions"
        raise InputError(
            f"no monitor of {lake.name} is there", field="--keep", given=", ".join(options.keep), right=f"of {known}"
        )
    return Lake(lake.path, replace(lake.selection, monitors=monitors))


def _graphs(
    name: str, samples: Sequence[pl.DataFrame], options: Options, locator: Locator | None, on_progress: Progress
) -> tuple[pl.DataFrame | None, pl.DataFrame | None]:
    """The routes of the partial views of some samples, and what the views are like; None if there are none."""
    views, routes = [], []
    for draw, rows in enumerate(samples):
        view = graph.partial_view(rows.head(options.traces))
        if view.nodes.filter(pl.col("component") == 0).height < 2:
            continue
        found = graph.routes(
            view,
            sources=options.sources,
            destinations=options.destinations,
            k=options.k,
            seed=options.seed + draw,
            draw=draw,
            locate=locator,
            threads=options.threads,
            on_progress=partial(on_progress, f"{name}: paths of draw {draw + 1} of {options.draws}"),
        )
        routes.append(found)
        views.append(_about(view, draw))
    return (pl.concat(routes), pl.DataFrame(views)) if routes else (None, None)


def _about(view: graph.PartialView, draw: int) -> dict[str, int]:
    largest = view.nodes.filter(pl.col("component") == 0).height
    return {
        "draw": draw,
        "traces": view.traces,
        "nodes": view.nodes.height,
        "links": view.links.height,
        "components": view.components,
        "largest": largest,
        "raised": view.raised,
    }


def _drawn(lake: Lake, rows: pl.DataFrame, places: pl.DataFrame, locator: Locator, colour: str, most: int) -> Drawn:
    """Some traces as lines from place to place, and the monitors as dots."""
    addresses = pl.concat([rows["hop_addr"].explode(), rows["src"]]).drop_nulls().unique().sort()
    found = pl.concat([addresses.alias("address").to_frame(), locator(addresses)], how="horizontal").drop_nulls(
        "latitude"
    )
    where = {row["address"]: (row["longitude"], row["latitude"]) for row in found.iter_rows(named=True)}
    tracks = []
    for row in rows.iter_rows(named=True):
        points: list[Point] = []
        for address in [row["src"], *row["hop_addr"]]:
            place = where.get(address)
            if place is not None and (not points or points[-1] != place):
                points.append(place)
        if len(points) > 1:
            delay = "" if row["rtt_us"] is None else f", {row['rtt_us'] / 1000:.0f} ms"
            says = f"{lake.name}: from {row['monitor']}, {row['hops']} hops{delay}, {len(points)} places"
            tracks.append(Track(tuple(points), colour, says))
        if len(tracks) == most:
            break
    dots = [
        ((row["longitude"], row["latitude"]), colour, f"{lake.name}: monitor {row['monitor']}")
        for row in places.drop_nulls("latitude").iter_rows(named=True)
        if lake.selection.monitors is None or row["monitor"] in lake.selection.monitors
    ]
    return Drawn(tuple(tracks), tuple(dots))
