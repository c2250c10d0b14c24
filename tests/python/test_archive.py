"""Export of tables, and archives that others run again."""

from __future__ import annotations

import json
import re
import shutil
import tarfile
import tomllib
from pathlib import Path

import polars as pl
import pytest

from artifacts import ARTIFACT, CLAIMS
from conftest import ROOT, SMALL_STUDY, Haltere
from haltere import Study, load
from haltere.errors import InputError
from haltere.export import archive
from haltere.export import tables as export
from haltere.stats import mean_of_amounts


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a study, of which one link follows a trace beside it, and its results."""
    folder = tmp_path_factory.mktemp("made")
    study = folder / "small"
    study.mkdir()
    text = SMALL_STUDY.replace('rate = "10Mbit/s"', 'rate = { trace = "two.trace" }')
    (study / "two.trace").write_text("1\n2\n")
    (study / "study.toml").write_text(text)
    (study / "claims.py").write_text(CLAIMS)
    (study / "artifact.toml").write_text(ARTIFACT)
    (study / ".hidden").write_text("")
    Study.load(study).run(out=folder / "results")
    return folder


def test_every_table_is_exported_as_csv_and_as_parquet(made: Path, haltere: Haltere, tmp_path: Path) -> None:
    results = load(made / "results")
    for form in ("csv", "parquet"):
        done = haltere("export", str(results.path), "--format", form, "--out", form)
        assert done.returncode == 0, done.stderr
        names = sorted(file.name for file in (tmp_path / form).iterdir())
        assert names == sorted(f"{name}.{form}" for name in ("runs", "flows", "links", "treatments"))
        read = pl.read_csv if form == "csv" else pl.read_parquet
        flows = read(tmp_path / form / f"flows.{form}")
        assert flows.columns == results.flows.columns
        assert flows["completion_s"].to_list() == results.flows["completion_s"].to_list()
    one = pl.read_csv(tmp_path / "csv" / "treatments.csv").filter(
        pl.col("experiment") == "base", pl.col("metric") == "completion_time", pl.col("transport") == "quic",
        pl.col("rate") == "5Mbit/s", pl.col("loss") == "2%",
    )  # fmt: skip
    rows = results.flows.filter(pl.col("transport") == "quic", pl.col("rate") == "5Mbit/s", pl.col("loss") == "2%")[
        "completion_s"
    ]
    expected = mean_of_amounts(rows.to_list())
    found = one.select("n", "mean", "low", "high").row(0)
    assert found == pytest.approx((expected.n, expected.value, expected.low, expected.high))


def test_lists_become_text_in_csv() -> None:
    frame = pl.DataFrame({"objects_s": [[1.5, 2.0], None]})
    assert export.flat(frame)["objects_s"].to_list() == ["1.5;2.0", None]


def test_what_cannot_be_exported_is_refused(made: Path, haltere: Haltere) -> None:
    wrong = haltere("export", str(made / "results"), "--format", "xlsx")
    assert wrong.returncode == 2 and "csv or parquet" in wrong.stderr
    unknown = haltere("export", str(made / "results"), "--table", "flow")
    assert unknown.returncode == 2 and "flows" in unknown.stderr


@pytest.fixture(scope="module")
def packed(made: Path) -> Path:
    """An archive of these results."""
    return archive.pack(made / "results", made / "it.tar.gz").file


@pytest.fixture
def allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code of archives may run."""
    monkeypatch.setenv("HALTERE_ALLOW_CODE", "1")


def test_the_same_results_give_the_same_archive(made: Path, packed: Path, haltere: Haltere, tmp_path: Path) -> None:
    done = haltere("pack", str(made / "results"), "--out", "other-name.tar.gz")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "other-name.tar.gz").read_bytes() == packed.read_bytes()
    assert "there is no report in it" in done.stdout


def test_an_archive_is_run_again_and_gives_the_same_bytes(packed: Path, haltere: Haltere, tmp_path: Path) -> None:
    done = haltere("unpack", str(packed), "--allow-code")
    assert done.returncode == 0, done.stderr
    tables = "flows.parquet, links.parquet, runs.parquet the same to the byte"
    assert f"agreed: {tables}; 1 of 1 claim with the same verdict and numbers" in done.stdout.splitlines()
    study = tmp_path / "it-unpacked" / "study"
    assert sorted(file.name for file in study.iterdir()) == ["artifact.toml", "claims.py", "study.toml", "two.trace"]
    described = json.loads((tmp_path / "it-unpacked" / "pack.json").read_text())
    assert described["haltere"] and described["packages"]["polars"] and described["seed"] == 7
    twice = haltere("unpack", str(packed))
    assert twice.returncode == 2 and "is there already" in twice.stderr


def test_code_is_named_and_does_not_run_unless_it_is_allowed(made: Path, haltere: Haltere, tmp_path: Path) -> None:
    study = shutil.copytree(made / "small", tmp_path / "small")
    marked = tmp_path / "it-ran"
    (study / "claims.py").write_text(CLAIMS + f"\nopen({str(marked)!r}, 'w').close()\n")
    file = archive.pack(made / "results", tmp_path / "code.tar.gz", study=study).file
    marked.unlink()
    done = haltere("unpack", str(file))
    assert done.returncode == 0, done.stderr
    assert "it holds code, which does not run without --allow-code: study/claims.py" in done.stdout
    assert "claims not judged, as they are code" in done.stdout and not marked.exists()
    assert haltere("unpack", str(file), "--allow-code", "--out", "again").returncode == 0 and marked.exists()


def test_code_that_runs_need_is_refused_unless_it_is_allowed(tmp_path: Path, haltere: Haltere, allowed: None) -> None:
    study = tmp_path / "own"
    study.mkdir()
    (study / "mine.py").write_text((ROOT / "python" / "haltere" / "starter" / "control.py").read_text())
    (study / "study.toml").write_text(SMALL_STUDY.replace('"{transport}/cubic"', '"{transport}/./mine.py"'))
    (study / "artifact.toml").write_text(ARTIFACT)
    results = Study.load(study).run(out=tmp_path / "results")
    file = archive.pack(results.path, tmp_path / "own.tar.gz").file
    with pytest.MonkeyPatch.context() as patched:
        patched.delenv("HALTERE_ALLOW_CODE")
        done = haltere("unpack", str(file), "--out", "refused")
    assert done.returncode == 2 and "mine.py, which would run with all your rights" in done.stderr
    assert "haltere --allow-code run study" in _guide(file)
    assert haltere("unpack", str(file), "--allow-code", "--out", "fine").returncode == 0


def _guide(file: Path) -> str:
    with tarfile.open(file) as opened:
        (name,) = (one for one in opened.getnames() if one.endswith("/ARTIFACT.md"))
        content = opened.extractfile(name)
        assert content is not None
        return content.read().decode()


def test_other_numbers_are_seen(made: Path, haltere: Haltere, tmp_path: Path) -> None:
    shutil.copytree(made / "results", tmp_path / "results")
    frame = pl.read_parquet(tmp_path / "results" / "flows.parquet")
    odd = pl.when(pl.col("transport") == "quic").then(1.5).otherwise(1.0)
    frame.with_columns(pl.col("completion_s") * odd).write_parquet(tmp_path / "results" / "flows.parquet")
    file = archive.pack(tmp_path / "results", tmp_path / "odd.tar.gz", study=made / "small").file
    done = haltere("unpack", str(file), "--out", "odd", "--allow-code")
    assert done.returncode == 5
    (line,) = (one for one in done.stdout.splitlines() if one.startswith("NOT agreed: "))
    assert "flows.parquet DIFFERENT" in line and "links.parquet, runs.parquet the same to the byte" in line
    assert "0 of 1 claim" in line and "DIFFERENT claims: sooner" in line
    assert "haltere diff odd/results odd/again" in done.stdout
    told = haltere("diff", "odd/results", "odd/again", "--metric", "completion_time")
    assert told.returncode == 5


def test_the_same_numbers_in_other_bytes_are_equal(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made / "results", tmp_path / "results")
    frame = pl.read_parquet(tmp_path / "results" / "flows.parquet")
    frame.write_parquet(tmp_path / "results" / "flows.parquet", compression="uncompressed")
    file = archive.pack(tmp_path / "results", tmp_path / "a.tar.gz", study=made / "small").file
    found = archive.again(archive.unpack(file, tmp_path / "a"))
    assert found.tables["flows.parquet"] == "equal" and found.same and found.claims is None


def test_a_study_that_changed_or_lacks_a_file_is_not_packed(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made / "small", tmp_path / "small")
    (tmp_path / "small" / "two.trace").write_text("1\n2\n3\n")
    with pytest.raises(InputError, match="no longer those"):
        archive.pack(made / "results", tmp_path / "a.tar.gz", study=tmp_path / "small")
    (tmp_path / "small" / "two.trace").unlink()
    with pytest.raises(InputError, match=r"not in its folder[\s\S]*two\.trace"):
        archive.pack(made / "results", tmp_path / "a.tar.gz", study=tmp_path / "small")


def test_the_citation_has_the_version_of_the_package() -> None:
    text = (ROOT / "CITATION.cff").read_text()
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    assert re.search(rf"^version: {re.escape(version)}$", text, re.MULTILINE)
    for key in ("cff-version", "message", "title", "authors", "license"):
        assert re.search(rf"^{key}:", text, re.MULTILINE), key
