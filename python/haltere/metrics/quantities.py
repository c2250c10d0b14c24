"""Levels of factors as people read them: `40Mbit/s` sorts as a number and is shown as `40 Mbit/s`."""

from __future__ import annotations

from collections.abc import Iterable

from haltere.errors import grouped
from haltere.metrics.contenders import congestion_name, is_contender, look
from haltere.results.numbers import parse, parts


def value(level: str) -> float | None:
    """The level in base units (bit/s, s, B, a share of 1), or None if it is not a quantity with a known unit."""
    parsed = parse(level)
    return None if parsed is None else parsed[0]


def dimension(level: str) -> str | None:
    """The kind of quantity that the level is (`time`, `rate`, `size`, …), or None if it is none with a known unit."""
    parsed = parse(level)
    return None if parsed is None else parsed[1]


def same(a: str, b: str) -> bool:
    """Whether two ways of writing a level mean the same: `1 %` and `1%`, `32MB` and `32000kB`."""
    parsed = parse(a)
    return a == b or (parsed is not None and parsed == parse(b))


def ordered(levels: Iterable[str]) -> list[str]:
    """The distinct levels, smallest quantity first; in the order of their appearance if they are not quantities."""
    distinct = list(dict.fromkeys(levels))
    numbers = {level: number for level in distinct if (number := value(level)) is not None}
    if len(numbers) < len(distinct):
        return distinct
    return sorted(distinct, key=numbers.__getitem__)


def text(level: str, factor: str = "") -> str:
    """The level as readers see it: spaces before a unit and in long numbers, protocols as their authors write them."""
    found = parts(level)
    if found is not None:
        written = level.strip().removesuffix(found[1]).rstrip()
        written = grouped(int(written)) if written.isdecimal() else written
        return f"{written} {'packets' if found[1] == 'p' else found[1]}".strip()
    if factor in ("transport", "contender"):
        return look(level).name
    if factor.startswith("congestion"):
        return congestion_name(level)
    return level


def named(level: str, factor: str, words: str = "") -> str:
    """The level where nothing else names its factor: `loss 0 %`. Names of contenders stand alone: `CUBIC`.

    `words` are those for the factor; without any it is its name.
    """
    if not level or factor in ("transport", "contender") or factor.startswith("congestion"):
        return text(level, factor)
    if is_contender(level):
        return look(level).name
    return f"{words or factor.replace('_', ' ')} {text(level, factor)}"
