"""Gaps in a scenario's links, found before anything runs: rates that are missing, and what needs one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_BDP = re.compile(r"\d\s*bdp\b")
_RATED = ("rate", "preset")
"""Fields that give a link a rate."""
_DELAYED = ("delay", "preset", "satellite")
"""Fields that give a link a delay, if only one of zero."""


def without_rate(scenario: Mapping[str, Any]) -> list[str]:
    """Return the links of a concrete scenario that are unlimited, as paths; a dumbbell's access links may well be."""
    links = [(path, link) for path, link in _links(scenario) if path != "topology.access"]
    return [path for path, link in links if any(not _rated(link, side) for side in ("down", "up"))]


def unscaled(scenario: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the path of a length in bandwidth-delay products where there is no such product, and what is missing.

    The rate is that of the queue's own link and direction; the delay may be that of any link, as the base RTT is the
    path's.
    """
    links = list(_links(scenario))
    tables = [table for _, link in links for table in (link, link.get("down"), link.get("up"))]
    delayed = any(name in table for table in tables if isinstance(table, Mapping) for name in _DELAYED)
    for path, link in links:
        for side in ("down", "up"):
            rated = _rated(link, side)
            place = None if rated and delayed else _length_in_bdp(path, link, side)
            if place is not None:
                return place, "no link has a delay" if rated else "the link has no rate"
    return None


def _length_in_bdp(path: str, link: Mapping[str, Any], side: str) -> str | None:
    """Return the path of a length in bandwidth-delay products of one direction of a link."""
    for place, table in ((f"{path}.{side}", link.get(side)), (path, link)):
        for field in ("queue", "mark"):
            if isinstance(table, Mapping) and _in_bdp(table.get(field)):
                return f"{place}.{field}"
    return None


def _links(scenario: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    topology = scenario.get("topology")
    if not isinstance(topology, Mapping) or topology.get("from") == "paths" or topology.get("kind") == "cell":
        return
    found = [(f"topology.{name}", topology.get(name)) for name in ("link", "bottleneck", "access")]
    for name, inner in (("paths", None), ("links", "link")):
        listed = topology.get(name)
        for number, one in enumerate(listed if isinstance(listed, list) else ()):
            table = one.get(inner) if inner and isinstance(one, Mapping) else one
            found.append((f"topology.{name}[{number}]" + (f".{inner}" if inner else ""), table))
    yield from ((path, link) for path, link in found if isinstance(link, Mapping))


def _rated(link: Mapping[str, Any], side: str) -> bool:
    own = link.get(side)
    return any(name in link for name in _RATED) or (isinstance(own, Mapping) and "rate" in own)


def _in_bdp(queue: object) -> bool:
    texts = queue.values() if isinstance(queue, Mapping) else (queue,)
    return any(isinstance(text, str) and _BDP.search(text) for text in texts)
