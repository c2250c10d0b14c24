"""Trimmed means of paired differences: estimate, interval and test of one statistic.

Of ten values the smallest and the largest are left out, of twenty two on each side, and so on; of fewer than ten none.
One odd value among ten therefore moves neither the estimate nor the verdict.

Up to `EXACT` values the test flips the signs of the values in all ways: under chance alone each way is as likely
(R. A. Fisher, "The Design of Experiments", 1935, section 21). The interval holds every shift that the test does not
reject. So the p-value is at most α exactly where the interval of confidence 1 − α leaves out 0. Beyond, both are
Student's, with the deviation of the winsorised values (J. W. Tukey, D. H. McLaughlin, "Less vulnerable confidence and
significance procedures for location based on a single sample", Sankhyā A 25, 1963).
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from haltere.stats.intervals import SAME, Interval, from_logarithms

METHOD = "sign flips of the trimmed mean"
STUDENT = "Student's t of the trimmed mean"
EXACT = 13
"""Up to so many values all ways to flip the signs are counted."""
_STEPS = 34
"""Halvings of the range in which an end of an interval lies."""

Floats = NDArray[np.float64]


def trimmed(n: int) -> int:
    """Return how many of `n` values are left out on each side: a tenth."""
    return n // 10


def trimmed_mean(values: ArrayLike, confidence: float = 0.95) -> Interval:
    """Return the trimmed mean with its interval, which is missing if there are too few values for this confidence.

    Raises:
        ValueError: if there are no values or some are not finite.
    """
    array = _checked(values)
    n, value = array.size, trimmed_middle(array)
    if n > EXACT:
        half = float(special.stdtrit(_freedom(n), (1 + confidence) / 2)) * _error(array)
        return Interval(value, value - half, value + half, n, confidence, STUDENT)
    alpha = 1 - confidence
    if 2.0 ** (1 - n) > alpha * (1 + 1e-12):
        return Interval(value, None, None, n, confidence, "too few values")
    low, high = (_end(array, value, outer, alpha) for outer in (float(array.min()), float(array.max())))
    return Interval(value, low, high, n, confidence, METHOD)


def typical(values: ArrayLike, confidence: float = 0.95) -> Interval:
    """Return the trimmed mean with its interval, of the logarithms where all values are positive.

    Ratios of pairs are trimmed means of logarithms as well (`haltere.stats.pairs`). Values that are all the same are
    exact; of fewer than six there is no interval.

    Raises:
        ValueError: if there are no values or some are not finite.
    """
    array = _checked(values)
    if array.size > 1 and (array == array[0]).all():
        same = float(array[0])
        return Interval(same, same, same, array.size, confidence, SAME)
    if array.size == 1:
        return Interval(float(array[0]), None, None, 1, confidence, "too few values")
    if (array > 0).all():
        return from_logarithms(trimmed_mean(np.log(array), confidence))
    return trimmed_mean(array, confidence)


def p_of_shift(values: ArrayLike, shift: float = 0.0) -> float:
    """Return the two-sided p-value of the test that the values lie symmetrically around a shift."""
    array = _checked(values) - shift
    n = array.size
    if n > EXACT:
        error = _error(array)
        if error == 0:
            return 1.0 if trimmed_middle(array) == 0 else 0.0
        return float(2 * special.stdtr(_freedom(n), -abs(trimmed_middle(array)) / error))
    if not array.any():
        return 1.0
    sizes = np.abs(array)
    signs, agreeing = _all_signs(n)
    sums = sizes @ signs
    if trimmed(n):  # of up to `EXACT` values, one on each side
        flipped = signs * sizes[:, None]
        sums -= flipped.max(axis=0) + flipped.min(axis=0)
    # Ways whose sums are the same are told apart by how many signs agree; sums in another order differ by rounding.
    scale = float(sizes.sum())
    extreme = np.abs(sums) + 1e-9 * scale * np.sign(sums) * agreeing
    own = float(extreme[_place(array)])
    return float((extreme >= own - 1e-12 * scale).mean())


def _checked(values: ArrayLike) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or array.size == 0 or not np.isfinite(array).all():
        raise ValueError(f"an interval needs a non-empty list of finite numbers, got {array.tolist()}")
    return array


def trimmed_middle(values: ArrayLike) -> float:
    """Return the trimmed mean without an interval."""
    array = np.asarray(values, dtype=np.float64)
    cut = trimmed(array.size)
    return float(np.sort(array)[cut : array.size - cut].mean())


def _freedom(n: int) -> int:
    return n - 2 * trimmed(n) - 1


def _error(array: Floats) -> float:
    """The standard error of the trimmed mean."""
    n, cut = array.size, trimmed(array.size)
    ordered = np.sort(array)
    ordered[:cut], ordered[n - cut :] = ordered[cut], ordered[n - cut - 1]
    return float(ordered.std(ddof=1)) * math.sqrt(n) / (n - 2 * cut)


def _end(array: Floats, value: float, outer: float, alpha: float) -> float:
    """The shift between the estimate and a value beyond all others where the test begins to reject."""
    accepted, rejected = value, outer + (outer - value) * 1e-6
    if min(value, outer) < 0 < max(value, outer):
        # Whether 0 is outside decides the verdict: the end lies on that side of it.
        if p_of_shift(array) > alpha * (1 + 1e-12):
            accepted = 0.0
        else:
            rejected = 0.0
    for _ in range(_STEPS):
        middle = (accepted + rejected) / 2
        if p_of_shift(array, middle) > alpha * (1 + 1e-12):
            accepted = middle
        else:
            rejected = middle
    return accepted


@lru_cache(maxsize=16)
def _all_signs(n: int) -> tuple[Floats, Floats]:
    """All ways to give n values signs, a column each, and the sums of the columns.

    The last value keeps its sign, as flipping all of them changes no distance from 0.
    """
    bits = np.arange(2 ** (n - 1)) >> np.arange(n)[:, None]
    signs = np.where(bits & 1, -1.0, 1.0)
    return signs, signs.sum(axis=0)


def _place(array: Floats) -> int:
    """The column of `_all_signs` with the signs of these values, or with all of them flipped."""
    negative = array < 0
    if negative[-1]:
        negative = ~negative
    return int((negative * (1 << np.arange(array.size))).sum())
