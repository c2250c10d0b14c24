"""Maps of effects: a panel a mechanism, a cell a combination of levels, red where it adds and blue where it saves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from haltere.figures import style
from haltere.figures.waterfall import DOWN, UP

ACROSS = 3


@dataclass(frozen=True)
class EffectPanel:
    """A panel: its title, and the effect at row i, column j; None where there is none."""

    title: str
    values: Sequence[Sequence[float | None]]


@dataclass(frozen=True)
class EffectMap:
    """Panels over the same rows and columns; with `log` effects are logarithms and are written as factors."""

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    down: str
    across: str
    panels: Sequence[EffectPanel]
    log: bool


def draw(figure: EffectMap, stem: Path) -> list[Path]:
    """Draw the panels two columns wide; the paths written."""
    across = min(ACROSS, len(figure.panels))
    down = math.ceil(len(figure.panels) / across)
    full = max(abs(v) for panel in figure.panels for row in panel.values for v in row if v is not None) or 1.0
    with style.paper():
        canvas = Figure(figsize=(style.PAGE_IN, down * (0.15 * len(figure.rows) + 0.62) + 0.3))
        grid = canvas.subplots(down, across, squeeze=False)
        for number, (axes, panel) in enumerate(zip(grid.flat, figure.panels, strict=False)):
            _panel(axes, figure, panel, full, first=number % across == 0)
        for axes in list(grid.flat)[len(figure.panels) :]:
            axes.set_axis_off()
        canvas.suptitle(figure.title, x=0.01, ha="left", fontsize=7.5)
        return style.save(canvas, stem)


def _panel(axes: Axes, figure: EffectMap, panel: EffectPanel, full: float, *, first: bool) -> None:
    for y, row in enumerate(panel.values):
        for x, value in enumerate(row):
            if value is None:
                continue
            share = min(1.0, abs(value) / full) ** 0.7
            axes.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=_mix(UP if value > 0 else DOWN, share)))
            text = f"{math.exp(value):.2f}" if figure.log else f"{value:+.2g}"
            axes.text(x, y, text, ha="center", va="center", fontsize=4.6, color="white" if share > 0.7 else style.INK)
    axes.set_xlim(-0.5, len(figure.columns) - 0.5)
    axes.set_ylim(len(figure.rows) - 0.5, -0.5)
    axes.set_xticks(range(len(figure.columns)))
    style.slant(axes, figure.columns, 40)
    axes.set_yticks(range(len(figure.rows)), figure.rows if first else [""] * len(figure.rows))
    axes.tick_params(length=0, labelsize=5)
    axes.spines[:].set_visible(False)
    axes.set_title(panel.title, loc="left", fontsize=6.5)
    if first:
        axes.set_ylabel(figure.down, fontsize=5.5)
    axes.set_xlabel(figure.across, fontsize=5.5)


def _mix(colour: str, weight: float) -> tuple[float, float, float]:
    red, green, blue = to_rgb(colour)
    return (1 - weight * (1 - red), 1 - weight * (1 - green), 1 - weight * (1 - blue))
