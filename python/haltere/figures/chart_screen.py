"""Charts for the report: SVG inside the page, one element a panel, each mark with a text of its own."""

from __future__ import annotations

from html import escape

from haltere.figures.chart import ChartFigure, ChartPanel, Dot, Shape, Strand, Ticks
from haltere.figures.plots import Axis
from haltere.figures.plots_screen import Frame, tick_text
from haltere.metrics.contenders import look

_FRAME = Frame(width=320, height=220, left=50, right=10, top=10, bottom=40)
_CHARACTER = 6.2
"""About how wide a character of a tick's label is, in pixels."""


def chart_svgs(figure: ChartFigure) -> list[str]:
    """The SVG elements of a chart, one for each panel."""
    return [_panel(figure, panel) for panel in figure.panels]


def colours(name: str) -> str:
    """The style that gives an element the colour of a contender or level, on light and on dark ground."""
    shown = look(name)
    return f"--l:{shown.light};--d:{shown.dark}"


def _panel(figure: ChartFigure, panel: ChartPanel) -> str:
    heading = f"{figure.title}: {figure.y.label} by {figure.x.label}" + (f", {panel.title}" if panel.title else "")
    parts = [_FRAME.open(heading), *_axes(figure)]
    for strand in panel.strands:
        parts += [_shape(figure, strand, shape) for shape in strand.shapes]
    for strand in panel.strands:
        parts += [_line(figure, strand)] if strand.line else []
        parts += [_dot(figure, strand, dot) for dot in strand.dots]
    return "".join([*parts, "</svg>"])


def _axes(figure: ChartFigure) -> list[str]:
    """The elements of both axes: grid, ticks, the label of x."""
    left, right, foot = _FRAME.left, _FRAME.width - _FRAME.right, _FRAME.height - _FRAME.bottom
    parts = []
    for at, text in ticks_of(figure.y, figure.y_ticks):
        y = _FRAME.y(figure.y, at)
        if not figure.y_ticks:
            parts.append(f'<line class="grid" x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="tick" x="{left - 6}" y="{y + 3.5:.1f}" text-anchor="end">{escape(text)}</text>')
    end = -1e9
    for at, text in ticks_of(figure.x, figure.x_ticks):
        x, half = _FRAME.x(figure.x, at), _CHARACTER * len(text) / 2
        if x - half < end + 4:
            continue  # it would run into the one before
        end = x + half
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{foot}" y2="{foot + 4}"/>')
        parts.append(f'<text class="tick" x="{x:.1f}" y="{foot + 16}" text-anchor="middle">{escape(text)}</text>')
    parts.append(f'<line class="axis" x1="{left}" x2="{right}" y1="{foot}" y2="{foot}"/>')
    middle = (left + right) / 2
    label = (
        f'<text class="label" x="{middle}" y="{_FRAME.height - 6}" text-anchor="middle">{escape(figure.x.label)}</text>'
    )
    return [*parts, label]


def ticks_of(axis: Axis, named: Ticks) -> Ticks:
    """The ticks of an axis with their texts: those that are named, or round numbers."""
    return named or [(at, tick_text(at)) for at in axis.ticks()]


def _line(figure: ChartFigure, strand: Strand) -> str:
    path = ""
    for at, (px, py) in enumerate(strand.line):
        x, y = _FRAME.x(figure.x, px), _FRAME.y(figure.y, py)
        path += f"M{x:.1f} {y:.1f}" if at == 0 else f"H{x:.1f}V{y:.1f}" if strand.steps else f"L{x:.1f} {y:.1f}"
    dash = {"--": ' stroke-dasharray="6 3"', ":": ' stroke-dasharray="2 2.5"', "-.": ' stroke-dasharray="6 2 2 2"'}
    return f'<path class="line two" style="{colours(strand.look)}"{dash.get(look(strand.look).line, "")} d="{path}"/>'


def _dot(figure: ChartFigure, strand: Strand, dot: Dot) -> str:
    x, y = _FRAME.x(figure.x, dot.x), _FRAME.y(figure.y, dot.y)
    whisker = ""
    if dot.low is not None and dot.high is not None:
        low, high = _FRAME.y(figure.y, dot.low), _FRAME.y(figure.y, dot.high)
        whisker = f'<path class="line" d="M{x:.1f} {low:.1f}V{high:.1f}"/>'
    radius = 3 if strand.line or strand.shapes else 2.4
    return (
        f'<g class="mark two" style="{colours(strand.look)}"><title>{escape(dot.place)}\n{escape(dot.value)}</title>'
        f'{whisker}<circle class="fill" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/></g>'
    )


def _shape(figure: ChartFigure, strand: Strand, shape: Shape) -> str:
    places = [(_FRAME.x(figure.x, x), _FRAME.y(figure.y, y)) for x, y in shape.points]
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places) + "Z"
    text = ""
    if shape.text:
        x, y = (sum(place[i] for place in places) / len(places) for i in (0, 1))
        text = f'<text class="tick" x="{x:.1f}" y="{y + 3.5:.1f}" text-anchor="middle">{escape(shape.text)}</text>'
    answer = escape(f"{shape.place}\n{shape.value}")
    return (
        f'<g class="mark two" style="{colours(strand.look)}"><title>{answer}</title>'
        f'<path class="fill" fill-opacity="{shape.strength:.2f}" d="{path}"/>{text}</g>'
    )
