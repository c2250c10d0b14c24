"""The fidelities of the simulator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from haltere.fidelity.venue import Description, Venue

if TYPE_CHECKING:
    from haltere.executor import Executor


class Stack(Venue):
    """The simulator, where QUIC is a production stack."""

    description = Description(
        name="stack", summary="the same with production QUIC stacks", simulated=True, virtual=True, stacks=True
    )

    def executor(self, workers: int | None, extra: dict[str, Any] | None) -> Executor:  # noqa: ARG002 (no rig)
        """Return threads of this process."""
        from haltere.executor import ThreadExecutor  # noqa: PLC0415 (help loads nothing heavy)

        return ThreadExecutor(workers, self.description.name)


class Model(Stack):
    """The simulator with transports of its own."""

    description = Description(name="model", summary="the simulator", simulated=True, virtual=True)

    def identity(self) -> str:
        """Return nothing: scenario, seed and version say all."""
        return ""
