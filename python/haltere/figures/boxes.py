"""Box plots: how a metric is spread over the treatments of an experiment, a value a treatment (its mean).

A box holds the middle half of the values, its line is the median and its diamond the mean. Whiskers end at the farthest
value within 1.5 interquartile ranges of the box, and what lies beyond is drawn alone (J. W. Tukey, Exploratory Data
Analysis, 1977).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from haltere.figures import style
from haltere.figures.data import NotInResultsError, crowded, levels_text
from haltere.figures.plots import Axis
from haltere.figures.plots_paper import set_axis
from haltere.figures.plots_screen import Frame, tick_text
from haltere.figures.spec import Boxes, FigureList
from haltere.metrics import METRICS, Metric, quantities
from haltere.metrics.contenders import css_name, keys, look
from haltere.metrics.tables import Tables
from haltere.metrics.text import significant

_REACH = 1.5
"""Interquartile ranges that a whisker reaches at most."""
_FRAME = Frame(width=420, height=240, left=46, right=6, top=10, bottom=40)


@dataclass(frozen=True, slots=True)
class Spread:
    """What a box shows: the quartiles, the ends of the whiskers, the mean, the values beyond, the number of all."""

    low: float
    first: float
    median: float
    third: float
    high: float
    mean: float
    beyond: tuple[float, ...]
    count: int


@dataclass(frozen=True, slots=True)
class BoxSeries:
    """The boxes of one series, one for each level on x; None where the results have none."""

    contender: str
    label: str
    spreads: tuple[Spread | None, ...]


@dataclass(frozen=True, slots=True)
class BoxFigure:
    """The data of a figure of boxes."""

    spec: Boxes
    metric: Metric
    title: str
    x_label: str
    x_levels: tuple[str, ...]
    series: tuple[BoxSeries, ...]
    y: Axis

    def says(self, series: BoxSeries, level: str, spread: Spread) -> str:
        """What a box answers when pointed at."""
        unit = f" {self.metric.unit}" if self.metric.unit else ""
        numbers = [("median", spread.median), ("mean", spread.mean), ("quartiles", spread.first)]
        said = ", ".join(f"{name} {significant(value)}" for name, value in numbers)
        return (
            f"{series.label}, {self.x_label} {quantities.text(level, self.spec.x)}\n{said} and "
            f"{significant(spread.third)}{unit}, {spread.count} treatments, {len(spread.beyond)} beyond the whiskers"
        )


def spread(values: Sequence[float]) -> Spread:
    """The numbers of a box. Raises `ValueError` without values."""
    if not values:
        raise ValueError("a box needs a value")
    sample = np.sort(np.asarray(values, dtype=np.float64))
    first, median, third = (float(q) for q in np.quantile(sample, [0.25, 0.5, 0.75]))
    reach = _REACH * (third - first)
    within = sample[(sample >= first - reach) & (sample <= third + reach)]
    beyond = sample[(sample < first - reach) | (sample > third + reach)]
    return Spread(
        float(within[0]), first, median, third, float(within[-1]), float(sample.mean()), tuple(beyond), sample.size
    )


def boxes(tables: Tables, spec: Boxes, words: FigureList) -> BoxFigure:
    """The numbers of a figure of boxes. Raises `NotInResultsError` if the results hold none of them."""
    metric = METRICS[spec.metric]
    shown = {**spec.where, **({spec.series: spec.only} if spec.only else {})}
    values = tables.values(spec.experiment, metric, shown)
    if values.is_empty() or spec.x not in values.columns or spec.series not in values.columns:
        sought = f"no completed run of experiment {spec.experiment} with {metric.label.lower()}"
        raise NotInResultsError(sought)
    factors = [column for column in values.columns if column not in ("replication", "value")]
    treatments = values.group_by(factors).agg(pl.col("value").mean()).sort(factors, nulls_last=True)
    grouped = treatments.group_by([spec.x, spec.series], maintain_order=True).agg(pl.col("value"))
    found = {(str(row[spec.x]), str(row[spec.series])): spread(row["value"]) for row in grouped.to_dicts()}
    x_levels = [level for level in tables.levels(spec.experiment, spec.x) if any(key[0] == level for key in found)]
    names = [name for name in tables.levels(spec.experiment, spec.series) if any(key[1] == name for key in found)]
    drawn = keys(names)
    series = [
        BoxSeries(
            drawn[name], quantities.text(name, spec.series), tuple(found.get((level, name)) for level in x_levels)
        )
        for name in names
    ]
    title = spec.title or levels_text(list(spec.where), list(spec.where.values())) or metric.label
    axis = _axis(metric, list(found.values()), log=spec.log)
    return BoxFigure(spec, metric, title, words.factor(spec.x), tuple(x_levels), tuple(series), axis)


def _axis(metric: Metric, found: Sequence[Spread], *, log: bool) -> Axis:
    ends = [value for one in found for value in (one.low, one.high, one.mean, *one.beyond)]
    positive = [value for value in ends if value > 0]
    if log and positive:
        return Axis(metric.axis, min(positive) / 1.3, max(positive) * 1.3, log=True)
    high = max(ends)
    return Axis(metric.axis, min(0.0, *ends), high * 1.05 if high > 0 else 1.0)


def box_svg(figure: BoxFigure) -> str:
    """The SVG element of a figure of boxes."""
    frame, y_axis = _FRAME, figure.y
    parts = [frame.open(f"{figure.title}: {figure.metric.label} by {figure.x_label}")]
    foot, right = frame.height - frame.bottom, frame.width - frame.right
    for tick in y_axis.ticks():
        y = frame.y(y_axis, tick)
        parts.append(f'<line class="grid" x1="{frame.left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(
            f'<text class="tick" x="{frame.left - 6}" y="{y + 3.5:.1f}" text-anchor="end">{tick_text(tick)}</text>'
        )
    slot = (right - frame.left) / len(figure.x_levels)
    width = min(30.0, slot * 0.8 / len(figure.series))
    for i, level in enumerate(figure.x_levels):
        centre = frame.left + slot * (i + 0.5)
        label = escape(quantities.text(level, figure.spec.x))
        parts.append(f'<text class="tick" x="{centre:.1f}" y="{foot + 16}" text-anchor="middle">{label}</text>')
        for j, series in enumerate(figure.series):
            one = series.spreads[i]
            if one is not None:
                middle = centre + (j - (len(figure.series) - 1) / 2) * width
                parts.append(_box_svg(figure, series, level, one, middle, width * 0.8))
    middle = (frame.left + right) / 2
    parts.append(f'<line class="axis" x1="{frame.left}" x2="{right}" y1="{foot}" y2="{foot}"/>')
    parts.append(
        f'<text class="label" x="{middle}" y="{frame.height - 6}" text-anchor="middle">{escape(figure.x_label)}</text>'
    )
    return "".join([*parts, "</svg>"])


def _box_svg(figure: BoxFigure, series: BoxSeries, level: str, one: Spread, middle: float, width: float) -> str:
    def y(value: float) -> float:
        return _FRAME.y(figure.y, value)

    left, right = middle - width / 2, middle + width / 2
    whiskers = f"M{middle:.1f} {y(one.low):.1f}V{y(one.first):.1f}M{middle:.1f} {y(one.third):.1f}V{y(one.high):.1f}"
    median = f"M{left:.1f} {y(one.median):.1f}H{right:.1f}"
    at = y(one.mean)
    dots = "".join(
        f'<circle class="fill" cx="{middle:.1f}" cy="{y(value):.1f}" r="1.4" fill-opacity="0.6"/>'
        for value in one.beyond
    )
    return (
        f'<g class="mark" style="--c:var(--c-{css_name(series.contender)})">'
        f"<title>{escape(figure.says(series, level, one))}</title>"
        f'<path class="line" d="{whiskers}"/>'
        f'<rect class="fill" x="{left:.1f}" y="{y(one.third):.1f}" width="{width:.1f}" '
        f'height="{max(0.5, y(one.first) - y(one.third)):.1f}" fill-opacity="0.55"/>'
        f'<path class="whisker" d="{median}"/>'
        f'<path class="whisker" d="M{middle:.1f} {at - 3:.1f}l3 3l-3 3l-3 -3z"/>{dots}</g>'
    )


def draw_boxes(figure: BoxFigure, stem: Path, font: str = "") -> list[Path]:
    """Draw a figure of boxes one column wide; the paths written."""
    with style.paper(font):
        canvas = Figure(figsize=(style.COLUMN_IN, 2.4))
        axes = canvas.subplots()
        set_axis(axes, figure.y, "y")
        axes.grid(visible=True, axis="y")
        width = 0.8 / len(figure.series)
        for j, series in enumerate(figure.series):
            offset = (j - (len(figure.series) - 1) / 2) * width
            _series(axes, series, offset, width * 0.8)
        names = [quantities.text(one, figure.spec.x) for one in figure.x_levels]
        axes.set_xticks(range(len(names)), names)
        if crowded(names):
            style.slant(axes, names)
        axes.set_xlim(-0.5, len(figure.x_levels) - 0.5)
        axes.tick_params(axis="x", length=0)
        axes.set_xlabel(figure.x_label)
        handles = [Patch(facecolor=look(one.contender).light, alpha=0.55, label=one.label) for one in figure.series]
        axes.set_title(figure.title, loc="left", color=style.QUIET)
        style.legend(canvas, handles)
        return style.save(canvas, stem)


def _series(axes: Axes, series: BoxSeries, offset: float, width: float) -> None:
    present = [(x, one) for x, one in enumerate(series.spreads) if one is not None]
    stats = [
        {
            "med": one.median,
            "q1": one.first,
            "q3": one.third,
            "whislo": one.low,
            "whishi": one.high,
            "mean": one.mean,
            "fliers": list(one.beyond),
        }
        for _, one in present
    ]
    colour = look(series.contender).light
    axes.bxp(
        stats,
        positions=[x + offset for x, _ in present],
        widths=width,
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


def table(figure: BoxFigure) -> Sequence[tuple[str, ...]]:
    """The rows of the figure's numbers: level, series, median, mean, quartiles, number of treatments."""
    return [
        (
            quantities.text(level, figure.spec.x),
            series.label,
            significant(one.median),
            significant(one.mean),
            f"{significant(one.first)} to {significant(one.third)}",
            str(one.count),
        )
        for i, level in enumerate(figure.x_levels)
        for series in figure.series
        if (one := series.spreads[i]) is not None
    ]
