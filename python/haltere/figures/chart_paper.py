"""Charts for paper: drawn with Matplotlib, one column wide, or two for several panels."""

from __future__ import annotations

import math
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator

from haltere.figures import style
from haltere.figures.chart import ChartFigure, ChartPanel, Strand, Ticks
from haltere.figures.plots_paper import set_axis
from haltere.metrics.contenders import look

_ACROSS = 3
"""Panels that stand side by side at most."""


def draw_chart(figure: ChartFigure, stem: Path, font: str = "") -> list[Path]:
    """Draw a chart; the paths written."""
    with style.paper(font):
        count = len(figure.panels)
        across = min(_ACROSS, count)
        down = math.ceil(count / across)
        width = style.COLUMN_IN if count == 1 else style.PAGE_IN
        canvas = Figure(figsize=(width, 0.45 + 1.9 * down))
        grid = canvas.subplots(down, across, sharex=True, sharey=True, squeeze=False)
        for place, axes in enumerate(grid.flat):
            if place < count:
                _panel(axes, figure, figure.panels[place])
                axes.label_outer()
            else:
                axes.set_visible(False)
        for column in range(across):  # a column that ends early has its labels at its last panel
            last = grid[(count - 1 - column) // across][column]
            last.xaxis.set_tick_params(labelbottom=True)
            last.set_xlabel(figure.x.label)
        if count == 1:
            grid[0][0].set_title(figure.title, loc="left", color=style.QUIET)
        style.legend(canvas, [_key(strand) for strand in figure.legend])
        return style.save(canvas, stem)


def _panel(axes: Axes, figure: ChartFigure, panel: ChartPanel) -> None:
    set_axis(axes, figure.x, "x")
    set_axis(axes, figure.y, "y")
    _name(axes, "x", figure.x_ticks)
    _name(axes, "y", figure.y_ticks)
    if panel.title:
        axes.set_title(panel.title, loc="left", color=style.QUIET)
    for strand in panel.strands:
        shown = look(strand.look)
        for shape in strand.shapes:
            xs, ys = zip(*shape.points, strict=True)
            axes.fill(xs, ys, facecolor=shown.light, alpha=shape.strength, linewidth=0)
            if shape.text:
                axes.text(sum(xs) / len(xs), sum(ys) / len(ys), shape.text, ha="center", va="center", fontsize=6)
    for strand in panel.strands:
        _strand(axes, strand)


def _strand(axes: Axes, strand: Strand) -> None:
    shown = look(strand.look)
    if strand.line:
        xs, ys = zip(*strand.line, strict=True)
        steps = "steps-post" if strand.steps else "default"
        axes.plot(xs, ys, color=shown.light, linestyle=shown.line, linewidth=1.0, drawstyle=steps)
    for dot in strand.dots:
        if dot.low is not None and dot.high is not None:
            axes.plot([dot.x, dot.x], [dot.low, dot.high], color=shown.light, linewidth=0.8)
    if strand.dots and not strand.steps:
        size = 3.2 if strand.line or strand.shapes else 2.4
        axes.plot(
            [dot.x for dot in strand.dots],
            [dot.y for dot in strand.dots],
            linestyle="none",
            marker=shown.marker,
            markersize=size,
            color=shown.light,
        )


def _name(axes: Axes, side: str, ticks: Ticks) -> None:
    """Name places on an axis instead of round numbers."""
    if not ticks:
        return
    which = axes.xaxis if side == "x" else axes.yaxis
    which.set_major_locator(FixedLocator([at for at, _ in ticks]))
    which.set_ticklabels([text for _, text in ticks])
    if side == "x" and sum(len(text) for _, text in ticks) > 34:
        style.slant(axes, [text for _, text in ticks])


def _key(strand: Strand) -> Line2D:
    shown = look(strand.look)
    marker = None if strand.steps else shown.marker
    key = Line2D([], [], color=shown.light, marker=marker, markersize=3.2, label=strand.label)
    key.set_linestyle(shown.line if strand.line else "none")  # type: ignore[arg-type]
    return key
