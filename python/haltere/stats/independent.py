"""Comparison of two independent sets of values."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import special

from haltere.stats.intervals import Interval


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
