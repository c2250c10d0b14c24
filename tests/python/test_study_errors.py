"""Malformed study files: each error names file, line and field, what was given and what would be right."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import SMALL_STUDY, Haltere
from haltere import Scenario, Study, core, fidelity
from haltere.errors import InputError

WIDER = "[variants.wider.experiments.base.factors]"
# name: (text replaced, by what, text on the line pointed at, words of the error)
CASES: dict[str, tuple[str, str, str, list[str]]] = {
    "misspelt field that is needed": (
        "seed = 7",
        "seeed = 7",
        "seeed = 7",
        ["study.seeed", "there is no such field", "right: seed", "1 more field is wrong"],
    ),
    "no contender": (
        'contender = "{transport}/cubic"\n',
        "",
        "[[experiments.base.scenario.flows]]",
        ["experiments.base.scenario.flows[0]", "missing field `contender`"],
    ),
    "misspelt contender": (
        'contender = "tcp/{congestion.first}"',
        'contendor = "tcp/{congestion.first}"',
        "contendor",
        ["experiments.pairs.scenario.flows[0].contendor", "unknown field", "right: contender"],
    ),
    "misspelt kind of topology": (
        'kind = "dumbbell"',
        'kind = "dumbell"',
        '"dumbell"',
        ["experiments.base.scenario.topology.kind", "right: dumbbell"],
    ),
    "queue in BDPs without a rate": (
        'rate = "10Mbit/s"\nqueue = "100p"',
        'queue = "0.25bdp"',
        '"0.25bdp"',
        ["experiments.pairs.scenario.topology.bottleneck.queue", "the link has no rate", "1000p"],
    ),
    "queue in BDPs without a delay": (
        'queue = "100p"\nmtu = "1500B"\ndown = { delay = "20ms" }',
        'queue = "1bdp"\nmtu = "1500B"',
        '"1bdp"',
        ["experiments.pairs.scenario.topology.bottleneck.queue", "no link has a delay", "1000p"],
    ),
    "mark in BDPs without a rate": (
        'rate = "10Mbit/s"\nqueue = "100p"',
        'queue = "fq_codel:ce_threshold=1ms"\nmark = "0.1bdp"',
        "",
        ["experiments.pairs.scenario.topology.bottleneck"],
    ),
    "not TOML": ("seed = 7", "seed = = 7", "seed = = 7", ["is not TOML", "given: seed = = 7"]),
    "unclosed text": ('title = "A small study"', 'title = "A', 'title = "A', ["is not TOML"]),
    "twice the same key": ("seed = 7", "seed = 7\nseed = 8", "seed = 8", ["is not TOML"]),
    "no seed": ("seed = 7\n", "", "[study]", ["study.seed", "is missing", "right: a whole number from 0"]),
    "seed is text": (
        "seed = 7",
        'seed = "x"',
        'seed = "x"',
        ["study.seed", 'given: "x"', "right: a whole number from 0"],
    ),
    "seed negative": ("seed = 7", "seed = -1", "seed = -1", ["study.seed", "given: -1"]),
    "replications none": (
        "replications = 3",
        "replications = 0",
        "replications = 0",
        ["study.replications", "given: 0", "right: a whole number from 1"],
    ),
    "unknown field": (
        "seed = 7",
        "seed = 7\nquestoin = 'x'",
        "questoin",
        ["study.questoin", "there is no such field", "right: question"],
    ),
    "unknown table": (
        "[study]",
        "[studdy]\nx = 1\n[study]",
        "[studdy]",
        ["studdy", "there is no such field", "right: study"],
    ),
    "bad name": ('name = "small"', 'name = "a b/c"', 'name = "a b/c"', ["study.name", 'given: "a b/c"']),
    "unknown fidelity": (
        "seed = 7",
        'seed = 7\nfidelity = "real"',
        "fidelity",
        ["study.fidelity", 'given: "real"', "right: 'model'"],
    ),
    "unknown design": (
        "[experiments.base]\n",
        '[experiments.base]\ndesign = "latin"\n',
        "latin",
        ["experiments.base.design", "'one-factor-at-a-time'"],
    ),
    "no centre": (
        "[experiments.base]\n",
        '[experiments.base]\ndesign = "one-factor-at-a-time"\n',
        "[experiments.base]",
        ["needs a centre"],
    ),
    "centre without design": (
        "[experiments.base.factors]",
        "[experiments.base.centre]\nrate = '5Mbit/s'\n[experiments.base.factors]",
        "[experiments.base]",
        ["only a one-factor-at-a-time design has a centre"],
    ),
    "crossed without design": (
        "[experiments.base.factors]",
        "crossed = ['rate']\n[experiments.base.factors]",
        "[experiments.base]",
        ["crosses all its factors anyway"],
    ),
    "crossed with no factor": (
        "[experiments.base]\n",
        "[experiments.base]\ndesign = 'one-factor-at-a-time'\ncrossed = ['rat']\ncentre = { rate = '5Mbit/s' }\n",
        "crossed",
        ["experiments.base.crossed[0]", "not a factor", "right: transport, rate, loss"],
    ),
    "factor is no list": (
        'transport = ["tcp", "quic"]',
        'transport = "tcp"',
        'transport = "tcp"',
        ["experiments.base.factors.transport", "a factor is a list of levels", 'given: "tcp"'],
    ),
    "factor is empty": (
        'transport = ["tcp", "quic"]',
        "transport = []",
        "transport = []",
        ["experiments.base.factors.transport", "given: []"],
    ),
    "level is a date": (
        '"5Mbit/s", "20Mbit/s"',
        '"5Mbit/s", 2020-01-01',
        "2020-01-01",
        ["experiments.base.factors.rate[1]", "a level is a text"],
    ),
    "level without label": (
        '{ label = "bbr/cubic", first',
        "{ first",
        "{ first",
        ["experiments.pairs.factors.congestion[0]", "needs a label"],
    ),
    "levels twice": (
        '["0%", "2%"]',
        '["0%", "0%"]',
        '["0%", "0%"]',
        ["experiments.base.factors.loss[1]", "two levels are called '0%'"],
    ),
    "factor of a taken name": (
        'loss = ["0%", "2%"]',
        'seed = ["0%", "2%"]',
        "seed = [",
        ["experiments.base.factors.seed", "the result tables have a column of that name"],
    ),
    "factor not used": (
        'loss = ["0%", "2%"]',
        'loss = ["0%", "2%"]\nmood = ["good"]',
        "mood",
        ["experiments.base.factors.mood", "changes nothing", 'right: "{mood}"'],
    ),
    "placeholder without factor": (
        'rate = "{rate}"',
        'rate = "{rat}"',
        'rate = "{rat}"',
        ["experiments.base.scenario.topology.bottleneck.rate", "{rat} is not a factor", "{rate}"],
    ),
    "misspelt factor": (
        'loss = ["0%", "2%"]',
        'losss = ["0%", "2%"]',
        'loss = "{loss}"',
        [
            "bottleneck.down.loss: {loss} is not a factor",
            "{transport}, {rate}, {losss}",
            "factor losss at study.toml:13:9 is not used; did you mean loss?",
        ],
    ),
    "factor of another name": (
        'loss = ["0%", "2%"]',
        'drops = ["0%", "2%"]',
        'loss = "{loss}"',
        ["factor drops at study.toml:13:9 is not used"],
    ),
    "placeholder without key": (
        "{congestion.second}",
        "{congestion.third}",
        '{ label = "bbr/cubic"',
        ["experiments.pairs.factors.congestion[0]", "no key 'third'"],
    ),
    "level refused": (
        '"5Mbit/s", "20Mbit/s"',
        '"5Mbit/s", "20 MBps"',
        '"20 MBps"',
        [
            "experiments.base.factors.rate[1]",
            'given: "20 MBps"',
            "used at experiments.base.scenario.topology.bottleneck.rate",
            "in the treatment transport = tcp, rate = 20 MBps",
        ],
    ),
    "level of a variant refused": (
        'transport = ["quic"]',
        'transport = ["quic", "carrier-pigeon"]',
        "carrier-pigeon",
        ["variants.wider.experiments.base.factors.transport[1]", 'given: "carrier-pigeon/cubic"'],
    ),
    "scenario refused": (
        'queue = "100p"',
        'queue = "many"',
        'queue = "many"',
        ["experiments.base.scenario.topology.bottleneck.queue", 'given: "many"'],
    ),
    "scenario's unknown field": (
        'queue = "100p"',
        'queue = "100p"\nspeed = 1',
        "speed = 1",
        ["experiments.base.scenario.topology.bottleneck", "speed"],
    ),
    "scenario's flow refused": (
        'size = "300kB"',
        'size = "300 apples"',
        "300 apples",
        ["experiments.base.scenario.flows[0].size", 'given: "300 apples"'],
    ),
    "no scenario": (
        SMALL_STUDY[SMALL_STUDY.index("[experiments.pairs.scenario.topology]") : SMALL_STUDY.index(WIDER)],
        "",
        "[experiments.pairs]",
        ["experiments.pairs.scenario", "is missing"],
    ),
    "no experiments": (
        SMALL_STUDY[SMALL_STUDY.index("[experiments.base]") : SMALL_STUDY.index(WIDER)],
        "",
        "",
        ["experiments", "is missing"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_error_points_at_the_line_and_says_what_is_right(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new, at, words = CASES[name]
    assert old in SMALL_STUDY
    text = SMALL_STUDY.replace(old, new, 1)
    (tmp_path / "study.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as caught:
        Study.load("study.toml", variant="wider" if "variant" in name else None)
    said = str(caught.value)
    file, line, column, _ = said.split(":", 3)
    assert file == "study.toml", said
    assert at in text.splitlines()[int(line) - 1], said
    assert int(column) >= 1
    for word in words:
        assert word in said, said


def test_the_first_wrong_field_of_the_file_is_told_and_the_others_are_counted() -> None:
    text = (
        SMALL_STUDY.replace("seed = 7", "seed = 'x'")
        .replace('name = "small"', "name = 3")
        .replace('["tcp", "quic"]', "3")
    )
    with pytest.raises(InputError, match=r"study\.name") as caught:
        Study.parse(text)
    assert "2 more fields are wrong after this one" in str(caught.value)


def test_an_unknown_variant_is_refused() -> None:
    with pytest.raises(InputError, match=r"no such variant\n  given: widest\n  right: wider; did you mean wider\?"):
        Study.parse(SMALL_STUDY, variant="widest")


def test_a_design_too_large_is_refused_before_it_is_expanded() -> None:
    factors = "\n".join(f"f{i} = {[str(level) for level in range(100)]}" for i in range(8))
    text = SMALL_STUDY.replace('loss = ["0%", "2%"]', 'loss = ["0%", "2%"]\n' + factors)
    uses = "".join(f"{{f{i}}}" for i in range(8))
    text = text.replace('contender = "{transport}/cubic"', f'contender = "{{transport}}/cubic{uses}"')
    with pytest.raises(InputError, match="treatments"):
        Study.parse(text)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "cannot be read: No such file"),
        (b"[study]\nname = '\xff'", ":2:9: is not UTF-8 text"),
        (b"x = " + b"[" * 5000, "study.toml"),
    ],
)
def test_unreadable_files(content: bytes | None, words: str, tmp_path: Path, haltere: Haltere) -> None:
    if content is not None:
        (tmp_path / "study.toml").write_bytes(content)
    done = haltere("run", "study.toml")
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_the_command_line_shows_one_block_and_ends_with_2(small_study: Path, haltere: Haltere) -> None:
    (small_study / "study.toml").write_text(SMALL_STUDY.replace('queue = "100p"', 'queue = "many"'))
    done = haltere("run", "small")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: small/study.toml:20:9: ")
    assert "Traceback" not in done.stderr
    assert not (small_study.parent / "results").exists()


def test_a_scenario_says_which_field_is_wrong() -> None:
    good = Scenario.point_to_point(["tcp/cubic"], rate="10Mbit/s", down_delay="5ms", up_delay="5ms", size="10kB")
    with pytest.raises(InputError, match=r"scenario: topology\.link\.rate: .*"):
        good.merged({"topology": {"link": {"rate": "fast"}}})
    with pytest.raises(InputError, match="a scenario cannot have"):
        good.merged({"duration": float("nan")})


LINES = SMALL_STUDY.splitlines(keepends=True)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, len(SMALL_STUDY)), st.integers(0, 12), st.text(alphabet="[]{}=\"'.,%\n aA0-é", max_size=6)
        ),
        max_size=3,
    ),
    st.sets(st.integers(0, len(LINES) - 1), max_size=4),
)
def test_whatever_is_done_to_a_study_file_it_is_read_or_refused(
    edits: list[tuple[int, int, str]], dropped: set[int]
) -> None:
    text = "".join(line for number, line in enumerate(LINES) if number not in dropped)
    for start, length, new in edits:
        text = text[:start] + new + text[start + length :]
    try:
        study = Study.parse(text)
    except InputError as error:
        assert error.place is not None
        assert error.place.file == "study.toml"
        assert 1 <= (error.place.line or 1) <= text.count("\n") + 2
    else:
        assert study.treatments


ISLANDS = """
[study]
name = "islands"
seed = 1
replications = 2
[experiments.base.scenario.topology]
kind = "graph"
links = [
  { name = "ab", from = "a", to = "b", link = { rate = "10Mbit/s", queue = "100p" } },
  { name = "cd", from = "c", to = "d", link = { rate = "10Mbit/s", queue = "100p" } },
]
[[experiments.base.scenario.flows]]
contender = "tcp/cubic"
server = "a"
client = "d"
size = "100kB"
"""


def test_hosts_that_no_links_join_are_found_before_anything_runs(tmp_path: Path, haltere: Haltere) -> None:
    (tmp_path / "islands.toml").write_text(ISLANDS)
    done = haltere("run", "islands.toml")
    assert (done.returncode, done.stdout) == (2, "")
    where = 'islands.toml:12:1: experiments.base.scenario.flows[0]: no links lead from "a" to "d" and back'
    assert where in done.stderr
    assert not (tmp_path / "results").exists()


def test_a_byte_order_mark_is_tolerated() -> None:
    assert Study.parse("\ufeff" + SMALL_STUDY.lstrip()).name == "small"


def test_a_link_without_a_rate_is_told(tmp_path: Path, haltere: Haltere) -> None:
    text = SMALL_STUDY.replace('rate = "10Mbit/s"\n', "")
    (tmp_path / "study.toml").write_text(text)
    done = haltere("run", ".", "--dry-run")
    assert done.returncode == 0
    assert done.stderr == "note: experiments.pairs.scenario.topology.bottleneck has no rate: it is unlimited\n"


@pytest.mark.parametrize(("loss", "code"), [("0%", 0), ("100%", 4), ('{loss}"\nmtu = "1500B', 3)])
def test_the_exit_code_of_run_says_how_many_failed(loss: str, code: int, tmp_path: Path, haltere: Haltere) -> None:
    text = f"""
[study]
name = "lossy"
seed = 1
replications = 1
[experiments.base]
factors = {{ {'loss = ["0%", "100%"]' if code == 3 else ""} }}
[experiments.base.scenario.topology]
kind = "point-to-point"
[experiments.base.scenario.topology.link]
rate = "10Mbit/s"
loss = "{loss}"
[[experiments.base.scenario.flows]]
contender = "tcp/cubic"
size = "10kB"
"""
    (tmp_path / "lossy.toml").write_text(text)
    assert haltere("run", "lossy.toml").returncode == code


def test_a_satellite_and_any_other_link_give_a_queue_its_delay() -> None:
    topologies = [
        {"kind": "point-to-point", "link": {"rate": "10Mbit/s", "queue": "1bdp", "satellite": {"orbit": "geo"}}},
        {"kind": "dumbbell", "bottleneck": {"rate": "10Mbit/s", "queue": "1bdp"}, "access": {"delay": "5ms"}},
        {"kind": "point-to-point", "link": {"rate": "10Mbit/s", "queue": "1bdp", "down": {"delay": "5ms"}}},
    ]
    for topology in topologies:
        scenario = {"topology": topology, "flows": [{"contender": "tcp/cubic", "size": "10kB"}]}
        fidelity.check("model", core.parse(scenario))
