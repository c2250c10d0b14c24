"""Real brokers of MQTT on Linux kernels that are hosts of the simulator, at fidelity `stack`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import rigs
from haltere import core, fidelity
from haltere.rig import nodes, programs
from haltere.rig.programs import base
from rigs import needs_node
from test_brokers import LOSSY, needs_mosquitto, scenario

needs_mochi = pytest.mark.skipif(
    base.find("haltere-mochi") is None, reason="haltere-mochi is not there: cd peers/mochi && go build"
)
MOSQUITTO, MOCHI, QUIC = "tcp@mosquitto/cubic", "tcp@mochi/cubic", "quic@mochi/cubic"
CASES = {
    "qos 0 with loss": scenario(contender=MOSQUITTO, qos=0, down=LOSSY),
    "qos 1 without TLS": scenario(contender=MOSQUITTO, qos=1, tls=False),
    "qos 1 without TLS, with loss": scenario(contender=MOSQUITTO, qos=1, tls=False, down=LOSSY),
    "qos 2": scenario(contender=MOSQUITTO, qos=2),
    "qos 2 of version 3.1.1, two publishers": scenario(
        contender=MOSQUITTO, qos=2, version="3.1.1", publishers=2, arrivals="poisson", spread="1s", topics=3
    ),
    "bursts": scenario(contender=MOSQUITTO, qos=1, arrivals="bursts", burst=5),
    "Nagle's algorithm": scenario(contender=f"{MOSQUITTO}+nagle", interval="10ms", messages=200),
}
THROUGH_MOCHI = {
    "tcp": scenario(contender=MOCHI, qos=1),
    "quic, qos 0": scenario(contender=QUIC, qos=0),
    "quic, qos 1 with loss": scenario(contender=QUIC, qos=1, down=LOSSY),
    "quic, qos 2": scenario(contender=QUIC, qos=2, forward="publish"),
    "quic to the subscriber alone": scenario(contender=MOCHI, delivery=QUIC, qos=1),
}
COUNTS = ("messages_published", "messages_delivered", "messages_duplicated", "bytes")
TIMES = ("handshake_s", "first_byte_s", "completion_s", "delivery_mean_s", "delivery_p50_s", "delivery_p99_s")


def run(what: Mapping[str, Any], seed: int = 1) -> str:
    return nodes.run(core.parse(what), seed, 0, "stack")


def flow(text: str) -> dict[str, Any]:
    result = json.loads(text)
    assert (result["status"], result["error"]) == ("ok", None)
    return dict(result["flows"][0])


def in_model(what: Mapping[str, Any]) -> dict[str, Any]:
    text = json.dumps(what).replace("@mosquitto", "").replace("@mochi", "")
    return flow(core.run(core.parse(json.loads(text)), 1, 0))


def check_against_linux(cases: Mapping[str, Mapping[str, Any]]) -> None:
    real = rigs.run(list(cases.values()), workers=1)
    for (case, what), found in zip(cases.items(), real, strict=True):
        ours, theirs = flow(run(what)), found["flows"][0]
        assert [ours[name] for name in COUNTS] == [theirs[name] for name in COUNTS], case
        # On a rig publishers resume the subscriber's TLS session, as they share its process: handshakes are shorter.
        for name in TIMES:
            near = 0.005 if name.startswith(("delivery", "completion")) else 0.02
            assert ours[name] == pytest.approx(theirs[name], rel=near), (case, name)
        assert ours["messages_dropped"] is None
        assert ours["wire_bytes"] == pytest.approx(theirs["wire_bytes"], abs=700), case
        assert ours["sent_packets"] == pytest.approx(theirs["sent_packets"], abs=5), case
        assert ours["retransmitted_packets"] == theirs["retransmitted_packets"], case


@needs_mosquitto
@needs_node
def test_mosquitto_carries_messages_as_on_a_rig() -> None:
    check_against_linux(CASES)


@needs_mochi
@needs_node
def test_mochi_carries_messages_as_on_a_rig() -> None:
    check_against_linux(THROUGH_MOCHI)


@needs_mosquitto
@needs_node
@pytest.mark.parametrize("case", [case for case in CASES if "Nagle" not in case])
def test_messages_take_as_long_as_in_the_model(case: str) -> None:
    ours, real = in_model(CASES[case]), flow(run(CASES[case]))
    assert [ours[name] for name in COUNTS] == [real[name] for name in COUNTS]
    assert set(ours) == set(real)
    for name in TIMES:
        # QoS 1 without loss differs by hundredths of a percent; with loss acknowledgements may share other packets.
        near = 0.01 if "loss" not in case else 0.02
        assert real[name] == pytest.approx(ours[name], rel=near), name


@needs_node
@pytest.mark.parametrize("contender", [MOSQUITTO, MOCHI, QUIC])
def test_a_run_repeats_to_the_byte(contender: str) -> None:
    name = core.contender(contender)
    if lacking := base.missing(programs.every()[name["transport"], name["implementation"]]):
        pytest.skip(f"{', '.join(lacking)} is not there: {lacking}")
    what = scenario(contender=contender, qos=1, down=LOSSY)
    first = run(what)
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda _: run(what), range(2))) == [first, first]
    assert run(what, seed=2) != first


@needs_mosquitto
@needs_node
def test_flows_share_a_broker_and_each_has_its_packets() -> None:
    what = scenario(contender=MOSQUITTO, qos=1)
    (first,) = what["flows"]
    what["flows"].append({**first, "mqtt": {**first["mqtt"], "qos": 2, "tls": False, "messages": 30}})
    result = json.loads(run(what))
    assert (result["status"], result["error"]) == ("ok", None)
    one, other = result["flows"]
    assert (one["messages_delivered"], other["messages_delivered"]) == (60, 30)
    alone = flow(run(scenario(contender=MOSQUITTO, qos=1)))
    assert one["wire_bytes"] == pytest.approx(alone["wire_bytes"], rel=0.01)


@needs_mosquitto
@needs_node
def test_a_flow_without_an_end_counts_the_measured_time() -> None:
    what = scenario(contender=MOSQUITTO, qos=1, messages=None) | {"duration": "9s", "measure_from": "7s"}
    ours, real = in_model(what), flow(run(what))
    # 40 messages of 500 bytes came in these 2 s.
    assert (real["bytes"], real["goodput_bps"], real["completion_s"]) == (20_000, 80_000, None)
    assert real["bytes"] == ours["bytes"]
    assert real["messages_published"] == ours["messages_published"]
    assert real["throughput_bps"] == pytest.approx(ours["throughput_bps"], rel=0.01)


@needs_mosquitto
@needs_node
def test_a_publisher_connects_again_and_what_is_lost_is_given_up() -> None:
    gone = {"outage": [{"from": "6s", "to": "20s"}]}
    what = scenario(contender=MOSQUITTO, qos=1, keep_alive="2s")
    what["topology"]["links"][0]["link"] |= gone
    again = flow(run(what))
    assert again["messages_delivered"] == 60
    assert 14 < again["delivery_max_s"] < 25
    what = scenario(contender=MOSQUITTO, qos=0, keep_alive="2s", session="clean", wait="3s")
    what["topology"]["links"][0]["link"] |= gone
    result = json.loads(run(what))
    (lost,) = result["flows"]
    assert (lost["status"], lost["messages_published"]) == ("ok", 60)
    assert 0 < lost["messages_delivered"] < 30
    assert lost["messages_lost"] == 60 - lost["messages_delivered"]
    # The last message is published 5 + 0.15 + 59 x 0.05 s after the beginning.
    assert result["virtual_s"] == pytest.approx(8.1 + 3, abs=0.1)


@needs_mosquitto
@needs_node
def test_a_flow_that_fails_says_why() -> None:
    what = scenario(contender=MOSQUITTO, qos=1)
    (cut,) = json.loads(run(what | {"time_limit": "6s"}))["flows"]
    assert cut["status"] == "failed"
    assert cut["error"] == "not finished in time: 17 of 17 messages came; give time_limit more"
    what = scenario(contender=MOSQUITTO, qos=1, down={"loss": "100%"})
    result = json.loads(run(what | {"time_limit": "60s"}))
    assert result["error"] == "flow 0: no publisher was accepted: none tried"


@needs_mosquitto
@needs_node
@pytest.mark.parametrize(
    ("what", "field", "message"),
    [
        (scenario(contender=MOSQUITTO, sleep=True), "mqtt.sleep", "real clients have no sleep yet"),
        (scenario(contender=MOSQUITTO, delivery="tcp@mosquitto/cubic-sack"), "mqtt.delivery", "one set of switches"),
        (scenario(contender=MOSQUITTO, delivery="tcp/cubic"), "mqtt.delivery", "the same implementation"),
        (scenario(contender=MOSQUITTO, delivery="tcp@mosquitto/bbr"), "mqtt.delivery", "one congestion control"),
        (scenario(contender=MOSQUITTO, qos=2, forward="publish"), "mqtt.qos", "once they are released"),
        (scenario(contender="tcp@hyper/cubic"), "contender", "is no broker of MQTT"),
    ],
)
def test_what_a_broker_cannot_do_is_refused(what: dict[str, Any], field: str, message: str) -> None:
    with pytest.raises(core.ScenarioProblem, match=message) as problem:
        fidelity.check("stack", core.parse(what))
    assert problem.value.path == f"flows[0].{field}"


@needs_mosquitto
@needs_node
def test_a_broker_is_a_program_or_the_models() -> None:
    what = scenario(contender=MOSQUITTO)
    what["flows"].append({**what["flows"][0], "contender": "tcp/cubic"})
    with pytest.raises(core.ScenarioProblem, match="the same implementation") as problem:
        fidelity.check("stack", core.parse(what))
    assert problem.value.path == "flows[1].contender"
    what = {
        "topology": {"kind": "point-to-point", "link": {"rate": "20Mbit/s", "delay": "20ms"}},
        "flows": [{"contender": MOSQUITTO, "app": "https", "size": "1MB"}],
    }
    with pytest.raises(core.ScenarioProblem, match="give the flow a table mqtt"):
        fidelity.check("stack", core.parse(what))
