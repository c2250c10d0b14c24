"""A skipped test is noted, and fails where the reason is not one that may be."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import skips

TESTS = Path(__file__).parent
SKIPPING = """
import pytest

def test_passes():
    pass

def test_lacks_a_program():
    pytest.skip("caddy is not there")

@pytest.mark.skipif(True, reason="no kernel was built")
def test_lacks_a_kernel():
    pass

@pytest.mark.xfail(strict=True)
def test_is_known_to_fail():
    raise AssertionError
"""
MODULE = 'import pytest\n\npytest.skip("Linux only", allow_module_level=True)\n'


def test_skips_are_noted_or_fail(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(SKIPPING)
    (tmp_path / "test_whole.py").write_text(MODULE)
    notes = tmp_path / "notes"
    changed = {"HALTERE_SKIPS": str(notes), "HALTERE_MAY_SKIP": "caddy\n\n", "PYTHONPATH": str(TESTS)}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "skips", "--rootdir", ".", "--continue-on-collection-errors"],
        cwd=tmp_path,
        env=os.environ | changed,
        capture_output=True,
        text=True,
        check=False,
    )
    assert notes.read_text() == "skipped: test_some.py::test_lacks_a_program: caddy is not there\n"
    assert done.returncode == 1
    for reason in ("no kernel was built", "Linux only"):
        assert f"must not be skipped here (HALTERE_MAY_SKIP does not name the reason): {reason}" in done.stdout


@pytest.mark.parametrize(
    ("allowed", "outcome"),
    [(None, "skipped"), ("caddy", "skipped"), ("kernel\n caddy \n", "skipped"), ("kernel", "failed"), ("", "failed")],
)
def test_a_skip_is_judged_by_its_reason(allowed: str | None, outcome: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HALTERE_SKIPS", raising=False)
    monkeypatch.delenv("HALTERE_MAY_SKIP", raising=False)
    if allowed is not None:
        monkeypatch.setenv("HALTERE_MAY_SKIP", allowed)
    why = ("test_x.py", 1, "Skipped: caddy is not there")
    report = pytest.TestReport("test_x.py::test_it", ("test_x.py", 1, "test_it"), {}, "skipped", why, "call")
    assert skips.judge(report).outcome == outcome
