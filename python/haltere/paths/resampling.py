"""Draws the monitors of two periods again, so that an interval says how much a comparison owes to their choice.

The traces of one monitor resemble each other, so a monitor is drawn with all its traces (cluster bootstrap; A. C.
Davison, D. V. Hinkley, "Bootstrap Methods and their Application", 1997, section 3.8). A monitor that measured in both
periods is one monitor: it is drawn once, for both. Otherwise its peculiarities would count as a change between the
periods.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from haltere.stats import Interval

Floats = NDArray[np.float64]

CONFIDENCE = 0.95
Scale = Literal["any", "ratio", "share"]
SMALL = 3
"""Cells of fewer monitors are joined with others: hardly anything can be learned from so few about their variance."""
_QUANTILES = 8


@dataclass(frozen=True)
class Draws:
    """How often each monitor counts in each resample.

    Attributes:
        first: weights of the first period's monitors, all 1 in row 0; shape (1 + resamples, monitors).
        second: those of the second period's.
        shared: which monitors of each period measured in both.
    """

    first: Floats
    second: Floats
    shared: tuple[NDArray[np.bool_], NDArray[np.bool_]]

    def paired(self) -> tuple[Floats, Floats]:
        """Return the weights with those of monitors that measured in one period alone set to 0."""
        return self.first * self.shared[0], self.second * self.shared[1]


def cells(strata: tuple[Mapping[str, str], Mapping[str, str]]) -> list[list[str]]:
    """Return the sets within which monitors are drawn again.

    They are drawn apart from each other by stratum and by the periods in which they measured. Cells of fewer than
    `SMALL` monitors are joined: first with those of other strata that measured in the same periods, then with the
    largest one.

    Args:
        strata: the stratum of each monitor, in each period.
    """
    first, second = strata
    by_periods: dict[tuple[bool, bool], dict[str, list[str]]] = {}
    for name in sorted({*first, *second}):
        stratum = first.get(name, second.get(name, ""))
        by_periods.setdefault((name in first, name in second), {}).setdefault(stratum, []).append(name)
    found: list[list[str]] = []
    for of_stratum in by_periods.values():
        large = [names for names in of_stratum.values() if len(names) >= SMALL]
        small = sorted(name for names in of_stratum.values() if len(names) < SMALL for name in names)
        if small and len(small) < SMALL and large:
            max(large, key=len).extend(small)
        elif small:
            large.append(small)
        found += large
    whole = [names for names in found if len(names) >= SMALL] or [[]]
    lone = [name for names in found if len(names) < SMALL for name in names]
    max(whole, key=len).extend(lone)
    return [sorted(names) for names in whole if names]


def draw(strata: tuple[Mapping[str, str], Mapping[str, str]], resamples: int, rng: np.random.Generator) -> Draws:
    """Draw monitors again, the shared ones for both periods at once.

    Of the n monitors of a cell, n - 1 are drawn with replacement, each with the weight n / (n - 1): the variance is
    then not too small by the factor (n - 1) / n (J. N. K. Rao, C. F. J. Wu, "Resampling inference with complex survey
    data", JASA 83(401), 1988, section 3).

    Args:
        strata: the stratum of each monitor in each period; the monitors' order is that of the weights.
        resamples: how many draws.
        rng: the dice.
    """
    first, second = (list(of) for of in strata)
    where = {name: place for place, name in enumerate(sorted({*first, *second}))}
    weights = np.ones((1 + resamples, len(where)))
    for members in cells(strata):
        n = len(members)
        if n > 1:
            times = rng.multinomial(n - 1, np.full(n, 1 / n), resamples)
            weights[1:, [where[name] for name in members]] = times * (n / (n - 1))

    def of(names: Sequence[str]) -> Floats:
        return weights[:, [where[name] for name in names]]

    both = set(first) & set(second)
    shared = tuple(np.array([name in both for name in names], dtype=bool) for names in (first, second))
    return Draws(of(first), of(second), (shared[0], shared[1]))


def effective(traces: Floats) -> float:
    """Return how many monitors of equal numbers of traces would tell as much: (sum of n)^2 / sum of n^2.

    L. Kish, "Survey Sampling", 1965, section 11.7.
    """
    return float(traces.sum() ** 2 / (traces**2).sum()) if traces.any() else 0.0


def interval(values: Floats, monitors: int, effective_monitors: float, *, scale: Scale = "any") -> Interval:
    """Return the first value and an interval from the others; none of fewer than three monitors.

    Of eight monitors or more, it lies between quantiles of the resamples. They lie further out than 2.5 % and 97.5 %:
    where Student's t of one degree of freedom less than there are effective monitors is, in place of the normal
    distribution (T. C. Hesterberg, "What teachers should know about the bootstrap", The American Statistician 69(4),
    2015, section 3.2), as percentile intervals of few values are too short. The quantile of a share p is the value at
    the place p (R + 1) of the R ordered resamples, so that another resample lies below it with the probability p (A. C.
    Davison, D. V. Hinkley, "Bootstrap Methods and their Application", 1997, section 5.2.1). Quantiles of few monitors
    cannot hold 95 %: all n differ in the same direction with the probability 2 / 2^n. Their interval is Student's, with
    the resamples' standard deviation as the standard error.

    Args:
        values: the statistic of all monitors, then of each resample; what is not finite is left out.
        monitors: how many there are in the period with fewer.
        effective_monitors: how many `effective` ones there are in the period with fewer.
        scale: `ratio` for positive values of which Student's interval is taken of the logarithms, `share` for values
            from 0 to 1.
    """
    value = float(values[0])
    others = values[1:][np.isfinite(values[1:])]
    if monitors < SMALL or others.size < 2 or not np.isfinite(value):
        return Interval(value, None, None, monitors, CONFIDENCE, "too few monitors")
    t = float(special.stdtrit(max(effective_monitors - 1, 1.0), (1 + CONFIDENCE) / 2))
    if monitors >= _QUANTILES:
        tail = float(special.ndtr(-t))
        low, high = np.quantile(others, [tail, 1 - tail], method="weibull")
        method = "bootstrap over monitors"
    else:
        positive = scale == "ratio" and value > 0 and bool((others > 0).all())
        spread = float((np.log(others) if positive else others).std(ddof=1))
        low, high = (
            (value * np.exp([-t * spread, t * spread])) if positive else (value - t * spread, value + t * spread)
        )
        method = "Student's t over monitors, bootstrap standard error"
    if scale == "share":
        low, high = max(low, 0.0), min(high, 1.0)
    return Interval(value, float(low), float(high), monitors, CONFIDENCE, method)
