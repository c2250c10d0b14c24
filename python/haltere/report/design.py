"""An experiment's design as the page shows it: a drawing of its topology, what is fixed in it, and what varies."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from haltere.errors import grouped
from haltere.metrics import quantities

Factors = Mapping[str, Sequence[str]]

_PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]*)(?:\.[A-Za-z0-9_]+)?\}")
_LONG = re.compile(r"(?<![\d.])\d{5,}(?!\.)")
Links = Sequence[Mapping[str, Any]]
"""The links of an experiment in words, as the manifest states them (`haltere.runner.links`)."""

LISTED = 5
"""Levels of a factor that are all named; of more quantities the range is."""
NAMED = 12
"""Levels that are no quantities and still all named."""


def said(levels: Sequence[str], factor: str) -> tuple[str, Sequence[str]]:
    """Return the levels of a factor in words, `0 to 5 %, 50 levels` where they are many, and all that are not named."""
    ordered = quantities.ordered(levels)
    texts = [quantities.text(level, factor) for level in ordered]
    numbers = {quantities.dimension(level) for level in ordered}
    if len(texts) > LISTED and len(numbers) == 1 and None not in numbers:
        low, _, unit = texts[0].partition(" ")
        first = low if texts[-1].partition(" ")[2] == unit else texts[0]
        return f"{first} to {texts[-1]}, {len(texts)} levels", texts
    if len(texts) > NAMED:
        return f"{len(texts)} levels, such as {', '.join(texts[:2])}", texts
    return _joined(texts), ()


def links_said(links: Links) -> list[tuple[str, str, Sequence[str]]]:
    """Return for each direction of each link its name, its values in words, and all of them if they are many."""
    rows: list[tuple[str, str, Sequence[str]]] = []
    for link in links:
        ways = {"down": link["down"]} if link["down"] == link["up"] else {"down": link["down"], "up": link["up"]}
        for way, texts in ways.items():
            name = link["name"] if len(ways) == 1 else f"{link['name']}, {way}"
            shown = [_LONG.sub(lambda number: grouped(int(number[0])), text) for text in texts]
            few = len(shown) <= 2
            rows.append((name, " · ".join(shown) if few else f"{len(shown)} settings", () if few else shown))
    return rows


def _joined(levels: Sequence[str]) -> str:
    units = {level.partition(" ")[2] for level in levels}
    if len(units) == 1 and (unit := units.pop()):
        return " · ".join(level.partition(" ")[0] for level in levels) + f" {unit}"
    return " · ".join(levels)


def drawing(scenario: Mapping[str, Any], factors: Factors) -> str:
    """An SVG element for a dumbbell, a point-to-point path or measured ones; nothing for other topologies."""
    topology = scenario.get("topology", {})
    if not isinstance(topology, Mapping):
        return ""
    kind = topology.get("kind")
    if topology.get("from") == "paths":
        return _measured(topology, factors)
    if kind == "dumbbell":
        pairs = topology.get("pairs", 1)
        return _dumbbell(pairs if isinstance(pairs, int) else 1, topology, factors)
    if kind == "point-to-point":
        return _point_to_point(topology.get("link", {}), factors)
    return ""


def level_range(value: Any, factors: Factors) -> str:
    """A value of a scenario as shown to readers; for `{factor}` all its levels: `5 · 40 · 100 Mbit/s`.

    For a text that factors are part of, their names: `by discipline and limit`.
    """
    match = _PLACEHOLDER.fullmatch(value) if isinstance(value, str) else None
    if match is None or match[1] not in factors:
        parts = [name for name in _PLACEHOLDER.findall(str(value)) if name in factors]
        if parts:
            return f"by {' and '.join(dict.fromkeys(parts))}"
        return quantities.text(str(value)) if isinstance(value, str | int | float) else "see the study file"
    return said(factors[match[1]], match[1])[0]


def _dumbbell(pairs: int, topology: Mapping[str, Any], factors: Factors) -> str:
    drawn = min(pairs, 4)
    high = max(96, 56 * drawn + 20)
    middle = high / 2
    tops = [middle + (i - (drawn - 1) / 2) * 56 for i in range(drawn)]
    left, right, router1, router2 = 42, 398, 136, 304
    parts = [_open(high + 66, f"Dumbbell: {pairs} servers, two routers, {pairs} clients")]
    for i, y in enumerate(tops, 1):
        number = f" {i}" if pairs > 1 else ""
        parts.append(_wire(left, y, router1, middle))
        parts.append(_wire(router2, middle, right, y))
        parts.append(_box(left, y, f"Server{number}"))
        parts.append(_box(right, y, f"Client{number}"))
    parts.append(f'<line class="bottleneck" x1="{router1}" y1="{middle}" x2="{router2}" y2="{middle}"/>')
    parts.append(_router(router1, middle, "R1") + _router(router2, middle, "R2"))
    lines = _link_lines(topology.get("bottleneck", {}), factors)
    parts += _notes(220, high + 2, ["Bottleneck, data from R1 to R2", *lines])
    access = topology.get("access", {})
    if isinstance(access, Mapping) and "rate" in access:
        parts.append(_note(90, 12, f"access {level_range(access['rate'], factors)}"))
    parts.append("</svg>")
    return "".join(parts)


def _point_to_point(link: Mapping[str, Any], factors: Factors) -> str:
    parts = [_open(130, "Point to point: a server and a client")]
    parts.append('<line class="bottleneck" x1="60" y1="30" x2="380" y2="30"/>')
    parts.append(_box(60, 30, "Server") + _box(380, 30, "Client"))
    parts += _notes(220, 66, ["Data from server to client", *_link_lines(link, factors)])
    parts.append("</svg>")
    return "".join(parts)


def _measured(topology: Mapping[str, Any], factors: Factors) -> str:
    paths = level_range(topology.get("paths", ""), factors)
    quantile = level_range(topology.get("quantile", "random"), factors)
    chain = topology.get("kind") == "graph"
    parts = [_open(130, "A measured path: a server and a client" + (", a link a hop" if chain else ""))]
    parts.append('<line class="bottleneck" x1="60" y1="30" x2="380" y2="30"/>')
    parts.append(_box(60, 30, "Server") + _box(380, 30, "Client"))
    if chain:
        parts += [_router(170, 30, "1"), _router(270, 30, "…")]
    lines = [
        f"Measured paths: {paths}",
        f"by round-trip time: {quantile}",
        *_link_lines(topology.get("link", {}), factors),
    ]
    parts += _notes(220, 51, lines)
    parts.append("</svg>")
    return "".join(parts)


def _link_lines(link: Mapping[str, Any] | str, factors: Factors) -> list[str]:
    """The settings of a link's data direction, in three lines at most; the levels of a factor that is the link."""
    if isinstance(link, str):
        return [level_range(link, factors)]
    own = link.get("down", {})
    down = {**link, **own} if isinstance(own, Mapping) else link
    words = {"rate": "", "delay": "delay ", "loss": "loss ", "queue": "queue ", "mtu": "MTU "}
    said = {name: f"{word}{level_range(down[name], factors)}" for name, word in words.items() if name in down}
    if "preset" in link:
        said["rate"] = ", ".join(
            [f"preset {level_range(link['preset'], factors)}", *([said["rate"]] if "rate" in said else [])]
        )
    lines = [(said.get("rate"),), (said.get("delay"), said.get("loss")), (said.get("queue"), said.get("mtu"))]
    return [", ".join(part for part in line if part) for line in lines if any(line)]


def _open(height: float, name: str) -> str:
    return f'<svg class="topology" viewBox="0 0 440 {height:g}" role="img" aria-label="{escape(name)}">'


def _wire(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="wire" x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}"/>'


def _box(x: float, y: float, label: str) -> str:
    return (
        f'<rect class="node" x="{x - 36:g}" y="{y - 16:g}" width="72" height="32" rx="5"/>'
        f'<text x="{x:g}" y="{y + 4:g}" text-anchor="middle">{escape(label)}</text>'
    )


def _router(x: float, y: float, label: str) -> str:
    return (
        f'<circle class="node" cx="{x:g}" cy="{y:g}" r="19"/>'
        f'<text x="{x:g}" y="{y + 4:g}" text-anchor="middle">{escape(label)}</text>'
    )


def _note(x: float, y: float, text: str) -> str:
    return f'<text class="note" x="{x:g}" y="{y:g}" text-anchor="middle">{escape(text)}</text>'


def _notes(x: float, y: float, lines: Sequence[str]) -> list[str]:
    return [_note(x, y + 15 * (i + 1), line) for i, line in enumerate(lines)]


_ANY = re.compile(r"\{[A-Za-z_][A-Za-z0-9_.]*\}")
_Rows = list[tuple[str, str]]


def fields(scenario: Mapping[str, Any]) -> tuple[_Rows, _Rows]:
    """Return the fields that no factor changes, and those that have a factor in braces, as the study file has them.

    Each is named by its place in the scenario, in the order of the file. What many entries of a list say alike, such as
    the size of each flow, is said once.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for place, value in _leaves(scenario, ""):
        general = re.sub(r"\[\d+\]", "[]", place)
        found.setdefault((general, value), []).append(place)
    fixed: _Rows = []
    varied: _Rows = []
    for (general, value), places in found.items():
        place = general.replace("[]", "") if len(places) > 1 else places[0]
        if _ANY.search(value):
            varied.append((place, value))
        else:
            fixed.append((place, quantities.text(value)))
    return fixed, varied


def _leaves(value: Any, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, f"{place}.{key}" if place else str(key))
    elif isinstance(value, list):
        if value and all(isinstance(one, str | int | float) for one in value):
            yield place, ", ".join(str(one) for one in value)
            return
        for number, inner in enumerate(value):
            yield from _leaves(inner, f"{place}[{number}]" if len(value) > 1 else place)
    else:
        yield place, str(value).lower() if isinstance(value, bool) else str(value)
