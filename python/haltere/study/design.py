"""From factors to treatments: which levels are combined, and how they are put into the scenario's template."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from haltere.study.model import Experiment, Level

MAX_TREATMENTS = 100_000
PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)(?:\.([A-Za-z_][A-Za-z0-9_]*))?\}")


@dataclass(frozen=True)
class Choice:
    """One level of one factor, by its place in the factor's list."""

    factor: str
    index: int
    level: Level


def size(experiment: Experiment) -> int:
    """How many treatments the design has."""
    counts = [len(levels) for levels in experiment.factors.values()]
    if experiment.design == "full-factorial":
        return math.prod(counts)
    return 1 + sum(count - 1 for count in counts)


def combinations(experiment: Experiment) -> Iterator[tuple[Choice, ...]]:
    """Yield the treatments in order: the first factor varies slowest; or the centre, then one factor at a time."""
    factors = [
        [Choice(name, i, level) for i, level in enumerate(levels)] for name, levels in experiment.factors.items()
    ]
    if experiment.design == "full-factorial":
        yield from itertools.product(*factors)
        return
    centre_labels = {name: level.label for name, level in (experiment.centre or {}).items()}
    centre = tuple(next(c for c in choices if c.level.label == centre_labels[c.factor]) for choices in factors)
    yield centre
    for position, choices in enumerate(factors):
        for choice in choices:
            if choice != centre[position]:
                yield (*centre[:position], choice, *centre[position + 1 :])


def fill(template: Any, levels: Mapping[str, Level]) -> Any:
    """Return the template with `{factor}` and `{factor.key}` replaced in every string.

    A string that is nothing but one placeholder becomes the level itself, so that a level may be a number or a table.
    """
    if isinstance(template, dict):
        return {key: fill(value, levels) for key, value in template.items()}
    if isinstance(template, list):
        return [fill(value, levels) for value in template]
    if not isinstance(template, str):
        return template
    whole = PLACEHOLDER.fullmatch(template)
    if whole:
        return _value(levels, whole)
    return PLACEHOLDER.sub(lambda found: str(_value(levels, found)), template)


def _value(levels: Mapping[str, Level], found: re.Match[str]) -> Any:
    level = levels[found[1]]
    return level.keys[found[2]] if found[2] else level.value


def placeholders(
    template: Any, path: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], str, str | None]]:
    """Yield (path, factor, key) of every placeholder in a template."""
    if isinstance(template, dict):
        for key, value in template.items():
            yield from placeholders(value, (*path, key))
    elif isinstance(template, list):
        for index, value in enumerate(template):
            yield from placeholders(value, (*path, index))
    elif isinstance(template, str):
        for found in PLACEHOLDER.finditer(template):
            yield path, found[1], found[2]
