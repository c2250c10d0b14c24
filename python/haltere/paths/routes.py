"""Statistics of the K shortest paths of partial views. The independent unit is the draw: a view and its pairs.

A table of routes has a row a path: `draw`, `k` from 1, `hops`, `delay_us`, `difference` (to the pair's shortest path,
null for itself), `diversity` (the mean difference of the pair's paths), and, where nodes are located, `dispersion`
(D_g), `delay_dispersion` (ρ) and `least_delay_us`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import special

from haltere.claims.comparison import MissingDataError
from haltere.paths.periods import Drawing, Period
from haltere.stats import Interval, difference, mean, spearman

Floats = NDArray[np.float64]

_GRID = np.linspace(0, 1, 1001)
_NAMES: dict[Drawing, str] = {"sample": "draws", "half": "half-samples", "bootstrap": "bootstrap samples"}
_LOCATED = {"dispersion", "delay_dispersion", "least_delay_us"}


@dataclass(frozen=True)
class Correlation:
    """Two columns of routes whose ranks are compared."""

    name: str
    x: str
    y: str


CORRELATIONS = (
    Correlation("delay and length", "hops", "delay_us"),
    Correlation("delay dispersion and geographic dispersion", "dispersion", "delay_dispersion"),
    Correlation("delay and least possible delay", "least_delay_us", "delay_us"),
)


def rows_of(period: Period, *needs: str, k: int | None = None) -> pl.DataFrame:
    """Return a period's routes that have all of some columns, of the k-th shortest paths alone if `k` is given.

    Raises:
        MissingDataError: if there are none; the message says what would give some.
    """
    if period.routes is None:
        raise MissingDataError(f"no partial view was made of {period.name}")
    rows = period.routes if k is None else period.routes.filter(pl.col("k") == k)
    rows = rows.drop_nulls(needs) if needs else rows
    if rows.is_empty():
        remedy = " (give a database of places, mmdb)" if _LOCATED & set(needs) else ""
        raise MissingDataError(f"{period.name} has no path with {' and '.join(needs) or f'K = {k}'}{remedy}")
    return rows


Bounds = tuple[float, float]
"""The least and the greatest value that a quantity can have."""
ANY: Bounds = (-math.inf, math.inf)
POSITIVE: Bounds = (0.0, math.inf)
SHARE: Bounds = (0.0, 1.0)
COEFFICIENT: Bounds = (-1.0, 1.0)


@dataclass(frozen=True)
class Bounded:
    """An aggregate of routes whose values lie between bounds, as shares and mean differences do."""

    value: pl.Expr
    bounds: Bounds = SHARE


@dataclass(frozen=True)
class OverDraws:
    """A value of each draw, how the draws were made, and between which bounds such a value lies.

    Intervals are clipped to the bounds: a share lies between 0 and 1, a coefficient between -1 and 1.
    """

    values: tuple[float, ...]
    drawing: Drawing = "sample"
    bounds: Bounds = ANY

    @property
    def variance(self) -> float:
        """The variance of the estimate: of the mean of independent draws, or of each draw where they repeat a lake.

        A half-sample, or a bootstrap sample, differs from its lake as the lake does from what it was drawn from
        (P. J. McCarthy, "Pseudo-replication: half samples", Review of the ISI 37(3), 1969; B. Efron, "Bootstrap
        methods: another look at the jackknife", Annals of Statistics 7(1), 1979). More draws of one lake therefore do
        not make the estimate any surer.
        """
        n = len(self.values)
        if n < 2:
            return math.nan
        mean = sum(self.values) / n
        each = sum((value - mean) ** 2 for value in self.values) / (n - 1)
        return each / n if self.drawing == "sample" else each


def by_draw(period: Period, value: pl.Expr | Bounded, *needs: str, k: int | None = None) -> OverDraws:
    """Return an aggregate of the routes of each draw, in their order; of which routes, `rows_of` says."""
    asked = value if isinstance(value, Bounded) else Bounded(value, ANY)
    found = rows_of(period, *needs, k=k).group_by("draw").agg(asked.value.alias("value")).sort("draw")["value"]
    return OverDraws(tuple(float(one) for one in found.drop_nulls().drop_nans()), period.drawing, asked.bounds)


def estimate(found: OverDraws) -> Interval:
    """Return the mean over draws, with Student's interval; none if all draws are of the same traces.

    The interval is clipped to the bounds of the values.
    """
    if found.drawing == "sample":
        return _clipped(mean(found.values), found.bounds)
    n = len(found.values)
    return _clipped(_students(sum(found.values) / n, found.variance, n - 1, n, found.drawing), found.bounds)


def change(first: OverDraws, second: OverDraws) -> Interval:
    """Return how the mean over draws changed, with Welch's interval; none if draws are of the same traces.

    The interval is clipped to what values within the bounds of both can differ by.
    """
    (low, high), (second_low, second_high) = first.bounds, second.bounds
    return _clipped(_change(first, second), (second_low - high, second_high - low))


def change_within(before: OverDraws, after: OverDraws, bounds: Bounds = ANY) -> Interval:
    """Return how a value changes within each draw, with Student's interval over the draws; both have the same draws.

    The interval is clipped to the bounds of the change.
    """
    values = tuple(b - a for a, b in zip(before.values, after.values, strict=True))
    return estimate(OverDraws(values, before.drawing, bounds))


def _change(first: OverDraws, second: OverDraws) -> Interval:
    if first.drawing == second.drawing == "sample":
        return difference(first.values, second.values)
    sizes = [len(one.values) for one in (first, second)]
    value = sum(second.values) / sizes[1] - sum(first.values) / sizes[0]
    parts = [one.variance for one in (first, second)]
    weights = sum(part**2 / (n - 1) for part, n in zip(parts, sizes, strict=True) if n > 1)
    degrees = sum(parts) ** 2 / weights if weights else float(min(sizes) - 1)
    drawing = first.drawing if second.drawing == "sample" else second.drawing
    return _students(value, sum(parts), degrees, min(sizes), "all" if first.drawing == "all" else drawing)


def _clipped(found: Interval, bounds: Bounds) -> Interval:
    if found.low is None or found.high is None:
        return found
    return replace(found, low=max(found.low, bounds[0]), high=min(found.high, bounds[1]))


def _students(value: float, variance: float, degrees: float, n: int, drawing: Drawing) -> Interval:
    confidence = 0.95
    if drawing == "all":
        return Interval(value, None, None, n, confidence, "all draws have the same traces")
    if n < 3:
        return Interval(value, None, None, n, confidence, "too few values")
    half = float(special.stdtrit(degrees, (1 + confidence) / 2)) * math.sqrt(variance)
    return Interval(value, value - half, value + half, n, confidence, f"Student's t over {_NAMES[drawing]}")


def spearman_of(period: Period, correlation: Correlation) -> OverDraws:
    """Return Spearman's coefficient of the two columns in each draw."""
    rows = rows_of(period, correlation.x, correlation.y).select("draw", correlation.x, correlation.y)
    parts = rows.partition_by("draw", maintain_order=True)
    found = [spearman(part[correlation.x], part[correlation.y]).value for part in parts]
    known = [value for value in found if not math.isnan(value)]
    if not known:
        raise MissingDataError(f"the paths of {period.name} are all alike in {correlation.name}")
    return OverDraws(tuple(known), period.drawing, COEFFICIENT)


def largest_excess(first: Period, second: Period, column: str) -> OverDraws:
    """Return by how much more of the second period's paths exceed some value, at the value where this is most.

    The value is one for each draw, found from the other draws. At the value where the draw's own shares differ most
    they would differ even where nothing changed.
    """
    ordered = [_sorted(period, column) for period in (first, second)]
    draws = sorted(set(ordered[0]) & set(ordered[1]))
    if len(draws) < 2:
        raise MissingDataError(f"fewer than two draws of both periods have {column}")
    grid = np.unique(np.quantile(np.concatenate([part[draw] for part in ordered for draw in draws]), _GRID))
    each = [
        np.stack([1 - np.searchsorted(part[draw], grid, "right") / part[draw].size for draw in draws])
        for part in ordered
    ]
    excess = each[1] - each[0]
    others = (excess.sum(axis=0) - excess) / (len(draws) - 1)
    values = excess[np.arange(len(draws)), others.argmax(axis=1)]
    drawing = first.drawing if second.drawing == "sample" else second.drawing
    return OverDraws(tuple(values.tolist()), drawing, (-1.0, 1.0))


def _sorted(period: Period, column: str) -> dict[int, Floats]:
    """The values of a column in rising order, by draw."""
    rows = rows_of(period, column).select("draw", pl.col(column).cast(pl.Float64)).sort("draw", column)
    return {int(part["draw"][0]): part[column].to_numpy() for part in rows.partition_by("draw", maintain_order=True)}


def flatness(period: Period, hops: int) -> OverDraws:
    """Return the slope of the delay over paths of more hops than given, divided by that over the others, by draw.

    Raises:
        MissingDataError: if no draw has paths of several lengths on both sides.
    """
    known = rows_of(period, "hops", "delay_us").select("draw", pl.col("hops", "delay_us").cast(pl.Float64))
    sides = (pl.col("hops") > hops, pl.col("hops") <= hops)
    slopes = [
        known.filter(side).group_by("draw").agg((pl.cov("delay_us", "hops") / pl.col("hops").var()).alias(name))
        for side, name in zip(sides, ("beyond", "before"), strict=True)
    ]
    both = slopes[0].join(slopes[1], on="draw").sort("draw")
    values = (both["beyond"] / both["before"]).drop_nulls()
    found = tuple(float(value) for value in values if math.isfinite(value))
    if not found:
        raise MissingDataError(f"{period.name} has too few paths of more than {hops} hops")
    return OverDraws(found, period.drawing)


def share_over(column: str, value: float) -> Bounded:
    """Return the share of rows whose value is larger."""
    return Bounded((pl.col(column) > value).mean())


def share_under(column: str, value: float) -> Bounded:
    """Return the share of rows whose value is smaller."""
    return Bounded((pl.col(column) < value).mean())


def largest_k(period: Period) -> int:
    """Return the largest K of a period's routes."""
    return int(rows_of(period)["k"].to_numpy().max())
