"""Runs tasks on a Dask cluster. A worker that dies loses nothing: its batches are run again by others.

Tasks go out in batches that take a worker about a second, as a scheduler hands out some hundreds of them a second. What
a batch answers is what the core returned, so the tables are the same bytes as from one machine.
"""

from __future__ import annotations

import importlib
import itertools
import logging
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from haltere import cluster, core, fidelity
from haltere.errors import ArgumentError, HaltereError
from haltere.executor import Outcome, Task
from haltere.fidelity import Fidelity

FIRST, LARGEST = 4, 5_000
"""Tasks of a batch before any has been timed, and at most."""
AHEAD = 3
"""Batches for each thread of the cluster that wait or run: enough that none is idle."""
LOOK_S = 0.2


@dataclass(frozen=True)
class Answer:
    """A worker's answer to a batch: the outcomes, or why it cannot work on any."""

    outcomes: tuple[Outcome, ...]
    seconds: float
    refused: str = ""


def work(tasks: tuple[Task, ...], where: Fidelity, identity: str) -> Answer:
    """Run a batch: what a worker does. It refuses if its version of haltere, or its kernel, is not the client's."""
    try:
        own = identity_of(where)
    except HaltereError as error:  # it has no kernel, for one
        return Answer((), 0.0, f"a worker cannot run at fidelity {where}: {error}")
    if own != identity:
        return Answer((), 0.0, f"a worker has {own}, this machine has {identity}")
    began = time.monotonic()
    outcomes = tuple(fidelity.executor(where, 1).execute(tasks))
    return Answer(outcomes, time.monotonic() - began)


def identity_of(where: Fidelity) -> str:
    """Return what results depend on besides their tasks: version and build of the core, and the kernel."""
    return " ".join(["haltere", core.VERSION, core.fingerprint(), fidelity.identity(where)]).strip()


@contextmanager
def engine(dask: str | None, slurm: str | None) -> Iterator[Callable[[Fidelity], DaskExecutor] | None]:
    """Yield what makes a campaign's executors on a cluster, or None if neither a scheduler nor jobs are wanted.

    Args:
        dask: the address of a Dask scheduler.
        slurm: what jobs to submit (`haltere.cluster.slurm`).

    Raises:
        InputError: if both are given, or the cluster cannot be used.
    """
    if dask and slurm:
        raise ArgumentError("is given beside `slurm`", field="dask", given=dask, right="one of the two")
    if not dask and not slurm:
        yield None
        return
    logging.getLogger("distributed").setLevel(logging.ERROR)  # workers that come and go are no news here
    with cluster.slurm(slurm) if slurm else cluster.connect(dask or "") as client:
        yield lambda where: DaskExecutor(client, where)


class DaskExecutor:
    """Runs tasks on the workers of a Dask cluster, which may come and go meanwhile.

    Args:
        client: a client of the cluster (`haltere.cluster`).
        where: the fidelity.
        batch_s: how long a batch should take a worker (seconds).
    """

    def __init__(self, client: Any, where: Fidelity = "model", *, batch_s: float | None = None) -> None:
        self._client, self._where = client, where
        self._batch_s = batch_s or fidelity.of(where).batch_s
        self._identity = identity_of(where)
        self._timed_runs, self._timed_s = 0, 0.0

    def execute(self, tasks: Iterable[Task], stop: threading.Event | None = None) -> Iterator[Outcome]:
        """Yield outcomes as batches of them come.

        Raises:
            HaltereError: if the scheduler is gone, a worker has another version, or a run ends each worker it is given
                to. What was yielded before is valid.
        """
        waiting = iter(tasks)
        running: dict[Any, tuple[Task, ...]] = {}
        done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        try:
            exhausted = False
            while True:
                room = AHEAD * max(1, self._threads()) - len(running)
                while room > 0 and not exhausted and not (stop and stop.is_set()):
                    batch = tuple(itertools.islice(waiting, self._size()))
                    exhausted = not batch
                    if batch:
                        self._submit(batch, running, done)
                        room -= 1
                if stop and stop.is_set():
                    exhausted = True
                    self._withdraw(running)
                if not running:
                    if exhausted:
                        return
                    continue
                try:
                    future = done.get(timeout=LOOK_S)
                except queue.Empty:
                    self._still_there()
                    continue
                batch = running.pop(future, ())
                if batch:
                    yield from self._outcomes(future, batch, running, done)
        finally:
            if running and self._client.status == "running":
                self._client.cancel(list(running), force=True)

    def _size(self) -> int:
        if not self._timed_runs:
            return FIRST
        mean = self._timed_s / self._timed_runs
        return max(1, min(LARGEST, round(self._batch_s / mean) if mean > 0 else LARGEST))

    def _threads(self) -> int:
        self._still_there()
        try:
            return sum(self._client.nthreads().values())
        except OSError:  # it ended between the two questions
            raise _gone() from None

    def _submit(self, batch: tuple[Task, ...], running: dict[Any, tuple[Task, ...]], done: Any) -> None:
        future = self._client.submit(work, batch, self._where, self._identity, pure=False)
        running[future] = batch
        future.add_done_callback(done.put)

    def _withdraw(self, running: dict[Any, tuple[Task, ...]]) -> None:
        """Take back the batches that no worker has begun; those that run are waited for."""
        begun = {key for keys in self._client.processing().values() for key in keys}
        for future in [future for future in running if future.key not in begun and not future.done()]:
            running.pop(future)
            future.cancel()

    def _outcomes(
        self, future: Any, batch: tuple[Task, ...], running: dict[Any, tuple[Task, ...]], done: Any
    ) -> Iterator[Outcome]:
        answer = self._answer(future)
        if answer is None:
            self._again(future, batch, running, done)
            return
        if answer.refused:
            raise HaltereError(
                f"{answer.refused}\n  right: the same wheel of haltere, and the same kernel, on all machines"
            )
        self._timed_runs += len(answer.outcomes)
        self._timed_s += answer.seconds
        yield from answer.outcomes

    def _answer(self, future: Any) -> Answer | None:
        """Return what a batch answered, or None if the worker that had the answer is gone."""
        if future.status != "finished":
            return None
        try:
            answer: Answer = future.result()
        except Exception:  # what went wrong stands in the future's status now
            return None
        future.release()
        return answer

    def _again(self, future: Any, batch: tuple[Task, ...], running: dict[Any, tuple[Task, ...]], done: Any) -> None:
        """Submit a batch again whose answer was lost; a batch that ends its workers goes again run by run."""
        self._still_there()
        if future.status != "error":
            self._submit(batch, running, done)
            return
        error = future.exception()
        if not isinstance(error, importlib.import_module("distributed").scheduler.KilledWorker):
            raise HaltereError(
                f"a worker fails in a batch of runs: {type(error).__name__}: {error}\n"
                "  right: the same environment on all machines; finished runs are kept"
            )
        if len(batch) == 1:
            raise HaltereError(
                f"each worker that was given run {batch[0].key} ended (out of memory, or killed)\n"
                "  right: workers with more memory, or run this study on one machine to see the run's error"
            )
        for task in batch:  # which of them ends workers shows when each is given alone
            self._submit((task,), running, done)

    def _still_there(self) -> None:
        if self._client.status != "running":
            raise _gone()


def _gone() -> HaltereError:
    return HaltereError(
        "the scheduler of the cluster is gone\n"
        "  right: start it again and give the same command; finished runs are kept"
    )
