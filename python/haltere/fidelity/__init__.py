"""The fidelities: where a scenario runs. The description of a run and the form of its result are the same for all.

`model`: our own transports and links in the simulator, in virtual time. `stack`: the same, but QUIC is a production
stack. `linux`: a real kernel and real programs inside a user-mode Linux, in virtual time. `testbed`: the same rig on
this machine's kernel, on the wall clock.
"""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, get_args

if TYPE_CHECKING:
    from haltere.core import Scenario
    from haltere.executor import Executor

Fidelity = Literal["model", "stack", "linux", "testbed"]
NAMES: tuple[Fidelity, ...] = get_args(Fidelity)
SIMULATED: tuple[Fidelity, ...] = ("model", "stack")
"""The fidelities of the simulator: a run there depends on its arguments and on the version alone."""


def check(fidelity: Fidelity, scenario: Scenario) -> None:
    """Raise `ScenarioProblem` if a scenario cannot be run at a fidelity."""
    from haltere import core  # noqa: PLC0415 (help loads nothing heavy)

    core.check_at(scenario, fidelity)
    if fidelity not in SIMULATED:
        from haltere.rig.check import check as check_rig  # noqa: PLC0415 (pyroute2 is slow to load)

        check_rig(fidelity, scenario)


def executor(fidelity: Fidelity, workers: int | None = None, extra: dict[str, Any] | None = None) -> Executor:
    """Return what runs tasks at a fidelity; `extra` goes into each job of a rig (such as `sample_ns`).

    Raises:
        InputError: if this machine lacks what it takes; the error says how to get it.
    """
    if fidelity in SIMULATED:
        from haltere.executor import ThreadExecutor  # noqa: PLC0415 (help loads nothing heavy)

        return ThreadExecutor(workers, fidelity)
    from haltere.rig.executor import linux, testbed  # noqa: PLC0415 (pyroute2 is slow to load)

    return linux(workers, extra) if fidelity == "linux" else testbed(workers, extra)


@cache
def about(fidelity: Fidelity) -> dict[str, Any]:
    """Return what results record of the machine at a fidelity: the kernel's name, version, timer frequency."""
    if fidelity in SIMULATED:
        return {}
    if fidelity == "testbed":
        return {"name": os.uname().release, "version": os.uname().release}
    from haltere.rig import kernel  # noqa: PLC0415 (pyroute2 is slow to load)

    return dict(kernel.find().about())


def identity(fidelity: Fidelity) -> str:
    """Return what a run's result depends on besides scenario, seed and version."""
    if fidelity in SIMULATED:
        return "" if fidelity == "model" else fidelity
    return f"{fidelity} {about(fidelity)['name']}"
