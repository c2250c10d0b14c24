"""Compares two periods of measured paths: what changed, by how much, and whether the monitors changed with it.

Intervals are taken over monitors, which are drawn again as `haltere.paths.resampling` says: those that measured in both
periods once for both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from haltere.paths import resampling
from haltere.paths.resampling import Draws, Scale, effective
from haltere.paths.tallies import Distribution, Tallies, quantiles
from haltere.paths.turnover import Turnover
from haltere.stats import Interval

Floats = NDArray[np.float64]
Pair = tuple[Floats, Floats]

Drawing = Literal["sample", "all", "half", "bootstrap"]
"""How the traces of a partial view are chosen: a sample of the lake's; all of them, in each draw the same, as there are
no more; a half of them, drawn at random; as many as there are, drawn with replacement."""
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
        drawing: how the traces of a draw were chosen.
        level: what a node of its partial views is (`haltere.paths.levels`).
        routing: what the design says of the policy that the routes obey (`haltere.paths.policy.Policy.says`); None if
            any path will do.
        unconstrained: the routes of the same pairs without that policy; None if there is none.
    """

    name: str
    tallies: Tallies
    days: Sequence[str]
    regions: Mapping[str, str] = field(default_factory=dict)
    routes: pl.DataFrame | None = None
    views: pl.DataFrame | None = None
    drawing: Drawing = "sample"
    level: str = "address"
    routing: Mapping[str, str] | None = None
    unconstrained: pl.DataFrame | None = None

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

    `compared` says whether two periods are compared by their ratio or their difference. `parts` gives the value that
    divides the traces in two, where the number says how many are on which side.
    """

    name: str
    label: str
    unit: str
    compared: str
    of: str
    read: Callable[[Floats, Floats, Floats], Floats]
    parts: Callable[[Distribution], float] | None = None


def _quantile(share: float) -> Callable[[Floats, Floats, Floats], Floats]:
    return lambda low, width, weights: quantiles(low, width, weights, share)


def _at(share: float) -> Callable[[Distribution], float]:
    return lambda all_traces: all_traces.quantile(share)


def _up_to(value: float) -> Callable[[Floats, Floats, Floats], Floats]:
    return lambda low, _, weights: weights[:, low <= value].sum(axis=1) / weights.sum(axis=1)


def _mean(low: Floats, width: Floats, weights: Floats) -> Floats:
    found: Floats = weights @ (low + width / 2) / weights.sum(axis=1)
    return found


MEASURES = (
    Measure("hops_mean", "Mean length", "hops", "difference", "hops", _mean),
    Measure("hops_median", "Median length", "hops", "difference", "hops", _quantile(0.5), _at(0.5)),
    Measure("hops_p80", "80th percentile of the length", "hops", "difference", "hops", _quantile(0.8), _at(0.8)),
    Measure("hops_up_to_17", "Traces of at most 17 hops", "%", "difference", "hops", _up_to(17), lambda _: 17.0),
    Measure("delay_median", "Median delay", "ms", "ratio", "delay", _quantile(0.5), _at(0.5)),
    Measure("delay_p95", "95th percentile of the delay", "ms", "ratio", "delay", _quantile(0.95), _at(0.95)),
)
"""The measures that are compared of traces. Delays are in µs inside and in ms where they are shown."""


@dataclass(frozen=True)
class Effect:
    """A measure in both periods, and how they differ: over all monitors, over the shared ones, and with an equal mix.

    Attributes:
        measure: what is measured.
        first: its value in the first period.
        second: in the second.
        change: second ÷ first, or second − first, over all monitors of each period.
        paired: the same over the traces of those monitors alone that measured in both; None if there are none.
        reweighted: the same with the mix of strata made equal; None where the periods have no stratum in common.
    """

    measure: Measure
    first: Interval
    second: Interval
    change: Interval
    paired: Interval | None
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
class Shared:
    """Which monitors have clean traces in both periods, and which in one alone; sorted.

    Attributes:
        both: in both: drawn again together.
        first: in the first period alone.
        second: in the second period alone.
    """

    both: tuple[str, ...]
    first: tuple[str, ...]
    second: tuple[str, ...]


@dataclass(frozen=True)
class Changes:
    """The result of `compare` for the traces of two periods."""

    mix: Mix
    monitors: Shared
    effects: tuple[Effect, ...]
    longer: Interval
    slower: Interval

    def effect(self, name: str) -> Effect:
        """Return the effect of a measure."""
        return next(one for one in self.effects if one.measure.name == name)


@dataclass(frozen=True)
class Evolution:
    """Two periods and what changed between them.

    Attributes:
        first: the earlier.
        second: the later.
        changes: what changed of their traces.
        turnover: which nodes and links came and went; None if no traces were drawn or no monitor is in both.
        at_level: what changed of the same number of traces as paths of a level; None at that of addresses.
        levels: the periods of these traces.
    """

    first: Period
    second: Period
    changes: Changes
    turnover: Turnover | None = None
    at_level: Changes | None = None
    levels: tuple[Period, Period] | None = None

    @classmethod
    def of(
        cls,
        periods: tuple[Period, Period],
        turnover: Turnover | None = None,
        levels: tuple[Period, Period] | None = None,
        *,
        seed: int = 0,
    ) -> Evolution:
        """Compare two periods, and those of paths at a level, by monitors that are drawn with a seed."""
        at_level = None if levels is None else compare(*levels, seed=seed)
        return cls(*periods, compare(*periods, seed=seed), turnover, at_level, levels)

    @property
    def periods(self) -> tuple[Period, Period]:
        """Both, the earlier first."""
        return self.first, self.second


def compare(first: Period, second: Period, *, seed: int = 0, resamples: int = RESAMPLES) -> Changes:
    """Compare the traces of two periods.

    Args:
        first: the earlier one.
        second: the later one.
        seed: of the bootstrap.
        resamples: how many times monitors are drawn again.
    """
    mix = Mix(first.mix(), second.mix())
    periods = (first, second)
    draws = resampling.draw((_drawn_within(first), _drawn_within(second)), resamples, np.random.default_rng(seed))
    standard = mix.standard()
    even = None
    if standard:
        even = (_standardised(first, draws.first, standard), _standardised(second, draws.second, standard))
    effects = tuple(_effect(measure, periods, draws, even) for measure in MEASURES)
    longer, slower = (_superior(of, periods, (draws.first, draws.second)) for of in ("hops", "delay"))
    return Changes(mix, _shared(periods), effects, longer, slower)


def _shared(periods: tuple[Period, Period]) -> Shared:
    first, second = (set(period.tallies.groups) for period in periods)
    return Shared(tuple(sorted(first & second)), tuple(sorted(first - second)), tuple(sorted(second - first)))


def _drawn_within(period: Period) -> dict[str, str]:
    """The stratum within which each monitor is drawn again: its region; all those without one are of one stratum."""
    return {name: period.regions.get(name, "") for name in period.tallies.groups}


def _standardised(period: Period, weights: Floats, standard: Mapping[str, float]) -> Floats:
    """The draws' weights times what gives each stratum the standard's share; 0 for strata it has not.

    Strata of few monitors are themselves drawn again (each monitor may be a stratum), so that they have the standard's
    share in the mean of the draws; larger ones have it in each draw.
    """
    counts = period.tallies.hops_matrix().sum(axis=1)
    names = np.array(period.strata())
    scaled = np.zeros_like(weights)
    for name, share in standard.items():
        members = np.flatnonzero(names == name)
        large = len(members) >= resampling.SMALL
        total = (weights if large else weights[:1])[:, members] @ counts[members]
        scale = np.divide(share, total, out=np.zeros_like(total), where=total > 0)
        scaled[:, members] = weights[:, members] * scale[:, None]
    return scaled


def _effect(measure: Measure, periods: tuple[Period, Period], draws: Draws, even: Pair | None) -> Effect:
    every = (draws.first, draws.second)
    measured = tuple(_values(measure, p, w) for p, w in zip(periods, every, strict=True))

    def change(weights: Pair) -> Interval:
        first, second = (
            measured if weights is every else (_values(measure, p, w) for p, w in zip(periods, weights, strict=True))
        )
        scale: Scale = "ratio" if measure.compared == "ratio" else "any"
        return _interval(_change(measure, first, second), periods, weights, scale, measure)

    scale: Scale = "share" if measure.unit == "%" else "any" if measure.of == "hops" else "ratio"
    first, second = (
        resampling.interval(values, *_numbers(p, w, measure), scale=scale)
        for values, p, w in zip(measured, periods, every, strict=True)
    )
    paired = change(draws.paired()) if draws.shared[0].any() else None
    return Effect(measure, first, second, change(every), paired, None if even is None else change(even))


def _numbers(period: Period, weights: Floats, measure: Measure | None = None) -> tuple[int, float]:
    """How many monitors have weight, and how many effective ones they are.

    A quantile owes most to the monitors on whose side of it there are fewer traces; they alone are counted as
    effective.
    """
    tallies = period.tallies
    counts = tallies.hops_matrix().sum(axis=1) * weights[0]
    number, found = int(np.count_nonzero(counts)), effective(counts)
    if measure is None or measure.parts is None:
        return number, found
    whole = tallies.hops(weights[0]) if measure.of == "hops" else tallies.delays(weights[0])
    if not whole.total:
        return number, found
    matrix = (tallies.hops_matrix() if measure.of == "hops" else tallies.delays_matrix()) * weights[0][:, None]
    middle = measure.parts(whole)
    sides = (matrix[:, whole.low <= middle].sum(axis=1), matrix[:, whole.low >= middle].sum(axis=1))
    return number, min([found, *(effective(side) for side in sides if side.any())])


def _interval(
    values: Floats, periods: tuple[Period, Period], weights: Pair, scale: Scale, measure: Measure | None = None
) -> Interval:
    numbers = [_numbers(period, w, measure) for period, w in zip(periods, weights, strict=True)]
    return resampling.interval(values, min(n for n, _ in numbers), min(e for _, e in numbers), scale=scale)


def _values(measure: Measure, period: Period, weights: Floats) -> Floats:
    tallies = period.tallies
    shape = tallies.hops() if measure.of == "hops" else tallies.delays()
    matrix = tallies.hops_matrix() if measure.of == "hops" else tallies.delays_matrix()
    values = np.empty(len(weights))
    for begin in range(0, len(weights), 500):  # some thousand bins a row: not all rows at once
        rows = weights[begin : begin + 500] @ matrix
        empty = rows.sum(axis=1) == 0  # no monitor with such traces was drawn again
        rows[empty] = 1.0
        values[begin : begin + 500] = np.where(empty, np.nan, measure.read(shape.low, shape.width, rows))
    return values


def _change(measure: Measure, first: Floats, second: Floats) -> Floats:
    if measure.compared == "difference":
        found: Floats = second - first
        return found
    return np.divide(second, first, out=np.full_like(first, np.nan), where=first > 0)


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


def _superior(of: str, periods: tuple[Period, Period], weights: Pair) -> Interval:
    """The probability of superiority, as `superiority` gives it, of all monitors and of each draw of them."""
    matrices = [p.tallies.hops_matrix() if of == "hops" else p.tallies.delays_matrix() for p in periods]
    lows = [(p.tallies.hops() if of == "hops" else p.tallies.delays()).low for p in periods]
    values = np.union1d(*lows)
    found = np.full(len(weights[0]), np.nan)
    for begin in range(0, len(found), 500):
        shares = []
        for matrix, low, of_period in zip(matrices, lows, weights, strict=True):
            rows = np.zeros((len(of_period[begin : begin + 500]), values.size))
            rows[:, np.searchsorted(values, low)] = of_period[begin : begin + 500] @ matrix
            total = rows.sum(axis=1, keepdims=True)
            shares.append(np.divide(rows, total, out=np.full_like(rows, np.nan), where=total > 0))
        below = np.cumsum(shares[0], axis=1) - shares[0] / 2
        found[begin : begin + 500] = (shares[1] * below).sum(axis=1)
    return _interval(found, periods, weights, "share")
