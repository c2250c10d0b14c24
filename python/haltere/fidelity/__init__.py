"""The fidelities: where a scenario runs. The description of a run and the form of its result are the same for all.

`model`: our own transports and links in the simulator, in virtual time. `stack`: the same, but QUIC is a production
stack. `linux`: a real kernel and real programs inside a user-mode Linux, in virtual time. `testbed`: the same rig on
this machine's kernel, on the wall clock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from haltere.errors import ArgumentError, among, as_written
from haltere.fidelity.real import Linux, Testbed
from haltere.fidelity.simulated import Model, Stack
from haltere.fidelity.venue import Description, Venue

if TYPE_CHECKING:
    from haltere.core import Scenario
    from haltere.executor import Executor

_VENUES: dict[str, Venue] = {}
NAMES = _VENUES.keys()
"""The names of all fidelities, in order."""


def register(venue: Venue) -> None:
    """Make a fidelity known under its name."""
    _VENUES[venue.description.name] = venue


def unregister(name: str) -> None:
    """Forget a fidelity."""
    del _VENUES[name]


register(Model())
register(Stack())
register(Linux())
register(Testbed())

if TYPE_CHECKING:
    Fidelity = str
    """The name of a fidelity."""
else:
    Fidelity = Literal[tuple(NAMES)]  # the command line offers these


def named(name: str) -> Venue:
    """Return the fidelity of a name; raise `InputError` if there is none."""
    if name not in _VENUES:
        raise ArgumentError("is not a fidelity", field="fidelity", given=as_written(name), right=among(name, NAMES))
    return _VENUES[name]


def of(name: str) -> Description:
    """Return the description of a fidelity; raise `InputError` if there is none of the name."""
    return named(name).description


def simulated() -> list[str]:
    """Return the names of the simulator's fidelities."""
    return [name for name in NAMES if of(name).simulated]


def summaries() -> str:
    """Return all fidelities in words, for help."""
    return ", ".join(f"`{name}` ({of(name).summary})" for name in NAMES)


def check(fidelity: Fidelity, scenario: Scenario) -> None:
    """Raise `ScenarioProblem` if a scenario cannot be run at a fidelity."""
    from haltere import core  # noqa: PLC0415 (help loads nothing heavy)

    core.check_at(scenario, fidelity)
    named(fidelity).check(scenario)


def executor(fidelity: Fidelity, workers: int | None = None, extra: dict[str, Any] | None = None) -> Executor:
    """Return what runs tasks at a fidelity; `extra` goes into each job of a rig (such as `sample_ns`).

    Raises:
        InputError: if this machine lacks what it takes; the error says how to get it.
    """
    return named(fidelity).executor(workers, extra)


def about(fidelity: Fidelity, scenario: Scenario | None = None) -> dict[str, Any]:
    """Return what results of a scenario record of the machine: the kernel's name, version, timer frequency."""
    return named(fidelity).about(scenario)


def identity(fidelity: Fidelity, scenario: Scenario | None = None) -> str:
    """Return what a run's result depends on besides scenario, seed and version."""
    return named(fidelity).identity(scenario)
