"""Two measured periods as a results folder: tables, the manifest, and back again.

`traces.parquet` has the counts of both periods, `paths.parquet` a row a K-shortest path, `runs.parquet` a row a partial
view, `nodes.csv` and `links.csv` what came and went; `manifest.json` has the rest. If paths obey a policy,
`unconstrained.parquet` has those of the same pairs without it.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from haltere.evolution.measuring import Drawn, Measured
from haltere.figures.world import Track
from haltere.files import write_whole
from haltere.paths.periods import Evolution, Period
from haltere.paths.tallies import Tallies
from haltere.paths.turnover import KINDS, Turnover
from haltere.results import read_manifest, write_manifest

_TABLES = {"paths": "routes", "runs": "views", "unconstrained": "unconstrained"}
"""The files of tables, and the attribute of `Period` that each holds."""
KIND = "periods"
"""The key of the manifest that results of two periods have, and others have not."""


def write(folder: Path, measured: Measured, about: Mapping[str, Any]) -> None:
    """Write two periods into a folder, the manifest last.

    Args:
        folder: made if it is not there.
        measured: the periods.
        about: what else the manifest says: `study`, `seed`, `command` and the like.
    """
    found = measured.evolution
    folder.mkdir(parents=True, exist_ok=True)
    tallies = [
        period.tallies.table.with_columns(period=pl.lit(number), at_level=pl.lit(bool(place)))
        for place, periods in enumerate((found.periods, found.levels or ()))
        for number, period in enumerate(periods)
    ]
    _write(folder / "traces.parquet", tallies)
    for name, each in _TABLES.items():
        rows = [getattr(period, each) for period in found.periods]
        _write(
            folder / f"{name}.parquet", [t.with_columns(period=pl.lit(i)) for i, t in enumerate(rows) if t is not None]
        )
    if found.turnover is not None:
        found.turnover.write(folder)
    drawn = measured.maps or (None, None)
    periods = [_period(*both) for both in zip(found.periods, drawn, strict=True)]
    runs = sum(0 if period.views is None else period.views.height for period in found.periods)
    turnover = (
        None
        if found.turnover is None
        else {"traces": found.turnover.traces, "seen": found.turnover.seen, "there": found.turnover.there}
    )
    counts = {"runs": runs, "ok": runs, "failed": 0}
    write_manifest(
        folder, {"format": 1, **about, KIND: periods, "turnover": turnover, "counts": counts, "experiments": {}}
    )


def _write(file: Path, tables: list[pl.DataFrame]) -> None:
    if not tables:
        file.unlink(missing_ok=True)  # an earlier comparison may have left one
        return
    buffer = io.BytesIO()
    pl.concat(tables).write_parquet(buffer, compression="zstd")
    write_whole(file, buffer.getvalue())


def _period(period: Period, drawn: Drawn | None) -> dict[str, Any]:
    return {
        "name": period.name,
        "days": list(period.days),
        "regions": dict(period.regions),
        "drawing": period.drawing,
        "level": period.level,
        "routing": None if period.routing is None else dict(period.routing),
        "copies": period.tallies.copies,
        "tracks": None if drawn is None else [[track.points, track.says] for track in drawn.tracks],
        "dots": None if drawn is None else [[place, says] for place, _, says in drawn.dots],
    }


def read(folder: Path) -> Measured:
    """Return the periods of a results folder; intervals are made anew, by the seed of the manifest.

    Raises:
        InputError: if there is no manifest, or it is damaged.
    """
    manifest = read_manifest(folder) or {}
    tallies = pl.read_parquet(folder / "traces.parquet")
    tables = {name: _read(folder / f"{name}.parquet") for name in _TABLES}
    periods, levels, maps = [], [], []
    for number, one in enumerate(manifest[KIND]):
        rows = tallies.filter(pl.col("period") == number)
        of_traces, of_level = (
            Tallies(rows.filter(pl.col("at_level") == place).drop("period", "at_level"), one["copies"] * (not place))
            for place in (False, True)
        )
        routes, views, unconstrained = (
            None if table is None else table.filter(pl.col("period") == number).drop("period")
            for table in tables.values()
        )
        given = one["regions"], routes, views, one["drawing"], one["level"], one.get("routing"), unconstrained
        periods.append(Period(one["name"], of_traces, one["days"], *given))
        levels.append(replace(periods[-1], tallies=of_level))
        if one["tracks"] is not None:
            colour = ("first", "second")[number]
            tracks = tuple(Track(tuple((x, y) for x, y in points), colour, says) for points, says in one["tracks"])
            maps.append(Drawn(tracks, tuple(((x, y), colour, says) for (x, y), says in one["dots"])))
    known = manifest["turnover"]
    turnover = None
    if known is not None:
        came = {what: pl.read_csv(folder / f"{what}.csv") for what in KINDS}
        first, second = known["traces"]
        pairs = [{what: (a, b) for what, (a, b) in known[name].items()} for name in ("seen", "there")]
        turnover = Turnover(came, (first, second), pairs[0], pairs[1])
    of_levels = (levels[0], levels[1]) if tallies["at_level"].any() else None
    evolution = Evolution.of((periods[0], periods[1]), turnover, of_levels, seed=manifest["seed"])
    return Measured(evolution, (maps[0], maps[1]) if maps else None)


def _read(file: Path) -> pl.DataFrame | None:
    return pl.read_parquet(file) if file.exists() else None
