"""Where runs are executed. A run is a pure function of its task, so any engine that maps tasks to answers will do.

`ThreadExecutor` uses the threads of this process: the core releases the interpreter's lock while it works.
`ProcessExecutor` uses processes that may crash, for code of users. For clusters there is `runner/dask.py`.
"""

from __future__ import annotations

import dataclasses
import json
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
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


Run = Callable[[core.Scenario | str, int, int, str], str]
"""A function that makes a run, as `core.run` does."""


def default_workers() -> int:
    """How many CPUs this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class ThreadExecutor:
    """Runs tasks in threads of this process."""

    def __init__(self, workers: int | None = None, fidelity: str = "model", run: Run = core.run) -> None:
        refuse_below(1, workers=workers)
        self.workers = workers or default_workers()
        self.fidelity = fidelity
        self.run = run

    def execute(self, tasks: Iterable[Task], stop: threading.Event | None = None) -> Iterator[Outcome]:
        """Yield outcomes as they come; at most twice as many tasks as workers are taken from `tasks` ahead of time."""
        with ThreadPoolExecutor(self.workers, thread_name_prefix="haltere") as pool:
            for _, done in _as_they_end(
                lambda task: pool.submit(_run, task, self.fidelity, self.run), tasks, 2 * self.workers, stop
            ):
                yield done.result()


class ProcessExecutor:
    """Runs tasks in processes of their own. One that crashes, or does not end in time, fails its run alone."""

    def __init__(self, workers: int | None, fidelity: str, limit_s: float, run: Run = core.run) -> None:
        refuse_below(1, workers=workers)
        self.run = run
        self.workers = workers or default_workers()
        self.fidelity = fidelity
        self.limit_s = limit_s
        """The seconds on the wall after which a run is ended."""

    def execute(self, tasks: Iterable[Task], stop: threading.Event | None = None) -> Iterator[Outcome]:
        """Yield outcomes as `ThreadExecutor` does."""
        from pebble import ProcessPool  # noqa: PLC0415 (most campaigns need no processes)

        # Processes that are forked from one with threads may stop for ever.
        context = multiprocessing.get_context("spawn")
        with ProcessPool(self.workers, context=context) as pool:
            for task, done in _as_they_end(
                lambda task: pool.schedule(
                    _run, (dataclasses.replace(task, scenario=task.text), self.fidelity, self.run), timeout=self.limit_s
                ),
                tasks,
                2 * self.workers,
                stop,
            ):
                yield self._outcome(task, done)

    def _outcome(self, task: Task, done: Future[Outcome]) -> Outcome:
        from pebble import ProcessExpired  # noqa: PLC0415

        try:
            return done.result()
        except TimeoutError:
            reason = (
                f"it was ended after {self.limit_s:g} s (--isolate): does its code loop for ever? If not, allow more"
            )
        except ProcessExpired as died:
            reason = f"its process {_ended(died.exitcode)}: code that it loads crashed"
        return Outcome(task.key, json.dumps(core.failed(reason)))


def _ended(code: int) -> str:
    if code >= 0:
        return f"exited with status {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


def _as_they_end(
    submit: Callable[[Task], Future[Outcome]], tasks: Iterable[Task], ahead: int, stop: threading.Event | None
) -> Iterator[tuple[Task, Future[Outcome]]]:
    """Submit tasks, at most `ahead` of them at once, and yield each with its future when it has ended."""
    waiting = iter(tasks)
    running: dict[Future[Outcome], Task] = {}
    while True:
        while len(running) < ahead and not (stop and stop.is_set()):
            task = next(waiting, None)
            if task is None:
                break
            running[submit(task)] = task
        if stop and stop.is_set():
            running = {future: task for future, task in running.items() if not future.cancel()}
        if not running:
            return
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            yield running.pop(future), future


def _run(task: Task, fidelity: str, run: Run) -> Outcome:
    return Outcome(task.key, run(task.scenario, task.seed, task.replication, fidelity))
