"""Jain's fairness index."""

from __future__ import annotations

import math
from collections.abc import Sequence


def jain(rates: Sequence[float]) -> float:
    """Return Jain's index of some rates, (sum of x) squared over n times the sum of x squared.

    1 when all get the same, 1/n when one gets everything; nan when nobody gets anything.

    Raises:
        ValueError: if there are no rates or one is negative or not finite.

    Source: R. Jain, D.-M. Chiu, W. Hawe, "A Quantitative Measure of Fairness and Discrimination for Resource
    Allocation in Shared Computer Systems", DEC-TR-301, 1984.
    """
    if not rates or any(rate < 0 or not math.isfinite(rate) for rate in rates):
        raise ValueError(f"Jain's index needs finite rates of at least 0, got {list(rates)}")
    largest = max(rates)
    if largest == 0:
        return math.nan
    shares = [rate / largest for rate in rates]  # the index does not depend on the scale, and squares cannot overflow
    return math.fsum(shares) ** 2 / (len(shares) * math.fsum(share * share for share in shares))
