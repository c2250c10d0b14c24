"""Contenders with a switch more: the names of switches and bundles, and how one is put into a contender's text."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from haltere import core

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
    return str(core.contender(contender)["transport"])


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
    found = core.quantity(default)
    return [*texts, *(f"+{name}={value}" for value in _scaled(*found))] if found else texts


def _scaled(number: float, unit: str) -> list[str]:
    values = [max(1, round(number * factor)) for factor in FACTORS]
    return [f"{value}{unit}" for value in dict.fromkeys(values) if value != number]


@cache
def switched(contender: str, switching: Switching, fidelity: str) -> str | None:
    """Return a contender with a switch in the place of its own of that name.

    None if it is of another transport, if it cannot have the switch, or if the switch changes nothing in it.
    """
    found = core.changed({"contender": contender}, "switch", asdict(switching), fidelity)
    return None if found is None else str(found["contender"])
