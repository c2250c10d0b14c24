"""Paired comparisons: two contenders under the same losses, replication by replication.

They are tested in `crates/stats/src/pairs.rs`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from haltere import _core
from haltere.stats.intervals import Interval


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
    def _pairs(self) -> _core.Pairs:
        return _core.Pairs(list(self.logarithms), self.exact, self.confidence)

    @cached_property
    def p(self) -> float | None:
        """The two-sided p-value; None where every pair is the same and no test is needed."""
        return self._pairs.p()

    @cached_property
    def ratio(self) -> Interval:
        """The trimmed geometric mean of a/b, with its interval."""
        return Interval.of(self._pairs.ratio(), self.n, self.confidence)

    def within(self, least: float, most: float) -> bool:
        """Whether the interval of the ratio lies between two ratios around its estimate."""
        return self._pairs.within(least, most)

    @property
    def real(self) -> bool | None:
        """Whether the difference is real: True, False (no evidence of one), or None (too few pairs to say)."""
        return self._pairs.real()


def paired(a: Sequence[float], b: Sequence[float], confidence: float = 0.95) -> Paired:
    """Compare positive values of two contenders; `a[i]` and `b[i]` come from the same replication.

    Below 6 pairs no outcome can be significant at 95 %, and there is no interval.

    Raises:
        ValueError: if the lists differ in length, are empty, or hold a value that is not positive and finite.
    """
    x, y = [float(value) for value in a], [float(value) for value in b]
    if len(x) != len(y) or not x:
        raise ValueError(f"a paired comparison needs two lists of the same length, got {len(x)} and {len(y)}")
    if not all(math.isfinite(value) and value > 0 for value in (*x, *y)):
        raise ValueError("a paired comparison needs positive finite values")
    logarithms, exact = _core.Pairs.logarithms(x, y)
    return Paired(tuple(logarithms), exact, confidence)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjust p-values for having made several comparisons; None stays None.

    Source: S. Holm, "A Simple Sequentially Rejective Multiple Test Procedure", Scand. J. Statist. 6(2), 1979.
    """
    adjusted = iter(_core.holm([p for p in p_values if p is not None]))
    return [None if p is None else next(adjusted) for p in p_values]
