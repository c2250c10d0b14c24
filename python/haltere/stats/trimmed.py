"""Trimmed means of paired differences: estimate, interval and test of one statistic.

Of ten values the smallest and the largest are left out, of twenty two on each side, and so on; of fewer than ten none.
One odd value among ten therefore moves neither the estimate nor the verdict. The test and its interval are written in
`crates/stats/src/trimmed.rs`, with their sources, as the playground's page uses them, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from haltere import _core, extras
from haltere.stats.intervals import Interval, checked

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike
else:
    np = extras.module("numpy")  # a comparison needs none of it


def trimmed(n: int) -> int:
    """Return how many of `n` values are left out on each side: a tenth."""
    return n // 10


def trimmed_mean(values: ArrayLike, confidence: float = 0.95) -> Interval:
    """Return the trimmed mean with its interval, which is missing if there are too few values for this confidence.

    Raises:
        ValueError: if there are no values or some are not finite.
    """
    listed = checked(values)
    return Interval.of(_core.trimmed_mean(listed, confidence), len(listed), confidence)


def typical(values: ArrayLike, confidence: float = 0.95) -> Interval:
    """Return the trimmed mean with its interval, of the logarithms where all values are positive.

    Ratios of pairs are trimmed means of logarithms as well (`haltere.stats.pairs`). Values that are all the same are
    exact; of fewer than six there is no interval.

    Raises:
        ValueError: if there are no values or some are not finite.
    """
    listed = checked(values)
    return Interval.of(_core.typical(listed, confidence), len(listed), confidence)


def p_of_shift(values: ArrayLike, shift: float = 0.0) -> float:
    """Return the two-sided p-value of the test that the values lie symmetrically around a shift.

    Raises:
        ValueError: if there are no values or some are not finite.
    """
    return _core.p_of_shift(checked(values), shift)


def trimmed_middle(values: ArrayLike) -> float:
    """Return the trimmed mean without an interval."""
    array = np.asarray(values, dtype=np.float64)
    cut = trimmed(array.size)
    return float(np.sort(array)[cut : array.size - cut].mean())
