"""Differences between contenders that a person would notice, on a call or before a film, in words.

A difference counts if it is large enough to be noticed, and if chance does not explain it: the interval of its trimmed
mean over the replications, in pairs, leaves out equality. The intervals of all pairs of contenders, and of all that is
looked at, hold together (`haltere.stats.intervals.together`), so that of equal contenders a difference is seldom told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from haltere.stats import Interval, trimmed_mean, typical
from haltere.stats.intervals import together

Entry = dict[str, Any]

LATE_MS = 150.0
"""Up to this time from mouth to ear, and so from glass to glass, hardly anybody is disturbed (ITU-T G.114)."""
_LATER, _FREEZES, _SLOWER = 1.1, 1.0, 0.9
"""A tenth more of a latency, a freeze more, or a tenth of the pictures less, is taken for a difference that is seen."""
START_S = 2.0
"""Viewers begin to leave when a film has not begun after this time, and more do with each further second.

Krishnan, Sitaraman, Video Stream Quality Impacts Viewer Behavior, IMC 2012; from memory.
"""
_SHORTEST_S = 0.05
"""Mean stalls below this are said to be none."""
_LONGER_S, _STALLED_S, _COARSER = 1.0, 1.0, 0.8
"""A second more before a film begins or in stalls, or a fifth of the bit rate less, is taken for a difference that is
seen. A fifth is more than half of the way to the next lower bit rate of the film that is the default."""


@dataclass(frozen=True, slots=True)
class _Aspect:
    """One thing that is seen: its value in an entry, the least difference to a value that is noticed, and the words."""

    of: Callable[[Entry], float]
    worse: int
    noticed_from: Callable[[float], float]
    said: Callable[[float], str]
    other: Callable[[float], str]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of things that persons look at, and the words for it.

    Attributes:
        aspects: what is seen of it.
        key: a field of entries that is null where nothing was seen.
        who: who looks.
        shown: a field of entries that is positive where something was seen.
        nothing: the words where nobody saw anything.
        unmeasured: the sentence where something was seen, and `key` was not measured.
        alone: the sentence on a single one, with the words of each aspect.
        seen: the words on one of several.
        ranges: the words on all, with the range of each aspect.
    """

    aspects: tuple[_Aspect, ...]
    key: str
    who: str
    shown: str
    nothing: str
    unmeasured: str
    alone: str
    seen: str
    ranges: str


def _times(count: float) -> str:
    if count < 0.05:
        return "never"
    rounded = f"{count:.1f}".removesuffix(".0")
    return "once" if rounded == "1" else f"{rounded} times"


def _stalled(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= _SHORTEST_S else "0 s"


CALL = Kind(
    aspects=(
        _Aspect(
            lambda one: 1e3 * one["glass_to_glass_p95_s"],
            1,
            lambda best: max(LATE_MS, _LATER * best) - best,
            lambda value: f"is up to {value:.0f} ms behind",
            lambda value: f"{value:.0f} ms",
        ),
        _Aspect(
            lambda one: float(one["freezes"]), 1, lambda _: _FREEZES, lambda value: f"freezes {_times(value)}", _times
        ),
        _Aspect(
            lambda one: float(one["picture_rate"]),
            -1,
            lambda best: (1 - _SLOWER) * best,
            lambda value: f"shows {value:.3g} frames a second",
            lambda value: f"{value:.3g}",
        ),
    ),
    key="glass_to_glass_p95_s",
    who="A person on the call",
    shown="picture_rate",
    nothing="no frame was shown",
    unmeasured="How late pictures were was not measured, so nothing is said of what a person on the call would notice.",
    alone="On this call the picture {}.",
    seen="{} (95 %), {} and {}",
    ranges="pictures are up to {} behind (95 %), freeze {} and show {} frames a second",
)
"""Calls: how late, how frozen and how smooth they are."""
FILM = Kind(
    aspects=(
        _Aspect(
            lambda one: float(one["startup_s"]),
            1,
            lambda best: max(START_S, best + _LONGER_S) - best,
            lambda value: f"begins after {value:.1f} s",
            lambda value: f"{value:.1f} s",
        ),
        _Aspect(
            lambda one: float(one["stalled_s"]),
            1,
            lambda _: _STALLED_S,
            lambda value: f"stalls for {_stalled(value)}" if value >= _SHORTEST_S else "never stalls",
            _stalled,
        ),
        _Aspect(
            lambda one: 1e-6 * one["played_bps"],
            -1,
            lambda best: (1 - _COARSER) * best,
            lambda value: f"plays at {value:.3g} Mbit/s",
            lambda value: f"{value:.3g} Mbit/s",
        ),
    ),
    key="startup_s",
    who="A viewer",
    shown="played_bps",
    nothing="no film began",
    unmeasured="When films began was not measured, so nothing is said of what a viewer would notice.",
    alone="This film {}.",
    seen="{}, {} and {}",
    ranges="films begin after {}, stalls last {} in all, and the bit rate is {}",
)
"""Films: when they begin, how long they stall, and their bit rate."""


@lru_cache(maxsize=256)
def _middle(values: tuple[float, ...]) -> float:
    """Return the typical value; the same entries are asked for it again and again."""
    return typical(values).value


@dataclass(frozen=True, slots=True)
class _Seen:
    """The entries of one contender by replication; of one that failed, or showed nothing, there is none."""

    name: str
    entries: dict[int, Entry]

    def mean(self, aspect: _Aspect) -> float:
        return _middle(tuple(aspect.of(one) for one in self.entries.values()))

    def worse_by(self, other: _Seen, aspect: _Aspect, confidence: float) -> Interval | None:
        """How much worse this one is, over the replications that both have."""
        both = sorted(self.entries.keys() & other.entries.keys())
        pairs = [aspect.of(self.entries[at]) - aspect.of(other.entries[at]) for at in both]
        return trimmed_mean([aspect.worse * one for one in pairs], confidence) if pairs else None


def noticed(names: Sequence[str], groups: Sequence[Sequence[Entry]], kind: Kind = CALL) -> str:
    """Return a sentence on what a person would notice of several, each a name and its entries."""
    all_seen = [_there(name, group, kind) for name, group in zip(names, groups, strict=True)]
    seen = [one for one in all_seen if one.entries]
    if not seen and any(one.get(kind.shown) for group in groups for one in group):
        return kind.unmeasured
    if not seen:
        return f"{kind.who} would see nothing: {kind.nothing}."
    if len(seen) == 1:
        return kind.alone.format(_said(seen[0], kind))
    told: dict[str, list[str]] = {}
    unsure, alike = False, True
    for aspect, one, best, found in _compared(seen, kind):
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
        return f"{kind.who} would notice that {said}{more}."
    if alike:
        ranges = kind.ranges.format(*(_range(seen, aspect) for aspect in kind.aspects))
        return f"{kind.who} would notice no difference: {ranges}."
    each = "; ".join(f"{one.name} {_said(one, kind)}" for one in seen)
    who = kind.who[0].lower() + kind.who[1:]
    return f"The runs cannot tell whether {who} would notice a difference (more replications may): {each}."


def _range(seen: Sequence[_Seen], aspect: _Aspect) -> str:
    ends = [aspect.other(end([one.mean(aspect) for one in seen])) for end in (min, max)]
    return " to ".join(dict.fromkeys(ends))


def _there(name: str, group: Sequence[Entry], kind: Kind) -> _Seen:
    well = {at: one for at, one in enumerate(group) if one["error"] is None and one[kind.key] is not None}
    return _Seen(name, well)


def _said(one: _Seen, kind: Kind) -> str:
    return kind.seen.format(*(aspect.said(one.mean(aspect)) for aspect in kind.aspects))


def _compared(seen: Sequence[_Seen], kind: Kind) -> Iterator[tuple[_Aspect, _Seen, _Seen, Interval | None]]:
    """Yield each beside the best in each aspect. Which one that is, the same runs say, so all pairs count."""
    confidence = together(len(kind.aspects) * len(seen) * (len(seen) - 1) // 2)
    for one in seen:
        for aspect in kind.aspects:
            best = min(seen, key=lambda other: aspect.worse * other.mean(aspect))
            if one is not best:
                yield aspect, one, best, one.worse_by(best, aspect, confidence)
