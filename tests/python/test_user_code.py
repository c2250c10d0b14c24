"""A user's own claims and figures: what is wrong in them is told with file and line, and harms nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from conftest import SMALL_STUDY, Haltere

HEAD = """
from haltere.claims import all_of, answer, claim, remark
from haltere.claims.comparison import compare
"""
GOOD = """
@claim("This one holds.", source="page 1")
def good(tables):
    return all_of(remark("runs", str(tables.runs.height)))
"""
OVER = "{'rate': ['5Mbit/s'], 'loss': ['2%']}"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the small study and its results."""
    from haltere import Study

    folder = tmp_path_factory.mktemp("user")
    (folder / "small").mkdir()
    (folder / "small/study.toml").write_text(SMALL_STUDY)
    Study.load(folder / "small").run(out=folder / "results", replications=2)
    return folder


@pytest.fixture
def folder(results: Path, tmp_path: Path) -> Path:
    shutil.copytree(results, tmp_path, dirs_exist_ok=True)
    return tmp_path


BROKEN = {
    "an exception": ("    return 1 / 0", "claims.py:10: ZeroDivisionError: division by zero."),
    "one inside haltere": (
        f"    compare(tables, 'base', 'speed', 'transport', 'quic', 'tcp', over={OVER})",
        "claims.py:10: KeyError: 'speed'.",
    ),
    "no return": (
        "    all_of()",
        "claims.py:8: bad returns nothing: is a `return` missing? It must return a Verdict.",
    ),
    "a wrong return": ("    return True", "claims.py:8: bad returns bool. It must return a Verdict."),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_claim_is_named_and_shown_beside_the_others(name: str, folder: Path, haltere: Haltere) -> None:
    body, words = BROKEN[name]
    text = f"{HEAD}{GOOD}\n@claim('This one is broken.', source='page 2')\ndef bad(tables):\n{body}\n"
    text = text.replace("\n\n@claim('This", "\n@claim('This")
    (folder / "small/claims.py").write_text(text)
    done = haltere("report", "results", "--study", "small")
    assert f"small/{words}" in done.stderr
    assert done.returncode == 3
    assert "itself went wrong" not in done.stderr
    page = (folder / "results/report.html").read_text(encoding="utf-8")
    assert "This one holds." in page
    assert "This one is broken." in page
    assert words.partition(":")[0] in page
    assert '<span class="badge broken">! broken</span>' in page
    assert "| *broken* |" in (folder / "results/verdicts.md").read_text(encoding="utf-8")


def test_an_answer_that_fails_is_told_and_the_report_is_written(folder: Path, haltere: Haltere) -> None:
    (folder / "small/claims.py").write_text(f"{HEAD}{GOOD}\n@answer\ndef said(tables):\n    raise ValueError('oh')\n")
    done = haltere("report", "results", "--study", "small")
    assert done.returncode == 3
    assert "small/claims.py:11: ValueError: oh" in done.stderr
    assert "The answer could not be written." in (folder / "results/report.html").read_text(encoding="utf-8")


NO_CLAIM = {
    "no source": ("@claim('x')", 6, "@claim: a claim needs its source"),
    "a source that is no text": ("@claim('x', source=5)", 6, "given: 5"),
    "nothing at all": ("@claim", 6, "@claim: a claim needs its sentence"),
    "an empty sentence": ("@claim(' ', source='y')", 6, "@claim: a claim needs its sentence"),
    "a keyword too many": ("@claim('x', source='y', sauce='z')", 6, "unexpected keyword argument 'sauce'"),
    "a name twice": (
        "@claim('x', source='y')\ndef bad(tables):\n    ...\n@claim('z', source='y')",
        10,
        "bad: two functions",
    ),
    "a module that is not there": ("import numpi\n@claim('x', source='y')", 6, "No module named 'numpi'"),
    "wrong indentation": ("  @claim('x', source='y')", 6, "IndentationError"),
}


@pytest.mark.parametrize("name", NO_CLAIM)
def test_a_claim_that_is_none_is_refused_at_its_line(name: str, folder: Path, haltere: Haltere) -> None:
    text, line, words = NO_CLAIM[name]
    (folder / "small/claims.py").write_text(f"{HEAD}\n\n{text}\ndef bad(tables):\n    ...\n")
    done = haltere("report", "results", "--study", "small")
    assert done.returncode == 2
    assert f"error: small/claims.py:{line}: " in done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert not (folder / "results/report.html").exists()


UNKNOWN = {
    "a level": ("'quic', 'tpc'", "factor transport of base has no level 'tpc': is it 'tcp'?"),
    "a level of others": ("'quic', 'tcp', over={'rate': ['7Mbit/s'], 'loss': ['2%']}", "has no level '7Mbit/s'"),
    "a factor": ("'quic', 'tcp', over={'rat': ['5Mbit/s']}", "experiment base has no factor 'rat': is it 'rate'?"),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_claim_that_names_what_the_study_lacks_is_broken_and_the_report_is_written(
    name: str, folder: Path, haltere: Haltere
) -> None:
    arguments, words = UNKNOWN[name]
    arguments = arguments if "over=" in arguments else f"{arguments}, over={OVER}"
    (folder / "small/claims.py").write_text(
        f"{HEAD}\n@claim('x', source='y')\ndef bad(tables):\n"
        f"    compare(tables, 'base', 'completion_time', 'transport', {arguments})\n"
    )
    done = haltere("report", "results", "--study", "small")
    assert (done.returncode, words in done.stderr) == (3, True), done.stderr
    assert "small/claims.py:7: bad: " in done.stderr
    assert '<span class="badge broken">! broken</span>' in (folder / "results/report.html").read_text(encoding="utf-8")


def test_a_starting_study_with_other_levels_has_its_report_before_its_claims_are_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, haltere: Haltere
) -> None:
    """Its answer and its claim named levels that are gone, and there was no report at all."""
    monkeypatch.chdir(tmp_path)
    assert haltere("new", "own").returncode == 0
    file = tmp_path / "own/study.toml"
    file.write_text(file.read_text(encoding="utf-8").replace('"quic"', '"mptcp"'), encoding="utf-8")
    assert haltere("run", "own", "--replications", "2").returncode == 0
    done = haltere("report", "results/own")
    assert done.returncode == 3
    assert "has no level 'quic'" in done.stderr
    assert (tmp_path / "results/own/report.html").exists()


BARS = """
[[bars]]
name = "times"
experiment = "base"
metric = "completion_time"
x = "loss"
series = "transport"
where = { rate = "5Mbit/s" }
"""
WRONG_FIGURES = {
    'experiment = "base"': ('experiment = "bass"', "bars[0].experiment", "the study has no experiment 'bass'", 4),
    'x = "loss"': ('x = "lost"', "bars[0].x", "is it 'loss'?", 6),
    'rate = "5Mbit/s"': ('rate = "6Mbit/s"', "bars[0].where.rate", "has no level '6Mbit/s'", 8),
    'series = "transport"': ('series = "transport"\nonly = ["quik"]', "bars[0].only", "is it 'quic'?", 8),
}


@pytest.mark.parametrize("given", WRONG_FIGURES)
def test_a_figure_that_names_what_the_study_lacks_is_refused_at_its_line(
    given: str, folder: Path, haltere: Haltere
) -> None:
    wrong, field, words, line = WRONG_FIGURES[given]
    (folder / "small/figures.toml").write_text(BARS.replace(given, wrong))
    done = haltere("report", "results", "--study", "small")
    assert done.returncode == 2
    assert f"small/figures.toml:{line}:" in done.stderr
    assert field in done.stderr
    assert words in done.stderr
    assert not (folder / "results/report.html").exists()


def test_a_level_in_units_of_its_own_and_one_of_a_variant_are_known(folder: Path, haltere: Haltere) -> None:
    study = (folder / "small/study.toml").read_text()
    (folder / "small/study.toml").write_text(study.replace('transport = ["quic"]', 'transport = ["quic", "mptcp"]'))
    (folder / "small/figures.toml").write_text(
        BARS.replace("5Mbit/s", "5000kbit/s") + BARS.replace('"times"', '"others"') + 'only = ["mptcp"]\n'
    )
    assert haltere("report", "results", "--study", "small").returncode == 0


def test_a_second_report_leaves_no_figure_of_the_first(folder: Path, haltere: Haltere) -> None:
    figures = folder / "small/figures.toml"
    figures.write_text(BARS)
    haltere("report", "results", "--study", "small")
    own = folder / "results/figures/notes.txt"
    own.write_text("mine")
    assert (folder / "results/figures/times.pdf").exists()
    figures.write_text(BARS.replace('"times"', '"others"'))
    haltere("report", "results", "--study", "small")
    assert sorted(path.name for path in own.parent.iterdir()) == ["notes.txt", "others.pdf", "others.svg"]


def test_a_second_trace_leaves_nothing_of_the_first(tmp_path: Path, haltere: Haltere) -> None:
    first = haltere("trace", "quic/cubic", "--size", "100kB", "--out", "t", "--qlog", "--pcap", "--flent")
    assert first.returncode == 0
    (tmp_path / "t/notes.txt").write_text("mine")
    lost = haltere("trace", "tcp/cubic", "--size", "100kB", "--loss", "100%", "--out", "t")
    assert (lost.returncode, "itself went wrong" in lost.stderr) == (4, False)
    assert "flow 0 tcp/cubic: failed: the handshake was given up" in lost.stdout
    names = {path.name for path in (tmp_path / "t").iterdir()}
    assert names == {"notes.txt", "run.json", "series.csv", "series.parquet"}
