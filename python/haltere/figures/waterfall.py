"""Waterfalls: the steps that lead from one value to another, as bars that begin where the last one ended."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator

from haltere.figures import style

UP, DOWN, LEVEL = "#b4533c", "#2f6f9f", "#1a1a1a"
WIDE = 5
"""From this ratio of both ends on a logarithmic axis has ticks at powers of ten and parts of them."""
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


@dataclass(frozen=True)
class Waterfall:
    """A waterfall; with `log` its axis is logarithmic, so that equal factors have equal lengths."""

    title: str
    axis: str
    first: tuple[str, float]
    last: tuple[str, float]
    steps: Sequence[Step]
    log: bool


def draw(waterfall: Waterfall, stem: Path, formats: tuple[str, ...] = ("svg", "pdf")) -> list[Path]:
    """Draw a waterfall one column wide, a bar a row; the paths written."""
    rows = len(waterfall.steps) + 2
    with style.paper():
        canvas = Figure(figsize=(style.COLUMN_IN * 1.35, 0.19 * rows + 0.62))
        axes = canvas.subplots()
        _fill(axes, waterfall)
        if waterfall.title:
            canvas.suptitle(waterfall.title, x=0.01, ha="left", fontsize=7, color=style.QUIET)
        return style.save(canvas, stem, formats)


def _fill(axes: Axes, waterfall: Waterfall) -> None:
    ends = [waterfall.first[1], waterfall.last[1]]
    ends += [end for step in waterfall.steps for end in (step.begin, step.end)]
    low, high = _range(min(ends), max(ends), log=waterfall.log)
    if waterfall.log:
        axes.set_xscale("log")
    axes.set_xlim(low, high)
    _ticks(axes, low, high, log=waterfall.log)
    for row, value in ((0, waterfall.first[1]), (len(waterfall.steps) + 1, waterfall.last[1])):
        # The axis does not begin at 0, so that a bar from its edge would say nothing.
        axes.plot((value,), (row,), marker="D", markersize=4, color=LEVEL)
        axes.text(value, row, f"  {plain(value)}", va="center", ha="left", fontsize=6.5)
    for row, step in enumerate(waterfall.steps, 1):
        left, right = sorted((step.begin, step.end))
        colour = UP if step.end > step.begin else DOWN
        axes.barh(row, right - left, 0.62, left=left, color=colour, alpha=1.0 if step.clear else PALE)
        axes.plot((step.begin, step.begin), (row - 1.31, row + 0.31), color=style.QUIET, linewidth=0.4)
        axes.text(
            right,
            row,
            f" {step.text}",
            va="center",
            ha="left",
            fontsize=6.5,
            color=style.INK if step.clear else style.QUIET,
        )
    final = len(waterfall.steps) + 1
    axes.plot((waterfall.last[1],) * 2, (final - 1.31, final + 0.31), color=style.QUIET, linewidth=0.4)
    labels = [waterfall.first[0], *(step.label for step in waterfall.steps), waterfall.last[0]]
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0, labelsize=6.5)
    axes.set_xlabel(waterfall.axis)


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


def _ticks(axes: Axes, low: float, high: float, *, log: bool) -> None:
    found = _decades(low, high) if log and high / low > WIDE else _steps(low, high)
    axes.xaxis.set_major_locator(FixedLocator(found))
    axes.xaxis.set_ticklabels([f"{tick:.0f}" if abs(tick) >= 1000 else f"{tick:.4g}" for tick in found])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())


def _steps(low: float, high: float) -> list[float]:
    raw = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(size * power for size in (1, 2, 2.5, 5, 10) if size * power >= raw)
    return [n * step for n in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _decades(low: float, high: float) -> list[float]:
    """Return ticks at 1, 2 and 5 of each power of ten; at 1 alone over more than three powers."""
    sizes = (1, 2, 5) if high / low < 1000 else (1,)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [tick for power in powers for size in sizes if low <= (tick := size * 10.0**power) <= high]
