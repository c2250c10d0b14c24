"""Reports of campaigns that still run, into other folders, and of results that another version wrote."""

from __future__ import annotations

import gzip
import json
import re
import shlex
from pathlib import Path

import pytest

from conftest import SMALL_STUDY, Haltere
from haltere import Study, core
from haltere.errors import InputError
from haltere.report import build
from haltere.results import load
from haltere.runner.campaign import so_far
from test_report import Page


@pytest.fixture
def study(tmp_path: Path) -> Path:
    folder = tmp_path / "small"
    folder.mkdir()
    (folder / "study.toml").write_text(SMALL_STUDY)
    return folder


def unfinished(folder: Path, keep: int) -> None:
    """Leave a folder as a campaign has it that still runs: so many finished runs, no tables."""
    for file in folder.glob("*.*"):
        file.unlink()
    lines = [line for part in sorted((folder / "parts").glob("part-*")) for line in _lines(part)]
    for part in (folder / "parts").glob("part-*"):
        part.unlink()
    header = lines[0]
    runs = [line for line in lines if "\t" in line][:keep]
    (folder / "parts" / "part-000000.jsonl.gz").write_bytes(gzip.compress("\n".join([header, *runs]).encode()))


def _lines(part: Path) -> list[str]:
    return gzip.decompress(part.read_bytes()).decode().splitlines()


def test_a_campaign_that_still_runs_is_reported_as_far_as_it_is(study: Path, tmp_path: Path, haltere: Haltere) -> None:
    results = tmp_path / "results"
    Study.load(study).run(out=results, replications=3)
    unfinished(results, 10)
    done = haltere("report", str(results))
    assert done.returncode == 0, done.stderr
    assert "10 of 30 runs are in this report" in done.stderr
    text = Page((results / "so-far" / "report.html").read_text(encoding="utf-8")).text
    assert "The campaign has not finished: 10 of 30 runs are here." in text
    assert not (results / "manifest.json").exists()
    assert load(results / "so-far").runs.height == 10
    again = haltere("run", str(study), "--replications", "3", "--out", str(results))
    assert again.returncode == 0 and load(results).runs.height == 30
    assert so_far(tmp_path / "nothing") is None


def test_a_campaign_without_a_finished_run_is_refused_in_words(study: Path, tmp_path: Path, haltere: Haltere) -> None:
    results = tmp_path / "results"
    Study.load(study).run(out=results, replications=1)
    unfinished(results, 0)
    done = haltere("report", str(results))
    assert done.returncode == 2
    assert "no run has finished yet" in done.stderr


def test_a_report_goes_into_another_folder_or_into_a_file_alone(study: Path, tmp_path: Path) -> None:
    results = Study.load(study).run(out=tmp_path / "results", replications=1)
    before = sorted(file.name for file in results.path.iterdir())
    (study / "figures.toml").write_text(
        '[[bars]]\nname = "times"\nexperiment = "base"\nmetric = "completion_time"\nx = "loss"\n'
        'series = "transport"\nwhere = { rate = "5Mbit/s" }\n'
    )
    folder = build(results.path, study, tmp_path / "elsewhere" / "here")
    assert folder == tmp_path / "elsewhere" / "here" / "report.html"
    beside = {"report.html", "explore.html", "verdicts.md", "figures"}
    assert {file.name for file in folder.parent.iterdir()} == beside
    file = build(results.path, study, tmp_path / "alone" / "mine.html")
    assert [one.name for one in file.parent.iterdir()] == ["mine.html"]
    page = Page(file.read_text(encoding="utf-8"))
    assert page.loads == []
    assert all(link.startswith(("#", "data:")) for link in page.links)
    assert "figure-times" in page.ids
    assert sorted(file.name for file in results.path.iterdir()) == before


def _changed(results: Path, **fields: object) -> None:
    manifest = json.loads((results / "manifest.json").read_text(encoding="utf-8"))
    (results / "manifest.json").write_text(json.dumps({**manifest, **fields}), encoding="utf-8")


def test_results_of_another_version_say_so_in_the_report_and_on_the_command_line(
    study: Path, tmp_path: Path, haltere: Haltere
) -> None:
    results = tmp_path / "results"
    Study.load(study).run(out=results, replications=1)
    assert "Other version" not in build(results, study).read_text(encoding="utf-8")
    _changed(results, haltere="0.0.9")
    done = haltere("report", str(results))
    assert "the runs are of haltere 0.0.9" in done.stderr
    assert "The runs are of haltere 0.0.9" in (results / "report.html").read_text(encoding="utf-8")
    _changed(results, haltere=core.VERSION, core="another")
    assert "another build of haltere" in haltere("report", str(results)).stderr
    for command in (["explore", str(results)], ["export", str(results)], ["diff", str(results), str(results)]):
        assert "another build of haltere" in haltere(*command).stderr, command


def test_results_of_a_newer_format_are_refused_with_what_to_do(study: Path, tmp_path: Path, haltere: Haltere) -> None:
    results = tmp_path / "results"
    Study.load(study).run(out=results, replications=1)
    _changed(results, format=2, haltere="9.0.0")
    with pytest.raises(InputError, match="whose format this version does not know"):
        load(results)
    for command in ("report", "explore", "export"):
        done = haltere(command, str(results))
        assert done.returncode == 2
        assert "haltere 9.0.0" in done.stderr and "run the study again" in done.stderr


def test_the_command_under_reproduce_can_be_pasted(study: Path, tmp_path: Path) -> None:
    """It was `--out results/mit leer`, of which a shell makes two words."""
    results = Study.load(study).run(out=tmp_path / "mit leer", replications=1)
    words = shlex.split(results.manifest["command"])
    assert words[:2] == ["haltere", "run"]
    assert words[-1].endswith("mit leer")


def test_the_numbers_of_a_preset_stand_in_manifest_and_design(tmp_path: Path) -> None:
    """`link = { preset = "5g" }` gave a design without rate, delay or queue."""
    text = SMALL_STUDY[: SMALL_STUDY.index("[experiments.base]")] + (
        '[experiments.base.factors]\npath = ["5g", "dsl"]\n'
        '[experiments.base.scenario]\ntopology = { kind = "point-to-point", link = { preset = "{path}" } }\n'
        'flows = [{ contender = "tcp/cubic", size = "20kB" }]\n'
        '[experiments.one.scenario]\ntopology = { kind = "point-to-point", link = { preset = "dsl" } }\n'
        'flows = [{ contender = "tcp/cubic", size = "20kB" }]\n'
    )
    results = Study.parse(text).run(out=tmp_path / "results", replications=1)
    (link,) = results.manifest["experiments"]["base"]["links"]
    assert [text.partition(",")[0] for text in link["down"]] == ["166130kbit/s", "50Mbit/s"]
    page = build(results.path, tmp_path).read_text(encoding="utf-8")
    said = re.sub(r"<[^>]+>", "", page)
    assert "166\u202f130kbit/s, delay 6ms, queue drop-tail (limit 2\u202f000\u202f000B)" in said
    assert "50Mbit/s, delay 22ms, queue drop-tail" in said
    drawings = re.findall(r'<svg class="topology".*?</svg>', page, re.S)
    assert any("preset 5g · dsl" in one for one in drawings)
