"""Calls on the command line and from Python."""

from __future__ import annotations

import json
from typing import Any

import pytest

import haltere as package
from conftest import Haltere
from haltere.adhoc.conditions import Conditions
from haltere.adhoc.noticed import noticed
from haltere.errors import InputError

SHORT = ("--duration", "8s", "--replications", "2", "--rate", "2Mbit/s", "--queue", "fq_codel")


def _entries(behind_s: float, freezes: float, rate: float) -> list[dict[str, Any]]:
    return [{"error": None, "glass_to_glass_p95_s": behind_s, "freezes": freezes, "picture_rate": rate}] * 3


def test_what_is_noticed_is_late_frozen_or_missing() -> None:
    fine, late, frozen = _entries(0.08, 0, 30), _entries(0.3, 0, 29.9), _entries(0.12, 4, 20)
    said = noticed(["a", "b", "c"], [fine, late, frozen])
    assert "b is up to 300 ms behind (a: 80 ms)" in said
    assert "c freezes 4 times (a: never) and shows 20 frames a second (a: 30)" in said
    assert "no difference" in noticed(["a", "b"], [fine, _entries(0.14, 0.2, 29)]), "below 150 ms nobody is disturbed"
    assert "On this call the picture is up to 80 ms behind" in noticed(["a"], [fine])
    assert "would see nothing" in noticed(["a"], [[{"error": "x", "glass_to_glass_p95_s": None}]])


def test_calls_are_judged_by_their_latency(haltere: Haltere) -> None:
    done = haltere("compare", "rtp/gcc", "rtp/nada", "rtp/scream", *SHORT)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    told = next(at for at, line in enumerate(lines) if line.startswith("A person on the call would notice"))
    assert "latency from glass to glass, 95th percentile" in " ".join(lines[told:])
    assert "calls of 8s" in lines[0]
    assert "https" not in lines[0]


def test_entries_of_calls_have_their_columns(haltere: Haltere) -> None:
    done = haltere("compare", "rtp/nada", *SHORT, "--json")
    for entry in json.loads(done.stdout):
        assert entry["completion_s"] is None
        assert entry["error"] is None
        assert 0.9 * 7 * 30 < entry["frames_shown"] <= entry["frames_sent"]
        assert 0.02 < entry["glass_to_glass_p95_s"] < 1


def test_another_metric_may_decide(haltere: Haltere) -> None:
    done = haltere("compare", "rtp/gcc", "rtp/nada", *SHORT, "--metric", "picture_rate")
    assert "picture rate" in done.stdout
    none = haltere("compare", "rtp/gcc", "rtp/nada", *SHORT, "--metric", "freezes")
    assert "no winner: all have the same freezes (rtp/gcc 0, rtp/nada 0)" in " ".join(none.stdout.split())
    some = haltere("compare", "rtp/gcc", "rtp/nada", *SHORT, "--loss", "30%", "--metric", "frozen_time")
    assert "time frozen" in some.stdout
    wrong = haltere("compare", "rtp/gcc", *SHORT, "--metric", "picturerate")
    assert wrong.returncode != 0
    assert "is no metric of flows" in wrong.stderr
    assert "picture_rate" in wrong.stderr


def test_from_python_the_verdict_is_that_of_calls() -> None:
    what = {"duration": "8s", "replications": 2, "rate": "2Mbit/s"}
    found = package.compare(["rtp/gcc", "rtp/nada"], **what)  # type: ignore[arg-type]
    assert found.verdict.startswith("A person on the call")
    assert found.leads["metric"].to_list() == ["glass_to_glass_p95"]


def test_calls_beside_objects_share(haltere: Haltere) -> None:
    with pytest.raises(InputError, match="no metric in common"):
        package.compare(["rtp/gcc", "tcp/cubic"], replications=1)
    done = haltere(
        "compare", "rtp/gcc", "tcp/cubic", "--share", "--duration", "14s", "--replications", "2", "--rate", "2Mbit/s"
    )
    assert done.returncode == 0, done.stderr
    assert "On this call the picture is" in done.stdout
    assert "goodput" in done.stdout


def test_a_call_has_no_size_and_others_have_one() -> None:
    flows = Conditions(share=False).data(["rtp/gcc"])
    assert flows["flows"] == [{"contender": "rtp/gcc"}]
    assert flows["duration"] == "60s"
    assert "duration" not in Conditions().data(["tcp/cubic"])


def test_real_hosts_have_no_calls(haltere: Haltere) -> None:
    done = haltere("compare", "rtp/gcc", "--fidelity", "linux", "--replications", "1")
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
