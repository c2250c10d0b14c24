"""Student's t test of paired differences and Welch's of independent sets, by their p-values."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import special

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
