"""`haltere evaluate`: controls that are known to be bad, or good, are told as such, and chance is not."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import tomli_w

from conftest import ROOT, Haltere
from haltere import core, load, report, shipped
from haltere.cli import exits
from haltere.documents import Document
from haltere.errors import InputError
from haltere.evaluation import Effect, Judged, evaluate
from haltere.evaluation.evaluating import judged, plan
from haltere.evaluation.judging import word
from haltere.evaluation.sheet import read
from haltere.evaluation.words import harm
from haltere.metrics import METRICS
from haltere.metrics.tables import from_scale
from haltere.runner.campaign import Campaign
from haltere.stats import mean
from haltere.study import Study

CONTROLS = ROOT / "tests" / "data" / "plugins"
CUBIC = "tcp/cubic"
Rows = Callable[..., Sequence[Judged]]


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rows:
    """Evaluate a contender beside CUBIC in some sections, and return the judged rows."""
    monkeypatch.chdir(CONTROLS)

    def of(contender: str, *sections: str, quick: bool = False, replications: int = 4) -> Sequence[Judged]:
        out = tmp_path / "results"
        options: dict[str, Any] = {"quick": quick, "replications": replications, "out": out}
        return evaluate(contender, against=[CUBIC], sections=sections, **options).judgement.rows

    return of


def test_bbr_is_named_for_its_losses_in_buffers_below_one_and_a_half_bdp(rows: Rows) -> None:
    """RFC 9743 section 5.1.3 names version 1, by Hock, Bless and Zitterbart, ICNP 2017."""
    (row,) = rows("tcp/bbr", "5.1.3")
    assert row.standing == "worse"
    short = [one for one in row.effects if one.place.get("queue") in ("0.25bdp", "0.5bdp", "1bdp")]
    assert len(short) == 3
    assert all(one.beyond(good=False, effects=len(row.effects)) for one in short)


def test_a_window_that_nothing_changes_is_named_for_congestion_collapse(rows: Rows) -> None:
    (row,) = rows("tcp/./fixed.py", "5.1.1")
    assert row.standing == "worse"


def test_who_hides_marks_is_named_for_it(rows: Rows) -> None:
    _, row = rows("tcp/./deaf.py", "7.1", quick=True)
    assert row.row.title == "Reaction to ECN" and row.standing == "worse"


def test_who_counts_acknowledgements_is_named_for_receivers_that_split_them(rows: Rows) -> None:
    """S. Savage et al., CCR 1999, section 2.1. CUBIC counts what they acknowledge, and so does not."""
    found = {one.row.title: one.standing for one in rows("tcp/./counting.py", "7.6", quick=True)}
    assert found["Misbehaving nodes: split acknowledgements"] == "worse"


def test_newcomers_over_quic_have_no_receivers_that_tcp_alone_can_have(rows: Rows) -> None:
    hidden, *others = rows("quic/newreno", "7.6", quick=True, replications=3)
    assert hidden.standing != "not run"
    assert [one.standing for one in others] == ["not run"] * 2
    assert all("is for tcp" in one.reason for one in others)


def test_who_goes_on_whatever_is_lost_is_ended_by_a_circuit_breaker(rows: Rows) -> None:
    (row,) = rows("tcp/./fixed.py", "7.2", quick=True)
    assert row.standing == "worse"
    tripped = next(one for one in row.effects if one.metric.name == "tripped_flows")
    assert tripped.found.value > 4


def test_scalable_tcp_is_named_for_what_it_does_to_others(rows: Rows) -> None:
    standing = {one.row.section: one.standing for one in rows("tcp/scalable", "5.2", quick=True)}
    assert standing["5.2.1"] == "worse"


def test_ledbat_is_named_for_nothing_that_it_does_to_others_but_to_nada(rows: Rows) -> None:
    """Its queue of 100 ms holds NADA down, which beside CUBIC goes by losses; GCC has more beside it."""
    found = rows("tcp/ledbat", "5.2", quick=True)
    assert "worse" not in {one.standing for one in found if one.row.section != "5.2.2"}
    (calls,) = (one for one in found if one.row.section == "5.2.2")
    worse = [one for one in calls.effects if one.beyond(good=False, effects=len(calls.effects))]
    assert {(one.metric.name, one.place.get("media")) for one in worse} == {("goodput", "rtp/nada")}
    (gcc,) = (one for one in calls.effects if (one.metric.name, one.place.get("media")) == ("goodput", "rtp/gcc"))
    assert gcc.beyond(good=True, effects=len(calls.effects))


def test_coupled_subflows_leave_more_to_others_where_all_paths_share_a_bottleneck(rows: Rows) -> None:
    """The aim of RFC 6356: subflows that share a bottleneck take no more than one flow does."""
    row = next(
        one for one in rows("tcp/lia", "7.10", quick=True, replications=8) if one.row.title == "Multipath transport"
    )
    (shared,) = (one for one in row.effects if "queue" in one.place)
    assert shared.metric.name == "goodput" and shared.metric.flow == "other"
    assert shared.beyond(good=True, effects=1)


def test_convergence_and_response_are_told(rows: Rows) -> None:
    """Four flows of CUBIC do not keep within a quarter of their share for 5 s; those of BBRv3 do."""
    (fairness,) = rows("tcp/bbr3", "5.1.4", quick=True, replications=12)
    convergence = fairness.effects[-1]
    assert convergence.metric.name == "convergence" and convergence.beyond(good=True, effects=1)
    (change,) = rows("tcp/bbr", "7.9", quick=True)
    response = [one for one in change.effects if one.metric.name == "response"]
    assert len(response) == 3 and all(one.newcomer > one.other for one in response)


def test_harm_is_told_from_the_flow_by_itself(rows: Rows, tmp_path: Path) -> None:
    (row,) = rows("tcp/scalable", "5.2.1", quick=True)
    assert row.effects and all(one.harm is not None for one in row.effects)
    flows = load(tmp_path / "results").flows.filter(pl.col("label") == "other", pl.col("queue") == "0.5bdp")
    pairs = flows.filter(pl.col("sender") == "tcp/scalable").join(
        flows.filter(pl.col("experiment") == "beside-nobody"), on="replication", suffix="_alone"
    )
    expected = (1 - pairs["goodput_bps"] / pairs["goodput_bps_alone"]).mean()
    found = next(one for one in row.effects if one.place == {"other": CUBIC, "queue": "0.5bdp"})
    assert found.metric.name == "goodput" and found.harm is not None
    assert found.harm.newcomer.value == pytest.approx(expected)
    # Two flows of CUBIC share the link, which one of them has alone; short flows take less of it than either.
    assert 0.35 < found.harm.other.value < 0.65 < found.harm.newcomer.value
    assert found.harm.alone == pytest.approx(9.65, rel=0.02)
    assert found.other < found.harm.instead["short flows"] < found.harm.alone
    assert harm(found).startswith("alone 9.6") and "of tcp/cubic 0." in harm(found)


def test_results_without_the_flow_by_itself_are_judged_and_tell_no_harm(tmp_path: Path) -> None:
    planned = plan("tcp/vegas", against=[CUBIC], sections=["5.2.1"], quick=True, out=tmp_path, replications=3)
    results = Campaign(planned.study, out=tmp_path / "there", replications=3, experiments=["beside"]).run()
    found = judged(results, shipped.locate("evaluate"))
    assert found is not None
    (row,) = [one for one in found.rows if one.row.section == "5.2.1"]
    assert row.effects and all(one.harm is None and harm(one) == "" for one in row.effects)


def test_a_call_that_adapts_keeps_more_of_its_rate_beside_vegas_than_beside_cubic(rows: Rows) -> None:
    (row,) = rows("tcp/vegas", "5.2.2")
    rates = [one for one in row.effects if one.metric.name == "goodput" and one.place["media"] == "rtp/nada"]
    assert {one.place["queue"] for one in rates} == {"70ms", "300ms"}
    short = next(one for one in rates if one.place["queue"] == "70ms")
    assert short.beyond(good=True, effects=len(row.effects)) and 0.15 < short.other < short.newcomer < 1.5


def test_who_is_held_against_itself_is_no_worse_anywhere(rows: Rows) -> None:
    """The dice are the same, so that the runs are: no effect, in no row."""
    found = rows(CUBIC, "5.1", "7.1", "7.9", quick=True)
    assert {one.standing for one in found} == {"no worse"}
    assert all(one.found.exact for row in found for one in row.effects)


def effect(values: Sequence[float], metric: str, margin: float) -> Effect:
    measure = METRICS[metric]
    return Effect(CUBIC, {}, measure, margin, 1.0, 1.0, from_scale(mean(values), measure))


@pytest.mark.parametrize(
    ("logarithms", "said"),
    [
        ([[0.3, 0.31, 0.29, 0.3]], "worse"),
        ([[0.02, 0.03, 0.02, 0.03]], "no worse"),
        ([[-0.3, -0.31, -0.29, -0.3]], "better"),
        ([[-0.3, 0.31, -0.2, 0.3]], "undecided"),
        # Better in one place does not outweigh worse in another, nor what is not known there.
        ([[-0.3, -0.31, -0.29, -0.3], [0.3, 0.31, 0.29, 0.3]], "worse"),
        ([[-0.3, -0.31, -0.29, -0.3], [-0.3, 0.31, -0.2, 0.3]], "undecided"),
        # Two replications have no interval.
        ([[0.3, 0.31]], "undecided"),
        ([], "undecided"),
    ],
)
def test_a_row_stands_as_its_intervals_do(logarithms: list[list[float]], said: str) -> None:
    assert word([effect(values, "completion_time", 0.1) for values in logarithms]) == said
    # Of goodput more is better.
    turned = [[-value for value in values] for values in logarithms]
    assert word([effect(values, "goodput", 0.1) for values in turned]) == said


@pytest.mark.parametrize(("places", "replications"), [(1, 10), (1, 4), (6, 10), (15, 10)])
def test_chance_seldom_calls_a_newcomer_worse(places: int, replications: int) -> None:
    """The newcomer stands exactly at the margin everywhere, where a false alarm is likeliest."""
    stream = np.random.default_rng(9743)
    cases = 3000
    alarms = 0
    for _ in range(cases):
        values = np.log(1.1) + stream.normal(0, 0.1, (places, replications))
        alarms += word([effect(list(one), "completion_time", 0.1) for one in values]) == "worse"
    assert alarms / cases <= 0.06


def test_a_row_that_is_better_everywhere_is_seldom_missed() -> None:
    stream = np.random.default_rng(9743)
    cases = 500
    found = sum(
        word([effect(list(one), "completion_time", 0.1) for one in stream.normal(-0.4, 0.1, (3, 10))]) == "better"
        for _ in range(cases)
    )
    assert found / cases > 0.95


def test_experiments_that_a_newcomer_cannot_take_part_in_are_left_out_and_said(rows: Rows) -> None:
    (row,) = rows("quic@quinn/cubic", "7.5", quick=True, replications=3)
    assert row.standing in ("worse", "no worse", "better", "undecided")
    campaign = plan("quic@quinn/cubic", against=[CUBIC])
    assert "paths" not in campaign.experiments and "loss" in campaign.experiments
    left: Any = campaign.study.file.parameters["left_out"]
    assert "quinn has one path" in left["paths"]
    # Nobody asks what is there without a newcomer that is not there either.
    sheet = read(shipped.locate("evaluate"))
    assert sheet is not None and "beside-nobody" in sheet.experiments
    assert "beside-nobody" not in sheet.without(["beside"]) and "paths" in sheet.without(["beside"])


@pytest.mark.parametrize(
    ("contender", "options", "said"),
    [
        ("tcp/cubik", {}, "did you mean"),
        ("bbr", {}, "contender: "),
        ("tcp/bbr", {"against": ["sctp/cubic"]}, "against: "),
        ("tcp/cubic", {"against": []}, "is needed"),
        ("tcp/bbr", {"against": [CUBIC, CUBIC]}, "is named twice"),
        ("tcp/bbr", {"sections": ["9.9"]}, "the sheet has no such section"),
    ],
)
def test_errors_say_what_would_be_right(contender: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as caught:
        plan(contender, **options)
    assert said in str(caught.value)


def test_the_results_are_a_study_of_their_own_and_have_a_report(haltere: Haltere, tmp_path: Path) -> None:
    arguments = ("tcp/vegas", "--against", CUBIC, "--quick", "--replications", "3", "--section", "7.5")
    done = haltere("evaluate", *arguments, "--out", "far")
    assert done.returncode == 0, done.stderr
    assert "7.5" in done.stdout and "5.1.1" not in done.stdout
    page = (tmp_path / "far" / "report.html").read_text()
    assert "tcp/vegas by the sections of RFC 9743" in page and 'id="sheet"' in page and "compliant" not in page
    data = json.loads(haltere("evaluate", *arguments, "--out", "far", "--json").stdout)
    (row,) = data["rows"]
    assert row["section"] == "7.5" and row["effects"][0]["metric"] == "completion_time"
    assert row["effects"][0]["harm"] is None
    again = report.build(tmp_path / "far", shipped.locate("evaluate"), tmp_path / "again")
    assert (tmp_path / "far" / "report.html").read_text() == again.read_text()


def test_what_fails_in_a_users_code_is_said(haltere: Haltere, tmp_path: Path) -> None:
    faulty = (CONTROLS / "fixed.py").read_text().replace("        pass\n", "        raise ValueError(17)\n")
    (tmp_path / "faulty.py").write_text(faulty)
    done = haltere("evaluate", "tcp/./faulty.py", "--quick", "--section", "7.5", "--against", CUBIC, "--out", "here")
    assert done.returncode == exits.SOME_FAILED
    assert "faulty.py" in done.stdout and "17" in done.stdout
    assert "undecided" in done.stdout


def test_a_sheet_needs_somebody_beside_the_newcomer(tmp_path: Path) -> None:
    planned = plan("tcp/bbr", against=[CUBIC], sections=["7.5"], quick=True, out=tmp_path / "there", replications=1)
    data = planned.study.document.data
    data["parameters"]["senders"] = data["parameters"]["senders"][:1]
    study = Study.of_document(Document("study.toml", tomli_w.dumps(data), data), tmp_path, variant="quick")
    results = Campaign(study, out=tmp_path / "alone", replications=1, experiments=["far"]).run()
    with pytest.raises(InputError, match="needs two levels for a sheet"):
        judged(results, shipped.locate("evaluate"))


def test_each_experiment_is_judged_and_drawn() -> None:
    folder = shipped.locate("evaluate")
    sheet = read(folder)
    assert sheet is not None
    study = Study.load(folder)
    assert sorted(sheet.experiments) == sorted(study.file.experiments)
    drawn = (folder / "figures.toml").read_text()
    assert all(f'experiment = "{name}"' in drawn for name in sheet.experiments)
    for row in sheet.rows:
        assert bool(row.parts) + bool(row.missing) + bool(row.judgement) == 1, row.section
        for part in row.parts:
            factors = study.factors(part.experiment)
            assert set(part.by) <= set(factors), row.section
            there = {name: levels for name, levels in factors.items() if name != sheet.factor}
            assert all(study.factors(name) == there for name in part.instead.values()), row.section


def test_all_controls_of_the_model_are_newcomers_of_a_variant() -> None:
    """A control that is added to the model is to be added here."""
    study = Study.load(shipped.locate("evaluate"), variant="controls")
    assert set(study.factors("loss")["sender"]) == {f"tcp/{one['name']}" for one in core.algorithms()["congestion"]}


def test_a_faulty_sheet_names_the_place(tmp_path: Path) -> None:
    (tmp_path / "sheet.toml").write_text(
        'factor = "sender"\n[[rows]]\nsection = "1"\ntitle = "t"\nstrength = "MUST"\ndemand = "d"\n'
        'parts = [{ experiment = "a", metric = "goodputt", margin = 0.1 }]\n'
    )
    with pytest.raises(InputError, match="there is no such metric") as caught:
        read(tmp_path)
    assert caught.value.place is not None and caught.value.place.line == 7
    assert "goodput" in str(caught.value)
    (tmp_path / "sheet.toml").write_text('factor = "sender"\n[[rows]]\nsection = "1"\n')
    with pytest.raises(InputError, match=r"rows\[0\]"):
        read(tmp_path)
