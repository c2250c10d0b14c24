"""Figures on two axes, and maps: their numbers. Drawn for the screen by `plots_screen`, for paper by `plots_paper`."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise

Point = tuple[float, float]


@dataclass(frozen=True)
class Axis:
    """One axis: its label, its range, and whether it is logarithmic."""

    label: str
    low: float
    high: float
    log: bool = False

    def place(self, value: float) -> float:
        """Return where a value stands between the axis's ends, 0 to 1; beyond them, at the end."""
        low, high, at = self.low, self.high, min(max(value, self.low), self.high)
        if self.log:
            low, high, at = math.log10(low), math.log10(high), math.log10(at)
        return (at - low) / (high - low) if high > low else 0.0

    def ticks(self) -> list[float]:
        """Return some round values between the ends."""
        if self.log:
            first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
            wide = math.log10(self.high / self.low) > 2.5
            for steps in ((1,), (1, 2, 5)) if wide else ((1, 2, 5),):
                found = self._within([step * 10.0**power for power in range(first, last + 1) for step in steps])
                if len(found) > 2:
                    return found
        power = 10.0 ** math.floor(math.log10((self.high - self.low) / 4))
        step = next(power * m for m in (1, 2, 2.5, 5, 10) if power * m * 6 >= self.high - self.low)
        begin = math.ceil(self.low / step - 1e-9)
        return self._within([round(i * step, 9) for i in range(begin, math.floor(self.high / step + 1e-9) + 1)])

    def _within(self, values: Sequence[float]) -> list[float]:
        return [value for value in values if self.low <= value * (1 + 1e-12) and value <= self.high * (1 + 1e-12)]


@dataclass(frozen=True)
class Line:
    """A line through points; `marks` are the points that show a text when pointed at, each with its text.

    Attributes:
        label: in the legend; none if empty.
        colour: one of `COLOURS`.
        strength: opacity, 0 to 1.
        steps: whether it is level between points, as a CDF of whole numbers is.
    """

    label: str
    colour: str
    points: Sequence[Point]
    strength: float = 1.0
    steps: bool = False
    marks: Sequence[tuple[Point, str]] = ()


@dataclass(frozen=True)
class Box:
    """A rectangle from (x0, y0) to (x1, y1) and the text it shows when pointed at."""

    x0: float
    x1: float
    y0: float
    y1: float
    colour: str
    strength: float
    says: str


@dataclass(frozen=True)
class Ring:
    """A point that somebody else published, drawn as a hollow diamond; and the text it shows when pointed at."""

    point: Point
    colour: str
    says: str


@dataclass(frozen=True)
class Plot:
    """A figure on two axes: boxes, lines on top of them, and what was published by others."""

    name: str
    title: str
    source: str
    x: Axis
    y: Axis
    lines: Sequence[Line] = ()
    boxes: Sequence[Box] = ()
    rings: Sequence[Ring] = ()


@dataclass(frozen=True)
class Track:
    """A path on a map: the places it passes, degrees (longitude, latitude), and the text it shows when pointed at."""

    points: Sequence[Point]
    colour: str
    says: str

    def lines(self) -> list[list[Point]]:
        """Return it as lines of points, along great circles from place to place, cut at the map's edge."""
        return [line for start, end in pairwise(self.points) for line in great_circle(start, end)]


@dataclass(frozen=True)
class WorldMap:
    """A map in the plate carrée projection, with paths on it and dots where they begin."""

    name: str
    title: str
    source: str
    tracks: Sequence[Track]
    dots: Sequence[tuple[Point, str, str]]

    def window(self) -> tuple[float, float, float, float]:
        """Return west, south, east, north of what is shown: all that is drawn, with some space, never less than 60°.

        The space goes on beyond the map's edges (±180° and the poles), so that dots there are whole.
        """
        points = [p for line in self.lines() for p in line] + [dot[0] for dot in self.dots]
        if not points:
            return -180.0, -60.0, 180.0, 85.0
        west, east = _room(min(p[0] for p in points), max(p[0] for p in points), 60.0, 188.0)
        south, north = _room(min(p[1] for p in points), max(p[1] for p in points), 40.0, 94.0)
        return west, south, east, north

    def lines(self) -> list[list[Point]]:
        """Return the lines of all tracks as they are drawn, along great circles."""
        return [line for track in self.tracks for line in track.lines()]


def _room(low: float, high: float, least: float, edge: float) -> tuple[float, float]:
    space = max(8.0, (least - (high - low)) / 2)
    return max(-edge, low - space), min(edge, high + space)


COLOURS = {"first": ("#0072B2", "#56B4E9"), "second": ("#D55E00", "#F0803C"), "ink": ("#1a1a1a", "#e8eaee")}
"""The colours of the periods, and of what belongs to none, on light and on dark ground.

(Okabe and Ito, "Color Universal Design", 2008.)
"""


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
