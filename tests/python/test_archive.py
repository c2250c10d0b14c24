"""Export of tables, and archives that others run again."""

from __future__ import annotations

import gzip
import io
import json
import re
import shutil
import tarfile
import tomllib
from pathlib import Path

import polars as pl
import pytest

from conftest import ROOT, SMALL_STUDY, Haltere
from haltere import Study, load
from haltere.errors import InputError
from haltere.export import archive
from haltere.export import tables as export
from haltere.stats import mean_of_amounts

CLAIMS = "WHAT = 'nothing'\n"


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


def test_an_archive_is_run_again_and_gives_the_same_bytes(made: Path, haltere: Haltere, tmp_path: Path) -> None:
    packed = haltere("pack", str(made / "results"), "--out", "it.tar.gz")
    assert packed.returncode == 0, packed.stderr
    first = (tmp_path / "it.tar.gz").read_bytes()
    assert haltere("pack", str(made / "results"), "--out", "it.tar.gz").returncode == 0
    assert (tmp_path / "it.tar.gz").read_bytes() == first
    done = haltere("unpack", "it.tar.gz")
    assert done.returncode == 0, done.stderr
    for table in ("runs", "flows", "links"):
        assert f"{table}.parquet: the same to the byte" in done.stdout
    names = sorted(
        file.relative_to(tmp_path / "it-unpacked" / "study").as_posix()
        for file in (tmp_path / "it-unpacked" / "study").iterdir()
    )
    assert names == ["claims.py", "study.toml", "two.trace"]
    described = json.loads((tmp_path / "it-unpacked" / "pack.json").read_text())
    assert described["haltere"] and described["packages"]["polars"] and described["seed"] == 7
    twice = haltere("unpack", "it.tar.gz")
    assert twice.returncode == 2 and "is there already" in twice.stderr


def test_other_numbers_are_seen(made: Path, haltere: Haltere, tmp_path: Path) -> None:
    shutil.copytree(made / "results", tmp_path / "results")
    frame = pl.read_parquet(tmp_path / "results" / "flows.parquet")
    frame.with_columns(pl.col("completion_s") * 1.5).write_parquet(tmp_path / "results" / "flows.parquet")
    file = archive.pack(tmp_path / "results", tmp_path / "odd.tar.gz", study=made / "small")
    done = haltere("unpack", str(file), "--out", "odd")
    assert done.returncode == 5
    assert "flows.parquet: DIFFERENT" in done.stdout and "runs.parquet: the same" in done.stdout
    assert "haltere diff odd/results odd/again" in done.stdout
    told = haltere("diff", "odd/results", "odd/again", "--metric", "completion_time")
    assert told.returncode == 5


def test_the_same_numbers_in_other_bytes_are_equal(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made / "results", tmp_path / "results")
    frame = pl.read_parquet(tmp_path / "results" / "flows.parquet")
    frame.write_parquet(tmp_path / "results" / "flows.parquet", compression="uncompressed")
    file = archive.pack(tmp_path / "results", tmp_path / "a.tar.gz", study=made / "small")
    found = archive.again(archive.unpack(file, tmp_path / "a"))
    assert found.tables["flows.parquet"] == "equal" and found.same


def test_a_study_that_changed_or_lacks_a_file_is_not_packed(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made / "small", tmp_path / "small")
    (tmp_path / "small" / "two.trace").write_text("1\n2\n3\n")
    with pytest.raises(InputError, match="no longer those"):
        archive.pack(made / "results", tmp_path / "a.tar.gz", study=tmp_path / "small")
    (tmp_path / "small" / "two.trace").unlink()
    with pytest.raises(InputError, match=r"not in its folder[\s\S]*two\.trace"):
        archive.pack(made / "results", tmp_path / "a.tar.gz", study=tmp_path / "small")


def test_what_is_no_archive_is_refused(tmp_path: Path, made: Path) -> None:
    (tmp_path / "no.tar.gz").write_bytes(b"no")
    with pytest.raises(InputError, match="no archive of results"):
        archive.unpack(tmp_path / "no.tar.gz", tmp_path / "out")
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as bad:
        bad.addfile(tarfile.TarInfo("../pack.json"))
    (tmp_path / "bad.tar.gz").write_bytes(gzip.compress(buffer.getvalue()))
    with pytest.raises(InputError, match="no file inside it"):
        archive.unpack(tmp_path / "bad.tar.gz", tmp_path / "out")
    whole = archive.pack(made / "results", tmp_path / "w.tar.gz", study=made / "small").read_bytes()
    (tmp_path / "cut.tar.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="no archive of results"):
        archive.unpack(tmp_path / "cut.tar.gz", tmp_path / "out")
    assert not (tmp_path / "out").exists() and not (tmp_path / "pack.json").exists()


def test_the_citation_has_the_version_of_the_package() -> None:
    text = (ROOT / "CITATION.cff").read_text()
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    assert re.search(rf"^version: {re.escape(version)}$", text, re.MULTILINE)
    for key in ("cff-version", "message", "title", "authors", "license"):
        assert re.search(rf"^{key}:", text, re.MULTILINE), key
