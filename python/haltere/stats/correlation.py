"""Spearman's rank correlation with a confidence interval, for rows that are independent and for rows that are not."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from haltere.stats.intervals import Interval

RESAMPLES = 1999

_DRAWN_AT_ONCE = 1 << 18
"""Groups drawn at a time: what is made of them fits into a processor's cache."""

_Floats = npt.NDArray[np.float64]


def spearman(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    counts: npt.ArrayLike | None = None,
    groups: npt.ArrayLike | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> Interval:
    """Return Spearman's coefficient of the rows (x, y), ties by mid-ranks, with its interval.

    Rows that are independent have the interval of Fisher's transformation with Bonett and Wright's variance,
    (1 + r²/2) / (n - 3). Rows that are not, such as the K paths of a pair, are given with their group (the pair):
    groups are then drawn with replacement, `RESAMPLES` times from a seeded stream, and the interval is between the
    percentiles. What is independent must be a group: the pairs of a source share its neighbourhood, so that the
    interval by pairs holds for these sources, and one that shall hold for others takes the source as the group and has
    but as many groups.

    Ranks are not taken anew in each resample: how they change with it is taken to the first order (the influence
    function of the coefficient, that of its ranks included), so that a resample costs as many steps as there are
    groups and a million rows take seconds. With a handful of groups that, as any bootstrap, is rough.

    Args:
        x: numbers, one a row.
        y: numbers, as many.
        counts: how often each row stands, for tables of counts: the same as writing the row out so often.
        groups: the group of each row, as whole numbers.
        confidence: of the interval.
        seed: of the bootstrap.

    Returns:
        The coefficient; nan if x or y has one value only. `low` and `high` are None where it is nan, where ranks agree
        wholly (±1), of fewer than 4 rows, and of fewer than 3 groups.

    Raises:
        ValueError: if lengths differ, a number is not finite, or a count is negative.

    Sources: D. G. Bonett, T. A. Wright, "Sample size requirements for estimating Pearson, Kendall and Spearman
    correlations", Psychometrika 65, 2000; C. Croux, C. Dehon, "Influence functions of the Spearman and Kendall
    correlation measures", Statistical Methods & Applications 19, 2010; C. A. Field, A. H. Welsh, "Bootstrapping
    clustered data", J. R. Statist. Soc. B 69, 2007.
    """
    rows = _Rows.checked(x, y, counts)
    value, n = rows.coefficient(), round(float(rows.weights.sum()))
    if math.isnan(value) or 1 - abs(value) < 1e-12:
        return Interval(value, None, None, n, confidence, "no variation" if math.isnan(value) else "ranks agree")
    if n < 4:
        return Interval(value, None, None, n, confidence, "too few rows")
    if groups is None:
        half = float(special.ndtri((1 + confidence) / 2)) * math.sqrt((1 + value**2 / 2) / (n - 3))
        z = math.atanh(value)
        return Interval(value, math.tanh(z - half), math.tanh(z + half), n, confidence, "Bonett and Wright")
    low, high, method = _by_groups(rows, np.asarray(groups), confidence, seed)
    return Interval(value, low, high, n, confidence, method)


@dataclass(frozen=True)
class _Rows:
    """Rows with their weights, and the rank of each among the different values of x and of y."""

    x: npt.NDArray[np.intp]
    y: npt.NDArray[np.intp]
    weights: _Floats

    @classmethod
    def checked(cls, x: npt.ArrayLike, y: npt.ArrayLike, counts: npt.ArrayLike | None) -> _Rows:
        values, others = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
        weights = np.ones(values.shape) if counts is None else np.asarray(counts, dtype=np.float64)
        if values.ndim != 1 or values.shape != others.shape or values.shape != weights.shape:
            raise ValueError(f"a correlation needs lists of the same length, got {values.shape} and {others.shape}")
        if not (np.isfinite(values).all() and np.isfinite(others).all() and np.isfinite(weights).all()):
            raise ValueError("a correlation needs finite numbers: leave out rows that lack one")
        if (weights < 0).any() or not weights.any():
            raise ValueError("a correlation needs rows, and counts that are not negative")
        return cls(np.unique(values, return_inverse=True)[1], np.unique(others, return_inverse=True)[1], weights)

    def ranks(self, places: npt.NDArray[np.intp]) -> _Floats:
        """Mid-ranks over the number of rows: the share of rows with less, and half of that with the same. Mean 1/2."""
        share = np.bincount(places, self.weights) / self.weights.sum()
        ranks: _Floats = (np.cumsum(share) - share / 2)[places]
        return ranks

    def mean(self, values: _Floats) -> float:
        return float(values @ self.weights) / float(self.weights.sum())

    def coefficient(self) -> float:
        f, g = self.ranks(self.x) - 0.5, self.ranks(self.y) - 0.5
        scale = math.sqrt(self.mean(f * f) * self.mean(g * g))
        return max(-1.0, min(1.0, self.mean(f * g) / scale)) if scale > 0 else math.nan

    def later(self, places: npt.NDArray[np.intp], values: _Floats) -> _Floats:
        """Of each row, the mean over all of `values` where the rank is higher, by half where it is the same.

        So much does a mean of ranks times `values` rise with the weight of the row, by way of the ranks.
        """
        sums = np.bincount(places, self.weights * values) / self.weights.sum()
        later: _Floats = (sums.sum() - np.cumsum(sums) + sums / 2)[places]
        return later

    def influences(self) -> tuple[tuple[float, _Floats], ...]:
        """Of the mean products of ranks xy, xx and yy: their value, and the influence of each row on it."""
        f, g = self.ranks(self.x), self.ranks(self.y)
        moments = []
        for first, second, by_first, by_second in (
            (f, g, self.later(self.x, g), self.later(self.y, f)),
            (f, f, self.later(self.x, f), self.later(self.x, f)),
            (g, g, self.later(self.y, g), self.later(self.y, g)),
        ):
            value = self.mean(first * second)
            moments.append((value, first * second + by_first + by_second - 3 * value))
        return tuple(moments)


def _by_groups(
    rows: _Rows, groups: npt.NDArray[np.generic], confidence: float, seed: int
) -> tuple[float | None, float | None, str]:
    if groups.shape != rows.x.shape:
        raise ValueError(f"a correlation needs a group for each row, got {groups.shape} for {rows.x.shape}")
    group = np.unique(groups, return_inverse=True)[1]
    sizes = np.bincount(group, rows.weights)
    moments = rows.influences()
    sums = np.stack([sizes, *(np.bincount(group, rows.weights * influence) for _, influence in moments)])
    sums = sums[:, sizes > 0]
    n = sums.shape[1]
    if n < 3:
        return None, None, "too few groups"
    generator = np.random.default_rng(seed)
    at_once = max(1, _DRAWN_AT_ONCE // n)
    resampled = np.concatenate(
        [_resampled(sums, min(at_once, RESAMPLES - done), generator) for done in range(0, RESAMPLES, at_once)]
    )
    # Deviations of mean products of ranks; the mean of ranks is 1/2 whatever the rows.
    xy, xx, yy = (value - 0.25 + resampled[:, i + 1] / resampled[:, 0] for i, (value, _) in enumerate(moments))
    defined = (xx > 0) & (yy > 0)
    coefficients = np.clip(xy[defined] / np.sqrt(xx[defined] * yy[defined]), -1, 1)
    if coefficients.size < RESAMPLES / 2:
        return None, None, "too few groups"
    low, high = np.quantile(coefficients, ((1 - confidence) / 2, (1 + confidence) / 2))
    return float(low), float(high), f"bootstrap of {n} groups"


def _resampled(sums: _Floats, resamples: int, generator: np.random.Generator) -> _Floats:
    """The sums over as many groups, drawn with replacement; one row a resample."""
    n = sums.shape[1]
    drawn = generator.integers(0, n, (resamples, n)) + np.arange(0, resamples * n, n)[:, None]
    times = np.bincount(drawn.ravel(), minlength=resamples * n).reshape(resamples, n)
    total: _Floats = times @ sums.T
    return total
