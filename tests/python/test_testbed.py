"""Fidelity `testbed`: the same rig on this machine's kernel, and that nothing of it ever remains."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from haltere import core
from rigs import link, needs_testbed, run, scenario

pytestmark = [needs_testbed, pytest.mark.alone]

SHORT = scenario(loss="1%", links="haltere", flow={"size": "50kB"}, bottleneck={"down": {"delay": "5ms"}})


def namespaces() -> set[int]:
    """Return the network namespaces that any process is in or holds open."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            found.add((process / "ns" / "net").stat().st_ino)
    return found


def interfaces() -> set[str]:
    return {path.name for path in Path("/sys/class/net").iterdir()}


def test_a_run_on_this_machine_measures_as_the_model_does() -> None:
    (result,) = run([scenario(loss="1%", links="haltere", flow={"size": "300kB"})], "testbed", workers=1)
    assert result["status"] == "ok", result["error"]
    model = json.loads(core.run(core.parse(scenario(loss="1%", flow={"size": "300kB"})), 1, 0))
    assert link(result)["dropped_loss"] == link(model)["dropped_loss"]
    assert result["flows"][0]["handshake_s"] >= 0.05
    assert result["attempts"] >= 1
    assert result["disturbed"] in (True, False)
    assert 0 <= result["lateness_p50_s"] <= result["lateness_p99_s"] <= result["lateness_max_s"]
    assert result["emulator_cpu_s"] > 0


def test_mptcp_takes_both_paths_and_tcp_the_first() -> None:
    if not Path("/proc/sys/net/mptcp/enabled").exists():
        pytest.skip("this machine's kernel has no MPTCP")
    paths = [
        {"rate": "20Mbit/s", "delay": "5ms", "queue": "50p"},
        {"rate": "5Mbit/s", "delay": "25ms", "queue": "50p"},
    ]
    topology = {"kind": "multipath", "paths": paths}
    over = [
        {"links": "haltere", "topology": topology, "flows": [{"contender": contender, "app": "raw", "size": "1MB"}]}
        for contender in ("mptcp/cubic", "tcp/cubic")
    ]
    several, single = run(over, "testbed", workers=1)
    for result in (several, single):
        assert result["status"] == "ok", result["error"]
        assert result["flows"][0]["bytes"] == 1_000_000
    assert all(link(several, name)["delivered_bytes"] > 50_000 for name in ("path 0", "path 1"))
    assert link(single, "path 1")["delivered_bytes"] == 0


def remains(before: tuple[set[int], set[str]]) -> tuple[set[int], set[str]]:
    """Return the namespaces and interfaces that have come since."""
    return namespaces() - before[0], interfaces() - before[1]


def test_nothing_remains_of_rigs_however_they_end() -> None:
    """Rigs are built and taken down; some are killed, at other moments each time."""
    count = int(os.environ.get("HALTERE_RIGS", "12"))
    before = namespaces(), interfaces()
    program = (
        "import json, sys\n"
        "from haltere.rig.executor import testbed\n"
        "from haltere.executor import Task\n"
        "tasks = [Task(str(i), sys.argv[1], 1, i) for i in range(int(sys.argv[2]))]\n"
        "for outcome in testbed(1).execute(tasks):\n"
        "    assert json.loads(outcome.result_json)['status'] == 'ok', outcome.result_json\n"
    )
    whole = subprocess.run(
        [sys.executable, "-c", program, core.canonical(SHORT), str(count)], capture_output=True, text=True, check=False
    )
    assert whole.returncode == 0, whole.stderr
    for n in range(max(2, count // 6)):
        # What a shell starts in the background ignores SIGINT, and so would what it starts in turn.
        doomed = subprocess.Popen(
            [sys.executable, "-c", program, core.canonical(SHORT), "50"],
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        time.sleep(0.15 + 0.17 * n % 1.5)
        doomed.send_signal(signal.SIGKILL if n % 2 == 0 else signal.SIGINT)
        doomed.wait()
    deadline = time.monotonic() + 10
    # What goes meanwhile, being another's, is not looked for.
    while any(remains(before)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(remains(before)), remains(before)
    assert not [pid for pid in Path("/proc").glob("[0-9]*") if _is_an_agent(pid)]


def _is_an_agent(process: Path) -> bool:
    with contextlib.suppress(OSError):
        return b"haltere.rig.agent\0local" in (process / "cmdline").read_bytes()
    return False


def test_what_a_killed_campaign_left_is_swept_by_the_next() -> None:
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="haltere-rig-999999999-"))
    (folder / "queue").mkdir()
    other = Path(tempfile.mkdtemp(prefix=f"haltere-rig-{os.getpid()}-"))
    try:
        run([SHORT], "testbed", workers=1)
        assert not folder.exists()
        assert other.exists()
    finally:
        other.rmdir()


def test_a_scenario_reaches_no_shell() -> None:
    with pytest.raises(core.ScenarioProblem):
        core.parse(scenario(flow={"contender": "tcp@linux/cubic;touch x"}))
    with pytest.raises(core.ScenarioProblem):
        core.parse(scenario(flow={"contender": "tcp@$(reboot)/cubic"}))


def test_what_is_bound_to_an_address_leaves_on_its_link() -> None:
    """Two links between two hosts: each end has an address, and the source address decides where a packet goes."""
    program = """
import json, socket, sys
from haltere import core
from haltere.rig import namespaces
from haltere.rig.plan import plan
what = plan(core.parse(sys.argv[1]))
rig = namespaces.build(what, sys.argv[1], 1, 0)
try:
    namespaces.start(rig)
    client, server = (what.nodes.index(name) for name in ("client", "server"))
    found = []
    for own, other in zip(what.addresses_of(client), what.addresses_of(server), strict=True):
        with namespaces.inside(rig.nodes[server].fd):
            listening = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            listening.bind((other.ip, 4000))
            listening.settimeout(5)
        with namespaces.inside(rig.nodes[client].fd):
            asking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            asking.bind((own.ip, 0))
            asking.sendto(b"x", (other.ip, 4000))
        text, sender = listening.recvfrom(10)
        counters = []
        for link in what.links:
            end = rig.ends[link.number, client]
            (shown,) = end.namespace.route.get_links(end.index)
            counters.append(shown.get_attr("IFLA_STATS64")["tx_packets"])
        found.append([sender[0] == own.ip, counters])
    print(json.dumps(found))
finally:
    rig.close()
"""
    text = {
        "topology": {"kind": "multipath", "paths": [{}, {}]},
        "flows": [{"contender": "tcp/cubic", "app": "raw", "size": "1kB"}],
    }
    done = subprocess.run(
        [sys.executable, "-c", program, core.canonical(text)], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [[True, [1, 0]], [True, [1, 1]]]
