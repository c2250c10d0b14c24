"""Congestion controls of Linux, as they are: two of the tests' own, and those of the kernel's source."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path

import pytest

from conftest import ROOT, Haltere
from haltere import RunResult, Scenario, run
from haltere.errors import HaltereError
from haltere.plugins import building, linux
from kernel_files import NAMES, fetched

OWN = ROOT / "tests" / "data" / "linux-cc"
NAMED = ("contender", "label")
WARNINGS = ("-Wall", "-Wextra", "-Wno-unused-parameter", "-Wno-sign-compare", "-Werror")

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not there")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Libraries that are built here are not the user's."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def moved(
    contender: str,
    *,
    rate: str = "20Mbit/s",
    delay: str = "15ms",
    loss: str = "0.3%",
    size: str = "4MB",
    queue: str = "60p",
    flows: int = 1,
) -> RunResult:
    """Run transfers over one bottleneck."""
    bottleneck = {
        "rate": rate,
        "queue": queue,
        "mtu": "1500B",
        "down": {"delay": delay, "loss": loss},
        "up": {"delay": delay},
    }
    flow = {"contender": contender, "app": "raw", "size": size}
    return run(
        Scenario({"topology": {"kind": "dumbbell", "bottleneck": bottleneck}, "flows": [flow] * flows})
    ).raise_if_failed()


def same(one: RunResult, other: RunResult) -> bool:
    """Whether the same packets were sent, acknowledged and queued."""
    return bool(one.flows.drop(NAMED).equals(other.flows.drop(NAMED)) and one.links.equals(other.links))


@pytest.fixture
def plain() -> str:
    return f"tcp/{OWN / 'tcp_plain.c'}"


@pytest.fixture
def stepper() -> str:
    return f"tcp/{OWN / 'tcp_stepper.c'}"


@pytest.mark.parametrize("name", ["plain", "stepper"])
def test_files_compile_without_warnings(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linux, "_STRICT", (*linux._STRICT, *WARNINGS))
    monkeypatch.setattr(linux, "_FLAGS", (*linux._FLAGS, *WARNINGS))
    linux.build(OWN / f"tcp_{name}.c", tmp_path / "built.so")
    assert (tmp_path / "built.so").stat().st_size > 10_000


def test_reno_by_the_interface_sends_the_packets_of_ours(plain: str) -> None:
    ours, theirs = moved("tcp/reno"), moved(plain)
    assert ours.flows["retransmitted_packets"][0] > 0
    assert same(ours, theirs)


def test_over_quic_windows_are_bytes(plain: str) -> None:
    """A window in whole packets is near one in bytes, and not a thousand times as large or small."""
    ours, theirs = (moved(name).flows["completion_s"][0] for name in ("quic/reno", plain.replace("tcp/", "quic/", 1)))
    assert theirs == pytest.approx(ours, rel=0.15)


def test_parameters_of_the_module_are_those_of_the_contender(stepper: str) -> None:
    """Each tuning has its own variables, also beside others in one process, and what the module computes from them."""
    usual, more, factor = (moved(f"{stepper}{tail}", loss="0%") for tail in ("", "+steps=40", "+factor=2"))
    times = [result.flows["completion_s"][0] for result in (usual, more, factor)]
    # 20 packets of 1448 bytes a round trip of 30 ms carry 7.7 Mbit/s.
    assert times[0] == pytest.approx(4e6 * 8 / 7.7e6, rel=0.1)
    assert times[1] == times[2] < 0.6 * times[0]
    assert same(moved(stepper, loss="0%"), usual), "the others have not changed its variables"


def test_states_and_random_numbers_reach_the_file(stepper: str) -> None:
    lossy = moved(f"{stepper}+steps=30")
    held = moved(f"{stepper}+steps=30+halve=0")
    assert held.flows["completion_s"][0] < lossy.flows["completion_s"][0], "losses do not halve the window"
    drawn = [moved(f"{stepper}+jitter=20", loss="0%") for _ in range(2)]
    assert same(*drawn) and not same(drawn[0], moved(stepper, loss="0%"))


@pytest.mark.parametrize(
    ("tail", "words"),
    [
        ("+steps=1.5", "steps is 1.5: it is a parameter of a module of Linux, give a whole number"),
        ("+steps=-3", "its module_init answers -22"),
    ],
)
def test_a_value_that_the_module_refuses_ends_the_run(tail: str, words: str, stepper: str) -> None:
    with pytest.raises(HaltereError, match=words):
        moved(stepper + tail)


PLAIN = (OWN / "tcp_plain.c").read_text()
WRONG = {
    "another function": (("tcp_slow_start(", "tcp_quick_start("), r"tcp_mine\.c uses tcp_quick_start, which neither"),
    "its line": (("tcp_slow_start(", "tcp_quick_start("), r"tcp_mine\.c:17:\d+: error"),
    "another member": (("(tp))\n\t\tacked", "(tp) && tp->mptcp)\n\t\tacked"), None),
    "a sysctl": (
        ("return max(", "return sock_net(sk)->ipv4.sysctl_tcp_ecn + max("),
        "it reads sysctls or a network namespace",
    ),
    "setsockopt": (("return max(", "return sk->sk_prot + max("), "options of setsockopt"),
    "a header": (("<net/tcp.h>", "<net/mptcp.h>"), "uses net/mptcp.h"),
    "its syntax": (("u32 acked)\n{", "u32 acked\n{"), "does not compile:\n.*tcp_mine"),
    "no module_init": (("module_init(plain_register);", ""), "has no module_init"),
    "registers nothing": (
        ("return tcp_register_congestion_control(&plain);", "return 0;"),
        "registers no tcp_congestion_ops",
    ),
    "no undo": (
        (".undo_cwnd	= tcp_reno_undo_cwnd,", ""),
        "module_init answers -22: does its tcp_congestion_ops have",
    ),
    "no congestion control": (("struct tcp_congestion_ops", "struct another"), "defines no struct tcp_congestion_ops"),
    "an older interface": (("return max(", "return bpf_ktime_get_ns() + max("), "a program of BPF"),
}


@pytest.mark.parametrize("wrong", [name for name, (_, words) in WRONG.items() if words])
def test_what_is_wrong_with_a_file_is_told_with_the_remedy(wrong: str, tmp_path: Path) -> None:
    (before, after), words = WRONG[wrong]
    assert before in PLAIN
    file = tmp_path / "tcp_mine.c"
    file.write_text(PLAIN.replace(before, after))
    with pytest.raises(ValueError, match=words or ""):
        linux.build(file, tmp_path / "built.so")
    assert not (tmp_path / "built.so").exists()


def test_without_a_compiler_its_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ValueError, match=r"tcp_plain\.c needs a compiler of C: install gcc"):
        linux.build(OWN / "tcp_plain.c", tmp_path / "built.so")


def test_cong_control_is_called_as_the_file_has_it(tmp_path: Path) -> None:
    """Before Linux 6.10 it had two arguments."""
    for arguments in ("const struct rate_sample *rs", "u32 ack, int flag, const struct rate_sample *rs"):
        file = tmp_path / "tcp_mine.c"
        body = f"static void mine(struct sock *sk, {arguments})\n{{\n\ttcp_snd_cwnd_set(tcp_sk(sk), 25);\n}}\n\n"
        text = PLAIN.replace("static struct tcp_congestion_ops", body + "static struct tcp_congestion_ops")
        file.write_text(text.replace(".cong_avoid	= plain_cong_avoid", ".cong_control	= mine"))
        # 25 packets of 1448 bytes a round trip of 30 ms carry 9.65 Mbit/s.
        assert moved(f"tcp/{file}", loss="0%").flows["completion_s"][0] == pytest.approx(4e6 * 8 / 9.65e6, rel=0.1)


def test_a_file_that_is_linked_belongs_to_what_is_built(tmp_path: Path) -> None:
    (tmp_path / "tcp_shared.h").write_text("u32 shared(u32 cwnd);\n")
    (tmp_path / "tcp_shared.c").write_text(
        '#include <net/tcp.h>\n#include "tcp_shared.h"\nu32 shared(u32 n)\n{\n\treturn n / 2;\n}\n'
    )
    file = tmp_path / "tcp_mine.c"
    text = PLAIN.replace("<net/tcp.h>", '<net/tcp.h>\n#include "tcp_shared.h"')
    file.write_text(text.replace("tcp_snd_cwnd(tcp_sk(sk)) >> 1", "shared(tcp_snd_cwnd(tcp_sk(sk)))"))
    assert linux.sources(file) == [file, tmp_path / "tcp_shared.c"]
    before = building.inputs(file)
    assert same(moved(f"tcp/{file}"), moved("tcp/reno"))
    shared = tmp_path / "tcp_shared.c"
    shared.write_text(shared.read_text().replace("n / 2", "n - 1"))
    assert building.inputs(file) != before and not same(moved(f"tcp/{file}"), moved("tcp/reno"))


def test_the_command_line_compares_files_with_ours(haltere: Haltere, tmp_path: Path) -> None:
    shutil.copy(OWN / "tcp_plain.c", tmp_path)
    done = haltere("compare", "tcp/reno", "tcp/./tcp_plain.c", "--size", "200kB", "--loss", "1%", "--replications", "2")
    assert done.returncode == 0, done.stderr
    assert "tcp_plain.c" in done.stdout


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fetched(tmp_path_factory.mktemp("kernel"))


@pytest.mark.parametrize("name", NAMES)
def test_files_of_the_kernel_compile_as_they_are_and_carry_transfers_as_ours_do(
    name: str, sources: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linux, "_STRICT", (*linux._STRICT, *WARNINGS))
    ours, theirs = f"tcp/{name}", f"tcp/{sources}/tcp_{name}.c"
    for loss, queue in (("0.3%", "60p"), ("0%", "fq_codel")):
        assert same(moved(ours, loss=loss, queue=queue), moved(theirs, loss=loss, queue=queue)), (loss, queue)


def test_cubic_of_the_kernel_and_ours_move_every_packet_at_the_same_time(sources: Path) -> None:
    """Also where round trips are short, so that a loss finds the window where the curve was evaluated last."""
    for rate, delay, loss, flows in itertools.product(
        ("5Mbit/s", "100Mbit/s"), ("1ms", "40ms"), ("0%", "0.1%", "1%"), (1, 2)
    ):
        both = (
            moved(contender, rate=rate, delay=delay, loss=loss, queue="1bdp", size="2MB", flows=flows)
            for contender in ("tcp/cubic", f"tcp/{sources}/tcp_cubic.c")
        )
        assert same(*both), (rate, delay, loss, flows)
