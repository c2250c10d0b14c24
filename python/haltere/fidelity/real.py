"""The fidelities of real Linux: a rig of namespaces, real programs in them."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Any

from haltere.fidelity.venue import Description, Venue

if TYPE_CHECKING:
    from pathlib import Path

    from haltere.core import Scenario
    from haltere.executor import Executor

BATCH_S = 30.0
"""Length of a cluster's batches, each of which begins with the start of a kernel."""


def chosen_kernel() -> dict[str, Any]:
    """Return name, version, timer frequency and configuration of the user-mode Linux that runs take.

    Raises:
        InputError: if there is none.
    """
    from haltere.rig import kernel  # noqa: PLC0415 (help loads nothing heavy)

    return dict(_found(kernel.cache(), os.environ.get("HALTERE_KERNEL")))


@cache
def _found(folder: Path, name: str | None) -> dict[str, Any]:  # noqa: ARG001 (the answer depends on it)
    from haltere.rig import kernel  # noqa: PLC0415

    return dict(kernel.find(name).about())


class Linux(Venue):
    """A user-mode Linux."""

    description = Description(
        name="linux",
        summary="a real kernel and programs, virtual time",
        simulated=False,
        virtual=True,
        batch_s=BATCH_S,
    )

    def check(self, scenario: Scenario) -> None:
        """Refuse what the kernel was built without, and what no program does."""
        from haltere.rig import check  # noqa: PLC0415 (pyroute2 is slow to load)

        check.check(scenario, check.user_mode())

    def executor(self, workers: int | None, extra: dict[str, Any] | None) -> Executor:
        """Return kernels, one a worker."""
        from haltere.rig.executor import linux  # noqa: PLC0415 (help loads nothing heavy)

        return linux(workers, extra)

    def about(self, scenario: Scenario | None = None) -> dict[str, Any]:  # noqa: ARG002 (every run has the kernel)
        """Return the kernel's name, version, timer frequency and configuration."""
        return dict(chosen_kernel())


class Testbed(Venue):
    """The kernel of this machine."""

    description = Description(
        name="testbed",
        summary="this machine's kernel, on the wall clock",
        simulated=False,
        virtual=False,
        batch_s=BATCH_S,
    )

    def check(self, scenario: Scenario) -> None:
        """Refuse what the machine's kernel lacks, and what no program does."""
        from haltere.rig import check  # noqa: PLC0415 (pyroute2 is slow to load)

        check.check(scenario, check.this_machine())

    def executor(self, workers: int | None, extra: dict[str, Any] | None) -> Executor:
        """Return an agent on this machine."""
        from haltere.rig.executor import testbed  # noqa: PLC0415 (help loads nothing heavy)

        return testbed(workers, extra)

    def about(self, scenario: Scenario | None = None) -> dict[str, Any]:  # noqa: ARG002 (there is one kernel)
        """Return the kernel's release."""
        return {"name": os.uname().release, "version": os.uname().release}
