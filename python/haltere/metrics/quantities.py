"""Levels of factors as people read them: `40Mbit/s` sorts as a number and is shown as `40 Mbit/s`."""

from __future__ import annotations

import re
from collections.abc import Iterable

from haltere.metrics.contenders import congestion_name, look

_QUANTITY = re.compile(r"^\s*([-+]?[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?)\s*([A-Za-z%µ/]*)\s*$")

_UNITS: dict[str, tuple[float, str]] = {
    "": (1.0, "number"),
    "%": (0.01, "number"),
    "ns": (1e-9, "time"),
    "us": (1e-6, "time"),
    "µs": (1e-6, "time"),
    "ms": (1e-3, "time"),
    "s": (1.0, "time"),
    "min": (60.0, "time"),
    "h": (3600.0, "time"),
    "bit/s": (1.0, "rate"),
    "kbit/s": (1e3, "rate"),
    "Mbit/s": (1e6, "rate"),
    "Gbit/s": (1e9, "rate"),
    "B": (1.0, "size"),
    "kB": (1e3, "size"),
    "MB": (1e6, "size"),
    "GB": (1e9, "size"),
    "KiB": (1024.0, "size"),
    "MiB": (1024.0**2, "size"),
    "GiB": (1024.0**3, "size"),
    "p": (1.0, "packets"),
    "bdp": (1.0, "bdp"),
}


def _parse(level: str) -> tuple[float, str] | None:
    match = _QUANTITY.match(level)
    if match is None or match[2] not in _UNITS:
        return None
    scale, dimension = _UNITS[match[2]]
    return round(float(match[1]) * scale, 12), dimension


def value(level: str) -> float | None:
    """The level in base units (bit/s, s, B, a share of 1), or None if it is not a quantity with a known unit."""
    parsed = _parse(level)
    return None if parsed is None else parsed[0]


def dimension(level: str) -> str | None:
    """The kind of quantity that the level is (`time`, `rate`, `size`, …), or None if it is none with a known unit."""
    parsed = _parse(level)
    return None if parsed is None else parsed[1]


def same(a: str, b: str) -> bool:
    """Whether two ways of writing a level mean the same: `1 %` and `1%`, `32MB` and `32000kB`."""
    parsed = _parse(a)
    return a == b or (parsed is not None and parsed == _parse(b))


def ordered(levels: Iterable[str]) -> list[str]:
    """The distinct levels, smallest quantity first; in the order of their appearance if they are not quantities."""
    distinct = list(dict.fromkeys(levels))
    numbers = {level: number for level in distinct if (number := value(level)) is not None}
    if len(numbers) < len(distinct):
        return distinct
    return sorted(distinct, key=numbers.__getitem__)


def text(level: str, factor: str = "") -> str:
    """The level as shown to readers: a space before the unit, protocols named as their authors write them."""
    match = _QUANTITY.match(level)
    if match is not None and match[2] in _UNITS:
        unit = "packets" if match[2] == "p" else match[2]
        return f"{match[1]} {unit}".strip()
    if factor in ("transport", "contender"):
        return look(level).name
    if factor.startswith("congestion"):
        return congestion_name(level)
    return level
