"""The one rule by which a comparison is read, in reports, in claims and in `haltere compare`.

A comparison is *alike* if its whole interval lies within the margin of practical equivalence. Otherwise one side is
ahead if the interval lies wholly on one side of equality. Anything else is unclear.
"""

from __future__ import annotations

from typing import Literal

from haltere.stats.intervals import Interval

ALIKE = 0.05
"""The margin of practical equivalence of ratios: 1/1.05 to 1.05 makes no practical difference."""

Side = Literal["above", "below", "alike", "unclear"]
"""Where an interval stands: above equality, below it, within the margin, or not decided."""


def ratio_margins(alike: float = ALIKE) -> tuple[float, float]:
    """Return the ends of the range of ratios that make no practical difference."""
    return 1 / (1 + alike), 1 + alike


def side(found: Interval | None, least: float, most: float, equal: float) -> Side:
    """Return where a comparison stands, by its interval.

    Args:
        found: the comparison; without an interval it is unclear.
        least: lower end of the margin of practical equivalence.
        most: its upper end.
        equal: the value of two that are equal: 1 for ratios, 0 for differences.
    """
    if found is None or found.low is None or found.high is None:
        return "unclear"
    if least <= found.low and found.high <= most:
        return "alike"
    if found.low > equal:
        return "above"
    return "below" if found.high < equal else "unclear"
