"""Makes treatments from factors: combines levels, and puts them into the scenario's template."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from haltere import core
from haltere.study import sampling
from haltere.study.model import Experiment, Level, Range

MAX_TREATMENTS = 100_000
PACKET_BYTES = 1500
"""The packets in which `queues` of an experiment are counted."""
PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)(?:\.([A-Za-z_][A-Za-z0-9_]*))?\}")


@dataclass(frozen=True)
class Choice:
    """One level of one factor, by its place in the factor's list."""

    factor: str
    index: int
    level: Level


def size(experiment: Experiment) -> int:
    """How many treatments the design has."""
    counts = [len(levels_of(experiment, name)) for name in experiment.factors]
    if experiment.design == "full-factorial":
        return math.prod(counts)
    crossed = [count for name, count in zip(experiment.factors, counts, strict=True) if name in experiment.crossed]
    if experiment.points is not None:
        return math.prod(crossed) * experiment.points
    return math.prod(crossed) * (1 + sum(counts) - sum(crossed) - len(counts) + len(crossed))


def levels_of(experiment: Experiment, factor: str) -> tuple[Level, ...]:
    """Return the levels of a factor that is a list."""
    levels = experiment.factors[factor]
    return () if isinstance(levels, Range) else levels


def combinations(experiment: Experiment, seed: int) -> Iterator[tuple[Choice, ...]]:
    """Yield the treatments in order.

    The first factor varies slowest; or the centre comes first, then one factor at a time; or points that fill the space
    (`haltere.study.sampling`), always the same for a seed. A point's position within a list of levels chooses one of
    them. All of the last two is run for each combination of the factors that are `crossed`.
    """
    if experiment.design == "full-factorial":
        yield from itertools.product(*(_choices(experiment, name) for name in experiment.factors))
        return
    within = _one_at_a_time(experiment) if experiment.points is None else _filling(experiment, experiment.points, seed)
    treatments = list(within)
    for crossed in itertools.product(*(_choices(experiment, name) for name in experiment.crossed)):
        outer = {choice.factor: choice for choice in crossed}
        for inner in treatments:
            both = {**outer, **inner}
            yield tuple(both[name] for name in experiment.factors)


def _choices(experiment: Experiment, name: str) -> list[Choice]:
    return [Choice(name, i, level) for i, level in enumerate(levels_of(experiment, name))]


def _one_at_a_time(experiment: Experiment) -> Iterator[dict[str, Choice]]:
    centre_labels = {name: level.label for name, level in (experiment.centre or {}).items()}
    factors = {name: _choices(experiment, name) for name in experiment.factors if name not in experiment.crossed}
    centre = {name: next(c for c in of if c.level.label == centre_labels[name]) for name, of in factors.items()}
    yield centre
    for name, choices in factors.items():
        for choice in choices:
            if choice != centre[name]:
                yield {**centre, name: choice}


def _filling(experiment: Experiment, points: int, seed: int) -> Iterator[dict[str, Choice]]:
    factors = {name: factor for name, factor in experiment.factors.items() if name not in experiment.crossed}
    for point in sampling.points(experiment.sampling or "lhs", points, max(1, len(factors)), seed):
        choices = {}
        for (name, factor), share in zip(factors.items(), point, strict=False):
            if isinstance(factor, Range):
                choices[name] = Choice(name, 0, factor.at(float(share)))
            else:
                index = min(int(share * len(factor)), len(factor) - 1)
                choices[name] = Choice(name, index, factor[index])
        yield choices


def queues(experiment: Experiment, levels: Mapping[str, Level]) -> dict[str, Level]:
    """Return the lengths of the experiment's `queues` for these levels of its factors.

    Raises:
        core.ScenarioProblem: if a level is not a rate or not a time; its path is `NAME.rate` or `NAME.times[i]`.
    """
    found = {}
    for name, queue in experiment.queues.items():
        rate = _link(f"{name}.rate", rate=levels[queue.rate].value)["rate_bps"]
        times = [_link(f"{name}.times[{i}]", delay=levels[t].value)["delay_ns"] for i, t in enumerate(queue.times)]
        packets = rate * sum(times) // (8 * PACKET_BYTES * 10**9)
        text = f"{max(packets, queue.least)}p"
        found[name] = Level(label=text, value=text)
    return found


def _link(place: str, **fields: Any) -> dict[str, Any]:
    try:
        down: dict[str, Any] = core.link_config({"rate": "1Mbit/s", **fields})["down"]
    except core.ScenarioProblem as problem:
        raise core.ScenarioProblem(problem.message, place) from None
    return down


def fill(template: Any, levels: Mapping[str, Level]) -> Any:
    """Return the template with `{factor}` and `{factor.key}` replaced in every string by `replaced`."""

    def value(found: re.Match[str]) -> Any:
        level = levels[found[1]]
        return level.keys[found[2]] if found[2] else level.value

    return replaced(template, value)


def replaced(template: Any, value: Callable[[re.Match[str]], Any]) -> Any:
    """Return the template with every placeholder in its strings replaced by the value for it.

    A string that is nothing but one placeholder becomes the value itself, so that it may be a number or a table.
    """
    if isinstance(template, dict):
        return {key: replaced(part, value) for key, part in template.items()}
    if isinstance(template, list):
        return [replaced(part, value) for part in template]
    if not isinstance(template, str):
        return template
    whole = PLACEHOLDER.fullmatch(template)
    return value(whole) if whole else PLACEHOLDER.sub(lambda found: str(value(found)), template)


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
