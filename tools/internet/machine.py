"""Runs a small Internet on a machine: a user-mode Linux in virtual time, or namespaces on this one."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from haltere.executor import Task
from haltere.rig import kernel, machines
from haltere.rig.executor import RigExecutor
from internet.measure import WORK
from internet.plan import Internet

Json = dict[str, Any]


def measure(jobs: Sequence[tuple[Internet, list[Json]]], *, virtually: bool, seed: int = 1) -> list[list[Json]]:
    """Run programs in small Internets, one a job, and return their outputs, in order.

    Raises:
        RuntimeError: if a machine or a job failed.
    """
    tasks = [
        Task(str(number), json.dumps({"net": net.json(), "runs": runs}), seed, 0)
        for number, (net, runs) in enumerate(jobs)
    ]
    if virtually:
        found = kernel.find()
        executor = RigExecutor(lambda folder, worker: machines.boot(found, folder, worker, WORK), workers=2)
    else:
        executor = RigExecutor(lambda folder, worker: machines.start_here(folder, worker, WORK), workers=1)
    with _found_by_agents():
        answers = {outcome.key: json.loads(outcome.result_json) for outcome in executor.execute(tasks)}
    for answer in answers.values():
        if "runs" not in answer:
            raise RuntimeError(answer["error"])
    return [answers[task.key]["runs"] for task in tasks]


@contextmanager
def _found_by_agents() -> Iterator[None]:
    """Let agents, processes of their own, find this package."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(Path(__file__).parents[1]), before]))
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before
