"""Data files of flent: what they say, and that the same trace gives the same bytes."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import haltere
from haltere import Trace
from haltere.export import flent
from haltere.scenario import Scenario

RATE = "10Mbit/s"


def both_ways(**over: Any) -> Scenario:
    """RRUL-like: two flows down, two up, a ping and a UDP probe, for 6 s."""
    flow = {"contender": "tcp/cubic", "app": "raw", "copies": 2}
    data: dict[str, Any] = {
        "duration": "6s",
        "topology": {"kind": "point-to-point", "link": {"rate": RATE, "delay": "10ms", "queue": "fq_codel"}},
        "flows": [flow, {**flow, "direction": "up"}],
        "probes": [
            {"kind": "icmp", "interval": "200ms", "mode": "free-running"},
            {"kind": "udp", "interval": "100ms", "mode": "free-running"},
        ],
    }
    return Scenario(data | over)


@pytest.fixture(scope="module")
def traced() -> Trace:
    return haltere.trace(both_ways(), seed=1)


def test_the_file_has_what_flent_reads(traced: Trace, tmp_path: Path) -> None:
    written = traced.flent(tmp_path / "rrul", title="both ways")
    assert written == tmp_path / "rrul.flent.gz"
    told = json.loads(gzip.decompress(written.read_bytes()))
    assert told["version"] == 4
    assert {"NAME", "TITLE", "TIME", "T0", "TOTAL_LENGTH", "STEP_SIZE", "DATA_FILENAME", "SERIES_META"} <= set(
        told["metadata"]
    )
    assert told["metadata"]["NAME"] == "rrul_be_nflows"
    assert told["metadata"]["TEST_PARAMETERS"] == {"download_streams": "2", "upload_streams": "2"}
    xs, results = told["x_values"], told["results"]
    assert (xs[0], xs[1], xs[-1]) == (0.0, 0.2, 6.0)
    assert {len(values) for values in results.values()} == {len(xs)}
    assert set(results) == {
        *(f"TCP {way} BE::{n}" for way in ("download", "upload") for n in (1, 2)),
        *(f"TCP {way} {what}" for way in ("download", "upload") for what in ("sum", "avg")),
        *("TCP totals", "Ping (ms) ICMP", "Ping (ms) UDP BE", "Ping (ms) avg"),
    }
    assert set(told["raw_values"]) == {name for name in results if "::" in name or name[-3:] in ("CMP", " BE")}
    assert written.read_bytes() == traced.flent(tmp_path / "again" / "rrul.flent.gz", title="both ways").read_bytes()


def test_rates_add_up_to_what_arrived_and_pings_to_what_was_measured(traced: Trace) -> None:
    told = flent.document(traced.data, "x")
    for way, flows in (("download", (0, 1)), ("upload", (2, 3))):
        for number, flow in enumerate(flows, 1):
            rates = told["results"][f"TCP {way} BE::{number}"]
            assert rates[0] is None
            carried = sum(rate * 1e6 / 8 * 0.2 for rate in rates[1:])
            assert carried == pytest.approx(traced.result.flows["bytes"][flow], abs=5)
        total = told["results"][f"TCP {way} sum"]
        assert 8 < total[-1] < 10
    answered = traced.result.probes.filter(probe_kind="icmp").drop_nulls("rtt_s")
    raw = told["raw_values"]["Ping (ms) ICMP"]
    assert [round(one["val"], 6) for one in raw] == [round(1e3 * rtt, 6) for rtt in answered["rtt_s"]]
    assert raw[0]["t"] == pytest.approx(answered["sent_s"][0] + answered["rtt_s"][0])
    values = told["results"]["Ping (ms) ICMP"]
    assert values[0] is None
    low, high = min(one["val"] for one in raw), max(one["val"] for one in raw)
    assert all(low <= value <= high for value in values[1:-1] if value is not None)
    assert sum(value is not None for value in values) > 20


@pytest.mark.parametrize(
    ("flows", "test", "series"),
    [
        ([{"contender": "tcp/cubic", "app": "raw", "size": "200kB"}], "tcp_ndown", "TCP download::1"),
        ([{"contender": "tcp/cubic", "app": "raw", "size": "200kB", "direction": "up"}], "tcp_nup", "TCP upload::1"),
    ],
)
def test_flows_of_one_way_are_another_test_and_count_to_their_end(
    flows: list[dict[str, str]], test: str, series: str
) -> None:
    told = flent.document(haltere.trace(both_ways(flows=flows), seed=1).data, "x")
    assert told["metadata"]["NAME"] == test
    rates = told["results"][series]
    assert sum(rate or 0 for rate in rates) * 1e6 / 8 * 0.2 == pytest.approx(200_000, abs=5)
    assert rates[0] is None and rates[1] > 0


def test_recording_does_not_change_what_is_recorded(traced: Trace) -> None:
    plain = haltere.run(both_ways(), seed=1)
    assert plain.data == traced.result.data
    assert plain.flows["direction"].to_list() == ["down", "down", "up", "up"]
    received = traced.series.filter(name="received", who="flow 2")
    assert received["v"].is_sorted() and received["v"][-1] == plain.flows["bytes"][2]
