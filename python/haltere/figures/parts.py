"""The parts of every figure: panels with two axes, in them series of marks. Pure data, nothing is drawn here.

A kind of figure computes a `Figure`. `on_screen` draws it as SVG inside a page, `on_paper` with Matplotlib.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from haltere.metrics.contenders import Look, look
from haltere.metrics.text import fixed

Point = tuple[float, float]
Ends = tuple[float, float]
Names = Sequence[tuple[float, str]]
"""Places on an axis and what stands there."""


class NotInResultsError(LookupError):
    """The results hold no run that a figure could show; the message says what was looked for."""


_OWN = {
    "first": Look("first", "#0072B2", "#56B4E9", "", "o", "-"),
    "second": Look("second", "#D55E00", "#F0803C", "", "s", "--"),
    "ink": Look("ink", "#1a1a1a", "#e8eaee", "", "D", "-"),
    "up": Look("up", "#b4533c", "#d3745c", "", "o", "-"),
    "down": Look("down", "#2f6f9f", "#5b9bcb", "", "o", "-"),
    "quiet": Look("quiet", "#6b6b6b", "#a3aab5", "", "o", "-"),
    "land": Look("land", "#dfe1e5", "#343943", "", "", "-"),
}


def look_of(name: str) -> Look:
    """How a series is drawn: by one of `_OWN`, a colour such as `#0072B2`, a contender, or `level 0` and so on.

    The first two are of Okabe and Ito, "Color Universal Design", 2008.
    """
    return Look(name, name, name, "", "o", "-") if name.startswith("#") else _OWN.get(name) or look(name)


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis with its label and its range. An axis that runs backwards has its higher end first.

    Attributes:
        label: what is on it, with its unit.
        low: where it begins.
        high: where it ends.
        log: whether it is logarithmic.
        names: the places that are named in the place of round numbers.
        groups: words that stand above several of the names.
        listed: whether the names are those of a list, of which none may be left out.
    """

    label: str
    low: float
    high: float
    log: bool = False
    names: Names = ()
    groups: Names = ()
    listed: bool = False

    def place(self, value: float) -> float:
        """Return where a value stands between the axis's ends, 0 to 1; beyond them, at the end."""
        low, high, at = self.low, self.high, value
        if self.log:
            low, high, at = math.log10(low), math.log10(high), math.log10(max(at, min(low, high)))
        return min(max((at - low) / (high - low), 0.0), 1.0) if high != low else 0.0

    def ticks(self, most: float = 6) -> list[float]:
        """Return some round values between the ends; about `most` on a linear axis."""
        if self.log:
            first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
            wide = math.log10(self.high / self.low) > 2.5
            for steps in ((1,), (1, 2, 5)) if wide else ((1, 2, 5),):
                found = self._within([step * 10.0**power for power in range(first, last + 1) for step in steps])
                if len(found) > 2:
                    return found
        power = 10.0 ** math.floor(math.log10(1.5 * (self.high - self.low) / most))
        step = next(power * m for m in (1, 2, 2.5, 5, 10) if power * m * most >= self.high - self.low)
        begin = math.ceil(self.low / step - 1e-9)
        return self._within([round(i * step, 9) for i in range(begin, math.floor(self.high / step + 1e-9) + 1)])

    def _within(self, values: Sequence[float]) -> list[float]:
        return [value for value in values if self.low <= value * (1 + 1e-12) and value <= self.high * (1 + 1e-12)]

    def marked(self, most: float = 6) -> Names:
        """Return the places with a text beside them: the names, or else the ticks, about `most` of them."""
        return self.names or [(tick, tick_text(tick)) for tick in self.ticks(most)]


def tick_text(value: float) -> str:
    """Return a tick's value with as few digits as possible."""
    return fixed(value, next((places for places in range(6) if round(value, places) == value), 6))


def up_to(bottom: float, top: float) -> list[float]:
    """About five round values from `bottom` up, the last at or just above `top`."""
    span = top - bottom
    if span <= 0:
        return [bottom, bottom + 1.0]
    power = 10.0 ** math.floor(math.log10(span / 4))
    step = next(power * m for m in (1, 2, 2.5, 5, 10) if power * m * 5 >= span)
    return [round(bottom + i * step, 8) for i in range(math.ceil(span / step - 1e-9) + 1)]


CHARACTERS = 46
"""About as many characters of a label's size stand side by side under a figure one column wide."""


def crowded(labels: Sequence[str], columns: float = 1.0) -> bool:
    """Whether labels side by side under a plot, some columns of paper wide, would run into each other."""
    return max((len(label) for label in labels), default=0) * len(labels) > columns * CHARACTERS


def without_overlaps(axis: Axis, characters: float = CHARACTERS) -> Names:
    """The marked places of an axis, on which so many characters have room, without texts that would overlap others."""
    found: list[tuple[float, str]] = []
    end = -math.inf
    for at, text in axis.marked(max(6.0, 6 * characters / CHARACTERS)):
        middle, half = axis.place(at) * characters, len(text) / 2
        there = middle - half >= end + 0.6
        found.append((at, text if there else ""))
        end = middle + half if there else end
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A mark answers when pointed at, if it has a `value`: with the place that it stands for, and the value there."""

    place: str = ""
    value: str = ""

    @property
    def says(self) -> str:
        """The answer."""
        return f"{self.place}\n{self.value}" if self.place else self.value


@dataclass(frozen=True, slots=True)
class Line(Mark):
    """A line through points, pale if its `strength` is below 1, and level between them if it has `steps`.

    `dash` is in Matplotlib's words, as looks have it; without any it is that of the series.
    """

    points: Sequence[Point]
    steps: bool = False
    strength: float = 1.0
    dash: str = ""
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Outline(Mark):
    """A filled polygon, such as a violin or the world's land."""

    points: Sequence[Point]
    strength: float = 1.0


@dataclass(frozen=True, slots=True)
class Rect(Mark):
    """A rectangle over two ranges: a bar, or a cell with its text, a line each. `ends` is a whisker along y."""

    x: Ends
    y: Ends
    strength: float = 1.0
    text: Sequence[str] = ()
    weight: Literal["plain", "bold", "faint"] = "plain"
    ends: Ends | None = None


@dataclass(frozen=True, slots=True)
class Box(Mark):
    """A box plot at a place on x: quartiles, the ends of the whiskers, the mean, and the values beyond."""

    at: float
    width: float
    quartiles: tuple[float, float, float]
    whiskers: Ends
    mean: float
    beyond: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class Dot(Mark):
    """A point with its intervals, if it has any, and with a label beside the plot, if it has one."""

    x: float
    y: float
    x_ends: Ends | None = None
    y_ends: Ends | None = None
    label: str = ""
    form: Literal["dot", "point", "grain", "cross", "answer", "diamond"] = "dot"
    """Full size; small, where there are many; smaller, or a cross, where they are dense; a place at which a curve
    answers, which paper does not show; or hollow, for what others published."""


@dataclass(frozen=True, slots=True)
class Text(Mark):
    """A text to the right of a place."""

    x: float
    y: float
    text: str
    weight: Literal["plain", "faint"] = "plain"


AnyMark = Line | Outline | Rect | Box | Dot | Text


@dataclass(frozen=True, slots=True)
class Series:
    """Marks that look alike: `look` is a key of `look_of`. Only a series with a label stands in a legend.

    There it looks like its first mark, or like `key` if there is one.
    """

    look: str
    label: str
    marks: Sequence[AnyMark]
    key: AnyMark | None = None

    @property
    def shown(self) -> AnyMark | None:
        """The mark that a legend shows."""
        return self.key or next(iter(self.marks), None)


@dataclass(frozen=True, slots=True)
class Panel:
    """One of the plots of a figure. Of plots above each other, `height` is relative to that of others."""

    title: str
    x: Axis
    y: Axis
    series: Sequence[Series]
    height: float = 1.0

    @property
    def legend(self) -> list[Series]:
        """The series with a label, each once."""
        return list({(one.look, one.label): one for one in self.series if one.label}.values())

    def each(self, kind: type[AnyMark] | None = None) -> Iterator[tuple[Series, AnyMark]]:
        """All marks, or those of a kind, with their series."""
        return ((one, mark) for one in self.series for mark in one.marks if kind is None or isinstance(mark, kind))


@dataclass(frozen=True, slots=True)
class Table:
    """The numbers of a figure: its headings, none if the rows need none, and its rows."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Figure:
    """All that is drawn, and what a page says beside it.

    Attributes:
        name: its files are called after it.
        title: what it shows.
        panels: its plots.
        source: what it repeats.
        caption: more about what it shows.
        section: the heading under which a page shows it.
        notes: what ways of writing in cells mean, such as bold.
        own_table: its numbers; without it, the places and values of its marks.
        cell: width and height of a cell, in pixels of the screen; the plots of other figures have a size of their own.
        wide: whether its plots are wide, for labels at their right or for detail.
        bare: whether it is a map: without axes, both to one scale.
        keys: what stands in a legend above plots that have legends of their own.
        colours: the factor whose levels the legend shows, where their names do not say it.
    """

    name: str
    title: str
    panels: Sequence[Panel]
    source: str = ""
    caption: str = ""
    section: str = ""
    notes: Sequence[tuple[str, str]] = ()
    own_table: Table | None = field(default=None, repr=False)
    cell: tuple[float, float] | None = None
    wide: bool = False
    bare: bool = False
    keys: Sequence[Series] = ()
    colours: str = ""

    @property
    def stacked(self) -> bool:
        """Whether the panels stand above each other, with different quantities on y."""
        return bool(self.keys) or len({panel.y.label for panel in self.panels}) > 1

    @property
    def unit(self) -> str:
        """The label of y, where a page writes it above the plots."""
        return "" if self.stacked or self.cell else self.panels[0].y.label

    @property
    def legend(self) -> list[Series]:
        """The series of all panels with a label, each once."""
        every = itertools.chain.from_iterable(panel.legend for panel in self.panels)
        return list({(one.look, one.label): one for one in every}.values())

    @property
    def table(self) -> Table:
        """The numbers of the figure."""
        return self.own_table or Table((), self.rows())

    def rows(self) -> list[tuple[str, str]]:
        """The numbers: where, and what."""
        marks = [mark for panel in self.panels for _, mark in panel.each()]
        # A violin has a dot at its median, which says the same.
        return list(dict.fromkeys((mark.place, mark.value) for mark in marks if mark.value))


def apart(places: Sequence[float], gap: float) -> list[float]:
    """Return where labels stand, 0 to 1: as near to their places as a gap between them allows.

    Labels that would overlap stand around the mean of their places (isotonic regression of the places that are left
    when each label's share of the gaps is taken off).
    """
    order = sorted(range(len(places)), key=places.__getitem__)
    groups: list[tuple[float, int]] = []
    for rank, i in enumerate(order):
        groups.append((places[i] - rank * gap, 1))
        while len(groups) > 1 and groups[-2][0] >= groups[-1][0]:
            (a, n), (b, m) = groups[-2:]
            groups[-2:] = [((a * n + b * m) / (n + m), n + m)]
    free = max(0.0, 1.0 - (len(order) - 1) * gap)
    bases = [min(max(base, 0.0), free) for base, count in groups for _ in range(count)]
    found = [0.0] * len(order)
    for rank, i in enumerate(order):
        found[i] = bases[rank] + rank * gap
    return found
