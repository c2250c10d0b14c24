"""MQTT through real brokers, held against the model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

import rigs
from haltere import core, fidelity
from haltere.rig import programs
from haltere.rig.programs import base


def scenario(
    *, contender: str = "tcp/cubic", forward: str | None = None, down: Mapping[str, Any] | None = None, **mqtt: Any
) -> dict[str, Any]:
    """A publisher behind a slow link, with losses in both directions."""
    made: dict[str, Any] = {
        "topology": {
            "kind": "graph",
            "links": [
                {
                    "name": "bottleneck",
                    "from": "publisher",
                    "to": "broker",
                    "link": {"rate": "10Mbit/s", "down": {"delay": "30ms"} | dict(down or {}), "up": {"delay": "20ms"}},
                },
                {"from": "broker", "to": "subscriber", "link": {"rate": "1Gbit/s", "delay": "0ms"}},
            ],
        },
        "flows": [
            {
                "contender": contender,
                "client": "publisher",
                "server": "broker",
                "mqtt": {"subscriber": "subscriber", "messages": 60, "interval": "50ms", **mqtt},
            }
        ],
    }
    if forward is not None:
        made["brokers"] = [{"node": "broker", "forward": forward}]
    return made


LOSSY = {"loss": "2%"}
NAGLE = "Nagle's algorithm"
CASES = {
    "qos 0": scenario(qos=0, down=LOSSY),
    "qos 1, random arrivals of two publishers": scenario(
        qos=1, publishers=2, arrivals="poisson", spread="1s", topics=3
    ),
    "qos 2 of version 3.1.1": scenario(qos=2, version="3.1.1"),
    "without TLS": scenario(qos=1, tls=False, down=LOSSY),
    NAGLE: scenario(contender="tcp/cubic+nagle", interval="10ms", messages=200),
    "bursts": scenario(qos=1, arrivals="bursts", burst=5),
}
needs_mosquitto = pytest.mark.skipif(
    base.find("mosquitto") is None, reason="mosquitto is not there: install the package mosquitto"
)


def model(what: Mapping[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(core.run(core.parse(what), 1, 0))
    return result["flows"][0]


@pytest.fixture(scope="module")
def through_mosquitto() -> dict[str, dict[str, Any]]:
    results = rigs.run(list(CASES.values()), workers=1)
    assert [result["error"] for result in results] == [None] * len(CASES)
    return {name: result["flows"][0] for name, result in zip(CASES, results, strict=True)}


@needs_mosquitto
@rigs.needs_kernel
@pytest.mark.parametrize("case", [case for case in CASES if case != NAGLE])
def test_messages_take_as_long_as_in_the_model(case: str, through_mosquitto: dict[str, dict[str, Any]]) -> None:
    ours, real = model(CASES[case]), through_mosquitto[case]
    for name in ("messages_published", "messages_delivered", "messages_duplicated", "bytes"):
        assert real[name] == ours[name], name
    # The last message shows that arrivals are the model's.
    for name, near in (
        ("handshake_s", 0.01),
        ("delivery_p50_s", 0.01),
        ("delivery_mean_s", 0.02),
        ("completion_s", 0.01),
    ):
        assert real[name] == pytest.approx(ours[name], rel=near), name
    assert real["messages_dropped"] is None
    assert real["sent_packets"] == pytest.approx(ours["sent_packets"], rel=0.1)


@needs_mosquitto
@rigs.needs_kernel
def test_without_nodelay_messages_wait_for_each_other(through_mosquitto: dict[str, dict[str, Any]]) -> None:
    ours, real = model(CASES[NAGLE]), through_mosquitto[NAGLE]
    # Five of them come in a round trip. (Handshakes differ: studies/agreement-mqtt.)
    assert real["sent_packets"] < real["messages_delivered"] / 2
    for name in ("sent_packets", "delivery_p50_s", "delivery_mean_s"):
        assert real[name] == pytest.approx(ours[name], rel=0.1), name


@rigs.needs_kernel
def test_messages_pass_through_a_broker_over_quic() -> None:
    if lacking := base.missing(programs.every()["quic", "mochi"]):
        pytest.skip(f"haltere-mochi is not there: {lacking}")
    what = scenario(contender="quic@mochi/cubic", qos=2, forward="publish")
    (result,) = rigs.run([what], workers=1)
    assert result["error"] is None
    ours, real = model({**what, "flows": [what["flows"][0] | {"contender": "quic/cubic"}]}), result["flows"][0]
    assert real["messages_delivered"] == 60
    assert real["delivery_p50_s"] == pytest.approx(ours["delivery_p50_s"], rel=0.02)


@needs_mosquitto
@pytest.mark.parametrize(
    ("what", "field", "message"),
    [
        (scenario(sleep=True), "mqtt.sleep", "real clients have no sleep yet"),
        (scenario(delivery="tcp/cubic-sack"), "mqtt.delivery", "one set of switches"),
        (scenario(qos=2, forward="publish"), "mqtt.qos", "passes messages of QoS 2 on once they are released"),
        (scenario(contender="tcp@hyper/cubic"), "contender", "is no broker of MQTT"),
    ],
)
def test_what_a_broker_cannot_do_is_refused(what: dict[str, Any], field: str, message: str) -> None:
    with pytest.raises(core.ScenarioProblem, match=message) as problem:
        fidelity.check("linux", core.parse(what))
    assert problem.value.path == f"flows[0].{field}"


def test_clients_are_told_the_models_arrivals() -> None:
    (clients,) = json.loads(core.parse(CASES["qos 1, random arrivals of two publishers"]).mqtt_clients(1, 0))
    first, second = clients["publishers"]
    assert 5e9 <= first["start_ns"] < 6e9
    assert first["start_ns"] != second["start_ns"]
    assert first["messages"][0] == [0, 500]
    gaps = [after[0] - before[0] for before, after in zip(first["messages"], first["messages"][1:], strict=False)]
    assert 30e6 < sum(gaps) / len(gaps) < 80e6
    assert len(set(gaps)) == len(gaps) == 59
    steady = json.loads(core.parse(scenario(messages=None) | {"duration": "7s"}).mqtt_clients(1, 0))[0]
    assert [at for at, _ in steady["publishers"][0]["messages"][:3]] == [0, 50_000_000, 100_000_000]
