"""Statistics of the K shortest paths of partial views. The independent unit is the draw: a view and its pairs.

A table of routes has a row a path: `draw`, `k` from 1, `hops`, `delay_us`, `difference` (to the pair's shortest path,
null for itself), `diversity` (the mean difference of the pair's paths), and, where nodes are located, `dispersion`
(D_g), `delay_dispersion` (ρ) and `least_delay_us`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from haltere.paths.periods import Period
from haltere.report.comparison import MissingDataError
from haltere.stats import Interval, difference, mean, spearman

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


def by_draw(period: Period, value: pl.Expr, *needs: str, k: int | None = None) -> list[float]:
    """Return an aggregate of the routes of each draw, in their order; of which routes, `rows_of` says."""
    found = rows_of(period, *needs, k=k).group_by("draw").agg(value.alias("value")).sort("draw")["value"]
    return [float(one) for one in found.drop_nulls().drop_nans()]


def estimate(values: Sequence[float]) -> Interval:
    """Return the mean over draws, with Student's interval."""
    return mean(values)


def change(first: Sequence[float], second: Sequence[float]) -> Interval:
    """Return how the mean over draws changed, with Welch's interval."""
    return difference(first, second)


def spearman_of(period: Period, correlation: Correlation) -> list[float]:
    """Return Spearman's coefficient of the two columns in each draw."""
    rows = rows_of(period, correlation.x, correlation.y).select("draw", correlation.x, correlation.y)
    parts = rows.partition_by("draw", maintain_order=True)
    found = [spearman(part[correlation.x], part[correlation.y]).value for part in parts]
    known = [value for value in found if not math.isnan(value)]
    if not known:
        raise MissingDataError(f"the paths of {period.name} are all alike in {correlation.name}")
    return known


def share_over(column: str, value: float) -> pl.Expr:
    """Return the share of rows whose value is larger."""
    return (pl.col(column) > value).mean()


def share_under(column: str, value: float) -> pl.Expr:
    """Return the share of rows whose value is smaller."""
    return (pl.col(column) < value).mean()


def largest_k(period: Period) -> int:
    """Return the largest K of a period's routes."""
    return int(rows_of(period)["k"].to_numpy().max())
