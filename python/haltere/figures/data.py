"""Computes the numbers of a figure from result tables; drawn for paper by `paper` and for the screen by `screen`."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from haltere.figures.spec import Bars, FigureList, Overview
from haltere.metrics import METRICS, Metric, quantities
from haltere.metrics.contenders import is_contender, keys, look
from haltere.metrics.tables import Key, Standing, Tables, from_scale, paired, standing, summarise
from haltere.stats import Interval

_CHARACTERS = 46
"""About as many characters of a label's size stand side by side under a figure one column wide."""


class NotInResultsError(LookupError):
    """The results hold no run that a figure could show; the message says what was looked for."""


@dataclass(frozen=True, slots=True)
class Series:
    """The bars of one series, one for each level on x; None where the results have none.

    `contender` says how they look: a contender, or `level 0` and so on for the levels of any other factor.
    """

    contender: str
    label: str
    bars: tuple[Interval | None, ...]


def crowded(labels: Sequence[str]) -> bool:
    """Whether labels side by side under a figure one column wide would run into each other."""
    longest = max(len(label) for label in labels)
    return longest * len(labels) > _CHARACTERS


@dataclass(frozen=True, slots=True)
class BarFigure:
    """The data of a figure of grouped bars."""

    spec: Bars
    metric: Metric
    title: str
    x_label: str
    x_levels: tuple[str, ...]
    series: tuple[Series, ...]

    def ends(self, bar: Interval) -> tuple[float, float] | None:
        """The ends of a bar's whisker, within what the metric can be; None if it needs no whisker or has none."""
        if bar.exact or bar.low is None or bar.high is None:
            return None
        ceiling = self.metric.ceiling
        return max(bar.low, self.spec.baseline), bar.high if ceiling is None else min(bar.high, ceiling)

    def ticks(self) -> tuple[list[str], str]:
        """The labels of the levels on x and of the axis. Where labels are crowded, a unit of all is the axis's."""
        labels = [quantities.text(level, self.spec.x) for level in self.x_levels]
        units = {label.partition(" ")[2] for label in labels}
        unit = next(iter(units))
        if len(units) == 1 and unit and crowded(labels):
            return [label.partition(" ")[0] for label in labels], f"{self.x_label} ({unit})"
        return labels, self.x_label

    @property
    def top(self) -> float:
        """The largest value drawn, whiskers included."""
        drawn = [bar for one in self.series for bar in one.bars if bar is not None]
        return max((self.ends(bar) or (0.0, bar.value))[1] for bar in drawn)


@dataclass(frozen=True, slots=True)
class Cell:
    """One treatment of an overview: the comparison and what it says."""

    levels: Mapping[str, str]
    found: Interval | None
    standing: Standing


@dataclass(frozen=True, slots=True)
class Panel:
    """One map of an overview: `cells[row][column]`."""

    title: str
    cells: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, slots=True)
class OverviewFigure:
    """The data of an overview. A row or column has one level for each of its factors."""

    spec: Overview
    metric: Metric
    title: str
    rows: tuple[Key, ...]
    columns: tuple[Key, ...]
    panels: tuple[Panel, ...]
    words: FigureList

    def ahead(self, side: str) -> str:
        """Return how a legend says that a side is ahead, such as `QUIC sooner`."""
        word = "sooner" if self.metric.name == "completion_time" else self.metric.better
        return f"{look(side).name if is_contender(side) else side} {word}"

    @property
    def colours(self) -> tuple[str, str]:
        """By which keys of `look` the sides `of` and `to` are drawn."""
        drawn = keys([self.spec.of, self.spec.to])
        return drawn[self.spec.of], drawn[self.spec.to]

    @property
    def row_words(self) -> str:
        """The factors down the side, in the study's words."""
        return " and ".join(self.words.factor(factor) for factor in self.spec.rows)

    @property
    def column_words(self) -> str:
        """The factors across the top, in the study's words."""
        return " and ".join(self.words.factor(factor) for factor in self.spec.columns)

    def inner(self) -> list[str]:
        """The innermost levels of the columns, for a reader; empty if no factor stands across the top."""
        return [levels_text(self.spec.columns[-1:], column[-1:]) for column in self.columns]

    def groups(self) -> list[tuple[str, int, int]]:
        """The outer levels of the columns, each with its first column and the column after its last."""
        outer = self.spec.columns[:-1]
        found = []
        start = 0
        for key, members in itertools.groupby(self.columns, key=lambda column: column[:-1]):
            stop = start + len(list(members))
            found.append((levels_text(outer, key), start, stop))
            start = stop
        return found


def levels_text(factors: Sequence[str], levels: Sequence[str]) -> str:
    """Some levels for a reader: `CUBIC, 32 MB`."""
    return ", ".join(quantities.text(level, factor) for factor, level in zip(factors, levels, strict=True))


def bars(tables: Tables, spec: Bars, words: FigureList) -> BarFigure:
    """The numbers of a figure of grouped bars. Raises `NotInResultsError` if the results hold none of them."""
    metric = METRICS[spec.metric]
    shown = {**spec.where, **({spec.series: spec.only} if spec.only else {})}
    values = tables.values(spec.experiment, metric, shown)
    if values.is_empty() or spec.x not in values.columns or spec.series not in values.columns:
        raise NotInResultsError(_sought(spec.experiment, metric, spec.where))
    found = summarise(values, [spec.x, spec.series])
    x_levels = tables.levels(spec.experiment, spec.x)
    names = [name for name in tables.levels(spec.experiment, spec.series) if any(key[1] == name for key in found)]
    contenders = [_contender(name, spec) for name in names]
    drawn = keys(contenders)
    series = []
    for name, contender in zip(names, contenders, strict=True):
        label = quantities.text(contender, "transport" if "/" in contender else spec.series)
        series.append(Series(drawn[contender], label, tuple(found.get((level, name)) for level in x_levels)))
    title = spec.title or levels_text(list(spec.where), list(spec.where.values()))
    return BarFigure(spec, metric, title, words.factor(spec.x), tuple(x_levels), tuple(series))


def _contender(name: str, spec: Bars) -> str:
    """The contender a bar stands for, where transport and congestion control are both known; else the bare level."""
    congestion = spec.where.get("congestion", "")
    if spec.series == "transport" and congestion and "/" not in congestion:
        return f"{name}/{congestion}"
    if spec.series == "congestion" and "transport" in spec.where:
        return f"{spec.where['transport']}/{name}"
    return name


def overview(tables: Tables, spec: Overview, words: FigureList) -> OverviewFigure:
    """The numbers of an overview. Raises `NotInResultsError` if the results hold no pair to compare."""
    metric = METRICS[spec.metric]
    values = tables.values(spec.experiment, metric, spec.where)
    axes = [*spec.panels, *spec.rows, *spec.columns]
    sought = {**spec.where, spec.factor: f"{spec.of} and {spec.to}"}
    if values.is_empty() or any(factor not in values.columns for factor in [*axes, spec.factor]):
        raise NotInResultsError(_sought(spec.experiment, metric, sought))
    found = summarise(paired(values, spec.factor, spec.of, spec.to, metric), axes)
    if not found:
        raise NotInResultsError(_sought(spec.experiment, metric, sought))
    shown = {factor: {key[i] for key in found} for i, factor in enumerate(axes)}

    def combinations(factors: Sequence[str]) -> list[Key]:
        levels = ([x for x in tables.levels(spec.experiment, factor) if x in shown[factor]] for factor in factors)
        return list(itertools.product(*levels))

    def cell(key: Key) -> Cell:
        point = from_scale(found[key], metric) if key in found else None
        return Cell(dict(zip(axes, key, strict=True)), point, standing(point, metric))

    rows, columns = combinations(spec.rows), combinations(spec.columns)
    panels = tuple(
        Panel(
            levels_text(spec.panels, panel),
            tuple(tuple(cell(panel + row + column) for column in columns) for row in rows),
        )
        for panel in combinations(spec.panels)
    )
    title = spec.title or f"{metric.label}, {spec.of} against {spec.to}"
    return OverviewFigure(spec, metric, title, tuple(rows), tuple(columns), panels, words)


def _sought(experiment: str, metric: Metric, where: Mapping[str, str]) -> str:
    levels = ", ".join(f"{factor} {level}" for factor, level in where.items())
    return f"no completed run of experiment {experiment} with {metric.label.lower()}" + (
        f" at {levels}" if levels else ""
    )
