"""Waterfalls: the steps that lead from one value to another, as bars that begin where the last one ended."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from haltere.figures.parts import AnyMark, Axis, Dot, Figure, Line, Panel, Rect, Series, Text

PALE = 0.4
"""Opacity of bars that are not clear."""


@dataclass(frozen=True)
class Step:
    """A bar: its label, the text at it, where it begins and ends, and whether the effect is shown to be real."""

    label: str
    text: str
    begin: float
    end: float
    clear: bool


def waterfall(
    title: str, axis: str, first: tuple[str, float], last: tuple[str, float], steps: Sequence[Step], *, log: bool
) -> Figure:
    """A figure with a bar a row, the first value on top; with `log`, equal factors have equal lengths."""
    ends = [first[1], last[1], *(end for step in steps for end in (step.begin, step.end))]
    low, high = _range(min(ends), max(ends), log=log)
    names = [first[0], *(step.label for step in steps), last[0]]
    y = Axis("", len(names) - 0.5, -0.5, names=list(enumerate(names)), listed=True)
    bars: dict[str, list[AnyMark]] = {"up": [], "down": []}
    # The axis does not begin at 0, so that a bar from its edge would say nothing.
    ink: list[AnyMark] = []
    for row, (name, value) in ((0, first), (len(names) - 1, last)):
        ink += [Dot(value, row, place=name, value=plain(value)), Text(value, row, plain(value))]
    for row, step in enumerate(steps, 1):
        left, right = sorted((step.begin, step.end))
        bar = Rect(
            (left, right), (row - 0.31, row + 0.31), 1.0 if step.clear else PALE, place=step.label, value=step.text
        )
        bars["up" if step.end > step.begin else "down"].append(bar)
        ink.append(Text(right, row, step.text, "plain" if step.clear else "faint"))
    joints = [*(step.begin for step in steps), last[1]]
    ink += [Line([(at, row - 0.31), (at, row + 1.31)], strength=0.4) for row, at in enumerate(joints)]
    series = [*(Series(look, "", marks) for look, marks in bars.items()), Series("ink", "", ink)]
    return Figure("waterfall", title, [Panel("", Axis(axis, low, high, log), y, series)], wide=True)


def _range(low: float, high: float, *, log: bool) -> tuple[float, float]:
    """Return an axis with room to the left, where the first bars begin, and to the right, where texts stand."""
    if log:
        width = max(math.log(high / low), 0.02)
        return low * math.exp(-0.12 * width), high * math.exp(0.2 * width)
    width = max(high - low, 1e-12)
    return low - 0.12 * width, high + 0.2 * width


def plain(value: float) -> str:
    """Return a number with three digits, or whole if it is larger, and without an exponent."""
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"
