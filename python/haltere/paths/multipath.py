"""The links that multipath measurements found: a table of a lake of its own (`docs/paths.md`)."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from haltere.errors import InputError
from haltere.paths.lake import Selection, check, parts


def links(lake: str | Path, selection: Selection | None = None) -> pl.LazyFrame:
    """Return the links of the selected measurements, lazily: a row for each link of each measurement.

    Raises:
        InputError: if the folder holds no lake, or the lake none of these measurements.
    """
    chosen = selection or Selection()
    check(Path(lake))
    found = parts(Path(lake), "multipath", chosen)
    if not found:
        raise InputError(
            "holds no multipath measurements" + ("" if selection is None else " of what was selected"),
            field=str(lake),
            right="a lake of warts or of scamper's JSON with records of tracelb",
        )
    return pl.scan_parquet([str(part.path) for part in found], hive_partitioning=False).filter(chosen.filter())
