"""The pages in docs/ that hold Python are run, block by block, as a reader would."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT

PAGES = sorted(page for page in (ROOT / "docs").glob("*.md") if "```python" in page.read_text())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_blocks_of_the_page_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "studies").symlink_to(ROOT / "studies")
    monkeypatch.chdir(tmp_path)
    text = page.read_text()
    names: dict[str, Any] = {}
    for block in re.finditer(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        line = text.count("\n", 0, block.start(1))
        exec(compile("\n" * line + block[1], str(page), "exec"), names)
    if page.name == "from-python.md":
        assert "completion_s" in capsys.readouterr().out
        assert (tmp_path / "results" / "loss-and-delay" / "manifest.json").exists()


def test_the_notebook_style_page_is_among_them() -> None:
    assert "from-python.md" in [page.name for page in PAGES]
