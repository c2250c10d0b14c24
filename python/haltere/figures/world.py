"""Maps of the world in the plate carrée projection, with paths on them and dots where they begin."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise

from haltere.figures.parts import Axis, Dot, Figure, Line, Outline, Panel, Point, Series

_BREAK = (math.nan, math.nan)


@dataclass(frozen=True)
class Track:
    """A path on a map: the places it passes, degrees (longitude, latitude), its look, and its answer."""

    points: Sequence[Point]
    look: str
    says: str

    def lines(self) -> list[list[Point]]:
        """Return it as lines of points, along great circles from place to place, cut at the map's edge."""
        return [line for start, end in pairwise(self.points) for line in great_circle(start, end)]


def world_map(name: str, title: str, tracks: Sequence[Track], dots: Sequence[tuple[Point, str, str]]) -> Figure:
    """A map with tracks, and with dots: the place, the look and the answer of each."""
    west, south, east, north = window(tracks, dots)
    seen = [
        Outline(ring)
        for ring in land()
        if max(x for x, _ in ring) >= west
        and min(x for x, _ in ring) <= east
        and max(y for _, y in ring) >= south
        and min(y for _, y in ring) <= north
    ]
    series = [Series("land", "", seen)]
    for track in tracks:
        points = [point for line in track.lines() for point in (*line, _BREAK)]
        if points:
            series.append(Series(track.look, "", [Line(points, strength=0.4, value=track.says)]))
    series += [Series(look, "", [Dot(*point, value=says)]) for point, look, says in dots]
    panel = Panel("", Axis("longitude", west, east), Axis("latitude", south, north), series)
    return Figure(name, title, [panel], bare=True)


def window(tracks: Sequence[Track], dots: Sequence[tuple[Point, str, str]]) -> tuple[float, float, float, float]:
    """Return west, south, east, north of what is shown: all that is drawn, with some space, never less than 60°.

    The space goes on beyond the map's edges (±180° and the poles), so that dots there are whole.
    """
    points = [point for track in tracks for line in track.lines() for point in line] + [dot[0] for dot in dots]
    if not points:
        return -180.0, -60.0, 180.0, 85.0
    west, east = _room(min(p[0] for p in points), max(p[0] for p in points), 60.0, 188.0)
    south, north = _room(min(p[1] for p in points), max(p[1] for p in points), 40.0, 94.0)
    return west, south, east, north


def _room(low: float, high: float, least: float, edge: float) -> tuple[float, float]:
    space = max(8.0, (least - (high - low)) / 2)
    return max(-edge, low - space), min(edge, high + space)


@cache
def land() -> tuple[tuple[Point, ...], ...]:
    """Return the outlines of the continents and larger islands, degrees (longitude, latitude).

    From Natural Earth's 1:110m land (public domain, naturalearthdata.com).
    """
    rings = json.loads((files("haltere.figures") / "land.json").read_text(encoding="utf-8"))["rings"]
    return tuple(tuple(zip((v / 10 for v in r[::2]), (v / 10 for v in r[1::2]), strict=True)) for r in rings)


def great_circle(start: Point, end: Point, step_degrees: float = 3.0) -> list[list[Point]]:
    """Return the great circle between two places as lines of points, cut where it crosses the map's edge (±180°)."""
    a, b = _vector(start), _vector(end)
    angle = math.acos(max(-1.0, min(1.0, sum(p * q for p, q in zip(a, b, strict=True)))))
    if angle < 1e-6 or math.pi - angle < 1e-6:
        return [[start, end]]
    count = max(1, math.ceil(math.degrees(angle) / step_degrees))
    points = [start]
    for i in range(1, count):
        u, v = (math.sin((1 - i / count) * angle), math.sin(i / count * angle))
        x, y, z = ((u * p + v * q) / math.sin(angle) for p, q in zip(a, b, strict=True))
        points.append((math.degrees(math.atan2(y, x)), math.degrees(math.asin(max(-1.0, min(1.0, z))))))
    lines: list[list[Point]] = [[points[0]]]
    for point in [*points[1:], end]:
        last = lines[-1][-1]
        if abs(point[0] - last[0]) > 180:
            edge = math.copysign(180.0, last[0])
            latitude = _at_edge(last, point, edge)
            lines[-1].append((edge, latitude))
            lines.append([(-edge, latitude)])
        lines[-1].append(point)
    return [line for line in lines if len(line) > 1]


def _at_edge(last: Point, following: Point, edge: float) -> float:
    """The latitude at which a short line crosses the map's edge."""
    beyond = following[0] + 2 * edge
    share = 0.0 if beyond == last[0] else (edge - last[0]) / (beyond - last[0])
    return last[1] + share * (following[1] - last[1])


def _vector(place: Point) -> tuple[float, float, float]:
    longitude, latitude = math.radians(place[0]), math.radians(place[1])
    level = math.cos(latitude)
    return level * math.cos(longitude), level * math.sin(longitude), math.sin(latitude)
