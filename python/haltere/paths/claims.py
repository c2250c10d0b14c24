"""The five claims of the study of the evolution of end-to-end paths, judged from two periods.

T. B. Cardozo, "Evolução da conectividade fim-a-fim da Internet", UFJF, 2013, chapter 2. The first period stands for its
2006, the second for its 2011. The rules were written before any two periods were compared by them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import polars as pl

from haltere.claims import Claim, Evidence, Outcome, Verdict, all_of, claim, remark
from haltere.metrics.text import decimals, fixed, significant
from haltere.paths.periods import Changes, Effect, Period
from haltere.paths.routes import (
    CORRELATIONS,
    Correlation,
    OverDraws,
    by_draw,
    change,
    estimate,
    largest_k,
    share_over,
    share_under,
    spearman_of,
)
from haltere.paths.turnover import Turnover
from haltere.stats import Interval


@dataclass(frozen=True)
class Evolution:
    """Two periods and what changed between them.

    Attributes:
        first: the earlier.
        second: the later.
        changes: what changed of their traces.
        turnover: which nodes and links came and went; None if no traces were drawn or no monitor is in both.
        at_level: what changed of the same number of traces as paths of a level; None at that of addresses.
    """

    first: Period
    second: Period
    changes: Changes
    turnover: Turnover | None = None
    at_level: Changes | None = None

    @property
    def periods(self) -> tuple[Period, Period]:
        """Both, the earlier first."""
        return self.first, self.second


def text(found: Interval, places: int, unit: str = "", scale: float = 1.0, *, signed: bool = False) -> str:
    """An interval as evidence reads: `168 ms [160, 177]`."""

    def one(value: float) -> str:
        shown = fixed(scale * value, places)
        return f"+{shown}" if signed and value > 0 and shown.strip("0.,") else shown

    value = f"{one(found.value)}{' ' + unit if unit else ''}"
    if found.low is None or found.high is None:
        return f"{value} (no interval)"
    return f"{value} (exact)" if found.exact else f"{value} [{one(found.low)}, {one(found.high)}]"


def delay_unit(*values_us: float) -> tuple[str, float]:
    """Return the unit in which delays given in µs are shown, and how much of it a microsecond is: µs, ms or s.

    The largest of them decides, so that those that are shown together have the same unit.
    """
    largest = max((abs(value) for value in values_us if math.isfinite(value)), default=0.0)
    return ("µs", 1.0) if largest < 1000 else ("ms", 1e-3) if largest < 10_000_000 else ("s", 1e-6)


def duration(found: Interval) -> str:
    """A delay in µs as evidence reads: with three digits, in the unit that fits its size."""
    unit, scale = delay_unit(found.value)
    return text(found, decimals(scale * found.value), unit, scale)


def delay_text(delay_us: float) -> str:
    """A delay given in µs as a reader sees it: with three digits, in the unit that fits its size."""
    unit, scale = delay_unit(delay_us)
    return f"{significant(scale * delay_us)} {unit}"


def within(what: str, found: Interval, low: float, high: float, numbers: str) -> Evidence:
    """The part "this number lies between": by the whole interval; without one, undecided."""
    if found.low is None or found.high is None:
        outcome = Outcome.UNDECIDED
    elif low <= found.low and found.high <= high:
        outcome = Outcome.CONFIRMED
    elif found.high < low or found.low > high:
        outcome = Outcome.CONTRADICTED
    else:
        outcome = Outcome.UNDECIDED
    return Evidence(what, numbers, outcome, found)


_INFINITE = float("inf")


@claim(
    "The number of hops hardly changed: 80 % of the traces have 17 hops or fewer, one hop less later.", source="2.3.1"
)
def hops(found: Evolution) -> Verdict:
    """At least 80 % of the traces must have 17 hops or fewer in either period (give or take 5 %), and the mean length
    must have changed by less than two hops, and not upwards.
    """
    share, length = found.changes.effect("hops_up_to_17"), found.changes.effect("hops_mean")
    parts = [
        within(f"Traces of at most 17 hops, {period.name}", value, 0.75, 1, text(value, 0, "%", 100))
        for period, value in zip(found.periods, (share.first, share.second), strict=True)
    ]
    changed = text(length.change, 2, "hops", signed=True)
    parts.append(within("Change of the mean length, against two hops", length.change, -2, 2, changed))
    parts.append(within("The same, against one hop less", length.change, -1.5, -0.5, changed))
    parts += _further("Change of the mean length", length)
    parts += _first_path(found)
    return all_of(*parts)


def _first_path(found: Evolution) -> list[Evidence]:
    """The shortest path's median length, for which the paper names 14 and 13 hops; only if there is a graph."""
    if any(period.routes is None for period in found.periods):
        return []
    medians = [estimate(by_draw(period, pl.col("hops").median(), k=1)) for period in found.periods]
    evidence = " → ".join(text(one, 1) for one in medians)
    return [remark("Median of the shortest paths (K = 1), hops; the paper: 14 → 13", evidence)]


@claim("Delay got worse: median 122 → 168 ms (+37 %), 95th percentile 352 → 512 ms (+45 %).", source="2.3.2")
def delay(found: Evolution) -> Verdict:
    """The ratio of the medians and that of the 95th percentiles must both lie above 1."""
    parts = []
    for name, what in (("delay_median", "Median delay"), ("delay_p95", "95th percentile of the delay")):
        effect = found.changes.effect(name)
        both = f"{duration(effect.first)} → {duration(effect.second)}"
        ratio = f"{text(effect.change, 2)}"
        parts.append(within(f"{what}, later ÷ earlier", effect.change, 1, _INFINITE, ratio))
        parts.append(remark(what, both))
        parts += _further(f"{what}, later ÷ earlier", effect)
    slower = found.changes.slower
    parts.append(remark("A later trace is slower than an earlier one, probability", text(slower, 2)))
    return all_of(*parts)


@claim(
    "Diversity fell: fewer pairs with paths that differ by over 50 % (15 % → under 10 %), mean 63 → 54 %.",
    source="2.3.3",
)
def diversity(found: Evolution) -> Verdict:
    """Of the second to last shortest paths, the share that differs from the pair's shortest by over 50 % must have
    fallen, and so must their mean difference; the last must differ more than the second in the later period.
    """
    over = [by_draw(period, share_over("difference", 0.5), "difference") for period in found.periods]
    means = [by_draw(period, pl.col("difference").mean(), "difference") for period in found.periods]
    last = largest_k(found.second)
    ends = [by_draw(found.second, pl.col("difference").quantile(0.8), "difference", k=k) for k in (2, last)]
    fell, less, grew = change(*over), change(*means), change(*ends)
    return all_of(
        within("Change of the share over 50 %", fell, -1, 0, text(fell, 1, "points", 100, signed=True)),
        remark("Share over 50 %", " → ".join(text(estimate(one), 1, "%", 100) for one in over)),
        within("Change of the mean difference", less, -1, 0, text(less, 1, "points", 100, signed=True)),
        remark("Mean difference", " → ".join(text(estimate(one), 1, "%", 100) for one in means)),
        within(
            f"80th percentile at K = {last} less that at K = 2", grew, 0, 1, text(grew, 1, "points", 100, signed=True)
        ),
        remark("80 % of the differences are at most (the paper, 2011: 15 %, 36 %)", _both(ends)),
    )


def _both(ends: list[OverDraws]) -> str:
    return " and ".join(text(estimate(one), 0, "%", 100) for one in ends)


@claim(
    "Geographic dispersion is mostly between 0 and 3, and under 4 for almost 90 % of the paths at any K.",
    source="2.3.4",
)
def dispersion(found: Evolution) -> Verdict:
    """More than half of the paths must lie between 0 and 3, and, at each K, the share under 4 must be 85 % or more; in
    both periods.
    """
    parts = []
    for period in found.periods:
        mostly = estimate(by_draw(period, share_under("dispersion", 3), "dispersion"))
        parts.append(within(f"Paths under 3, {period.name}", mostly, 0.5, 1, text(mostly, 0, "%", 100)))
        shares = {
            k: estimate(by_draw(period, share_under("dispersion", 4), "dispersion", k=k))
            for k in range(1, largest_k(period) + 1)
        }
        k, least = min(shares.items(), key=lambda one: one[1].value)
        what = f"Paths under 4 at the K with fewest (K = {k}), {period.name}"
        parts.append(within(what, least, 0.85, 1, text(least, 0, "%", 100)))
    return all_of(*parts)


@claim(
    "Ranks agree: delay and length more so later (0.80 → 0.88), both others less (0.93 → 0.84, 0.78 → 0.67).",
    source="2.3.5",
)
def correlation(found: Evolution) -> Verdict:
    """Spearman's coefficient must be at least 0.5 in both periods for each of the three, and must have changed in the
    direction that the paper found.
    """
    return all_of(*(part for one in CORRELATIONS for part in _correlated(found, one)))


def _correlated(found: Evolution, one: Correlation) -> list[Evidence]:
    values = [spearman_of(period, one) for period in found.periods]
    parts = [
        within(f"{one.name.capitalize()}, {period.name}", estimate(each), 0.5, 1, text(estimate(each), 3))
        for period, each in zip(found.periods, values, strict=True)
    ]
    changed = change(*values)
    up = one.published[1] > one.published[0]
    low, high = (0, 2) if up else (-2, 0)
    what = f"{one.name.capitalize()}, {'rises' if up else 'falls'}"
    return [*parts, within(what, changed, low, high, text(changed, 3, signed=True))]


def _further(what: str, effect: Effect) -> list[Evidence]:
    """The same over the monitors of both periods, and with the monitors' mix made equal, where that can be said."""
    signed = effect.measure.compared == "difference"
    said = {"monitors of both periods": effect.paired, "monitors' mix made equal": effect.reweighted}
    return [remark(f"{what}, {how}", text(found, 2, signed=signed)) for how, found in said.items() if found is not None]


CLAIMS: tuple[Claim[Evolution], ...] = (hops, delay, diversity, dispersion, correlation)
"""The claims, in the order of the paper."""
