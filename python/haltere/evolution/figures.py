"""The figures of two periods, as `figures.toml` of a study of measured paths lists them, or all that there are.

`[[cdfs]]` have a curve a period, or with `each_k` a panel a period and a curve for each K. `[[histograms]]` show both
periods side by side. `[[scatters]]` have a panel a period: how many paths lie where, and the mean along x. Figures show
what somebody else states of the same curves (`stated`, `spearman`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from haltere.claims.comparison import MissingDataError
from haltere.figures.parts import Axis, Dot, Figure, Line, Panel, Point, Rect, Series
from haltere.metrics.text import fixed, significant
from haltere.paths.judging import delay_unit
from haltere.paths.periods import Evolution, Period
from haltere.paths.routes import CORRELATIONS, Correlation, estimate, largest_k, rows_of, spearman_of

Floats = NDArray[np.float64]

COLOURS = ("first", "second")
STATED = "stated"
"""The label of what somebody else states of a curve."""
_ANSWERS = (0.05, 0.25, 0.5, 0.75, 0.8, 0.95)
_CELLS = 36  # of a density, each way


@dataclass(frozen=True)
class _Metric:
    """How a column of routes is called and shown on an axis."""

    label: str
    title: str
    scale: float = 1.0
    log: bool = False


METRICS = {
    "hops": _Metric("hops", "Length of the K shortest paths"),
    "delay_us": _Metric("delay, ms", "Delay of the K shortest paths", 1e-3, log=True),
    "least_delay_us": _Metric("least possible delay, ms", "Least possible delay", 1e-3, log=True),
    "difference": _Metric("difference", "Difference of the K shortest paths"),
    "diversity": _Metric("diversity", "Diversity of the K shortest paths"),
    "dispersion": _Metric("geographic dispersion", "Geographic dispersion"),
    "delay_dispersion": _Metric("delay dispersion", "Delay dispersion", log=True),
}
"""The columns of routes that figures show."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Stated(_Part):
    """A point of a curve that somebody else states: the share of paths or traces up to `x`, and how they say it.

    Delays are in ms. `k` is 0 for the paths of all K.
    """

    period: Literal["first", "second"]
    x: float
    share: Annotated[float, Field(ge=0, le=1)]
    says: str
    k: int = 0


class _Figure(_Part):
    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]*$")]
    source: str = ""
    title: str = ""


class Cdf(_Figure):
    """Cumulative distributions of lengths or delays of traces, or of a metric of the K shortest paths."""

    of: Literal["traces", "paths"]
    metric: Literal["hops", "delay_us", "least_delay_us", "difference", "diversity", "dispersion", "delay_dispersion"]
    each_k: bool = False
    stated: tuple[Stated, ...] = ()


class Histogram(_Figure):
    """A histogram of a metric of the K shortest paths."""

    metric: Literal["hops", "difference", "diversity", "dispersion"]


class Scatter(_Figure):
    """A metric of the K shortest paths against another, with Spearman's coefficient."""

    x: Literal["hops", "delay_us", "least_delay_us", "dispersion", "delay_dispersion"]
    y: Literal["hops", "delay_us", "least_delay_us", "dispersion", "delay_dispersion"]
    spearman: tuple[float, float] | None = None
    """The coefficients that somebody else states, of the earlier and of the later period."""


class FigureList(_Part):
    """The whole of a `figures.toml`. `main` names the figure that stands beside the answer, which is about delays."""

    main: str = "delay"
    cdfs: tuple[Cdf, ...] = ()
    histograms: tuple[Histogram, ...] = ()
    scatters: tuple[Scatter, ...] = ()


def every() -> FigureList:
    """Return the figures that say most of any two periods."""
    shown = ("hops", "delay_us", "difference", "dispersion")
    cdfs = [Cdf(name="hops", of="traces", metric="hops"), Cdf(name="delay", of="traces", metric="delay_us")]
    cdfs += [Cdf(name=f"k-{metric.removesuffix('_us')}", of="paths", metric=metric) for metric in shown]
    cdfs += [Cdf(name=f"{one.name}-each", of="paths", metric=one.metric, each_k=True) for one in cdfs[2:]]
    scatters = [Scatter(name=one.name.replace(" ", "-"), x=one.x, y=one.y) for one in CORRELATIONS]
    return FigureList(cdfs=cdfs, histograms=[Histogram(name="dispersion", metric="dispersion")], scatters=scatters)


@dataclass(frozen=True)
class Missing:
    """A figure that cannot be drawn, and why."""

    name: str
    reason: str


def figures(found: Evolution, wanted: FigureList) -> tuple[list[Figure], list[Missing]]:
    """Return every figure that the periods have data for, and those that they have not."""
    made: list[Figure] = []
    missing: list[Missing] = []
    for name, make in _makers(wanted):
        try:
            made += make(found)
        except MissingDataError as error:
            missing.append(Missing(name, str(error)))
    return made, missing


def _makers(wanted: FigureList) -> Iterator[tuple[str, Callable[[Evolution], list[Figure]]]]:
    for cdf in wanted.cdfs:
        if cdf.of == "traces":
            make = _lengths if cdf.metric == "hops" else _delays
        else:
            make = _each_k if cdf.each_k else _all_paths
        yield cdf.name, partial(make, cdf)
    for histogram in wanted.histograms:
        yield histogram.name, partial(_histogram, histogram)
    for scatter in wanted.scatters:
        yield scatter.name, partial(_scatter, scatter)


_Says = Sequence[tuple[Point, str]]
"""Points of a curve at which it answers."""


def _plot(spec: _Figure, title: str, x: Axis, y: Axis, series: Sequence[Series], suffix: str = "") -> Figure:
    return Figure(spec.name + suffix, title, [Panel("", x, y, series)], spec.source)


def _curve(
    label: str, look: str, points: Sequence[Point], says: _Says = (), *, strength: float = 1.0, steps: bool = False
) -> Series:
    answers = [Dot(*point, form="answer", value=said) for point, said in says]
    return Series(look, label, [Line(points, steps, strength), *answers])


def _stated(stated: Sequence[Stated], scale: float = 1.0, only: str = "") -> list[Series]:
    """Points of a figure's curves that others state, a series a period; of one period alone if it is given."""
    found: list[Series] = []
    for period in COLOURS:
        dots = [
            Dot(scale * one.x, one.share, form="diamond", value=f"stated of the {period} period: {one.says}")
            for one in stated
            if one.period == period and only in ("", period)
        ]
        if dots:
            found.append(Series(period, "" if found else STATED, dots))
    return found


def _lengths(spec: Cdf, found: Evolution) -> list[Figure]:
    lines = []
    for period, colour in zip(found.periods, COLOURS, strict=True):
        lengths = period.tallies.hops()
        points = list(zip(*(part.tolist() for part in lengths.cdf()), strict=True))
        marks = [((x, y), f"{period.name}: {fixed(100 * y, 1)} % have at most {x:.0f} hops") for x, y in points]
        lines.append(_curve(period.name, colour, [(points[0][0], 0.0), *points], marks, steps=True))
    stated = _stated(spec.stated)
    longest = max(*(p.tallies.hops().quantile(0.999) for p in found.periods), *_places(stated))
    axes = Axis("hops", 0, longest + 1), Axis("share of traces", 0.0, 1.0)
    return [_plot(spec, spec.title or "Length of traces", *axes, [*lines, *stated])]


def _delays(spec: Cdf, found: Evolution) -> list[Figure]:
    lines = []
    unit, scale = delay_unit(*(period.tallies.delays().quantile(0.95) for period in found.periods))
    for period, colour in zip(found.periods, COLOURS, strict=True):
        delays = period.tallies.delays()
        if delays.total == 0:
            raise MissingDataError(f"{period.name} has no delays")
        values, shares = delays.cdf()
        points = list(zip((scale * values).tolist(), shares.tolist(), strict=True))
        marks = [
            (
                (scale * delays.quantile(q), q),
                f"{period.name}: {_percent(q)} within {significant(scale * delays.quantile(q))} {unit}",
            )
            for q in _ANSWERS
        ]
        lines.append(_curve(period.name, colour, _thinned(points), marks))
    stated = _stated(spec.stated, 1000 * scale)
    ends = [scale * period.tallies.delays().quantile(q) for period in found.periods for q in (0.002, 0.998)]
    ends += _places(stated).tolist()
    axes = Axis(f"delay, {unit}", max(min(ends), scale), max(ends), log=True), Axis("share of traces", 0.0, 1.0)
    return [_plot(spec, spec.title or "Delay of traces", *axes, [*lines, *stated])]


def _thinned(points: Sequence[Point]) -> list[Point]:
    """Return at most about 400 of the points, including the ends: more would not be visible."""
    step = max(1, len(points) // 400)
    return [*points[::step], points[-1]]


def _percent(share: float) -> str:
    return f"{100 * share:g} %"


def _column(period: Period, column: str, k: int | None = None) -> Floats:
    """The values of a column of a period's routes that are there, as they are shown."""
    values: Floats = rows_of(period, column, k=k)[column].to_numpy().astype(np.float64) * METRICS[column].scale
    return values


def _cdf_line(period: Period, colour: str, values: Floats, what: str, label: str, *, strength: float = 1.0) -> Series:
    """The cumulative distribution of some values, through 200 quantiles or, of whole numbers, through each."""
    if np.array_equal(values, np.round(values)) and np.unique(values).size < 100:
        xs, counts = np.unique(values, return_counts=True)
        points = list(zip(xs.tolist(), (np.cumsum(counts) / values.size).tolist(), strict=True))
        # Ten curves of some twenty steps each would be covered with marks; only curves with a name have any.
        marks = [(p, f"{period.name}{what}: {fixed(100 * p[1], 1)} % at most {p[0]:g}") for p in points if label]
        return _curve(label, colour, [(points[0][0], 0.0), *points], marks, strength=strength, steps=True)
    shares = np.linspace(0, 1, 201)
    points = list(zip(np.quantile(values, shares).tolist(), shares.tolist(), strict=True))
    answers = np.quantile(values, _ANSWERS).tolist()
    marks = [
        ((value, share), f"{period.name}{what}: {_percent(share)} at most {significant(value)}")
        for value, share in zip(answers, _ANSWERS, strict=True)
    ]
    return _curve(label, colour, points, marks, strength=strength)


def _all_paths(spec: Cdf, found: Evolution) -> list[Figure]:
    """A figure with one curve a period, over the paths of all K."""
    metric = METRICS[spec.metric]
    values = [_column(period, spec.metric) for period in found.periods]
    lines = [
        _cdf_line(period, colour, each, "", period.name)
        for period, colour, each in zip(found.periods, COLOURS, values, strict=True)
    ]
    stated = _stated(spec.stated)
    axes = _value_axis(metric, spec.metric, [*values, _places(stated)]), Axis("share of paths", 0, 1)
    return [_plot(spec, spec.title or metric.title, *axes, [*lines, *stated])]


def _each_k(spec: Cdf, found: Evolution) -> list[Figure]:
    """A figure a period, with one curve a K: pale for the first, full for the last."""
    metric = METRICS[spec.metric]
    every = [_column(period, spec.metric) for period in found.periods]
    axis = _value_axis(metric, spec.metric, [*every, _places(_stated(spec.stated))])
    plots = []
    for period, colour in zip(found.periods, COLOURS, strict=True):
        last = largest_k(period)
        ks = range(2 if spec.metric == "difference" else 1, last + 1)
        lines = [
            _cdf_line(
                period,
                colour,
                _column(period, spec.metric, k),
                f", K = {k}",
                f"K = {k}" if k in (ks[0], last) else "",
                strength=0.35 + 0.65 * (k - 1) / max(1, last - 1),
            )
            for k in ks
        ]
        title = f"{spec.title or metric.title + ', each K'}, {period.name}"
        stated = _stated(spec.stated, only=colour)
        axes = axis, Axis("share of paths", 0, 1)
        plots.append(_plot(spec, title, *axes, [*lines, *stated], f"-{colour}"))
    return plots


def _places(stated: Sequence[Series]) -> Floats:
    return np.array([mark.x for series in stated for mark in series.marks if isinstance(mark, Dot)])


def _value_axis(metric: _Metric, column: str, every: Sequence[Floats]) -> Axis:
    """An axis for a distribution: from 0, of lengths from the shortest, to where nearly all values are."""
    values = [one for one in every if one.size]
    if metric.log:
        return _axis(column, values)
    low = float(min(v.min() for v in values)) - 1 if column == "hops" else 0.0
    high = float(max(np.quantile(v, 0.995) for v in values))
    return Axis(metric.label, low, high if high > low else low + 1.0)


def _histogram(spec: Histogram, found: Evolution) -> list[Figure]:
    """Shares of paths, both periods side by side in each bin."""
    metric = METRICS[spec.metric]
    values = [_column(period, spec.metric) for period in found.periods]
    most = max(float(np.quantile(v, 0.98)) for v in values)
    top = max(5.0, math.ceil(most)) if spec.metric in ("hops", "dispersion") else 1.0
    edges = np.linspace(0.0, top, 21)
    drawn, highest = [], 0.0
    for place, (period, colour, each) in enumerate(zip(found.periods, COLOURS, values, strict=True)):
        shares = np.histogram(np.clip(each, 0.0, top), edges)[0] / each.size
        bars = []
        for low, high, share in zip(edges[:-1], edges[1:], shares, strict=True):
            half = (high - low) / 2
            over = " or more" if high == top else f" to {high:g}"
            says = f"{period.name}: {fixed(100 * share, 1)} % from {low:g}{over}"
            left = float(low + place * half)
            bars.append(Rect((left, float(left + 0.92 * half)), (0.0, float(share)), value=says))
        drawn.append(Series(colour, period.name, bars))
        highest = max(highest, float(shares.max()))
    axes = Axis(metric.label, 0.0, top), Axis("share of paths", 0.0, highest * 1.05)
    return [_plot(spec, spec.title or metric.title, *axes, drawn)]


def _scatter(spec: Scatter, found: Evolution) -> list[Figure]:
    """A figure a period: how many paths lie where, and the mean of y at each x."""
    pairs = [_both(period, spec) for period in found.periods]
    x, y = (_axis(column, [pair[i] for pair in pairs]) for i, column in enumerate((spec.x, spec.y)))
    words = f"{METRICS[spec.y].label.partition(',')[0]} against {METRICS[spec.x].label.partition(',')[0]}"
    pairing = Correlation(words, spec.x, spec.y)
    plots = []
    for number, (period, colour, pair) in enumerate(zip(found.periods, COLOURS, pairs, strict=True)):
        said = f"Spearman: {fixed(estimate(spearman_of(period, pairing)).value, 2)}"
        if spec.spearman is not None:
            said += f"; stated: {fixed(spec.spearman[number], 2)}"
        title = f"{spec.title or words.capitalize()}, {period.name} ({said})"
        plots.append(_plot(spec, title, x, y, _density(period, colour, pair, x, y), f"-{colour}"))
    return plots


def _both(period: Period, spec: Scatter) -> tuple[Floats, Floats]:
    rows = rows_of(period, spec.x, spec.y)
    x, y = (rows[c].to_numpy().astype(np.float64) * METRICS[c].scale for c in (spec.x, spec.y))
    return x, y


def _axis(column: str, values: Sequence[Floats]) -> Axis:
    shown = METRICS[column]
    if shown.log:
        positive = [v[v > 0] for v in values]
        low = min(float(np.quantile(v, 0.005)) if v.size else 1.0 for v in positive)
        high = max(float(np.quantile(v, 0.998)) if v.size else 1.0 for v in positive)
        return Axis(shown.label, low, max(high, low * 10), log=True)
    if column == "hops":
        low, high = min(float(v.min()) for v in values), max(float(np.quantile(v, 0.9995)) for v in values)
        return Axis(shown.label, low - 0.5, high + 0.5)
    high = max(float(np.quantile(v, 0.98)) for v in values)
    return Axis(shown.label, 0.0, high if high > 0 else 1.0)


def _density(period: Period, colour: str, pair: tuple[Floats, Floats], x: Axis, y: Axis) -> list[Series]:
    x_edges, y_edges = (_edges(axis, whole=axis.label == "hops") for axis in (x, y))
    counts = np.histogram2d(*pair, [x_edges, y_edges])[0]
    boxes = []
    for i, j in zip(*np.nonzero(counts), strict=True):
        share = counts[i, j] / pair[0].size
        where = f"{_span(x_edges, i)} {x.label}, {_span(y_edges, j)} {y.label}"
        says = f"{period.name}: {significant(100 * share)} % of the paths at {where}"
        strength = 0.08 + 0.8 * math.sqrt(counts[i, j] / counts.max())
        x0, x1, y0, y1 = (float(v) for v in (x_edges[i], x_edges[i + 1], y_edges[j], y_edges[j + 1]))
        boxes.append(Rect((x0, x1), (y0, y1), strength, value=says))
    place = np.digitize(pair[0], x_edges) - 1
    points: list[Point] = []
    marks = []
    for i in range(len(x_edges) - 1):
        inside = pair[1][place == i]
        if inside.size * 10_000 >= pair[0].size and inside.size:
            middle = math.sqrt(x_edges[i] * x_edges[i + 1]) if x.log else (x_edges[i] + x_edges[i + 1]) / 2
            mean = float(inside.mean())
            points.append((float(middle), mean))
            marks.append((points[-1], f"{period.name}: mean {significant(mean)} at {_span(x_edges, i)} {x.label}"))
    return [Series(colour, "", boxes), _curve("mean", "ink", points, marks)]


def _edges(axis: Axis, *, whole: bool) -> Floats:
    if whole:
        return np.arange(axis.low, axis.high + 1)
    if axis.log:
        return np.geomspace(axis.low, axis.high, _CELLS + 1)
    return np.linspace(axis.low, axis.high, _CELLS + 1)


def _span(edges: Floats, place: int) -> str:
    low, high = float(edges[place]), float(edges[place + 1])
    if high - low == 1 and low % 1 == 0.5:
        return f"{low + 0.5:.0f}"
    return f"{significant(low)} to {significant(high)}"
