"""Fidelity `linux`: a real kernel in virtual time, held against the wall clock's measurements and against the model."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import pyroute2
import pytest

import cases
import haltere
from haltere import core
from haltere.executor import Task
from haltere.rig import kernel, programs
from haltere.rig.executor import RigExecutor, linux
from rigs import link, needs_kernel, run, scenario

pytestmark = needs_kernel
NOBODY = 65534


def test_loss_free_times_are_those_of_the_wall_clock() -> None:
    wanted = [c for c in cases.cases() if not c.lossy]
    results = run([json.loads(case.scenario().json) for case in wanted])
    errors = sorted(
        abs(math.log(result["flows"][0]["completion_s"] / case.measured["median_s"]))
        for case, result in zip(wanted, results, strict=True)
    )
    assert len(wanted) >= 10
    assert errors[int(0.9 * len(errors))] < 0.01


def test_one_seed_gives_one_loss_pattern_in_the_kernel_in_the_emulator_and_in_the_model() -> None:
    by_kernel, again, by_emulator = run(
        [scenario(loss="2%"), scenario(loss="2%"), scenario(loss="2%", links="haltere")], workers=1
    )
    model = json.loads(core.run(core.parse(scenario(loss="2%")), 1, 0))
    drops = [link(result)["dropped_loss"] for result in (by_kernel, again, by_emulator, model)]
    assert drops[0] == drops[1] == drops[3] > 0
    # Both runs of the kernel see the same packets at the same times; a clock read costs 256 ns of virtual time.
    first, second = (result["flows"][0] for result in (by_kernel, again))
    assert abs(first["completion_s"] - second["completion_s"]) < 20e-6
    same = ("sent_packets", "retransmitted_packets", "wire_bytes", "timeouts")
    assert [first[name] for name in same] == [second[name] for name in same]
    # The same ordinals are lost at the emulator, whose delays differ by microseconds: a tail may differ by a packet.
    assert abs(drops[2] - drops[0]) <= 1
    assert by_emulator["flows"][0]["completion_s"] == pytest.approx(first["completion_s"], rel=0.05)


def test_an_outage_begins_when_the_scenario_says() -> None:
    what = scenario(links="haltere", bottleneck={"outage": [{"from": "400ms", "to": "900ms"}]}, flow={"size": "4MiB"})
    (real,) = run([what])
    assert real["status"] == "ok", real["error"]
    model = json.loads(core.run(core.parse(what), 1, 0))
    lost = [link(result)["dropped_outage"] for result in (real, model)]
    assert lost[1] > 10
    assert abs(lost[0] - lost[1]) <= 3


def test_model_and_kernel_send_the_same_packets() -> None:
    plain = scenario(flow={"size": "4MiB"}, bottleneck={"queue": "100p"})
    (real,) = run([plain])
    model = json.loads(core.run(core.parse(plain), 1, 0))
    for name in ("sent_packets", "retransmitted_packets", "wire_bytes"):
        assert real["flows"][0][name] == pytest.approx(model["flows"][0][name], rel=0.02), name
    assert real["flows"][0]["completion_s"] == pytest.approx(model["flows"][0]["completion_s"], rel=0.02)
    down, modelled = link(real), link(model)
    assert down["max_queue_packets"] == modelled["max_queue_packets"] == 100
    assert down["dropped_queue"] == pytest.approx(modelled["dropped_queue"], abs=3)
    assert down["mean_queueing_delay_s"] == pytest.approx(modelled["mean_queueing_delay_s"], rel=0.1)


def test_any_topology_stands_and_flows_share_it() -> None:
    node = {"rate": "20Mbit/s", "delay": "5ms"}
    chain = {
        "topology": {
            "kind": "graph",
            "links": [
                {"from": "s", "to": "r1", "link": {"rate": "100Mbit/s"}},
                {"from": "r1", "to": "r2", "link": node},
                {"from": "r2", "to": "r3", "link": {"delay": "5ms"}},
                {"from": "r3", "to": "c", "link": {}},
                {"from": "s2", "to": "r2", "link": {}},
            ],
        },
        "flows": [
            {"contender": "tcp/cubic", "server": "s", "client": "c", "app": "raw", "size": "1MB"},
            {"contender": "tcp/reno", "server": "s2", "client": "c", "app": "raw", "size": "1MB", "start": "50ms"},
        ],
    }
    pair = scenario(flow={"size": None}, duration="4s", measure_from="1s")
    pair["topology"]["pairs"] = 2
    pair["flows"] = [{"contender": f"tcp/{cc}", "pair": n, "app": "raw"} for n, cc in enumerate(("cubic", "bbr"))]
    in_a_row, shared = run([chain, pair])
    assert in_a_row["status"] == "ok", in_a_row["error"]
    assert in_a_row["flows"][0]["handshake_s"] == pytest.approx(0.02, rel=0.02)
    assert in_a_row["flows"][1]["start_s"] == pytest.approx(0.05, abs=1e-4)
    assert shared["status"] == "ok", shared["error"]
    total, wire = (sum(flow[rate] for flow in shared["flows"]) for rate in ("goodput_bps", "throughput_bps"))
    assert 30e6 < total < wire <= 40.1e6, "the measured time begins after a second"


def test_every_congestion_control_of_the_kernel_carries_a_transfer() -> None:
    names = core.kernel_congestion()
    assert len(names) >= 17
    results = run([scenario(flow={"contender": f"tcp/{name}", "size": "100kB"}) for name in names])
    assert {name: r["error"] for name, r in zip(names, results, strict=True) if r["error"]} == {}


@pytest.mark.parametrize("name", [one.name for one in kernel.built()])
def test_every_kernel_that_is_there_carries_transfers_from_the_first_run_on(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On 7.3 the first clock reading of each process panicked: there, the vDSO has no `__vdso_getcpu`."""
    monkeypatch.setenv("HALTERE_KERNEL", name)
    bare = scenario(flow={"size": "100kB"})
    ours = scenario(flow={"contender": "quic@quinn/cubic", "app": "https", "size": "100kB"})
    results = run([bare, bare, ours], workers=1)
    assert [result["error"] for result in results] == [None] * 3
    assert {result["kernel"] for result in results} == {kernel.find(name).version}


@pytest.mark.parametrize("program", ["hyper", "quinn", "apache+wget2", "nginx+curl", "ngtcp2"])
def test_programs_are_contenders(program: str) -> None:
    transport = "quic" if program in ("quinn", "ngtcp2") else "tcp"
    try:
        programs.find(transport, program, virtual=True)
    except programs.ProgramError as missing:
        pytest.skip(str(missing))
    (result,) = run([scenario(flow={"contender": f"{transport}@{program}/cubic", "app": "https", "size": "300kB"})])
    assert result["status"] == "ok", result["error"]
    flow = result["flows"][0]
    assert flow["wire_bytes"] > flow["bytes"] == 300_000
    assert 0.2 < flow["completion_s"] < 2


def call(**fields: Any) -> dict[str, Any]:
    flow = {"contender": "rtp@gstreamer/constant", "call": {"max_rate": "1Mbit/s"}} | fields.pop("flow", {})
    return scenario(bottleneck={"rate": "2Mbit/s", "queue": "50p"}, **fields) | {"duration": "10s", "flows": [flow]}


def test_a_program_carries_a_call() -> None:
    try:
        programs.find("rtp", "gstreamer", virtual=True)
    except programs.ProgramError as missing:
        pytest.skip(str(missing))
    results = run(
        [call(), call(), call(loss="10%"), call(flow={"direction": "up"}), call(measure_from="5s")], workers=1
    )
    assert [result["error"] for result in results] == [None] * 5
    well, again, lossy, up, late = (result["flows"][0] for result in results)
    # Virtual time makes the program repeat itself to the packet.
    assert well == again
    assert well["frames_shown"] == well["frames_sent"] > 250
    assert well["goodput_bps"] == pytest.approx(1e6, rel=0.05)
    assert (well["freezes"], well["glass_to_glass_p95_s"], well["lost_packets"]) == (0, None, None)
    assert lossy["frames_shown"] < 0.9 * lossy["frames_sent"]
    assert lossy["frames_sent"] == well["frames_sent"]
    assert (up["direction"], up["frames_shown"]) == ("up", up["frames_sent"])
    assert 100 < late["frames_shown"] < 150


def test_a_run_that_takes_too_long_in_virtual_time_becomes_a_row_with_its_error() -> None:
    (result,) = run([scenario(flow={"size": "1GiB"}, time_limit="2s")])
    assert result["status"] == "failed"
    assert "not finished" in result["error"]


def test_a_run_that_hangs_on_the_wall_clock_becomes_a_row_and_the_others_go_on() -> None:
    short, long = scenario(flow={"size": "10kB"}), scenario(flow={"size": "20GiB"})
    executor = linux(1)
    patient = RigExecutor(executor._start, workers=1, patience_s=4)
    tasks = [Task(name, core.parse(one), 1, 0) for name, one in (("long", long), ("short", short))]
    found = {o.key: json.loads(o.result_json) for o in patient.execute(tasks)}
    assert "no answer within 4 s" in found["long"]["error"]
    assert found["short"]["status"] == "ok"


def test_a_job_that_cannot_be_done_is_a_row_too() -> None:
    broken = Task("x", '{"topology": 1}', 1, 0)
    (outcome,) = linux(1).execute([broken])
    assert json.loads(outcome.result_json)["status"] == "failed"


def test_stopping_takes_back_what_has_not_begun() -> None:
    stop = threading.Event()
    tasks = [Task(str(i), core.parse(scenario(flow={"size": "100kB"})), 1, i) for i in range(100)]
    seen = 0
    for _ in linux(1).execute(tasks, stop):
        seen += 1
        stop.set()
    assert 1 <= seen < 20


def test_many_runs_on_one_boot_leave_nothing_behind() -> None:
    count = int(os.environ.get("HALTERE_RUNS_ON_ONE_BOOT", "60"))
    results = run([scenario(flow={"size": "10kB"})] * count, workers=1)
    assert [r["error"] for r in results if r["error"]] == []
    times = [r["flows"][0]["completion_s"] for r in results]
    assert max(times) - min(times) < 20e-6


def test_validate_says_that_model_and_kernel_agree(tmp_path: Path) -> None:
    command = ["validate", "tcp/cubic", "--rate", "20Mbit/s", "--rtt", "20ms", "--size", "1MiB", "--replications", "1"]
    answer = subprocess.run(
        [sys.executable, "-c", "from haltere.cli import main; main()", *command, "--json", "--out", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    told = json.loads(answer.stdout)
    assert told["agrees"] is True
    assert told["kernel"]["version"] == kernel.find().version
    assert (tmp_path / "validate.svg").stat().st_size > 10_000


def test_an_ordinary_user_needs_no_privilege(tmp_path: Path) -> None:
    """The whole of it as the user nobody, without any capability."""
    if os.geteuid() != 0:
        pytest.skip("these tests run as an ordinary user already")
    python = shutil.which("python3", path="/usr/bin:/usr/local/bin")
    packages = Path(pyroute2.__file__).parents[1]
    here = Path(haltere.__file__).parents[1]
    seen = [path for path in (packages, here) if not _readable_by_all(path)]
    same = python and f"Python {sys.version_info[0]}.{sys.version_info[1]}." in _said(python, "--version")
    if not same or seen:
        pytest.skip(f"no Python {sys.version_info[0]}.{sys.version_info[1]} that others can run, or {seen} is closed")
    home = Path(tempfile.mkdtemp(prefix="nobody-", dir="/var/tmp"))
    try:
        shutil.copytree(kernel.cache(), home / "haltere" / "kernels")
        work = home / "work"
        work.mkdir()
        for path in (home, work):
            path.chmod(0o755)
        os.chown(work, NOBODY, NOBODY)
        command = ["validate", "tcp/cubic", "--rate", "20Mbit/s", "--rtt", "20ms", "--size", "300kB", "--json"]
        answer = subprocess.run(
            [str(python), "-c", "from haltere.cli import main; main()", *command, "--replications", "1"],
            user=NOBODY,
            group=NOBODY,
            extra_groups=[],
            cwd=work,
            env={
                "PATH": "/usr/bin:/bin",
                "HOME": str(work),
                "TMPDIR": str(work),
                "XDG_CACHE_HOME": str(home),
                "PYTHONPATH": f"{here}{os.pathsep}{packages}",
            },
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert answer.returncode == 0, answer.stderr
        assert json.loads(answer.stdout)["agrees"] is True
    finally:
        shutil.rmtree(home)


def _readable_by_all(path: Path) -> bool:
    return all(parent.stat().st_mode & 0o005 == 0o005 for parent in (path, *path.parents))


def _said(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


@pytest.mark.parametrize("links", ["kernel", "haltere"])
def test_windows_and_segments_of_routes_are_those_of_the_model(links: str) -> None:
    """An object of 40 segments takes two round trips with a window of 32, and four with one of three."""
    flows = [{"contender": f"tcp/cubic+initial-window={n}", "size": "57920B"} for n in (3, 32)]
    flows.append({"contender": "tcp/cubic+segment=536B", "size": "57920B"})
    made = [scenario(links=links, flow=flow) for flow in flows]
    for one, result in zip(made, run(made), strict=True):
        assert result["status"] == "ok", result["error"]
        expected = json.loads(core.run(core.parse(one), 1, 0))["flows"][0]
        assert result["flows"][0]["completion_s"] == pytest.approx(expected["completion_s"], rel=0.01)
        assert result["flows"][0]["sent_packets"] == pytest.approx(expected["sent_packets"], abs=1)


def test_a_flow_has_its_type_of_service() -> None:
    """Bulk traffic (8) is in the last band of `pfifo_fast`: a ping passes it, and waits behind a normal flow (0)."""
    bottleneck = {"rate": "10Mbit/s", "queue": "pfifo_fast:limit=100p", "down": {"delay": "5ms"}}
    ping = [{"kind": "icmp", "interval": "200ms", "from": "server"}]
    made = [
        scenario(flow={"size": "4MB", "tos": tos}, bottleneck=bottleneck, probes=ping, links=links)
        for tos in (0, 8)
        for links in ("kernel", "haltere")
    ]
    for one, result in zip(made, run(made), strict=True):
        assert result["status"] == "ok", result["error"]
        expected = json.loads(core.run(core.parse(one), 1, 0))["probes"][0]["rtt_mean_s"]
        assert result["probes"][0]["rtt_mean_s"] == pytest.approx(expected, rel=0.15)
        assert (result["probes"][0]["rtt_mean_s"] < 0.01) == (one["flows"][0]["tos"] == 8)
