"""A disk that is full: the file is named, the way out is said, and nothing broken is left behind."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from conftest import Haltere
from haltere import files
from haltere.cli import exits


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file that is written whole meets a full disk, as its bytes are synced."""

    def refuse(_descriptor: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files.os, "fsync", refuse)


@pytest.mark.usefixtures("full")
def test_a_file_on_a_full_disk_is_named_and_the_old_one_stays(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("old", encoding="utf-8")
    with pytest.raises(OSError, match="No space left on device") as found:
        files.write_whole(tmp_path / "notes", "new")
    assert found.value.filename == str(tmp_path / "notes")
    assert [one.name for one in tmp_path.iterdir()] == ["notes"]
    assert (tmp_path / "notes").read_text(encoding="utf-8") == "old"


@pytest.mark.usefixtures("full")
def test_a_new_study_on_a_full_disk_leaves_nothing(
    haltere: Haltere, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = haltere("new", "mine")
    assert done.returncode == exits.FAULTY_DISK
    assert done.stderr.startswith("error: mine/study.toml: cannot be written: No space left on device\n")
    assert "right: free space or another folder" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_campaign_on_a_disk_that_fills_keeps_what_was_written(
    haltere: Haltere, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_study: Path
) -> None:
    real, written = os.fsync, []

    def fill(descriptor: int) -> None:
        if len(written) > 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written.append(descriptor)
        real(descriptor)

    out = tmp_path / "results"
    with monkeypatch.context() as patched:
        patched.setattr(files.os, "fsync", fill)
        done = haltere("run", str(small_study), "--out", str(out))
    assert done.returncode == exits.FAULTY_DISK, done.stderr
    assert f"{out}" in done.stderr
    assert not list(out.rglob(".part-*"))
    assert haltere("run", str(small_study), "--out", str(out)).returncode == 0
