"""Probes: in scenarios, in `haltere compare`, in the tables of results."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import polars as pl
import pytest

import haltere as package
from conftest import ROOT, Haltere
from haltere import Study, core
from haltere.adhoc import probes
from haltere.adhoc.comparison import measure
from haltere.adhoc.conditions import Conditions
from haltere.cli.compare import cells, sentence
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
    assert probes.parse("udp:56B:10ms:stop-and-wait")["mode"] == "stop-and-wait"
    assert "mode" not in probes.parse("udp:56B:10ms:free-running")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("icmp", "lacks a size and an interval"),
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
    assert raised.value.field == "probe"
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


def test_a_kernel_takes_probes_that_have_room_for_a_number() -> None:
    conditions = Conditions(probe="icmp:56B:1s", app="raw", fidelity="linux")
    assert conditions.scenario(["tcp@linux/cubic"]).data["probes"]
    with pytest.raises(InputError, match="at least 8B"):
        Conditions(probe="icmp:4B:1s", app="raw", fidelity="linux").scenario(["tcp@linux/cubic"])


def test_the_command_tells_the_latency(haltere: Haltere) -> None:
    options = "--rate 10Mbit/s --rtt 20ms --size 1MB --app raw --probe icmp:56B:50ms --replications 2"
    said = haltere(*f"compare tcp/cubic tcp/bbr {options}".split())
    assert "RTT under load" in said.stdout
    assert "has the lowest mean RTT under load" in said.stdout
    entries = json.loads(haltere(*f"compare tcp/cubic {options} --json".split()).stdout)
    assert len(entries) == 2 and all(len(entry["probe_rtt_ms"]) > 5 for entry in entries)


def test_lost_probes_have_no_rtt() -> None:
    entries = [{"contender": "a", "probe_rtt_ms": [1.0, None, 3.0]}]
    assert cells(entries) == ("2", "2.900", "33.33")
    lost = [{"contender": "a", "probe_rtt_ms": [None]}]
    assert cells(lost) == ("–", "–", "100")
    assert sentence(lost) == "RTT under load: no probe was answered"


def test_a_trace_has_the_probes_rtt() -> None:
    scenario = Scenario({**SHARED.data(["tcp/cubic"]), "duration": "11s"})
    series = package.trace(scenario).series
    rtts = series.filter((series["who"] == "probe 0") & (series["name"] == "rtt"))
    assert rtts.height >= 8


STUDY = """
[study]
name = "probed"
title = "Probes beside flows"
question = "How long do they wait?"
seed = 5
replications = 2

[experiments.base]
[experiments.base.factors]
queue = ["50p", "100p"]

[experiments.base.scenario]
duration = "6s"
topology = { kind = "point-to-point", link = { rate = "10Mbit/s", delay = "5ms", queue = "{queue}" } }

[[experiments.base.scenario.flows]]
contender = "tcp/cubic"
app = "raw"

[[experiments.base.scenario.probes]]
kind = "icmp"
size = "100B"
interval = "500ms"

[[experiments.base.scenario.loads]]
kind = "on-off"
rate = "1Mbit/s"
on = "100ms"
off = "100ms"
"""


def test_results_have_tables_of_probes_and_loads(tmp_path: Path) -> None:
    folder = tmp_path / "probed"
    folder.mkdir()
    (folder / "study.toml").write_text(STUDY)
    results = Study.load(folder).run(out=tmp_path / "out")
    assert results.latency.height == results.loads.height == 4
    assert {"queue", "replication", "rtt_mean_s", "rpm"} <= set(results.latency.columns)
    assert results.probes.columns == ["run_id", "probe", "probe_kind", "sent_s", "rtt_s"]
    for row in results.latency.iter_rows(named=True):
        rtts = results.probes.filter(pl.col("run_id") == row["run_id"])["rtt_s"]
        assert rtts.len() == row["answered"] + row["lost"] > 5
        assert rtts.mean() == pytest.approx(row["rtt_mean_s"])
        assert rtts.median() == pytest.approx(row["rtt_median_s"])
    again = package.load(tmp_path / "out")
    assert again.probes.equals(results.probes) and (tmp_path / "out" / "probes.parquet").exists()


def test_without_probes_there_are_no_tables_of_them(tmp_path: Path) -> None:
    folder = tmp_path / "probed"
    folder.mkdir()
    (folder / "study.toml").write_text(STUDY.partition("[[experiments.base.scenario.probes]]")[0])
    results = Study.load(folder).run(out=tmp_path / "out")
    assert not (tmp_path / "out" / "probes.parquet").exists()
    assert results.latency.is_empty() and "rtt_mean_s" in results.latency.columns


def scenario(load: dict[str, object], folder: Path) -> Scenario:
    topology = {"kind": "point-to-point", "link": {"rate": "10Mbit/s", "delay": "5ms"}}
    data = {"topology": topology, "duration": "10s", "loads": [{"kind": "replay", **load}]}
    return Scenario(data, folder=folder)


def test_a_capture_is_replayed_with_its_timing() -> None:
    example = ROOT / "docs" / "how-to" / "captures" / "page.pcapng"
    packets = core.capture(example.read_bytes())
    found = package.run(scenario({"capture": "page.pcapng", "ways": "two", "gap": "1s", "count": 1}, example.parent))
    assert found.loads["sent_packets"].sum() == len(packets["len"])
    assert found.loads["sent_bytes"].sum() == sum(packets["len"])
    assert found.data["virtual_s"] == pytest.approx(packets["span_ns"] / 1e9 + 1, abs=0.1)


def test_a_file_that_is_no_capture_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.pcap").write_text("no packets")
    for name, says in (("text.pcap", "neither pcap nor pcapng"), ("missing.pcap", "cannot be read")):
        with pytest.raises(InputError, match=says) as raised:
            scenario({"capture": name}, tmp_path)
        assert raised.value.field == "loads[0].capture"


def test_the_tables_of_one_run() -> None:
    found = package.run(Scenario({**SHARED.data(["tcp/cubic"]), "duration": "11s"}))
    assert found.latency["probe_kind"].to_list() == ["icmp"]
    assert found.probes.height == found.latency["answered"].item() + found.latency["lost"].item()
    assert found.loads.is_empty()


def test_the_scenarios_of_the_page_can_be_run() -> None:
    text = (ROOT / "docs" / "how-to" / "probes.md").read_text()
    blocks = re.findall(r"^```toml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 3
    for block in blocks:
        topology = {"kind": "point-to-point", "link": {"rate": "100Mbit/s", "delay": "5ms", "queue": "1000p"}}
        data = {"topology": topology, "duration": "3s", **tomllib.loads(block)}
        assert package.run(Scenario(data, folder=ROOT / "docs" / "how-to")).status == "ok", block


def test_scenarios_in_python_have_probes_and_loads() -> None:
    found = package.run(
        Scenario.point_to_point(
            ["tcp/cubic"],
            rate="10Mbit/s",
            down_delay="5ms",
            up_delay="5ms",
            size="1MB",
            probes=[{"kind": "udp", "interval": "100ms"}, {"kind": "tcp", "interval": "100ms"}],
            loads=[{"kind": "constant", "rate": "1Mbit/s"}],
        )
    )
    assert found.latency["probe_kind"].to_list() == ["udp", "tcp"]
    assert found.loads["received_packets"].item() > 50


@pytest.mark.parametrize(
    ("rtt", "queue", "flows", "kernel_ms"),
    [
        ("10ms", "1000p", 1, 746.3),
        ("10ms", "1000p", 10, 965.3),
        ("50ms", "100p", 1, 145.2),
        ("50ms", "100p", 10, 159.3),
    ],
)
def test_latency_under_load_is_that_of_a_kernel(rtt: str, queue: str, flows: int, kernel_ms: float) -> None:
    """The mean of three runs of 30 pings beside CUBIC on a Linux kernel, over 10 Mbit/s."""
    conditions = Conditions(
        rate="10Mbit/s",
        down_delay=rtt,
        up_delay="0ms",
        queue=queue,
        app="raw",
        share=True,
        duration="35s",
        flows=flows,
        probe="icmp:1450B:1s:free-running",
    )
    seen = [entry["probe_rtt_ms"][:30] for entry in measure(["tcp/cubic"], conditions, replications=3)]
    rtts = [rtt for run in seen for rtt in run]
    assert len(rtts) == 30 * 3 * flows and None not in rtts
    assert sum(rtts) / len(rtts) == pytest.approx(kernel_ms, rel=0.05)
