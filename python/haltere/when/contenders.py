"""Contenders with a switch more: the names of switches and bundles, and how one is put into a contender's text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from haltere import core

NUMBER = re.compile(r"(\d+(?:\.\d+)?)(\D*)")
FACTORS = (0.25, 4.0)
"""A number that is a default is multiplied by each of these."""


@dataclass(frozen=True)
class Switching:
    """A switch of one transport's contenders at another value, as it is written: `+initial-window=40`."""

    transport: str
    name: str
    text: str

    @property
    def shown(self) -> str:
        """The change as it is shown and as `[when]` has it: `tcp+initial-window=40`."""
        return f"{self.transport}{self.text}"


def transport_of(contender: str) -> str:
    """Return the transport of a contender's text: `quic` of `quic@model/cubic`."""
    return contender.partition("/")[0].partition("@")[0]


@cache
def bundles(transport: str) -> tuple[Switching, ...]:
    """Return the bundles of a transport, each as a switch."""
    return tuple(
        Switching(transport, "as", f"+as={one['name']}")
        for one in core.algorithms().get("bundles", [])
        if transport in one["applies_to"]
    )


@cache
def switches(transport: str) -> tuple[Switching, ...]:
    """Return all switches of a transport at values other than the default, those that are on or off first.

    A number is taken at `FACTORS` times its default. Values that a contender refuses are no harm: `switched` says so.
    """
    family = transport.removeprefix("mp")
    rows = [one for one in core.algorithms()["switches"] if one["transport"] in (transport, family)]
    made = [Switching(transport, str(one["name"]), text) for one in rows for text in _texts(one)]
    return tuple(sorted(dict.fromkeys(made), key=lambda one: "=" in one.text))


def _texts(row: dict[str, Any]) -> list[str]:
    name, default = str(row["name"]), str(row["default"])
    if row["type"] == "on/off":
        return [f"-{name}" if default == "on" else f"+{name}"]
    texts = [] if default == "off" else [f"-{name}"]
    if row["type"] == "one of":
        values = str(row["values"]).removeprefix("one of ").split(", ")
        return [*texts, *(f"+{name}={value}" for value in values if value != default)]
    number = NUMBER.fullmatch(default)
    return [*texts, *(f"+{name}={value}" for value in _scaled(number[1], number[2]))] if number else texts


def _scaled(number: str, unit: str) -> list[str]:
    values = [max(1, round(float(number) * factor)) for factor in FACTORS]
    return [f"{value}{unit}" for value in dict.fromkeys(values) if value != float(number)]


@cache
def switched(contender: str, switching: Switching, fidelity: str) -> str | None:
    """Return a contender with a switch in the place of its own of that name.

    None if it is of another transport, if it cannot have the switch, or if the switch changes nothing in it.
    """
    if transport_of(contender) != switching.transport:
        return None
    text = _without(contender, switching.name) + switching.text
    try:
        before, after = core.effective(contender, fidelity), core.effective(text, fidelity)
    except core.ScenarioProblem:
        return None
    same = [{key: one[key] for key in before if key in one and key != "contender"} for one in (before, after)]
    if same[0] == same[1] and not _outside(switching):
        return None
    return text


def _outside(switching: Switching) -> bool:
    """Whether a switch is of handshakes or buffers, which the settings in effect do not list."""
    return all(one["name"] != switching.name for one in _effective(switching.transport))


@cache
def _effective(transport: str) -> tuple[dict[str, Any], ...]:
    found = core.effective(f"{transport}/cubic")
    return (*found["settings"], {"name": "as"})


@cache
def _names() -> tuple[str, ...]:
    tables = core.algorithms()
    names = {str(one["name"]) for kind in ("switches", "settings") for one in tables[kind]} | {"as"}
    return tuple(sorted(names, key=len, reverse=True))


def _without(contender: str, name: str) -> str:
    """Return the text of a contender without its switch of this name."""
    some = "|".join(map(re.escape, _names()))
    parts = re.split(rf"(?=[+-](?:{some})(?:[=+-]|$))", contender)
    return "".join(part for part in parts if not re.fullmatch(rf"[+-]{re.escape(name)}(?:=.*)?", part))
