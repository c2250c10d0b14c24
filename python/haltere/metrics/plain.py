"""Numbers and intervals as sentences and tables of a terminal have them."""

from __future__ import annotations

import math

from haltere.stats import Interval

_NOTHING = 1e-6
"""An end that is nearer to 0 than this share of the value is written as 0."""


def number(value: float, digits: int = 4) -> str:
    """Return a number with some significant digits, without exponent; a whole number stays one.

    A narrow space separates thousands, as a comma would look like another number of an interval.
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    if value == round(value) and abs(value) < 10**digits:
        return f"{value:.0f}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{decimals}f}".replace(",", "\u202f")


def interval(estimate: Interval, scale: float = 1.0, digits: int = 4, between: str = " ") -> str:
    """Return `7.21 [7.10, 7.35]`, or the bare value if there is no interval or nothing varies."""
    value = number(estimate.value * scale, digits)
    if estimate.low is None or estimate.high is None or estimate.exact:
        return value
    ends = (0.0 if abs(end) < _NOTHING * abs(estimate.value) else end for end in (estimate.low, estimate.high))
    low, high = (number(end * scale, digits) for end in ends)
    return f"{value}{between}[{low}, {high}]"
