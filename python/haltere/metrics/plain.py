"""Numbers and intervals as sentences and tables of a terminal have them."""

from __future__ import annotations

import math

from haltere.stats import Interval


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
    return f"{value}{between}[{number(estimate.low * scale, digits)}, {number(estimate.high * scale, digits)}]"
