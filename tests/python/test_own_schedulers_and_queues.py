"""Path schedulers and queue disciplines that users bring as files: they run wherever ours do, to the byte."""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Sequence
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from conftest import ROOT, Haltere
from haltere import InputError, Scenario, core, load
from haltere.plugins import by_numba, store, watch

DATA = ROOT / "tests" / "data" / "plugins"
PATHS = [{"rate": "8Mbit/s", "delay": "10ms", "loss": "0.5%"}, {"rate": "5Mbit/s", "delay": "30ms"}]

NARROW = {
    "mptcp": "+receive-window=65536B+max-receive-window=65536B",
    "mpquic": "+connection-window=49152B+max-connection-window=49152B",
}


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(store.ALLOW, raising=False)
    monkeypatch.setattr(store, "_asked", set())
    monkeypatch.chdir(tmp_path)
    for file in DATA.iterdir():
        (tmp_path / file.name).write_text(file.read_text())


def said(run: CompletedProcess[str], code: int = 0) -> str:
    """The output of a command, which must have ended with this code."""
    assert run.returncode == code, run.stderr
    return " ".join((run.stdout + run.stderr).split())


def run(scenario: Scenario, replication: int = 0) -> dict[str, Any]:
    """The result of a run, without the names of what ran."""
    found: dict[str, Any] = json.loads(core.run(scenario.concrete(1, replication), 1, replication))
    assert found["status"] == "ok", found["error"]
    for flow in found["flows"]:
        del flow["contender"], flow["label"]
    return found


def over_paths(contender: str, replication: int = 0) -> dict[str, Any]:
    """The result of a flow over two paths whose receiver has a small window, so that the order of paths matters."""
    flow = {"contender": contender + NARROW.get(contender.partition("/")[0], ""), "size": "800kB"}
    return run(Scenario({"topology": {"kind": "multipath", "paths": PATHS}, "flows": [flow]}), replication)


def over_queue(queue: Any, contenders: Sequence[str] = ("tcp/cubic", "tcp/reno"), **more: Any) -> dict[str, Any]:
    """The result of flows over one queue in either direction; `more` are fields of the second."""
    flows: list[dict[str, Any]] = [{"contender": one, "size": "1MB"} for one in contenders]
    flows[-1] |= more
    link = {"rate": "8Mbit/s", "delay": "20ms", "queue": queue}
    return run(Scenario({"topology": {"kind": "point-to-point", "link": link}, "flows": flows}))


@pytest.mark.parametrize("file", ["round_robin.py", "round_robin.c"])
def test_round_robin_written_again_gives_the_same_bytes_as_the_built_in_one(file: str) -> None:
    for contender in ("mptcp/cubic", "mptcp/olia", "mpquic/newreno"):
        for replication in range(2):
            theirs = over_paths(f"{contender}+round-robin", replication)
            assert over_paths(f"{contender}+scheduler=./{file}", replication) == theirs, contender
    for transport in NARROW:
        assert over_paths(f"{transport}/cubic+round-robin") != over_paths(f"{transport}/cubic+lowest-rtt"), transport


def test_the_starts_of_schedulers_are_the_lowest_rtt_and_have_a_parameter(haltere: Haltere) -> None:
    for suffix in ("py", "c"):
        shown = said(haltere("new", "--scheduler", f"start.{suffix}"))
        assert f"next: haltere compare mptcp/cubic mptcp/cubic+scheduler=./start.{suffix} --path" in shown
    for transport in ("mptcp", "mpquic"):
        theirs = over_paths(f"{transport}/cubic+lowest-rtt")
        near = [over_paths(f"{transport}/cubic+scheduler=./start.{suffix}+spread=1") for suffix in ("py", "c")]
        assert theirs == over_paths(f"{transport}/cubic+scheduler=./start.py"), transport
        assert theirs == over_paths(f"{transport}/cubic+spread=50+scheduler=./start.c"), transport
        assert near[0] == near[1] != theirs, "the parameter makes a difference"
    assert "is no name for a path scheduler" in said(haltere("new", "--scheduler", "start.rs"), 2)
    assert "give a study's name or a file of code" in said(haltere("new", "a", "--queue", "a.py"), 2)


PICKS = """
from haltere import parameter
from haltere.plugins import Ahead, WaitUntil, candidates, is_ready

class Mine:
    way = parameter(0, "what is picked", least=0, most=9)
    burst = 4000

    def __init__(self, config):
        self.drawn, self.given, self.blocked = config.random(), {}, []

    def pick(self, paths, demand, now):
        ready = [path for path in candidates(paths) if is_ready(path, now)]
        if not ready:
            return None
        if self.way == 1:
            return ready
        if self.way == 2 and len(ready) > 1:
            return Ahead(ready[1], 20_000)
        if self.way == 3 and now // 1_000_000 % 7:
            return WaitUntil(now + 500_000)
        if self.way == 4:
            return ready[-1 if self.drawn > 0.5 else 0]
        if self.way == 5:
            return ready[-1 if demand.waiting + demand.beyond > 300_000 else 0]
        if self.way == 6:
            return ready[-1 if sum(self.given.values()) > 300_000 else 0]
        if self.way == 7:
            return ready[-1 if self.blocked else 0]
        return ready[0]

    def on_given(self, path, bytes, now):
        self.given[path] = self.given.get(path, 0) + bytes

    def on_blocked(self, head, now):
        self.blocked.append(head)
"""


def test_every_pick_of_a_class_is_heeded_and_draws_repeat() -> None:
    Path("mine.py").write_text(PICKS)
    results = {}
    for transport in ("mptcp", "mpquic"):
        for way in range(8):
            contender = f"{transport}/cubic+scheduler=./mine.py+way={way}"
            results[contender] = found = over_paths(contender)
            assert over_paths(contender) == found
    for transport in NARROW:
        times = [one["flows"][0]["completion_s"] for name, one in results.items() if name.startswith(transport)]
        assert len(set(times)) >= 7, (transport, times)
    bytes_sent = {name: sum(link["delivered_bytes"] for link in one["links"]) for name, one in results.items()}
    copied, single = (bytes_sent[f"mpquic/cubic+scheduler=./mine.py+way={way}"] for way in (1, 0))
    assert copied > 1.3 * single, "copies go on both paths"


WRONG = {
    "pick: line 5, in pick: ZeroDivisionError": ("return None", "return 1 // 0"),
    "pick: it returned 7: return one of the paths, a list of them, None, WaitUntil": (
        "return None",
        "return 7",
    ),
    "pick: it waits until -3: give a time": ("return None", "return WaitUntil(-3)"),
    "pick: it leaves out -1 bytes": ("return None", "return Ahead(paths[0], -1)"),
    "pick: it picked copies on no path": ("return None", "return []"),
    "on_given: line 7, in on_given: KeyError": ("pass", "{}[path]"),
}
SHORT = """from haltere.plugins import Ahead, WaitUntil
class Mine:
    def pick(self, paths, demand, now):
        if now > 150_000_000:
            return None
        return paths[0]
    def on_given(self, path, bytes, now): pass
"""


@pytest.mark.parametrize("wrong", WRONG)
def test_a_scheduler_that_goes_wrong_ends_its_run_and_not_the_campaign(wrong: str, haltere: Haltere) -> None:
    Path("bad.py").write_text(SHORT.replace(*WRONG[wrong]))
    shown = said(
        haltere(
            *("compare", "mptcp/cubic", "mptcp/cubic+scheduler=./bad.py", "--size", "1MB", "--replications", "2"),
            *("--path", "rate=9Mbit/s,rtt=20ms", "--path", "rate=9Mbit/s,rtt=40ms"),
        ),
        3,
    )
    assert f"2 of 2 failed: ./bad.py: {wrong}" in shown and "only mptcp/cubic completed" in shown


def test_a_pick_that_loops_for_ever_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "LONGEST_S", 0.5)
    Path("bad.py").write_text(SHORT.replace("return None", "while True: pass"))
    with pytest.raises(AssertionError, match=r"line 5, in pick: .*it has not returned for 0\.5 s"):
        over_paths("mptcp/cubic+scheduler=./bad.py")


REFUSED = {
    "holds no path scheduler: write a class with pick(self, paths, demand, now)": "class A: pass",
    "nothing calls Mine.on_gave: did you mean on_given?": SHORT.replace("on_given", "on_gave"),
    "Mine.pick(self, paths) does not take self and 3 values": SHORT.replace("paths, demand, now", "paths"),
    "Mine.burst is 'much': give a whole number of bytes": SHORT.replace(
        "class Mine:", "class Mine:\n    burst = 'much'"
    ),
    "its burst is -1: give a number of bytes": SHORT.replace("class Mine:", "class Mine:\n    burst = -1"),
    "a path scheduler is not compiled": SHORT.replace("class Mine", "import haltere\n@haltere.compiled\nclass Mine"),
}


@pytest.mark.parametrize("wrong", REFUSED)
def test_a_file_that_is_no_scheduler_is_refused_with_what_is_wrong(wrong: str) -> None:
    Path("bad.py").write_text(REFUSED[wrong])
    with pytest.raises(InputError) as error:
        over_paths("mptcp/cubic+scheduler=./bad.py")
    assert wrong in str(error.value) and "#" not in str(error.value), error.value


def test_contenders_that_name_schedulers_are_refused_where_they_are_wrong() -> None:
    Path("a.py").write_text(PICKS)
    own = "import haltere\nclass NewReno:\n    way = haltere.parameter(1, 'x')"
    Path("same.py").write_text(Path("newreno.py").read_text().replace("class NewReno:", own))
    for contender, wrong in {
        "mptcp/cubic+scheduler=./none.py": "cannot be read (No such file or directory)",
        "mptcp/cubic+scheduler=./mine.txt": "ends in none of .py, .so, .c, .rs",
        "mptcp/cubic+./a.py": "without its use: write +scheduler=./a.py",
        "tcp/cubic+scheduler=./a.py": "a transport with a single path has none",
        "mptcp/cubic+scheduler=./a.py+wya=2": 'has the unknown switch "wya": did you mean "way"?',
        "mptcp/cubic+scheduler=./a.py+way=99": "sets way to 99: give a number from 0 to 9",
        "mptcp/./same.py+scheduler=./a.py+way=2": "sets way, which ./same.py and ./a.py both have",
        "mptcp/cubic+scheduler=./newreno.c": "exports no function haltere_scheduler_of: see haltere.h",
        "mptcp/cubic+scheduler=./round_robin.py+lowest-rtt": "sets scheduler to ./round_robin.py and to lowest-rtt",
    }.items():
        with pytest.raises(InputError, match=re.escape(wrong)) as error:
            over_paths(contender)
        assert "#" not in str(error.value), error.value
    source = Path("round_robin.c").read_text()
    for name, text, wrong in [
        ("b.c", source.replace(".pick = choose,", ""), "its pick is NULL: a path scheduler needs create and pick"),
        ("c.c", source.replace(".size = sizeof scheduler", ".size = 3"), "its table has 3 bytes"),
        ("d.c", source.replace("return abi ==", "return 1 + abi =="), "was built for another version"),
        ("e.c", source.replace(".pick =", ".burst = -4, .pick ="), "its burst is -4"),
    ]:
        Path(name).write_text(text)
        with pytest.raises(InputError, match=re.escape(wrong)):
            over_paths(f"mptcp/cubic+scheduler=./{name}")


def test_explain_knows_the_parameters_of_a_scheduler_and_its_file(haltere: Haltere) -> None:
    said(haltere("new", "--scheduler", "mine.py"))
    over = ("--path", "rate=20Mbit/s,rtt=20ms", "--path", "rate=9Mbit/s,rtt=60ms", "--replications", "2")
    mine = "mptcp/cubic+scheduler=./mine.py"
    shown = said(haltere("explain", mine, f"{mine}+spread=2-tlp", *over))
    assert "spread 50 2" in shown and "#" not in shown
    shown = said(haltere("explain", "mptcp/cubic", f"{mine}-tlp", *over))
    assert "scheduler linux ./mine.py" in shown and "#" not in shown


def test_drop_tail_and_marks_and_gaps_of_a_library() -> None:
    ecn = ("tcp/cubic+ecn", "tcp/reno")
    assert over_queue("./shaper.c:limit=20p") == over_queue("drop-tail:limit=20p")
    assert over_queue("./shaper.c:limit=30kB,mark=9", ecn) == over_queue("drop-tail:limit=30kB,mark=9p", ecn)
    assert over_queue("./shaper.c", ecn) != over_queue("./shaper.c:mark=5", ecn)
    free, slow = over_queue("./shaper.c:gap-us=1"), over_queue({"discipline": "./shaper.c", "gap-us": 6000})
    rates = [one["flows"][0]["goodput_bps"] for one in (free, slow)]
    assert rates[1] < 0.3 * rates[0], "a packet each 6 ms"


def test_codel_written_again_gives_the_same_bytes_as_the_built_in_one() -> None:
    ecn = ("tcp/cubic+ecn", "quic/reno")
    for queue, contenders in [("codel", ecn), ("codel:ecn=true", ecn), ("codel:limit=12p", ("tcp/bbr", "tcp/cubic"))]:
        own = queue.replace("codel", "./codel.py").replace("true", "1")
        assert over_queue(own, contenders) == over_queue(queue, contenders), queue
    assert over_queue("codel", ecn)["links"] != over_queue("codel:ecn=true", ecn)["links"]


def test_two_bands_written_again_give_the_same_bytes_as_prio() -> None:
    prio = "prio:bands=2,priomap=1 1 1 1 1 1 0 0 1 1 1 1 1 1 1 1,limit=10p"
    assert over_queue("./prio.py:limit=20p", tos=16) == over_queue(prio, tos=16)
    assert over_queue(prio, tos=16) != over_queue(prio)


def test_the_starts_of_queues_are_one_discipline_and_have_parameters(haltere: Haltere) -> None:
    for suffix in ("py", "c"):
        shown = said(haltere("new", "--queue", f"start.{suffix}"))
        assert f"--queue 1000p --queue ./start.{suffix}" in shown
    ecn = ("tcp/cubic+ecn", "tcp/reno")
    first, second = (over_queue(f"./start.{suffix}:every=9,limit=90p", ecn) for suffix in ("py", "c"))
    assert first == second != over_queue("./start.c:limit=90p", ecn)
    down = first["links"][0]
    assert down["marked_packets"] > 0 and down["dropped_early"] > 0


BAD_QUEUE = """from haltere.plugins import *
class Mine:
    def enqueue(self, packet, queue):
        return 3 if queue.now < 90_000_000 else 4
    def next_band(self, queue):
        return 3 if queue.band(3).packets else 2 * 2
    def dequeue(self, packet, queue):
        return 0
"""
WRONG_QUEUES = {
    "enqueue: line 4, in enqueue: NameError": ("else 4", "else no"),
    "enqueue: it returned 131072: give a band from 0 to 65535": ("else 4", "else 2 * 65536"),
    "enqueue: it returned None: return a whole number": ("else 4", "else None"),
    "next_band: it returned 5, in which no packet waits: give a band with packets, such as 4": ("else 2 * 2", "else 5"),
    "next_band: it returned -1, in which no packet waits": ("return 3 if queue.band(3)", "return -1 if queue.band(3)"),
    "dequeue: it returned -2: give SEND, MARK or DROP": ("return 0", "return -2"),
    "create: line 3, in __init__: AttributeError": (
        "    def enqueue",
        "    def __init__(self, config): config.speed\n    def enqueue",
    ),
    "ready_at: it is -1: give a time": (
        "    def enqueue",
        "    def ready_at(self, queue): return -1\n    def enqueue",
    ),
}


@pytest.mark.parametrize("wrong", WRONG_QUEUES)
def test_a_discipline_that_goes_wrong_ends_its_run_and_not_the_campaign(wrong: str, haltere: Haltere) -> None:
    Path("bad.py").write_text(BAD_QUEUE.replace(*WRONG_QUEUES[wrong]))
    shown = said(
        haltere(
            "compare", "tcp/cubic", "--queue", "9p", "--queue", "./bad.py", "--size", "500kB", "--replications", "2"
        ),
        3,
    )
    assert f"2 of 2 failed: ./bad.py: {wrong}" in shown and "#" not in shown


def test_queues_of_files_are_refused_where_they_are_wrong(haltere: Haltere) -> None:
    Path("bare.py").write_text("class A: pass")
    Path("limit.py").write_text(Path("prio.py").read_text().replace("each", "limit"))
    typo = "    def dequeu(self, packet, queue): return 0\n"
    Path("typo.py").write_text("class Mine:\n    def enqueue(self, packet, queue): return 0\n" + typo)
    for queue, wrong in {
        "./none.py": "cannot be read (No such file or directory)",
        "./bare.py": "holds no queue discipline: write a class with enqueue(self, packet, queue) or next_band",
        "./typo.py": "nothing calls Mine.dequeu: did you mean dequeue?",
        "./prio.py:eech=3": './prio.py has no parameter "eech": did you mean "each"? it has limit, each',
        "./prio.py:each=0": "./prio.py sets each to 0: give a number from 1 to 1000000",
        "./prio.py:each=much": 'each: "much" is not a number',
        "./limit.py": "its parameter limit is one that every queue has",
        "./newreno.c": "exports no function haltere_queue_discipline_of",
    }.items():
        with pytest.raises(InputError, match=re.escape(wrong)) as error:
            over_queue(queue)
        assert "#" not in str(error.value), error.value


def test_what_ran_is_kept_and_people_see_no_digest(haltere: Haltere) -> None:
    link = {"rate": "8Mbit/s", "delay": "20ms", "down": {"queue": {"discipline": "./prio.py", "each": 7}}}
    flow = {"contender": "mptcp/./newreno.py+scheduler=./round_robin.py", "size": "300kB"}
    scenario = Scenario({"topology": {"kind": "multipath", "paths": [link, link]}, "flows": [flow]})
    assert len(re.findall(r"\./\w+\.py#[0-9a-f]{16}", scenario.json)) == 4
    before = run(scenario)
    for name in ("prio.py", "newreno.py", "round_robin.py"):
        Path(name).write_text("no code any more")
    assert run(pickle.loads(pickle.dumps(scenario))) == before
    assert "#" not in repr(scenario) and "#" not in json.dumps(core.links_in_words(scenario.concrete()))


def test_files_are_levels_of_factors_where_that_is_allowed(haltere: Haltere, tmp_path: Path) -> None:
    folder = tmp_path / "study"
    folder.mkdir()
    for name in ("prio.py", "round_robin.py"):
        (folder / name).write_text((DATA / name).read_text())
    (folder / "study.toml").write_text("""
[study]
name = "own"
title = "Our own beside the built-in ones"
question = "Is it quicker?"
seed = 1
replications = 2
[experiments.base]
factors.scheduler = ["lowest-rtt", "./round_robin.py"]
factors.queue = ["20p", "./prio.py:each=9", "./prio.py:each=40"]
[experiments.base.scenario.topology]
kind = "multipath"
paths = [
    { rate = "9Mbit/s", delay = "5ms", queue = "{queue}" },
    { rate = "5Mbit/s", delay = "15ms", queue = "{queue}" },
]
[[experiments.base.scenario.flows]]
contender = "mptcp/cubic+scheduler={scheduler}"
size = "200kB"
""")
    shown = said(haltere("run", str(folder), "--out", "out"), 2)
    assert "the file names the code" in shown and "--allow-code" in shown
    assert not (tmp_path / "cache").exists(), "nothing was kept or run"
    said(haltere("--allow-code", "run", str(folder), "--out", "out"))
    results = load("out")
    assert sorted(set(results.flows["contender"])) == [
        "mptcp/cubic+scheduler=./round_robin.py",
        "mptcp/cubic+scheduler=lowest-rtt",
    ]
    assert len(results.flows) == 12
    said(haltere("report", "out"))
    assert not re.search(r"\.py#[0-9a-f]", (tmp_path / "out" / "report.html").read_text()), "people see no digest"


def test_neither_kernels_nor_the_emulator_have_disciplines_of_files(haltere: Haltere) -> None:
    link = {"rate": "8Mbit/s", "delay": "20ms", "queue": "./prio.py"}
    data = {"topology": {"kind": "point-to-point", "link": link}, "flows": [{"contender": "tcp/cubic", "size": "9kB"}]}
    for links in ("kernel", "haltere"):
        with pytest.raises(InputError, match="the queue of the link 'link' down is a file, which the simulator alone"):
            Scenario({**data, "links": links}, fidelity="linux")
    for option in ("--queue", "--down-queue"):
        shown = said(haltere("link", "--rate", "9Mbit/s", option, "./prio.py", "--", "true"), 2)
        assert f"{option}: is a file given: ./prio.py right: a discipline that is built in" in shown


def test_structures_in_python_are_those_of_the_header() -> None:
    for name in ("Demand", "Packet", "Band"):
        shown = {field for field in dir(getattr(core._core, name)) if not field.startswith("_")}
        assert shown == set(by_numba.layout(f"haltere_{name.lower()}").names), name
    (fields,) = re.findall(r"typedef struct \{([^}]*)\} haltere_queue;", by_numba.HEADER.read_text())
    named = set(re.findall(r"(\w+);", fields)) - {"bands", "failure"}
    assert named | {"band"} == {field for field in dir(core._core.Queue) if not field.startswith("_")}
