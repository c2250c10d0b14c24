"""Figures for paper: drawn with Matplotlib, a column wide, or two for several panels; or into axes of one's own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure as Canvas
from matplotlib.figure import SubFigure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator

from haltere.figures import style
from haltere.figures.on_screen import hatched
from haltere.figures.parts import (
    CHARACTERS,
    Axis,
    Box,
    Dot,
    Figure,
    Line,
    Outline,
    Panel,
    Rect,
    Series,
    Text,
    apart,
    crowded,
    look_of,
    without_overlaps,
)
from haltere.metrics.text import OPACITY

FORMATS = (".svg", ".pdf", ".png")
_ACROSS = 3
"""Panels that stand side by side at most, also of maps with narrow cells; of others two, with broad cells one."""
_NARROW, _BROAD = 35, 70
_LABEL = 0.062
"""Distance of two labels beside a plot, of its height."""
_MANY, _DOTS = 400, 20_000
"""Rectangles and dots beyond which a series is drawn as an image."""


def draw(figure: Figure, stem: Path, font: str = "", formats: Sequence[str] = ("svg", "pdf")) -> list[Path]:
    """Draw a figure into files `stem.svg` and so on; the paths written."""
    with style.paper(font):
        canvas = Canvas(figsize=_size(figure))
        fill(figure, canvas)
        return style.save(canvas, stem, tuple(formats))


def write(figure: Figure, path: Path, font: str = "") -> list[Path]:
    """Draw a figure into the file of this name, in the format of its ending, or into `path.svg` and `path.pdf`."""
    if path.suffix in FORMATS:
        return draw(figure, path.with_suffix(""), font, (path.suffix[1:],))
    return draw(figure, path, font)


def _grid(figure: Figure) -> tuple[int, int]:
    """How many rows and columns the panels stand in."""
    count = len(figure.panels)
    across = 1 if figure.stacked else _ACROSS
    if figure.cell:
        across = 1 if figure.cell[0] > _BROAD else 2 if figure.cell[0] >= _NARROW else _ACROSS
    across = min(across, count)
    return math.ceil(count / across), across


def _size(figure: Figure) -> tuple[float, float]:
    down, across = _grid(figure)
    x, y = figure.panels[0].x, figure.panels[0].y
    if figure.bare:
        return style.PAGE_IN, style.PAGE_IN * (y.high - y.low) / (x.high - x.low)
    if figure.cell:
        broad = across > 1 or figure.cell[0] * abs(x.high - x.low) > 100 * style.COLUMN_IN
        high = abs(y.high - y.low) * figure.cell[1] / 140 + 0.62
        return style.PAGE_IN if broad else style.COLUMN_IN, down * high + 0.45
    if y.listed:
        return 1.35 * style.COLUMN_IN, 0.19 * abs(y.high - y.low) + 0.62
    if figure.stacked:
        whole = sum(panel.height for panel in figure.panels)
        return (style.PAGE_IN, 0.45 + 1.35 * whole) if figure.wide else (style.COLUMN_IN, 0.5 + 1.25 * whole)
    return style.PAGE_IN if across > 1 else style.COLUMN_IN, 0.45 + (2.15 if figure.wide else 1.9) * down


def fill(figure: Figure, canvas: Canvas | SubFigure) -> None:
    """Draw all panels of a figure into a Matplotlib figure or a part of one."""
    if figure.bare:
        if isinstance(canvas, Canvas):
            canvas.set_layout_engine("none")
        axes = canvas.add_axes((0.0, 0.0, 1.0, 1.0))
        onto(figure.panels[0], axes)
        axes.set_axis_off()
        return
    down, across = _grid(figure)
    alike = not figure.stacked and not figure.cell
    heights = [panel.height for panel in figure.panels] if figure.stacked else None
    grid = canvas.subplots(
        down, across, sharex=alike or figure.stacked, sharey=alike, squeeze=False, height_ratios=heights
    )
    for axes, panel in zip(grid.flat, figure.panels, strict=False):
        onto(panel, axes, cells=figure.cell is not None, columns=_size(figure)[0] / across / style.COLUMN_IN)
        if alike:
            high = _size(figure)[1] / down - _AROUND
            axes.set_ylabel(style.wrapped(panel.y.label, high, 7.5))
        axes.label_outer()
    for axes in list(grid.flat)[len(figure.panels) :]:
        axes.set_visible(False)
    for column in range(across):  # a column that ends early has its labels at its last panel
        last = grid[(len(figure.panels) - 1 - column) // across][column]
        last.xaxis.set_tick_params(labelbottom=True)
        last.set_xlabel(figure.panels[0].x.label)
    _letter(figure, canvas, grid)


def _letter(figure: Figure, canvas: Canvas | SubFigure, grid: Any) -> None:
    """Set legends and title around the panels."""
    if figure.stacked:
        for axes, panel in zip(grid.flat, figure.panels, strict=True):
            inside(axes, panel)
            axes.grid(visible=True, axis="both")
        canvas.align_ylabels()
        if isinstance(canvas, Canvas):
            style.legend(canvas, keys(figure.keys), place="outside upper left")
    elif isinstance(canvas, Canvas):
        notes = [Patch(alpha=0.0, label=f"{word}: {meaning}") for word, meaning in figure.notes]
        place: style.Place = "outside lower center" if figure.cell else "outside upper right"
        most = 2 * grid.shape[1] if figure.cell else 4
        head = f"{figure.colours}:" if figure.colours else ""
        beside = "" if len(figure.panels) == 1 else figure.title
        style.legend(canvas, [*keys(figure.legend), *notes], place=place, most=most, head=head, beside=beside)
    else:
        of = [Patch(alpha=0.0, label=f"{figure.colours}:")] if figure.colours else []
        inside(grid[0][0], figure.panels[0], of)
    _title(figure, canvas, grid[0][0])


_BESIDE, _AROUND, _LINE = 0.6, 0.75, 0.15
"""Inches that the labels of y take beside a plot, what stands above and below a plot, and a line of a title."""


def _title(figure: Figure, canvas: Canvas | SubFigure, first: Axes) -> None:
    """Set the title above the first plot, or above all, in as many lines as the width asks for."""
    width = _size(figure)[0]
    named = figure.stacked and figure.panels[0].title  # a name of its own above the first plot
    if not named and (figure.stacked or (len(figure.panels) == 1 and not figure.panels[0].y.listed)):
        title = style.wrapped(figure.title, width - _BESIDE, 7.5)
        first.set_title(title, loc="left", color=style.QUIET)
    else:
        title = style.wrapped(figure.title, width - 0.1, 8)
        if title:
            canvas.suptitle(title, x=0.01, ha="left", fontsize=8)
    if isinstance(canvas, Canvas):
        canvas.set_figheight(canvas.get_figheight() + _LINE * title.count("\n"))


def inside(axes: Axes, panel: Panel, before: Sequence[Artist] = ()) -> None:
    """Set the legend of a panel into its axes, where it has one, with what stands before its keys."""
    if panel.legend:
        axes.legend(
            handles=[*before, *keys(panel.legend)],
            loc="lower right",
            bbox_to_anchor=(1, 1),
            borderaxespad=0,
            ncols=len(before) + len(panel.legend),
        )


def keys(legend: Sequence[Series]) -> list[Artist]:
    """The keys of a legend."""
    return [_key(series) for series in legend]


def _key(series: Series) -> Artist:
    shown, first = look_of(series.look), series.shown
    if isinstance(first, Dot) and first.form == "diamond":
        like: dict[str, Any] = {"marker": "D", "markersize": 4, "markerfacecolor": "white", "linestyle": "none"}
        return Line2D([], [], color=shown.light, label=series.label, **like)
    if isinstance(first, Outline) and series.key:
        return Patch(color=shown.light, alpha=first.strength, linewidth=0, label=series.label)
    if isinstance(first, Rect | Box):
        pale = OPACITY if isinstance(first, Box) or first.text else 1.0
        hatch = shown.hatch if hatched(series, first) else None
        colour = (shown.light, pale)
        return Patch(facecolor=colour, edgecolor="white", linewidth=0.0, hatch=hatch, label=series.label)
    dots = any(isinstance(mark, Dot) and mark.form != "answer" for mark in (first, *series.marks))
    marker = _MARKERS.get(first.form if isinstance(first, Dot) else "", shown.marker) if dots else None
    key = Line2D([], [], color=shown.light, marker=marker, markersize=3.2, linestyle="none", label=series.label)
    if isinstance(first, Line):
        key.set(linestyle=first.dash or shown.line, alpha=first.strength, linewidth=first.weight)
    return key


def onto(panel: Panel, axes: Axes, *, cells: bool = False, columns: float = 1.0) -> None:
    """Draw a panel, some columns wide, into axes. The places of a panel of `cells` have no lines."""
    _set_axis(axes, panel.x, "x", columns)
    _set_axis(axes, panel.y, "y", columns)
    if cells:
        axes.tick_params(length=0, labelsize=6)
        axes.spines[:].set_visible(False)
    elif panel.y.listed:
        axes.tick_params(axis="y", length=0, labelsize=6.5)
    elif panel.x.listed:
        axes.grid(visible=True, axis="y")
        axes.tick_params(axis="x", length=0)
    if panel.title:
        axes.set_title(panel.title, loc="left", color=style.QUIET)
    for at, text in panel.x.groups:
        above = panel.y.high - 0.08 * (1 if panel.y.low > panel.y.high else -1)
        axes.text(at, above, text, ha="center", va="bottom", fontsize=6, color=style.QUIET)
    if panel.x.groups and panel.title:
        axes.set_title(panel.title, loc="left", color=style.QUIET, pad=12)
    # A character of a cell is about 0.65 of its size wide.
    letters = max((len(text) for _, mark in panel.each() if isinstance(mark, Rect) for text in mark.text), default=1)
    size = min(6.0, 72 * columns * style.COLUMN_IN / abs(panel.x.high - panel.x.low) / (0.65 * letters + 1))
    for series in panel.series:
        _areas(axes, series, size)
    for series in panel.series:
        _lines_and_dots(axes, series)
    _labels(axes, panel)


def _set_axis(axes: Axes, axis: Axis, side: str, columns: float) -> None:
    which = axes.xaxis if side == "x" else axes.yaxis
    if axis.log:
        (axes.set_xscale if side == "x" else axes.set_yscale)("log")
    (axes.set_xlim if side == "x" else axes.set_ylim)(axis.low, axis.high)
    marked = axis.marked() if side == "y" or axis.listed else without_overlaps(axis, columns * CHARACTERS)
    which.set_major_locator(FixedLocator([at for at, _ in marked]))
    which.set_ticklabels([text for _, text in marked])
    which.set_minor_locator(NullLocator())
    which.set_minor_formatter(NullFormatter())
    which.set_label_text(axis.label)
    if side == "x" and axis.listed and crowded([text for _, text in marked], columns):
        style.slant(axes, [text for _, text in marked])


def _areas(axes: Axes, series: Series, size: float) -> None:
    colour = look_of(series.look).light
    for mark in series.marks:
        if isinstance(mark, Outline):
            xs, ys = zip(*mark.points, strict=True)
            axes.fill(xs, ys, facecolor=colour, alpha=mark.strength, linewidth=0)
        elif isinstance(mark, Rect):
            _whisker(axes, mark)
            for text in ("\n".join(mark.text),) if mark.text else ():
                axes.text(
                    sum(mark.x) / 2,
                    sum(mark.y) / 2,
                    text,
                    ha="center",
                    va="center",
                    fontsize=size,
                    linespacing=1.1,
                    color=style.QUIET if mark.weight == "faint" else style.INK,
                    fontweight="bold" if mark.weight == "bold" else "normal",
                )
        elif isinstance(mark, Box):
            _box(axes, mark, colour)
        elif isinstance(mark, Text):
            ink = style.QUIET if mark.weight == "faint" else style.INK
            axes.text(mark.x, mark.y, f" {mark.text}", va="center", ha="left", fontsize=6.5, color=ink)
    rects = [mark for mark in series.marks if isinstance(mark, Rect)]
    if rects:
        cells = PolyCollection(
            [[(r.x[0], r.y[0]), (r.x[1], r.y[0]), (r.x[1], r.y[1]), (r.x[0], r.y[1])] for r in rects],
            facecolors=[(colour, r.strength) for r in rects],
            edgecolors="white",
            linewidths=0.5 if rects[0].text else 0.0,
            hatch=look_of(series.look).hatch if hatched(series, rects[0]) else None,
            rasterized=len(rects) > _MANY,
        )
        axes.add_collection(cells, autolim=False)


def _whisker(axes: Axes, rect: Rect) -> None:
    if rect.ends is not None:
        middle = sum(rect.x) / 2
        axes.plot([middle, middle], rect.ends, color=style.INK, linewidth=0.8, marker="_", markersize=4)


def _box(axes: Axes, box: Box, colour: str) -> None:
    stats = {
        "med": box.quartiles[1],
        "q1": box.quartiles[0],
        "q3": box.quartiles[2],
        "whislo": box.whiskers[0],
        "whishi": box.whiskers[1],
        "mean": box.mean,
        "fliers": list(box.beyond),
    }
    axes.bxp(
        [stats],
        positions=[box.at],
        widths=box.width,
        showmeans=True,
        patch_artist=True,
        manage_ticks=False,
        boxprops={"facecolor": colour, "alpha": 0.55, "linewidth": 0.6},
        medianprops={"color": style.INK, "linewidth": 1.0},
        meanprops={"marker": "D", "markersize": 2.4, "markerfacecolor": "white", "markeredgecolor": style.INK},
        flierprops={"marker": ".", "markersize": 2.0, "markerfacecolor": colour, "markeredgecolor": colour},
        whiskerprops={"linewidth": 0.6},
        capprops={"linewidth": 0.6},
    )


_SIZES = {"dot": 3.2, "point": 2.2, "grain": 1.8, "cross": 2.6, "diamond": 4.0}
_MARKERS = {"grain": ".", "cross": "x", "diamond": "D"}


def _lines_and_dots(axes: Axes, series: Series) -> None:
    shown = look_of(series.look)
    for mark in series.marks:
        if isinstance(mark, Line):
            xs, ys = [p[0] for p in mark.points], [p[1] for p in mark.points]
            how = "steps-post" if mark.steps else "default"
            weight = 0.5 if mark.value else mark.weight
            dash = mark.dash or shown.line
            axes.plot(xs, ys, color=shown.light, ls=dash, linewidth=weight, alpha=mark.strength, drawstyle=how)
    dots = [mark for mark in series.marks if isinstance(mark, Dot) and mark.form != "answer"]
    for dot in dots:
        if dot.y_ends is not None:
            axes.plot([dot.x, dot.x], dot.y_ends, color=shown.light, linewidth=0.8)
        if dot.x_ends is not None:
            axes.plot(dot.x_ends, [dot.y, dot.y], color=shown.light, linewidth=0.8)
    if dots:
        marker = _MARKERS.get(dots[0].form, shown.marker)
        face = "white" if dots[0].form == "diamond" else shown.light
        size = _SIZES[dots[0].form]
        xs, ys = [dot.x for dot in dots], [dot.y for dot in dots]
        image = len(dots) > _DOTS
        axes.plot(
            xs,
            ys,
            marker,
            markersize=size,
            color=shown.light,
            markerfacecolor=face,
            rasterized=image,
            markeredgewidth=0.5,
        )


def _labels(axes: Axes, panel: Panel) -> None:
    dots = [mark for _, mark in panel.each() if isinstance(mark, Dot) and mark.label]
    for dot, place in zip(dots, apart([panel.y.place(dot.y) for dot in dots], _LABEL), strict=True):
        axes.annotate(
            dot.label,
            xy=(dot.x, dot.y),
            xytext=(1.05, place),
            textcoords="axes fraction",
            va="center",
            fontsize=5.5,
            arrowprops={"arrowstyle": "-", "color": "#bbbbbb", "linewidth": 0.4, "shrinkB": 2},
            annotation_clip=False,
        )
