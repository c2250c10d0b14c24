"""The claims of the chapter on paths, judged from two periods: the first stands for its 2006, the second for its 2011.

The rules were written before any two periods were compared by them.
"""

from __future__ import annotations

import polars as pl

from haltere.claims import Evidence, Verdict, all_of, claim, remark
from haltere.paths.judging import duration, further, text, within
from haltere.paths.periods import Evolution
from haltere.paths.routes import (
    CORRELATIONS,
    Bounded,
    Correlation,
    OverDraws,
    by_draw,
    change,
    estimate,
    flatness,
    largest_excess,
    largest_k,
    share_over,
    share_under,
    spearman_of,
)

PAPER = "Cardozo 2013"
_INFINITE = float("inf")


@claim(
    "The number of hops hardly changed: 80 % of the traces have 17 hops or fewer, one hop less later.",
    source="section 2.3.1",
    whose=PAPER,
    paper="80 %; one hop less",
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
    parts += further("Change of the mean length", length)
    parts += _first_path(found)
    return all_of(*parts)


def _first_path(found: Evolution) -> list[Evidence]:
    """The shortest path's median length, for which the paper names 14 and 13 hops; only if there is a graph."""
    if any(period.routes is None for period in found.periods):
        return []
    medians = [estimate(by_draw(period, pl.col("hops").median(), k=1)) for period in found.periods]
    evidence = " → ".join(text(one, 1) for one in medians)
    return [remark("Median of the shortest paths (K = 1), hops; the paper: 14 → 13", evidence)]


@claim(
    "Delay got worse: median 122 → 168 ms (+37 %), 95th percentile 352 → 512 ms (+45 %).",
    source="section 2.3.2",
    whose=PAPER,
    paper="122 → 168 ms; 352 → 512 ms",
)
def delay(found: Evolution) -> Verdict:
    """The ratio of the medians and that of the 95th percentiles must both lie above 1."""
    parts = []
    for name, what in (("delay_median", "Median delay"), ("delay_p95", "95th percentile of the delay")):
        effect = found.changes.effect(name)
        both = f"{duration(effect.first)} → {duration(effect.second)}"
        ratio = f"{text(effect.change, 2)}"
        parts.append(within(f"{what}, later ÷ earlier", effect.change, 1, _INFINITE, ratio))
        parts.append(remark(what, both))
        parts += further(f"{what}, later ÷ earlier", effect)
    slower = found.changes.slower
    parts.append(remark("A later trace is slower than an earlier one, probability", text(slower, 2)))
    return all_of(*parts)


@claim(
    "Diversity fell: fewer pairs with paths that differ by over 50 % (15 % → under 10 %), mean 63 → 54 %.",
    source="section 2.3.3",
    whose=PAPER,
    paper="15 % → under 10 %; 63 → 54 %",
)
def diversity(found: Evolution) -> Verdict:
    """Of the second to last shortest paths, the share that differs from the pair's shortest by over 50 % must have
    fallen, and so must their mean difference; the last must differ more than the second in the later period.
    """
    over = [by_draw(period, share_over("difference", 0.5), "difference") for period in found.periods]
    means = [by_draw(period, Bounded(pl.col("difference").mean()), "difference") for period in found.periods]
    last = largest_k(found.second)
    ends = [by_draw(found.second, Bounded(pl.col("difference").quantile(0.8)), "difference", k=k) for k in (2, last)]
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
    source="section 2.3.4",
    whose=PAPER,
    paper="almost 90 %",
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
    "About 10 % of the paths of 2011 are more dispersed than those of 2006.",
    source="section 2.3.4",
    whose=PAPER,
    paper="about 10 %",
)
def more_dispersed(found: Evolution) -> Verdict:
    """The share of paths over some geographic dispersion must have grown by 5 to 15 points, at the dispersion at which
    it grew most. That dispersion is found for each draw from the other draws, so that its choice adds nothing.
    """
    grew = estimate(largest_excess(found.first, found.second, "dispersion"))
    return all_of(
        within("Share of paths that are more dispersed", grew, 0.05, 0.15, text(grew, 1, "points", 100, signed=True))
    )


@claim(
    "Ranks agree: delay and length more so later (0.80 → 0.88), both others less (0.93 → 0.84, 0.78 → 0.67).",
    source="section 2.3.5",
    whose=PAPER,
    paper="0.80 → 0.88, 0.93 → 0.84, 0.78 → 0.67",
)
def correlation(found: Evolution) -> Verdict:
    """Spearman's coefficient must be at least 0.5 in both periods for each of the three, and must have changed in the
    direction that the paper found.
    """
    return all_of(*(part for one in CORRELATIONS for part in _correlated(found, one, rises=one in _RISES)))


_RISES = CORRELATIONS[:1]
"""Of delay and length the coefficient rose; the others fell."""


def _correlated(found: Evolution, one: Correlation, *, rises: bool) -> list[Evidence]:
    values = [spearman_of(period, one) for period in found.periods]
    parts = [
        within(f"{one.name.capitalize()}, {period.name}", estimate(each), 0.5, 1, text(estimate(each), 3))
        for period, each in zip(found.periods, values, strict=True)
    ]
    changed = change(*values)
    low, high = (0, 2) if rises else (-2, 0)
    what = f"{one.name.capitalize()}, {'rises' if rises else 'falls'}"
    return [*parts, within(what, changed, low, high, text(changed, 3, signed=True))]


@claim("Beyond 20 hops the delay stays fairly stable, in both years.", source="section 2.3.5", whose=PAPER)
def flat_beyond_20_hops(found: Evolution) -> Verdict:
    """A further hop must add less than a quarter to the delay of paths of more than 20 hops of what it adds to that of
    the others, up or down; in both periods. Both are slopes of least squares.
    """
    values = [estimate(flatness(period, 20)) for period in found.periods]
    return all_of(
        *(
            within(f"Slope beyond 20 hops ÷ slope up to there, {period.name}", value, -0.25, 0.25, text(value, 2))
            for period, value in zip(found.periods, values, strict=True)
        )
    )
