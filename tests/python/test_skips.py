"""A skipped test is noted, and fails where the reason is not one that may be."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

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


@pytest.mark.parametrize(
    ("allowed", "noted"),
    [(None, 3), ("caddy\n\nkernel\nLinux", 3), ("caddy\n", 1), ("", 0)],
)
def test_a_skip_is_noted_or_fails(tmp_path: Path, allowed: str | None, noted: int) -> None:
    (tmp_path / "test_some.py").write_text(SKIPPING)
    (tmp_path / "test_whole.py").write_text(MODULE)
    notes = tmp_path / "notes"
    env = {**os.environ, "HALTERE_SKIPS": str(notes), "PYTHONPATH": str(TESTS)}
    env.pop("HALTERE_MAY_SKIP", None)
    if allowed is not None:
        env["HALTERE_MAY_SKIP"] = allowed
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "skips", "--rootdir", ".", "--continue-on-collection-errors"],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert len(notes.read_text().splitlines() if notes.exists() else []) == noted
    assert done.returncode == (0 if noted == 3 else 1)
    assert done.stdout.count("must not be skipped here") >= 3 - noted
