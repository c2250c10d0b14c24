"""Differences between contenders that a person would notice, on a call or before a film, in words.

Differences and the sentence are found in `crates/stats/src/noticed.rs`, as the playground's page has the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from haltere import _core

Entry = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of things that persons look at, as entries have it.

    Attributes:
        name: what the core calls it.
        aspects: what is seen of it: fields of entries, each with the factor from its unit to that of the words.
        key: a field of entries that is null where nothing was seen.
        shown: a field of entries that is positive where something was seen.
    """

    name: str
    aspects: tuple[tuple[str, float], ...]
    key: str
    shown: str

    def seen(self, entry: Entry) -> list[float] | None:
        """Return the aspects of an entry; None where it failed, or showed nothing."""
        if entry["error"] is not None or entry[self.key] is None:
            return None
        return [factor * entry[field] for field, factor in self.aspects]


CALL = Kind(
    "call", (("glass_to_glass_p95_s", 1e3), ("freezes", 1), ("picture_rate", 1)), "glass_to_glass_p95_s", "picture_rate"
)
"""Calls: how late, how frozen and how smooth they are."""
FILM = Kind("film", (("startup_s", 1), ("stalled_s", 1), ("played_bps", 1e-6)), "startup_s", "played_bps")
"""Films: when they begin, how long they stall, and their bit rate."""


def noticed(names: Sequence[str], groups: Sequence[Sequence[Entry]], kind: Kind = CALL) -> str:
    """Return a sentence on what a person would notice of several, each a name and its entries."""
    all_ = [
        (name, [kind.seen(one) for one in group], any(one.get(kind.shown) for one in group))
        for name, group in zip(names, groups, strict=True)
    ]
    return _core.noticed(kind.name, all_)
