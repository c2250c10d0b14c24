"""Numbers as figures and tables write them, and how strongly a comparison is coloured."""

from __future__ import annotations

import math

from haltere.metrics import Metric

OPACITY = 0.6
"""The strongest colour of a cell of an overview: text on it stays readable on light and dark ground."""


PALE = 0.3
"""Opacity of a cell's colour where the runs do not decide who is ahead."""


def significant(value: float, digits: int = 3) -> str:
    """The value with this many significant digits and no exponent: 0.0123, 4.56, 1230; spaces between thousands."""
    if not math.isfinite(value):
        return "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    return fixed(value, decimals(value, digits))


def decimals(value: float, digits: int = 3) -> int:
    """How many decimals show this many significant digits of the value."""
    if value == 0 or not math.isfinite(value):
        return 0
    return max(0, digits - 1 - math.floor(math.log10(abs(value))))


def fixed(value: float, places: int) -> str:
    """The value with so many decimals, a thin space between thousands, and a true minus sign."""
    text = f"{value:,.{places}f}".replace(",", "\u202f").replace("-", "−")
    return text.lstrip("−") if not text.strip("−0.,\u202f") else text


def number(value: float, comparison: str) -> str:
    """A comparison as a cell shows it: a ratio with two or three digits, a difference with its sign."""
    if comparison == "ratio":
        return f"{value:.3f}".removeprefix("0") if value < 0.0995 else f"{value:.{2 if value < 9.95 else 0}f}"
    rounded = f"{value:+.2f}".replace("-", "−")
    return "0" if rounded in ("+0.00", "−0.00") else rounded.replace("0.", ".", 1)


def strength(value: float, metric: Metric, *, clear: bool) -> tuple[str, float]:
    """Which level a comparison favours (`of` or `to`), and the opacity of its colour.

    Full opacity is reached at the ratio or difference that the metric names; what is not clear stays pale.
    """
    if metric.comparison == "ratio":
        signed, full = math.log(value), math.log(metric.full)
    else:
        signed, full = value, metric.full
    side = "of" if (signed > 0) == (metric.better == "higher") else "to"
    return side, OPACITY * (1.0 if clear else PALE) * min(1.0, abs(signed) / full)
