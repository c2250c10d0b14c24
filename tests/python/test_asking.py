"""Reports that can be asked: what is run in the page is what the campaign ran."""

from __future__ import annotations

import base64
import copy
import gzip
import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from browser import answer_in_node, ask
from conftest import ROOT, SMALL_STUDY
from haltere import Study, core, playground
from haltere.errors import InputError
from haltere.figures import kinds
from haltere.report import build
from haltere.report.asking import Asking, asking, choices, differences
from haltere.results import Results
from test_report import Page

MODULE = ROOT / "target" / "playground" / "playground.wasm"
EMPTY = b"\0asm"
"""Stands for the module where the page is only written."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("asked") / "small"
    made.mkdir()
    (made / "study.toml").write_text(SMALL_STUDY)
    (made / "figures.toml").write_text(
        '[[bars]]\nname = "time"\nexperiment = "base"\nmetric = "completion_time"\nx = "rate"\n'
    )
    (made / "claims.py").write_text(
        "from haltere.claims import all_of, claim\n\n\n"
        '@claim("It takes time.", source="ours")\n'
        "def takes(tables):\n"
        '    tables.values("pairs", "completion_time")\n'
        "    return all_of()\n"
    )
    return made


@pytest.fixture(scope="module")
def study(folder: Path) -> Study:
    return Study.load(folder)


@pytest.fixture(scope="module")
def results(study: Study, folder: Path) -> Results:
    return study.run(out=folder.parent / "results")


@pytest.fixture(scope="module")
def asked(results: Results, folder: Path) -> Asking:
    return asking(results, folder, kinds.read(folder / "figures.toml"), EMPTY)


def told(asked: Asking) -> dict[str, Any]:
    return dict(json.loads(gzip.decompress(base64.b64decode(asked.data))))


def in_node(given: dict[str, Any]) -> dict[str, Any]:
    return dict(answer_in_node("asking.mjs", given))


def test_a_treatment_in_the_page_is_that_of_the_study(asked: Asking, study: Study, results: Results) -> None:
    """The native module stands for the page's, so that this is asked where there is none of WebAssembly, too."""
    data = told(asked)
    own: dict[str, list[Any]] = {}
    for treatment in study.treatments:
        assert treatment.parsed is not None
        runs = [json.loads(core.run(treatment.parsed, results.manifest["seed"], r)) for r in range(3)]
        own.setdefault(treatment.experiment, []).append(runs)
    answer = in_node({"data": data, "results": own})
    for experiment, found in zip(data["experiments"], answer["found"], strict=True):
        treatments = [one for one in study.treatments if one.experiment == experiment["name"]]
        for one, here in zip(treatments, found, strict=True):
            assert here["scenario"] == one.scenario
            assert here["itself"]
            assert here["differing"] == 0
            assert here["values"] > 3 * len(experiment["columns"])


def test_a_mean_in_the_page_is_that_of_the_report(asked: Asking, results: Results) -> None:
    data = told(asked)
    answer = in_node({"data": data})
    times = results.flows.group_by("run_id", maintain_order=True).agg(time=pl.col("completion_s").mean())
    seen = [means[0] for found in answer["found"] for one in found for means in one["means"]]
    assert data["experiments"][0]["columns"][0]["name"] == "completion_s"
    assert sorted(seen) == pytest.approx(sorted(times["time"].to_list()), rel=1e-15)


def test_fields_of_a_scenario_are_changed_in_their_places(asked: Asking, study: Study) -> None:
    scenario = study.treatments[0].scenario
    changes = {"loss": "7%", "queue": "9p", "delay": "3ms", "contender tcp/cubic": "tcp/bbr"}
    given = [{"scenario": scenario, "id": name, "value": value} for name, value in changes.items()]
    loss, queue, delay, contender = in_node({"data": told(asked), "changes": given})["changes"]
    expected = copy.deepcopy(scenario)
    expected["topology"]["bottleneck"]["down"]["loss"] = "7%"
    assert loss == expected
    assert queue["topology"]["bottleneck"]["queue"] == "9p"
    assert delay["topology"]["bottleneck"]["down"]["delay"] == "3ms"
    assert [flow["contender"] for flow in contender["flows"]] == ["tcp/bbr"]


def test_the_module_runs_what_the_campaign_ran(asked: Asking) -> None:
    if not MODULE.exists():
        pytest.skip("the playground's module is not built: make playground")
    data = told(asked)
    answer = in_node({"data": data, "module": str(MODULE)})
    assert [one["differing"] for found in answer["found"] for one in found] == [0] * 10


def test_menus_offer_what_was_run() -> None:
    full = choices([("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")])
    assert [group for group, _ in full.choices] == [(0,), (1,)]
    assert full.places == [[0, 0], [0, 1], [1, 0], [1, 1]]
    points = choices([("a", "1", "p"), ("b", "1", "p"), ("a", "2", "q"), ("b", "2", "q")])
    assert [group for group, _ in points.choices] == [(0,), (1, 2)]
    assert points.places == [[0, 0], [1, 0], [0, 1], [1, 1]]
    one_at_a_time = choices([("a", "x"), ("b", "x"), ("a", "y")])
    assert [group for group, _ in one_at_a_time.choices] == [(0, 1)]
    assert choices([()]).places == [[]]


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        ({"a": 1, "b": [1, 2]}, {"a": 1, "b": [1, 3]}, [(("b", 1), 3)]),
        ({"a": {"b": 1}}, {"a": {"c": 1}}, [(("a",), {"c": 1})]),
        ({"a": [1]}, {"a": [1, 2]}, [(("a",), [1, 2])]),
        ({"a": 1}, {"a": True}, [(("a",), True)]),
        ({"a": 1}, {"a": 1}, []),
    ],
)
def test_scenarios_differ_where_their_values_do(one: Any, other: Any, found: list[Any]) -> None:
    assert list(differences(one, other)) == found


def test_the_page_is_whole_and_links_to_what_is_asked(results: Results, folder: Path, tmp_path: Path) -> None:
    out = build(results.path, folder, tmp_path / "asked.html", module=EMPTY)
    text = out.read_text(encoding="utf-8")
    page = Page(text)
    assert page.loads == [] and page.open == []
    assert len(page.ids) == len(set(page.ids))
    assert "ask" in page.ids and "#ask" in page.links
    # The figure in the answer, and the claim.
    assert re.findall(r'data-ask="(\w+)"', text.split('id="design"')[0]) == ["base", "pairs"]
    assert "'wasm-unsafe-eval'; worker-src blob:" in text
    plain = build(results.path, folder, tmp_path / "plain.html").read_text(encoding="utf-8")
    assert "wasm" not in plain and "data-ask" not in plain


def test_results_of_real_kernels_are_refused(results: Results, folder: Path) -> None:
    elsewhere = Results(results.path, results.manifest | {"fidelities": ["linux"]})
    runs = results.runs.with_columns(fidelity=pl.lit("linux"))
    elsewhere.__dict__["runs"] = runs
    with pytest.raises(InputError, match="none of their runs was made in the model"):
        asking(elsewhere, folder, kinds.read(folder / "figures.toml"), EMPTY)


def test_a_page_without_a_simulator_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="make playground"):
        playground.module_of(tmp_path / "no.html")
    (tmp_path / "page.html").write_text("<p>Nothing</p>")
    with pytest.raises(InputError, match="has no simulator in it"):
        playground.module_of(tmp_path / "page.html")


@pytest.fixture(scope="module")
def page(results: Results, folder: Path) -> Path:
    if not MODULE.exists():
        pytest.skip("the playground's module is not built: make playground")
    return build(results.path, folder, folder.parent / "asked.html", module=MODULE.read_bytes())


READY = """const at = (id) => page.document.getElementById(id);
    if (!at("ask")) return "";
    at("ask").scrollIntoView();
    if (at("ask").dataset.state !== "ready") return "";"""


def test_a_treatment_is_run_in_a_browser(page: Path) -> None:
    found = ask(
        page,
        f"""{READY}
        if (at("ask").dataset.answered) return at("ask-same").textContent;
        at("ask-form").requestSubmit();
        return "";""",
    )
    assert re.fullmatch(
        r"Run here: 3 replications, all \d+ values are equal to the campaign's, to the last digit\.", found
    )


def test_a_changed_treatment_is_laid_beside_it(page: Path) -> None:
    found = json.loads(
        ask(
            page,
            f"""{READY}
            if (at("ask").dataset.answered) return JSON.stringify({{
                lines: [...at("ask-lines").children].map((one) => one.textContent),
                heads: [...at("ask-rows").tHead.rows[0].cells].map((one) => one.textContent),
                width: page.document.documentElement.scrollWidth }});
            at("ask-change").value = "field rate";
            at("ask-change").dispatchEvent(new page.Event("change", {{ bubbles: true }}));
            at("ask-value").value = "50Mbit/s";
            at("ask-form").requestSubmit();
            return "";""",
            width=390,
        )
    )
    assert found["heads"] == ["Replication", "Campaign", "Here", "Equal", "Changed"]
    assert found["lines"][0].startswith("Rate 50Mbit/s wins: it has the lowest mean completion time")
    assert found["width"] <= 390


def test_a_wrong_value_is_said_at_its_field(page: Path) -> None:
    said = ask(
        page,
        f"""{READY}
        if (!at("ask-problem").hidden) return `${{page.document.activeElement.id}} ${{at("ask-problem").textContent}}`;
        at("ask-change").value = "field rate";
        at("ask-change").dispatchEvent(new page.Event("change", {{ bubbles: true }}));
        at("ask-value").value = "50";
        at("ask-form").requestSubmit();
        return "";""",
    )
    assert said.startswith("ask-value Rate: ")
