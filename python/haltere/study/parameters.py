"""Parameters of a study: values that are named once, in `[parameters]`, and stand in all its experiments.

`{name}` in any text of the experiments stands for a parameter's value, as `{factor}` does for a level. A
text that is nothing else becomes the value itself, so that a parameter may be a list of levels.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from haltere.study.design import PLACEHOLDER


def filled(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tables of a study, its variant laid over them, with its parameters in the experiments."""
    parameters = data.get("parameters")
    if not isinstance(parameters, dict):
        return dict(data)
    return {name: _fill(part, parameters) if name == "experiments" else part for name, part in data.items()}


def _fill(part: Any, parameters: Mapping[str, Any]) -> Any:
    if isinstance(part, dict):
        return {key: _fill(value, parameters) for key, value in part.items()}
    if isinstance(part, list):
        return [_fill(value, parameters) for value in part]
    if not isinstance(part, str):
        return part
    whole = PLACEHOLDER.fullmatch(part)
    if whole and _has(parameters, whole):
        return _value(parameters, whole)
    return PLACEHOLDER.sub(lambda found: str(_value(parameters, found)) if _has(parameters, found) else found[0], part)


def _has(parameters: Mapping[str, Any], found: re.Match[str]) -> bool:
    value = parameters.get(found[1])
    return value is not None and (not found[2] or (isinstance(value, dict) and found[2] in value))


def _value(parameters: Mapping[str, Any], found: re.Match[str]) -> Any:
    value = parameters[found[1]]
    return value[found[2]] if found[2] else value
