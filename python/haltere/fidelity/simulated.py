"""The fidelities of the simulator."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from haltere.errors import ArgumentError, InputError
from haltere.fidelity.real import chosen_kernel
from haltere.fidelity.venue import Description, Venue

if TYPE_CHECKING:
    from haltere.core import Scenario
    from haltere.executor import Executor


ISOLATE = "HALTERE_ISOLATE"
"""The variable of the environment that has each run in a process of its own, ended after so many seconds."""


class Stack(Venue):
    """The simulator, where QUIC is a production stack."""

    description = Description(
        name="stack", summary="the same with production QUIC stacks", simulated=True, virtual=True, stacks=True
    )

    def check(self, scenario: Scenario) -> None:
        """Refuse programs that are not there, or cannot run in a kernel that is a node."""
        if self.description.stacks:
            from haltere.rig import nodes  # noqa: PLC0415 (help loads nothing heavy)

            nodes.check(scenario, self.description.name)

    def executor(self, workers: int | None, extra: dict[str, Any] | None) -> Executor:  # noqa: ARG002 (no rig)
        """Return threads of this process, or processes where `HALTERE_ISOLATE` asks for them."""
        from haltere.executor import ProcessExecutor, ThreadExecutor  # noqa: PLC0415 (help loads nothing heavy)
        from haltere.rig import nodes  # noqa: PLC0415

        limit = os.environ.get(ISOLATE)
        if not limit:
            return ThreadExecutor(workers, self.description.name, nodes.run)
        try:
            seconds = float(limit)
        except ValueError:
            seconds = 0.0
        if not 0 < seconds < float("inf"):
            raise ArgumentError(
                "is not a time limit",
                field="isolate",
                given=limit,
                right="the seconds that a run may take, such as 300",
            )
        return ProcessExecutor(workers, self.description.name, seconds, nodes.run)

    def about(self, scenario: Scenario | None = None) -> dict[str, Any]:
        """Return the kernel's name, version, timer frequency and configuration, if the scenario has kernels."""
        if self.description.modelled or scenario is None or not scenario.has_kernels(self.description.name):
            return {}
        try:
            return chosen_kernel()
        except InputError:
            # Its runs say what they lack.
            return {}


class Model(Stack):
    """The simulator with transports of its own."""

    description = Description(name="model", summary="the simulator", simulated=True, virtual=True)

    def identity(self, scenario: Scenario | None = None) -> str:  # noqa: ARG002
        """Return nothing: scenario, seed and version say all."""
        return ""
