"""Congestion controls that users bring as files: they run wherever ours do, to the byte, and fail with a reason."""

from __future__ import annotations

import json
import pickle
import re
import shutil
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

import haltere
from conftest import ROOT, Haltere
from haltere import core, load, plugins
from haltere.plugins import by_numba, store, watch

DATA = ROOT / "tests" / "data" / "plugins"
PLAIN = (DATA / "newreno.py").read_text()
SHORT_LINK: dict[str, Any] = {"rate": "9Mbit/s", "down_delay": "5ms", "up_delay": "5ms", "size": "1MB"}


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(store.ALLOW, raising=False)
    monkeypatch.setattr(store, "_asked", set())
    monkeypatch.chdir(tmp_path)


def said(run: CompletedProcess[str], code: int = 0) -> str:
    """The output of a command, which must have ended with this code."""
    assert run.returncode == code, run.stderr
    return " ".join((run.stdout + run.stderr).split())


def compiled(text: str) -> str:
    return text.replace("\nclass ", "\nimport haltere\n\n\n@haltere.compiled\nclass ", 1)


def result(contender: str, replication: int = 0, **conditions: Any) -> dict[str, Any]:
    """The result of a run, without the names of what ran."""
    given = {"rate": "10Mbit/s", "down_delay": "20ms", "up_delay": "20ms", "loss": "1%", "queue": "50p", "size": "2MB"}
    contenders = [contender, contender] if "share" in conditions else [contender]
    given |= {name: value for name, value in conditions.items() if name != "share"}
    scenario = haltere.Scenario.point_to_point(contenders, **given)
    found = json.loads(core.run(scenario.concrete(1, replication), 1, replication, scenario.fidelity))
    assert found["status"] == "ok", found["error"]
    for flow in found["flows"]:
        del flow["contender"], flow["label"]
    return found


IN_C = (DATA / "newreno.c").read_text()
WAYS = {"plain": ("mine.py", PLAIN), "compiled": ("mine.py", compiled(PLAIN)), "c": ("mine.c", IN_C)}


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> str:
    name, text = WAYS[request.param]
    if request.param == "compiled":
        pytest.importorskip("numba", reason="numba is not installed: pip install numba")
    Path(name).write_text(text)
    return f"./{name}"


def test_newreno_written_again_gives_the_same_bytes_as_the_built_in_one(way: str) -> None:
    for transport in ("tcp", "quic", "mptcp", "mpquic"):
        for replication in range(3):
            assert result(f"{transport}/{way}", replication) == result(f"{transport}/newreno", replication), transport
    paced = {"rate": "50Mbit/s", "loss": "0%", "queue": "fq_codel"}
    assert result(f"tcp/{way}+paced", **paced) == result("tcp/newreno+paced", **paced)
    assert result(f"tcp/{way}", share=True) == result("tcp/newreno", share=True)
    stack = {"fidelity": "stack", "loss": "0%"}
    assert result(f"quic@quinn/{way}+haltere", **stack) == result("quic@quinn/newreno+haltere", **stack)


CUBIC = (DATA / "cubic.py").read_text()
CUBIC_WAYS = {"plain": CUBIC, "compiled": compiled(CUBIC), "c": (DATA / "cubic.c").read_text()}


@pytest.mark.parametrize("written", CUBIC_WAYS)
def test_cubic_written_again_gives_the_same_bytes_as_the_built_in_one(written: str) -> None:
    if written == "compiled":
        pytest.importorskip("numba", reason="numba is not installed: pip install numba")
    file = "mine.c" if written == "c" else "mine.py"
    Path(file).write_text(CUBIC_WAYS[written])
    long = {"rate": "100Mbit/s", "loss": "0.1%", "queue": "500p", "size": "40MB"}
    for transport in ("tcp", "quic", "mptcp", "mpquic"):
        for conditions in ({}, long, {"loss": "8%", "size": "300kB"}):
            ours = result(f"{transport}/cubic-hystart+growth=exact", **conditions)
            assert result(f"{transport}/./{file}", **conditions) == ours, (transport, conditions)
            assert ours != result(f"{transport}/newreno", **conditions)


def test_idle_times_and_timeouts_reach_it(way: str) -> None:
    """Loads that pause, and losses of nine in ten for a while."""

    def run(congestion: str) -> dict[str, Any]:
        topology = {
            "kind": "point-to-point",
            "link": {"rate": "5Mbit/s", "delay": "30ms", "loss": "12%", "queue": "20p"},
        }
        flow = {"contender": f"tcp/{congestion}", "app": "raw", "size": "300kB"}
        scenario = haltere.Scenario({"topology": topology, "flows": [flow], "time_limit": "10min"})
        found = json.loads(core.run(scenario.concrete(), 1, 0))
        assert found["flows"][0]["timeouts"] > 0
        return {name: value for name, value in found["flows"][0].items() if name not in {"contender", "label"}}

    assert run(way) == run("newreno")


def test_the_starts_in_three_languages_are_one_algorithm(haltere: Haltere) -> None:
    results = []
    for suffix in ("py", "c", "rs"):
        if suffix == "rs" and shutil.which("rustc") is None:
            pytest.skip("rustc is not there: install Rust")
        shown = said(haltere("new", "--congestion-control", f"start.{suffix}"))
        assert f"next: haltere compare tcp/cubic tcp/./start.{suffix}" in shown
        results.append(result(f"tcp/./start.{suffix}+backoff=0.7"))
        results.append(result(f"quic/./start.{suffix}"))
    assert results[0::2] == [results[0]] * 3 and results[1::2] == [results[1]] * 3
    assert results[0] != result("tcp/./start.py"), "the parameter makes a difference"
    text = Path("start.py").read_text()
    if pytest.importorskip("numba"):
        Path("fast.py").write_text(text.replace("# @haltere.compiled", "@haltere.compiled"))
        assert result("tcp/./fast.py+backoff=0.7") == results[0]
    assert "is there already" in said(haltere("new", "--congestion-control", "start.py"), 2)


def test_what_a_file_held_is_what_runs_and_stays(way: str) -> None:
    before = result(f"tcp/{way}")
    scenario = haltere.Scenario.point_to_point(
        [f"tcp/{way}"], rate="9Mbit/s", down_delay="5ms", up_delay="5ms", size="1MB"
    )
    assert re.search(r"tcp/\./mine\.\w+#[0-9a-f]{16}\"", scenario.json)
    Path(way).write_text("no code any more")
    again = pickle.loads(pickle.dumps(scenario.concrete()))
    first, second = (json.loads(core.run(one, 1, 0)) for one in (scenario.concrete(), again))
    assert first == second and first["status"] == "ok"
    assert first["flows"][0]["contender"] == f"tcp/{way}", "people see no digest"
    with pytest.raises(haltere.InputError):
        result(f"tcp/{way}")
    assert before


def test_a_study_runs_code_only_where_that_is_allowed(haltere: Haltere, tmp_path: Path) -> None:
    folder = tmp_path / "study"
    folder.mkdir()
    (folder / "mine.py").write_text(PLAIN)
    (folder / "study.toml").write_text("""
[study]
name = "own"
title = "Our own beside CUBIC"
question = "Is it quicker?"
seed = 1
replications = 2
[experiments.base]
factors.kind = ["tcp/cubic", "tcp/./mine.py"]
scenario.topology = { kind = "point-to-point", link = { rate = "9Mbit/s", delay = "5ms" } }
[[experiments.base.scenario.flows]]
contender = "{kind}"
size = "100kB"
""")
    shown = said(haltere("run", str(folder), "--out", "out"), 2)
    assert "the file names the code mine.py" in shown and "--allow-code" in shown
    assert not (tmp_path / "cache").exists(), "nothing was kept or run"
    said(haltere("--allow-code", "run", str(folder), "--out", "out"))
    flows = load("out").flows
    assert sorted(set(flows["contender"])) == ["tcp/./mine.py", "tcp/cubic"]
    (folder / "claims.py").write_text("""
from haltere.claims import ahead, all_of, claim
from haltere.claims.comparison import compare


@claim("Ours is quicker.", source="this test")
def quicker(tables):
    \"\"\"The ratio of completion times is below one.\"\"\"
    found = compare(tables, "base", "completion_time", "kind", "tcp/./mine.py", "tcp/cubic", over={})
    return all_of(ahead("Completion time", found.pooled(), found.metric))
""")
    searched = said(haltere("--allow-code", "when", str(folder), "--results", "out", "--minutes", "0.05"))
    assert "1. Ours is quicker." in searched and "Searched:" in searched
    said(haltere("--allow-code", "keep", "out"))
    kept = json.loads((folder / "kept" / "main.json").read_text())
    assert kept["claims"] and not kept["canary"], "its code need not be there when others ask whether it is stale"


WRONG = {
    "line 6, in on_ack: ZeroDivisionError": ("self.window = 1", "self.window = 1 // 0"),
    "window is 18446744073709551616: give a number": ("self.window = 1", "self.window = 2**64"),
    "window is nan: give a number": ("self.window = 1", "self.window = float('nan')"),
    "the window is -1: give a number of bytes from 1 to": ("self.window = 1", "self.window = -1"),
    "the window is 9223372036854775807: ": ("self.window = 1", "self.window = 2**63 - 1"),
    "'haltere._core.Ack' object has no attribute 'nwo'": ("ack.now", "ack.nwo"),
    "line 6, in on_ack: AttributeError: TIMOUT": (
        "self.window = 1",
        "__import__('haltere.plugins').plugins.Trigger.TIMOUT",
    ),
    "__init__: line 3, in __init__: AttributeError": ("config.initial_window", "config.initial"),
}
SHORT = """class Mine:
    def __init__(self, config):
        self.window = config.initial_window
    def on_ack(self, ack):
        if ack.now > 300_000_000:
            self.window = 1
    def on_congestion(self, event):
        pass
"""


@pytest.mark.parametrize("wrong", WRONG)
def test_a_control_that_goes_wrong_ends_its_run_and_not_the_campaign(wrong: str, haltere: Haltere) -> None:
    Path("bad.py").write_text(SHORT.replace(*WRONG[wrong]))
    shown = said(haltere("compare", "tcp/cubic", "tcp/./bad.py", "--size", "1MB", "--replications", "2"), 3)
    assert "2 of 2 failed: ./bad.py: " in shown and wrong in shown
    assert "only tcp/cubic completed" in shown


def test_a_method_that_loops_for_ever_is_ended(haltere: Haltere, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "LONGEST_S", 0.5)
    Path("bad.py").write_text(SHORT.replace("self.window = 1", "while True: pass"))
    shown = said(haltere("compare", "tcp/cubic", "tcp/./bad.py", "--size", "1MB", "--replications", "2"), 3)
    assert "line 6, in on_ack: " in shown and "it has not returned for 0.5 s: does it loop for ever?" in shown


CRASHES = {
    "its process was ended by SIGSEGV": "raise(SIGSEGV);",
    "its process exited with status 3": "exit(3);",
    "it was ended after 5 s (--isolate): does its code loop for ever?": "for (volatile int i = 1; i;) { }",
}


@pytest.mark.parametrize("wrong", CRASHES)
def test_in_a_process_of_its_own_code_that_crashes_or_does_not_end_fails_its_run_alone(
    wrong: str, haltere: Haltere, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HALTERE_ISOLATE", "")
    before = "own->before_window = control->window;"
    Path("bad.c").write_text("#include <signal.h>\n" + IN_C.replace(before, CRASHES[wrong] + before))
    given = ("tcp/newreno", "tcp/./bad.c", "--size", "1MB", "--loss", "2%", "--replications", "2")
    shown = said(haltere("--isolate", "5", "compare", *given), 3)
    assert f"2 of 2 failed: {wrong}" in shown and "only tcp/newreno completed" in shown
    (part,) = re.findall(r"tcp/newreno +([\d.]+) ", shown)
    alone = said(haltere("--isolate", "", "compare", given[0], *given[2:]))
    assert re.findall(r"tcp/newreno +([\d.]+) ", alone) == [part], "the answer is the same in another process"
    assert "is not a time limit" in said(haltere("--isolate", "soon", "compare", *given), 2)


REFUSED = {
    "line 1: invalid syntax": "def f(:",
    "holds no congestion control: write a class with on_ack": "x = 1",
    "the class Mine has no on_congestion": SHORT.replace("on_congestion", "on_loss"),
    "has no on_congestion (on_congestoin is written)": SHORT.replace("on_congestion", "on_congestoin"),
    "nothing calls Mine.set_mms: did you mean set_mss?": SHORT + "    def set_mms(self, mss, wire):\n        pass\n",
    "nothing calls Mine.on_loss: did you mean on_lost?": SHORT + "    def on_loss(self, event):\n        pass\n",
    "Mine.on_ack(self) does not take self and 1 value": SHORT.replace("self, ack", "self"),
    "holds several congestion controls (Mine, Other)": SHORT + SHORT.replace("Mine", "Other"),
    "cannot be loaded: line 1, in <module>: NameError": "nothing\n" + SHORT,
    "the parameter gain has the default 5, outside 0 to 1": SHORT.replace(
        "class Mine:", "import haltere\nclass Mine:\n    gain = haltere.parameter(5, 'too much', least=0, most=1)"
    ),
}


@pytest.mark.parametrize("wrong", REFUSED)
def test_a_file_that_is_no_congestion_control_is_refused_with_what_is_wrong(wrong: str) -> None:
    Path("bad.py").write_text(REFUSED[wrong])
    with pytest.raises(haltere.InputError) as error:
        result("tcp/./bad.py")
    assert wrong in str(error.value) and "#" not in str(error.value), error.value


def test_contenders_that_name_files_are_refused_where_they_are_wrong(way: str) -> None:
    for contender, wrong in {
        "tcp/./none.py": "cannot be read (No such file or directory)",
        "tcp/./mine.txt": "ends in none of .py, .so, .c, .rs, .onnx",
        "tcp/mine.py": "write ./mine.py for the file",
        f"tcp/{way}+gain=2": 'has the unknown switch "gain"',
        f"tcp/{way}+hystart": "has its own startup",
    }.items():
        with pytest.raises(haltere.InputError, match=re.escape(wrong)):
            result(contender)


def test_sources_that_do_not_compile_and_libraries_of_another_kind_are_refused() -> None:
    source = IN_C
    for name, text, wrong in [
        ("a.c", source.replace("own->mss = config->mss", "own->mss = config->msss"), "has no member named 'msss'"),
        ("b.c", "int x;", "exports no function haltere_plugin_of"),
        (
            "c.c",
            source.replace("return abi == HALTERE_ABI", "return abi == HALTERE_ABI + 1"),
            "was built for another version",
        ),
        ("d.c", source.replace(".abi = HALTERE_ABI", ".abi = 2"), "was built for version 2 of the interface"),
        (
            "e.c",
            source.replace(".congestion_control = &control", ".congestion_control = NULL"),
            "holds no congestion control",
        ),
        ("f.c", source.replace("    .on_ack = on_ack,\n", ""), "its on_ack is NULL"),
        ("g.c", source.replace(".size = sizeof control,", ".size = 1,"), "its table has 1 bytes"),
    ]:
        Path(name).write_text(text)
        with pytest.raises(haltere.InputError) as error:
            result(f"tcp/./{name}")
        assert wrong in re.sub("[‘’]", "'", str(error.value)), name
    Path("no.so").write_bytes(b"no library")
    with pytest.raises(haltere.InputError, match="cannot be loaded"):
        result("tcp/./no.so")


def test_a_library_says_by_itself_that_it_failed(haltere: Haltere) -> None:
    source = IN_C
    text = source.replace("own->before_window = control->window;", 'control->failure = "it met a loss";')
    Path("fails.c").write_text(text)
    shown = said(
        haltere("compare", "tcp/cubic", "tcp/./fails.c", "--size", "1MB", "--loss", "2%", "--replications", "2"), 3
    )
    assert "2 of 2 failed: ./fails.c: on_congestion: it met a loss" in shown


FRACTION = (
    "Mine.on_ack, line 8: numba cannot compile it: self.window is a whole number in Mine.__init__ and would get a"
)


def test_a_number_with_a_fraction_is_the_same_compiled_and_plain() -> None:
    pytest.importorskip("numba", reason="numba is not installed: pip install numba")
    text = """from haltere.plugins import NEVER


class Mine:
    def __init__(self, config):
        self.window, self.ssthresh, self.mss = float(config.initial_window), float(NEVER), config.mss
    def on_ack(self, ack):
        slow = self.window < self.ssthresh
        self.window += ack.delivered if slow else 0.7 * self.mss * ack.delivered / self.window
    def on_congestion(self, event):
        if event.new_episode:
            self.ssthresh = max(0.8 * self.window, 2.0 * self.mss)
        self.window = min(self.window, self.ssthresh)
"""
    Path("plain.py").write_text(text)
    Path("fast.py").write_text(compiled(text))
    assert result("tcp/./plain.py") == result("tcp/./fast.py")


def test_what_numba_cannot_compile_is_said_with_the_line() -> None:
    pytest.importorskip("numba", reason="numba is not installed: pip install numba")
    for change, wrong in [
        (("pass", "print({}.get(1), open)"), "Mine.on_congestion, line 10: numba cannot compile it"),
        (
            ("self.window = config.initial_window", "self.window, self.old = 1, None"),
            "self.old is a NoneType: set it to a number",
        ),
        (("self.window = config.initial_window", "self.cwnd = 1"), "Mine sets no window"),
        (("self.window = 1", "self.window += 0.5 * ack.delivered"), FRACTION),
        (("self.window = 1", "self.window, x = ack.delivered / 2, 1"), FRACTION),
        (("self.window = 1", "x = self.window = ack.delivered / 2"), FRACTION),
        (("self.window = 1", "self.window: int = ack.delivered / 2"), FRACTION),
    ]:
        Path("bad.py").write_text("import haltere\n@haltere.compiled\n" + SHORT.replace(*change))
        with pytest.raises(haltere.InputError) as error:
            result("tcp/./bad.py")
        assert wrong in str(error.value), error.value


ARRIVALS = """from haltere import parameter
class Mine:
    hystart = parameter(1, "packets that an ACK adds", least=0, most=9)
    def __init__(self, config):
        self.mss = config.mss
        self.window = config.initial_window
        self.seen = 0
    def on_arrival(self, arrival):
        self.seen = arrival.total_delivered
    def on_ack(self, ack):
        if self.seen == ack.total_delivered:
            self.window += int(self.hystart) * self.mss
    def on_congestion(self, event):
        self.window = max(self.window // 2, 2 * self.mss)
"""


def test_arrivals_come_before_their_acks_and_a_parameter_may_be_called_like_a_switch() -> None:
    pytest.importorskip("numba", reason="numba is not installed: pip install numba")
    Path("mine.py").write_text(ARRIVALS)
    Path("fast.py").write_text(compiled(ARRIVALS))
    grown, steady = result("tcp/./mine.py"), result("tcp/./mine.py+hystart=0")
    assert grown["flows"][0]["completion_s"] < steady["flows"][0]["completion_s"]
    assert (result("tcp/./fast.py"), result("tcp/./fast.py+hystart=0")) == (grown, steady)
    assert result("quic/./fast.py") == result("quic/./mine.py") != result("quic/./mine.py+hystart=0")


def test_structures_in_python_are_those_of_the_header() -> None:
    ack = by_numba.layout("haltere_ack")
    assert ack["rate"] == by_numba.layout("haltere_rate_sample") and ack.names[:3] == ("now", "delivered", "lost")
    assert by_numba.layout("haltere_control").names[-1] == "failure"
    for name in ("Ack", "Sent", "Lost", "Congestion", "Echo", "Arrival", "Established", "Path", "RateSample"):
        snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
        shown = {field for field in dir(getattr(core._core, name)) if not field.startswith("_")}
        assert shown == set(by_numba.layout(f"haltere_{snake}").names), name


def test_its_parameters_are_switches_that_explain_knows(haltere: Haltere) -> None:
    said(haltere("new", "--congestion-control", "mine.py"))
    shown = said(haltere("explain", "tcp/./mine.py", "tcp/./mine.py+backoff=0.8", "--loss", "1%", "--rate", "20Mbit/s"))
    assert "backoff 0.5 0.8" in shown and "#" not in shown


def test_a_window_of_the_control_is_traced_and_shadowed(way: str) -> None:
    scenario = haltere.Scenario.point_to_point(
        [f"tcp/{way}"], rate="9Mbit/s", down_delay="5ms", up_delay="5ms", size="1MB"
    )
    traced = haltere.trace(scenario, shadow=["newreno", way])
    assert [shadow.parting for shadow in traced.shadows] == [None, None], "neither parts from the flow's own"


def test_allowing_code_in_python_lasts_for_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(store.ALLOW, "0")
    Path("mine.py").write_text(PLAIN)
    Path("scenario.toml").write_text(
        'topology = { kind = "point-to-point", link = { rate = "9Mbit/s", delay = "5ms" } }\n'
        'flows = [{ contender = "tcp/./mine.py", size = "100kB" }]\n'
    )
    with pytest.raises(haltere.InputError, match=r"names the code mine\.py"):
        haltere.Scenario.load("scenario.toml")
    plugins.allow()
    assert haltere.run(haltere.Scenario.load("scenario.toml")).status == "ok"
