"""A study's treatments with changes: the scenarios are changed, and the labels by which claims find them stay."""

from __future__ import annotations

import dataclasses
import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from haltere import core
from haltere.fidelity import check as check_at
from haltere.scenario import measured
from haltere.study import Study, Treatment
from haltere.when.changes import Change

Key = tuple[str, int]
"""A treatment: its experiment and its place in it."""
NOTHING = "changes nothing by which the claim is judged"
SAME = "makes treatments the same that the study compares"


def key_of(treatment: Treatment) -> Key:
    """Return what names a treatment, whatever changes it has."""
    return treatment.experiment, treatment.index


class Variant:
    """Some treatments of a study with a set of changes.

    Attributes:
        treatments: the treatments by their keys; those to which no change applies, or that could not be run with it,
            are the study's own.
    """

    def __init__(self, study: Study, treatments: Sequence[Treatment], changes: Sequence[Change]) -> None:
        self.changes = tuple(changes)
        self.before = {key_of(one): one for one in treatments}
        self.treatments = dict(self.before)
        self._applied: dict[Key, set[int]] = {}
        for key, treatment in self.before.items():
            scenario, applied = treatment.scenario, set[int]()
            for place, change in enumerate(changes):
                new = change.applied(scenario, study.fidelities[0])
                if new is not None:
                    scenario = new
                    applied.add(place)
            if applied:
                try:
                    self.treatments[key] = _with(study, treatment, scenario)
                except core.ScenarioProblem:
                    continue
                self._applied[key] = applied

    def refused(self, keys: Collection[Key]) -> str | None:
        """Return why the changes cannot be tried on some treatments, or None if they can.

        Changes that make two treatments of an experiment the same are refused: what the study compares there would be
        compared with itself.
        """
        applied = set[int]().union(*(self._applied.get(key, ()) for key in keys))
        if len(applied) < len(self.changes):
            return NOTHING
        kept: dict[tuple[str, str], set[str]] = defaultdict(set)
        for key in keys:
            kept[key[0], self.treatments[key].scenario_json].add(self.before[key].scenario_json)
        return SAME if any(len(olds) > 1 for olds in kept.values()) else None


def _with(study: Study, treatment: Treatment, scenario: dict[str, Any]) -> Treatment:
    drawn = measured.find(scenario, study.directory or Path())
    text = core.canonical(scenario)
    parsed = measured.parsed(drawn) if drawn else [core.parse(text)]
    for fidelity in study.fidelities:
        for concrete in parsed:
            check_at(fidelity, concrete)
    own = None if drawn else parsed[0]
    return dataclasses.replace(treatment, scenario=scenario, scenario_json=text, measured=drawn, parsed=own)


def renamed(result_json: str, before: Treatment, after: Treatment) -> str:
    """Return a run's result in which the flows have the contenders of the study, by which claims may find them."""
    if before is after:
        return result_json
    names = _names(before.scenario, after.scenario)
    if not names:
        return result_json
    result = json.loads(result_json)
    for flow in result["flows"]:
        flow["contender"] = names.get(flow["contender"], flow["contender"])
    return json.dumps(result)


def _names(before: Any, after: Any) -> Mapping[str, str]:
    """Return the contender of the study for each one that took its place."""
    found: dict[str, str] = {}
    if isinstance(before, dict) and isinstance(after, dict):
        old, new = before.get("contender"), after.get("contender")
        if isinstance(old, str) and isinstance(new, str) and old != new:
            found[new] = old
        pairs = [(before[name], after[name]) for name in before if name in after]
    elif isinstance(before, list) and isinstance(after, list):
        pairs = list(zip(before, after, strict=False))
    else:
        return found
    for one, other in pairs:
        found.update(_names(one, other))
    return found
