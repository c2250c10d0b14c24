"""The first of several contenders against the others, corrected for having picked it after the fact.

Who is first is known only once all values are there, so each of the k(k - 1)/2 pairs could have been the one that is
looked at. Every pair is tested by itself, by flipping signs within replications, and the p-values are corrected for all
pairs by Holm's method. This holds the false-alarm rate whatever the spread of each contender is and however many of
them are equal. Intervals are read by the rule of `side`, as in reports; a difference is real only if
its corrected p-value says so as well.

A comparison is *alike* if its whole interval lies within the margin of practical equivalence. Otherwise one side is
ahead if the interval lies wholly on one side of equality. Anything else is unclear.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from haltere.stats.intervals import Interval
from haltere.stats.pairs import holm, paired, sign_flip

ALIKE = 0.05
"""The margin of practical equivalence of ratios: 1/1.05 to 1.05 makes no practical difference."""

Side = Literal["above", "below", "alike", "unclear"]
"""Where an interval stands: above equality, below it, within the margin, or not decided."""


def ratio_margins(alike: float = ALIKE) -> tuple[float, float]:
    """Return the ends of the range of ratios that make no practical difference."""
    return 1 / (1 + alike), 1 + alike


def side(found: Interval | None, least: float, most: float, equal: float) -> Side:
    """Return where a comparison stands, by its interval.

    Args:
        found: the comparison; without an interval it is unclear.
        least: lower end of the margin of practical equivalence.
        most: its upper end.
        equal: the value of two that are equal: 1 for ratios, 0 for differences.
    """
    if found is None or found.low is None or found.high is None:
        return "unclear"
    if least <= found.low and found.high <= most:
        return "alike"
    if found.low > equal:
        return "above"
    return "below" if found.high < equal else "unclear"


Values = Sequence[float | None]
"""A positive value a replication; None where it failed."""


@dataclass(frozen=True)
class Lead:
    """How the first stands against another contender.

    Attributes:
        other: the other's place in the list.
        n: the replications in which both have a value.
        ratio: the first's value over the other's, the geometric mean with its interval.
        p: the p-value, corrected for all pairs; None if every replication gave the same two values.
        pairs: how many pairs it was corrected for.
        stands: `above` or `below` if the difference is real and not within the margin.
        needed: the number of replications from which a real difference could be shown, if there are too few; else None.
    """

    other: int
    n: int
    ratio: Interval
    p: float | None
    pairs: int
    stands: Side
    needed: int | None

    @property
    def exact(self) -> bool:
        """Whether every replication gave the same two values: the ratio is then a fact, not an estimate."""
        return self.p is None

    @property
    def ahead(self) -> bool:
        """Whether the difference is real and larger than what counts as alike."""
        return self.stands in ("above", "below")


def replications_needed(pairs: int, confidence: float = 0.95) -> int:
    """Return the replications from which the smallest p-value of a sign-flip test, corrected, can be significant.

    The smallest is 2^(1 - n), as the two outcomes in which all signs agree are the most extreme of 2^n.
    """
    return math.ceil(1 + math.log2(pairs / (1 - confidence)) - 1e-9)


def leads(values: Sequence[Values], first: int, *, alike: float = ALIKE, confidence: float = 0.95) -> list[Lead]:
    """Compare one contender, which was picked by its values, with each of the others.

    Args:
        values: of each contender; those of one replication stand at the same place.
        first: the place of the one that was picked.
        alike: the margin of practical equivalence, as a share of the ratio.
        confidence: of each interval, and of all real differences together.

    Returns:
        An entry for each of the others that has a replication in common with the first, in their order.
    """
    count = len(values)
    both = {
        (a, b): [(x, y) for x, y in zip(values[a], values[b], strict=True) if x is not None and y is not None]
        for a in range(count)
        for b in range(a + 1, count)
    }
    both = {pair: found for pair, found in both.items() if found}
    corrected = _corrected(both)
    found = []
    for other in range(count):
        pair = (min(first, other), max(first, other))
        if pair not in both:
            continue
        ordered = both[pair] if first < other else [(y, x) for x, y in both[pair]]
        one = paired([x for x, _ in ordered], [y for _, y in ordered], confidence)
        p = None if one.exact else corrected[pair]
        stands = _stands(one.ratio, p, one.n, alike, confidence)
        needed = replications_needed(len(both), confidence)
        few = stands == "unclear" and one.n < (2 if one.exact else needed)
        found.append(Lead(other, one.n, one.ratio, p, len(both), stands, needed if few else None))
    return found


def _corrected(both: dict[tuple[int, int], list[tuple[float, float]]]) -> dict[tuple[int, int], float]:
    raw: dict[tuple[int, int], float] = {}
    for n in {len(found) for found in both.values()}:
        members = [pair for pair, found in both.items() if len(found) == n]
        logs = np.log([[x / y for x, y in both[pair]] for pair in members])
        raw.update(zip(members, sign_flip(logs, corrections=len(both)).tolist(), strict=True))
    return dict(zip(both, (p or 0.0 for p in holm([raw[pair] for pair in both])), strict=True))


def _stands(ratio: Interval, p: float | None, n: int, alike: float, confidence: float) -> Side:
    if p is None and n > 1:  # the same in every replication: no estimate
        ratio = dataclasses.replace(ratio, low=ratio.value, high=ratio.value)
    by_interval = side(ratio, *ratio_margins(alike), 1.0)
    if by_interval == "alike" or p is None:
        return by_interval
    return by_interval if p <= 1 - confidence else "unclear"
