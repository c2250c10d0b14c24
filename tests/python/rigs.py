"""Helpers of the tests of real Linux: whether it can be had here, and runs by the handful."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from haltere import core, fidelity
from haltere.executor import Task
from haltere.rig import kernel, machines

needs_kernel = pytest.mark.skipif(
    not kernel.built(), reason="no user-mode Linux has been built here: `haltere kernel build`"
)
needs_node = pytest.mark.skipif(
    not any(kernel.can_be_a_node(one) for one in kernel.built()),
    reason="no user-mode Linux that can be a node has been built here: `haltere kernel build`",
)
needs_testbed = pytest.mark.skipif(bool(machines.problem()), reason=f"no rig can stand here: {machines.problem()}")

DUMBBELL: dict[str, Any] = {
    "topology": {
        "kind": "dumbbell",
        "bottleneck": {"rate": "40Mbit/s", "queue": "1000p", "down": {"delay": "50ms"}, "up": {"delay": "0ms"}},
    },
    "flows": [{"contender": "tcp/cubic", "app": "raw", "size": "1MiB"}],
}


def scenario(
    *,
    loss: str | None = None,
    links: str = "kernel",
    flow: Mapping[str, Any] | None = None,
    bottleneck: Mapping[str, Any] | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """Return a dumbbell scenario with a few things changed."""
    made: dict[str, Any] = json.loads(json.dumps(DUMBBELL))
    made["links"] = links
    made["topology"]["bottleneck"] |= bottleneck or {}
    if loss is not None:
        made["topology"]["bottleneck"]["down"]["loss"] = loss
    made["flows"][0] |= flow or {}
    return made | fields


def run(
    scenarios: Sequence[Mapping[str, Any]], where: fidelity.Fidelity = "linux", *, seed: int = 1, workers: int = 2
) -> list[dict[str, Any]]:
    """Run scenarios and return their results, in order."""
    tasks = [Task(str(i), core.parse(one), seed, 0) for i, one in enumerate(scenarios)]
    found = {o.key: json.loads(o.result_json) for o in fidelity.executor(where, workers).execute(tasks)}
    return [found[str(i)] for i in range(len(tasks))]


def link(result: Mapping[str, Any], name: str = "bottleneck", direction: str = "down") -> dict[str, Any]:
    """Return one direction of a link."""
    return next(one for one in result["links"] if (one["link"], one["direction"]) == (name, direction))
