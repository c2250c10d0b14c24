"""Differences between contenders that a person on a call would notice, in words.

A difference counts if it is large enough to be noticed, and if chance does not explain it: the interval of its trimmed
mean over the replications, in pairs, leaves out equality. The intervals of all pairs of contenders, and of all that is
looked at, hold together (`haltere.stats.intervals.together`), so that of equal contenders a difference is seldom told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from haltere.stats import Interval, trimmed_mean, typical
from haltere.stats.intervals import together

Entry = dict[str, Any]

LATE_MS = 150.0
"""Up to this time from mouth to ear, and so from glass to glass, hardly anybody is disturbed (ITU-T G.114)."""
_LATER, _FREEZES, _SLOWER = 1.1, 1.0, 0.9
"""A tenth more of a latency, a freeze more, or a tenth of the pictures less, is taken for a difference that is seen."""


@dataclass(frozen=True, slots=True)
class _Aspect:
    """One thing that is seen: its value in an entry, the least difference to a value that is noticed, and the words."""

    of: Callable[[Entry], float]
    worse: int
    noticed_from: Callable[[float], float]
    said: Callable[[float], str]
    other: Callable[[float], str]


def _times(count: float) -> str:
    if count < 0.05:
        return "never"
    rounded = f"{count:.1f}".removesuffix(".0")
    return "once" if rounded == "1" else f"{rounded} times"


_BEHIND = _Aspect(
    lambda one: 1e3 * one["glass_to_glass_p95_s"],
    1,
    lambda best: max(LATE_MS, _LATER * best) - best,
    lambda value: f"is up to {value:.0f} ms behind",
    lambda value: f"{value:.0f} ms",
)
_FROZEN = _Aspect(
    lambda one: float(one["freezes"]), 1, lambda _: _FREEZES, lambda value: f"freezes {_times(value)}", _times
)
_RATE = _Aspect(
    lambda one: float(one["picture_rate"]),
    -1,
    lambda best: (1 - _SLOWER) * best,
    lambda value: f"shows {value:.3g} frames a second",
    lambda value: f"{value:.3g}",
)
_ASPECTS = (_BEHIND, _FROZEN, _RATE)


@dataclass(frozen=True, slots=True)
class _Call:
    """The entries of one contender by replication; of one that failed, or showed nothing, there is none."""

    name: str
    entries: dict[int, Entry]

    def mean(self, aspect: _Aspect) -> float:
        return typical([aspect.of(one) for one in self.entries.values()]).value

    def worse_by(self, other: _Call, aspect: _Aspect, confidence: float) -> Interval | None:
        """How much worse this one is, over the replications that both have."""
        both = sorted(self.entries.keys() & other.entries.keys())
        pairs = [aspect.of(self.entries[at]) - aspect.of(other.entries[at]) for at in both]
        return trimmed_mean([aspect.worse * one for one in pairs], confidence) if pairs else None


def noticed(names: Sequence[str], groups: Sequence[Sequence[Entry]]) -> str:
    """Return a sentence on the calls, each a name and its entries: how late, how frozen and how smooth they are."""
    calls = [one for name, group in zip(names, groups, strict=True) if (one := _call(name, group)).entries]
    if not calls:
        return "A person on the call would see nothing: no frame was shown."
    if len(calls) == 1:
        return f"On this call the picture {_seen(calls[0])}."
    told: dict[str, list[str]] = {}
    unsure, alike = False, True
    for aspect, one, best, found in _compared(calls):
        least = aspect.noticed_from(best.mean(aspect))
        large = found is not None and found.value >= least
        if large and found is not None and found.low is not None and found.low > 0:
            value = aspect.said(one.mean(aspect))
            told.setdefault(one.name, []).append(f"{value} ({best.name}: {aspect.other(best.mean(aspect))})")
        elif large:
            unsure = True
        alike = alike and found is not None and found.high is not None and found.high < least
    if told:
        said = "; ".join(f"{name} {' and '.join(own)}" for name, own in told.items())
        more = "; the runs cannot tell whether there is more" if unsure else ""
        return f"A person on the call would notice that {said}{more}."
    if alike:
        behind, frozen, rate = (_range(calls, aspect) for aspect in _ASPECTS)
        seen = f"pictures are up to {behind} behind (95 %), freeze {frozen} and show {rate} frames a second"
        return f"A person on the call would notice no difference: {seen}."
    seen = "; ".join(f"{one.name} {_seen(one)}" for one in calls)
    return (
        f"The runs cannot tell whether a person on the call would notice a difference (more replications may): {seen}."
    )


def _range(calls: Sequence[_Call], aspect: _Aspect) -> str:
    ends = [aspect.other(end([one.mean(aspect) for one in calls])) for end in (min, max)]
    return " to ".join(dict.fromkeys(ends))


def _call(name: str, group: Sequence[Entry]) -> _Call:
    well = {at: one for at, one in enumerate(group) if one["error"] is None and one["glass_to_glass_p95_s"] is not None}
    return _Call(name, well)


def _seen(one: _Call) -> str:
    behind, frozen, rate = (aspect.said(one.mean(aspect)) for aspect in _ASPECTS)
    return f"{behind} (95 %), {frozen} and {rate}"


def _compared(calls: Sequence[_Call]) -> Iterator[tuple[_Aspect, _Call, _Call, Interval | None]]:
    """Yield each call beside the best in each aspect. Which one that is, the same runs say, so all pairs count."""
    confidence = together(len(_ASPECTS) * len(calls) * (len(calls) - 1) // 2)
    for one in calls:
        for aspect in _ASPECTS:
            best = min(calls, key=lambda call: aspect.worse * call.mean(aspect))
            if one is not best:
                yield aspect, one, best, one.worse_by(best, aspect, confidence)
