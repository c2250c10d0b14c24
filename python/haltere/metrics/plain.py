"""Numbers and intervals as sentences and tables of a terminal have them (`crates/stats/src/plain.rs`)."""

from __future__ import annotations

from haltere import _core
from haltere.stats import Interval


def number(value: float, digits: int = 4) -> str:
    """Return a number with some significant digits, without exponent; a whole number stays one.

    A narrow space separates thousands, as a comma would look like another number of an interval.
    """
    return _core.plain_number(value, digits)


def interval(estimate: Interval, scale: float = 1.0, digits: int = 4, between: str = " ") -> str:
    """Return `7.21 [7.10, 7.35]`, or the bare value if there is no interval or nothing varies."""
    low, high = estimate.low, estimate.high
    ends = None if low is None or high is None or estimate.exact else (low, high)
    return _core.plain_interval(estimate.value, ends, scale, digits, between)
