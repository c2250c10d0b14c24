"""Statistics of the K shortest paths of partial views. The unit of chance is the draw: a view and its pairs.

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


def by_draw(period: Period, value: pl.Expr, *needs: str, k: int | None = None) -> list[float]:
    """Return an aggregate of the routes of each draw, in their order.

    Args:
        period: whose routes.
        value: the aggregate.
        needs: columns without which a route does not count.
        k: only the k-th shortest paths.

    Raises:
        MissingDataError: if the period has no routes, or none that count.
    """
    if period.routes is None:
        raise MissingDataError(f"no partial view was made of {period.name}")
    rows = period.routes if k is None else period.routes.filter(pl.col("k") == k)
    if needs:
        rows = rows.drop_nulls(needs)
    if rows.is_empty():
        raise MissingDataError(f"{period.name} has no path with {' and '.join(needs) or f'K = {k}'}{_why(needs)}")
    found = rows.group_by("draw").agg(value.alias("value")).sort("draw")["value"]
    return [float(one) for one in found.drop_nulls().drop_nans()]


def _why(needs: Sequence[str]) -> str:
    located = {"dispersion", "delay_dispersion", "least_delay_us"}
    return " (give a database of locations with --mmdb)" if located & set(needs) else ""


def estimate(values: Sequence[float]) -> Interval:
    """Return the mean over draws, with Student's interval."""
    return mean(values)


def change(first: Sequence[float], second: Sequence[float]) -> Interval:
    """Return how the mean over draws changed, with Welch's interval."""
    return difference(first, second)


def spearman_of(period: Period, correlation: Correlation) -> list[float]:
    """Return Spearman's coefficient of the two columns in each draw."""
    by_draw(period, pl.len(), correlation.x, correlation.y)  # says what is missing
    assert period.routes is not None  # noqa: S101 - `by_draw` has looked
    rows = period.routes.select("draw", correlation.x, correlation.y).drop_nulls()
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
    """Return the largest K of a period's routes; 0 if it has none."""
    return 0 if period.routes is None or period.routes.is_empty() else int(period.routes["k"].max())  # type: ignore[arg-type]
