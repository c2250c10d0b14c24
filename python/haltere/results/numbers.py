"""Levels of factors as numbers: what `40Mbit/s` is in bit/s, and the columns that tables have of such factors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from haltere import extras

if TYPE_CHECKING:
    import polars as pl
else:
    pl = extras.module("polars")  # a comparison needs none of it
_QUANTITY = re.compile(r"^\s*([-+]?[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?)\s*([A-Za-z%µ/]*)\s*$")
UNITS: dict[str, tuple[float, str]] = {
    "": (1.0, "number"),
    "%": (0.01, "number"),
    "ns": (1e-9, "time"),
    "us": (1e-6, "time"),
    "µs": (1e-6, "time"),
    "ms": (1e-3, "time"),
    "s": (1.0, "time"),
    "min": (60.0, "time"),
    "h": (3600.0, "time"),
    "bit/s": (1.0, "rate"),
    "kbit/s": (1e3, "rate"),
    "Mbit/s": (1e6, "rate"),
    "Gbit/s": (1e9, "rate"),
    "B": (1.0, "size"),
    "kB": (1e3, "size"),
    "MB": (1e6, "size"),
    "GB": (1e9, "size"),
    "KiB": (1024.0, "size"),
    "MiB": (1024.0**2, "size"),
    "GiB": (1024.0**3, "size"),
    "p": (1.0, "packets"),
    "bdp": (1.0, "bdp"),
}
"""Of each unit its size in base units, and the kind of quantity."""
_ENDS = {"rate": "_bps", "time": "_s", "size": "_bytes", "packets": "_packets", "bdp": "_bdp", "number": "_number"}


def parts(level: str) -> tuple[float, str] | None:
    """Return the number and the unit of a level that is a quantity with a known unit."""
    match = _QUANTITY.match(level)
    return None if match is None or match[2] not in UNITS else (float(match[1]), match[2])


def parse(level: str) -> tuple[float, str] | None:
    """Return a level in base units (bit/s, s, B, a share of 1) and its kind, if it is a quantity with a known unit."""
    found = parts(level)
    if found is None:
        return None
    scale, kind = UNITS[found[1]]
    return round(found[0] * scale, 12), kind


def columns(manifest: Mapping[str, Any]) -> dict[str, tuple[str, dict[str, float]]]:
    """Return the columns of numbers that the tables have: of each the factor and the number of each of its levels.

    A factor has one if all its levels are quantities of one kind: `rate` has `rate_bps`, `delay` has `delay_s`, `size`
    has `size_bytes`, a loss in percent `loss_share`, and a plain number `NAME_number`.
    """
    levels: dict[str, list[str]] = {}
    for experiment in manifest.get("experiments", {}).values():
        for factor, own in experiment.get("factors", {}).items():
            levels.setdefault(factor, []).extend(own)
    found = {}
    for factor, own in levels.items():
        parsed = {level: quantity for level in own if (quantity := parse(level)) is not None}
        kinds = {kind for _, kind in parsed.values()}
        if len(kinds) == 1 and len(parsed) == len(set(own)):
            end = "_share" if any("%" in level for level in own) else _ENDS[kinds.pop()]
            found[factor + end] = (factor, {level: number for level, (number, _) in parsed.items()})
    return found


def beside(frame: pl.DataFrame, manifest: Mapping[str, Any]) -> pl.DataFrame:
    """Return a table with a column of numbers behind each factor that has one; columns that are there are kept."""
    new = {factor: (name, of) for name, (factor, of) in columns(manifest).items() if name not in frame.columns}
    order: list[str | pl.Expr] = []
    for name in frame.columns:
        order.append(name)
        if name in new:
            own, of = new[name]
            order.append(pl.col(name).replace_strict(of, default=None, return_dtype=pl.Float64).alias(own))
    return frame.select(order)
