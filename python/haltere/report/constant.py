"""What an experiment's scenario holds fixed in all treatments, as rows of a table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from haltere.figures import quantities

_PLACEHOLDER = re.compile(r"\{[A-Za-z_][A-Za-z0-9_.]*\}")
_ALONE = re.compile(r"^\{[A-Za-z_][A-Za-z0-9_.]*\}$")


def fields(scenario: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return each field that no factor gives, by its place in the scenario, in the order of the study file.

    A text that holds a factor beside other words, such as `{transport}/cubic`, is shown as the file has it. What many
    entries of a list say alike, such as the size of each flow, is said once.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for place, value in _leaves(scenario, ""):
        general = re.sub(r"\[\d+\]", "[]", place)
        found.setdefault((general, value), []).append(place)
    return [
        (general.replace("[]", "") if len(places) > 1 else places[0], value)
        for (general, value), places in found.items()
    ]


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
    elif not (isinstance(value, str) and _ALONE.match(value)):
        text = str(value).lower() if isinstance(value, bool) else str(value)
        yield place, text if _PLACEHOLDER.search(text) else quantities.text(text)
