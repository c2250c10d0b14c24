"""The explorer's page: its data, and what it does in a browser."""

from __future__ import annotations

import base64
import dataclasses
import gzip
import html
import json
import re
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from browser import ask
from conftest import SMALL_STUDY, Haltere
from haltere import Study, explorer, load
from haltere.metrics import METRICS
from haltere.metrics.tables import Tables


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small")
    (folder / "study.toml").write_text(SMALL_STUDY)
    return Study.load(folder).run(out=folder / "results").path


def data_of(page: str) -> dict[str, Any]:
    found = re.search(r'id="data">([^<]*)<', page)
    assert found
    return dict(json.loads(gzip.decompress(base64.b64decode(found[1]))))


def test_the_page_holds_every_metric_of_every_run(results: Path) -> None:
    page = explorer.page(load(results))
    assert page == explorer.page(load(results))
    data = data_of(page)
    loaded = load(results)
    described: dict[str, Any] = loaded.manifest["experiments"]
    tables = Tables(loaded.runs, loaded.flows, {name: one["factors"] for name, one in described.items()})
    named = {one["name"] for one in data["metrics"]}
    present = {m.name for m in METRICS.values() if tables.values("base", m).height}
    assert present and present <= named
    # Flows of the runs of "pairs" differ: each label has a metric of its own there.
    assert {"goodput of tcp/bbr", "goodput of tcp/cubic"} <= named and "goodput of quic/cubic" not in named
    assert {"flow: min_rtt_s", "bottleneck_mean_queueing_delay_s"} <= named
    pairs = loaded.runs.filter(pl.col("experiment") == "pairs")
    mixed = pairs.filter(pl.col("congestion") == "bbr/cubic")["run_id"].to_list()
    for name in present:
        for at, run in enumerate(data["runs"]["id"]):
            if METRICS[name].table == "flows" and run in mixed:
                name_there = f"{name} of tcp/cubic"
                metric = METRICS[name].of("tcp/cubic")
            else:
                name_there, metric = name, METRICS[name]
            one = dataclasses.replace(tables, runs=tables.runs.filter(pl.col("run_id") == run))
            (value,) = one.by_run(metric)["value"].to_list() or [None]
            shown = data["runs"]["numbers"][name_there][at]
            assert shown == value or shown == pytest.approx(value, rel=1e-5)
    rates = data["factors"]["rate"]
    assert rates["text"] == ["5 Mbit/s", "20 Mbit/s"] and rates["values"] == [5e6, 20e6]
    levels = [rates["levels"][code] if code >= 0 else None for code in data["runs"]["factors"]["rate"]]
    assert levels == loaded.runs["rate"].to_list()


def test_the_page_loads_nothing(results: Path) -> None:
    page = explorer.page(load(results))
    bare = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"\b(src|href)=", bare)
    assert "default-src 'none'" in page
    assert page.count("</script>") == 3


def dom(page: Path, view: dict[str, Any], *, then: str = "") -> str:
    """The page's elements as a browser without a network leaves them, after the script `then`."""
    first = f"if (!page.asked) {{ page.eval({json.dumps(then)}); page.asked = true; return; }}"
    ready = f"if (!page.document.body?.dataset.marks) return; {first}"
    fragment = "#" + json.dumps(view).replace('"', "%22").replace(" ", "%20")
    whole = ask(page, f"{ready} return page.document.documentElement.outerHTML;", fragment=fragment)
    return html.unescape(re.sub(r"<script.*?</script>", "", whole, flags=re.DOTALL))


def body(text: str) -> dict[str, str]:
    found = re.search(r"<body ([^>]*)>", text)
    assert found, text[:500]
    return dict(re.findall(r'data-(\w+)="([^"]*)"', found[1]))


@pytest.fixture(scope="module")
def page(results: Path) -> Path:
    return explorer.write(results)


@pytest.mark.parametrize("scaled", [True, False])
def test_intervals_of_different_colours_stand_beside_each_other(page: Path, scaled: bool) -> None:  # noqa: FBT001
    view = {"experiment": "base", "metric": "goodput", "x": "rate", "colour": "transport", "scaled": scaled}
    (points,) = re.findall(r'<g class="mark-symbol role-mark layer_2_marks".*?</g>', dom(page, view))
    places = sorted(float(x) for x in re.findall(r"translate\(([\d.]+),", points))
    assert len(places) == 4
    assert [places[1] - places[0], places[3] - places[2]] == pytest.approx([7, 7], abs=0.01)


def test_a_metric_is_drawn_against_a_factor_coloured_in_panels_and_filtered(page: Path) -> None:
    view = {"experiment": "base", "metric": "goodput", "x": "rate", "colour": "transport", "panels": "loss"}
    whole = dom(page, view)
    assert body(whole)["marks"] == "8" and body(whole)["runs"] == "24"
    assert "<svg" in whole, re.findall(r'id="problem"[^<]*', whole)
    for word in ("TCP", "QUIC", "5 Mbit/s", "20 Mbit/s", "loss"):
        assert re.search(rf"<text[^>]*>{word}</text>", whole), word
    filtered = dom(page, {**view, "hidden": {"loss": [0]}})
    assert body(filtered)["marks"] == "4" and body(filtered)["runs"] == "12"
    assert "12 of 24 runs" in filtered


@pytest.mark.parametrize(("mark", "marks"), [("runs", "24"), ("box", "24"), ("cdf", "24"), ("mean", "8")])
def test_every_way_of_showing_draws(page: Path, mark: str, marks: str) -> None:
    view = {"experiment": "base", "metric": "completion_time", "x": "rate", "colour": "transport", "panels": "loss"}
    drawn = dom(page, {**view, "mark": mark, "logy": True, "scaled": True})
    assert body(drawn)["marks"] == marks
    assert "cannot be drawn" not in drawn and "<svg" in drawn


def test_a_metric_is_drawn_against_another(page: Path) -> None:
    drawn = dom(
        page, {"experiment": "base", "metric": "goodput", "x": "=overhead", "colour": "transport", "mark": "runs"}
    )
    assert body(drawn)["marks"] == "24"
    assert "Overhead (MB)" in drawn


def test_a_mark_leads_to_one_run_and_its_command_traces_it(
    page: Path, results: Path, haltere: Haltere, tmp_path: Path
) -> None:
    view = {"experiment": "base", "metric": "completion_time", "x": "rate", "colour": "transport", "panels": ""}
    click = (
        "const mark=document.querySelector('#chart .mark-symbol path[aria-label]');"
        "mark.dispatchEvent(new MouseEvent('click',{bubbles:true}));"
        "document.querySelector('#runs tbody tr').click();"
    )
    chosen = dom(page, view, then=click)
    assert body(chosen)["listed"] == "6", "two levels of loss, three replications"
    run = body(chosen)["run"]
    command = re.search(r'<code id="command">haltere (trace [^<]*)</code>', chosen)
    assert command
    words = command[1].split()
    assert run.startswith(words[-1])
    done = haltere("trace", str(results), *words[-2:])
    assert done.returncode == 0, done.stderr
    (folder,) = (tmp_path / "traces").iterdir()
    traced = json.loads((folder / "run.json").read_text())
    row = load(results).flows.filter(pl.col("run_id") == run)
    assert traced["result"]["flows"][0]["completion_s"] == row["completion_s"][0]


def test_a_run_that_is_not_there_is_refused(results: Path, haltere: Haltere) -> None:
    refused = haltere("trace", str(results), "--run", "nowhere")
    assert refused.returncode == 2
    assert "there is no such run" in refused.stderr
    assert "runs begin so" in haltere("trace", str(results), "--run", "").stderr


def test_an_index_lists_several_results(results: Path, haltere: Haltere, tmp_path: Path) -> None:
    for name in ("first", "second"):
        shutil.copytree(results, tmp_path / "all" / name, ignore=shutil.ignore_patterns("profile", "*.html"))
    done = haltere("explore", "all")
    assert done.returncode == 0, done.stderr
    index = (tmp_path / "all" / "index.html").read_text()
    assert re.findall(r'href="([^"]*)"', index) == ["first/explore.html", "second/explore.html"]
    assert "Is it quick?" in index
    assert (tmp_path / "all" / "first" / "explore.html").exists()
    refused = haltere("explore", "nothing-here")
    assert refused.returncode == 2
    assert "no results here" in refused.stderr


WORDS = """
[factors]
rate = "bottleneck rate"

[[lines]]
name = "overhead"
experiment = "base"
metric = "overhead"
x = "rate"
"""


def test_words_and_metrics_of_the_figures_come_first_and_columns_last(results: Path) -> None:
    words = results.parent / "figures.toml"
    words.write_text(WORDS)
    try:
        data = data_of(explorer.page(load(results)))
    finally:
        words.unlink()
    assert data["factors"]["rate"]["label"] == "bottleneck rate"
    groups = [one["group"] for one in data["metrics"]]
    assert list(dict.fromkeys(groups)) == ["In the study's figures", "Metrics", "Columns as recorded"]
    assert {one["name"].partition(" of ")[0] for one in data["metrics"] if one["group"] == groups[0]} == {"overhead"}


def test_the_first_view_averages_nothing_unasked_and_says_what_it_fixes(page: Path) -> None:
    first = dom(page, {})
    (said,) = re.findall(r'id="pooled"[^>]*>([^<]*)<', first)
    assert said.startswith("Only ") and "Averaged" not in said
    (said,) = re.findall(
        r'id="pooled"[^>]*>([^<]*)<', dom(page, {"experiment": "base", "metric": "goodput", "x": "rate"})
    )
    assert said.startswith("Averaged over all levels of ")


def test_the_page_leads_back_to_a_report_that_is_there(results: Path) -> None:
    report = results / "report.html"
    assert data_of(explorer.page(load(results)))["report"] == ""
    report.write_text("<p>report")
    try:
        assert data_of(explorer.page(load(results)))["report"] == "report.html"
    finally:
        report.unlink()
