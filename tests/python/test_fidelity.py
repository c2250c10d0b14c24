"""Fidelities: each is one class with a description, and other parts ask the description, never the name."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from haltere import InputError, Scenario, Study, core, fidelity, run
from haltere.executor import Executor, ThreadExecutor

PACKAGE = Path(fidelity.__file__).parents[1]
SCENARIO = {
    "topology": {"kind": "point-to-point", "link": {"rate": "10Mbit/s", "delay": "5ms", "queue": "50p"}},
    "flows": [{"contender": "tcp/cubic", "app": "raw", "size": "20kB"}],
}


class Attic(fidelity.Venue):
    """A fidelity from outside: the model, but for flows of SSH."""

    description = fidelity.Description(name="attic", summary="a test's own", simulated=False, virtual=True)

    def check(self, scenario: core.Scenario) -> None:
        if '"app":"ssh"' in scenario.json:
            raise core.ScenarioProblem("there is no SSH in the attic", "flows[0].app")

    def executor(self, workers: int | None, extra: dict[str, Any] | None) -> Executor:
        return ThreadExecutor(workers)

    def about(self, scenario: core.Scenario | None = None) -> dict[str, Any]:
        return {"name": "dusty", "version": "1"}


@pytest.fixture
def attic() -> Iterator[None]:
    fidelity.register(Attic())
    yield
    fidelity.unregister("attic")


@pytest.mark.usefixtures("attic")
def test_one_from_outside_runs_studies(tmp_path: Path) -> None:
    text = """
    [study]
    name = "up"
    seed = 1
    replications = 2
    fidelity = ["model", "attic"]
    [experiments.base.scenario]
    topology = { kind = "point-to-point", link = { rate = "10Mbit/s", delay = "5ms", queue = "50p" } }
    flows = [{ contender = "{who}", app = "raw", size = "20kB" }]
    [experiments.base.factors]
    who = ["tcp/cubic", "tcp/bbr"]
    """
    results = Study.parse(text).run(out=tmp_path)
    assert results.manifest["kernels"] == {"attic": {"name": "dusty", "version": "1"}}
    times = {
        name: rows["completion_s"].to_list() for (name,), rows in results.flows.sort("treatment").group_by("fidelity")
    }
    assert times["attic"] == times["model"]
    assert results.runs["run_id"].n_unique() == 8


@pytest.mark.usefixtures("attic")
def test_one_from_outside_refuses_and_runs_a_scenario() -> None:
    there = run(Scenario(SCENARIO, fidelity="attic"))
    assert there.data["flows"] == run(Scenario(SCENARIO)).data["flows"]
    ssh = json.loads(json.dumps(SCENARIO).replace('"raw"', '"ssh"'))
    with pytest.raises(InputError, match="no SSH in the attic"):
        Scenario(ssh, fidelity="attic")


def test_an_unknown_one_is_refused_by_its_name() -> None:
    with pytest.raises(InputError, match=r"moon.*\n.*model, stack, linux, testbed"):
        fidelity.of("moon")


def test_no_part_asks_for_a_name() -> None:
    """A comparison with the name of a fidelity belongs into a description."""
    names, found = set(fidelity.NAMES), []
    for file in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Compare) and "fidelity" in ast.unparse(node):
                constants = {one.value for one in ast.walk(node) if isinstance(one, ast.Constant)}
                if constants & names:
                    found.append(f"{file.relative_to(PACKAGE)}:{node.lineno}: {ast.unparse(node)}")
    assert not found
