"""What can be said of a scenario's links before anything runs: rates that are missing, and what needs one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_BDP = re.compile(r"\d\s*bdp\b")
_RATED = ("rate", "preset")
"""Fields that give a link a rate."""
_DELAYED = ("delay", "preset")
"""Fields that give a link a delay, if only one of zero."""


def without_rate(scenario: Mapping[str, Any]) -> list[str]:
    """Return the links of a concrete scenario that are unlimited, as paths; a dumbbell's access links may well be."""
    links = [(path, link) for path, link in _links(scenario) if path != "topology.access"]
    return [path for path, link in links if any(not _rated(link, side) for side in ("down", "up"))]


def bdp_without_rate(scenario: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the path and the text of a length in bandwidth-delay products on an unlimited link, if there is one."""
    for path, link in _links(scenario):
        for side in ("down", "up"):
            if _rated(link, side):
                continue
            own = link.get(side)
            for place, table in ((f"{path}.{side}", own), (path, link)):
                for field in ("queue", "mark"):
                    text = _in_bdp(table.get(field)) if isinstance(table, Mapping) else None
                    if text is not None:
                        return f"{place}.{field}", text
    return None


def bdp_without_delay(scenario: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the path and the text of a length in bandwidth-delay products where no link says a delay."""
    links = list(_links(scenario))
    tables = [table for _, link in links for table in (link, link.get("down"), link.get("up"))]
    if any(name in table for table in tables if isinstance(table, Mapping) for name in _DELAYED):
        return None
    for path, link in links:
        for place, table in ((f"{path}.down", link.get("down")), (f"{path}.up", link.get("up")), (path, link)):
            for field in ("queue", "mark"):
                text = _in_bdp(table.get(field)) if isinstance(table, Mapping) else None
                if text is not None:
                    return f"{place}.{field}", text
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


def _in_bdp(queue: object) -> str | None:
    texts = queue.values() if isinstance(queue, Mapping) else (queue,)
    return next((text for text in texts if isinstance(text, str) and _BDP.search(text)), None)
