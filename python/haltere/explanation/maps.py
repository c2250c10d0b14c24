"""Over a study: where which mechanism matters. The same explanation at every combination of the study's levels.

At each combination and replication the parts are switched in a few random orders. The unit of all intervals is the
replication: what is pooled over combinations is averaged within a replication first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from haltere import core
from haltere import fidelity as fidelities
from haltere.adhoc.comparison import bottleneck_entry, whole_of
from haltere.errors import ArgumentError, HaltereError, InputError, Interrupted, refuse_below
from haltere.explanation.answer import factor_of, factor_text
from haltere.explanation.attribution import Effect, effects
from haltere.explanation.explaining import drawn
from haltere.explanation.game import along
from haltere.explanation.mixtures import Part, Space
from haltere.explanation.runs import How, Runs, measure_named
from haltere.fidelity import Fidelity
from haltere.metrics import Metric
from haltere.notebook import notebook
from haltere.study import Study, Treatment

ORDERS = 1
"""Orders for each combination and replication."""
NAMED = 3
"""So many parts the answer names at most."""


@dataclass(frozen=True)
class Placed:
    """The ground of a study's treatment: its scenario with a mixture in the place of its contenders."""

    scenario: Mapping[str, Any]
    fidelity: Fidelity

    def scenarios(self, contender: str) -> tuple[core.Scenario, core.Scenario]:
        """Return the scenario, which is the same for all replications."""
        flows = [{**flow, "contender": contender} for flow in self.scenario["flows"]]
        try:
            scenario = core.parse({**self.scenario, "flows": flows})
            core.check_at(scenario, self.fidelity)
        except core.ScenarioProblem as problem:
            raise InputError(problem.message, field="contender", given=contender) from None
        return scenario, scenario

    def entry(self, contender: str, result: dict[str, Any], seed: int, replication: int) -> dict[str, Any]:
        """Return a run's entry, of all flows together."""
        flow = whole_of(result["flows"]) if result["flows"] else {}
        error = flow.get("error") or (result["error"] if result["status"] != "ok" else None)
        waited = bottleneck_entry(result["links"])
        return {**flow, **waited, "contender": contender, "seed": seed, "replication": replication, "error": error}


@dataclass(frozen=True)
class Map:
    """The effects of all parts at each combination of a study's levels.

    Attributes:
        a, b: the contenders.
        study, experiment: whose levels these are.
        measure: the metric.
        parts: the differences between the contenders.
        factors: the factors' levels.
        cells: the level of each factor, for each combination.
        values: the effect of part i at combination j in replication k; nan where no order could be run.
        mixtures: how many runs there were.
        lost: how many combinations and replications have no value.
    """

    a: str
    b: str
    study: str
    experiment: str
    measure: Metric
    parts: tuple[Part, ...]
    factors: Mapping[str, tuple[str, ...]]
    cells: tuple[Mapping[str, str], ...]
    values: NDArray[np.float64]
    runs: int
    lost: int

    def pooled(self, keep: Mapping[str, str] | None = None) -> list[Effect]:
        """Return the effect of each part over the combinations that have these levels."""
        kept = [i for i, cell in enumerate(self.cells) if all(cell[name] == at for name, at in (keep or {}).items())]
        chosen = self.values[:, kept, :]
        complete = ~np.isnan(chosen).any(axis=(0, 1))
        return effects(chosen[:, :, complete].mean(axis=1))

    def mean(self, part: int, cell: int) -> float:
        """Return the mean effect of a part at a combination."""
        return float(np.nanmean(self.values[part, cell]))

    @property
    def ranked(self) -> list[int]:
        """The numbers of the parts, those first that move the metric most, in whatever direction."""
        moved = np.nanmean(np.abs(np.nanmean(self.values, axis=2)), axis=1)
        return [int(part) for part in np.argsort(-moved, kind="stable")]

    @property
    def answer(self) -> str:
        """Which part matters most, and at which level of which factor."""
        said = []
        for part in [one for one in self.ranked if np.nan_to_num(self.values[one]).any()][:NAMED]:
            factor, at, found = self._strongest(part)
            said.append(f"{self.parts[part].name} most at {factor} {at} ({self._by(found)})")
        return f"what makes the difference between {self.a} and {self.b}: {'; '.join(said)}."

    def _strongest(self, part: int) -> tuple[str, str, float]:
        options = [
            (name, level, self.pooled({name: level})[part].interval.value)
            for name, levels in self.factors.items()
            for level in levels
        ]
        return max(options, key=lambda one: abs(one[2]))

    def _by(self, value: float) -> str:
        return f"×{self.said(value)}" if self.measure.ratio else self.said(value)

    def said(self, value: float) -> str:
        """Return an effect as text: as a factor, or as a difference."""
        return factor_text(factor_of(value)) if self.measure.ratio else f"{value:+.3g}"

    @property
    def table(self) -> pl.DataFrame:
        """A row a part and combination: the levels, the effect as a factor or difference."""
        rows = [
            {"part": part.name, **cell, "effect": factor_of(value) if self.measure.ratio else value}
            for number, part in enumerate(self.parts)
            for place, cell in enumerate(self.cells)
            for value in [self.mean(number, place)]
        ]
        return pl.DataFrame(rows)

    def data(self) -> dict[str, Any]:
        """Return all of it as JSON has it."""
        return {
            "a": self.a,
            "b": self.b,
            "study": self.study,
            "experiment": self.experiment,
            "metric": self.measure.name,
            "scale": "log ratio" if self.measure.ratio else "difference",
            "answer": self.answer,
            "factors": {name: list(levels) for name, levels in self.factors.items()},
            "parts": [
                {"name": self.parts[part].name, "from": self.parts[part].before, "to": self.parts[part].after}
                | {"pooled": _entry(self.pooled()[part])}
                | {
                    "levels": {
                        name: {level: _entry(self.pooled({name: level})[part]) for level in levels}
                        for name, levels in self.factors.items()
                    }
                }
                | {"cells": [dict(cell) | {"value": self.mean(part, at)} for at, cell in enumerate(self.cells)]}
                for part in self.ranked
            ],
            "runs": self.runs,
            "lost": self.lost,
        }

    def save(self, folder: str | Path) -> list[Path]:
        """Write the heat maps (SVG, PDF), a page (HTML) and the numbers (JSON) into a folder; the paths written."""
        from haltere.explanation.page import write_map as write  # noqa: PLC0415 (drawing is slow to load)

        return write(self, Path(folder))

    def __repr__(self) -> str:
        return f"<Map: {self.answer}>"

    def _repr_html_(self) -> str:
        return notebook(self.answer, self.table)


def _entry(effect: Effect) -> dict[str, Any]:
    found = effect.interval
    return {"value": found.value, "low": found.low, "high": found.high, "p": effect.p, "real": effect.real}


def explain_study(
    a: str,
    b: str,
    study: str | Path,
    *,
    experiment: str | None = None,
    metric: str = "completion_time",
    replications: int = 10,
    orders: int = ORDERS,
    fidelity: Fidelity = "model",
    seed: int | None = None,
    how: How | None = None,
) -> Map:
    """Explain the difference between two contenders at each combination of a study's levels.

    Args:
        a: the contender to start from.
        b: the contender to arrive at. Both take the place of the study's contenders.
        study: its folder, or the name of a shipped study.
        experiment: one whose flows have the same contender; the first such by default.
        metric: what is explained.
        replications: how many at each combination.
        orders: orders of switching for each combination and replication.
        fidelity: where it runs.
        seed: instead of the study's own.
        how: how runs are made.

    Raises:
        InputError: if something given cannot be run.
        HaltereError: if no order of the parts could be run at some combination.
    """
    refuse_below(1, replications=replications, orders=orders)
    how, measure = how or How(), measure_named(metric)
    loaded = Study.load(study)
    chosen, treatments = _suited(loaded, experiment)
    factors, found = _combinations(loaded, chosen, treatments)
    app = str(found[0][1]["flows"][0].get("app", "https"))
    space = Space.between(a, b, fidelity, app)
    seed = loaded.header.seed if seed is None else seed
    places = [Runs(space, Placed(scenario, fidelity), measure, seed) for _, scenario in found]
    order_lists = [drawn(runs, replications, orders, place) for place, runs in enumerate(places)]
    cells = [
        (place, (mask, r))
        for r in range(replications)
        for place, lists in enumerate(order_lists)
        for mask in dict.fromkeys(mask for order in lists[r] for mask in along(order))
    ]
    _run(places, cells, fidelity, how)
    values = _values(places, order_lists, replications)
    lost = int(np.isnan(values[0]).sum())
    if np.isnan(values[0]).any(axis=0).all():
        reason = next(why for runs in places for why in runs.failures.values())
        message = f"no replication is complete at all combinations of levels: {lost} have no value (such as: {reason})"
        raise HaltereError(message)
    levels = tuple(cell for cell, _ in found)
    return Map(a, b, loaded.name, chosen, measure, space.parts, factors, levels, values, len(cells), lost)


def _suited(study: Study, wanted: str | None) -> tuple[str, list[Treatment]]:
    """Return an experiment in which all flows of a treatment have one contender, and its treatments."""
    for name in [wanted] if wanted else list(study.file.experiments):
        treatments = list(study.select([name]))
        one = all(len({flow["contender"] for flow in t.scenario["flows"]}) == 1 for t in treatments)
        if one and not any(t.measured for t in treatments):
            return name, treatments
    raise ArgumentError(
        "has flows of several contenders, or measured paths, and so no place for two contenders to compare",
        field="experiment" if wanted else "study",
        given=wanted or study.name,
        right="an experiment in which all flows have one contender",
    )


def _combinations(
    study: Study, experiment: str, treatments: Sequence[Treatment]
) -> tuple[dict[str, tuple[str, ...]], list[tuple[dict[str, str], dict[str, Any]]]]:
    """Return the factors that are not of the contender, and the treatments that differ in these."""
    groups: dict[str, list[Treatment]] = {}
    for treatment in treatments:
        flows = [{**flow, "contender": ""} for flow in treatment.scenario["flows"]]
        groups.setdefault(core.canonical({**treatment.scenario, "flows": flows}), []).append(treatment)
    levels = study.factors(experiment)
    kept = [name for name in levels if all(len({one.levels[name] for one in group}) == 1 for group in groups.values())]
    firsts = [group[0] for group in groups.values()]
    found = [({name: one.levels[name] for name in kept}, one.scenario) for one in firsts]
    return {name: levels[name] for name in kept}, found


def _run(places: Sequence[Runs], cells: Sequence[tuple[int, tuple[int, int]]], fidelity: Fidelity, how: How) -> None:
    """Run the cells of all combinations, so that no worker waits at the end of one."""
    executor = how.executor or fidelities.executor(fidelity, how.workers)
    tasks = (
        type(task)(f"{place} {task.key}", task.scenario, task.seed, task.replication)
        for place, cell in cells
        for task in places[place].tasks([cell])
    )
    done = 0
    for done, outcome in enumerate(executor.execute(tasks, how.stop), 1):
        places[int(outcome.key.split()[0])].take(outcome)
        if how.on_progress:
            how.on_progress(done, len(cells))
    if done < len(cells):
        raise Interrupted(f"stopped after {done} of {len(cells)} runs: a map needs all of them")


def _values(places: Sequence[Runs], order_lists: Sequence[Any], replications: int) -> NDArray[np.float64]:
    parts = len(places[0].space.parts)
    values = np.full((parts, len(places), replications), np.nan)
    for place, (runs, lists) in enumerate(zip(places, order_lists, strict=True)):
        for r in range(replications):
            kept = [order for order in lists[r] if all(runs.values[mask, r] is not None for mask in along(order))]
            if not kept:
                continue
            total = np.zeros(parts)
            for order in kept:
                worths = np.array([runs.values[mask, r] for mask in along(order)], dtype=np.float64)
                total[list(order)] += np.diff(np.log(worths) if runs.measure.ratio else worths)
            values[:, place, r] = total / len(kept)
    return values
