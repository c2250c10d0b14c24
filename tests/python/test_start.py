"""`haltere new` and `haltere list`."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from conftest import Haltere


def test_a_new_study_runs_in_seconds_and_its_report_judges_its_claim(haltere: Haltere, tmp_path: Path) -> None:
    made = haltere("new", "my-study")
    assert made.returncode == 0, made.stderr
    assert sorted(file.name for file in (tmp_path / "my-study").iterdir()) == [
        "claims.py",
        "figures.toml",
        "study.toml",
    ]
    started = time.monotonic()
    ran = haltere("run", "my-study")
    assert ran.returncode == 0, ran.stderr
    assert "240 runs" in ran.stdout
    assert time.monotonic() - started < 30
    report = haltere("report", "results/my-study")
    assert report.returncode == 0, report.stderr
    assert "of TCP's time" in report.stdout
    verdicts = (tmp_path / "results" / "my-study" / "verdicts.md").read_text()
    assert "QUIC ÷ TCP: 0." in verdicts
    page = (tmp_path / "results" / "my-study" / "report.html").read_text()
    assert "Missing figures" not in page
    assert (tmp_path / "results" / "my-study" / "figures" / "completion-time.svg").exists()

    listed = json.loads(haltere("list", "--json").stdout)
    assert listed["studies_here"] == [{"study": "my-study", "title": "QUIC against TCP for small objects"}]
    (found,) = listed["results_here"]
    assert (found["results"], found["runs"], found["failed"], found["report"]) == ("results/my-study", 240, 0, True)
    assert {"lte", "starlink"} == {name for one in listed["presets"] for name in one["also"]}
    assert "quic-dumbbell" in {one["study"] for one in listed["shipped_studies"]}
    table = haltere("list").stdout
    assert "results/my-study" in table and "datacentre" in table


@pytest.mark.parametrize(("name", "said"), [("there", "is there already"), ("my study", "my study")])
def test_a_new_study_overwrites_nothing_and_has_a_name(haltere: Haltere, tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / "there").mkdir()
    refused = haltere("new", name)
    assert refused.returncode == 2
    assert said in refused.stderr
    assert [one.name for one in tmp_path.iterdir()] == ["there"]
