"""Student's t test of paired differences and Welch's of independent sets: p-values, and a difference's interval."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import special

from haltere.stats.intervals import Interval

Values = NDArray[np.float64]


def paired_p(differences: Values) -> float | None:
    """Return the two-sided p-value of Student's t test that the mean is 0; None if all differences are the same."""
    n = differences.size
    if (differences == differences[0]).all():
        return None
    t = float(differences.mean()) / (float(differences.std(ddof=1)) / math.sqrt(n))
    return 2 * float(special.stdtr(n - 1, -abs(t)))


def welch_p(a: Values, b: Values) -> float | None:
    """Return the two-sided p-value of Welch's t test that the means are equal; None if neither side varies."""
    if all((values == values[0]).all() for values in (a, b)):
        return None
    parts = [float(values.var(ddof=1)) / values.size if values.size > 1 else 0.0 for values in (a, b)]
    variance = sum(parts)
    degrees = variance**2 / sum(part**2 / max(1, v.size - 1) for part, v in zip(parts, (a, b), strict=True))
    t = (float(b.mean()) - float(a.mean())) / math.sqrt(variance)
    return 2 * float(special.stdtr(degrees, -abs(t)))


def difference(first: Sequence[float], second: Sequence[float], confidence: float = 0.95) -> Interval:
    """Return the mean of `second` less that of `first`, with Welch's interval (B. L. Welch, Biometrika 34, 1947).

    There is no interval if one of them has fewer than two values.

    Raises:
        ValueError: if one has no values, or some that are not finite.
    """
    one, other = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if not one.size or not other.size or not np.isfinite(one).all() or not np.isfinite(other).all():
        raise ValueError("a difference needs two non-empty lists of finite numbers")
    value = float(other.mean() - one.mean())
    n = min(one.size, other.size)
    if n < 2:
        return Interval(value, None, None, n, confidence, "too few values")
    parts = [float(values.var(ddof=1)) / values.size for values in (one, other)]
    variance = sum(parts)
    if variance == 0:
        return Interval(value, value, value, n, confidence, "identical values")
    degrees = variance**2 / sum(part**2 / (v.size - 1) for part, v in zip(parts, (one, other), strict=True))
    half = float(special.stdtrit(degrees, (1 + confidence) / 2)) * math.sqrt(variance)
    return Interval(value, value - half, value + half, n, confidence, "Welch's t")
