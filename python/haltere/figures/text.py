"""Numbers as figures and tables write them, and how strongly a comparison is coloured."""

from __future__ import annotations

import math

from haltere.figures.metrics import Metric

OPACITY = 0.6
"""The strongest colour of a cell of an overview: text on it stays readable on light and dark ground."""


def significant(value: float, digits: int = 3) -> str:
    """The value with this many significant digits and no exponent: 0.0123, 4.56, 1230; spaces between thousands."""
    if not math.isfinite(value):
        return "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{decimals}f}".replace(",", "\u202f").replace("-", "−")


def number(value: float, comparison: str) -> str:
    """A comparison as a cell shows it: a ratio with two or three digits, a difference with its sign."""
    if comparison == "ratio":
        return f"{value:.2f}" if value < 9.95 else f"{value:.0f}"
    rounded = f"{value:+.2f}".replace("-", "−")
    return "0.00" if rounded in ("+0.00", "−0.00") else rounded


def strength(value: float, metric: Metric) -> tuple[str, float]:
    """Which level a comparison favours (`of` or `to`), and the opacity of its colour.

    Full opacity is reached at a ratio of 2 (or a half), or at a difference of five margins.
    """
    if metric.comparison == "ratio":
        signed, full = math.log(value), math.log(2.0)
    else:
        signed, full = value, 5 * metric.alike
    side = "of" if (signed > 0) == (metric.better == "higher") else "to"
    return side, OPACITY * min(1.0, abs(signed) / full)
