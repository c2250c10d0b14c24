"""Changes between what was kept of a campaign and what a new one found: verdicts, and numbers beyond chance.

Two estimates differ beyond chance if their difference lies outside the interval made of both their intervals: with
widths l and u below and above each estimate, the difference a − b has the limits
a − b − √(lₐ² + u_b²) and a − b + √(uₐ² + l_b²) (G. Y. Zou, A. Donner, "Construction of confidence limits about effect
measures: a general approach", Statistics in Medicine 27, 2008). The intervals are widened for the number of estimates
that are compared (Bonferroni), so that of two campaigns between which nothing differs but chance at most 5 % show any
change. Campaigns on one seed meet the same random losses: for them the test is on the safe side.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from haltere.kept.campaign import Kept, Number
from haltere.stats import Interval

FALSE_ALARMS = 0.05


@dataclass(frozen=True)
class Change:
    """A verdict or a number that changed: whose it is, how it read, and how it reads."""

    what: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.what}: {self.before} → {self.after}"


def verdicts(before: Kept, after: Kept) -> list[Change]:
    """Return the claims of both that are judged otherwise."""
    old = {one.name: one.outcome for one in before.claims}
    return [
        Change(f"claim {one.name}", old[one.name], one.outcome)
        for one in after.claims
        if one.name in old and old[one.name] != one.outcome
    ]


def numbers(before: Kept, after: Kept) -> list[Change]:
    """Return the numbers of both that differ beyond chance and as they are written.

    Numbers without an interval are not compared.
    """
    old = dict(_numbers(before))
    pairs = [
        (name, old[name], new)
        for name, new in _numbers(after)
        if name in old and old[name].text != new.text and old[name].interval is not None and new.interval is not None
    ]
    confidence = 1 - FALSE_ALARMS / max(1, len(pairs))
    return [
        Change(name, was.text, now.text)
        for name, was, now in pairs
        if was.interval and now.interval and differ(was.interval, now.interval, confidence)
    ]


def _numbers(kept: Kept) -> Iterator[tuple[str, Number]]:
    """Yield each number with its name; of several of one name in a claim, the later ones with their place."""
    for claim in kept.claims:
        seen = Counter[str]()
        for one in claim.numbers:
            seen[one.what] += 1
            place = f" ({seen[one.what]})" if seen[one.what] > 1 else ""
            yield f"claim {claim.name}: {one.what}{place}", one
    for name, value in kept.values.items():
        if isinstance(value, Number):
            yield f"value {name}", value


def differ(first: Interval, second: Interval, confidence: float) -> bool:
    """Whether two independent estimates differ beyond chance; without an interval on either side only by value."""
    a, b = first.at(confidence), second.at(confidence)
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return False
    if a.exact and b.exact:
        # Both are kept with seven digits.
        return not math.isclose(a.value, b.value, rel_tol=1e-6)
    below = math.hypot(a.value - a.low, b.high - b.value)
    above = math.hypot(a.high - a.value, b.value - b.low)
    return not a.value - b.value - below <= 0 <= a.value - b.value + above
