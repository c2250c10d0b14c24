"""Compares two periods of measured paths: what changed, by how much, and whether the monitors changed with it.

The traces of one monitor resemble each other, so intervals are taken over monitors: they are drawn again with
replacement, all traces of each together (cluster bootstrap; A. C. Davison, D. V. Hinkley, "Bootstrap Methods and their
Application", 1997, section 3.8), within each region where regions are distinguished. Of n monitors n - 1 are drawn,
which makes the variance unbiased (P. J. McCarthy, C. B. Snowden, "The Bootstrap and Finite Population Sampling", 1985),
and the interval is Student's with the standard error of the resamples: percentiles of few monitors are too narrow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import special

from haltere.paths.tallies import Distribution, Tallies, quantiles
from haltere.stats import Interval

Floats = NDArray[np.float64]
Scale = Literal["linear", "log", "logit"]

CONFIDENCE = 0.95
RESAMPLES = 1999
MIX_CHANGED = 0.05
"""Beyond this distance of the two mixes of monitors (total variation) a comparison is cautioned."""


@dataclass(frozen=True)
class Period:
    """The data of one period.

    Attributes:
        name: its name in figures.
        tallies: the counts of its traces.
        days: the days with traces.
        regions: the region (continent, or what the user named) of each monitor that has one.
        routes: a row a K-shortest path of its partial views, all draws; None if no graph was made.
        views: a row a draw: nodes, links, components and the like.
    """

    name: str
    tallies: Tallies
    days: Sequence[str]
    regions: Mapping[str, str] = field(default_factory=dict)
    routes: pl.DataFrame | None = None
    views: pl.DataFrame | None = None

    def strata(self) -> list[str]:
        """Return the stratum of each of the tallies' groups: its region, or else the monitor itself."""
        return [self.regions.get(name, name) for name in self.tallies.groups]

    def mix(self) -> dict[str, float]:
        """Return the share of clean traces from each stratum."""
        counts = self.tallies.hops_matrix().sum(axis=1)
        shares: dict[str, float] = {}
        for stratum, count in zip(self.strata(), counts, strict=True):
            shares[stratum] = shares.get(stratum, 0.0) + float(count / counts.sum())
        return dict(sorted(shares.items()))


@dataclass(frozen=True)
class Measure:
    """A number of a distribution: its name, its unit, and how it is read from rows of weights over bins.

    `compared` says whether two periods are compared by their ratio or their difference.
    """

    name: str
    label: str
    unit: str
    compared: str
    of: str
    read: Callable[[Floats, Floats, Floats], Floats]


def _quantile(share: float) -> Callable[[Floats, Floats, Floats], Floats]:
    return lambda low, width, weights: quantiles(low, width, weights, share)


def _up_to(value: float) -> Callable[[Floats, Floats, Floats], Floats]:
    return lambda low, _, weights: weights[:, low <= value].sum(axis=1) / weights.sum(axis=1)


def _mean(low: Floats, width: Floats, weights: Floats) -> Floats:
    found: Floats = weights @ (low + width / 2) / weights.sum(axis=1)
    return found


MEASURES = (
    Measure("hops_mean", "Mean length", "hops", "difference", "hops", _mean),
    Measure("hops_median", "Median length", "hops", "difference", "hops", _quantile(0.5)),
    Measure("hops_p80", "80th percentile of the length", "hops", "difference", "hops", _quantile(0.8)),
    Measure("hops_up_to_17", "Traces of at most 17 hops", "%", "difference", "hops", _up_to(17)),
    Measure("delay_median", "Median delay", "ms", "ratio", "delay", _quantile(0.5)),
    Measure("delay_p95", "95th percentile of the delay", "ms", "ratio", "delay", _quantile(0.95)),
)
"""The measures that are compared of traces. Delays are in µs inside and in ms where they are shown."""


@dataclass(frozen=True)
class Effect:
    """A measure in both periods, and how they differ: as measured, and with the monitors' mix made equal.

    Attributes:
        measure: what is measured.
        first: its value in the first period.
        second: in the second.
        change: second ÷ first, or second − first.
        reweighted: the same with the mix of strata made equal; None where the periods have no stratum in common.
    """

    measure: Measure
    first: Interval
    second: Interval
    change: Interval
    reweighted: Interval | None


@dataclass(frozen=True)
class Mix:
    """How the monitors' mix differs between two periods.

    Attributes:
        first: share of clean traces by stratum.
        second: share of clean traces by stratum.
    """

    first: Mapping[str, float]
    second: Mapping[str, float]

    @property
    def common(self) -> list[str]:
        """The strata that both periods have."""
        return [name for name in self.first if name in self.second]

    @property
    def distance(self) -> float:
        """Total variation distance of the two mixes: half of the sum of the shares' differences, 0 to 1."""
        names = {*self.first, *self.second}
        return sum(abs(self.first.get(name, 0.0) - self.second.get(name, 0.0)) for name in names) / 2

    @property
    def changed(self) -> bool:
        """Whether a comparison that ignores it should be read with caution."""
        return self.distance > MIX_CHANGED

    def standard(self) -> dict[str, float]:
        """Return the mix that both periods are weighted to: the mean of theirs, over the strata they share."""
        shares = {name: (self.first[name] + self.second[name]) / 2 for name in self.common}
        total = sum(shares.values())
        return {name: share / total for name, share in shares.items()} if total else {}


@dataclass(frozen=True)
class Changes:
    """The result of `compare` for the traces of two periods."""

    mix: Mix
    effects: tuple[Effect, ...]
    longer: Interval
    slower: Interval

    def effect(self, name: str) -> Effect:
        """Return the effect of a measure."""
        return next(one for one in self.effects if one.measure.name == name)


def compare(first: Period, second: Period, *, seed: int = 0, resamples: int = RESAMPLES) -> Changes:
    """Compare the traces of two periods.

    Args:
        first: the earlier one.
        second: the later one.
        seed: of the bootstrap.
        resamples: how many times monitors are drawn again.
    """
    mix = Mix(first.mix(), second.mix())
    rng = np.random.default_rng(seed)
    drawn = tuple(_draws(period.strata(), resamples, rng) for period in (first, second))
    standard = mix.standard()
    even = tuple(_standardised(p, draws, standard) for p, draws in zip((first, second), drawn, strict=True))
    effects = tuple(_effect(measure, (first, second), drawn, even if standard else None) for measure in MEASURES)
    return Changes(mix, effects, _superior("hops", (first, second), drawn), _superior("delay", (first, second), drawn))


def _draws(strata: Sequence[str], resamples: int, rng: np.random.Generator) -> Floats:
    """Weights of each monitor: all 1 in the first row, in the others how often it was drawn again in its stratum.

    Shape (1 + resamples, monitors). Of a stratum's n monitors n - 1 are drawn, and weigh n / (n - 1).
    """
    names = np.array(_collapsed(strata))
    weights = np.ones((1 + resamples, len(strata)))
    for name in sorted(set(names.tolist())):
        members = np.flatnonzero(names == name)
        n = len(members)
        if n > 1:
            weights[1:, members] = rng.multinomial(n - 1, np.full(n, 1 / n), resamples) * n / (n - 1)
    return weights


def _collapsed(strata: Sequence[str]) -> list[str]:
    """The strata within which monitors are drawn: those of a single monitor are one, or part of the smallest other."""
    sizes = {name: strata.count(name) for name in strata}
    single = [name for name, size in sizes.items() if size == 1]
    others = sorted((size, name) for name, size in sizes.items() if size > 1)
    home = others[0][1] if len(single) == 1 and others else ""
    return [home if name in single else name for name in strata]


def _degrees(period: Period) -> int:
    """The degrees of freedom of a period's resamples: its monitors less their strata."""
    names = _collapsed(period.strata())
    return len(names) - len(set(names))


def _standardised(period: Period, draws: Floats, standard: Mapping[str, float]) -> Floats:
    """The draws' weights times what gives each stratum the standard's share; 0 for strata it has not."""
    counts = period.tallies.hops_matrix().sum(axis=1)
    names = np.array(period.strata())
    weights = np.zeros_like(draws)
    for name, share in standard.items():
        members = np.flatnonzero(names == name)
        total = draws[:, members] @ counts[members]
        weights[:, members] = (
            draws[:, members] * np.divide(share, total, out=np.zeros_like(total), where=total > 0)[:, None]
        )
    return weights


def _effect(
    measure: Measure, periods: tuple[Period, Period], drawn: tuple[Floats, ...], even: tuple[Floats, ...] | None
) -> Effect:
    first, second = (_values(measure, p, w) for p, w in zip(periods, drawn, strict=True))
    reweighted = None
    if even is not None:
        one, other = (_values(measure, p, w) for p, w in zip(periods, even, strict=True))
        reweighted = _interval(
            _change(measure, one, other), periods, scale="log" if measure.compared == "ratio" else "linear"
        )
    scale: Scale = "log" if measure.compared == "ratio" else "linear"
    most = 1.0 if measure.unit == "%" else math.inf
    return Effect(
        measure,
        _interval(first, periods[:1], scale=scale, least=0.0, most=most),
        _interval(second, periods[1:], scale=scale, least=0.0, most=most),
        _interval(_change(measure, first, second), periods, scale=scale),
        reweighted,
    )


def _values(measure: Measure, period: Period, weights: Floats) -> Floats:
    tallies = period.tallies
    shape = tallies.hops() if measure.of == "hops" else tallies.delays()
    matrix = tallies.hops_matrix() if measure.of == "hops" else tallies.delays_matrix()
    values = np.empty(len(weights))
    for begin in range(0, len(weights), 500):  # some thousand bins a row: not all rows at once
        rows = weights[begin : begin + 500] @ matrix
        empty = rows.sum(axis=1) == 0  # no monitor of a stratum in common was drawn again
        rows[empty] = 1.0
        values[begin : begin + 500] = np.where(empty, np.nan, measure.read(shape.low, shape.width, rows))
    return values


def _change(measure: Measure, first: Floats, second: Floats) -> Floats:
    found: Floats = second / first if measure.compared == "ratio" else second - first
    return found


def _interval(
    values: Floats, periods: Sequence[Period], *, scale: Scale, least: float = -math.inf, most: float = math.inf
) -> Interval:
    """The first value, with Student's interval by the spread of the others; none of fewer than three monitors.

    The degrees of freedom are those of the period that has the fewest. Ratios are taken on their logarithms, and
    probabilities on their log odds, as their spread shrinks towards 0 and 1.
    """
    value = float(values[0])
    to, back = _SCALES[scale]
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = to(values)
    others = scaled[1:][np.isfinite(scaled[1:])]
    monitors = min(len(period.tallies.groups) for period in periods)
    degrees = min(_degrees(period) for period in periods)
    if monitors < 3 or degrees < 1 or others.size < 2 or not np.isfinite(scaled[0]):
        return Interval(value, None, None, monitors, CONFIDENCE, "too few monitors")
    half = float(special.stdtrit(degrees, (1 + CONFIDENCE) / 2)) * float(np.std(others, ddof=1))
    low, high = float(back(scaled[0] - half)), float(back(scaled[0] + half))
    return Interval(value, max(low, least), min(high, most), monitors, CONFIDENCE, "bootstrap over monitors")


def _log_odds(values: Floats) -> Floats:
    clipped: Floats = special.logit(np.clip(values, 1e-6, 1 - 1e-6))
    return clipped


def _same(values: Floats) -> Floats:
    return values


_SCALES: dict[Scale, tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]] = {
    "linear": (_same, _same),
    "log": (np.log, np.exp),
    "logit": (_log_odds, special.expit),
}


def superiority(first: Distribution, second: Distribution) -> float:
    """Return the probability that a trace of the second period exceeds one of the first, ties counted half.

    (A. Vargha, H. D. Delaney, "A critique and improvement of the CL common language effect size", 2000.)
    """
    values = np.union1d(first.low, second.low)
    one, other = np.zeros(values.size), np.zeros(values.size)
    one[np.searchsorted(values, first.low)] = first.weight / first.total
    other[np.searchsorted(values, second.low)] = second.weight / second.total
    below = np.cumsum(one) - one / 2
    return float((other * below).sum())


def _superior(of: str, periods: tuple[Period, Period], drawn: tuple[Floats, ...], rows: int = 500) -> Interval:
    """The probability of superiority, its interval from the first `rows` resamples."""

    def distribution(period: Period, weights: Floats) -> Distribution:
        return period.tallies.hops(weights) if of == "hops" else period.tallies.delays(weights)

    values = [
        superiority(distribution(periods[0], drawn[0][i]), distribution(periods[1], drawn[1][i]))
        for i in range(min(1 + rows, len(drawn[0])))
    ]
    return _interval(np.array(values), periods, scale="logit")
