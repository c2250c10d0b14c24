"""From result tables to the numbers of a figure; drawn for paper by `paper` and for the screen by `screen`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from haltere.figures import quantities
from haltere.figures.metrics import METRICS, Metric
from haltere.figures.spec import Bars, FigureList, Overview
from haltere.figures.tables import Tables, paired, summarise, summarise_pairs


class NotInResults(LookupError):  # noqa: N818
    """The results hold no run that a figure could show; the message says what it looked for."""


@dataclass(frozen=True, slots=True)
class Point:
    """A mean (of a ratio: geometric) with its 95 % interval over `n` replications."""

    mean: float
    low: float
    high: float
    n: int

    @property
    def exact(self) -> bool:
        """Whether all replications gave the same value, as runs without any chance do."""
        return self.n > 1 and math.isclose(self.low, self.high, rel_tol=1e-9, abs_tol=1e-12)

    @property
    def bounded(self) -> bool:
        """Whether there is an interval at all: one replication has none."""
        return self.n > 1


@dataclass(frozen=True, slots=True)
class Series:
    """The bars of one contender, one for each level on x; None where the results have none."""

    contender: str
    label: str
    points: tuple[Point | None, ...]


@dataclass(frozen=True, slots=True)
class BarFigure:
    """All that grouped bars need to be drawn."""

    spec: Bars
    metric: Metric
    title: str
    x_label: str
    x_levels: tuple[str, ...]
    series: tuple[Series, ...]

    @property
    def top(self) -> float:
        """The largest value drawn, the ends of intervals included."""
        return max(
            (min(p.high, self.metric.ceiling or math.inf) if p.bounded else p.mean)
            for one in self.series
            for p in one.points
            if p is not None
        )


Standing = Literal["of", "to", "alike", "unclear"]
"""Who is ahead in a cell: level `of`, level `to`, neither in practice, or not to be told from these runs."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One treatment of an overview: the comparison and what it says."""

    levels: Mapping[str, str]
    point: Point | None
    standing: Standing


@dataclass(frozen=True, slots=True)
class Panel:
    """One map of an overview: `cells[row][column]`."""

    title: str
    cells: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, slots=True)
class OverviewFigure:
    """All that an overview needs to be drawn. Labels of columns have one part for each column factor."""

    spec: Overview
    metric: Metric
    title: str
    of: str
    to: str
    rows: tuple[tuple[str, ...], ...]
    columns: tuple[tuple[str, ...], ...]
    panels: tuple[Panel, ...]
    words: FigureList


def bars(tables: Tables, spec: Bars, words: FigureList) -> BarFigure:
    """The numbers of a figure of grouped bars. Raises `NotInResults` if the results hold none of them."""
    metric = METRICS[spec.metric]
    values = tables.values(spec.experiment, metric, spec.where)
    if values.is_empty() or spec.x not in values.columns or spec.series not in values.columns:
        raise NotInResults(_sought(spec.experiment, metric, spec.where))
    x_levels = quantities.ordered(tables.levels(spec.experiment, spec.x))
    names = [name for name in tables.levels(spec.experiment, spec.series) if name in set(values[spec.series])]
    summary = {(row[spec.x], row[spec.series]): _point(row) for row in summarise(values, [spec.x, spec.series]).to_dicts()}
    series = tuple(_series(name, spec, [summary.get((level, name)) for level in x_levels]) for name in names)
    title = spec.title or ", ".join(
        quantities.text(level, factor) for factor, level in spec.where.items() if not (factor == "size" and level == "")
    )
    return BarFigure(spec, metric, title, words.factor(spec.x), tuple(x_levels), series)


def _series(name: str, spec: Bars, points: Sequence[Point | None]) -> Series:
    """A bar is a contender's where transport and congestion control are both known, a transport's otherwise."""
    contender = name
    congestion = spec.where.get("congestion", "")
    if spec.series == "transport" and congestion and "/" not in congestion:
        contender = f"{name}/{congestion}"
    elif spec.series == "congestion" and "transport" in spec.where:
        contender = f"{spec.where['transport']}/{name}"
    label = quantities.text(contender, "contender" if "transport" in spec.series or "/" in contender else spec.series)
    return Series(contender, label, tuple(points))


def overview(tables: Tables, spec: Overview, words: FigureList) -> OverviewFigure:
    """The numbers of an overview. Raises `NotInResults` if the results hold no pair to compare."""
    metric = METRICS[spec.metric]
    values = tables.values(spec.experiment, metric, spec.where)
    axes = [*spec.panels, *spec.rows, *spec.columns]
    if values.is_empty() or any(factor not in values.columns for factor in [*axes, spec.factor]):
        raise NotInResults(_sought(spec.experiment, metric, spec.where))
    pairs = paired(values, spec.factor, spec.of, spec.to, metric.comparison)
    if pairs.is_empty():
        raise NotInResults(_sought(spec.experiment, metric, {**spec.where, spec.factor: f"{spec.of} and {spec.to}"}))
    summary = summarise_pairs(pairs, axes, metric.comparison)
    points = {tuple(row[factor] for factor in axes): _point(row) for row in summary.to_dicts()}

    def combinations(factors: Sequence[str]) -> list[tuple[str, ...]]:
        return list(itertools.product(*(_present(summary, tables, spec.experiment, factor) for factor in factors)))

    def cell(key: tuple[str, ...]) -> Cell:
        point = points.get(key)
        return Cell(dict(zip(axes, key, strict=True)), point, standing(point, metric))

    rows, columns = combinations(spec.rows), combinations(spec.columns)
    panels = tuple(
        Panel(
            ", ".join(quantities.text(level, factor) for factor, level in zip(spec.panels, panel, strict=True)),
            tuple(tuple(cell(panel + row + column) for column in columns) for row in rows),
        )
        for panel in combinations(spec.panels)
    )
    title = spec.title or f"{metric.label}, {spec.of} against {spec.to}"
    return OverviewFigure(spec, metric, title, spec.of, spec.to, tuple(rows), tuple(columns), panels, words)


def standing(point: Point | None, metric: Metric) -> Standing:
    """Who is ahead, by the interval of the comparison.

    *Alike* if the whole interval lies within the metric's margin of practical equivalence, ahead if it lies wholly on
    one side of equality, unclear otherwise.
    """
    if point is None or not point.bounded:
        return "unclear"
    if metric.comparison == "ratio":
        low, high, margin = math.log(point.low), math.log(point.high), math.log(1 + metric.alike)
    else:
        low, high, margin = point.low, point.high, metric.alike
    if -margin <= low and high <= margin:
        return "alike"
    if low > 0:
        return "of" if metric.better == "higher" else "to"
    if high < 0:
        return "to" if metric.better == "higher" else "of"
    return "unclear"


def _present(summary: pl.DataFrame, tables: Tables, experiment: str, factor: str) -> list[str]:
    shown = set(summary[factor].to_list())
    return [level for level in tables.levels(experiment, factor) if level in shown]


def _point(row: Mapping[str, object]) -> Point:
    mean, low, high, n = (float(str(row[name])) for name in ("mean", "low", "high", "n"))
    return Point(mean, low, high, int(n))


def _sought(experiment: str, metric: Metric, where: Mapping[str, str]) -> str:
    levels = ", ".join(f"{factor} {level}" for factor, level in where.items())
    return f"no completed run of experiment {experiment} with {metric.label.lower()}" + (f" at {levels}" if levels else "")
