"""Differences between contenders that a person on a call would notice, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from haltere.stats import typical

LATE_MS = 150.0
"""Up to this time from mouth to ear, and so from glass to glass, hardly anybody is disturbed (ITU-T G.114)."""
_FREEZES = 1.0
_SLOWER = 0.9
"""A freeze more, or a tenth of the pictures less, is taken for a difference that is seen."""


@dataclass(frozen=True, slots=True)
class _Picture:
    """The picture of one contender: trimmed means over its replications."""

    name: str
    behind_ms: float
    freezes: float
    rate: float

    @property
    def frozen(self) -> str:
        return _times(self.freezes)


def _times(count: float) -> str:
    if count < 0.05:
        return "never"
    rounded = f"{count:.1f}".removesuffix(".0")
    return "once" if rounded == "1" else f"{rounded} times"


def _picture(name: str, entries: Sequence[dict[str, Any]]) -> _Picture | None:
    well = [one for one in entries if one["error"] is None and one["glass_to_glass_p95_s"] is not None]
    if not well:
        return None
    of = {field: typical([float(one[field]) for one in well]).value for field in ("freezes", "picture_rate")}
    behind = 1e3 * typical([one["glass_to_glass_p95_s"] for one in well]).value
    return _Picture(name, behind, of["freezes"], of["picture_rate"])


def noticed(names: Sequence[str], groups: Sequence[Sequence[dict[str, Any]]]) -> str:
    """Return a sentence on the calls, each a name and its entries: how late, how frozen and how smooth they are."""
    seen = [one for name, group in zip(names, groups, strict=True) if (one := _picture(name, group)) is not None]
    if not seen:
        return "A person on the call would see nothing: no frame was shown."
    if len(seen) == 1:
        (one,) = seen
        return (
            f"On this call the picture is up to {one.behind_ms:.0f} ms behind (95 %), freezes {one.frozen} and shows "
            f"{one.rate:.3g} frames a second."
        )
    first, still = min(seen, key=lambda one: one.behind_ms), min(seen, key=lambda one: one.freezes)
    smooth = max(seen, key=lambda one: one.rate)
    said = []
    for one in seen:
        own = []
        if one.behind_ms > max(LATE_MS, 1.1 * first.behind_ms):
            own.append(f"is up to {one.behind_ms:.0f} ms behind ({first.name}: {first.behind_ms:.0f} ms)")
        if one.freezes >= still.freezes + _FREEZES:
            own.append(f"freezes {one.frozen} ({still.name}: {still.frozen})")
        if one.rate < _SLOWER * smooth.rate:
            own.append(f"shows {one.rate:.3g} frames a second ({smooth.name}: {smooth.rate:.3g})")
        if own:
            said.append(f"{one.name} {' and '.join(own)}")
    if said:
        return f"A person on the call would notice that {'; '.join(said)}."
    late = max(one.behind_ms for one in seen)
    most = max(one.freezes for one in seen)
    return (
        f"A person on the call would notice no difference: each picture is up to {late:.0f} ms behind or less (95 %), "
        f"freezes {_times(most)}{'' if most < 0.05 else ' or less'}, and shows some {smooth.rate:.3g} frames a second."
    )
