"""Figures on two axes, and maps, for the report: SVG inside the page, as `screen` draws the others."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from haltere.figures.plots import Axis, Box, Line, Plot, Point, WorldMap, great_circle, land
from haltere.figures.text import fixed

_WIDTH, _HEIGHT = 320, 210
_LEFT, _RIGHT, _TOP, _BOTTOM = 42, 8, 10, 40


def plot_svg(plot: Plot) -> str:
    """The SVG element of a figure on two axes."""
    parts = [_open(_WIDTH, _HEIGHT, f"{plot.title}: {plot.y.label} by {plot.x.label}"), *_axes(plot)]
    parts += [_box(plot, box) for box in plot.boxes]
    for line in plot.lines:
        parts.append(_line(plot, line))
        parts += [_mark(plot, line, point, says) for point, says in line.marks]
    return "".join([*parts, "</svg>"])


def _x(axis: Axis, value: float) -> float:
    return _LEFT + axis.place(value) * (_WIDTH - _LEFT - _RIGHT)


def _y(axis: Axis, value: float) -> float:
    return _HEIGHT - _BOTTOM - axis.place(value) * (_HEIGHT - _BOTTOM - _TOP)


def tick_text(value: float) -> str:
    """Return a tick's value with as few digits as possible."""
    places = next((p for p in range(6) if round(value, p) == value), 6)
    return fixed(value, places)


def _axes(plot: Plot) -> list[str]:
    right, foot = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    parts = []
    for tick in plot.y.ticks():
        y = _y(plot.y, tick)
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="tick" x="{_LEFT - 6}" y="{y + 3.5:.1f}" text-anchor="end">{tick_text(tick)}</text>')
    for tick in plot.x.ticks():
        x = _x(plot.x, tick)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{foot}" y2="{foot + 4}"/>')
        parts.append(f'<text class="tick" x="{x:.1f}" y="{foot + 16}" text-anchor="middle">{tick_text(tick)}</text>')
    middle = (_LEFT + right) / 2
    parts.append(f'<line class="axis" x1="{_LEFT}" x2="{right}" y1="{foot}" y2="{foot}"/>')
    label = escape(plot.x.label)
    parts.append(f'<text class="label" x="{middle}" y="{_HEIGHT - 6}" text-anchor="middle">{label}</text>')
    return parts


def _box(plot: Plot, box: Box) -> str:
    left, right, top, foot = _x(plot.x, box.x0), _x(plot.x, box.x1), _y(plot.y, box.y1), _y(plot.y, box.y0)
    return (
        f'<g class="mark" style="--c:var(--c-{box.colour})"><title>{escape(box.says)}</title>'
        f'<rect class="fill" x="{left:.1f}" y="{top:.1f}" width="{max(0.3, right - left):.1f}" '
        f'height="{max(0.3, foot - top):.1f}" fill-opacity="{box.strength:.2f}"/></g>'
    )


def _line(plot: Plot, line: Line) -> str:
    path: list[str] = []
    last = None
    for x, y in ((_x(plot.x, p[0]), _y(plot.y, p[1])) for p in line.points):
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
    x, y, radius = _x(plot.x, point[0]), _y(plot.y, point[1]), 3 if line.label else 1.8
    return (
        f'<g class="mark" style="--c:var(--c-{line.colour})"><title>{escape(says)}</title>'
        f'<circle class="fill" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/></g>'
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

    parts = [_open(wide, high, world.title, "plot map")]
    outline = "".join(path(ring) + "Z" for ring in land() if _shown(ring, (west, south, east, north)))
    parts.append(f'<path class="land" d="{outline}"/>')
    for track in world.tracks:
        drawn = "".join(
            path(line)
            for start, end in zip(track.points, track.points[1:], strict=False)
            for line in great_circle(start, end)
        )
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


def _open(width: float, height: float, name: str, kind: str = "plot") -> str:
    box = f'viewBox="0 0 {width:g} {height:.0f}"'
    return f'<svg class="{kind}" {box} role="group" aria-label="{escape(name)}" tabindex="0">'
