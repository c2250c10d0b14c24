"""Parameters of a study: values that are named once, in `[parameters]`, and stand in all its experiments.

`{name}` in any text of the experiments stands for a parameter's value, as `{factor}` does for a level. A
text that is nothing else becomes the value itself, so that a parameter may be a list of levels.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from haltere.study.design import replaced


def filled(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tables of a study, its variant laid over them, with its parameters in the experiments."""
    parameters = data.get("parameters")
    if not isinstance(parameters, dict):
        return dict(data)

    def value(found: re.Match[str]) -> Any:
        given = parameters.get(found[1])
        if found[2]:
            given = given.get(found[2]) if isinstance(given, dict) else None
        return found[0] if given is None else given  # the placeholder of a factor stays

    return {name: replaced(part, value) if name == "experiments" else part for name, part in data.items()}
