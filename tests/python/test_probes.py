"""Probes: in scenarios, in `haltere compare`, in the tables of results."""

from __future__ import annotations

import json

import pytest

import haltere as package
from conftest import Haltere
from haltere import probes
from haltere.cli import latency
from haltere.comparison import measure
from haltere.conditions import Conditions
from haltere.errors import InputError
from haltere.scenario import Scenario

SHARED = Conditions(
    rate="10Mbit/s",
    down_delay="10ms",
    up_delay="0ms",
    queue="100p",
    app="raw",
    share=True,
    duration="12s",
    flows=3,
    probe="icmp:1450B:1s",
)
EMPTY_RTT_MS = 10 + 2 * 1478 * 8 / 10e3


def test_a_probe_is_read_from_its_text() -> None:
    assert probes.parse("icmp:1450B:1s") == {"kind": "icmp", "size": "1450B", "interval": "1s"}
    assert probes.parse("udp:56B:10ms:free-running")["mode"] == "free-running"
    assert "mode" not in probes.parse("udp:56B:10ms:stop-and-wait")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("icmp", "1 part"),
        ("arp:1B:1s", "no kind of probe"),
        ("icmp::1s", "no size"),
        ("icmp:1B:", "no interval"),
        ("icmp:1B:1s:fast", "no mode"),
        ("icmp:1480B:1s", "at most 1472B"),
        ("icmp:x:1s", "is not a size"),
        ("icmp:1B:0s", "too short"),
    ],
)
def test_an_error_names_the_option(text: str, says: str) -> None:
    with pytest.raises(InputError) as raised:
        Conditions(probe=text).scenario(["tcp/cubic"])
    assert raised.value.field == "--probe"
    assert says in str(raised.value)


def test_flows_that_share_have_an_entry_each_and_the_same_probe() -> None:
    entries = measure(["tcp/cubic"], SHARED, replications=2)
    assert [(entry["contender"], entry["replication"]) for entry in entries] == [("tcp/cubic", 0)] * 3 + [
        ("tcp/cubic", 1)
    ] * 3
    assert entries[0]["probe_rtt_ms"] == entries[2]["probe_rtt_ms"] != entries[3]["probe_rtt_ms"]
    first, *later = entries[0]["probe_rtt_ms"]
    assert first == pytest.approx(EMPTY_RTT_MS)
    full = EMPTY_RTT_MS + 100 * 1500 * 8 / 10e3
    assert all(0.3 * full < rtt < full + 1.5 for rtt in later if rtt is not None)


def test_several_flows_that_do_not_share_are_one_entry() -> None:
    conditions = Conditions(rate="10Mbit/s", rtt="20ms", size="1MB", app="raw", flows=4, probe="udp:100B:100ms")
    (entry,) = measure(["tcp/cubic"], conditions, replications=1)
    assert entry["bytes"] == 4_000_000
    assert entry["completion_s"] > 4 * 8 / 10
    assert entry["goodput_bps"] == pytest.approx(8 * 4e6 / entry["completion_s"])
    assert len(entry["probe_rtt_ms"]) > 10


def test_without_a_probe_nothing_is_added() -> None:
    conditions = Conditions(size="100kB")
    assert "probes" not in conditions.data(["tcp/cubic"])
    assert "probe_rtt_ms" not in measure(["tcp/cubic"], conditions, replications=1)[0]
    assert "probe_rtt_ms" not in package.compare(["tcp/cubic"], size="100kB", replications=1).columns
    frame = package.compare(["tcp/cubic"], size="100kB", replications=1, probe="tcp:100B:10ms")
    assert frame["probe_rtt_ms"].list.len().item() > 1


def test_a_kernel_refuses_probes() -> None:
    with pytest.raises(InputError, match="simulator only"):
        Conditions(probe="icmp:56B:1s", app="raw", fidelity="linux").scenario(["tcp@linux/cubic"])


def test_the_command_tells_the_latency(haltere: Haltere) -> None:
    options = "--rate 10Mbit/s --rtt 20ms --size 1MB --app raw --probe icmp:56B:50ms --replications 2"
    said = haltere(*f"compare tcp/cubic tcp/bbr {options}".split())
    assert "RTT under load" in said.stdout
    assert "has the lowest mean RTT under load" in said.stdout
    entries = json.loads(haltere(*f"compare tcp/cubic {options} --json".split()).stdout)
    assert len(entries) == 2 and all(len(entry["probe_rtt_ms"]) > 5 for entry in entries)


def test_lost_probes_have_no_rtt() -> None:
    entries = [{"contender": "a", "probe_rtt_ms": [1.0, None, 3.0]}]
    assert latency.cells(entries) == ("2", "2.900", "33.33")
    lost = [{"contender": "a", "probe_rtt_ms": [None]}]
    assert latency.cells(lost) == ("–", "–", "100")
    assert latency.sentence(lost) == "RTT under load: no probe was answered"


def test_a_trace_has_the_probes_rtt() -> None:
    scenario = Scenario({**SHARED.data(["tcp/cubic"]), "duration": "11s"})
    series = package.trace(scenario).series
    rtts = series.filter((series["who"] == "probe 0") & (series["name"] == "rtt"))
    assert rtts.height >= 8
