"""Fidelity `stack`: production QUIC stacks in the simulator."""

from __future__ import annotations

from pathlib import Path

import pytest

from haltere import Study, core
from haltere.adhoc.single import run, trace
from haltere.errors import InputError
from haltere.executor import Task
from haltere.fidelity import executor, identity
from haltere.scenario import Scenario

LINK = {"rate": "50Mbit/s", "down_delay": "10ms", "up_delay": "10ms", "size": "500kB"}


def scenario(*contenders: str, fidelity: str = "stack") -> Scenario:
    return Scenario.point_to_point(list(contenders), fidelity=fidelity, **LINK)  # type: ignore[arg-type]


def test_stacks_and_the_model_meet_on_one_link() -> None:
    mixed = scenario("quic@quinn/cubic", "quic@noq/newreno", "quic@model/cubic", "tcp/cubic")
    result = run(mixed)
    assert result.status == "ok", result.error
    assert result.flows["completion_s"].null_count() == 0
    assert run(mixed).data == result.data


def test_a_contender_without_implementation_is_quinn() -> None:
    times = [run(scenario(c)).flows["completion_s"][0] for c in ("quic/cubic", "quic@quinn/cubic", "quic@model/cubic")]
    assert times[0] == times[1] != times[2]


def test_the_model_refuses_a_production_stack_with_the_remedy() -> None:
    with pytest.raises(InputError, match='fidelity "stack"'):
        scenario("quic@quinn/cubic", fidelity="model")
    with pytest.raises(InputError, match=r"bbr\+haltere"):
        scenario("quic@quinn/bbr")


def test_an_executor_runs_tasks_at_its_fidelity() -> None:
    wanted = scenario("quic/cubic")
    (outcome,) = executor("stack", 1).execute([Task("0", wanted.concrete(), 1, 0)])
    assert outcome.result_json == core.run(wanted.concrete(), 1, 0, "stack")
    assert outcome.result_json != core.run(wanted.concrete(), 1, 0)
    assert identity("stack") != identity("model")


def test_a_trace_tells_the_stacks_window() -> None:
    names = set(trace(scenario("quic@noq/cubic")).series.filter(who="flow 0")["name"])
    assert {"cwnd", "bytes_in_flight", "rtt"} <= names


def test_a_study_lays_stack_and_model_side_by_side(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(
        """
[study]
name = "both"
title = "Both"
question = "Do they differ?"
seed = 1
replications = 2
fidelity = ["model", "stack"]

[experiments.one]
title = "One"
[experiments.one.factors]
kind = ["quic/cubic", "tcp/cubic"]
[experiments.one.scenario]
[experiments.one.scenario.topology]
kind = "point-to-point"
link = { rate = "20Mbit/s", delay = "5ms" }
[[experiments.one.scenario.flows]]
contender = "{kind}"
size = "200kB"
"""
    )
    flows = Study.load(tmp_path / "study.toml").run(out=tmp_path / "out").flows
    assert sorted(set(flows["fidelity"])) == ["model", "stack"]
    by = {(row["fidelity"], row["contender"]): row["completion_s"] for row in flows.iter_rows(named=True)}
    assert by["model", "tcp/cubic"] == by["stack", "tcp/cubic"]
    assert by["model", "quic/cubic"] != by["stack", "quic/cubic"]


def paths(*contenders: str, first_path: int = 0, fidelity: str = "stack") -> Scenario:
    path = {"rate": "10Mbit/s", "queue": "50p"}
    return Scenario(
        {
            "topology": {
                "kind": "multipath",
                "paths": [{**path, "delay": "10ms"}, {**path, "delay": "30ms"}],
            },
            "flows": [
                {"contender": one, "size": "2MB", "first_path": first_path, "start": f"{9 * k}s"}
                for k, one in enumerate(contenders)
            ],
        },
        fidelity=fidelity,
    )


def test_multipath_in_a_stack_uses_both_paths() -> None:
    result = run(paths("mpquic@noq/cubic", "quic@noq/cubic"))
    assert result.status == "ok", result.error
    both, first = result.flows["completion_s"]
    # 1.6 s at 10 Mbit/s, and how far the second path helps in so short a time.
    assert first > 1.6 > both > 0.8
    seen = trace(paths("mpquic@noq/cubic")).series
    names = set(seen.select("who", "name").iter_rows())
    assert {("flow 0", "cwnd"), ("flow 0 path 1", "cwnd"), ("flow 0 path 1", "rtt")} <= names, names


def test_a_stack_connects_on_the_path_that_the_flow_names() -> None:
    def carried(first_path: int) -> list[int]:
        links = run(paths("quic@noq/cubic", first_path=first_path)).links
        down = links.filter(links["direction"] == "down").sort("link")
        return list(down["delivered_bytes"])

    near, far = carried(0), carried(1)
    assert near[0] > 2_000_000 > 0 == near[1]
    assert far[1] > 2_000_000 > 0 == far[0]


def test_a_stack_refuses_schedulers_that_it_has_not() -> None:
    with pytest.raises(InputError, match="there are: priority"):
        paths("mpquic@noq/cubic+ecf")
    with pytest.raises(InputError, match="quinn has one path"):
        paths("mpquic@quinn/cubic")


def call(contender: str, fidelity: str = "stack") -> Scenario:
    """Return a call of 10 s."""
    link = {"rate": "2Mbit/s", "delay": "25ms"}
    flows = [{"contender": contender}]
    topology = {"kind": "point-to-point", "link": link}
    return Scenario({"duration": "10s", "topology": topology, "flows": flows}, fidelity=fidelity)


def test_a_call_runs_on_production_webrtc_and_repeats() -> None:
    for contender in ("rtp@str0m/gcc", "rtp@str0m/gcc+rawestimate"):
        result = run(call(contender)).raise_if_failed()
        assert result.data["flows"][0]["frames_shown"] > 200
        assert run(call(contender)).data == result.data
    names = set(trace(call("rtp@str0m/gcc")).series.filter(who="flow 0")["name"])
    assert "pacing_rate" in names


def test_the_model_refuses_production_webrtc_with_the_remedy() -> None:
    with pytest.raises(InputError, match='fidelity "stack"'):
        call("rtp@str0m/gcc", fidelity="model")
    with pytest.raises(InputError, match="rtp/nada"):
        call("rtp@str0m/nada")
    with pytest.raises(InputError, match="production stacks"):
        call("rtp/gcc+rawestimate")


def test_a_call_runs_over_the_quic_of_a_stack_and_repeats() -> None:
    for contender in ("roq@quinn/gcc", "roq@noq/nada+quic=none+streams=group", "roq@quinn/gcc+quic=bbr+haltere"):
        result = run(call(contender)).raise_if_failed()
        assert result.data["flows"][0]["frames_shown"] > 200
        assert run(call(contender)).data == result.data
    names = set(trace(call("roq@quinn/gcc")).series.filter(who="flow 0")["name"])
    assert {"cwnd", "bytes_in_flight", "rtt"} <= names
    with pytest.raises(InputError, match='fidelity "stack"'):
        call("roq@quinn/gcc", fidelity="model")
