"""Paired comparisons: two contenders under the same losses, replication by replication."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from haltere.stats.intervals import Interval, from_logarithms, mean
from haltere.stats.trimmed import p_of_shift, trimmed_mean, trimmed_middle


@dataclass(frozen=True)
class Paired:
    """How `a` compares with `b`, by the logarithms of a/b in each replication.

    Estimate, interval and p-value are of their trimmed mean (`haltere.stats.trimmed`), so that `p` is at most
    1 - confidence exactly where the interval of `ratio` leaves out 1.
    """

    logarithms: tuple[float, ...]
    exact: bool
    """Whether every replication gave the same pair of values: the difference is then a fact, not an estimate."""
    confidence: float

    @property
    def n(self) -> int:
        """The number of replications."""
        return len(self.logarithms)

    @cached_property
    def p(self) -> float | None:
        """The two-sided p-value; None where every pair is the same and no test is needed."""
        return None if self.exact else p_of_shift(self.logarithms)

    @cached_property
    def ratio(self) -> Interval:
        """The trimmed geometric mean of a/b, with its interval."""
        estimate = mean if self.exact else trimmed_mean
        return from_logarithms(estimate(self.logarithms, self.confidence))

    def within(self, least: float, most: float) -> bool:
        """Whether the interval of the ratio lies between two ratios around its estimate."""
        if self.exact:
            return self.n > 1 and least <= self.ratio.value <= most
        ends = (p_of_shift(self.logarithms, math.log(end)) for end in (least, most))
        middle = math.exp(trimmed_middle(self.logarithms))
        return least <= middle <= most and all(p <= 1 - self.confidence for p in ends)

    @property
    def real(self) -> bool | None:
        """Whether the difference is real: True, False (no evidence of one), or None (too few pairs to say)."""
        if self.p is None:
            return self.ratio.value != 1 if self.n > 1 else None
        if self.p <= 1 - self.confidence:
            return True
        return None if 2.0 ** (1 - self.n) > 1 - self.confidence else False


def paired(a: Sequence[float], b: Sequence[float], confidence: float = 0.95) -> Paired:
    """Compare positive values of two contenders; `a[i]` and `b[i]` come from the same replication.

    Below 6 pairs no outcome can be significant at 95 %, and there is no interval.

    Raises:
        ValueError: if the lists differ in length, are empty, or hold a value that is not positive and finite.
    """
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if x.shape != y.shape or x.ndim != 1 or x.size == 0:
        raise ValueError(f"a paired comparison needs two lists of the same length, got {x.size} and {y.size}")
    if not (np.isfinite(x).all() and np.isfinite(y).all() and (x > 0).all() and (y > 0).all()):
        raise ValueError("a paired comparison needs positive finite values")
    exact = bool((x == x[0]).all() and (y == y[0]).all())
    return Paired(tuple(np.log(x / y).tolist()), exact, confidence)


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


def holm_risks(p_values: Sequence[float], risk: float) -> list[float]:
    """Return the risk at which Holm's method tests each p-value: the adjusted one is at most `risk` where it is met.

    The smallest of m p-values is tested at risk / m, the next at risk / (m - 1), and so on; from the first that is not
    significant on, all are tested at its risk, so that none of them is.
    """
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    risks = [risk] * len(p_values)
    failed: float | None = None
    for rank, index in enumerate(order):
        risks[index] = failed or risk / (len(order) - rank)
        if failed is None and p_values[index] > risks[index]:
            failed = risks[index]
    return risks
