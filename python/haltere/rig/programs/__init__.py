"""The programs that a rig can run: those in `PROGRAMS` of each module of this package."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from haltere import core
from haltere.rig.programs.base import BrokerProgram, Program, ProgramError, missing

__all__ = ["ProgramError", "available", "every", "find", "find_broker", "rows"]


@cache
def every() -> Mapping[tuple[str, str], Program]:
    """Return all programs, there or not, by transport and name."""
    found: dict[tuple[str, str], Program] = {}
    for module in pkgutil.iter_modules(__path__):
        programs: tuple[Program, ...] = getattr(importlib.import_module(f"{__name__}.{module.name}"), "PROGRAMS", ())
        found |= {(program.transport, program.name): program for program in programs}
    return MappingProxyType(found)


def find(transport: str, implementation: str, *, virtual: bool = False) -> Program:
    """Return a program that can be run here, in virtual time if asked for.

    Raises:
        ProgramError: if there is none of that name, if something of it is missing here, or if it does not run in
            virtual time.
    """
    program = every().get((transport, implementation))
    if program is None:
        known = ", ".join(name for way, name in every() if way == transport)
        if not known:
            ways = " and ".join(sorted({way for way, _ in every()}))
            raise ProgramError(
                f'{transport} does not run on real hosts yet, but {ways} do: choose fidelity "model" for {transport}'
            )
        raise ProgramError(f"there is no {transport}@{implementation}: programs for {transport} are {known}")
    if virtual and not program.virtual:
        raise ProgramError(f'{transport}@{implementation} does not run in virtual time: choose fidelity "testbed"')
    lacking = missing(program)
    if lacking:
        how = "; ".join(f"{name}: {way}" for name, way in lacking.items())
        raise ProgramError(f"{transport}@{implementation} needs {', '.join(lacking)}, which this machine lacks ({how})")
    return program


def find_broker(transport: str, implementation: str) -> BrokerProgram:
    """Return a broker of MQTT that can be run here; raise `ProgramError` as `find`; or if it is no broker."""
    program = find(transport, implementation)
    if not isinstance(program, BrokerProgram):
        known = ", ".join(f"{way}@{name}" for (way, name), one in every().items() if one.app == "mqtt")
        raise ProgramError(f"{transport}@{implementation} is no broker of MQTT: there are {known}")
    return program


def available() -> list[Program]:
    """Return the programs of which nothing is missing here."""
    return [program for program in every().values() if not missing(program)]


def on_nodes(program: Program) -> bool:
    """Return whether kernels that are nodes of the simulator run a program.

    A production stack of the simulator stands before a program of its name.
    """
    stack = any(f"{program.transport}@{program.name}" == one["name"] for one in core.algorithms()["stacks"])
    apart = program.transport in ("icmp", "rtp") or program.prepares
    return program.virtual and not apart and not stack


def _fidelities(program: Program) -> list[str]:
    where = {"stack": on_nodes(program), "linux": program.virtual, "testbed": True}
    return [name for name, runs in where.items() if runs]


def rows() -> list[dict[str, Any]]:
    """Return one row a program for `haltere algorithms`."""
    return [
        {
            "name": f"{program.transport}@{program.name}",
            "role": program.role,
            "fidelities": [
                *(["stack"] if on_nodes(program) else []),
                *(["linux"] if program.virtual else []),
                "testbed",
            ],
            "congestion": program.congestion.describe(),
            "missing": list(missing(program)),
            "summary": program.summary,
        }
        for program in every().values()
    ]
