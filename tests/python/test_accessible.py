"""Pages are accessible: axe finds nothing wrong with any kind of page that haltere writes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import report_tables as synthetic
from accessible import AXE, violations
from conftest import ROOT, SMALL_STUDY, Haltere
from haltere import Study, explorer, playground, report
from test_layout import STUDY
from test_playground import ADDRESS, SHARED_QUEUES

MODULE = ROOT / "target" / "playground" / "playground.wasm"


@pytest.fixture(scope="module", autouse=True)
def judge() -> None:
    """Skip what cannot be judged, before it is made."""
    if shutil.which("chromium") is None:
        pytest.skip("chromium is not there")
    if not AXE.exists():
        pytest.skip("axe is not there: make axe")


@pytest.fixture(scope="module")
def module() -> bytes:
    if not MODULE.exists():
        pytest.skip("the playground's module is not built: make playground")
    return MODULE.read_bytes()


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of a small study, beside its folder."""
    folder = tmp_path_factory.mktemp("accessible") / "small"
    folder.mkdir()
    (folder / "study.toml").write_text(SMALL_STUDY)
    (folder / "figures.toml").write_text(
        '[[bars]]\nname = "time"\nexperiment = "base"\nmetric = "completion_time"\nx = "rate"\n'
    )
    Study.load(folder).run(out=folder.parent / "results")
    return folder


def test_a_report_with_verdicts_maps_and_tables(tmp_path: Path) -> None:
    synthetic.write(synthetic.make(synthetic.plausible()), tmp_path)
    assert violations(report.build(tmp_path, STUDY)) == []


def test_a_report_that_can_be_asked(module: bytes, campaign: Path) -> None:
    page = report.build(campaign.parent / "results", campaign, module=module)
    assert violations(page) == []


@pytest.mark.parametrize(
    ("commands", "page"),
    [
        ("explain tcp/cubic quic/cubic --size 50kB --loss 1% --replications 6 --out made", "explanation.html"),
        ("run internet-paths --out made; report made", "report.html"),
        ("evaluate tcp/bbr --quick --section 5.1.3 --out made", "report.html"),
    ],
    ids=["explanation", "two periods", "sheet"],
)
def test_pages_of_other_commands(commands: str, page: str, haltere: Haltere, tmp_path: Path) -> None:
    for one in commands.split(";"):
        done = haltere(*one.split())
        assert done.returncode == 0, done.stderr
    assert violations(tmp_path / "made" / page) == []


def test_the_explorer(campaign: Path) -> None:
    report.build(campaign.parent / "results", campaign)
    assert violations(campaign.parent / "results" / explorer.PAGE) == []


@pytest.mark.parametrize("fragment", [ADDRESS, f"{SHARED_QUEUES}&queue=20p&queue=codel&direction=both"])
def test_the_playground_with_an_answer(module: bytes, tmp_path: Path, fragment: str) -> None:
    page = tmp_path / playground.PAGE
    page.write_text(playground.page(module), encoding="utf-8")
    assert violations(page, ready="page.document.body.dataset.traced", fragment=fragment) == []
