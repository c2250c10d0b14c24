"""Statistics of the K shortest paths of partial views. The independent unit is the draw: a view and its pairs.

A table of routes has a row a path: `draw`, `k` from 1, `hops`, `delay_us`, `difference` (to the pair's shortest path,
null for itself), `diversity` (the mean difference of the pair's paths), and, where nodes are located, `dispersion`
(D_g), `delay_dispersion` (ρ) and `least_delay_us`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import polars as pl
from scipy import special

from haltere.claims.comparison import MissingDataError
from haltere.paths.periods import Drawing, Period
from haltere.stats import Interval, difference, mean, spearman

_NAMES: dict[Drawing, str] = {"sample": "draws", "half": "half-samples", "bootstrap": "bootstrap samples"}
_LOCATED = {"dispersion", "delay_dispersion", "least_delay_us"}


@dataclass(frozen=True)
class Correlation:
    """Two columns of routes whose ranks are compared, and what the paper found for them in 2006 and 2011."""

    name: str
    x: str
    y: str
    published: tuple[float, float]


CORRELATIONS = (
    Correlation("delay and length", "hops", "delay_us", (0.80, 0.88)),
    Correlation("delay dispersion and geographic dispersion", "dispersion", "delay_dispersion", (0.93, 0.84)),
    Correlation("delay and least possible delay", "least_delay_us", "delay_us", (0.78, 0.67)),
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
        remedy = " (give a database of locations with --mmdb)" if _LOCATED & set(needs) else ""
        raise MissingDataError(f"{period.name} has no path with {' and '.join(needs) or f'K = {k}'}{remedy}")
    return rows


@dataclass(frozen=True)
class OverDraws:
    """A value of each draw, and how the draws were made."""

    values: tuple[float, ...]
    drawing: Drawing = "sample"

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


def by_draw(period: Period, value: pl.Expr, *needs: str, k: int | None = None) -> OverDraws:
    """Return an aggregate of the routes of each draw, in their order; of which routes, `rows_of` says."""
    found = rows_of(period, *needs, k=k).group_by("draw").agg(value.alias("value")).sort("draw")["value"]
    return OverDraws(tuple(float(one) for one in found.drop_nulls().drop_nans()), period.drawing)


def estimate(found: OverDraws) -> Interval:
    """Return the mean over draws, with Student's interval; none if all draws are of the same traces."""
    if found.drawing == "sample":
        return mean(found.values)
    n = len(found.values)
    return _students(sum(found.values) / n, found.variance, n - 1, n, found.drawing)


def change(first: OverDraws, second: OverDraws) -> Interval:
    """Return how the mean over draws changed, with Welch's interval; none if draws are of the same traces."""
    if first.drawing == second.drawing == "sample":
        return difference(first.values, second.values)
    sizes = [len(one.values) for one in (first, second)]
    value = sum(second.values) / sizes[1] - sum(first.values) / sizes[0]
    parts = [one.variance for one in (first, second)]
    weights = sum(part**2 / (n - 1) for part, n in zip(parts, sizes, strict=True) if n > 1)
    degrees = sum(parts) ** 2 / weights if weights else float(min(sizes) - 1)
    drawing = first.drawing if second.drawing == "sample" else second.drawing
    return _students(value, sum(parts), degrees, min(sizes), "all" if first.drawing == "all" else drawing)


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
    return OverDraws(tuple(known), period.drawing)


def share_over(column: str, value: float) -> pl.Expr:
    """Return the share of rows whose value is larger."""
    return (pl.col(column) > value).mean()


def share_under(column: str, value: float) -> pl.Expr:
    """Return the share of rows whose value is smaller."""
    return (pl.col(column) < value).mean()


def largest_k(period: Period) -> int:
    """Return the largest K of a period's routes."""
    return int(rows_of(period)["k"].to_numpy().max())
