"""The links of a campaign in words, as its manifest states them: with the values of presets and defaults."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from haltere import core
from haltere.study import Treatment

MOST = 20
"""How many different texts are kept of each direction of a link; of those beyond, their number alone."""


def in_words(treatments: Iterable[Treatment]) -> list[dict[str, Any]]:
    """Return the links of an experiment's treatments, each direction with its different texts in the design's order.

    Each is `{"name", "path", "down", "up"}`; `path` is its place in the scenario, `down` and `up` are lists such as
    `["50Mbit/s, delay 10ms, queue drop-tail (limit 1000p)"]`. Scenarios over measured paths have no links yet.
    """
    links: dict[tuple[str, str], dict[str, dict[str, None]]] = {}
    for treatment in treatments:
        if treatment.parsed is None:
            continue
        for link in core.links_in_words(treatment.parsed):
            seen = links.setdefault((link["name"], link["path"]), {"down": {}, "up": {}})
            for direction, texts in seen.items():
                texts[link[direction]] = None
    return [
        {"name": name, "path": path, **{way: _most(list(texts)) for way, texts in seen.items()}}
        for (name, path), seen in links.items()
    ]


def _most(texts: list[str]) -> list[str]:
    more = len(texts) - MOST
    return texts if more <= 0 else [*texts[:MOST], f"and {more} more"]
