"""Runs tasks on real Linux: several agents share one folder of jobs."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from haltere import core
from haltere.errors import HaltereError, InputError
from haltere.executor import Outcome, Task, default_workers
from haltere.plugins import store
from haltere.rig import agent, kernel, machines, modules
from haltere.rig.plan import plan

Start = Callable[[Path, str], "subprocess.Popen[bytes]"]
Equip = Callable[[Path, Task], None]
AHEAD = 200
"""Jobs that lie ready: enough that no agent waits, few enough that stopping is quick."""
PATIENCE_S = 600.0
"""A run that gives no answer for so long of wall-clock time is ended; it becomes a row with its error."""
MAX_STARTS_WITHOUT_RESULT = 3


def _nothing(_folder: Path, _task: Task) -> None:
    """A task that needs nothing in the folder of jobs."""


class RigExecutor:
    """Runs tasks by agents: kernels in virtual time, or one agent on this machine."""

    def __init__(
        self,
        start: Start,
        *,
        workers: int | None = None,
        patience_s: float = PATIENCE_S,
        extra: dict[str, Any] | None = None,
        equip: Equip = _nothing,
    ) -> None:
        self.workers = workers or default_workers()
        self._start, self._patience, self._extra, self._equip = start, patience_s, extra or {}, equip

    def execute(self, tasks: Iterable[Task], stop: threading.Event | None = None) -> Iterator[Outcome]:
        """Yield outcomes as they come; a run that hangs or breaks its machine becomes an outcome with the error."""
        _sweep()
        folder = Path(tempfile.mkdtemp(prefix=f"haltere-rig-{os.getpid()}-"))
        crew = _Crew(folder, self._start, self.workers, self._patience)
        waiting = iter(tasks)
        names: dict[str, Task] = {}
        number, exhausted = 0, False
        try:
            for name in ("queue", "taken", "done"):
                (folder / name).mkdir()
            while True:
                while not exhausted and len(names) < AHEAD and not (stop and stop.is_set()):
                    task = next(waiting, None)
                    if task is None:
                        exhausted = True
                        break
                    key = f"{number:08d}"
                    number += 1
                    names[key] = task
                    self._equip(folder, task)
                    _put(folder, key, task, self._extra)
                if stop and stop.is_set():
                    exhausted = True
                    for key in _withdrawn(folder):
                        names.pop(key, None)
                if not names:
                    return
                if exhausted:
                    (folder / "closed").touch()
                crew.keep_up(len(names))
                for key, text in crew.results():
                    yield Outcome(names.pop(key).key, text)
        finally:
            crew.dismiss()
            shutil.rmtree(folder, ignore_errors=True)


def _put(folder: Path, key: str, task: Task, extra: dict[str, Any]) -> None:
    job = {"scenario": task.text, "seed": task.seed, "replication": task.replication, **extra}
    temporary = folder / "queue" / f".{key}"
    temporary.write_text(json.dumps(job))
    temporary.rename(folder / "queue" / f"{key}.json")


def _withdrawn(folder: Path) -> list[str]:
    """Take back the jobs that no agent has taken."""
    keys = []
    for file in (folder / "queue").glob("*.json"):
        with contextlib.suppress(FileNotFoundError):
            file.unlink()
            keys.append(file.stem)
    return keys


def _sweep() -> None:
    """Remove folders of jobs whose owner was killed; its kernels died with it."""
    for folder in Path(tempfile.gettempdir()).glob("haltere-rig-*-*"):
        with contextlib.suppress(OSError, ValueError):
            owner = int(folder.name.split("-")[2])
            if folder.stat().st_uid == os.geteuid() and not Path(f"/proc/{owner}").exists():
                shutil.rmtree(folder, ignore_errors=True)


class _Crew:
    """The agents that work on a folder."""

    def __init__(self, folder: Path, start: Start, size: int, patience_s: float) -> None:
        self.folder, self.start, self.size, self.patience = folder, start, size, patience_s
        self.at_work: dict[str, subprocess.Popen[bytes]] = {}
        self.hired = 0
        self.in_vain = 0
        self.since: dict[str, float] = {}

    def keep_up(self, jobs: int) -> None:
        """Start agents where some are missing; end those that hang."""
        for worker, process in list(self.at_work.items()):
            if process.poll() is not None:
                del self.at_work[worker]
                self._gone(worker)
        now = time.monotonic()
        taken = {file.name: file for file in (self.folder / "taken").iterdir()}
        self.since = {name: self.since.get(name, now) for name in taken}
        for name, began in self.since.items():
            worker = name.rsplit(".", 1)[-1]
            if now - began > self.patience and worker in self.at_work:
                _end(self.at_work.pop(worker))
                self._file(taken[name], f"no answer within {self.patience:.0f} s of wall-clock time: the run was ended")
        while len(self.at_work) < min(self.size, jobs):
            if self.in_vain >= MAX_STARTS_WITHOUT_RESULT:
                raise HaltereError(f"the rig's machine does not start; it said:\n{self._said()}")
            worker = f"w{self.hired}"
            self.hired += 1
            self.in_vain += 1
            self.at_work[worker] = self.start(self.folder, worker)
        time.sleep(0.01)

    def results(self) -> Iterator[tuple[str, str]]:
        """Yield the results that came since the last call."""
        for file in sorted((self.folder / "done").glob("[0-9]*.json")):
            text = file.read_text()
            file.unlink()
            self.in_vain = 0
            yield file.stem, text

    def dismiss(self) -> None:
        """End all agents, at once."""
        for process in self.at_work.values():
            _end(process)
        self.at_work.clear()

    def _gone(self, worker: str) -> None:
        """Write a failure as the result of the job that an agent was running when it ended, if it wrote none."""
        for file in (self.folder / "taken").glob(f"*.{worker}"):
            self._file(file, f"the run's machine ended early; it said: {self._said(worker)}")

    def _file(self, taken: Path, reason: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            key, worker = taken.name.split(".")[0], taken.name.rsplit(".", 1)[-1]
            if not (self.folder / "done" / f"{key}.json").exists():
                agent.file(self.folder, key, worker, json.dumps(core.failed(reason)))

    def _said(self, worker: str | None = None) -> str:
        logs = sorted(self.folder.glob(f"{worker or '*'}.log"), key=lambda p: p.stat().st_mtime)
        text = logs[-1].read_text(errors="replace").strip() if logs else ""
        before, last = text.splitlines()[:-12], text.splitlines()[-12:]
        # A kernel's reason comes before its registers and the calls that led there.
        reasons = [line for line in before if "Kernel panic" in line]
        return "\n".join([*reasons[-1:], *last]) or "nothing"


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def linux(workers: int | None = None, extra: dict[str, Any] | None = None) -> RigExecutor:
    """Return an executor of user-mode Linuxes in virtual time, one a worker."""
    found = kernel.find()

    def equip(folder: Path, task: Task) -> None:
        if store.DIGEST in task.text:
            with contextlib.suppress(core.ScenarioProblem):  # it becomes a row
                modules.equip(folder, plan(core.parse(task.text), task.seed, task.replication), found)

    return RigExecutor(
        lambda folder, worker: machines.boot(found, folder, worker), workers=workers, extra=extra, equip=equip
    )


def testbed(workers: int | None = None, extra: dict[str, Any] | None = None) -> RigExecutor:
    """Return an executor on this machine's kernel, where runs follow each other unless more workers are asked for.

    Raises:
        InputError: if this machine allows no rigs.
    """
    wrong = machines.problem()
    if wrong:
        raise InputError(f"no rig can stand on this machine: {wrong}", right="fidelity linux, which needs no privilege")
    return RigExecutor(machines.start_here, workers=workers or 1, extra=extra)
