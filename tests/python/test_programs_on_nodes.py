"""Real programs on Linux kernels that are hosts of the simulator, at fidelity `stack`."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from conftest import Haltere
from haltere import Scenario, core, fidelity, trace
from haltere.errors import HaltereError
from haltere.rig import nodes, programs
from haltere.rig.programs.base import Command
from rigs import needs_node

PAIRS = (
    "tcp@apache+wget2/cubic",
    "tcp@apache+wget2_http11/bbr",
    "tcp@nginx+curl/cubic",
    "tcp@caddy+curl/cubic",
    "tcp@hyper/cubic",
    "quic@ngtcp2/cubic",
    "quic@quicgo/newreno",
)
SIZE = 1_000_000


def scenario(*contenders: str, loss: str = "1%", **more: Any) -> core.Scenario:
    link = {"rate": "20Mbit/s", "delay": "20ms", "queue": "1bdp", "down": {"loss": loss}}
    flows = [{"contender": contender, "app": "https", "size": "1MB"} for contender in contenders]
    return core.parse({"topology": {"kind": "point-to-point", "link": link}, "flows": flows, **more})


def program_of(contender: str) -> Any:
    name = core.contender(contender)
    program = programs.every()[name["transport"], name["implementation"]]
    if program not in programs.available():
        pytest.skip(f"{name['implementation']} is not there: {programs.base.missing(program)}")
    return program


@needs_node
@pytest.mark.parametrize("contender", PAIRS)
def test_a_program_transfers_its_object_and_repeats(contender: str) -> None:
    program = program_of(contender)
    first = nodes.run(scenario(contender), 1, 0, "stack")
    result = json.loads(first)
    (flow,) = result["flows"]
    assert (result["status"], flow["error"], flow["bytes"]) == ("ok", None, SIZE)
    # 1 MB takes 0.4 s at 20 Mbit/s, after two round trips at least.
    assert 0.45 < flow["completion_s"] < 10
    assert flow["wire_bytes"] > SIZE * 1.03
    encrypted = program.transport == "quic"
    assert (flow["retransmitted_packets"] is None) == encrypted
    assert encrypted or (flow["retransmitted_packets"] > 0 and flow["min_rtt_s"] >= 0.04)
    if flow["handshake_s"] is not None:
        # TCP and TLS take a round trip each, QUIC one for both.
        assert (0.04 if encrypted else 0.08) <= flow["handshake_s"] < flow["first_byte_s"] < flow["completion_s"]
    assert nodes.run(scenario(contender), 1, 0, "stack") == first
    assert nodes.run(scenario(contender), 2, 0, "stack") != first


@needs_node
def test_a_program_uses_several_paths() -> None:
    paths = [{"rate": "10Mbit/s", "delay": delay} for delay in ("10ms", "30ms")]

    def completion(contender: str) -> float:
        flows = [{"contender": contender, "app": "https", "size": "2MB"}]
        document = {"topology": {"kind": "multipath", "paths": paths}, "flows": flows}
        result = json.loads(nodes.run(core.parse(document), 1, 0, "stack"))
        assert (result["status"], result["error"]) == ("ok", None)
        return float(result["flows"][0]["completion_s"])

    assert completion("mptcp@hyper/cubic") < 0.75 * completion("tcp@hyper/cubic")


@needs_node
def test_a_switch_of_the_kernel_reaches_a_program() -> None:
    program_of("tcp@nginx+curl/cubic")
    link = {"rate": "100Mbit/s", "delay": "50ms"}

    def completion(contender: str) -> float:
        flows = [{"contender": contender, "app": "https", "size": "500kB"}]
        document = {"topology": {"kind": "point-to-point", "link": link}, "flows": flows}
        return float(json.loads(nodes.run(core.parse(document), 1, 0, "stack"))["flows"][0]["completion_s"])

    # A first window of 40 segments saves two round trips.
    saved = completion("tcp@nginx+curl/cubic") - completion("tcp@nginx+curl/cubic+initial-window=40")
    assert saved == pytest.approx(0.2, abs=0.03)


@needs_node
def test_two_runs_at_once_are_the_same() -> None:
    contender = "tcp@nginx+curl/cubic"
    program_of(contender)
    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(lambda _: nodes.run(scenario(contender), 1, 0, "stack"), range(2))
    assert one == other


@needs_node
def test_a_comparison_has_programs_kernels_and_models_side_by_side(haltere: Haltere) -> None:
    contenders = ("tcp@nginx+curl/cubic", "tcp@linux/cubic", "tcp/cubic")
    program_of(contenders[0])
    answer = haltere("compare", *contenders, "--fidelity", "stack", "--size", "200kB", "--replications", "3")
    assert answer.returncode == 0, answer.stderr
    assert all(contender in answer.stdout for contender in contenders)


@needs_node
def test_a_flow_that_goes_on_has_what_packets_tell() -> None:
    contender = "tcp@nginx+curl/bbr"
    program_of(contender)
    link = {"rate": "20Mbit/s", "delay": "20ms", "queue": "1bdp"}
    flows = [{"contender": one, "app": "https", "pair": pair} for pair, one in enumerate((contender, "tcp/cubic"))]
    topology = {"kind": "dumbbell", "pairs": 2, "bottleneck": link}
    document = {"topology": topology, "flows": flows, "duration": "15s", "measure_from": "5s"}
    result = json.loads(nodes.run(core.parse(document), 1, 0, "stack"))
    assert (result["status"], result["error"]) == ("ok", None)
    goodputs = [flow["goodput_bps"] for flow in result["flows"]]
    assert min(goodputs) > 1e6
    assert 15e6 < sum(goodputs) < 20e6
    assert [flow["completion_s"] for flow in result["flows"]] == [None, None]


@needs_node
def test_a_trace_has_a_program_and_its_capture(tmp_path: Path) -> None:
    contender = "tcp@nginx+curl/cubic"
    program_of(contender)
    document = {
        "topology": {"kind": "point-to-point", "link": {"rate": "20Mbit/s", "delay": "20ms"}},
        "flows": [{"contender": contender, "app": "https", "size": "1MB"}],
    }
    traced = trace(Scenario(document, fidelity="stack"), pcap=tmp_path)
    assert traced.result.status == "ok"
    assert any(one["name"] == "received" and one["v"][-1] > SIZE for one in traced.data["series"])
    assert max(file.stat().st_size for file in tmp_path.iterdir()) > SIZE


@needs_node
def test_a_client_that_fails_says_why() -> None:
    contender = "tcp@nginx+curl/cubic"
    program_of(contender)
    result = json.loads(nodes.run(scenario(contender, loss="100%", time_limit="400s"), 1, 0, "stack"))
    (flow,) = result["flows"]
    assert flow["status"] == "failed"
    assert "the client program ended with status 28: curl: (28) Failed to connect" in flow["error"]
    assert result["error"] == f"flow 0: {flow['error']}"
    result = json.loads(nodes.run(scenario(contender, loss="0%", time_limit="300ms"), 1, 0, "stack"))
    assert "not finished after 300ms" in result["error"]
    assert "time_limit" in result["error"]


def refused(*contenders: str, **flow: Any) -> str:
    flows = [{"contender": contender, "app": "https", "size": "1MB", **flow} for contender in contenders]
    document = {"topology": {"kind": "point-to-point", "link": {"rate": "20Mbit/s", "delay": "20ms"}}, "flows": flows}
    with pytest.raises((core.ScenarioProblem, HaltereError)) as caught:
        fidelity.check("stack", core.parse(document))
    return str(caught.value)


def test_what_cannot_be_is_refused_before_the_run_with_the_remedy() -> None:
    assert "production stacks are" in refused("quic@lsquic/cubic")
    assert 'choose fidelity "testbed"' in refused("tcp@hyper+chromium/cubic")
    assert "tcp@linux/" in refused("tcp@nginx+curl/cubic-delack")


@needs_node
def test_what_a_kernel_or_a_program_lacks_is_refused_with_the_remedy() -> None:
    program_of("tcp@nginx+curl/cubic")
    assert 'write app = "https"' in refused("tcp@nginx+curl/cubic", app="raw")
    assert "hosts of its own" in refused("tcp@nginx+curl/cubic", "tcp@nginx+curl/bbr")
    assert 'choose fidelity "linux"' in refused("tcp@scp/cubic", app="raw")
    program_of("quic@ngtcp2/cubic")
    assert "it has newreno, cubic, bbr, bbr2" in refused("quic@ngtcp2/vegas")


def test_a_program_that_is_not_there_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs.base, "find", lambda _: None)
    assert "apt-get install nginx-light" in refused("tcp@nginx+curl/cubic")


def test_a_program_that_a_kernel_does_not_see_is_refused_with_the_remedy() -> None:
    def launched(program: str) -> dict[str, Any]:
        return nodes._launch(Command((program, "-m", "one")), Path("/run/home/flow0"), "client")

    for seen in ("/usr/bin/python3", "/run/home/flow0/own"):
        assert launched(seen)["argv"][0] == seen
    for folder in ("/tmp/clone/.venv/bin", "/var/tmp"):
        with pytest.raises(core.ScenarioProblem, match=r"lies below .*put haltere and its Python elsewhere"):
            launched(f"{folder}/python")


@needs_node
def test_nothing_stays_behind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program_of("tcp@nginx+curl/cubic")
    monkeypatch.setattr(nodes, "_memory", lambda: str(tmp_path))
    for name in ("haltere-programs-old", "haltere-programs-new", "else"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
    for name in ("haltere-programs-old", "else"):
        os.utime(tmp_path / name, (1, 1))
    assert json.loads(nodes.run(scenario("tcp@nginx+curl/cubic"), 1, 0, "stack"))["status"] == "ok"
    # A young folder may be of a run that has just begun.
    assert sorted(path.name for path in tmp_path.iterdir()) == ["else", "haltere-programs-new"]
