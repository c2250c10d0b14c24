"""A process that runs tasks one after the other and says how long each took: `python -m haltere.runner.timed`.

It reads a fidelity and tasks from standard input, as JSON, and writes a time (s) a line: CPU time in the simulator,
wall-clock time on real Linux, where the first time includes the start of the machine. It may be ended at any moment.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Iterator, Sequence

from haltere import fidelity
from haltere.executor import Task
from haltere.fidelity import Fidelity
from haltere.rig import nodes


def seconds(where: Fidelity, tasks: Sequence[Task]) -> Iterator[float]:
    """Run each task and yield its time."""
    if fidelity.of(where).simulated:
        for task in tasks:
            before = time.thread_time()
            nodes.run(task.scenario, task.seed, task.replication, where)
            yield time.thread_time() - before
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # so that the rig clears up
    before = time.monotonic()
    for _ in fidelity.executor(where, 1).execute(tasks):
        now = time.monotonic()
        yield now - before
        before = now


def main() -> None:
    """Answer the requests on standard input."""
    asked = json.load(sys.stdin)
    for spent in seconds(asked["fidelity"], [Task("", *task) for task in asked["tasks"]]):
        sys.stdout.write(f"{spent}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
