"""The factors and levels that study files know, read without checking them whole: for claims and figures."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

from haltere.fidelity import NAMES

Known = Mapping[str, Mapping[str, tuple[str, ...] | None]]
"""Of each experiment the factors, of each factor the levels; None where they are drawn from a range."""


def known_levels(texts: Iterable[str]) -> Known:
    """Return what some study files, with all their variants, know together; a text that is not TOML knows nothing."""
    found: dict[str, dict[str, tuple[str, ...] | None]] = {}
    for text in texts:
        try:
            data = tomllib.loads(text)
        except tomllib.TOMLDecodeError:
            continue
        variants = data.get("variants")
        for part in (data, *(variants.values() if isinstance(variants, dict) else ())):
            _add(found, part)
    return found


def _add(found: dict[str, dict[str, tuple[str, ...] | None]], part: Any) -> None:
    experiments = part.get("experiments") if isinstance(part, dict) else None
    for name, experiment in experiments.items() if isinstance(experiments, dict) else ():
        factors = found.setdefault(name, {"fidelity": tuple(NAMES)})
        given = experiment.get("factors") if isinstance(experiment, dict) else None
        for factor, levels in given.items() if isinstance(given, dict) else ():
            before = factors.get(factor, ())
            if before is None or not isinstance(levels, list):
                factors[factor] = None
            else:
                factors[factor] = (*before, *(label for level in levels if (label := _label(level)) not in before))


def _label(level: object) -> str:
    if isinstance(level, dict):
        return str(level.get("label", ""))
    return str(level).lower() if isinstance(level, bool) else str(level)
