"""How the report's page is laid out: on screens of three widths, and on paper. Measured in a headless browser."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import report_tables as synthetic
from browser import ask
from haltere.report import build
from haltere.report.page import ROWS_SHOWN
from haltere.when.results import Found, Search, Tried

STUDY = Path(__file__).parents[2] / "studies" / "quic-dumbbell"
WIDTHS = (390, 1400, 1920)
PAPER = {"portrait": 718, "landscape": 1047}
"""Widths of A4 in CSS pixels, less the margins of a printing browser (1 cm each side)."""

MEASURE = """
const frames = (count, then) => (count ? requestAnimationFrame(() => frames(count - 1, then)) : setTimeout(then));
addEventListener("load", () => frames(3, () => {
  const all = (selector) => [...document.querySelectorAll(selector)].filter((one) => one.checkVisibility());
  const size = (one) => parseFloat(getComputedStyle(one).fontSize);
  const lines = (one) => Math.round(one.getBoundingClientRect().height / (1.3 * size(one)));
  const wider = (one) => one.scrollWidth > one.clientWidth + 1;
  const text = (one) => one.textContent.trim().slice(0, 60);
  const box = (one) => { const b = one.getBoundingClientRect(); return [b.left, b.right]; };
  window.measured = {
    width: innerWidth,
    page: document.documentElement.scrollWidth,
    clipped: all(".sortable th, .evidence dt, .evidence dd, .key, .factors th").filter(wider).map(text),
    broken_keys: all(".key").filter((one) => lines(one) > 1).map(text),
    narrow: all(".evidence dt").filter((one) => one.clientWidth < 7 * size(one)).map(text),
    small: all(".claims .source").filter((one) => size(one) > size(one.closest("th, td"))).map(text),
    marks: all(".evidence div:not(.remark) dd").filter((one) => {
      const [mark, numbers] = [one.querySelector(".says").getBoundingClientRect(), one.getBoundingClientRect()];
      return mark.bottom > numbers.bottom + 1 || mark.top > numbers.top + 2 * size(one);
    }).map(text),
    rules: all(".claims th details p").length,
    answers: all(".when summary").map(text),
    evidence: all(".when p").length,
    numbers: all("figure details > summary").length,
    aids: all("nav, .filters, .hint").length,
    maps: all(".overview svg.plot").map((one) => one.clientWidth / one.viewBox.baseVal.width),
    tables: all(".treatments table").map(box),
    boxes: all(".treatments .tall").map(box),
    cards: all(".sortable tbody td").slice(0, 40).map((one) => getComputedStyle(one, "::before").content),
    rows: all(".sortable tbody tr").slice(0, 5).map((one) => getComputedStyle(one).display),
    stuck: all(".sortable tbody tr:first-child td").map((one) => getComputedStyle(one).position),
    buttons: all(".sortable th button").filter((one) => getComputedStyle(one).display !== "contents").length,
    main: all(".claims, figure").slice(0, 1).map((one) => one.tagName),
    heights: all(".grid").slice(0, 1).flatMap((one) => [...one.children].map((each) => each.clientHeight)),
    shown: all(".sortable tbody").map((one) => [...one.rows].filter((row) => row.checkVisibility()).length),
    sticking: all(".sortable tbody td").filter((one) => getComputedStyle(one).position === "sticky").length,
  };
}));
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of made-up results of a shipped study, with an answer beside its first claim."""
    folder = tmp_path_factory.mktemp("layout")
    synthetic.write(synthetic.make(synthetic.plausible()), folder)
    one = Tried(["quic+as=google-quic-2017"], "confirmed", 1.0, outcome="confirmed", turned=True, evidence=["1.5"])
    answer = Found(1, "long_transfers", "One.", "contradicted", singles=1, tried=[one])
    Search("quic-dumbbell", "key", {}, [answer]).write(folder)
    return build(folder, STUDY)


@cache
def measured(report: Path, width: int, *, printed: bool = False, then: str = "") -> dict[str, Any]:
    """The layout of a report in a window of this width, or on a sheet of paper; `then` runs before it is measured."""
    page = report.read_text(encoding="utf-8")
    if printed:
        page = page.replace("@media print", "@media all").replace("@media screen", "@media not all")
    inner = report.with_name("inner.html")
    inner.write_text(f"{page}<script>{then}{MEASURE}</script>", encoding="utf-8")
    return dict(
        json.loads(ask(inner, "return page.measured && JSON.stringify(page.measured);", width=width, height=900))
    )


@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_fits_the_window(report: Path, width: int) -> None:
    seen = measured(report, width)
    assert seen["page"] <= seen["width"] == width
    assert seen["clipped"] == []
    # Small maps are not stretched to giants.
    assert len(seen["maps"]) == 16 and max(seen["maps"]) <= 1.5
    assert seen["aids"] > 3
    assert seen["answers"] == ["Contradicted today. Confirmed with quic+as=google-quic-2017."]
    assert seen["evidence"] == seen["rules"] == 0


@pytest.mark.parametrize("width", WIDTHS[1:])
def test_tables_take_the_margins_before_they_scroll(report: Path, width: int) -> None:
    seen = measured(report, width)
    for table, box in zip(seen["tables"], seen["boxes"], strict=True):
        scrolls = table[1] - table[0] > box[1] - box[0] + 1
        assert not scrolls or box[1] - box[0] >= width - 80


def test_a_row_of_treatments_is_a_card_on_a_phone_and_keeps_its_name_elsewhere(report: Path) -> None:
    """At 390 pixels no metric was visible, and a row that was scrolled had no name."""
    phone, wide = measured(report, 390), measured(report, 1400)
    assert set(phone["rows"]) == {"block"} and set(wide["rows"]) == {"table-row"}
    assert "none" not in phone["cards"] and {'"Completion times"', '"Goodput Mbit/s"'} & set(phone["cards"])
    assert wide["stuck"].count("sticky") >= 6 and "sticky" not in phone["stuck"]


ROWS = [216, 324]
"""Rows of the two tables of treatments."""


@pytest.mark.parametrize("width", [390, 800])
def test_a_long_table_shows_its_rows_as_it_is_scrolled(report: Path, width: int) -> None:
    """All cells of 4800 treatments, those stuck that name a row, took a browser a minute and more."""
    seen = measured(report, width)
    assert seen["shown"] == [ROWS_SHOWN, ROWS_SHOWN]
    # Twenty rows fill the box; there are as many near above and below it.
    assert (seen["sticking"] == 0) if width == 390 else (0 < seen["sticking"] < 2 * 65 * 5)
    end = 'onload = () => document.querySelectorAll(".tall").forEach((one) => (one.scrollTop = one.scrollHeight));'
    assert measured(report, width, then=end)["shown"] == ROWS


def test_a_menu_finds_rows_that_are_not_shown_yet(report: Path) -> None:
    last = (
        'onload = () => { const menu = document.querySelector(".filters select"); menu.selectedIndex = menu.length - 1;'
        'menu.dispatchEvent(new Event("input", { bubbles: true })); };'
    )
    shown, other = measured(report, 1400, then=last)["shown"]
    assert 0 < shown <= ROWS_SHOWN and other == ROWS_SHOWN


def test_a_figure_stands_before_the_claims(report: Path) -> None:
    assert measured(report, 1400)["main"] == ["FIGURE"]


def test_open_numbers_leave_the_neighbours_as_they_are(report: Path) -> None:
    shut = measured(report, 1400)["heights"]
    opened = measured(report, 1400, then='document.querySelector(".grid figure details").open = true;')["heights"]
    assert opened[0] > shut[0] + 50
    assert opened[1:] == shut[1:]


def test_claims_and_figures_are_printed_whole(report: Path) -> None:
    seen = measured(report, PAPER["portrait"], printed=True)
    for fault in ("broken_keys", "narrow", "small", "marks"):
        assert seen[fault] == [], fault
    assert seen["clipped"] == []
    assert seen["rules"] >= 5
    assert seen["answers"] == ["Contradicted today. Confirmed with quic+as=google-quic-2017."]
    # What is folded and would print as a heading without its text, and what only a screen can use.
    assert seen["evidence"] == seen["numbers"] == seen["aids"] == 0


def test_treatments_are_printed_whole_on_landscape_pages(report: Path) -> None:
    seen = measured(report, PAPER["landscape"], printed=True)
    assert len(seen["tables"]) == 2 and seen["shown"] == ROWS
    # Chromium repeats no heading that holds a button.
    assert seen["buttons"] == 0
    assert all(left >= 0 and right <= PAPER["landscape"] for left, right in seen["tables"])
