"""Figures on two axes, and maps, for the report: SVG inside the page, as `screen` draws the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from haltere.figures.plots import Axis, Box, Line, Plot, Point, Ring, WorldMap, land
from haltere.figures.screen import open_plot
from haltere.metrics.text import fixed


@dataclass(frozen=True)
class Frame:
    """The size of a figure on two axes and of the margins around them, pixels."""

    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int

    def x(self, axis: Axis, value: float) -> float:
        """Where a value stands on the x axis."""
        return self.left + axis.place(value) * (self.width - self.left - self.right)

    def y(self, axis: Axis, value: float) -> float:
        """Where a value stands on the y axis."""
        return self.height - self.bottom - axis.place(value) * (self.height - self.bottom - self.top)

    def open(self, name: str) -> str:
        """The opening tag of the figure's element."""
        return open_plot(self.width, self.height, name)

    def axes(self, x_axis: Axis, y_axis: Axis) -> list[str]:
        """The elements of both axes: grid, ticks, the label of x."""
        left, right, foot = self.left, self.width - self.right, self.height - self.bottom
        parts = []
        for tick in y_axis.ticks():
            y = self.y(y_axis, tick)
            parts.append(f'<line class="grid" x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
            text = tick_text(tick)
            parts.append(f'<text class="tick" x="{left - 6}" y="{y + 3.5:.1f}" text-anchor="end">{text}</text>')
        for tick in x_axis.ticks():
            x = self.x(x_axis, tick)
            parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{foot}" y2="{foot + 4}"/>')
            parts.append(
                f'<text class="tick" x="{x:.1f}" y="{foot + 16}" text-anchor="middle">{tick_text(tick)}</text>'
            )
        middle = (left + right) / 2
        parts.append(f'<line class="axis" x1="{left}" x2="{right}" y1="{foot}" y2="{foot}"/>')
        label = escape(x_axis.label)
        parts.append(f'<text class="label" x="{middle}" y="{self.height - 6}" text-anchor="middle">{label}</text>')
        return parts


_FRAME = Frame(width=320, height=210, left=42, right=8, top=10, bottom=40)


def plot_svg(plot: Plot) -> str:
    """The SVG element of a figure on two axes."""
    parts = [_FRAME.open(f"{plot.title}: {plot.y.label} by {plot.x.label}"), *_FRAME.axes(plot.x, plot.y)]
    parts += [_box(plot, box) for box in plot.boxes]
    for line in plot.lines:
        parts.append(_line(plot, line))
        parts += [_mark(plot, line, point, says) for point, says in line.marks]
    parts += [_ring(plot, ring) for ring in plot.rings]
    return "".join([*parts, "</svg>"])


def tick_text(value: float) -> str:
    """Return a tick's value with as few digits as possible."""
    places = next((p for p in range(6) if round(value, p) == value), 6)
    return fixed(value, places)


def _box(plot: Plot, box: Box) -> str:
    left, right, top, foot = (
        _FRAME.x(plot.x, box.x0),
        _FRAME.x(plot.x, box.x1),
        _FRAME.y(plot.y, box.y1),
        _FRAME.y(plot.y, box.y0),
    )
    return (
        f'<g class="mark" style="--c:var(--c-{box.colour})"><title>{escape(box.says)}</title>'
        f'<rect class="fill" x="{left:.1f}" y="{top:.1f}" width="{max(0.3, right - left):.1f}" '
        f'height="{max(0.3, foot - top):.1f}" fill-opacity="{box.strength:.2f}"/></g>'
    )


def _line(plot: Plot, line: Line) -> str:
    path: list[str] = []
    last = None
    for x, y in ((_FRAME.x(plot.x, p[0]), _FRAME.y(plot.y, p[1])) for p in line.points):
        if last is None:
            path.append(f"M{x:.1f} {y:.1f}")
        elif line.steps:
            path.append(f"H{x:.1f}V{y:.1f}")
        elif abs(x - last[0]) >= 0.3 or abs(y - last[1]) >= 0.3:
            path.append(f"L{x:.1f} {y:.1f}")
        else:
            continue
        last = (x, y)
    return (
        f'<path class="line" style="--c:var(--c-{line.colour})" stroke-opacity="{line.strength:.2f}" '
        f'd="{"".join(path)}"/>'
    )


def _mark(plot: Plot, line: Line, point: Point, says: str) -> str:
    x, y, radius = _FRAME.x(plot.x, point[0]), _FRAME.y(plot.y, point[1]), 3 if line.label else 1.8
    return (
        f'<g class="mark" style="--c:var(--c-{line.colour})"><title>{escape(says)}</title>'
        f'<circle class="fill" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/></g>'
    )


def _ring(plot: Plot, ring: Ring) -> str:
    x, y = _FRAME.x(plot.x, ring.point[0]), _FRAME.y(plot.y, ring.point[1])
    return (
        f'<g class="mark" style="--c:var(--c-{ring.colour})"><title>{escape(ring.says)}</title>'
        f'<path class="ring" d="M{x:.1f} {y - 5:.1f}l5 5l-5 5l-5 -5z"/></g>'
    )


def map_svg(world: WorldMap) -> str:
    """The SVG element of a map."""
    west, south, east, north = world.window()
    wide = 640.0
    scale = wide / (east - west)
    high = (north - south) * scale

    def place(point: Point) -> str:
        return f"{(point[0] - west) * scale:.1f} {(north - point[1]) * scale:.1f}"

    def path(points: Sequence[Point]) -> str:
        return "M" + "L".join(place(point) for point in points)

    box = f'viewBox="0 0 {wide:g} {high:.0f}"'
    parts = [f'<svg class="plot map" {box} role="group" aria-label="{escape(world.title)}" tabindex="0">']
    outline = "".join(path(ring) + "Z" for ring in land() if _shown(ring, (west, south, east, north)))
    parts.append(f'<path class="land" d="{outline}"/>')
    for track in world.tracks:
        drawn = "".join(path(line) for line in track.lines())
        if drawn:
            parts.append(
                f'<g class="mark" style="--c:var(--c-{track.colour})"><title>{escape(track.says)}</title>'
                f'<path class="track" d="{drawn}"/></g>'
            )
    for point, colour, says in world.dots:
        x, y = place(point).split()
        parts.append(
            f'<g class="mark" style="--c:var(--c-{colour})"><title>{escape(says)}</title>'
            f'<circle class="fill dot" cx="{x}" cy="{y}" r="4.5"/></g>'
        )
    return "".join([*parts, "</svg>"])


def _shown(ring: Sequence[Point], window: tuple[float, float, float, float]) -> bool:
    west, south, east, north = window
    return (
        max(p[0] for p in ring) >= west
        and min(p[0] for p in ring) <= east
        and max(p[1] for p in ring) >= south
        and min(p[1] for p in ring) <= north
    )
