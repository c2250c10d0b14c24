"""Linux kernels as hosts of the simulator: `tcp@linux` at fidelity `stack`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import haltere
from haltere import core, fidelity
from haltere.errors import InputError
from haltere.evaluation.evaluating import LEFT_OUT, plan
from rigs import needs_node


def result(contender: str) -> dict[str, Any]:
    link = {"rate": "20Mbit/s", "delay": "20ms", "queue": "1bdp", "down": {"loss": "0.5%"}}
    flow = {"contender": contender, "app": "raw", "size": "2MB"}
    document = {"topology": {"kind": "point-to-point", "link": link}, "flows": [flow]}
    return haltere.run(haltere.Scenario(document, fidelity="stack")).data


@needs_node
def test_a_kernel_repeats_and_is_near_the_model() -> None:
    first = result("tcp@linux/newreno")
    assert first == result("tcp@linux/newreno")
    (flow,), (model,) = first["flows"], result("tcp/newreno")["flows"]
    assert flow["completion_s"] == pytest.approx(model["completion_s"], rel=0.05)
    assert (flow["timeouts"], flow["spurious_retransmissions"]) == (None, None), "packets do not tell"
    assert flow["retransmitted_packets"] > 0


@needs_node
def test_an_evaluation_says_what_a_kernel_cannot_take_part_in() -> None:
    planned = plan("tcp@linux/westwood", against=["tcp/cubic"], quick=True)
    left = planned.study.document.data["parameters"][LEFT_OUT]
    assert any("has no switch" in reason for reason in left.values())
    assert len(left) < len(planned.study.document.data["experiments"])


@needs_node
def test_a_run_on_another_kernel_is_another_run() -> None:
    def scenario(contender: str) -> core.Scenario:
        flow = {"contender": contender, "app": "raw", "size": "2MB"}
        link = {"rate": "20Mbit/s", "delay": "20ms"}
        return core.Scenario(json.dumps({"topology": {"kind": "point-to-point", "link": link}, "flows": [flow]}))

    on_kernel, production = scenario("tcp@linux/cubic"), scenario("quic@quinn/cubic")
    kernel = fidelity.about("stack", on_kernel)["name"]
    assert kernel in fidelity.identity("stack", on_kernel)
    assert fidelity.about("stack", production) == fidelity.about("model", scenario("tcp/cubic")) == {}
    assert fidelity.identity("stack", production) == "stack"


def test_without_a_kernel_the_remedy_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(InputError, match="haltere kernel build"):
        result("tcp@linux/cubic")
    with pytest.raises(InputError, match=r'no congestion control "cubi".*cubic'):
        result("tcp@linux/cubi")
