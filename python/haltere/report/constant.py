"""Rows of tables: values that an experiment's scenario holds fixed in all treatments, and where its factors stand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from haltere.metrics import quantities

_PLACEHOLDER = re.compile(r"\{[A-Za-z_][A-Za-z0-9_.]*\}")
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
        if _PLACEHOLDER.search(value):
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
