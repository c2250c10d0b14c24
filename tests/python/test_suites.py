"""The test cases of draft-ietf-ccwg-bbr: what passes, what fails, and that an event forks a run in time."""

from __future__ import annotations

import json
from collections import Counter
from xml.etree import ElementTree

import pytest

from haltere import InputError, run_suite
from haltere.evaluation.suites import bbr, running
from haltere.evaluation.suites.cases import Case, Check, Path, Shown
from haltere.evaluation.suites.seen import Seen
from haltere.evaluation.suites.writing import junit, summary, write

CASES = {case.number: case for case in bbr.CASES}


@pytest.fixture(scope="module")
def version_3():
    return run_suite("tcp/bbr3")


def failed(found):
    return [one.case.number for one in found.results if one.verdict == "failed"]


def test_the_cases_are_those_of_the_draft():
    assert [case.number for case in bbr.CASES] == list(range(1, 23))
    assert all(case.checks for case in bbr.CASES)
    assert len({check.says for case in bbr.CASES for check in case.checks}) > 40


def test_version_3_passes_all_cases_over_tcp(version_3):
    assert failed(version_3) == []
    assert version_3.count("passed") == 22
    assert not any(one.unseen for one in version_3.results)


@pytest.mark.parametrize("contender", ["quic/bbr3", "quic@noq/bbr3+haltere"])
def test_version_3_passes_all_cases_over_quic(contender):
    assert [(one.case.number, one.looked) for one in run_suite(contender).results if one.verdict != "passed"] == []


@pytest.mark.parametrize("seed", [2, 3])
def test_the_dice_do_not_decide(seed):
    assert failed(run_suite("tcp/bbr3", seed=seed)) == []


def test_version_1_fails_where_it_differs_from_the_draft():
    found = run_suite("tcp/bbr", cases=[1, 3, 6, 8, 10, 20])
    assert failed(found) == [3, 6, 8, 10]
    (gain,) = [one for one in found.results[1].looked if "pacing gain" in one.check.says]
    assert gain.shown == Shown(good=False, words="0.344")
    assert "never" in found.results[2].looked[0].shown.words


def test_of_others_only_the_wire_is_judged():
    found = run_suite("tcp/cubic", cases=[1, 7, 8, 13])
    assert [one.verdict for one in found.results] == ["failed", "passed", "not shown", "passed"]
    assert found.results[0].unseen == 3
    assert any("does not tell" in sentence for sentence in summary(found))


@pytest.mark.parametrize("contender", ["tcp/bbr3", "quic/bbr3"])
@pytest.mark.parametrize("number", [case.number for case in bbr.CASES if case.event is not None])
def test_an_event_changes_nothing_before_it(contender, number):
    case = CASES[number]
    document = case.path.document(contender)
    before = running._seen(case, document, "model", 1)
    at = case.cue.find(before)
    after = running._seen(case, case.forked(document, at, before), "model", 1)
    same = at - 0.02 if number == 22 else at  # the application's data end there: the last packet is missing
    assert before.cut(same) == after.cut(same)
    assert before.cut(before.end) != after.cut(before.end)


def test_the_same_seed_gives_the_same_cases(version_3):
    again = run_suite("tcp/bbr3", workers=1)
    assert [one.looked for one in again.results] == [one.looked for one in version_3.results]


def test_a_state_is_where_it_was_recorded():
    trace = {
        "result": {"virtual_s": 4.0, "flows": [{}], "links": []},
        "series": [
            {
                "who": "flow 0",
                "name": "bbr_state",
                "t_s": [0.5, 1.0, 3.0],
                "v": [0, 1, 0],
                "values": ["Startup", "Drain"],
            },
            {"who": "flow 0", "name": "max_bw", "t_s": [0.5, 2.0], "v": [1e6, None]},
        ],
    }
    seen = Seen(trace, rate_bps=1e6, rtt_s=0.1)
    assert [(stay.state, stay.start, stay.end, stay.after) for stay in seen.stays] == [
        ("Startup", 0.5, 1.0, "Drain"),
        ("Drain", 1.0, 3.0, "Startup"),
        ("Startup", 3.0, 4.0, None),
    ]
    assert [seen.state(t) for t in (0.4, 0.5, 2.9, 3.0)] == [None, "Startup", "Drain", "Startup"]
    assert (seen["max_bw"].at(0.4), seen["max_bw"].at(1.9), seen["max_bw"].at(2.0)) == (None, 1e6, None)


def test_a_build_gets_junit_and_a_page(tmp_path):
    found = run_suite("tcp/bbr", cases=[1, 8])
    root = ElementTree.fromstring(junit(found))
    assert (root.get("tests"), root.get("failures"), root.get("skipped")) == ("2", "1", "0")
    assert root.find("testcase[2]/failure").text.startswith("the pacing gain in DOWN is 0.90")
    page = write(found, tmp_path).read_text()
    assert "Exiting PROBE_DOWN on Inflight" in page
    assert page.count("<svg") > 6
    assert (tmp_path / "case-08.toml").exists()


def test_a_case_is_run_again_from_its_file(tmp_path, haltere):
    ran = haltere("evaluate", "tcp/bbr3", "--suite", "bbr", "--case", "21", "--out", str(tmp_path), "--qlog", "--json")
    (case,) = json.loads(ran.stdout)["cases"]
    assert case["verdict"] == "passed"
    assert case["event_s"] > 6
    assert (tmp_path / "qlog" / "case-21" / "flow-0-server.sqlog").stat().st_size > 10_000
    again = haltere("trace", str(tmp_path / "case-21.toml"), "--json")
    assert again.returncode == 0
    assert json.loads(again.stdout)["result"]["status"] == "ok"


def test_the_exit_code_tells(haltere, tmp_path):
    assert haltere("evaluate", "tcp/bbr3", "--suite", "bbr", "--case", "1").returncode == 0
    report = tmp_path / "cases.xml"
    ran = haltere("evaluate", "tcp/bbr", "--suite", "bbr", "--case", "3", "--junit", str(report))
    assert ran.returncode == 3
    assert "0.344" in ran.stdout
    assert 'failures="1"' in report.read_text()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--suite", "bbr9"], "is no suite"),
        (["--suite", "bbr", "--case", "23"], "1 to 22"),
        (["--suite", "bbr", "--quick"], "is for the sheet"),
        (["--case", "3"], "add --suite bbr"),
        (["--junit", "x.xml"], "add --suite bbr"),
        (["--qlog"], "add --suite bbr"),
        (["--suite", "bbr", "--qlog"], "add --out FOLDER"),
    ],
)
def test_what_does_not_go_together_is_refused(haltere, options, words):
    ran = haltere("evaluate", "tcp/bbr3", *options)
    assert ran.returncode == 2
    assert words in ran.stderr


def test_a_wrong_contender_is_refused_before_anything_runs():
    with pytest.raises(InputError, match="bbr7"):
        run_suite("tcp/bbr7")


def test_a_check_that_is_not_met_fails_its_case():
    bad = Check("never", inside=False, look=lambda *_: Shown(good=False, words="as said"))
    case = Case(1, "a case", Path(seconds=1.0), (CASES[1].checks[0], bad))
    assert Counter(one.shown.good for one in running._run(case, "tcp/bbr3", "model", 1).looked) == {True: 1, False: 1}
