"""The figures of the study of the evolution of end-to-end paths, for any two periods.

Numbers in parentheses are those of T. B. Cardozo's figures (UFJF, 2013, chapter 2).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from haltere.claims.comparison import MissingDataError
from haltere.figures.parts import Axis, Dot, Figure, Line, Panel, Point, Rect, Series
from haltere.metrics.text import fixed, significant
from haltere.paths.claims import Evolution, delay_unit
from haltere.paths.periods import Period
from haltere.paths.published import STATED
from haltere.paths.routes import CORRELATIONS, Correlation, estimate, largest_k, rows_of, spearman_of

Floats = NDArray[np.float64]

COLOURS = ("first", "second")
_ANSWERS = (0.05, 0.25, 0.5, 0.75, 0.8, 0.95)
_SHARE = Axis("share of traces", 0.0, 1.0)
_CELLS = 36  # of a density, each way


@dataclass(frozen=True)
class Missing:
    """A figure that cannot be drawn, and why."""

    name: str
    reason: str


def figures(found: Evolution) -> tuple[list[Figure], list[Missing]]:
    """Return every figure that the periods have data for, and those that they have not."""
    made: list[Figure] = []
    missing: list[Missing] = []
    for name, make in _FIGURES.items():
        try:
            made += make(found)
        except MissingDataError as error:
            missing.append(Missing(name, str(error)))
    return made, missing


_YEARS = (2006, 2011)
_Says = Sequence[tuple[Point, str]]
"""Points of a curve at which it answers."""


def _plot(name: str, title: str, source: str, x: Axis, y: Axis, *series: Series) -> Figure:
    return Figure(name, title, [Panel("", x, y, series)], source)


def _curve(
    label: str, look: str, points: Sequence[Point], says: _Says = (), *, strength: float = 1.0, steps: bool = False
) -> Series:
    answers = [Dot(*point, form="answer", value=said) for point, said in says]
    return Series(look, label, [Line(points, steps, strength), *answers])


def rings(name: str, *, scale: float = 1.0, only: int | None = None) -> list[Series]:
    """Return what the paper's text states of a figure's curves, a series a period.

    Args:
        name: of the figure.
        scale: what values are multiplied by.
        only: the period, 0 or 1, if the figure shows one.
    """
    found: list[Series] = []
    for number, look in enumerate(COLOURS):
        dots = [
            Dot(scale * x, share, form="diamond", value=f"the paper's {_YEARS[number]}: {says}")
            for period, _, x, share, says in STATED.get(name, ())
            if period == number and only in (None, number)
        ]
        if dots:
            found.append(Series(look, "" if found else "the paper's text", dots))
    return found


def _hops(found: Evolution) -> list[Figure]:
    lines = []
    for period, colour in zip(found.periods, COLOURS, strict=True):
        lengths = period.tallies.hops()
        points = list(zip(*(part.tolist() for part in lengths.cdf()), strict=True))
        marks = [((x, y), f"{period.name}: {fixed(100 * y, 1)} % have at most {x:.0f} hops") for x, y in points]
        lines.append(_curve(period.name, colour, [(points[0][0], 0.0), *points], marks, steps=True))
    stated = rings("hops")
    longest = max(*(p.tallies.hops().quantile(0.999) for p in found.periods), *_places(stated))
    return [_plot("hops", "Length of traces", "(2.1)", Axis("hops", 0, longest + 1), _SHARE, *lines, *stated)]


def _delay(found: Evolution) -> list[Figure]:
    lines = []
    unit, scale = delay_unit(*(period.tallies.delays().quantile(0.95) for period in found.periods))
    for period, colour in zip(found.periods, COLOURS, strict=True):
        delays = period.tallies.delays()
        if delays.total == 0:
            message = f"{period.name} has no delays"
            raise MissingDataError(message)
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
    ends = [scale * period.tallies.delays().quantile(q) for period in found.periods for q in (0.002, 0.998)]
    stated = rings("delay", scale=scale)
    ends += _places(stated).tolist()
    axis = Axis(f"delay, {unit}", max(min(ends), scale), max(ends), log=True)
    return [_plot("delay", "Delay of traces", "(2.4)", axis, _SHARE, *lines, *stated)]


def _thinned(points: Sequence[Point]) -> list[Point]:
    """Return at most about 400 of the points, including the ends: more would not be visible."""
    step = max(1, len(points) // 400)
    return [*points[::step], points[-1]]


def _percent(share: float) -> str:
    return f"{100 * share:g} %"


def _column(period: Period, column: str, k: int | None = None) -> Floats:
    """The values of a column of a period's routes that are there."""
    values: Floats = rows_of(period, column, k=k)[column].to_numpy().astype(np.float64)
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


def _all_paths(name: str, title: str, source: str, column: str, label: str) -> Callable[[Evolution], list[Figure]]:
    """A figure with one curve a period, over the paths of all K."""

    def make(found: Evolution) -> list[Figure]:
        values = [_column(period, column) for period in found.periods]
        lines = [
            _cdf_line(period, colour, each, "", period.name)
            for period, colour, each in zip(found.periods, COLOURS, values, strict=True)
        ]
        stated = rings(name)
        axis = Axis(label, *_ends([*values, _places(stated)], zero=column != "hops"))
        return [_plot(name, title, source, axis, Axis("share of paths", 0, 1), *lines, *stated)]

    return make


def _each_k(name: str, title: str, source: str, column: str, label: str) -> Callable[[Evolution], list[Figure]]:
    """A figure a period, with one curve a K: pale for the first, full for the last."""

    def make(found: Evolution) -> list[Figure]:
        every = [_column(period, column) for period in found.periods]
        ends = _ends([*every, _places(rings(name))], zero=column != "hops")
        plots = []
        for number, (period, colour) in enumerate(zip(found.periods, COLOURS, strict=True)):
            last = largest_k(period)
            ks = range(2 if column == "difference" else 1, last + 1)
            lines = [
                _cdf_line(
                    period,
                    colour,
                    _column(period, column, k),
                    f", K = {k}",
                    f"K = {k}" if k in (ks[0], last) else "",
                    strength=0.35 + 0.65 * (k - 1) / max(1, last - 1),
                )
                for k in ks
            ]
            axes = Axis(label, *ends), Axis("share of paths", 0, 1)
            stated = rings(name, only=number)
            plots.append(_plot(f"{name}-{colour}", f"{title}, {period.name}", source, *axes, *lines, *stated))
        return plots

    return make


def _places(stated: Sequence[Series]) -> Floats:
    return np.array([mark.x for series in stated for mark in series.marks if isinstance(mark, Dot)])


def _ends(every: Sequence[Floats], *, zero: bool) -> tuple[float, float]:
    values = [one for one in every if one.size]
    low = 0.0 if zero else float(min(v.min() for v in values)) - 1
    high = float(max(np.quantile(v, 0.995) for v in values))
    return low, high if high > low else low + 1.0


def _histogram(found: Evolution) -> list[Figure]:
    """Shares of paths by geographic dispersion, both periods side by side in each bin (2.7)."""
    values = [_column(period, "dispersion") for period in found.periods]
    top = max(5.0, math.ceil(max(float(np.quantile(v, 0.98)) for v in values)))
    edges = np.linspace(0.0, top, 21)
    drawn = []
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
    highest = max(bar.y[1] for series in drawn for bar in series.marks if isinstance(bar, Rect))
    axes = Axis("geographic dispersion", 0.0, top), Axis("share of paths", 0.0, highest * 1.05)
    return [_plot("dispersion", "Geographic dispersion", "(2.7)", *axes, *drawn)]


@dataclass(frozen=True)
class _Shown:
    """How a column is shown on an axis of a density."""

    label: str
    scale: float
    log: bool


_SHOWN = {
    "hops": _Shown("hops", 1.0, log=False),
    "delay_us": _Shown("delay, ms", 1e-3, log=True),
    "least_delay_us": _Shown("least possible delay, ms", 1e-3, log=True),
    "dispersion": _Shown("geographic dispersion", 1.0, log=False),
    "delay_dispersion": _Shown("delay dispersion", 1.0, log=True),
}


def _scatter(name: str, correlation: Correlation, source: str) -> Callable[[Evolution], list[Figure]]:
    """A figure a period: how many paths lie where, and the mean of y at each x."""

    def make(found: Evolution) -> list[Figure]:
        pairs = [_both(period, correlation) for period in found.periods]
        x, y = (_axis(column, [pair[i] for pair in pairs]) for i, column in enumerate((correlation.x, correlation.y)))
        plots = []
        for period, colour, pair in zip(found.periods, COLOURS, pairs, strict=True):
            coefficient = estimate(spearman_of(period, correlation)).value
            stated = fixed(correlation.published[period is found.second], 2)
            said = f"Spearman: {fixed(coefficient, 2)}; the paper: {stated}"
            title = f"{correlation.name.capitalize()}, {period.name} ({said})"
            plots.append(_plot(f"{name}-{colour}", title, source, x, y, *_density(period, colour, pair, x, y)))
        return plots

    return make


def _both(period: Period, correlation: Correlation) -> tuple[Floats, Floats]:
    rows = rows_of(period, correlation.x, correlation.y)
    x, y = (rows[c].to_numpy().astype(np.float64) * _SHOWN[c].scale for c in (correlation.x, correlation.y))
    return x, y


def _axis(column: str, values: Sequence[Floats]) -> Axis:
    shown = _SHOWN[column]
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


_FIGURES: dict[str, Callable[[Evolution], list[Figure]]] = {
    "hops": _hops,
    "k-hops": _all_paths("k-hops", "Length of the K shortest paths", "(2.2)", "hops", "hops"),
    "k-hops-each": _each_k("k-hops-each", "Length at each K", "(2.3)", "hops", "hops"),
    "delay": _delay,
    "difference": _all_paths("difference", "Difference of the K shortest paths", "(2.5)", "difference", "difference"),
    "difference-each": _each_k("difference-each", "Difference at each K", "(2.6)", "difference", "difference"),
    "dispersion": _histogram,
    "dispersion-each": _each_k(
        "dispersion-each", "Geographic dispersion at each K", "(2.8)", "dispersion", "geographic dispersion"
    ),
    "delay-length": _scatter("delay-length", CORRELATIONS[0], "(2.9)"),
    "dispersions": _scatter("dispersions", CORRELATIONS[1], "(2.10)"),
    "delay-least": _scatter("delay-least", CORRELATIONS[2], "(2.11)"),
}
