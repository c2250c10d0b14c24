"""What the charts of a study consist of: panels, in each of them strands with lines, dots and shapes on two axes.

A kind of chart (`lines`, `cdfs`, `violins`, `scatters`, `heatmaps`) computes a `ChartFigure`; `chart_screen` and
`chart_paper` draw it, whatever its kind.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from haltere.figures.data import NotInResultsError, levels_text
from haltere.figures.plots import Axis, Point
from haltere.figures.spec import Chart, FigureList
from haltere.metrics import Metric, quantities
from haltere.metrics.contenders import keys, look
from haltere.metrics.tables import Tables


@dataclass(frozen=True, slots=True)
class Dot:
    """A point, the ends of its interval if it has one, and what it answers when pointed at: a place and a value."""

    x: float
    y: float
    place: str
    value: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Shape:
    """A filled outline, how strong its colour is (0 to 1), what it answers, and a text in its middle."""

    points: Sequence[Point]
    strength: float
    place: str
    value: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Strand:
    """What has one colour: a contender, or `level 0` and so on for the levels of other factors."""

    look: str
    label: str
    line: Sequence[Point] = ()
    steps: bool = False
    dots: Sequence[Dot] = ()
    shapes: Sequence[Shape] = ()


@dataclass(frozen=True, slots=True)
class ChartPanel:
    """One of the small multiples."""

    title: str
    strands: Sequence[Strand]


Ticks = Sequence[tuple[float, str]]


@dataclass(frozen=True, slots=True)
class ChartFigure:
    """The data of a chart. `x_ticks` and `y_ticks` name places on an axis in the place of round numbers."""

    spec: Chart
    metric: Metric
    title: str
    x: Axis
    y: Axis
    panels: Sequence[ChartPanel]
    x_ticks: Ticks = ()
    y_ticks: Ticks = ()

    @property
    def legend(self) -> list[Strand]:
        """One strand a colour, in order, where there are several."""
        found = {strand.look: strand for panel in self.panels for strand in panel.strands}
        return list(found.values()) if len(found) > 1 else []

    def rows(self) -> list[tuple[str, str]]:
        """The numbers: where, and what."""
        strands = [strand for panel in self.panels for strand in panel.strands]
        dots = [(one.place, one.value) for strand in strands for one in strand.dots]
        shapes = [(one.place, one.value) for strand in strands for one in strand.shapes]
        # A violin has a dot at its median, which says the same.
        return list(dict.fromkeys([*dots, *shapes]))


@dataclass(frozen=True)
class Sample:
    """The runs that a chart shows: a frame with factors, `replication`, `value`, and the order of the levels."""

    frame: pl.DataFrame
    metric: Metric
    levels: Mapping[str, Sequence[str]]

    def split(self, factor: str) -> list[tuple[str, pl.DataFrame]]:
        """The runs by the levels of a factor, in order; all of them under an empty name if there is no factor."""
        if not factor:
            return [("", self.frame)]
        return [
            (level, part)
            for level in self.levels[factor]
            if not (part := self.frame.filter(pl.col(factor) == level)).is_empty()
        ]


def sample(tables: Tables, spec: Chart, words: FigureList, factors: Sequence[str], metric: str = "") -> Sample:
    """The values of a chart's metric (or of another one).

    Raises `NotInResultsError` if the results hold none of them, or the experiment lacks one of the factors.
    """
    measure = words.metric(metric or spec.metric)
    frame = tables.values(spec.experiment, measure, spec.where)
    needed = [name for name in (*factors, spec.series, spec.panels) if name]
    absent = [name for name in needed if name not in frame.columns]
    if frame.is_empty() or absent:
        known = spec.experiment in tables.factors
        reason = f"no factor {absent[0]}" if absent and known else "no completed run"
        message = f"{reason} in experiment {spec.experiment} with {measure.label.lower()}"
        raise NotInResultsError(message + (f" at {_where(spec)}" if spec.where else ""))
    return Sample(frame, measure, {name: tables.levels(spec.experiment, name) for name in needed})


def _where(spec: Chart) -> str:
    return ", ".join(
        f"{factor} {level if isinstance(level, str) else ', '.join(level)}" for factor, level in spec.where.items()
    )


def title_of(spec: Chart, default: str = "") -> str:
    """A chart's title: its own, or the levels of its `where`."""
    single = {factor: level for factor, level in spec.where.items() if isinstance(level, str)}
    return spec.title or levels_text(list(single), list(single.values())) or default


def named(sampled: Sample, factor: str, level: str, spec: Chart) -> tuple[str, str]:
    """How the strand of a level looks, and what it is called."""
    if not factor:
        return "level 0", ""
    contenders = [_contender(one, factor, spec) for one in sampled.levels[factor]]
    contender = _contender(level, factor, spec)
    chosen = keys(contenders)[contender]
    return chosen, look(contender).name if "/" in contender else quantities.text(level, factor)


def _contender(level: str, factor: str, spec: Chart) -> str:
    """The contender that a level stands for, where transport and congestion control are both known; else the level."""
    other = {"transport": spec.where.get("congestion"), "congestion": spec.where.get("transport")}.get(factor)
    if not isinstance(other, str) or "/" in level or "/" in other:
        return level
    return f"{level}/{other}" if factor == "transport" else f"{other}/{level}"


def number_axis(label: str, values: Sequence[float], *, log: bool, zero: bool = False) -> Axis:
    """An axis that holds all values, with some room; logarithmic if that is wanted and all are above 0."""
    low, high = min(values), max(values)
    if log and low > 0:
        return Axis(label, low / 1.15, high * 1.15, log=True)
    low = min(0.0, low) if zero else low
    room = 0.06 * (high - low) or 0.1 * abs(high) or 1.0
    return Axis(label, low if zero and low == 0 else low - room, high + room)


def factor_axis(label: str, factor: str, levels: Sequence[str]) -> tuple[Axis, Ticks, Mapping[str, float]]:
    """An axis for the levels of a factor, its ticks, and where each level stands.

    Quantities stand by their value, in the unit of the first, logarithmically if they span more than a factor of 20.
    """
    values = [quantities.value(level) for level in levels]
    known = [value for value in values if value is not None]
    if len(levels) < 2 or len(known) < len(levels) or len({quantities.dimension(level) for level in levels}) > 1:
        return category_axis(label, factor, levels)
    log = min(known) > 0 and max(known) / min(known) > 20
    axis = number_axis(label, known, log=log)
    ticks = [(value, quantities.text(level, factor)) for value, level in zip(known, levels, strict=True)]
    return axis, ticks, dict(zip(levels, known, strict=True))


def category_axis(label: str, factor: str, levels: Sequence[str]) -> tuple[Axis, Ticks, Mapping[str, float]]:
    """An axis on which the levels of a factor stand at equal distances."""
    ticks = [(float(at), quantities.text(level, factor)) for at, level in enumerate(levels)]
    return Axis(label, -0.5, len(levels) - 0.5), ticks, {level: float(at) for at, level in enumerate(levels)}


def thinned(count: int, most: int = 400) -> list[int]:
    """The places of at most so many of `count` values, evenly spread, with the first and the last."""
    if count <= most:
        return list(range(count))
    return sorted({math.floor(i * (count - 1) / (most - 1)) for i in range(most)})
