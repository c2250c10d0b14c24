"""Under what a claim would hold: planted studies whose claims turn with one change, with a pair, and with none."""

from __future__ import annotations

import hashlib
import json
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from haltere import Study, core, fidelity
from haltere.claims import Outcome, Verdict, all_of, exceeds
from haltere.errors import InputError
from haltere.executor import Outcome as Answer
from haltere.executor import Task, ThreadExecutor
from haltere.report.page import otherwise
from haltere.stats import mean
from haltere.when import Plan, Search, read, search
from haltere.when.changes import Change, changes, switched, switches
from haltere.when.judging import closeness, reaches, turned
from haltere.when.results import Found, Tried
from haltere.when.runs import seed_of
from haltere.when.variants import NOTHING, SAME, Variant, key_of

STUDY = """
[study]
name = "planted"
seed = SEED
replications = 4

[experiments.base]
[experiments.base.factors]
congestion = ["cubic", "newreno"]

[experiments.base.scenario.topology]
kind = "point-to-point"
link = { rate = "100Mbit/s", delay = "50ms", queue = "1000p" }

[[experiments.base.scenario.flows]]
contender = "tcp/{congestion}"
app = "https"
size = "100kB"

[when]
switches = ["tcp-tlp", "tcp+initial-window=40", "tcp+tfo", "tcp+tso-defer=4"]
queues = [2]
losses = ["none"]
sizes = []
"""

CLAIMS = """
from haltere.claims import all_of, claim, exceeds
from haltere.stats import mean


def goodput(tables):
    values = tables.values("base", "goodput", {"congestion": "cubic"})
    return mean(values["value"].to_numpy())


def at_least(threshold, name):
    def judge(tables):
        return all_of(exceeds("Goodput of CUBIC", goodput(tables), threshold))

    judge.__name__ = name
    return claim(f"CUBIC carries {threshold} Mbit/s.", source="planted")(judge)


single = at_least(1.8, "single")
pair = at_least(2.3, "pair")
never = at_least(50.0, "never")
already = at_least(0.1, "already")
"""


def written(folder: Path, *, seed: int = 1, text: str = STUDY, claims: str = CLAIMS) -> Study:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "study.toml").write_text(text.replace("SEED", str(seed)))
    (folder / "claims.py").write_text(claims)
    return Study.load(folder)


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Study, Path, Search]:
    folder = tmp_path_factory.mktemp("planted")
    study = written(folder / "study")
    study.run(out=folder / "results")
    return study, folder / "results", search(study, folder / "results", Plan(minutes=5))


def sets(found: Search, name: str) -> list[list[str]]:
    return [one.changes for one in next(c for c in found.claims if c.name == name).turned]


def test_a_search_shows_itself_in_a_notebook(planted: tuple[Study, Path, Search]) -> None:
    found = planted[2]
    page = found._repr_html_()
    assert found.table.height == len(found.claims) and all(f"<td>{one.number}</td>" in page for one in found.claims)


def test_a_claim_that_turns_with_one_switch_is_told_so(planted: tuple[Study, Path, Search]) -> None:
    assert sorted(sets(planted[2], "single")) == [["tcp+initial-window=40"], ["tcp+tfo"]]


def test_a_claim_that_turns_with_a_pair_only_is_told_so(planted: tuple[Study, Path, Search]) -> None:
    found = planted[2].claims[1]
    assert [set(one.changes) for one in found.turned] == [{"tcp+initial-window=40", "tcp+tfo"}]
    assert found.answer() == "contradicted today. Confirmed with tcp+initial-window=40 and tcp+tfo"


def test_where_nothing_turns_a_claim_it_is_said_what_was_searched(planted: tuple[Study, Path, Search]) -> None:
    found = planted[2].claims[2]
    assert found.turned == []
    assert found.answer() == "contradicted today. Nothing that was searched turns it"
    assert found.searched() == "5 of 5 single changes and 1 of 1 pairs"
    # There are no losses that could be taken away.
    assert [one.changes for one in found.tried if one.refused] == [["no losses"]]


def test_a_claim_that_holds_may_fail_with_a_change(planted: tuple[Study, Path, Search]) -> None:
    assert planted[2].claims[3].answer() == "confirmed today. Nothing that was searched turns it"


def test_what_was_tried_is_not_tried_again(
    planted: tuple[Study, Path, Search], monkeypatch: pytest.MonkeyPatch
) -> None:
    study, folder, first = planted

    def refuse(*_: object) -> ThreadExecutor:
        raise AssertionError("it runs again")

    monkeypatch.setattr(fidelity, "executor", refuse)
    again = search(study, folder, Plan(minutes=5))
    assert again.data() == first.data()
    kept = read(folder)
    assert kept is not None
    assert kept.data() == first.data()


def test_a_search_that_is_stopped_keeps_what_it_found(planted: tuple[Study, Path, Search], tmp_path: Path) -> None:
    study, _, whole = planted
    study.run(out=tmp_path)
    stop, told = threading.Event(), 0

    def progress(_what: str, _left: float) -> None:
        nonlocal told
        told += 1
        if told == 8:
            stop.set()

    stopped = search(study, tmp_path, Plan(minutes=5, stop=stop, on_progress=progress))
    assert 0 < sum(len(one.tried) for one in stopped.claims) < sum(len(one.tried) for one in whole.claims)
    assert search(study, tmp_path, Plan(minutes=5)).data() == whole.data()


def test_the_command_answers_in_words_and_as_json(
    planted: tuple[Study, Path, Search], haltere: Callable[..., Any]
) -> None:
    study, folder, _ = planted
    where = [str(study.directory), "--results", str(folder), "--minutes", "5"]
    said = haltere("when", *where, "--claim", "2")
    assert "Confirmed with tcp+initial-window=40 and tcp+tfo." in said.stdout
    assert "CUBIC carries 1.8" not in said.stdout
    data = json.loads(haltere("when", *where, "--json").stdout)
    assert data["claims"][1]["turned"] == [["tcp+initial-window=40", "tcp+tfo"]]


def test_what_cannot_be_searched_is_refused(planted: tuple[Study, Path, Search], haltere: Callable[..., Any]) -> None:
    study, folder, _ = planted
    done = haltere("when", str(study.directory), "--results", str(folder), "--minutes", "0")
    assert done.returncode == 2
    assert "--minutes: is not a time" in done.stderr
    done = haltere("when", str(study.directory), "--results", str(folder / "nowhere"))
    assert done.returncode == 2
    assert "no results here" in done.stderr


def test_the_report_has_the_answer_beside_the_claim(
    planted: tuple[Study, Path, Search], haltere: Callable[..., Any]
) -> None:
    study, folder, _ = planted
    haltere("report", str(folder), "--study", str(study.directory))
    page = (folder / "report.html").read_text()
    both = "<code>tcp+initial-window=40</code> and <code>tcp+tfo</code>"
    assert f'<details class="when"><summary>Contradicted today. Confirmed with {both}.</summary>' in page
    assert f'<p class="source">With {both}, on fresh seeds: ' in page
    assert "5 of 5 single changes and 1 of 1 pairs" in page
    assert page.count('<details class="when">') == 4
    assert '<details class="when" open' not in page


def test_switches_are_set_as_code_and_other_changes_as_words() -> None:
    tried = [
        Tried(["no losses", "tcp+as=linux-2010"], "confirmed", closeness=1.0),
        Tried(["tcp+as"], "confirmed", closeness=1.0),
        Tried(["tcp+time-threshold=2.25"], "confirmed", closeness=1.0),
        Tried(["tcp+time-threshold=2"], "confirmed", closeness=1.0),
        Tried(["<b>"], "confirmed", closeness=1.0),
    ]
    shown = otherwise(Found(1, "one", "One.", "contradicted", singles=5, tried=tried))
    assert str(shown.answer) == (
        "Contradicted today. Turned in the search with no losses and <code>tcp+as=linux-2010</code> (or "
        "<code>tcp+as</code>, or <code>tcp+time-threshold=2.25</code>, or <code>tcp+time-threshold=2</code>, or "
        "<code>&lt;b&gt;</code>). Not judged on fresh seeds."
    )


MANY = (
    STUDY.replace(
        '["cubic", "newreno"]', '["cubic", "newreno"]\ndelay = { from = "40ms", to = "60ms", scale = "linear" }'
    )
    .replace(
        "[experiments.base]\n", '[experiments.base]\ndesign = "space-filling"\npoints = 24\ncrossed = ["congestion"]\n'
    )
    .replace('delay = "50ms"', 'delay = "{delay}"')
    .replace("replications = 4", "replications = 2")
)


def test_of_many_conditions_a_share_is_searched_and_all_are_judged(tmp_path: Path) -> None:
    claims = CLAIMS.partition("pair =")[0] + "never = at_least(50.0, 'never')\n"
    study = written(tmp_path / "study", text=MANY, claims=claims)
    study.run(out=tmp_path / "results")
    found = search(study, tmp_path / "results", Plan(minutes=5))
    single, never = found.claims
    # Those of CUBIC, at a quarter of the 24 delays.
    assert (never.screened, never.treatments) == (6, 24)
    assert "on 6 of 24 treatments" in never.searched()
    assert ["tcp+initial-window=40"] in sets(found, "single")
    assert single.fresh == single.today == "contradicted"


def test_a_claim_that_names_its_conditions_is_searched_on_all(tmp_path: Path) -> None:
    delays = [f"{number}ms" for number in range(40, 64)]
    text = STUDY.replace('["cubic", "newreno"]', f'["cubic"]\ndelay = {json.dumps(delays)}')
    claims = f"""
from haltere.claims import all_of, claim, exceeds
from haltere.stats import mean


@claim("CUBIC carries 50 Mbit/s at each delay.", source="planted")
def each(tables):
    found = {{one: tables.values("base", "goodput", {{"delay": one}})["value"].to_numpy() for one in {delays}}}
    return all_of(*(exceeds(name, mean(values), 50.0) for name, values in found.items()))
"""
    text = text.replace('delay = "50ms"', 'delay = "{delay}"').replace("replications = 4", "replications = 2")
    study = written(tmp_path / "study", text=text, claims=claims)
    study.run(out=tmp_path / "results")
    (one,) = search(study, tmp_path / "results", Plan(minutes=0.1)).claims
    assert (one.screened, one.treatments) == (24, 24)


@pytest.mark.parametrize(("name", "command"), [("when.json", "haltere when"), ("why.json", "haltere why")])
@pytest.mark.parametrize("text", ["{", "[]", '{"claims": 3, "explanations": 3}', '{"study": 1, "explanations": [{}]}'])
def test_a_damaged_file_beside_results_is_named_with_the_remedy(
    planted: tuple[Study, Path, Search], tmp_path: Path, haltere: Callable[..., Any], name: str, command: str, text: str
) -> None:
    study, folder, _ = planted
    shutil.copytree(folder, tmp_path / "results")
    (tmp_path / "results" / name).write_text(text)
    done = haltere("report", str(tmp_path / "results"), "--study", str(study.directory))
    assert done.returncode == 2
    assert name in done.stderr
    assert f"a file written by `{command}`; remove this one" in done.stderr


NOISY = STUDY.replace('size = "100kB"', 'size = "10kB"').replace("replications = 4", "replications = 6")


class Dice:
    """An executor whose completion times are chance: a change draws them anew and changes nothing else."""

    def __init__(self, result: str, level: float) -> None:
        self.result, self.level = json.loads(result), level

    def execute(self, tasks: Iterable[Task], stop: threading.Event | None = None) -> Iterator[Answer]:
        for task in tasks:
            if stop is not None and stop.is_set():
                return
            name = f"{task.text} {task.seed} {task.replication}"
            draw = np.random.default_rng(list(hashlib.sha256(name.encode()).digest()))
            goodput = self.level * float(np.exp(0.2 * draw.standard_normal()))
            flow = {**self.result["flows"][0], "goodput_bps": goodput}
            yield Answer(task.key, json.dumps({**self.result, "flows": [flow]}))


class Together:
    """An executor in which two changes do together what neither does alone: each of them alone makes it worse."""

    def __init__(self, result: str) -> None:
        self.result = json.loads(result)

    def execute(self, tasks: Iterable[Task], stop: threading.Event | None = None) -> Iterator[Answer]:
        for task in tasks:
            switched = sum(text in task.text for text in ("-tlp", "+tfo"))
            goodput = (2e6, 1.5e6, 4e6)[switched] * (1 + 0.001 * task.replication)
            flow = {**self.result["flows"][0], "goodput_bps": goodput}
            yield Answer(task.key, json.dumps({**self.result, "flows": [flow]}))


def test_changes_that_move_a_claim_away_are_paired_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    claims = CLAIMS.partition("single =")[0] + "both = at_least(3.0, 'both')\n"
    study = written(tmp_path / "study", text=NOISY, claims=claims)
    result = core.run(core.parse(study.treatments[0].scenario), 1, 0)
    monkeypatch.setattr(fidelity, "executor", lambda *_: Together(result))
    study.run(out=tmp_path / "results")
    (found,) = search(study, tmp_path / "results", Plan(minutes=5)).claims
    assert [set(one.changes) for one in found.turned] == [{"tcp-tlp", "tcp+tfo"}]


@pytest.mark.parametrize("level", [1.6e6, 1.8e6, 2.1e6])
def test_chance_alone_seldom_turns_a_claim(level: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 30 searches at most 4 may say that something turned the claim; 5 and more have 1.6 % at a true rate of 5 %."""
    claims = CLAIMS.partition("pair =")[0]
    study = written(tmp_path / "study", text=NOISY, claims=claims)
    result = core.run(core.parse(study.treatments[0].scenario), 1, 0)
    monkeypatch.setattr(fidelity, "executor", lambda *_: Dice(result, level))
    said = 0
    for seed in range(30):
        study = written(tmp_path / "study", seed=seed, text=NOISY, claims=claims)
        out = tmp_path / f"results-{seed}"
        study.run(out=out)
        said += any(one.turned for one in search(study, out, Plan(minutes=5)).claims)
    assert said <= 4


def test_a_change_that_makes_treatments_the_same_is_refused(tmp_path: Path) -> None:
    text = STUDY.replace('congestion = ["cubic", "newreno"]', 'queue = ["100p", "200p"]')
    text = text.replace("{congestion}", "cubic").replace('queue = "1000p"', 'queue = "{queue}"')
    study = written(tmp_path, text=text.replace("queues = [2]", 'queues = [2, "fq_codel"]'))
    by_name = {one.name: one for one in changes(study)}
    keys = [key_of(one) for one in study.treatments]
    assert Variant(study, study.treatments, [by_name["queue fq_codel"]]).refused(keys) == SAME
    assert Variant(study, study.treatments, [by_name["no losses"]]).refused(keys) == NOTHING
    doubled = Variant(study, study.treatments, [by_name["queue × 2"]])
    assert doubled.refused(keys) is None
    links = [one.scenario["topology"]["link"]["queue"] for one in doubled.treatments.values()]
    assert links == ["200p", "400p"]
    assert [one.levels for one in doubled.treatments.values()] == [one.levels for one in study.treatments]


def test_a_switch_takes_the_place_of_the_contenders_own() -> None:
    by_text = {one.text: one for one in switches("tcp")}
    assert switched("tcp/cubic-tso+pacing", by_text["-tlp"], "model") == "tcp/cubic-tso+pacing-tlp"
    assert switched("tcp/cubic+initial-window=3-tlp", by_text["+initial-window=40"], "model") == (
        "tcp/cubic-tlp+initial-window=40"
    )
    assert switched("tcp/cubic+tso-defer=2-tso", by_text["-tso"], "model") is None
    assert switched("tcp/cubic-tlp", by_text["-tlp"], "model") is None
    assert switched("quic/cubic", by_text["-tlp"], "model") is None
    # BBR has a startup of its own, in which there is no HyStart.
    assert switched("tcp/bbr", by_text["+hystart=rfc9406"], "model") is None


def of_link(kind: str, given: object, **link: object) -> Any:
    """Return what a change makes of the link of a scenario; None if nothing."""
    scenario = {"topology": {"kind": "point-to-point", "link": link}, "flows": []}
    found = core.changed(scenario, kind, given, "model")
    return None if found is None else found["topology"]["link"]


def mean_loss(loss: Any) -> float:
    """Return the mean of losses of two states that loses all packets of the bad one, or of independent ones."""
    if isinstance(loss, str):
        return float(loss.removesuffix("%")) / 100 if "%" in loss else float(loss)
    if loss["model"] == "uniform":
        return mean_loss(loss["rate"])
    there, back = mean_loss(loss["good_to_bad"]), mean_loss(loss["bad_to_good"])
    return there / (there + back)


@pytest.mark.parametrize(("loss", "length"), [("1%", 4.0), ("0.05", 16.0), ({"model": "uniform", "rate": "2%"}, 4.0)])
def test_bursts_have_the_mean_loss_and_the_length_asked_for(loss: object, length: float) -> None:
    made = of_link("loss", length, loss=loss)["loss"]
    assert mean_loss(made) == pytest.approx(mean_loss(loss), rel=1e-5)
    assert 1 / mean_loss(made["bad_to_good"]) == pytest.approx(length)
    assert mean_loss(of_link("loss", "uniform", loss=made)["loss"]) == pytest.approx(mean_loss(loss), rel=1e-5)


def test_queues_are_scaled_in_whatever_form_they_are_written() -> None:
    assert of_link("queue", 0.25, queue="1000p") == {"queue": "250p"}
    assert of_link("queue", 4.0, queue="0.5bdp") == {"queue": "2bdp"}
    word = "pfifo_fast:batch=1,limit=200p"
    assert of_link("queue", 2.0, queue=word) == {"queue": "pfifo_fast:batch=1,limit=400p"}
    assert of_link("queue", 2.0, queue={"discipline": "red", "limit": "300kB"}) == {
        "queue": {"discipline": "red", "limit": "600kB"}
    }
    assert of_link("queue", 2.0, queue="fq_codel") is None


def test_interfaces_and_marks_are_varied_where_they_are_stated() -> None:
    links = [
        {"name": "a", "link": {"ring": "256p", "bql": False}},
        {"name": "b", "link": {"ring": "100p"}},
        {"name": "c", "link": {"queue": "100p"}},
    ]
    scenario: dict[str, Any] = {"topology": {"kind": "graph", "links": links}, "flows": [{"tos": 8}, {}]}

    def of(kind: Any, varies: str, given: float | str) -> Any:
        return Change("x", kind, varies, given).applied(scenario, "model")

    def rings(found: dict[str, Any]) -> list[object]:
        return [one["link"].get("ring") for one in found["topology"]["links"]]

    def limits(found: dict[str, Any]) -> list[object]:
        return [one["link"].get("bql") for one in found["topology"]["links"]]

    assert rings(of("interface", "ring", 4.0)) == ["1024p", "400p", None]
    assert limits(of("interface", "byte queue limits", "bql")) == [True, None, None]
    assert limits(of("interface", "byte queue limits", "no-bql")) == [False, False, None]
    assert of("mark", "ToS", 0.0)["flows"] == [{"tos": 0}, {}]
    assert of("mark", "ToS", 8.0) is None


def test_seeds_of_search_and_judgement_differ_from_the_studys() -> None:
    assert len({7, seed_of(7, "search"), seed_of(7, "fresh"), seed_of(8, "search")}) == 4


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('"tcp-tlp"', '"tcp-tpl"', "when.switches[0]: is no switch that changes a contender"),
        ('"tcp-tlp"', '"quic-pacing"', "when.switches[0]"),
        ("queues = [2]", 'queues = ["fq_coddle"]', "when.queues[0]"),
        ("queues = [2]", "queues = [0]", "when.queues[0]"),
        ('losses = ["none"]', 'losses = ["some"]', "when.losses[0]"),
        ("sizes = []", 'interfaces = ["bqll"]', "when.interfaces[0]"),
        ("sizes = []", "marks = [256]", "when.marks[0]"),
        ("sizes = []", "size = []", "there is no such field"),
    ],
)
def test_a_wrong_table_is_refused_with_its_place(tmp_path: Path, before: str, after: str, said: str) -> None:
    with pytest.raises(InputError) as wrong:
        changes(written(tmp_path, text=STUDY.replace(before, after)))
    assert said in str(wrong.value)
    assert "study.toml:" in str(wrong.value)
    assert "right:" in str(wrong.value)


def test_results_of_another_study_are_refused(planted: tuple[Study, Path, Search], tmp_path: Path) -> None:
    other = written(tmp_path, seed=2)
    with pytest.raises(InputError, match="not of this study as it is now"):
        search(other, planted[1], Plan())
    with pytest.raises(InputError, match="number from 1 to 4"):
        search(planted[0], planted[1], Plan(claims=[5]))


def verdict(values: list[float], threshold: float) -> Verdict:
    return all_of(exceeds("x", mean(values), threshold))


def test_a_verdict_must_hold_with_wider_intervals() -> None:
    values = [1.0, 1.2, 1.4, 1.1, 1.3]
    low = mean(values).low
    assert low is not None
    assert reaches(verdict(values, low - 1e-6), Outcome.CONFIRMED, 0.95)
    assert not reaches(verdict(values, low - 1e-6), Outcome.CONFIRMED, 0.995)


def test_the_way_to_an_outcome_is_measured_from_the_nearest_number_with_it() -> None:
    def one(value: float) -> list[Verdict]:
        return [verdict([value, value], 2.0)] * 2

    # Half of the way from 1.0 to 2.0 on a logarithmic scale, all of it, and back.
    assert closeness(one(2**0.5), one(1.0), Outcome.CONFIRMED) == pytest.approx(0.5, abs=0.01)
    assert closeness(one(2.1), one(1.0), Outcome.CONFIRMED) == 1.0
    assert closeness(one(0.9), one(1.0), Outcome.CONFIRMED) < 0
    # A part that holds with and without the change is no way gone, and one that is lost is a way back.
    both = [all_of(*verdict([value, value], 2.0).evidence, *verdict([3.0, 3.0], 2.0).evidence) for value in (1.0, 1.0)]
    assert closeness(both, both, Outcome.CONFIRMED) == 0.0
    lost = [all_of(*verdict([1.0, 1.0], 2.0).evidence, *verdict([1.9, 1.9], 2.0).evidence)] * 2
    assert closeness(lost, both, Outcome.CONFIRMED) < 0
    # What has the outcome without the change cannot be turned to it.
    assert closeness(one(3.0), one(2.1), Outcome.CONFIRMED) == 0.0
    assert closeness(one(1.0), one(1.1), Outcome.CONTRADICTED) == 0.0


def test_what_is_undecided_without_changes_must_move() -> None:
    unclear, clear, far = [1.0, 1.2, 1.4, 1.1, 1.3], [1.3, 1.35, 1.3, 1.35, 1.3], [3.0, 3.1, 3.0, 3.1, 3.0]
    control = verdict(unclear, 1.2)
    assert control.outcome is Outcome.UNDECIDED
    assert verdict(clear, 1.2).outcome is Outcome.CONFIRMED
    assert not turned(verdict(clear, 1.2), control, Outcome.CONFIRMED, 0.99)
    assert turned(verdict(far, 1.2), control, Outcome.CONFIRMED, 0.99)
    # Without changes contradicted: the two verdicts exclude each other.
    assert turned(verdict(clear, 1.2), verdict([1.0, 1.01, 1.0, 1.01], 1.2), Outcome.CONFIRMED, 0.99)
    assert not turned(verdict(far, 1.2), verdict(far, 1.2), Outcome.CONFIRMED, 0.99)
