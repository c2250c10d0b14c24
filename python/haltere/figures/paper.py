"""Figures for paper: grouped bars and overviews, drawn with Matplotlib."""

from __future__ import annotations

import math
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from haltere.figures import style
from haltere.figures.data import BarFigure, Cell, OverviewFigure, Panel, Series, crowded, levels_text
from haltere.figures.screen import axis_ticks
from haltere.metrics.contenders import look
from haltere.metrics.text import OPACITY, number, strength


def draw_bars(figure: BarFigure, stem: Path, font: str = "") -> list[Path]:
    """Draw grouped bars one column wide; the paths written."""
    with style.paper(font):
        canvas = Figure(figsize=(style.COLUMN_IN, 2.1))
        axes = canvas.subplots()
        width = 0.8 / len(figure.series)
        for i, series in enumerate(figure.series):
            offset = (i - (len(figure.series) - 1) / 2) * width
            _one_series(axes, figure, series, offset, width)
        labels, x_label = figure.ticks()
        axes.set_xticks(range(len(labels)), labels)
        if crowded(labels):
            style.slant(axes, labels)
        axes.tick_params(axis="x", length=0)
        axes.set_xlabel(x_label)
        axes.set_ylabel(figure.metric.axis)
        axes.grid(visible=True, axis="y")
        ticks = axis_ticks(figure.spec.baseline, figure.metric.ceiling or figure.top)
        axes.set_yticks(ticks)
        axes.set_ylim(figure.spec.baseline, ticks[-1])
        axes.set_xlim(-0.5, len(figure.x_levels) - 0.5)
        axes.set_title(figure.title, loc="left", color=style.QUIET)
        style.legend(canvas, axes.get_legend_handles_labels()[0])
        return style.save(canvas, stem)


def _one_series(axes: Axes, figure: BarFigure, series: Series, offset: float, width: float) -> None:
    shown = [(x + offset, bar) for x, bar in enumerate(series.bars) if bar is not None]
    appearance = look(series.contender)
    axes.bar(
        [x for x, _ in shown],
        [bar.value - figure.spec.baseline for _, bar in shown],
        width * 0.92,
        bottom=figure.spec.baseline,
        label=series.label,
        color=appearance.light,
        hatch=appearance.hatch,
        edgecolor="white",
        linewidth=0.0,
    )
    for x, bar in shown:
        ends = figure.ends(bar)
        if ends is not None:
            axes.errorbar(
                x,
                bar.value,
                yerr=[[bar.value - ends[0]], [ends[1] - bar.value]],
                color=style.INK,
                elinewidth=0.8,
                capsize=2,
                capthick=0.8,
            )


def draw_overview(figure: OverviewFigure, stem: Path, font: str = "") -> list[Path]:
    """Draw an overview two columns wide, panels side by side in pairs; the paths written."""
    across = 2 if len(figure.panels) > 1 else 1
    down = math.ceil(len(figure.panels) / across)
    with style.paper(font):
        height = down * (0.2 * len(figure.rows) + 0.62) + 0.45
        canvas = Figure(figsize=(style.PAGE_IN if across == 2 else style.COLUMN_IN, height))
        grid = canvas.subplots(down, across, squeeze=False)
        for axes, panel in zip(grid.flat, figure.panels, strict=False):
            _one_panel(axes, figure, panel)
        for axes in list(grid.flat)[len(figure.panels) :]:
            axes.set_axis_off()
        sides = (figure.spec.of, figure.spec.to)
        handles = [
            Patch(color=_mix(look(key).light, OPACITY), label=figure.ahead(side))
            for key, side in zip(figure.colours, sides, strict=True)
        ]
        handles += [
            Patch(alpha=0.0, label="bold: clearly so"),
            Patch(alpha=0.0, label="faint: the runs cannot tell"),
        ]
        canvas.suptitle(figure.title, x=0.01, ha="left", fontsize=8)
        style.legend(canvas, handles, place="outside lower center", most=4 if across == 2 else 2)
        return style.save(canvas, stem)


def _one_panel(axes: Axes, figure: OverviewFigure, panel: Panel) -> None:
    for y, row in enumerate(panel.cells):
        for x, cell in enumerate(row):
            axes.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=_cell_colour(cell, figure), linewidth=0))
            certain = cell.standing in ("of", "to")
            axes.text(
                x,
                y,
                "–" if cell.found is None else number(cell.found.value, figure.metric.comparison),
                ha="center",
                va="center",
                fontsize=6.5 if figure.metric.comparison == "ratio" else 5.8,
                color=style.INK if cell.standing != "unclear" else style.QUIET,
                fontweight="bold" if certain else "normal",
            )
    axes.set_xlim(-0.5, len(figure.columns) - 0.5)
    axes.set_ylim(len(figure.rows) - 0.5, -0.5)
    axes.set_xticks(range(len(figure.columns)), figure.inner())
    axes.set_yticks(
        range(len(figure.rows)),
        [levels_text(figure.spec.rows, row) for row in figure.rows],
    )
    axes.tick_params(length=0, labelsize=6)
    axes.spines[:].set_visible(False)
    axes.set_title(panel.title, loc="left", fontsize=7, pad=12 if len(figure.spec.columns) > 1 else 4)
    _outer_columns(axes, figure)


def _outer_columns(axes: Axes, figure: OverviewFigure) -> None:
    """The outer factor's levels above their columns, and white rules between them."""
    if len(figure.spec.columns) < 2:
        return
    for label, start, stop in figure.groups():
        axes.text((start + stop - 1) / 2, -0.58, label, ha="center", va="bottom", fontsize=6, color=style.QUIET)
        if stop < len(figure.columns):
            axes.axvline(stop - 0.5, color="white", linewidth=2)


def _cell_colour(cell: Cell, figure: OverviewFigure) -> tuple[float, float, float]:
    if cell.found is None:
        return (1.0, 1.0, 1.0)
    side, weight = strength(cell.found.value, figure.metric, clear=cell.standing != "unclear")
    return _mix(look(figure.colours[side != "of"]).light, weight)


def _mix(colour: str, weight: float) -> tuple[float, float, float]:
    """The colour over white, at this opacity."""
    red, green, blue = to_rgb(colour)
    return (1 - weight * (1 - red), 1 - weight * (1 - green), 1 - weight * (1 - blue))
