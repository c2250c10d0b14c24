"""The runs that a chart shows, split into its panels and its series, and axes for factors and metrics."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from haltere.figures.parts import AnyMark, Axis, Dot, Ends, Figure, Line, NotInResultsError, Panel, Series, crowded
from haltere.figures.spec import Chart, Data
from haltere.metrics import Metric, quantities
from haltere.metrics.contenders import is_contender, keys, look
from haltere.metrics.tables import Key, summarise
from haltere.metrics.text import decimals, fixed
from haltere.stats import Interval


@dataclass(frozen=True)
class Part:
    """The runs of one series in one panel: how they look, and the levels that they have in common.

    Attributes:
        look: a key of `look_of`.
        label: the series in a legend.
        place: panel and series, for answers.
        keys: the levels of panel and series.
        number: of the series.
        count: of all series.
        frame: the runs.
    """

    look: str
    label: str
    place: str
    keys: Key
    number: int
    count: int
    frame: pl.DataFrame = field(repr=False)

    @property
    def width(self) -> float:
        """The width that a series has beside others, in units of a listed axis."""
        return 0.8 / self.count

    def beside(self, at: float) -> float:
        """Where the series stands around a place that it shares with others."""
        return at + (self.number - (self.count - 1) / 2) * self.width

    def along(self, axis: Axis, at: float) -> float:
        """Where a point of the series stands: beside those of others on a list, else at the place itself."""
        return self.beside(at) if axis.listed else at

    def split(self, factor: str, levels: Iterable[str]) -> Iterator[tuple[str, list[float]]]:
        """The values of the runs by the levels of a factor, in order, where there are any."""
        for level in levels:
            values = self.frame.filter(pl.col(factor) == level)["value"].to_list()
            if values:
                yield level, values

    def at(self, *texts: str) -> str:
        """The place of a mark: panel, series and these."""
        return ", ".join(text for text in (self.place, *texts) if text)


@dataclass(frozen=True)
class Sample:
    """The runs that a chart shows: a frame with factors, `replication`, `value`, and the order of the levels.

    `compared` says that the values are of `paired`: differences or logarithms, which may be negative.
    """

    chart: Chart
    data: Data
    frame: pl.DataFrame
    metric: Metric
    order: Mapping[str, Sequence[str]]
    compared: bool = False

    def levels(self, factor: str) -> list[str]:
        """The levels of a factor that the runs have, in order; one without a name if there is no factor."""
        if not factor:
            return [""]
        present = set(self.frame[factor].to_list())
        return [level for level in self.order[factor] if level in present]

    def means(self, *factors: str) -> dict[Key, Interval]:
        """The mean with its interval over replications, by the levels of panels, series and these factors.

        Over factors that are named nowhere a replication is averaged first. A factor that is named twice, such as on x
        and by colours, stands twice in a key.
        """
        wanted = [name for name in (self.chart.panels, self.chart.series, *factors) if name]
        names = list(dict.fromkeys(wanted))
        each = self.frame.group_by([*names, "replication"], maintain_order=True).agg(pl.col("value").mean())
        places = [names.index(name) for name in wanted]
        found = summarise(each, names, None if self.compared else self.metric)
        return {tuple(key[at] for at in places): one for key, one in found.items()}

    def draw(self, x: Axis, y: Axis, marks: Callable[[Part], Sequence[AnyMark]]) -> Figure:
        """A figure with the panels of the chart, in each of them all series, with these marks."""
        chart = self.chart
        series = self.levels(chart.series)
        # Colours that repeat what stands below the axis need no room beside each other, and no legend.
        repeats = chart.series != "" and chart.series == getattr(chart, "x", "")
        looks = keys([_contender(one, chart) for one in series])
        panels, unnamed = [], False
        for panel in self.levels(chart.panels):
            inside = self.frame.filter(pl.col(chart.panels) == panel) if panel else self.frame
            title, drawn = self.data.words.level(chart.panels, panel), []
            for number, one in enumerate(series):
                runs = inside.filter(pl.col(chart.series) == one) if one else inside
                if runs.is_empty():
                    continue
                contender = _contender(one, chart)
                own = is_contender(contender)
                text = look(contender).name if own else quantities.text(one, chart.series)
                named = text if own else self.data.words.level(chart.series, one)
                unnamed |= named != text and not repeats
                found = tuple(level for level in (panel, one) if level)
                place = ", ".join(word for word in (title, named) if word)
                at, of = (0, 1) if repeats else (number, len(series))
                part = Part(looks[contender] if one else "level 0", text, place, found, at, of, runs)
                drawn.append(Series(part.look, "" if repeats else text, marks(part)))
            panels.append(Panel(title, x, y, drawn))
        title = chart.title or self.data.words.all_levels(chart.single) or self.metric.label
        colours = self.data.words.factor(chart.series) if unnamed else ""
        return Figure(chart.name, title, panels, chart.source, colours=colours)


def sample(data: Data, chart: Chart, *, metric: str = "", only: Sequence[str] = ()) -> Sample:
    """The values of a chart's metric (or of another one), of `only` these levels of its series if there are any.

    Raises `NotInResultsError` if the results hold none of them, or the experiment lacks one of the factors.
    """
    tables, measure = data.tables, chart.whose(data.words.metric(metric or chart.metric))
    where = {**chart.where, **({chart.series: tuple(only)} if only else {})}
    frame = tables.values(chart.experiment, measure, where)
    needed = [named for name in chart.factors if (named := getattr(chart, name, ""))]
    absent = [name for name in needed if name not in tables.factors.get(chart.experiment, {})]
    if frame.is_empty() or absent:
        known = chart.experiment in tables.factors
        raise NotInResultsError(
            sought(chart.experiment, measure, where, f"no factor {absent[0]}" if absent and known else "")
        )
    return Sample(chart, data, frame, measure, {name: tables.levels(chart.experiment, name) for name in needed})


def sought(experiment: str, metric: Metric, where: Mapping[str, str | Sequence[str]], problem: str = "") -> str:
    """Say that the results do not have what was looked for."""
    levels = ", ".join(
        f"{factor} {level if isinstance(level, str) else ', '.join(level)}" for factor, level in where.items()
    )
    at = f" at {levels}" if levels else ""
    return f"{problem or 'no completed run'} in experiment {experiment} with {metric.label.lower()}{at}"


def levels_text(levels: Mapping[str, str]) -> str:
    """Some levels for a reader, by their factors: `CUBIC, 32 MB`."""
    return ", ".join(quantities.text(level, factor) for factor, level in levels.items())


def _contender(level: str, chart: Chart) -> str:
    """The contender that a level stands for, where transport and congestion control are both known; else the level."""
    where, factor = chart.where, chart.series
    other = {"transport": where.get("congestion"), "congestion": where.get("transport")}.get(factor)
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


def factor_axis(label: str, factor: str, levels: Sequence[str]) -> tuple[Axis, Mapping[str, float]]:
    """An axis for the levels of a factor, and where each of them stands.

    Quantities stand by their value, in the unit of the first, logarithmically if they span more than a factor of 20.
    """
    values = [quantities.value(level) for level in levels]
    known = [value for value in values if value is not None]
    if len(levels) < 2 or len(known) < len(levels) or len({quantities.dimension(level) for level in levels}) > 1:
        return listed_axis(label, factor, levels)
    axis = number_axis(label, known, log=min(known) > 0 and max(known) / min(known) > 20)
    names = [(value, quantities.text(level, factor)) for value, level in zip(known, levels, strict=True)]
    return Axis(label, axis.low, axis.high, axis.log, names), dict(zip(levels, known, strict=True))


def joined(axis: Axis, dots: Sequence[Dot]) -> Sequence[AnyMark]:
    """Points along an axis, with a line through them unless the axis is a list, where nothing lies between."""
    return dots if axis.listed else [Line([(dot.x, dot.y) for dot in dots]), *dots]


def listed_axis(label: str, factor: str, levels: Sequence[str]) -> tuple[Axis, Mapping[str, float]]:
    """An axis on which the levels of a factor stand at equal distances. If they are crowded, a unit of all is its."""
    names = [quantities.text(level, factor) for level in levels]
    units = {name.partition(" ")[2] for name in names}
    unit = next(iter(units), "")
    if len(units) == 1 and unit and crowded(names):
        names, label = [name.partition(" ")[0] for name in names], f"{label} ({unit})"
    places = {level: float(at) for at, level in enumerate(levels)}
    return Axis(label, -0.5, len(levels) - 0.5, names=list(enumerate(names)), listed=True), places


_WIDE_RANGE = 20
"""The largest of some means over the least, from which on the least would be invisible on a linear axis."""


def wide_range(means: Iterable[Interval]) -> bool:
    """Whether means differ so much that a linear axis would hide the small ones; never if one is not above 0."""
    values = [one.value for one in means]
    return min(values) > 0 and max(values) / min(values) >= _WIDE_RANGE


def mean_axis(label: str, means: Iterable[Interval]) -> Axis:
    """A logarithmic axis that holds all means and their intervals, of which one that nears 0 does not stretch it."""
    found = list(means)
    least = min(one.value for one in found)
    whiskers = [end for one in found for end in ends(one) or ()]
    return number_axis(label, [*(one.value for one in found), *(max(end, least / 3) for end in whiskers)], log=True)


def value_text(found: Interval, metric: Metric) -> str:
    """A mean with its interval and n, as the answer of a mark: `4.21 s, 95 % interval 4.05 to 4.38, n = 10`."""
    return _interval_text(found, decimals(found.value), f" {metric.unit}" if metric.unit else "")


def comparison_text(found: Interval) -> str:
    """A ratio or difference with its interval and n, as the answer of a cell."""
    return _interval_text(found, 3, "")


def _interval_text(found: Interval, places: int, unit: str) -> str:
    value = f"{fixed(found.value, places)}{unit}"
    if found.low is None or found.high is None:
        return f"{value}, n = {found.n}"
    if found.exact:
        return f"{value}, the same in all {found.n} replications"
    return f"{value}, 95 % interval {fixed(found.low, places)} to {fixed(found.high, places)}, n = {found.n}"


def ends(found: Interval) -> Ends | None:
    """The ends of an interval; None if it has no width, or there is none."""
    return None if found.exact or found.low is None or found.high is None else (found.low, found.high)


def thinned(count: int, most: int = 400) -> list[int]:
    """The places of at most so many of `count` values, evenly spread, with the first and the last."""
    if count <= most:
        return list(range(count))
    return sorted({math.floor(i * (count - 1) / (most - 1)) for i in range(most)})
