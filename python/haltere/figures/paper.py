"""Figures for paper: grouped bars and overviews, drawn with Matplotlib."""

from __future__ import annotations

import math
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from haltere.figures import quantities, style
from haltere.figures.contenders import look
from haltere.figures.data import BarFigure, Cell, OverviewFigure, Panel, Series
from haltere.figures.text import number, strength


def draw_bars(figure: BarFigure, stem: Path) -> list[Path]:
    """Draw grouped bars one column wide; the paths written."""
    with style.paper():
        canvas = Figure(figsize=(style.COLUMN_IN, 2.1))
        axes = canvas.subplots()
        width = 0.8 / len(figure.series)
        for i, series in enumerate(figure.series):
            offset = (i - (len(figure.series) - 1) / 2) * width
            _one_series(axes, figure, series, offset, width)
        axes.set_xticks(range(len(figure.x_levels)), [quantities.text(level, figure.spec.x) for level in figure.x_levels])
        axes.tick_params(axis="x", length=0)
        axes.set_xlabel(figure.x_label)
        axes.set_ylabel(figure.metric.axis)
        axes.grid(visible=True, axis="y")
        axes.set_ylim(bottom=figure.spec.baseline)
        if figure.metric.ceiling is not None:
            axes.set_ylim(top=figure.metric.ceiling)
        axes.set_xlim(-0.5, len(figure.x_levels) - 0.5)
        axes.set_title(figure.title, loc="left", color=style.QUIET, pad=16)
        axes.legend(loc="lower right", bbox_to_anchor=(1.0, 0.98), ncols=len(figure.series), borderaxespad=0.2)
        return style.save(canvas, stem)


def _one_series(axes: Axes, figure: BarFigure, series: Series, offset: float, width: float) -> None:
    shown = [(x, point) for x, point in enumerate(series.points) if point is not None]
    ceiling = figure.metric.ceiling or math.inf
    means = [point.mean - figure.spec.baseline for _, point in shown]
    appearance = look(series.contender)
    axes.bar(
        [x + offset for x, _ in shown],
        means,
        width * 0.92,
        bottom=figure.spec.baseline,
        label=series.label,
        color=appearance.light,
        hatch=appearance.hatch,
        edgecolor="white",
        linewidth=0.0,
    )
    for x, point in shown:
        if point.bounded and not point.exact:
            axes.errorbar(
                x + offset,
                point.mean,
                yerr=[[point.mean - max(point.low, figure.spec.baseline)], [min(point.high, ceiling) - point.mean]],
                color=style.INK,
                elinewidth=0.8,
                capsize=2,
                capthick=0.8,
            )


def draw_overview(figure: OverviewFigure, stem: Path) -> list[Path]:
    """Draw an overview two columns wide, panels side by side in pairs; the paths written."""
    across = 2 if len(figure.panels) > 1 else 1
    down = math.ceil(len(figure.panels) / across)
    with style.paper():
        height = down * (0.2 * len(figure.rows) + 0.62) + 0.45
        canvas = Figure(figsize=(style.PAGE_IN if across == 2 else style.COLUMN_IN, height))
        grid = canvas.subplots(down, across, squeeze=False)
        for axes, panel in zip(grid.flat, figure.panels, strict=False):
            _one_panel(axes, figure, panel)
        for axes in list(grid.flat)[len(figure.panels) :]:
            axes.set_axis_off()
        ahead = {"lower": "sooner", "higher": "ahead", "neither": "less"}[figure.metric.better]
        handles = [
            Patch(color=_mix(look(name).light, 0.6), label=f"{look(name).name} {ahead}") for name in (figure.of, figure.to)
        ]
        canvas.suptitle(figure.title, x=0.01, ha="left", fontsize=8)
        canvas.legend(handles=handles, loc="upper right", ncols=2)
        return style.save(canvas, stem)


def _one_panel(axes: Axes, figure: OverviewFigure, panel: Panel) -> None:
    for y, row in enumerate(panel.cells):
        for x, cell in enumerate(row):
            axes.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=_cell_colour(cell, figure), linewidth=0))
            certain = cell.standing in ("of", "to")
            axes.text(
                x,
                y,
                "–" if cell.point is None else number(cell.point.mean, figure.metric.comparison),
                ha="center",
                va="center",
                fontsize=6.5,
                color=style.INK if cell.standing != "unclear" else style.QUIET,
                fontweight="bold" if certain else "normal",
            )
    axes.set_xlim(-0.5, len(figure.columns) - 0.5)
    axes.set_ylim(len(figure.rows) - 0.5, -0.5)
    inner = figure.spec.columns[-1]
    axes.set_xticks(range(len(figure.columns)), [quantities.text(column[-1], inner) for column in figure.columns])
    axes.set_yticks(
        range(len(figure.rows)),
        [", ".join(quantities.text(v, f) for f, v in zip(figure.spec.rows, row, strict=True)) for row in figure.rows],
    )
    axes.tick_params(length=0, labelsize=6)
    axes.spines[:].set_visible(False)
    axes.set_title(panel.title, loc="left", fontsize=7, pad=12 if len(figure.spec.columns) > 1 else 4)
    _outer_columns(axes, figure)


def _outer_columns(axes: Axes, figure: OverviewFigure) -> None:
    """White rules between the groups of columns, and the outer factor's levels above them."""
    if len(figure.spec.columns) < 2:
        return
    start = 0
    for x in range(1, len(figure.columns) + 1):
        if x < len(figure.columns) and figure.columns[x][:-1] == figure.columns[start][:-1]:
            continue
        label = ", ".join(
            quantities.text(v, f) for f, v in zip(figure.spec.columns[:-1], figure.columns[start][:-1], strict=True)
        )
        axes.text((start + x - 1) / 2, -0.58, label, ha="center", va="bottom", fontsize=6, color=style.QUIET)
        if x < len(figure.columns):
            axes.axvline(x - 0.5, color="white", linewidth=2)
        start = x


def _cell_colour(cell: Cell, figure: OverviewFigure) -> tuple[float, float, float]:
    if cell.point is None:
        return (1.0, 1.0, 1.0)
    side, weight = strength(cell.point.mean, figure.metric)
    return _mix(look(figure.of if side == "of" else figure.to).light, weight)


def _mix(colour: str, weight: float) -> tuple[float, float, float]:
    """The colour over white, at this opacity."""
    red, green, blue = to_rgb(colour)
    return (1 - weight * (1 - red), 1 - weight * (1 - green), 1 - weight * (1 - blue))
