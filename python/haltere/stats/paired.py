"""Paired comparisons: two contenders under the same losses, replication by replication."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from haltere.stats.intervals import Interval, mean

PERMUTATIONS = 9999


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
    from scipy.stats import permutation_test  # slow to import, and many commands never test anything

    test = permutation_test(
        (logs,),
        lambda sample, axis: np.mean(sample, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=PERMUTATIONS,
        rng=np.random.default_rng(seed),
    )
    return Paired(x.size, ratio, difference, float(test.pvalue), confidence)


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
