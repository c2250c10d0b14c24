"""Examples of the documentation that run in their pages: the page asks what the command asks."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from browser import answer_in_node, ask
from conftest import ROOT
from haltere import playground
from pages import runnable
from pages.stage import PAGES
from test_playground import MODULE, comparison

EXAMPLE = "haltere compare tcp/cubic quic/cubic --rate 20Mbit/s --loss 1% --size 100kB --replications 2"


def examples() -> list[str]:
    """All commands of the site's pages that a page can answer."""
    texts = [page.read_text() for pattern in PAGES for page in sorted(ROOT.glob(pattern)) if page.suffix == ".md"]
    blocks = [block for text in texts for block in re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)]
    return [line for block in blocks for line in runnable.commands(block) if runnable.question(line)]


def test_the_first_pages_of_a_reader_have_some() -> None:
    assert len(examples()) >= 15
    for page in ("docs/tutorial/first-study.md", "docs/explanation/l4s.md", "README.md"):
        place = PurePosixPath(page)
        text = runnable.with_runs((ROOT / page).read_text(), place)
        assert f'data-src="{"../" * (len(place.parts) - 1)}playground.html#c=' in text, page


@pytest.mark.parametrize(
    "line",
    [
        "haltere compare quic@quinn/cubic tcp/cubic --fidelity stack",
        "haltere compare tcp/./mine.py tcp/cubic",
        "haltere compare tcp/cubic --queue 100p --queue ./mine.py",
        "haltere compare tcp/cubic quic/cubic --video bba",
        "haltere compare tcp/cubic --path my-line.toml",
        "haltere trace tcp/cubic",
        "make demo",
    ],
)
def test_commands_that_only_run_at_home_stay_as_they_are(line: str) -> None:
    assert runnable.question(line) is None
    block = f"```console\n$ {line}\n```\n"
    assert runnable.with_runs(block, PurePosixPath("a.md")) == block


def test_the_address_is_read_as_the_question_and_asks_what_the_command_asks(tmp_path: Path) -> None:
    if not MODULE.exists():
        pytest.skip("the playground's module is not built: make playground")
    lines = [*examples(), EXAMPLE, "haltere compare tcp/cubic --rate 20Mbit/s --queue 100p --queue codel --queue pie"]
    lines.append("haltere compare tcp/cubic quic/bbr --direction both --size 1MB")
    asked: list[dict[str, Any]] = [found for line in lines if (found := runnable.question(line))]
    given = {"module": str(MODULE), "words": playground.words()}
    given["questions"] = [{"question": one, "address": runnable.address(one), "run": False} for one in asked]
    for line, one, told in zip(lines, asked, answer_in_node("playground.mjs", given), strict=True):
        assert told["addressed"] == one, line
        what = comparison(one)
        groups = [one["contenders"]] if one["share"] else [[name] for name in one["contenders"]]
        assert told["scenarios"][0] == [own.scenario(group).json for own in what.each for group in groups], line


def test_a_reader_opens_it_and_sees_the_answer(tmp_path: Path) -> None:
    if not MODULE.exists():
        pytest.skip("the playground's module is not built: make playground")
    playground.write(MODULE, tmp_path / playground.PAGE)
    page = tmp_path / "page.html"
    block = runnable.with_runs(f"```console\n$ {EXAMPLE}\n```\n", PurePosixPath("page.md"))
    page.write_text(f"<!doctype html><title>A page</title>{block.split('```')[2].strip()}")
    said = ask(
        page,
        """if (page.document.readyState !== "complete" || page.location.protocol === "about:") return "";
        const [details, frame] = ["details", "iframe"].map((one) => page.document.querySelector(one));
        if (!details) return "";
        const inner = frame.contentDocument;
        if (!details.open) {
            if (inner?.getElementById("form")) return "loaded before it was opened";
            details.open = true;
            return "";
        }
        return inner?.body?.dataset.traced === undefined ? "" : inner.getElementById("headline").textContent;""",
    )
    assert said == "20Mbit/s, RTT 50ms, loss 1%, queue 1000p; 100kB over https; 2 replications"
