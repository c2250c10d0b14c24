"""The effect of a routing policy on the K shortest paths of a period, against paths of any links of the same pairs.

The k-th shortest valley-free path of a pair is compared with its k-th shortest path of any links, where both exist.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from haltere.claims.comparison import MissingDataError
from haltere.paths.judging import text
from haltere.paths.periods import Period
from haltere.paths.routes import ANY, POSITIVE, SHARE, Bounds, OverDraws, change_within, estimate
from haltere.stats import Interval

_PATH = ("draw", "source", "destination", "k")
_PAIR = _PATH[:3]


@dataclass(frozen=True)
class Measure:
    """A number of the paths of a draw.

    Attributes:
        name: by which `effect` knows it.
        label: as tables call it.
        unit: of the number.
        scale: what the number is multiplied with for that unit.
        column: which column of routes is summarised; none counts pairs.
        summary: of the column, over paths.
        bounds: between which values the number lies.
        changes: between which values its change lies. A policy adds no pair and makes no k-th path shorter.
    """

    name: str
    label: str
    unit: str
    scale: float
    column: str | None
    summary: Callable[[pl.Expr], pl.Expr]
    bounds: Bounds = ANY
    changes: Bounds = ANY


MEASURES = (
    Measure("paths", "Pairs with a path", "%", 100, None, pl.Expr.mean, SHARE, (-1.0, 0.0)),
    Measure("hops", "Mean length", "hops", 1, "hops", pl.Expr.mean, POSITIVE, POSITIVE),
    Measure("delay", "Median delay", "ms", 1e-3, "delay_us", pl.Expr.median, POSITIVE),
    Measure(
        "difference",
        "Mean difference to the first path",
        "%",
        100,
        "difference",
        pl.Expr.mean,
        SHARE,
        (-1.0, 1.0),
    ),
    Measure("dispersion", "Median geographic dispersion", "", 1, "dispersion", pl.Expr.median, POSITIVE),
)


@dataclass(frozen=True)
class Effect:
    """A measure of the paths of any links, of valley-free ones, and the difference in each draw."""

    measure: Measure
    without: Interval
    under: Interval
    change: Interval

    def texts(self) -> dict[str, str]:
        """Return the three as evidence reads, by the names of these attributes."""
        measure = self.measure
        places = 1 if measure.unit else 2
        shown = {
            name: text(found, places, measure.unit, measure.scale)
            for name, found in (("without", self.without), ("under", self.under))
        }
        unit = "points" if measure.unit == "%" else measure.unit
        return shown | {"change": text(self.change, places, unit, measure.scale, signed=True)}


def effect(period: Period, name: str) -> Effect:
    """Return what the policy changes of a measure in a period.

    Raises:
        MissingDataError: if paths were not measured both ways, or none has the measure.
    """
    measure = next(one for one in MEASURES if one.name == name)
    table = _counts(period) if measure.column is None else _paired(period, measure.column)
    without, under = (_of_draws(period, table, measure, side) for side in ("without", "under"))
    return Effect(measure, estimate(without), estimate(under), change_within(without, under, measure.changes))


def longer_share(period: Period, hops: int) -> OverDraws:
    """Return the share of pairs whose shortest path the policy makes longer by more than some hops, of each draw.

    Raises:
        MissingDataError: if paths were not measured both ways.
    """
    table = _paired(period, "hops").filter(pl.col("k") == 1)
    over = table.group_by("draw").agg((pl.col("under") - pl.col("without") > hops).mean().alias("share")).sort("draw")
    return OverDraws(tuple(float(one) for one in over["share"]), period.drawing, SHARE)


def _both(period: Period) -> tuple[pl.DataFrame, pl.DataFrame]:
    if period.routes is None or period.unconstrained is None:
        raise MissingDataError(f"the paths of {period.name} obey no policy (give AS relationships, as_relationships)")
    return period.unconstrained, period.routes


def _paired(period: Period, column: str) -> pl.DataFrame:
    without, under = (
        table.select(*_PATH, pl.col(column).cast(pl.Float64).alias(side))
        for table, side in zip(_both(period), ("without", "under"), strict=True)
    )
    found = without.join(under, on=_PATH).drop_nulls()
    if found.is_empty():
        raise MissingDataError(f"no valley-free path of {period.name} has {column}")
    return found


def _counts(period: Period) -> pl.DataFrame:
    without, under = (table.select(_PAIR).unique() for table in _both(period))
    both = without.join(under.with_columns(pl.lit(1.0).alias("under")), on=_PAIR, how="left")
    return both.with_columns(pl.lit(1.0).alias("without"), pl.col("under").fill_null(0.0))


def _of_draws(period: Period, table: pl.DataFrame, measure: Measure, side: str) -> OverDraws:
    found = table.group_by("draw").agg(measure.summary(pl.col(side)).alias("value")).sort("draw")
    return OverDraws(tuple(float(one) for one in found["value"]), period.drawing, measure.bounds)
