"""From factors to treatments: which levels are combined, and how they are put into the scenario's template."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from haltere.study.model import Experiment, Level, Range

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
    if experiment.points is not None:
        return experiment.points
    counts = [len(levels_of(experiment, name)) for name in experiment.factors]
    if experiment.design == "full-factorial":
        return math.prod(counts)
    return 1 + sum(count - 1 for count in counts)


def levels_of(experiment: Experiment, factor: str) -> tuple[Level, ...]:
    """Return the levels of a factor that is a list."""
    levels = experiment.factors[factor]
    return () if isinstance(levels, Range) else levels


def combinations(experiment: Experiment, seed: int) -> Iterator[tuple[Choice, ...]]:
    """Yield the treatments in order.

    The first factor varies slowest; or the centre comes first, then one factor at a time; or the points of a Latin
    hypercube (M. D. McKay, R. J. Beckman, W. J. Conover, Technometrics 21(2), 1979), of all drawn the one of the least
    centred discrepancy, always the same for a seed. A point's position within a list of levels chooses one of them.
    """
    if experiment.points is not None:
        yield from _filling(experiment, experiment.points, seed)
        return
    factors = [
        [Choice(name, i, level) for i, level in enumerate(levels_of(experiment, name))] for name in experiment.factors
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


def _filling(experiment: Experiment, points: int, seed: int) -> Iterator[tuple[Choice, ...]]:
    from scipy.stats import qmc

    sampler = qmc.LatinHypercube(max(1, len(experiment.factors)), optimization="random-cd", rng=seed)
    for point in sampler.random(points):
        choices = []
        for (name, factor), share in zip(experiment.factors.items(), point, strict=False):
            if isinstance(factor, Range):
                choices.append(Choice(name, 0, factor.at(float(share))))
            else:
                index = min(int(share * len(factor)), len(factor) - 1)
                choices.append(Choice(name, index, factor[index]))
        yield tuple(choices)


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
