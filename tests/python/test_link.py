"""`haltere link` and the emulator's door. What needs root or TUN devices says why it is skipped elsewhere."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from conftest import COMMAND, Haltere
from haltere import core
from haltere.cli.commands.link import Options
from haltere.cli.link import spec
from haltere.errors import InputError

if not sys.platform.startswith("linux"):
    pytest.skip("links are emulated on Linux only", allow_module_level=True)

from haltere import _core


def _may_emulate() -> str:
    """Return why this machine cannot put a command behind a link; empty if it can."""
    if not Path("/dev/net/tun").exists():
        return "this machine has no /dev/net/tun"
    tried = subprocess.run([*COMMAND, "link", "--", "true"], capture_output=True, text=True, check=False, timeout=60)
    return tried.stderr.strip() if tried.returncode else ""


REASON = _may_emulate()
pytestmark = pytest.mark.alone
emulates = pytest.mark.skipif(bool(REASON), reason=REASON or "-")


def specified(**changed: object) -> dict[str, Any]:
    return spec(Options(**changed))  # type: ignore[arg-type]


def devices() -> set[str]:
    return {device.name for device in Path("/sys/class/net").glob("haltere*")}


def test_options_become_the_simulators_link() -> None:
    made = specified(rate="40Mbit/s", rtt="25ms", loss="1%", up_queue="64kB", up_rate="1Mbit/s")
    assert made["down"]["rate_bps"] == 40_000_000
    assert made["down"]["loss"] == {"model": "uniform", "p": 0.01}
    assert made["up"]["loss"] == {"model": "none"}
    assert (made["up"]["rate_bps"], made["up"]["queue"]) == (1_000_000, {"discipline": "drop-tail", "limit": "64000B"})
    assert (made["down"]["delay_ns"], made["up"]["delay_ns"]) == (12_500_000, 12_500_000)


def test_a_ring_stands_behind_both_queues() -> None:
    made = specified(ring="64p", bql=False)
    assert [made[way]["ring"] for way in ("down", "up")] == [{"packets": 64, "bql": False}] * 2
    assert "ring" not in specified()["down"]
    with pytest.raises(InputError, match="--bql: byte queue limits are of a ring"):
        specified(bql=True)


def test_a_trace_is_the_rate_of_its_direction(tmp_path: Path) -> None:
    trace = tmp_path / "lte.up"
    trace.write_text("1\n1\n5\n")
    made = specified(up_trace=trace)
    assert made["up"]["trace_ms"] == [1, 1, 5]
    assert "trace_ms" not in made["down"]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"rate": "40"}, "--rate: "),
        ({"down_delay": "soon"}, "--down-delay: "),
        ({"up_rate": "0bit/s"}, "--up-rate: "),
        ({"loss": "200%"}, "--loss: "),
        ({"up_loss": "x"}, "--up-loss: "),
        ({"mtu": "1B"}, "--mtu: "),
        ({"queue": "many"}, "--queue: "),
        ({"rtt": "5ms", "down_delay": "1ms"}, "--rtt: "),
        ({"rtt": "5ms", "delay": "1ms"}, "--rtt: "),
        ({"rtt": "5"}, "--rtt: "),
        ({"spin": "much"}, "--spin: "),
        ({"seed": -1}, "seed: "),
        ({"trace": Path("nowhere")}, "nowhere: cannot be read"),
        ({"rate": "1Mbit/s", "trace": Path("t")}, "--trace: "),
    ],
)
def test_a_wrong_option_is_named(changed: dict[str, object], said: str) -> None:
    with pytest.raises(InputError) as wrong:
        specified(**changed)
    assert str(wrong.value).startswith(said)


def test_a_wrong_trace_is_named_by_its_line(tmp_path: Path) -> None:
    trace = tmp_path / "t"
    trace.write_text("3\n2\n")
    with pytest.raises(InputError, match=r"t:2: .*\"2\" is not at least the number before it"):
        specified(trace=trace)


def test_a_specification_that_is_wrong_is_refused_by_its_path() -> None:
    with pytest.raises(_core.LinkError) as wrong:
        _core.Emulator(json.dumps({"links": [{"name": "l", "ends": [{"interface": "a/b"}, {"interface": "b"}]}]}))
    assert wrong.value.args[1] == "links[0].ends[0].interface"


@emulates
def test_the_commands_exit_code_is_ours_and_the_counters_are_written(haltere: Haltere, tmp_path: Path) -> None:
    script = (
        "import os, socket, sys\n"
        "sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "for _ in range(100): sender.sendto(bytes(100), (os.environ['HALTERE_BASE'], 9))\n"
        "sys.exit(7)\n"
    )
    lossy = ("--up-loss", "30%", "--seed", "5", "--json", "out.json")
    done = haltere("link", *lossy, "--", sys.executable, "-c", script)
    assert (done.returncode, done.stdout) == (7, ""), done.stderr
    assert "HALTERE_BASE" in done.stderr
    report = json.loads((tmp_path / "out.json").read_text())
    up = next(link for link in report["links"] if link["direction"] == "up")
    assert (report["exit_code"], up["offered_packets"]) == (7, 100)
    assert 10 < up["dropped_loss"] < 60
    again = haltere("link", *lossy, "--", sys.executable, "-c", script)
    assert again.returncode == 7
    same = json.loads((tmp_path / "out.json").read_text())["links"]
    assert next(link for link in same if link["direction"] == "up")["dropped_loss"] == up["dropped_loss"]
    assert devices() == set()


@emulates
def test_a_command_that_is_not_there_is_one_clear_error(haltere: Haltere) -> None:
    done = haltere("link", "--", "no-such-program")
    assert done.returncode == 2
    assert 'error: COMMAND: "no-such-program" is not found' in done.stderr
    assert devices() == set()


@emulates
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_nothing_remains_after_a_signal(how: signal.Signals, tmp_path: Path) -> None:
    sign = tmp_path / "pid"
    script = f"import os, time; open({str(sign)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    running = subprocess.Popen(
        [*COMMAND, "link", "--", sys.executable, "-c", script],
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        while not (sign.exists() and sign.read_text()):
            assert running.poll() is None
            time.sleep(0.01)
        inner = int(sign.read_text())
        if how == signal.SIGKILL:
            running.kill()
        else:
            os.killpg(running.pid, how)  # as a terminal does on Ctrl-C
        code = running.wait(timeout=30)
        assert code == (-how if how == signal.SIGKILL else 128 + how) or how == signal.SIGINT
    finally:
        running.kill()
        running.wait()
    deadline = 30.0
    while deadline > 0 and (Path(f"/proc/{inner}").exists() or devices()):
        time.sleep(0.05)
        deadline -= 0.05
    assert not Path(f"/proc/{inner}").exists()
    assert devices() == set()


def test_the_core_reads_what_it_writes() -> None:
    both = core.link_config({"rate": "1Mbit/s", "jitter": "1ms", "down": {"loss": "1%"}})
    assert both["up"]["jitter"] == {"model": "uniform", "spread_ns": 1_000_000, "reorder": False}
    assert both["down"]["rate_bps"] == 1_000_000
