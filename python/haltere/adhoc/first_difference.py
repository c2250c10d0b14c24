"""The first packet at which two runs differ: the model and a real kernel, or two contenders of the model."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from haltere import core
from haltere import fidelity as fidelities
from haltere.adhoc.conditions import Conditions
from haltere.adhoc.packets import Difference, Side, compare, of_kernel, of_model
from haltere.adhoc.single import sample_ns
from haltere.errors import ArgumentError, HaltereError, InputError
from haltere.executor import Task
from haltere.scenario import Scenario

TOLERANCE_S = 0.0001
"""How far apart the times of a packet may be. A kernel's readings of its clock move virtual time, 256 ns each: without
a difference, packets were at most 10 µs apart."""
_FINER = 4
"""How many times more often than for a trace a kernel is asked for its state."""


def first_difference(
    contenders: Sequence[str],
    conditions: Conditions,
    *,
    seed: int = 1,
    replication: int = 0,
    tolerance_s: float = TOLERANCE_S,
) -> list[Difference]:
    """Run contenders in the model and on the kernel of fidelity `linux`, with the same losses; compare their packets.

    Return a comparison for each flow, in their order.

    Raises:
        InputError: if something given is wrong, a contender is not TCP, or no kernel has been built.
        HaltereError: if a run fails.
    """
    if not contenders:
        raise InputError("no contender was given", field="contender", right="such as tcp/cubic")
    _check(tolerance_s)
    for contender in contenders:
        if core.contender(contender)["transport"] != "tcp":
            raise InputError(
                "cannot be compared packet by packet with a kernel",
                field="contender",
                given=contender,
                right="a contender of tcp: packets of QUIC are encrypted, and those of MPTCP take several paths",
            )
    model = conditions.scenario(list(contenders)).concrete()
    real = replace(conditions, fidelity="linux").scenario(list(contenders)).concrete()
    theirs = on_linux(real, seed, replication)
    ours = in_model(model, seed, replication, name="the model")
    return [compare(i, a, b, tolerance_s) for i, (a, b) in enumerate(zip(ours, theirs, strict=True))]


def between(
    first: Scenario, second: Scenario, *, seed: int = 1, replication: int = 0, tolerance_s: float = TOLERANCE_S
) -> list[Difference]:
    """Run two scenarios of the model and compare the packets of their flows, the first with the first and so on.

    Raises:
        InputError: if a scenario does not run in the model, or their numbers of flows differ.
        HaltereError: if a run fails.
    """
    _check(tolerance_s)
    for scenario in (first, second):
        if not fidelities.of(scenario.fidelity).modelled:
            raise InputError(
                "has packets that cannot be read", field="fidelity", given=scenario.fidelity, right="model"
            )
    sides = [in_model(one.concrete(seed, replication), seed, replication) for one in (first, second)]
    if len(sides[0]) != len(sides[1]):
        counts = f"{len(sides[0])} and {len(sides[1])}"
        raise InputError("have different numbers of flows", field="scenarios", given=counts, right="as many in both")
    return [compare(i, a, b, tolerance_s) for i, (a, b) in enumerate(zip(*sides, strict=True))]


def _check(tolerance_s: float) -> None:
    if not 0 <= tolerance_s < float("inf"):
        raise ArgumentError("is not a time", field="tolerance_s", given=str(tolerance_s), right="such as 1ms")


def on_linux(scenario: core.Scenario, seed: int, replication: int) -> list[Side]:
    """Run a concrete scenario (JSON) of bare TCP transfers on the kernel; return the packets of each flow's sender."""
    extra = {"packets": True, "sample_ns": max(100_000, sample_ns(scenario) // _FINER)}
    (outcome,) = fidelities.executor("linux", 1, extra).execute([Task("0", scenario, seed, replication)])
    kernel: dict[str, Any] = json.loads(outcome.result_json)
    if kernel["status"] != "ok":
        raise HaltereError(f"the run at fidelity linux failed: {kernel['error']}")
    name = f"Linux {kernel['kernel']}"
    return [of_kernel(name, kernel, flow["flow"]) for flow in kernel["flows"]]


def in_model(scenario: core.Scenario, seed: int, replication: int, *, name: str | None = None) -> list[Side]:
    """Run a concrete scenario in the model; return the packets of each flow's sender.

    A side is called as its flow's contender if no name is given.
    """
    with tempfile.TemporaryDirectory(prefix="haltere-") as folder:
        try:
            traced = core.trace(scenario, seed, replication, qlog=Path(folder))
        except core.ScenarioProblem as problem:
            raise InputError(problem.message, field=problem.path or None) from None
        result = traced["result"]
        if result["status"] != "ok":
            raise HaltereError(f"the run in the model failed: {result['error']}")
        return [
            of_model(name or flow["contender"], Path(folder) / f"flow-{flow['flow']}-server.sqlog", flow)
            for flow in result["flows"]
        ]
