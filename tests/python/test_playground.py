"""The playground: the page asks and answers as `haltere compare` does, and works in a browser."""

from __future__ import annotations

import gzip
import json
import math
import random
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest

import haltere as package
from browser import answer_in_node, ask
from conftest import ROOT
from haltere import playground
from haltere.adhoc.conditions import Comparison, PathConditions, is_call
from haltere.adhoc.shown import ALONE, CALLS, CALLS_BESIDE, LATENCY, SHARED
from haltere.cli import compare as cli
from haltere.errors import InputError

MODULE = ROOT / "target" / "playground" / "playground.wasm"
LINK = ("preset", "rate", "rtt", "loss", "queue")
QUICK = {"contenders": ["tcp/cubic", "quic/bbr"], "share": False, "preset": "", "rate": "10Mbit/s", "rtt": "21ms"}
QUICK |= {"loss": "2%", "queue": "", "app": "https", "size": "200kB", "duration": "12s", "flows": 1, "seed": 1}
QUICK |= {"replications": 7, "paths": [], "queues": [], "probe": "", "direction": "down"}

CALL = QUICK | {"contenders": ["rtp/gcc", "roq/gcc"], "rate": "1Mbit/s", "duration": "6s"}


@pytest.fixture(scope="module")
def module() -> Path:
    if not MODULE.exists():
        pytest.skip("the playground's module is not built: make playground")
    return MODULE


@pytest.fixture(scope="module")
def page(module: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("page") / playground.PAGE
    playground.write(module, out)
    return out


def told(module: Path, questions: list[dict[str, Any]], *, run: bool = False) -> list[dict[str, Any]]:
    """Return what the page's scripts make of questions, in Node."""
    given = {"module": str(module), "words": playground.words()}
    given["questions"] = [{"question": question, "run": run} for question in questions]
    return list(answer_in_node("playground.mjs", given))


def comparison(question: dict[str, Any]) -> Comparison:
    cell = question["preset"] == "wifi"
    several = [PathConditions.parse(text) for text in question["paths"]]
    link: dict[str, Any] = (
        {} if several else {n: question[n] for n in LINK if question[n] and not (cell and n != "preset")}
    )
    if question["queues"]:
        link["queues"] = [link.pop("queue"), *question["queues"]]
    link |= {"paths": several, "probe": question["probe"] or None}
    used = {"duration"} if question["share"] or any(map(is_call, question["contenders"])) else {"size"}
    others = {name: question[name] for name in ("app", "direction", "share", "flows", "replications", "seed", *used)}
    return Comparison(**link, **others)


PATHS = [
    "rate=20Mbit/s,rtt=10ms,queue=50p,loss=1%",
    "4g,rate=5Mbit/s,backup",
    "down-delay=7ms,mtu=1400B,bql=false,ring=64p",
    "preset=dsl,rtt=31ns",
]


def drawn(number: int) -> dict[str, Any]:
    """A random question."""
    dice = random.Random(number)
    objects = ["tcp/cubic", "tcp/bbr", "quic/cubic", "quic/bbr+ecn", "tcp/newreno"]
    calls = ["rtp/gcc", "rtp/nada", "roq/gcc+quic=none", "rtp/scream"]
    share = dice.random() < 0.5
    contenders = dice.sample(
        dice.choice([objects, objects, calls, *([objects + calls] if share else [])]), dice.randint(1, 4)
    )
    found = {
        "contenders": contenders,
        "share": share,
        "preset": dice.choice(["", "", "4g", "dsl", "wifi"]),
        "rate": dice.choice(["", "7.5Mbit/s"]),
        "rtt": dice.choice(["", "51ns", "0.3ms", "2.0000005s"]),
        "loss": dice.choice(["", "0.5%"]),
        "queue": dice.choice(["", "1bdp", "fq_codel", "red:ecn=true"]),
        "app": dice.choice(["https", "raw", *(["ssh"] if all(one.startswith("tcp") for one in contenders) else [])]),
        "paths": dice.choice([[], [], PATHS[:1], PATHS[1:3], PATHS]),
        "probe": dice.choice(["", "", "icmp:1450B:100ms", "udp:100B:1s:stop-and-wait", "tcp:64B:1s:free-running"]),
        "size": dice.choice(["1MB", "8MiB"]),
        "duration": dice.choice(["15s", "1min"]),
        "flows": dice.choice([1, 1, 3]),
        "replications": dice.randint(1, 20),
        "seed": dice.choice([0, 1, 2**40]),
        "queues": [],
        "direction": dice.choice(["down", "up", "both"]),
    }
    if found["queue"] and found["preset"] != "wifi" and not found["paths"]:
        found["queues"] = dice.choice([[], ["64kB"], ["codel", "pie:ecn=true", "7p"]])
    return found


def test_the_page_asks_what_compare_asks(module: Path) -> None:
    questions = [drawn(number) for number in range(150)]
    for question, found in zip(questions, told(module, questions), strict=True):
        what, contenders = comparison(question), question["contenders"]
        groups = [contenders] if question["share"] else [[one] for one in contenders]
        ours = [
            [own.scenario(group, reverse_starts=odd).json for own in what.each for group in groups]
            for odd in (False, True)
        ]
        assert found["scenarios"] == ours
        assert tomllib.loads(found["toml"]) == json.loads(ours[0][0])
        assert found["read"] == question


def test_the_command_asks_the_same(module: Path) -> None:
    questions = [drawn(number) for number in range(150)]
    for question, found in zip(questions, told(module, questions), strict=True):
        words = shlex.split(found["command"])
        assert words[:2] == ["haltere", "compare"]
        first = next(at for at, word in enumerate(words) if word.startswith("--"))
        assert words[2:first] == question["contenders"]
        given: dict[str, Any] = {}
        rest = words[first:]
        while rest:
            name = rest.pop(0).removeprefix("--")
            if name == "path":
                given.setdefault("paths", []).append(PathConditions.parse(rest.pop(0)))
            elif name == "queue":
                given.setdefault("queues", []).append(rest.pop(0))
            else:
                given[name] = True if name == "share" else rest.pop(0)
        if len(given.get("queues", [])) == 1:
            (given["queue"],) = given.pop("queues")
        numbers = {name: int(given[name]) for name in ("flows", "replications", "seed") if name in given}
        assert Comparison(**(given | numbers)) == comparison(question)


def alike(ours: Any, theirs: Any) -> bool:
    """Whether two values are the same; newer Pythons add the numbers of several flows up in another way."""
    return ours == theirs or (isinstance(ours, float) and math.isclose(ours, theirs, rel_tol=1e-15))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"replications": 1, "loss": ""},
        {"loss": "", "replications": 3},
        {"flows": 3},
        {"contenders": ["tcp/cubic", "tcp/bbr", "quic/newreno"], "queue": "10p", "app": "raw"},
        {"preset": "4g", "rate": "", "rtt": "", "replications": 2},
        {"share": True},
        {"share": True, "flows": 2, "replications": 2, "queue": "fq_codel"},
        {"share": True, "contenders": ["tcp/cubic"] * 5, "replications": 2},
        {"contenders": ["mptcp/cubic", "mpquic/cubic", "tcp/cubic"], "paths": PATHS[:1] + PATHS[2:3]},
        {"probe": "icmp:1450B:20ms", "size": "2MB"},
        {"share": True, "probe": "udp:100B:50ms:stop-and-wait", "replications": 2},
        {"queue": "10p", "queues": ["fq_codel", "1bdp"], "replications": 6, "probe": "icmp:1450B:20ms"},
        {"share": True, "queue": "20p", "queues": ["fq_codel"], "replications": 6, "probe": "udp:100B:50ms"},
        {"share": True, "queue": "20p", "queues": ["codel"], "flows": 2, "replications": 2},
        {"direction": "up"},
        {"direction": "both", "flows": 2, "replications": 6, "probe": "icmp:1450B:20ms"},
        {"direction": "both", "queue": "20p", "queues": ["fq_codel"], "replications": 6},
        {"share": True, "direction": "both", "replications": 6, "probe": "udp:100B:50ms"},
        {"share": True, "direction": "both", "queue": "20p", "queues": ["codel"], "replications": 2, "flows": 2},
        {"share": True, "direction": "up", "queue": "20p", "queues": ["codel"], "replications": 2},
        {"loss": "100%", "queue": "20p", "queues": ["codel"], "replications": 2},
        CALL,
        CALL | {"contenders": ["rtp/gcc", "rtp/nada", "roq/gcc+streams=frame"], "loss": "", "replications": 2},
        CALL | {"contenders": ["rtp/gcc"], "flows": 2, "direction": "both", "probe": "icmp:1450B:50ms"},
        CALL | {"direction": "both", "queue": "20p", "queues": ["fq_codel"]},
        CALL | {"share": True, "duration": "13s", "replications": 6},
        CALL | {"share": True, "duration": "13s", "contenders": ["rtp/gcc", "tcp/cubic"], "direction": "both"},
        CALL | {"loss": "100%", "replications": 2},
    ],
)
def test_the_page_answers_what_compare_answers(module: Path, changes: dict[str, Any]) -> None:
    question = QUICK | changes
    (found,) = told(module, [question], run=True)
    what, contenders = comparison(question), question["contenders"]
    named = (
        *LINK,
        "queues",
        "paths",
        "probe",
        "app",
        "direction",
        "share",
        "flows",
        "replications",
        "seed",
        "duration",
    )
    own = {name: getattr(what, name) for name in named}
    ours = package.compare(contenders, **own, size=what.size)
    entries = ours.to_dicts()
    for one, theirs in zip(entries, found["entries"], strict=True):
        assert [name for name, value in theirs.items() if not alike(one[name], value)] == []
    count = len(entries) // what.replications
    groups = [entries[at::count] for at in range(count)]
    places: dict[tuple[str | None, str], list[int]] = {}
    for at, (first, *_) in enumerate(groups):
        places.setdefault((first["queue"], first["direction"]), []).append(at)
    shares = cli._shares_of(groups, list(places.values())) if what.share else {}
    calls = [is_call(one) for one in contenders]
    columns = (*SHARED, *(CALLS_BESIDE if any(calls) else ())) if what.share else CALLS if any(calls) else ALONE
    probed = bool(question["probe"]) and not what.share
    assert found["table"] == [
        [
            *(cli._cell(c, shares.get(at, []) if c.field == "share" else cli._values(c, group)) for c in columns),
            *(cli.cells(group) if probed else ()),
        ]
        for at, group in enumerate(groups)
    ]
    said = ours.verdict.splitlines()
    assert found["lines"][len(found["lines"]) - len(said) :] == said
    for key, own in places.items() if what.share else ():
        if question["probe"]:
            assert f"{cli._headed(key[:1], places)}{cli.sentence(groups[own[0]])}" in found["lines"]
        together = cli._together([groups[at] for at in own])
        assert {f"{cli._headed(key, places)}{line}" for line in together} <= set(found["lines"])


def test_where_all_that_send_one_way_starve_the_others_are_compared(module: Path) -> None:
    question = QUICK | {"share": True, "direction": "both", "loss": ""}
    what = comparison(question)
    given = {name: getattr(what, name) for name in (*LINK, "share", "direction", "duration", "replications")}
    entries = package.compare(question["contenders"], **given).to_dicts()
    count = len(entries) // what.replications
    rows = [
        [one | ({"goodput_bps": 0.0} if one["direction"] == "up" else {}) for one in entries[at::count]]
        for at in range(count)
    ]
    asked = {"module": str(module), "words": playground.words()}
    asked["questions"] = [{"question": question, "run": False, "rows": rows}]
    (found,) = answer_in_node("playground.mjs", asked)
    said = cli._judged(rows, what)
    assert sum(" starved in 7 of 7 replications" in line for line in said) == 2
    assert found["lines"][-len(said) :] == said


def test_the_columns_of_probes_are_those_of_compare() -> None:
    assert [one["title"] for one in playground.words()["latency"]] == [one.title for one in LATENCY]


def test_a_wrong_path_is_said_at_its_field(page: Path) -> None:
    said = ask(
        page,
        """const at = (id) => page.document.getElementById(id);
        if (at("problem")?.hidden !== false) return "";
        return `${page.document.activeElement.id} ${at("problem").textContent}`;""",
        fragment=f"{ADDRESS}&path=rate%3D5Mbit%2Fs&path=speed%3D5Mbit%2Fs",
    )
    assert said.startswith("path-1 Path 1: there is no key speed: write KEY=VALUE")


@pytest.mark.parametrize(
    ("queues", "said"),
    [
        (["64kB", "codel", "nonsense"], "queue-1 Queue 3: "),
        (["64kB", "codel", "64kB"], "queue-1 Queue 3: 64kB is given twice"),
        (["", "codel"], "queue Queue or its limit: is empty beside other queues"),
    ],
)
def test_a_wrong_queue_is_said_at_its_field(page: Path, queues: list[str], said: str) -> None:
    found = ask(
        page,
        """const at = (id) => page.document.getElementById(id);
        if (at("problem")?.hidden !== false) return "";
        return `${page.document.activeElement.id} ${at("problem").textContent}`;""",
        fragment=ADDRESS + "".join(f"&queue={one}" for one in queues),
    )
    assert found.startswith(said)


def test_each_queue_has_its_rows_and_lines_in_a_browser(page: Path) -> None:
    """Flows that share a queue have one line of it, named by the queue; each queue has a run of its own."""
    found = json.loads(
        ask(
            page,
            f"""{DONE} return JSON.stringify({{
                rows: [...at("table").querySelectorAll("tbody th")].map((one) => one.textContent),
                legend: [...page.document.querySelectorAll(".legend li")].map((one) => one.textContent),
                queue: [...page.document.querySelectorAll("#trace svg")].at(-1).getAttribute("aria-label"),
                command: at("command").textContent, address: page.location.hash, headline: at("headline").textContent,
                inputs: [...at("queues").querySelectorAll("input")].map((one) => one.value),
            }})""",
            fragment=f"{SHARED_QUEUES}&queue=20p&queue=codel",
        )
    )
    names = ["0 tcp/cubic, 20p", "1 quic/bbr, 20p", "2 tcp/cubic, codel", "3 quic/bbr, codel"]
    assert found["rows"] == names
    assert found["legend"] == [*names, "all flows, 20p", "all flows, codel"]
    assert "all flows, 20p up to" in found["queue"] and "all flows, codel up to" in found["queue"]
    assert "--queue 20p --queue codel" in found["command"]
    assert found["address"].count("queue=") == 2
    assert found["headline"].startswith(
        "10Mbit/s, RTT 21ms, loss 2%, queue 20p; 10Mbit/s, RTT 21ms, loss 2%, queue codel"
    )
    assert found["inputs"] == ["codel"]


def test_each_direction_has_its_rows_and_its_queue_in_a_browser(page: Path) -> None:
    found = json.loads(
        ask(
            page,
            f"""{DONE} return JSON.stringify({{
                rows: [...at("table").querySelectorAll("tbody th")].map((one) => one.textContent),
                legend: [...page.document.querySelectorAll(".legend li")].map((one) => one.textContent),
                queue: [...page.document.querySelectorAll("#trace svg")].at(-1).getAttribute("aria-label"),
                command: at("command").textContent, chosen: at("direction").value, headline: at("headline").textContent,
            }})""",
            fragment=f"{ADDRESS.replace('replications=7', 'replications=2')}&direction=both",
        )
    )
    names = [f"{name}, {way}" for name in ("tcp/cubic", "quic/bbr") for way in ("down", "up")]
    assert found["rows"] == found["legend"] == names
    assert all(f"{name} up to" in found["queue"] for name in names)
    assert "--direction both" in found["command"]
    assert found["chosen"] == "both"
    assert "200kB down and up at once over https" in found["headline"]


def test_a_direction_that_is_not_there_is_said_at_its_field(page: Path) -> None:
    said = ask(
        page,
        """const at = (id) => page.document.getElementById(id);
        if (at("problem")?.hidden !== false) return "";
        return `${page.document.activeElement.id} ${at("problem").textContent}`;""",
        fragment=f"{ADDRESS}&direction=sideways",
    )
    assert said.startswith("direction Direction: is none that there is")


def test_failures_are_said(module: Path) -> None:
    (found,) = told(module, [QUICK | {"loss": "100%", "replications": 2}], run=True)
    assert found["lines"][0].startswith("tcp/cubic: 2 of 2 failed: ")
    assert found["table"][0][0] == "–"


def test_the_page_is_whole_and_the_same_each_time(module: Path, page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert playground.page(module.read_bytes()) == text
    assert not re.search(r'(?:src|href)="(?!#)', text)
    assert re.search(r"^(?:import|export) ", text, re.MULTILINE) is None
    assert len(text) < 2_200_000


def test_the_module_is_soon_loaded(module: Path) -> None:
    assert len(gzip.compress(module.read_bytes(), 9)) <= 1_200_000


def test_a_module_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="make playground"):
        playground.write(tmp_path / "no.wasm", tmp_path / "page.html")


ADDRESS = (
    "#c=tcp%2Fcubic&c=quic%2Fbbr&rate=10Mbit%2Fs&rtt=21ms&loss=2%25&app=https&size=200kB&duration=12s&flows=1"
    "&replications=7&seed=1"
)
SHARED_QUEUES = ADDRESS.replace("replications=7", "replications=2") + "&share=1"
DONE = """if (page.document.body?.dataset.traced === undefined) return "";
    const at = (id) => page.document.getElementById(id);"""


def test_an_address_is_answered_in_a_browser(page: Path) -> None:
    found = json.loads(
        ask(
            page,
            f"""{DONE} return JSON.stringify({{
                lines: [...at("lines").children].map((one) => one.textContent),
                cells: [...at("table").querySelectorAll("td")].map((one) => one.textContent),
                address: page.location.hash, status: at("status").textContent,
                figures: [...page.document.querySelectorAll("svg")].map((one) => one.getAttribute("aria-label")),
                nameless: [...page.document.querySelectorAll("input, select, button")].filter((one) =>
                    !one.labels?.length && !one.textContent.trim() && !one.ariaLabel).map((one) => one.outerHTML),
            }})""",
            fragment=ADDRESS,
        )
    )
    ours = package.compare(
        ["tcp/cubic", "quic/bbr"], rate="10Mbit/s", rtt="21ms", loss="2%", size="200kB", replications=7
    )
    assert found["lines"] == [line.strip() for line in ours.verdict.splitlines()]
    assert len(found["cells"]) == 2 * len(ALONE)
    assert found["address"] == ADDRESS
    assert found["status"]
    assert len(found["figures"]) == 5 and all("tcp/cubic" in label for label in found["figures"])
    assert found["nameless"] == []


def test_what_is_wrong_is_said_at_its_field(page: Path) -> None:
    found = json.loads(
        ask(
            page,
            """if (page.document.body?.dataset.state !== "ready") return "";
            const at = (id) => page.document.getElementById(id);
            if (!at("rate").ariaInvalid) { at("rate").value = "40"; at("form").requestSubmit(); return ""; }
            return JSON.stringify({ said: at("problem").textContent, focus: page.document.activeElement.id });""",
            fragment=ADDRESS,
        )
    )
    assert found["said"].startswith('Rate: "40" is not a rate: write a positive number')
    assert found["focus"] == "rate"


def test_calls_are_answered_in_a_browser(page: Path) -> None:
    found = json.loads(
        ask(
            page,
            f"""{DONE} return JSON.stringify({{
                lines: [...at("lines").children].map((one) => one.textContent),
                heads: [...at("table").tHead.querySelectorAll("th")].map((one) => one.textContent),
                figures: [...page.document.querySelectorAll("svg")].map((one) => one.getAttribute("aria-label")),
                hidden: ["size", "app", "duration"].filter((one) => at(one).closest(".field").hidden),
                command: at("command").textContent, headline: at("headline").textContent,
            }})""",
            fragment="#c=rtp%2Fgcc&c=roq%2Fgcc&rate=1Mbit%2Fs&loss=2%25&duration=6s&replications=6",
        )
    )
    ours = package.compare(["rtp/gcc", "roq/gcc"], rate="1Mbit/s", loss="2%", duration="6s", replications=6)
    assert found["lines"] == [line.strip() for line in ours.verdict.splitlines()]
    assert found["heads"] == ["contender", *(one.title for one in CALLS)]
    assert [label.partition(" over ")[0] for label in found["figures"]][1:] == [
        "Pacing rate",
        "RTT",
        "Queue at the bottleneck",
    ]
    assert found["hidden"] == ["size", "app"]
    assert found["command"].startswith("haltere compare rtp/gcc roq/gcc --rate 1Mbit/s --loss 2% --duration 6s")
    assert found["headline"].endswith("; calls of 6s; 6 replications")


def test_calls_beside_objects_are_refused_at_their_field(page: Path) -> None:
    said = ask(
        page,
        """const at = (id) => page.document.getElementById(id);
        if (at("problem")?.hidden !== false) return "";
        return `${page.document.activeElement.id} ${at("problem").textContent}`;""",
        fragment=ADDRESS.replace("quic%2Fbbr", "rtp%2Fgcc"),
    )
    assert said.startswith("contender-1 Contender 2: calls and objects have no metric in common: write calls alone")


def test_a_production_stack_is_said_to_run_at_home(page: Path) -> None:
    said = ask(
        page,
        """const at = (id) => page.document.getElementById(id);
        if (at("problem")?.hidden !== false) return "";
        return `${page.document.activeElement.id} ${at("problem").textContent}`;""",
        fragment=ADDRESS.replace("quic%2Fbbr", "quic%40quinn%2Fcubic"),
    )
    assert said.startswith("contender-1 Contender 2: quic@quinn/cubic runs at home only")
    assert said.endswith("--fidelity stack, or linux for a program. Here write quic/cubic")


def test_a_comparison_can_be_cancelled(page: Path) -> None:
    said = ask(
        page,
        """const at = (id) => page.document.getElementById(id);
        if (page.document.body?.dataset.state === "running" && !at("cancel").disabled) at("cancel").click();
        return /^(Cancelled|Stopped)/.test(at("status")?.textContent ?? "") ? at("status").textContent : "";""",
        fragment=ADDRESS.replace("200kB", "2GB"),
    )
    assert said == "Cancelled: no replication was complete."


def test_the_last_of_two_questions_is_answered(page: Path) -> None:
    """The second is asked while the first still runs."""
    found = ask(
        page,
        """const at = (id) => page.document.getElementById(id);
        const state = page.document.body?.dataset;
        if (state?.state === "running" && at("size").value === "2GB") { at("size").value = "100kB"; at("go").click(); }
        if (state?.traced === undefined) return "";
        return `${at("headline").textContent}; ${at("cancel").disabled}; ${at("problem").hidden}`;""",
        fragment=ADDRESS.replace("200kB", "2GB"),
    )
    assert found == "10Mbit/s, RTT 21ms, loss 2%, queue 1000p; 100kB over https; 7 replications; true; true"


def test_a_phone_shows_all_of_it(page: Path) -> None:
    width = ask(page, f"{DONE} return String(page.document.documentElement.scrollWidth);", fragment=ADDRESS, width=360)
    assert int(width) <= 360
