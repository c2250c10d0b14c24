"""Figures on two axes, and maps, for paper: drawn with Matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator

from haltere.figures import style
from haltere.figures.plots import COLOURS, Axis, Plot, WorldMap, land
from haltere.figures.plots_screen import tick_text


def draw_plot(plot: Plot, stem: Path) -> list[Path]:
    """Draw a figure on two axes one column wide; the paths written."""
    with style.paper():
        canvas = Figure(figsize=(style.COLUMN_IN, 2.3))
        axes = canvas.subplots()
        fill(axes, plot)
        axes.set_title(plot.title, loc="left", color=style.QUIET)
        return style.save(canvas, stem)


def fill(axes: Axes, plot: Plot) -> None:
    """Draw the boxes, lines, axes and legend of a figure into `axes`."""
    set_axis(axes, plot.x, "x")
    set_axis(axes, plot.y, "y")
    if plot.boxes:
        corners = [((b.x0, b.y0), (b.x1, b.y0), (b.x1, b.y1), (b.x0, b.y1)) for b in plot.boxes]
        colours = [(COLOURS[b.colour][0], b.strength) for b in plot.boxes]
        axes.add_collection(PolyCollection(corners, facecolors=colours, linewidths=0, rasterized=True))
    for line in plot.lines:
        xs, ys = [p[0] for p in line.points], [p[1] for p in line.points]
        axes.plot(
            xs,
            ys,
            color=COLOURS[line.colour][0],
            alpha=line.strength,
            linewidth=1.0,
            drawstyle="steps-post" if line.steps else "default",
            linestyle="--" if line.colour == "second" else "-",
            label=line.label or "_",
        )
    for ring in plot.rings:
        colour = COLOURS[ring.colour][0]
        axes.plot(*ring.point, marker="D", markersize=4, markerfacecolor="white", markeredgecolor=colour, linestyle="")
    if plot.rings:
        like: dict[str, Any] = {
            "marker": "D",
            "markersize": 4,
            "markerfacecolor": "white",
            "color": style.QUIET,
            "linestyle": "",
        }
        axes.plot([], [], label="the paper's text", **like)
    if any(line.label for line in plot.lines):
        axes.legend(loc="lower right" if plot.y.high == 1 and not plot.boxes else "upper right")


def set_axis(axes: Axes, axis: Axis, side: str) -> None:
    """Give `axes` an axis: its range, its ticks, its label. `side` is `x` or `y`."""
    which = axes.xaxis if side == "x" else axes.yaxis
    if axis.log:
        (axes.set_xscale if side == "x" else axes.set_yscale)("log")
    (axes.set_xlim if side == "x" else axes.set_ylim)(axis.low, axis.high)
    ticks = axis.ticks()
    which.set_major_locator(FixedLocator(ticks))
    which.set_ticklabels([tick_text(tick) for tick in ticks])
    which.set_minor_locator(NullLocator())
    which.set_minor_formatter(NullFormatter())
    which.set_label_text(axis.label)


def draw_map(world: WorldMap, stem: Path) -> list[Path]:
    """Draw a map two columns wide; the paths written."""
    west, south, east, north = world.window()
    with style.paper():
        canvas = Figure(figsize=(style.PAGE_IN, style.PAGE_IN * (north - south) / (east - west)))
        canvas.set_layout_engine("none")
        axes = canvas.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.add_collection(PolyCollection(land(), facecolors="#e6e6e3", edgecolors="#c8c8c4", linewidths=0.3))
        for track in world.tracks:
            colour = COLOURS[track.colour][0]
            axes.add_collection(LineCollection(track.lines(), colors=colour, linewidths=0.5, alpha=0.35))
        for point, colour, _ in world.dots:
            axes.plot(*point, marker="o", markersize=3.5, color=COLOURS[colour][0], markeredgecolor="white")
        axes.set_xlim(west, east)
        axes.set_ylim(south, north)
        axes.set_axis_off()
        return style.save(canvas, stem)
