"""Figures for the screen: SVG inside a page, each mark with a text of its own.

Not Matplotlib's SVG: that takes 70 to 180 ms a figure where this takes one, and its marks would still have to be found
again to give them answers, and colours that follow the reader's light or dark setting. A mark carries its numbers as a
title, which browsers show and screen readers read even without the page's script.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from haltere.figures.parts import (
    AnyMark,
    Axis,
    Box,
    Dot,
    Figure,
    Line,
    Outline,
    Panel,
    Point,
    Rect,
    Series,
    Text,
    apart,
    look_of,
    without_overlaps,
)
from haltere.metrics.text import OPACITY

_BROAD = 490.0
"""A figure that is wider, in pixels, has the whole width of a printed page: in half of it letters were about 4 pt."""
_CHARACTER = 6.2
"""About how wide a character of a tick's label is, in pixels."""
_LABEL = 13.0
"""Distance of two labels beside a plot, in pixels."""
_SINE, _COSINE = math.sin(math.radians(35)), math.cos(math.radians(35))
_DASHES = {"--": ' stroke-dasharray="6 3"', ":": ' stroke-dasharray="2 2.5"', "-.": ' stroke-dasharray="6 2 2 2"'}


@dataclass(frozen=True)
class _Frame:
    """Where a plot lies in its element: the margins at its left and top, its size, the size of the element; pixels."""

    x_axis: Axis
    y_axis: Axis
    left: float
    top: float
    wide: float
    high: float
    width: float
    height: float
    slant: bool = False
    bare: bool = False

    def x(self, value: float) -> float:
        return self.left + self._share(self.x_axis, value) * self.wide

    def y(self, value: float) -> float:
        return self.top + (1 - self._share(self.y_axis, value)) * self.high

    def _share(self, axis: Axis, value: float) -> float:
        # Marks beyond the edges of a map are hidden there, not moved to them.
        return (value - axis.low) / (axis.high - axis.low) if self.bare else axis.place(value)

    @property
    def right(self) -> float:
        return self.left + self.wide

    @property
    def foot(self) -> float:
        return self.top + self.high


def svgs(figure: Figure) -> list[str]:
    """The SVG elements of a figure, one for each panel."""
    return [_panel(figure, panel) for panel in figure.panels]


def colours(name: str) -> str:
    """The style that gives an element the colour of a series, on light and on dark ground."""
    shown = look_of(name)
    return f"--l:{shown.light};--d:{shown.dark}"


def _panel(figure: Figure, panel: Panel) -> str:
    frame = _frame(figure, panel)
    title = ", ".join(text for text in (figure.title, panel.title) if text)
    name = title if figure.cell or figure.bare else f"{title}: {panel.y.label} by {panel.x.label}"
    # Wider than half as much again, text and cells of a small figure would be giants beside the page's own.
    # Narrower than this, its letters would be under 9 px: it is scrolled in its place instead.
    size = "" if figure.bare else f'style="max-width:{1.5 * frame.width:g}px;min-width:{0.83 * frame.width:.0f}px" '
    kind = " map" if figure.bare else " broad" if figure.cell and frame.width > _BROAD else ""
    parts = [
        f'<svg class="plot{kind}" {size}viewBox="0 0 {frame.width:g} {frame.height:g}" '
        f'role="group" aria-label="{escape(name)}" tabindex="0">'
    ]
    if not figure.bare:
        parts += _cell_names(frame) if figure.cell else _axes(frame)
    parts += _labels(frame, panel)
    parts += [_mark(frame, series, mark) for series, mark in _ordered(figure, panel)]
    return "".join([*parts, "</svg>"])


def _frame(figure: Figure, panel: Panel) -> _Frame:
    x, y = panel.x, panel.y
    longest = max((len(text) for _, text in y.marked()), default=0)
    if figure.bare:
        wide = 640.0
        high = wide * (y.high - y.low) / (x.high - x.low)
        return _Frame(x, y, 0, 0, wide, high, wide, round(high), bare=True)
    if figure.cell:
        widest = _CHARACTER * max((len(text) for _, text in x.names), default=0) + 8
        slant = widest > 2 * figure.cell[0]
        wide = abs(x.high - x.low) * (figure.cell[0] if slant else max(figure.cell[0], widest))
        high = abs(y.high - y.low) * figure.cell[1]
        left, top = 6.5 * longest + 10, 12 + _SINE * widest if slant else 34.0 if x.groups else 16.0
        return _Frame(x, y, left, top, wide, high, left + wide + (widest if slant else 2), top + high + 4, slant)
    margin, top, right, bottom = max(42.0, _CHARACTER * longest + 12), 10.0, 10.0, 40.0
    width, height = (480.0, 270.0) if figure.wide else (320.0, 220.0)
    if figure.wide:
        right = 30 + _CHARACTER * max((len(mark.label) for _, mark in panel.each() if isinstance(mark, Dot)), default=0)
    if y.listed:
        height = 18 * abs(y.high - y.low) + top + bottom
    if not x.listed:
        right = max([right, *(_beyond(x.place(at), text, width - margin) for at, text in x.names)])
    wide = width - margin - right
    words = [len(text) for _, text in x.names]
    # A list of names is whole: where they would touch, they are slanted.
    slant = x.listed and _CHARACTER * (max(words, default=0) + 1) * len(words) > wide
    room = min(90.0, _SINE * _CHARACTER * max(words)) if slant else 0.0
    if slant:
        margin = _beside_slanted(x, margin, width - right)
        wide = width - margin - right
    return _Frame(x, y, margin, top, wide, height - top - bottom, width, height + room, slant)


def _beside_slanted(x: Axis, margin: float, end: float) -> float:
    """The left margin of a plot that ends there, so wide that the slanted names below it are not cut at its left."""
    for at, text in x.names:
        reach, share = _COSINE * _CHARACTER * len(text) + 4, x.place(at)
        # Where the name ends lies at margin + share * (end - margin).
        margin = max(margin, (reach - share * end) / (1 - share))
    return min(margin, 0.4 * end)


def _beyond(share: float, text: str, room: float) -> float:
    """The right margin, in so much room, that the name of a place on a number axis needs, so that it is not cut."""
    return (_CHARACTER * len(text) / 2 + 2 - (1 - share) * room) / share if share > 0 else 0.0


def _axes(frame: _Frame) -> list[str]:
    """The elements of both axes: grid, ticks, the label of x. A page writes the label of y above the plot."""
    left, right, foot = frame.left, frame.right, frame.foot
    parts = []
    for at, text in frame.y_axis.marked():
        y = frame.y(at)
        if not frame.y_axis.listed:
            parts.append(f'<line class="grid" x1="{left:g}" x2="{right:g}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="tick" x="{left - 6:g}" y="{y + 3.5:.1f}" text-anchor="end">{escape(text)}</text>')
    x_axis = frame.x_axis
    marked = x_axis.marked() if x_axis.listed else without_overlaps(x_axis, frame.wide / _CHARACTER)
    for at, text in marked:
        x = frame.x(at)
        if not frame.x_axis.listed:
            parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{foot:g}" y2="{foot + 4:g}"/>')
        how = f'text-anchor="end" transform="rotate(-35 {x:.1f} {foot + 12:g})"'
        how = f'y="{foot + 12:g}" {how}' if frame.slant else f'y="{foot + 16:g}" text-anchor="middle"'
        parts.append(f'<text class="tick" x="{x:.1f}" {how}>{escape(text)}</text>')
    parts.append(f'<line class="axis" x1="{left:g}" x2="{right:g}" y1="{foot:g}" y2="{foot:g}"/>')
    middle = f'x="{(left + right) / 2:g}" y="{frame.height - 6:g}"'
    return [*parts, f'<text class="label" {middle} text-anchor="middle">{escape(frame.x_axis.label)}</text>']


def _cell_names(frame: _Frame) -> list[str]:
    """The names of rows, at their left, and of columns, above them."""
    rows = [
        f'<text class="tick" x="{frame.left - 6:g}" y="{frame.y(at) + 3.5:.1f}" text-anchor="end">{escape(text)}</text>'
        for at, text in frame.y_axis.names
    ]
    if frame.slant:
        for at, text in frame.x_axis.names:
            place = f"{frame.x(at):.1f} {frame.top - 6:.1f}"
            rows.append(f'<text class="tick" transform="translate({place}) rotate(-35)">{escape(text)}</text>')
        return rows
    above = ((frame.x_axis.groups, "label", 11), (frame.x_axis.names, "tick", frame.top - 6))
    return rows + [
        f'<text class="{kind}" x="{frame.x(at):.1f}" y="{y:g}" text-anchor="middle">{escape(text)}</text>'
        for names, kind, y in above
        for at, text in names
        if text
    ]


def _ordered(figure: Figure, panel: Panel) -> Iterable[tuple[Series, AnyMark]]:
    """The marks as they are drawn, and as the arrow keys go through them: row by row, from left to right."""
    marks = list(panel.each())
    if figure.cell:
        marks.sort(key=lambda one: (one[1].y[0], one[1].x[0]) if isinstance(one[1], Rect) else (0.0, 0.0))
    elif panel.x.listed:
        marks.sort(key=lambda one: one[1].x[0] if isinstance(one[1], Rect) else 0.0)
    # Areas lie below lines and dots.
    return sorted(marks, key=lambda one: not isinstance(one[1], Outline | Rect))


def _mark(frame: _Frame, series: Series, mark: AnyMark) -> str:
    if isinstance(mark, Line):
        drawn = _line(frame, series, mark)
    elif isinstance(mark, Rect):
        drawn = _rect(frame, series, mark)
    elif isinstance(mark, Box):
        drawn = _box(frame, mark)
    elif isinstance(mark, Dot):
        drawn = _dot(frame, mark)
    elif isinstance(mark, Text):
        drawn = f'<text x="{frame.x(mark.x) + 5:.1f}" y="{frame.y(mark.y) + 4:.1f}">{escape(mark.text)}</text>'
    else:
        path = _path([(frame.x(x), frame.y(y)) for x, y in mark.points])
        drawn = f'<path class="fill" fill-opacity="{mark.strength:.2f}" d="{path}Z"/>'
    weight = f" {mark.weight}" if isinstance(mark, Rect | Text) and mark.weight != "plain" else ""
    answer = f"<title>{escape(mark.says)}</title>" if mark.value else ""
    kind = f"mark two{weight}" if mark.value else f"two{weight}"
    return f'<g class="{kind}" style="{colours(series.look)}">{answer}{drawn}</g>'


def _path(points: Sequence[Point]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _line(frame: _Frame, series: Series, line: Line) -> str:
    path: list[str] = []
    last: Point | None = None
    for px, py in line.points:
        if math.isnan(px) or math.isnan(py):
            last = None
            continue
        x, y = frame.x(px), frame.y(py)
        if last is None:
            path.append(f"M{x:.1f} {y:.1f}")
        elif abs(x - last[0]) < 0.3 and abs(y - last[1]) < 0.3:
            continue
        else:
            path.append(f"H{x:.1f}V{y:.1f}" if line.steps else f"L{x:.1f} {y:.1f}")
        last = (x, y)
    pale = f' stroke-opacity="{line.strength:.2f}"' if line.strength < 1 else ""
    dash = _DASHES.get(line.dash or look_of(series.look).line, "")
    # Lines that answer are found by pointing at them; others leave that to the marks below them.
    return f'<path class="{"track" if line.value else "line"}"{pale}{dash} d="{"".join(path)}"/>'


def _rect(frame: _Frame, series: Series, rect: Rect) -> str:
    (left, right), (top, foot) = (sorted(map(frame.x, rect.x)), sorted(map(frame.y, rect.y)))
    inset = 0.5 if rect.text else 0.0
    shape = (
        f'x="{left + inset:.1f}" y="{top + inset:.1f}" width="{max(0.3, right - left - 2 * inset):.1f}" '
        f'height="{max(0.3, foot - top - 2 * inset):.1f}"'
    )
    parts = [f'<rect class="fill" {shape} fill-opacity="{rect.strength:.2f}"/>']
    if hatched(series, rect):
        parts.append(f'<rect fill="url(#{hatch_name(look_of(series.look).hatch)})" {shape}/>')
    middle, centre = (left + right) / 2, (top + foot) / 2
    for number, text in enumerate(rect.text):
        base = centre + 4 + 12 * (number - (len(rect.text) - 1) / 2)
        parts.append(f'<text x="{middle:.1f}" y="{base:.1f}" text-anchor="middle">{escape(text)}</text>')
    if rect.ends is not None:
        low, high = map(frame.y, rect.ends)
        caps = f"M{middle - 4:.1f} {low:.1f}h8M{middle - 4:.1f} {high:.1f}h8"
        parts.append(f'<path class="whisker" d="M{middle:.1f} {low:.1f}V{high:.1f}{caps}"/>')
    return "".join(parts)


def _box(frame: _Frame, box: Box) -> str:
    middle, left, right = (frame.x(box.at + side * box.width / 2) for side in (0, -1, 1))
    first, median, third = map(frame.y, box.quartiles)
    (low, high), mean = map(frame.y, box.whiskers), frame.y(box.mean)
    beyond = "".join(
        f'<circle class="fill" cx="{middle:.1f}" cy="{frame.y(value):.1f}" r="1.4" fill-opacity="0.6"/>'
        for value in box.beyond
    )
    return (
        f'<path class="line" d="M{middle:.1f} {low:.1f}V{first:.1f}M{middle:.1f} {third:.1f}V{high:.1f}"/>'
        f'<rect class="fill" x="{left:.1f}" y="{third:.1f}" width="{right - left:.1f}" '
        f'height="{max(0.5, first - third):.1f}" fill-opacity="0.55"/>'
        f'<path class="whisker" d="M{left:.1f} {median:.1f}H{right:.1f}"/>'
        f'<path class="whisker" d="M{middle:.1f} {mean - 3:.1f}l3 3l-3 3l-3 -3z"/>{beyond}'
    )


_RADIUS = {"dot": 3.0, "point": 2.0, "grain": 1.0, "cross": 1.5, "answer": 2.4}


def _dot(frame: _Frame, dot: Dot) -> str:
    x, y = frame.x(dot.x), frame.y(dot.y)
    if dot.form == "diamond":
        return f'<path class="ring" d="M{x:.1f} {y - 5:.1f}l5 5l-5 5l-5 -5z"/>'
    path = ""
    if dot.x_ends is not None:
        path += f"M{frame.x(dot.x_ends[0]):.1f} {y:.1f}H{frame.x(dot.x_ends[1]):.1f}"
    if dot.y_ends is not None:
        path += f"M{x:.1f} {frame.y(dot.y_ends[0]):.1f}V{frame.y(dot.y_ends[1]):.1f}"
    whiskers = f'<path class="line" d="{path}"/>' if path else ""
    radius = _RADIUS[dot.form] * (1.5 if frame.bare else 1)
    return f'{whiskers}<circle class="fill" cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}"/>'


def _labels(frame: _Frame, panel: Panel) -> Iterable[str]:
    """The labels of dots in a column at the right, each with a line that leads to its dot."""
    dots = [mark for _, mark in panel.each() if isinstance(mark, Dot) and mark.label]
    column = frame.right + 22
    for dot, place in zip(dots, apart([frame.y_axis.place(dot.y) for dot in dots], _LABEL / frame.high), strict=True):
        at = frame.foot - place * frame.high
        lead = f"M{frame.x(dot.x) + 5:.1f} {frame.y(dot.y):.1f}L{column - 12:g} {at:.1f}H{column - 4:g}"
        yield f'<path class="grid" fill="none" d="{lead}"/>'
        yield f'<text class="tick" x="{column:g}" y="{at + 3.5:.1f}">{escape(dot.label)}</text>'


def hatched(series: Series, mark: AnyMark) -> bool:
    """Whether a mark has the hatch of its series: bars have, cells and what is pale have not."""
    return isinstance(mark, Rect) and not mark.text and mark.strength == 1 and bool(look_of(series.look).hatch)


def swatch(series: Series) -> str:
    """The mark of a series in a legend, with its colour and its hatch."""
    first = series.shown
    if isinstance(first, Dot) and first.form == "diamond":
        shape = '<path class="ring" d="M7 1l6 6l-6 6l-6 -6z"/>'
    else:
        pale = first.strength if isinstance(first, Line) else OPACITY if isinstance(first, Rect) and first.text else 1.0
        shape = f'<rect width="14" height="14" rx="2" class="fill" fill-opacity="{pale:.2g}"/>'
    if first is not None and hatched(series, first):
        shape += f'<rect width="14" height="14" rx="2" fill="url(#{hatch_name(look_of(series.look).hatch)})"/>'
    style = f'class="swatch two" width="14" height="14" aria-hidden="true" style="{colours(series.look)}"'
    return f'<svg viewBox="0 0 14 14" {style}>{shape}</svg>'


_PATTERNS = {
    "/": ("slash", "M0 0V6", 45),
    "\\": ("backslash", "M0 0V6", -45),
    "x": ("cross", "M0 0V6M0 0H6", 45),
    ".": ("dots", "M2 3h2", 0),
    "|": ("bars", "M3 0V6", 0),
    "-": ("rules", "M0 3H6", 0),
}


def hatch_name(hatch: str) -> str:
    """The id of the page's pattern for a hatch."""
    return f"hatch-{_PATTERNS[hatch[0]][0]}"


HATCHES = (
    '<svg width="0" height="0" style="position:absolute" aria-hidden="true" focusable="false"><defs>'
    + "".join(
        f'<pattern id="hatch-{name}" class="hatch" width="6" height="6" patternUnits="userSpaceOnUse" '
        f'patternTransform="rotate({turn})"><path d="{path}"/></pattern>'
        for name, path, turn in _PATTERNS.values()
    )
    + "</defs></svg>"
)
"""The patterns that the figures of a page share; stands once in the page."""

GENERIC = ("serif", "sans-serif", "monospace")
"""Families that name a kind of font: CSS and Matplotlib choose one."""


def css_family(family: str) -> str:
    """The family of a font as CSS writes it."""
    return family if family in GENERIC else f'"{family}"'
