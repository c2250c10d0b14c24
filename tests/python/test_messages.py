"""Traces of MQTT's messages: from a file to a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from haltere import InputError, Scenario, run


def scenario(trace: Any, folder: Path) -> Scenario:
    link = {"rate": "10Mbit/s", "delay": "5ms"}
    links = [{"from": "a", "to": "b", "link": link}, {"from": "b", "to": "c", "link": link}]
    mqtt = {"subscriber": "c", "arrivals": "trace", "trace": trace}
    flow = {"contender": "tcp/cubic", "server": "b", "client": "a", "mqtt": mqtt}
    return Scenario({"topology": {"kind": "graph", "links": links}, "flows": [flow]}, folder=folder)


def test_a_production_stack_carries_messages(tmp_path: Path) -> None:
    data = scenario([["0s", "100B"], ["1s", "200B"]], tmp_path).data
    for streams in ("one", "topic", "message"):
        mqtt = {**data["flows"][0]["mqtt"], "streams": streams, "qos": 2}
        flow = {**data["flows"][0], "contender": "quic@quinn/cubic", "mqtt": mqtt}
        found = run(Scenario({**data, "flows": [flow]}, fidelity="stack"))
        assert (found.status, found.error) == ("ok", None)
        assert found.flows["messages_delivered"].to_list() == [2]
        assert found.flows["messages_duplicated"].to_list() == [0]


def test_a_file_has_times_and_sizes(tmp_path: Path) -> None:
    (tmp_path / "sensor.csv").write_text("time,bytes\n0,100\n0.5,200\n\n2.25,300\n")
    found = run(scenario("sensor.csv", tmp_path))
    given = run(scenario([["0s", "100B"], ["500ms", "200B"], ["2250ms", "300B"]], tmp_path))
    assert found.data == given.data
    assert found.flows["messages_delivered"].to_list() == [3]
    assert found.flows["bytes"].to_list() == [600]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1,2\nx,3\n", "wrong line 2"),
        ("1,2,3\n4,5\n6,x\n", "wrong line 3"),
        ("a,b\n", "no message"),
        (None, "cannot be read"),
    ],
)
def test_another_file_is_refused(text: str | None, said: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "sensor.csv").write_text(text)
    with pytest.raises(InputError, match=said) as wrong:
        scenario("sensor.csv", tmp_path)
    assert "flows[0].mqtt.trace" in str(wrong.value)
