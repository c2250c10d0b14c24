"""Where runs are executed. A run is a pure function of its task, so any engine that maps tasks to answers will do.

`ThreadExecutor` uses the threads of this process: the core releases the interpreter's lock while it works. For
clusters there is `runner/dask.py`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Protocol

from haltere import core
from haltere.errors import refuse_below


@dataclass(frozen=True)
class Task:
    """All that a run depends on, and the key of its answer."""

    key: str
    scenario: core.Scenario | str
    seed: int
    replication: int

    @property
    def text(self) -> str:
        """The scenario as text. Functions of agents that run no scenarios read texts of their own."""
        return self.scenario if isinstance(self.scenario, str) else self.scenario.json


@dataclass(frozen=True)
class Outcome:
    """The answer to a task: the key and the RunResult's JSON."""

    key: str
    result_json: str


class Executor(Protocol):
    """Something that can run tasks."""

    def execute(self, tasks: Iterable[Task], stop: threading.Event | None = None) -> Iterator[Outcome]:
        """Yield an outcome for every task, in any order. Once `stop` is set, start no more; yield what has started."""


def default_workers() -> int:
    """How many CPUs this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class ThreadExecutor:
    """Runs tasks in threads of this process."""

    def __init__(self, workers: int | None = None, fidelity: str = "model") -> None:
        refuse_below(1, workers=workers)
        self.workers = workers or default_workers()
        self.fidelity = fidelity

    def execute(self, tasks: Iterable[Task], stop: threading.Event | None = None) -> Iterator[Outcome]:
        """Yield outcomes as they come; at most twice as many tasks as workers are taken from `tasks` ahead of time."""
        waiting = iter(tasks)
        running: set[Future[Outcome]] = set()
        with ThreadPoolExecutor(self.workers, thread_name_prefix="haltere") as pool:
            while True:
                while len(running) < 2 * self.workers and not (stop and stop.is_set()):
                    task = next(waiting, None)
                    if task is None:
                        break
                    running.add(pool.submit(_run, task, self.fidelity))
                if stop and stop.is_set():
                    running -= {future for future in running if future.cancel()}
                if not running:
                    return
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()


def _run(task: Task, fidelity: str) -> Outcome:
    return Outcome(task.key, core.run(task.scenario, task.seed, task.replication, fidelity))
