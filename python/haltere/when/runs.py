"""Runs treatments for a search, keeps those without changes, and makes the tables by which claims are judged."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from haltere import fidelity
from haltere.executor import Task
from haltere.metrics.tables import Tables
from haltere.study import Run, Study, Treatment
from haltere.when.judging import Judge
from haltere.when.variants import Key, Variant, key_of, renamed

KEPT_BYTES = 200_000_000


def seed_of(seed: int, purpose: str) -> int:
    """Return the seed for a purpose, made from the study's: search and judgement have different ones."""
    return int.from_bytes(hashlib.sha256(f"{seed} {purpose}".encode()).digest()[:7])


class OutOfTimeError(Exception):
    """The time was over, or Ctrl-C was pressed, before all of some runs had finished."""


@dataclass
class Ground:
    """A study at one seed and a number of replications.

    Results are kept, up to `KEPT_BYTES`: claims share treatments, and many are the same with and without a change.
    """

    study: Study
    judge: Judge
    seed: int
    replications: int
    workers: int | None = None
    _kept: dict[str, str] = field(default_factory=dict)
    _bytes: int = 0

    def results(
        self, treatments: Mapping[Key, Treatment], keys: Collection[Key], stop: threading.Event
    ) -> tuple[list[Run], dict[str, str]]:
        """Return the runs of some treatments, and the result of each by its id.

        Raises:
            OutOfTimeError: if `stop` is set before the last of them has finished.
        """
        own = {key_of(one): one for one in self.study.treatments}
        runs = [
            Run(treatments[key], self.seed, replication, where)
            for key in sorted(keys)
            for where in self.study.fidelities
            for replication in range(self.replications)
        ]
        finished = {run.id: self._kept[run.id] for run in runs if run.id in self._kept}
        for where in self.study.fidelities:
            todo = {run.id: run for run in runs if run.fidelity == where and run.id not in finished}
            if not todo:
                continue
            tasks = (Task(run.id, run.scenario, run.seed, run.replication) for run in todo.values())
            for outcome in fidelity.executor(where, self.workers).execute(tasks, stop):
                before = own[key_of(todo[outcome.key].treatment)]
                text = renamed(outcome.result_json, before, todo[outcome.key].treatment)
                finished[outcome.key] = text
                self._keep(outcome.key, text)
        if any(run.id not in finished for run in runs):
            raise OutOfTimeError
        return runs, finished

    def _keep(self, key: str, text: str) -> None:
        self._kept[key] = text
        self._bytes += len(text)
        while self._bytes > KEPT_BYTES:
            self._bytes -= len(self._kept.pop(next(iter(self._kept))))

    def tables(
        self, variant: Variant | None, keys: Collection[Key], stop: threading.Event, *, share: bool = False
    ) -> Tables:
        """Return the tables of some treatments, with the changes of a variant; `share` as `Judge.tables` has it."""
        treatments = variant.treatments if variant else {key_of(one): one for one in self.study.treatments}
        return self.judge.tables(*self.results(treatments, keys, stop), share=share)
