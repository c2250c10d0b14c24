"""Compares two lakes: counts, partial views and their shortest paths, and the data of the maps."""

from __future__ import annotations

import csv
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl

from haltere.errors import ArgumentError, InputError, Place
from haltere.figures.parts import Point
from haltere.figures.world import Track
from haltere.paths import graph
from haltere.paths.engine import Engine
from haltere.paths.geography import Locator
from haltere.paths.judging import delay_text
from haltere.paths.lake import Lake
from haltere.paths.levels import Labels, Level
from haltere.paths.periods import Drawing, Evolution, Period
from haltere.paths.policy import FREE, Policy, Rules
from haltere.paths.tallies import folded, tally
from haltere.paths.turnover import lengths, turnover

Resample = Literal["none", "half", "bootstrap"]
_COLUMNS = ("monitor", "hops", "rtt_us", *graph.COLUMNS)

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""


@dataclass(frozen=True)
class Options:
    """The choices by which each period is measured.

    Attributes:
        traces: m, of which a partial view is made; 0 makes none.
        sources: sources of pairs.
        destinations: destinations of each source.
        k: how many shortest paths of a pair.
        draws: how many partial views, each from traces drawn anew.
        resample: what a draw is where a lake has no more than `traces` clean traces: `none` takes all, in each draw the
            same; `half` a random half of them; `bootstrap` as many, with replacement.
        level: what a node of a partial view is, and the files that say so; places are known of addresses and routers.
        policy: the routing policy that shortest paths obey; None if any path will do.
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
    resample: Resample = "none"
    level: Level = field(default_factory=Level)
    policy: Policy | None = None
    seed: int = 1
    mmdb: Path | None = None
    regions: Path | None = None
    keep: tuple[str, ...] = ()
    tracks: int = 120
    threads: int | None = None


@dataclass(frozen=True)
class Known:
    """The data of files: labels of addresses at the level, their places, and the policy of the links between them."""

    labels: Labels
    locator: Locator | None
    rules: Rules | None


@dataclass(frozen=True)
class Graphs:
    """The graphs of a period: routes, measures of the views, and under a policy the routes without it; else None."""

    routes: pl.DataFrame | None
    views: pl.DataFrame | None
    unconstrained: pl.DataFrame | None


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
    known_of = Known(
        options.level.labels(), locator, None if options.policy is None else options.policy.rules(options.level)
    )
    labels = known_of.labels
    routing = None if options.policy is None else options.policy.says()
    periods, maps = [], []
    rows: list[pl.DataFrame | None] = []
    every = [_places(lake, locator) for lake in (first, second)]
    known = [_regions(places, options) for places in every]
    groups = _groups([set(places["monitor"]) for places in every], known)
    for lake, colour, places, regions in zip((first, second), ("first", "second"), every, known, strict=True):
        kept = _kept(lake, regions, options)
        counting = partial(on_progress, f"{kept.name}: counting")
        counted = tally(kept, engine, groups=groups, on_progress=counting)
        if not counted.classes()["clean"]:
            raise InputError(
                "has no clean trace: nothing can be said of its paths",
                field=str(kept.path),
                right="traces whose destinations answered; `haltere paths lake` shows what a lake holds",
            )
        on_progress(f"{kept.name}: drawing traces", 0, 0)
        samples: list[pl.DataFrame] = []
        if options.traces or locator is not None:  # lists of hops are most of a lake, so they are read only if needed
            samples = _samples(kept, options, engine)
        drawing, drawn = _draws(samples, counted.classes()["clean"], options)
        rows.append(samples[0].head(options.traces) if samples else None)
        graphs = _graphs(kept.name, drawn, options, known_of, on_progress)
        of_groups = {groups.get(name, name): region for name, region in regions.items()}
        periods.append(
            Period(
                kept.name,
                counted,
                kept.days(),
                of_groups,
                graphs.routes,
                graphs.views,
                drawing,
                options.level.name,
                routing,
                graphs.unconstrained,
            )
        )
        if locator is not None:
            maps.append(_drawn(kept, samples[0].head(8 * options.tracks), places, locator, colour, options.tracks))
    came, levels = None, None
    if options.traces and rows[0] is not None and rows[1] is not None:
        on_progress("nodes and links that came and went", 0, 0)
        came = turnover(rows[0], rows[1], labels)
        if options.level.name != "address":
            first_level, second_level = (
                replace(period, tallies=lengths(of, labels, groups))
                for period, of in zip(periods, (rows[0], rows[1]), strict=True)
            )
            levels = (first_level, second_level)
    evolution = Evolution.of((periods[0], periods[1]), came, levels, seed=options.seed)
    return Measured(evolution, (maps[0], maps[1]) if maps else None)


def _groups(monitors: Sequence[Collection[str]], regions: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """The group of each monitor, if there are too many to count them one by one; else nothing.

    Monitors of both periods are grouped apart from those of one, and those of a region from others, so that a group
    is in both periods if and only if its monitors are.
    """
    first, second = (set(names) for names in monitors)
    where = {**regions[1], **regions[0]}

    def kind(name: str) -> str:
        periods = "both periods" if name in first & second else "first alone" if name in first else "second alone"
        return ", ".join(filter(None, (where.get(name), periods)))

    return folded({name: kind(name) for name in sorted(first | second)})


def _samples(lake: Lake, options: Options, engine: Engine | None) -> list[pl.DataFrame]:
    """The traces of each draw, from one pass over the lake; more than a view needs where few are drawn on a map."""
    seeds = [options.seed + draw for draw in range(options.draws)]
    return lake.samples(max(options.traces, 8 * options.tracks), seeds, columns=_COLUMNS, engine=engine)


def _draws(samples: Sequence[pl.DataFrame], clean: int, options: Options) -> tuple[Drawing, list[pl.DataFrame]]:
    """The traces of each partial view, and how they were chosen.

    Args:
        samples: of each draw, in the order of its priorities: of a lake with few traces all, in another order each.
        clean: how many clean traces there are.
        options: what is wanted.
    """
    if not options.traces:
        return "sample", []
    few = clean <= options.traces
    if few and options.resample == "half":
        # The beginning of a sample is a sample.
        return "half", [rows.head(max(1, clean // 2)) for rows in samples]
    if few and options.resample == "bootstrap":
        dice = [np.random.default_rng([options.seed, draw]) for draw in range(len(samples))]
        return "bootstrap", [
            rows[rng.integers(0, rows.height, rows.height)] for rows, rng in zip(samples, dice, strict=True)
        ]
    return ("all" if few else "sample"), [rows.head(options.traces) for rows in samples]


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
        known = ", ".join(sorted(set(regions.values())))
        if not known:
            right = "a database with continents (`mmdb`, such as GeoLite2 City), or a table of monitors (`regions`)"
            raise ArgumentError(
                f"the region of no monitor of {lake.name} is known",
                field="keep",
                given=", ".join(options.keep),
                right=right,
            )
        raise ArgumentError(
            f"no monitor of {lake.name} is there", field="keep", given=", ".join(options.keep), right=f"of {known}"
        )
    return Lake(lake.path, replace(lake.selection, monitors=monitors))


def _graphs(
    name: str, samples: Iterable[pl.DataFrame], options: Options, known: Known, on_progress: Progress
) -> Graphs:
    """The partial views of some samples, and their routes.

    Under a policy the routes are found twice: as it wants them, and with all links free. The search is one, so that
    both make the same choice among paths that are equally short.
    """
    views, routes, unconstrained = [], [], []
    for draw, rows in enumerate(samples):
        view = known.labels.view(rows)
        if view.nodes.filter(pl.col("component") == 0).height < 2:
            continue
        find = partial(
            graph.routes,
            view,
            sources=options.sources,
            destinations=options.destinations,
            k=options.k,
            seed=options.seed + draw,
            draw=draw,
            locate=known.locator if view.has_places else None,
            threads=options.threads,
        )
        stage = f"{name}: paths of draw {draw + 1} of {options.draws}"
        links = None if known.rules is None else known.rules.links(view)
        if links is not None:
            free = np.full(view.links.height, FREE, np.uint8)
            unconstrained.append(find(relations=free, on_progress=partial(on_progress, f"{stage}, any")))
        relations = None if links is None else links.relations
        routes.append(find(relations=relations, on_progress=partial(on_progress, stage)))
        counts = {name: getattr(links, name) for name in LINKS} if links is not None else {}
        views.append(_about(view, draw) | counts)
    if not views:
        return Graphs(None, None, None)
    return Graphs(pl.concat(routes), pl.DataFrame(views), pl.concat(unconstrained) if unconstrained else None)


LINKS = ("inside", "transit", "peering", "unknown")
"""The columns of views under a policy: numbers of links, by `haltere.paths.policy.Links`."""


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
            delay = "" if row["rtt_us"] is None else f", {delay_text(row['rtt_us'])}"
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
