"""The interface of a fidelity: its description, what it refuses, and what runs tasks there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from haltere.core import Scenario
    from haltere.executor import Executor


@dataclass(frozen=True, kw_only=True)
class Description:
    """A fidelity, as all parts that ask for one see it.

    Args:
        name: its name, in studies, options and results.
        summary: what runs there, in a few words.
        simulated: whether a run is the simulator's, and depends on its arguments and on the version alone.
        virtual: whether its clock is virtual.
        stacks: whether QUIC is a production stack, unless a contender says otherwise.
        batch_s: how long a batch of runs should take a worker of a cluster (seconds of wall-clock time).
    """

    name: str
    summary: str
    simulated: bool
    virtual: bool
    stacks: bool = False
    batch_s: float = 1.0

    @property
    def modelled(self) -> bool:
        """Whether all transports are the simulator's own."""
        return self.simulated and not self.stacks


class Venue(ABC):
    """A fidelity. `haltere.fidelity.register` makes it known."""

    description: ClassVar[Description]

    def check(self, scenario: Scenario) -> None:  # noqa: B027 (most refuse nothing of their own)
        """Raise `ScenarioProblem` if a scenario that the core takes cannot be run here."""

    @abstractmethod
    def executor(self, workers: int | None, extra: dict[str, Any] | None) -> Executor:
        """Return what runs tasks; `extra` goes into each job of a rig.

        Raises:
            InputError: if this machine lacks what it takes; the error says how to get it.
        """

    def about(self, scenario: Scenario | None = None) -> dict[str, Any]:  # noqa: ARG002 (most know no machine)
        """Return what results of a scenario record of the machine: the kernel's name, version, timer frequency."""
        return {}

    def identity(self, scenario: Scenario | None = None) -> str:
        """Return what a run's result depends on besides scenario, seed and version."""
        about = self.about(scenario)
        return f"{self.description.name} {about['name']}" if about else self.description.name
