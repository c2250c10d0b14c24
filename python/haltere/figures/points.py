"""Figures of points: what treatments cost on x against what they give on y, a labelled point a treatment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from haltere.figures import style
from haltere.figures.data import NotInResultsError
from haltere.figures.plots import COLOURS, Axis
from haltere.figures.plots_paper import set_axis
from haltere.figures.plots_screen import Frame
from haltere.figures.spec import Points
from haltere.metrics import METRICS, Metric, quantities
from haltere.metrics.contenders import is_contender
from haltere.metrics.tables import Tables
from haltere.metrics.text import fixed
from haltere.stats import Interval, mean

_FRAME = Frame(width=480, height=270, left=42, right=130, top=10, bottom=40)
_LINE = 13.0
"""Distance of two labels, pixels of the screen."""


@dataclass(frozen=True, slots=True)
class Dot:
    """A treatment: its label, its colour (`COLOURS`), its place with intervals over replications."""

    label: str
    colour: str
    x: Interval
    y: Interval


@dataclass(frozen=True, slots=True)
class PointFigure:
    """The data of a figure of points."""

    spec: Points
    metric: Metric
    title: str
    x: Axis
    y: Axis
    dots: tuple[Dot, ...]

    def says(self, dot: Dot) -> str:
        """What a point answers when pointed at."""
        return f"{dot.label}\n{self.y.label}: {_value(dot.y)}\n{self.x.label}: {_value(dot.x)}"

    def label_places(self, gap: float) -> list[float]:
        """Where the labels stand, 0 to 1 of the y axis: as near to their points as a gap between them allows.

        Labels that would overlap stand around the mean of their points (isotonic regression of the places that are left
        when each label's share of the gaps is taken off).
        """
        order = sorted(range(len(self.dots)), key=lambda i: self.y.place(self.dots[i].y.value))
        groups: list[tuple[float, int]] = []
        for rank, i in enumerate(order):
            groups.append((self.y.place(self.dots[i].y.value) - rank * gap, 1))
            while len(groups) > 1 and groups[-2][0] >= groups[-1][0]:
                (a, n), (b, m) = groups[-2:]
                groups[-2:] = [((a * n + b * m) / (n + m), n + m)]
        free = max(0.0, 1.0 - (len(order) - 1) * gap)
        bases = [min(max(base, 0.0), free) for base, count in groups for _ in range(count)]
        places = [0.0] * len(order)
        for rank, i in enumerate(order):
            places[i] = bases[rank] + rank * gap
        return places


def _value(found: Interval) -> str:
    middle = fixed(found.value, 1)
    if found.exact or found.low is None or found.high is None:
        return middle
    return f"{middle} [{fixed(found.low, 1)}, {fixed(found.high, 1)}]"


def points(tables: Tables, spec: Points) -> PointFigure:
    """The numbers of a figure of points. Raises `NotInResultsError` if the results hold none of them."""
    metric, lost = METRICS[spec.metric], METRICS[spec.lost]
    reference = _values(tables, spec, lost, spec.against)
    levels = tables.levels(spec.experiment, spec.label)
    chosen: list[tuple[str, str, Mapping[str, str]]]
    chosen = [(quantities.text(level, spec.label), "first", {**spec.where, spec.label: level}) for level in levels]
    chosen += [(other.label, "second", other.levels) for other in spec.also]
    dots = []
    for label, colour, treatment in chosen:
        latency = _values(tables, spec, metric, treatment)
        kept = _values(tables, spec, lost, treatment)
        shares = [100 * (1 - kept[r] / reference[r]) for r in sorted(kept) if reference.get(r)]
        if latency and shares:
            dots.append(Dot(label, colour, mean(shares), mean([latency[r] for r in sorted(latency)])))
    if not dots:
        sought = ", ".join(f"{factor} {level}" for factor, level in spec.where.items())
        message = f"no completed run of experiment {spec.experiment} with {metric.label.lower()} at {sought}"
        raise NotInResultsError(message)
    against = ", ".join(
        quantities.text(level, "contender" if is_contender(level) else factor) for factor, level in spec.against.items()
    )
    xs, ys = [_ends(dot.x) for dot in dots], [_ends(dot.y) for dot in dots]
    low, high = min(0.0, *(x[0] for x in xs)), max(1.0, *(x[1] for x in xs))
    room = 0.04 * (high - low)
    x = Axis(f"{lost.label} lost against {against} (%)", low - room, high + room)
    y = Axis(metric.axis, 0.9 * min(y[0] for y in ys), 1.1 * max(y[1] for y in ys), log=True)
    return PointFigure(spec, metric, spec.title or metric.label, x, y, tuple(dots))


def _values(tables: Tables, spec: Points, metric: Metric, where: Mapping[str, str]) -> dict[int, float]:
    """The metric by replication."""
    values = tables.values(spec.experiment, metric, where)
    return dict(zip(values["replication"].to_list(), values["value"].to_list(), strict=True))


def _ends(found: Interval) -> tuple[float, float]:
    if found.low is None or found.high is None:
        return found.value, found.value
    return found.low, found.high


def points_svg(figure: PointFigure) -> str:
    """The SVG element of a figure of points."""
    frame = _FRAME
    parts = [frame.open(f"{figure.title}: {figure.y.label} by {figure.x.label}"), *frame.axes(figure.x, figure.y)]
    span = frame.height - frame.top - frame.bottom
    places = figure.label_places(_LINE / span)
    column = frame.width - frame.right + 22
    for dot, place in zip(figure.dots, places, strict=True):
        x, y = frame.x(figure.x, dot.x.value), frame.y(figure.y, dot.y.value)
        at = frame.height - frame.bottom - place * span
        (left, right), (low, high) = _ends(dot.x), _ends(dot.y)
        whiskers = (
            f"M{frame.x(figure.x, left):.1f} {y:.1f}H{frame.x(figure.x, right):.1f}"
            f"M{x:.1f} {frame.y(figure.y, low):.1f}V{frame.y(figure.y, high):.1f}"
        )
        lead = f"M{x + 5:.1f} {y:.1f}L{column - 12} {at:.1f}H{column - 4}"
        parts.append(
            f'<path class="grid" fill="none" d="{lead}"/>'
            f'<text class="tick" x="{column}" y="{at + 3.5:.1f}">{escape(dot.label)}</text>'
            f'<g class="mark" style="--c:var(--c-{dot.colour})"><title>{escape(figure.says(dot))}</title>'
            f'<path class="line" d="{whiskers}"/><circle class="fill" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/></g>'
        )
    return "".join([*parts, "</svg>"])


def draw_points(figure: PointFigure, stem: Path, font: str = "") -> list[Path]:
    """Draw a figure of points one column wide; the paths written."""
    with style.paper(font):
        canvas = Figure(figsize=(style.COLUMN_IN, 2.6))
        axes = canvas.subplots()
        set_axis(axes, figure.x, "x")
        set_axis(axes, figure.y, "y")
        axes.grid(visible=True, axis="y")
        _dots(axes, figure)
        axes.set_title(figure.title, loc="left", color=style.QUIET)
        return style.save(canvas, stem)


def _dots(axes: Axes, figure: PointFigure) -> None:
    for dot, place in zip(figure.dots, figure.label_places(0.062), strict=True):
        (left, right), (low, high) = _ends(dot.x), _ends(dot.y)
        x, y = dot.x.value, dot.y.value
        axes.errorbar(
            x,
            y,
            xerr=[[max(0.0, x - left)], [max(0.0, right - x)]],
            yerr=[[max(0.0, y - low)], [max(0.0, high - y)]],
            marker="o" if dot.colour == "first" else "s",
            markersize=3.2,
            color=COLOURS[dot.colour][0],
            linewidth=0.7,
        )
        axes.annotate(
            dot.label,
            xy=(x, y),
            xytext=(1.05, place),
            textcoords="axes fraction",
            va="center",
            fontsize=5.5,
            arrowprops={"arrowstyle": "-", "color": "#bbbbbb", "linewidth": 0.4, "shrinkB": 2},
            annotation_clip=False,
        )


def table(figure: PointFigure) -> Sequence[tuple[str, str, str]]:
    """The rows of the figure's numbers: label, y, x."""
    return [(dot.label, _value(dot.y), _value(dot.x)) for dot in figure.dots]
