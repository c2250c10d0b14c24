"""Probes and loads beside the flows of a rig, held against the simulator's."""

from __future__ import annotations

import json
from typing import Any

import pytest

from haltere import core, fidelity
from haltere.rig.plan import plan
from rigs import needs_kernel, needs_testbed, run

TOPOLOGY = {
    "kind": "point-to-point",
    "link": {"rate": "10Mbit/s", "queue": "100p", "down": {"delay": "10ms"}, "up": {"delay": "10ms"}},
}
LOADS: list[dict[str, Any]] = [
    {"kind": "constant", "rate": "1Mbit/s", "size": "500B", "duration": "4s"},
    {"kind": "on-off", "rate": "4Mbit/s", "on": "200ms", "off": "300ms", "duration": "4s", "start": "100ms"},
    {"kind": "trains", "packets": 50, "rate": "20Mbit/s", "count": 3},
]


REPLAY = {"at_ns": [0], "len": [100], "flow": [0], "back": [], "span_ns": 0}


def scenario(**fields: Any) -> dict[str, Any]:
    return {"topology": TOPOLOGY, **fields}


def modelled(made: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(core.run(core.parse(made), 1, 0))
    return found


def probe(kind: str, **fields: Any) -> dict[str, Any]:
    return {"kind": kind, "size": "1450B", "interval": "200ms", **fields}


@pytest.mark.parametrize(
    ("beside", "words"),
    [
        ({"probes": [{"kind": "icmp", "size": "4B"}]}, ["4B", "at least 8B"]),
        ({"loads": [{"kind": "trains", "packets": 3, "answer": "0B"}]}, ["0B", "at least 8B"]),
        (
            {"loads": [{"kind": "replay", "gap": "1s", "capture": REPLAY}]},
            ["replay", 'fidelity "model"'],
        ),
    ],
)
def test_what_a_rig_has_not_is_refused_with_the_remedy(beside: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(core.ScenarioProblem) as caught:
        fidelity.check("linux", core.parse(scenario(duration="1s", **beside)))
    assert all(word in caught.value.message for word in words), caught.value.message


def test_a_plan_has_the_periods_that_the_model_draws() -> None:
    made = scenario(duration="30s", loads=[{"kind": "on-off", "rate": "4Mbit/s", "on": "200ms", "off": "300ms"}])
    (load,) = plan(core.parse(made), 1, 0).loads
    assert sum(load.periods_ns) >= 30 * 10**9 > sum(load.periods_ns[:-1])
    # The model sends as many packets as fit into these periods, 2956 us each.
    packets, at = 0, 0
    for number, length in enumerate(load.periods_ns):
        if number % 2 == 0:
            packets += -(-min(length, 30 * 10**9 - at) // 2_956_000)
        at += length
    assert modelled(made)["loads"][0]["sent_packets"] == pytest.approx(packets, abs=1)


def test_nothing_to_do_is_refused() -> None:
    with pytest.raises(core.ScenarioProblem, match="no flow"):
        fidelity.check("linux", core.parse(scenario(duration="1s")))


@needs_kernel
def test_probes_see_the_same_path_as_the_model_s() -> None:
    """Alone on the link, in both modes: RTTs differ by what clock readings cost in a user-mode Linux."""
    wanted = [probe(kind, count=5, mode=mode) for kind in ("icmp", "udp", "tcp") for mode in MODES]
    alone = [scenario(probes=[one]) for one in wanted]
    for made, result in zip(alone, run(alone), strict=True):
        (seen,), (expected,) = result["probes"], modelled(made)["probes"]
        assert result["status"] == "ok", result["error"]
        assert (seen["sent"], seen["answered"], seen["lost"]) == (5, 5, 0)
        assert seen["rtt_mean_s"] == pytest.approx(expected["rtt_mean_s"], abs=3e-5), seen["probe_kind"]
        assert seen["sent_s"] == pytest.approx(expected["sent_s"], abs=1e-3)


@needs_kernel
def test_a_probe_beside_a_flow_waits_in_its_queue_and_is_lost_with_it() -> None:
    flow = {"contender": "tcp/cubic", "app": "raw"}
    beside = [probe("icmp", mode="free-running"), probe("udp"), probe("icmp", **{"from": "server"})]
    lossy = json.loads(json.dumps(scenario(duration="10s", flows=[flow], probes=beside)))
    lossy["topology"]["link"]["up"]["loss"] = {"model": "periodic", "every": 20}
    lossy["probes"] = [probe("icmp", timeout="300ms"), probe("udp", timeout="300ms", mode="free-running")]
    queued = scenario(duration="10s", flows=[flow], probes=beside)
    results = run([queued, lossy])
    for made, result in zip((queued, lossy), results, strict=True):
        assert result["status"] == "ok", result["error"]
        for seen, expected in zip(result["probes"], modelled(made)["probes"], strict=True):
            assert seen["answered"] == pytest.approx(expected["answered"], abs=6)
            assert seen["rtt_mean_s"] == pytest.approx(expected["rtt_mean_s"], rel=0.1)
    assert sum(one["lost"] for one in results[1]["probes"]) > 0
    assert all(one["lost"] == 0 for one in results[0]["probes"])


@needs_kernel
def test_loads_send_what_the_model_s_send() -> None:
    made = scenario(loads=LOADS, probes=[probe("icmp")])
    (result,) = run([made])
    assert result["status"] == "ok", result["error"]
    expected = modelled(made)
    for seen, one in zip(result["loads"], expected["loads"], strict=True):
        for column in ("sent_packets", "sent_bytes", "answered_packets", "rounds"):
            assert seen[column] == one[column], (seen["load_kind"], column)
        # The last packets of one load may be on their way when the run ends.
        assert seen["received_packets"] == pytest.approx(one["received_packets"], abs=3), seen["load_kind"]
    assert result["virtual_s"] == pytest.approx(expected["virtual_s"], abs=0.05)
    assert result["probes"][0]["sent"] == pytest.approx(expected["probes"][0]["sent"], abs=1)


@pytest.mark.alone
@needs_testbed
def test_probes_and_loads_run_on_this_machine_too() -> None:
    made = scenario(links="haltere", loads=LOADS[:1], probes=[probe("icmp", count=4), probe("tcp", count=4)])
    (result,) = run([made], "testbed")
    assert result["status"] == "ok", result["error"]
    assert [one["answered"] for one in result["probes"]] == [4, 4]
    assert all(0.02 < one["rtt_min_s"] < 0.2 for one in result["probes"])
    assert result["loads"][0]["sent_packets"] == 947


MODES = ("stop-and-wait", "free-running")
