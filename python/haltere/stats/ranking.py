"""The first of several contenders against the others, corrected for having picked it after the fact.

Who is first is known only once all values are there, so each of the k(k - 1)/2 pairs could have been the one that is
looked at. Every pair is tested by itself, by the trimmed mean of its ratios within replications, and the p-values are
corrected for all pairs by Holm's method. This holds the false-alarm rate whatever the spread of each contender is and
however many of them are equal. The interval of a pair has the confidence at which Holm's method tests it, so that it
leaves out equality exactly where the corrected p-value is significant.

A comparison is *alike* if its whole interval lies within the margin of practical equivalence. Otherwise one side is
ahead if the interval lies wholly on one side of equality. Anything else is unclear.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from haltere import _core
from haltere.stats.intervals import Interval
from haltere.stats.pairs import Paired

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
    ends = None if found is None or found.low is None or found.high is None else (found.low, found.high)
    return _core.side(ends, (least, most), equal)


Values = Sequence[float | None]
"""A positive value a replication; None where it failed."""


@dataclass(frozen=True)
class Lead:
    """How the first stands against another contender.

    Attributes:
        other: the other's place in the list.
        n: the replications in which both have a value.
        pair: the first's values against the other's; its interval is corrected as `p` is.
        p: the p-value, corrected for all pairs; None if every replication gave the same two values.
        pairs: how many pairs it was corrected for.
        stands: `above` or `below` if the difference is real and not within the margin.
        needed: the number of replications from which a real difference could be shown, if there are too few; else None.
    """

    other: int
    n: int
    pair: Paired
    p: float | None
    pairs: int
    stands: Side
    needed: int | None

    @property
    def ratio(self) -> Interval:
        """The first's value over the other's: the trimmed geometric mean with its interval."""
        return self.pair.ratio

    @property
    def exact(self) -> bool:
        """Whether every replication gave the same two values: the ratio is then a fact, not an estimate."""
        return self.p is None

    @property
    def ahead(self) -> bool:
        """Whether the difference is real, and its interval not wholly inside what counts as alike."""
        return self.stands in ("above", "below")


def replications_needed(pairs: int, confidence: float = 0.95) -> int:
    """Return the replications from which the smallest p-value of the test of a pair, corrected, can be significant.

    The smallest is 2^(1 - n), as the two outcomes in which all signs agree are the most extreme of 2^n. Where more
    than 13 replications would be needed the test is Student's, whose p-values have no least one.
    """
    return _core.replications_needed(pairs, confidence)


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
    rows = [[None if value is None else float(value) for value in own] for own in values]
    return [lead(found) for found in _core.leads(rows, first, alike, confidence)]


def lead(found: _core.Standing) -> Lead:
    """Return a lead from what the core says of it."""
    other, logarithms, exact, confidence, p, pairs, stands, needed = found
    pair = Paired(tuple(logarithms), exact, confidence)
    return Lead(other, pair.n, pair, p, pairs, stands, needed)
