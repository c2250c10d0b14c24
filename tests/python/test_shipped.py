"""The studies that come with the package, found by name."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from conftest import ROOT
from haltere import Study, shipped
from haltere.errors import InputError
from haltere.runner.campaign import Campaign


def test_every_study_of_the_repository_is_shipped() -> None:
    folders = sorted(file.parent.name for file in (ROOT / "studies").glob("*/study.toml"))
    assert [study.name for study in shipped.studies()] == folders
    assert all(study.title and study.question for study in shipped.studies())


def test_every_file_of_a_study_is_package_data() -> None:
    """`include` of pyproject.toml names it. The files in `kept` are for the pages of the repository.

    A user copies the kernel's own files into `linux`.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    patterns = [one["path"] for one in project["tool"]["maturin"]["include"]]
    taken = {file.resolve() for pattern in patterns for file in ROOT.glob(pattern)}
    for study in shipped.studies():
        for file in study.folder.rglob("*"):
            if file.is_file() and not {"__pycache__", "kept", "linux"} & set(file.relative_to(study.folder).parts):
                assert file.resolve() in taken, f"{file} would not be in the wheel"


def test_a_name_stands_for_a_shipped_study_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert Study.load("quic-dumbbell").name == "quic-dumbbell"
    assert shipped.called(shipped.locate("l4s")) == "l4s"


def test_a_folder_here_goes_before_a_shipped_study(small_study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(small_study.parent)
    small_study.rename("l4s")
    assert Study.load("l4s").name == "small"
    assert shipped.called(Path("l4s")) is None


def test_a_folder_of_results_does_not_hide_a_shipped_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "l4s").mkdir()
    assert shipped.called(shipped.locate("l4s")) == "l4s"


def test_a_name_of_no_study_names_the_nearest_ones() -> None:
    with pytest.raises(InputError) as raised:
        shipped.locate("quic-dumbell")
    assert raised.value.field == "study"
    assert "quic-dumbbell" in str(raised.value.right)


@pytest.mark.parametrize("path", ["no/such/folder", "nothing.toml"])
def test_what_can_only_be_a_path_is_left_to_the_reader(path: str) -> None:
    assert shipped.locate(path) == Path(path)


def test_the_command_that_repeats_a_shipped_study_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    study = Study.load("l4s")
    assert Campaign(study, out=tmp_path).command().startswith("haltere run studies/l4s --replications ")
    monkeypatch.chdir(tmp_path)
    assert Campaign(study, out="out").command().startswith("haltere run l4s --replications ")
