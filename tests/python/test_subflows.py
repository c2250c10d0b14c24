"""MPTCP at fidelity `linux`: the kernel's own, over the paths of a scenario, held against the model."""

from __future__ import annotations

import json
import math
import statistics
from typing import Any

import pytest

from haltere import core, fidelity
from haltere.rig import hosts
from haltere.rig import run as rig_run
from haltere.rig.plan import Plan, plan
from rigs import link, needs_kernel, run

Json = dict[str, Any]
NEAR = {"rate": "20Mbit/s", "queue": "100p", "down": {"delay": "10ms"}, "up": {"delay": "0ms"}}
FAR = {"rate": "5Mbit/s", "queue": "100p", "down": {"delay": "60ms"}, "up": {"delay": "0ms"}}


def over(*paths: Json, contender: str = "mptcp/cubic", size: str = "2MB", app: str = "raw", **flow: Any) -> Json:
    return {
        "topology": {"kind": "multipath", "paths": list(paths)},
        "flows": [{"contender": contender, "app": app, "size": size, **flow}],
    }


def planned(contender: str = "mptcp/cubic", **flow: Any) -> Plan:
    return plan(core.parse(over(NEAR, FAR, contender=contender, **flow)))


@pytest.mark.parametrize(
    ("contender", "words"),
    [
        ("mptcp/olia", ["olia", "couples no subflows"]),
        ("mptcp/cubic+ecf", ["scheduler=ecf", 'fidelity "model"']),
        ("mptcp/cubic+reinjection=timeout", ["reinjection=timeout", 'fidelity "model"']),
        ("mptcp/cubic+opportunistic", ["opportunistic", 'fidelity "model"']),
        ("mptcp/cubic+subflow-buffer=50kB", ["subflow-buffer", 'fidelity "model"']),
        ("mptcp/cubic+pacing", ["no option for pacing", 'fidelity "model"']),
        ("mpquic/cubic", ["multipath QUIC", 'fidelity "model"']),
    ],
)
def test_what_the_kernel_lacks_is_refused_with_the_reason(contender: str, words: list[str]) -> None:
    with pytest.raises(core.ScenarioProblem) as caught:
        fidelity.check("linux", core.parse(over(NEAR, FAR, contender=contender)))
    for word in words:
        assert word in caught.value.message


def test_more_paths_than_the_kernel_takes_are_refused() -> None:
    scenario = over(*[NEAR] * (hosts.MOST_PATHS + 1))
    with pytest.raises(core.ScenarioProblem, match="at most 9 paths"):
        fidelity.check("linux", core.parse(scenario))
    fidelity.check("linux", core.parse(over(*[NEAR] * hosts.MOST_PATHS)))


def test_the_client_or_the_server_tells_its_addresses() -> None:
    (flow,) = planned().flows
    client = {(flow.client, path.client) for path in flow.paths}
    assert set(hosts.endpoints((flow,))) == client
    (flow,) = planned("mptcp/cubic+add-addr").flows
    assert set(hosts.endpoints((flow,))) == {(flow.server, path.server) for path in flow.paths}
    both = planned().flows + planned("mptcp/cubic+add-addr").flows
    with pytest.raises(ValueError, match="give each its own hosts"):
        hosts.endpoints(both)


def test_a_transport_with_one_path_connects_on_the_first_one_of_the_flow() -> None:
    what = planned("tcp/cubic", first_path=1)
    (flow,) = what.flows
    assert [what.links[path.client_link].name for path in flow.paths] == ["path 1"]
    assert [what.links[path.client_link].name for path in planned(first_path=1).flows[0].paths] == [
        "path 1",
        "path 0",
    ]


def test_addresses_that_are_not_a_pair_are_joined_for_bound_sockets_alone() -> None:
    what = planned()
    crossing = {(route.node, route.source, route.to, route.link) for route in what.routes if route.crossing}
    (flow,) = what.flows
    first, second = flow.paths
    assert (flow.client, second.client, first.server, second.client_link) in crossing
    assert (flow.server, first.server, second.client, second.server_link) in crossing
    assert not [route for route in planned("tcp/cubic").routes if route.crossing]


def test_the_switches_of_mptcp_are_parameters_of_the_kernel() -> None:
    (flow,) = planned("mptcp/cubic+stale-after=2-sack").flows
    wanted = hosts.settings((flow,))[flow.server]
    assert wanted["net.mptcp.stale_loss_cnt"] == "2"
    assert wanted["net.ipv4.tcp_sack"] == "0"
    # The first send buffer is the kernel's own: it decides what the first subflow gets before there is another.
    assert wanted["net.ipv4.tcp_wmem"] == "4096 16384 134217728"
    (flow,) = planned("mptcp/cubic-stale-after").flows
    assert hosts.settings((flow,))[flow.server]["net.mptcp.stale_loss_cnt"] == "0"


def test_packets_without_options_of_mptcp_fail_the_run() -> None:
    what = planned()
    report = {
        "flow": 0,
        "status": "ok",
        "error": None,
        "start_s": 0.0,
        "bytes": 2_000_000,
        "completion_s": 1.0,
        "handshake_s": 0.01,
        "first_byte_s": 0.02,
    }
    counts = ("wire_bytes", "sent_packets", "retransmitted_packets", "received_data_packets")
    seen = dict.fromkeys(counts, 1400) | {"flow": 0, "plain_packets": 0}
    seen |= dict.fromkeys(("min_rtt_s", "mean_rtt_s", "rtt_p95_s"))
    answer = {"flows": [report], "virtual_s": 1.0}
    assert rig_run.result(what, answer, {"flows": [seen], "lost_records": 0}, [])["status"] == "ok"
    fallen = rig_run.result(what, answer, {"flows": [seen | {"plain_packets": 3}], "lost_records": 0}, [])
    assert fallen["status"] == "failed"
    assert "fell back to TCP: 3 of 1400" in fallen["error"]


def test_a_path_in_reserve_is_an_endpoint_with_that_flag() -> None:
    reserve = over(NEAR, FAR | {"backup": True})
    (flow,) = plan(core.parse(reserve)).flows
    assert [hosts.endpoints((flow,))[flow.client, path.client] for path in flow.paths] == [2, 6]
    with pytest.raises(core.ScenarioProblem, match="in reserve"):
        fidelity.check(
            "linux",
            core.parse(reserve | over(contender="mptcp/cubic+add-addr") | {"topology": reserve["topology"]}),
        )


@needs_kernel
def test_a_path_in_reserve_carries_nothing_while_another_does() -> None:
    (real,) = run([over(NEAR, FAR | {"backup": True})])
    assert real["status"] == "ok", real["error"]
    assert link(real, "path 1")["delivered_bytes"] < 2000


CASES = {
    "plain": over(NEAR, FAR),
    "swapped": over(NEAR, FAR, first_path=1),
    "announced": over(NEAR, FAR, contender="mptcp/newreno+add-addr"),
    "three paths": over(NEAR, FAR, NEAR, size="4MB"),
    "losses": over(NEAR, FAR | {"down": {"delay": "60ms", "loss": "1%"}}),
    "one path": over(NEAR),
    "https": over(NEAR, FAR, app="https"),
}


@pytest.fixture(scope="module")
def kernel_runs() -> dict[str, Json]:
    return dict(zip(CASES, run(list(CASES.values())), strict=True))


@needs_kernel
@pytest.mark.parametrize("name", CASES)
def test_the_kernels_mptcp_uses_all_paths_and_takes_the_models_time(name: str, kernel_runs: dict[str, Json]) -> None:
    real, model = kernel_runs[name], json.loads(core.run(core.parse(CASES[name]), 1, 0))
    assert real["status"] == "ok", real["error"]
    for number in range(len(CASES[name]["topology"]["paths"])):
        # Each path carries a fair part of the data; 2 % are more than the handshake of a subflow needs.
        assert link(real, f"path {number}")["delivered_bytes"] > 0.02 * real["flows"][0]["wire_bytes"]
    ratio = real["flows"][0]["completion_s"] / model["flows"][0]["completion_s"]
    # Ten of eleven of the 200 transfers of agreement-mptcp lie within 0.15.
    assert abs(math.log(ratio)) < 0.15, ratio


def dying(near: str, far: str, delays: tuple[str, str], out: tuple[int, int], size: str) -> Json:
    """A scenario whose first path is out between two times, milliseconds."""
    paths = [{"rate": rate, "delay": delay, "queue": "50p"} for rate, delay in zip((near, far), delays, strict=True)]
    paths[0]["outage"] = [{"from": f"{out[0]}ms", "to": f"{out[1]}ms"}]
    return over(*paths, size=size) | {"links": "haltere", "ticks": "shared"}


@needs_kernel
def test_a_path_that_comes_back_is_used_again_as_the_kernel_does() -> None:
    # How many packets an outage takes varies with the instant at which it begins, so both meet it at several.
    instants = range(0, 220, 44)
    short = [dying("20Mbit/s", "10Mbit/s", ("5ms", "25ms"), (1000 + at, 3000 + at), "10MB") for at in instants]
    long = [dying("50Mbit/s", "5Mbit/s", ("5ms", "50ms"), (1000 + at, 9000 + at), "20MB") for at in instants]
    kernels = run(short + long)
    for cases, reals in ((short, kernels[: len(short)]), (long, kernels[len(short) :])):
        assert [real["error"] for real in reals] == [None] * len(cases)
        models = [json.loads(core.run(core.parse(case), 1, 0)) for case in cases]
        lost = [
            link(real, "path 0")["dropped_outage"] - link(model, "path 0")["dropped_outage"]
            for real, model in zip(reals, models, strict=True)
        ]
        assert abs(statistics.fmean(lost)) <= 4, lost
        # The bound of agreement-mptcp. The model took 0.26 and 0.50 more when it asked at timeouts alone.
        times = [
            math.log(real["flows"][0]["completion_s"] / model["flows"][0]["completion_s"])
            for real, model in zip(reals, models, strict=True)
        ]
        assert max(map(abs, times)) < 0.15, times
        assert abs(statistics.fmean(times)) < 0.03, times


@needs_kernel
def test_kernel_and_model_meet_the_same_losses_on_each_path(kernel_runs: dict[str, Json]) -> None:
    real = kernel_runs["losses"]
    model = json.loads(core.run(core.parse(CASES["losses"]), 1, 0))
    assert link(real, "path 0")["dropped_loss"] == 0
    assert abs(link(real, "path 1")["dropped_loss"] - link(model, "path 1")["dropped_loss"]) <= 3
    assert link(real, "path 1")["dropped_loss"] > 0


@needs_kernel
def test_retransmissions_of_all_subflows_are_counted(kernel_runs: dict[str, Json]) -> None:
    real = kernel_runs["losses"]
    lost = sum(one["dropped_loss"] + one["dropped_queue"] for one in real["links"] if one["direction"] == "down")
    assert real["flows"][0]["retransmitted_packets"] == pytest.approx(lost, abs=4)
