"""The radio of a publisher in results and metrics."""

from __future__ import annotations

from typing import Any

import pytest

from haltere import Scenario, run
from haltere.metrics import METRICS
from haltere.results import tables

SCENARIO = """
[topology]
kind = "graph"
links = [
    { from = "sensor", to = "broker", link = { rate = "10Mbit/s", delay = "50ms" } },
    { from = "broker", to = "subscriber", link = { delay = "0ms" } },
]
[[flows]]
contender = "quic/cubic"
server = "broker"
client = "sensor"
radio = "RADIO"
mqtt = { subscriber = "subscriber", messages = 3, interval = "10s" }
"""


def flow(radio: str) -> dict[str, Any]:
    (row,) = run(Scenario.from_toml(SCENARIO.replace("RADIO", radio)), seed=1).flows.to_dicts()
    return row


def test_the_columns_of_a_radio_are_those_of_the_table_and_metrics_name_them() -> None:
    row = flow("lte")
    assert {key for key in row if key.startswith("radio_")} == set(tables.RADIO)
    for name in ("radio_on", "radio_energy", "radio_bytes"):
        assert METRICS[name].column in tables.RADIO
    # A message every 10 s comes before LTE's tail of 11.576 s is over: two intervals, a tail and a promotion.
    assert row["radio_on_s"] == pytest.approx(20 + 11.576 + 0.2601, abs=0.3)


def test_wifi_is_off_between_messages_and_takes_less() -> None:
    lte, wifi = flow("lte"), flow("wifi")
    assert (lte["radio_promotions"], wifi["radio_promotions"]) == (1, 3)
    for name in ("radio_on_s", "radio_energy_estimate_j"):
        assert lte[name] > 10 * wifi[name], name
    assert lte["radio_bytes"] == wifi["radio_bytes"]
