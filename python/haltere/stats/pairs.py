"""Paired comparisons: two contenders under the same losses, replication by replication."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from haltere.stats.intervals import Interval, mean

PERMUTATIONS = 9999
"""Random flips of a test beyond `EXACT` pairs."""
EXACT = 13
"""Up to so many pairs all 2^n ways to flip the signs are counted."""


@dataclass(frozen=True)
class Paired:
    """How `a` compares with `b`.

    `ratio` is the geometric mean of a/b with its interval, `difference` the mean of a - b. `p` is the two-sided
    p-value of the sign-flip permutation test on log(a/b); None where every pair is the same and no test is needed.
    """

    n: int
    ratio: Interval
    difference: Interval
    p: float | None
    confidence: float

    @property
    def exact(self) -> bool:
        """Whether every replication gave the same pair of values: the difference is then a fact, not an estimate."""
        return self.p is None

    @property
    def real(self) -> bool | None:
        """Whether the difference is real: True, False (no evidence of one), or None (too few pairs to say)."""
        return self.verdict_at(self.p)

    def verdict_at(self, p: float | None) -> bool | None:
        """Return `real` for another p-value, such as one adjusted for several comparisons."""
        if p is None:
            return self.ratio.value != 1 if self.n > 1 else None
        if p <= 1 - self.confidence:
            return True
        return None if 2.0 ** (1 - self.n) > 1 - self.confidence else False


def paired(a: Sequence[float], b: Sequence[float], confidence: float = 0.95, seed: int = 0) -> Paired:
    """Compare positive values of two contenders; `a[i]` and `b[i]` come from the same replication.

    The test flips the signs of the log ratios: all 2^n ways up to n = 13, else 9999 seeded random ones. Below 6 pairs
    no outcome can be significant at 95 %.

    Raises:
        ValueError: if the lists differ in length, are empty, or hold a value that is not positive and finite.
    """
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if x.shape != y.shape or x.ndim != 1 or x.size == 0:
        raise ValueError(f"a paired comparison needs two lists of the same length, got {x.size} and {y.size}")
    if not (np.isfinite(x).all() and np.isfinite(y).all() and (x > 0).all() and (y > 0).all()):
        raise ValueError("a paired comparison needs positive finite values")
    logs = np.log(x / y)
    log_ratio = mean(logs, confidence)
    ratio = Interval(
        math.exp(log_ratio.value),
        None if log_ratio.low is None else math.exp(log_ratio.low),
        None if log_ratio.high is None else math.exp(log_ratio.high),
        log_ratio.n,
        confidence,
        log_ratio.method,
    )
    difference = mean(x - y, confidence)
    if (x == x[0]).all() and (y == y[0]).all():
        return Paired(x.size, ratio, difference, None, confidence)
    return Paired(x.size, ratio, difference, float(sign_flip(logs[None, :], seed=seed)[0]), confidence)


def sign_flip(logs: ArrayLike, *, corrections: int = 1, seed: int = 0) -> NDArray[np.float64]:
    """Return the two-sided p-value of each row: how often its mean is as far from 0 when signs are flipped at random.

    One set of flips serves all rows. All 2^n are counted up to n = 13; beyond, 9999 seeded random ones, or more if the
    p-values are to be corrected for so many tests that fewer could not show anything.

    Args:
        logs: a row a test, a column a replication.
        corrections: for how many tests the p-values will be corrected.
        seed: of the random flips.
    """
    rows = np.asarray(logs, dtype=np.float64)
    n = rows.shape[1]
    signs = _all_signs(n) if n <= EXACT else _random_signs(n, max(PERMUTATIONS, 200 * corrections), seed)
    least = np.abs(rows.sum(axis=1)) - 1e-12 * np.abs(rows).sum(axis=1)  # sums in another order differ by rounding
    beyond = np.zeros(len(rows))
    for begin in range(0, len(signs), 4096):
        beyond += (np.abs(signs[begin : begin + 4096] @ rows.T) >= least).sum(axis=0)
    found: NDArray[np.float64] = beyond / len(signs) if n <= EXACT else (beyond + 1) / (len(signs) + 1)
    return found


@lru_cache(maxsize=4)
def _all_signs(n: int) -> NDArray[np.float64]:
    """All ways to flip n signs but for the first, as flipping all of them changes no distance from 0."""
    bits = np.arange(2 ** (n - 1))[:, None] >> np.arange(n)
    return np.where(bits & 1, -1.0, 1.0)


@lru_cache(maxsize=4)
def _random_signs(n: int, count: int, seed: int) -> NDArray[np.float64]:
    return np.where(np.random.default_rng(seed).integers(0, 2, (count, n)), -1.0, 1.0)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjust p-values for having made several comparisons; None stays None.

    Source: S. Holm, "A Simple Sequentially Rejective Multiple Test Procedure", Scand. J. Statist. 6(2), 1979.
    """
    order = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, index) in enumerate(order):
        largest = max(largest, min(1.0, p * (len(order) - rank)))
        adjusted[index] = largest
    return adjusted
