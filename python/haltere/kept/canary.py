"""A few runs of a campaign, kept with every metric that they had.

Runs are exact: if one has another value today, the model is not the one that the kept numbers are of.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import polars as pl

from haltere import fidelity
from haltere.executor import Task
from haltere.kept.campaign import Canary, Kept, definition
from haltere.metrics import METRICS
from haltere.metrics.tables import Tables
from haltere.plugins import store
from haltere.results import tables
from haltere.study import Run, Study

MOST = 8
"""So many runs are kept at most."""
TRIED = 20
"""So many are tried at most, to find quick ones."""
QUICK_S = 0.5
"""A run that takes longer than this (s of CPU time) is not kept, unless all do."""


def choose(kept: Kept, folder: Path, experiments: Sequence[str]) -> tuple[Canary, ...]:
    """Run some quick runs of a study's experiments, spread over their treatments, and return them with their metrics.

    Fidelities that are not simulated have none: their runs are not exact. Measured paths have none either, nor have
    runs with code of users, with programs or on Linux kernels, which need not be there when it is asked.
    """
    if not _simulated(kept):
        return ()
    study = _study(kept, folder)
    if any(store.shown(one.scenario_json) != one.scenario_json for one in study.treatments):
        return ()
    found: list[tuple[float, Canary]] = []
    for run in islice(_spread(study, experiments, kept.replications), TRIED):
        if fidelity.about(run.fidelity, run.scenario):
            continue
        began = time.process_time()
        metrics = measured(study, run)
        treatment = run.treatment
        one = Canary(
            experiment=treatment.experiment,
            treatment=treatment.index,
            levels=dict(treatment.levels),
            fidelity=run.fidelity,
            replication=run.replication,
            metrics=metrics,
        )
        found.append((time.process_time() - began, one))
        if sum(took <= QUICK_S for took, _ in found) >= MOST:
            break
    quick = [one for took, one in found if took <= QUICK_S]
    return tuple(quick or [one for _, one in sorted(found, key=lambda each: each[0])[:1]])


def _simulated(kept: Kept) -> list[str]:
    return [name for name in kept.fidelities if fidelity.of(name).simulated]


def _study(kept: Kept, folder: Path) -> Study:
    """The study at its simulated fidelities alone: the others would ask for a kernel or a device that is not needed."""
    return Study.load(folder, variant=kept.variant, fidelity=_simulated(kept))


def _spread(study: Study, experiments: Sequence[str], replications: int) -> Iterator[Run]:
    """Yield runs of all experiments in turn: of each the first treatment, then the middle one, and so on."""
    simulated = list(study.fidelities)
    lists = [[one for one in study.treatments if one.experiment == name] for name in experiments]
    for at in range(TRIED):
        for treatments in lists:
            if at >= len(treatments):
                continue
            treatment = treatments[int(_halves(at) * len(treatments))]
            yield Run(treatment, study.header.seed, at % replications, simulated[at % len(simulated)])


def _halves(number: int) -> float:
    """Return van der Corput's sequence: 0, 1/2, 1/4, 3/4, 1/8 and so on."""
    value, part = 0.0, 0.5
    while number:
        value += part * (number & 1)
        number, part = number >> 1, part / 2
    return value


def measured(study: Study, run: Run) -> dict[str, float]:
    """Run once, and return every metric by its name; of flows that differ, with their label and direction."""
    task = Task(run.id, run.scenario, run.seed, run.replication)
    (outcome,) = fidelity.executor(run.fidelity, 1).execute([task])
    experiment = run.treatment.experiment
    factors = list(study.factors(experiment))
    frames = tables.build([run], {run.id: outcome.result_json}, {experiment: factors})
    frame = frames["runs"]
    levels = {experiment: {factor: [run.treatment.levels[factor]] for factor in factors}}
    of_run = Tables(frame, frames["flows"], levels, frames["latency"], frames["links"])
    found: dict[str, float] = {}
    for name, metric in METRICS.items():
        for part in of_run.parted(metric, experiment):
            value = of_run.by_run(part).get_column("value").to_list()
            whose = "/".join(filter(None, (part.flow, part.direction)))
            found |= {f"{name}@{whose}" if whose else name: one for one in value}
    return found | _ended(frame)


def _ended(frame: pl.DataFrame) -> dict[str, float]:
    """Return whether the run ended well, as a number among the metrics."""
    return {"ok": float((frame["status"] == "ok").item())}


def why_stale(kept: Kept, folder: Path) -> str:
    """Return why kept numbers are not what the study gives today, or an empty text if no run shows it.

    A metric that only one side has is a column that came or went; it says nothing of the model.
    """
    file = folder / "study.toml"
    if definition(file.read_text(encoding="utf-8"), folder) != kept.definition:
        return "the study has changed"
    if not kept.canary:
        return ""
    study = _study(kept, folder)
    by_place = {(one.experiment, one.index): one for one in study.treatments}
    for one in kept.canary:
        treatment = by_place.get((one.experiment, one.treatment))
        if treatment is None or dict(treatment.levels) != one.levels:
            return "the study has changed"
        now = measured(study, Run(treatment, kept.seed, one.replication, one.fidelity))
        if any(now[name] != value for name, value in one.metrics.items() if name in now):
            return "the model has changed"
    return ""
