"""The report: whole, self-contained, and honest about what is missing."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path

import pytest

import report_tables as synthetic
from conftest import SMALL_STUDY
from haltere import Study
from haltere.errors import InputError
from haltere.metrics.tables import Tables
from haltere.report import build
from haltere.report.design import drawing, level_range
from report_tables import Truth

STUDY = Path(__file__).parents[2] / "studies" / "quic-dumbbell"


class Page(HTMLParser):
    """A page as a browser sees it: the files that it would load, ids, links inside, and whether elements nest."""

    VOID = frozenset({"meta", "link", "br", "img", "input", "hr"})
    LOADING = frozenset({"src", "srcset", "data", "poster", "action", "xlink:href"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name in self.LOADING or (name == "href" and tag != "a"):
                self.loads.append(value or "")
            elif name == "href":
                self.links.append(value or "")
            elif name == "id":
                self.ids.append(value or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Elements of SVG that close themselves hold nothing that the page would load."""

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.text += data


def report(tmp_path: Path, truth: Truth, study: Path = STUDY) -> tuple[Path, str]:
    synthetic.write(synthetic.make(truth), tmp_path / "results")
    path = build(tmp_path / "results", study)
    return path, path.read_text(encoding="utf-8")


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """The study with its first figure alone: quick to draw where the test is not about figures."""
    folder = tmp_path / "study"
    folder.mkdir()
    shutil.copy(STUDY / "claims.py", folder)
    factors, first, *_ = (STUDY / "figures.toml").read_text(encoding="utf-8").split("[[overviews]]")
    (folder / "figures.toml").write_text(f"{factors}[[overviews]]{first}", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    return report(tmp_path_factory.mktemp("whole"), synthetic.plausible())


def test_the_report_loads_nothing_and_nests(whole: tuple[Path, str]) -> None:
    path, text = whole
    page = Page(text)
    assert page.loads == []
    assert page.open == []
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text)
    assert not re.search(r"""["'(]\s*(https?:)?//""", text)
    assert path.stat().st_size < 3_000_000


def test_ids_are_unique_and_links_lead_somewhere(whole: tuple[Path, str]) -> None:
    path, text = whole
    page = Page(text)
    assert len(page.ids) == len(set(page.ids))
    for link in page.links:
        if link.startswith("#"):
            assert link[1:] in page.ids
        elif not link.startswith("data:"):
            assert (path.parent / link).is_file(), link


def test_the_report_holds_what_a_reader_asks_for(whole: tuple[Path, str]) -> None:
    _, text = whole
    page = Page(text)
    assert {"answer", "claims", "design", "figures", "treatments", "metrics", "reproduce"} <= set(page.ids)
    assert sum(name.startswith("figure-") for name in page.ids) == 21
    assert text.count('<tr id="claim-') == 12
    # Of 432 treatments 108 have flows of two kinds, each of which has a row.
    assert len(re.findall(r"<tr(?: class=\"later\")?><td", text)) == 432 + 108
    assert text.count('<svg class="topology"') == 2
    assert "haltere run studies/quic-dumbbell" in text
    assert "seed" in page.text.lower()
    assert "0123456789abcdef" in text
    assert "Failed runs" not in text


def test_every_figure_is_also_a_file(whole: tuple[Path, str]) -> None:
    path, _ = whole
    assert len(list((path.parent / "figures").glob("*.svg"))) == 21
    assert len(list((path.parent / "figures").glob("*.pdf"))) == 21


def test_failed_runs_are_stated(tmp_path: Path, small: Path) -> None:
    def fails(levels: Mapping[str, str], replication: int) -> bool:
        return replication == 1 and levels["loss"] == "5%" and levels["rate"] == "5Mbit/s"

    _, text = report(tmp_path, Truth(fails=fails, replications=3), small)
    page = Page(text)
    assert "failures" in page.ids
    assert "48 of 1296 runs failed" in page.text
    assert "time limit of 1h reached" in page.text
    assert "And 8 more" in page.text


def test_a_missing_experiment_is_stated(tmp_path: Path) -> None:
    _, text = report(tmp_path, Truth(experiments={"base": synthetic.BASE}, replications=2))
    page = Page(text)
    assert "experiment pairs is not in these results" in page.text
    assert "6 figures of the study are not in these results" in page.text
    assert sum(name.startswith("figure-") for name in page.ids) == 16


def test_one_replication_still_makes_a_report(tmp_path: Path, small: Path) -> None:
    _, text = report(tmp_path, Truth(replications=1), small)
    assert "do not suffice for an answer" in text
    assert not re.search(r"\b(nan|inf)\b", Page(text).text)


def test_a_study_without_figures_and_claims_makes_a_report(tmp_path: Path) -> None:
    empty = tmp_path / "study"
    empty.mkdir()
    _, text = report(tmp_path, Truth(replications=2), empty)
    page = Page(text)
    assert "treatments" in page.ids
    assert "claims" not in page.ids
    assert "figures" not in page.ids


def test_what_does_not_vary_names_no_factor(tmp_path: Path) -> None:
    results = Study.parse(SMALL_STUDY).run(out=tmp_path / "r", replications=1, experiments=["base"])
    text = Page(build(results.path, tmp_path).read_text(encoding="utf-8")).text
    _, design = text.split("What does not vary", 1)
    fixed, varied = design.split("Where the factors stand", 1)
    varied = varied.split("All treatments of one replication", 1)[0]
    for words in ("size", "300 kB", "https", "topology.bottleneck.queue"):
        assert words in fixed
    assert "{" not in fixed
    for words in ("flows.contender", "{transport}/cubic", "topology.bottleneck.rate", "{rate}", "{loss}"):
        assert words in varied


def test_text_of_a_study_cannot_become_markup(tmp_path: Path, small: Path) -> None:
    results = tmp_path / "results"
    synthetic.write(synthetic.make(Truth(replications=2)), results)
    manifest = json.loads((results / "manifest.json").read_text(encoding="utf-8"))
    manifest["study"]["title"] = "<script>alert(1)</script>"
    manifest["command"] = 'haltere run "<b>"'
    (results / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    text = build(results, small).read_text(encoding="utf-8")
    assert "<script>alert" not in text
    assert "&lt;b&gt;" in text


def test_a_variant_is_drawn_from_its_own_levels(tmp_path: Path, small: Path) -> None:
    wider = {**synthetic.BASE, "congestion": ["cubic", "bbr", "newreno"]}
    _, text = report(tmp_path, Truth(experiments={"base": wider}, replications=2), small)
    assert "NewReno, object 32 MB" in text
    assert "CUBIC · BBR · NewReno" in text


def test_a_study_of_one_treatment_makes_a_report(tmp_path: Path) -> None:
    results = tmp_path / "results"
    tables = synthetic.make(Truth(experiments={"base": {name: levels[:1] for name, levels in synthetic.BASE.items()}}))
    synthetic.write(Tables(tables.runs, tables.flows, {"base": {}}), results)
    page = Page(build(results, tmp_path / "no study").read_text(encoding="utf-8"))
    assert "1 treatment × 10 replications = 10 runs" in page.text


def test_a_folder_without_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no results here"):
        build(tmp_path, STUDY)


def test_topologies_are_drawn_with_their_levels() -> None:
    factors = {"rate": ["100Mbit/s", "5Mbit/s"], "loss": ["1%"]}
    bottleneck = {"rate": "{rate}", "queue": "1000p", "down": {"delay": "50ms", "loss": "{loss}"}}
    dumbbell = drawing({"topology": {"kind": "dumbbell", "pairs": 2, "bottleneck": bottleneck}}, factors)
    assert dumbbell.count("Server") - dumbbell.count("Servers") == 2
    for words in ("5 · 100 Mbit/s", "delay 50 ms, loss 1 %", "queue 1000 packets"):
        assert words in dumbbell
    assert "Client" in drawing({"topology": {"kind": "point-to-point", "link": bottleneck}}, factors)
    assert drawing({"topology": {"kind": "graph", "links": []}}, factors) == ""
    whole = {"kind": "dumbbell", "bottleneck": "{rate.link}"}
    assert "5 · 100 Mbit/s" in drawing({"topology": whole}, factors)
    assert drawing({"topology": "{rate.topology}"}, factors) == ""
    unnamed = {"rate": "{rate}", "loss": {"model": "periodic", "every": 100}}
    assert "see the study file" in drawing({"topology": {"kind": "point-to-point", "link": unnamed}}, factors)


def test_the_report_is_the_same_wherever_its_results_lie(whole: tuple[Path, str], tmp_path: Path) -> None:
    path, text = whole
    assert str(path.parent.parent) not in text
    moved = tmp_path / "moved"
    shutil.copytree(path.parent, moved)
    assert build(moved, STUDY).read_text(encoding="utf-8") == text


def test_a_drawing_names_the_factors_that_a_word_is_made_of() -> None:
    factors = {"discipline": ["red", "codel"], "limit": ["50p", "100p"]}
    assert level_range("{discipline}:limit={limit}", factors) == "by discipline and limit"
    assert level_range("{limit}", factors) == "50 · 100 packets"
    assert level_range("50p", factors) == "50 packets"
