"""The files that studies keep of their campaigns, and the pages whose numbers are written from them."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import studies
from conftest import ROOT, SMALL_STUDY, Haltere
from haltere import Study, core, executor, kept
from haltere.errors import InputError
from haltere.evolution.study import PathsStudy
from haltere.kept import campaign, canary, changes, pages
from haltere.kept.pages import Page, pages_of
from haltere.stats import Interval, mean

CLAIMS = '''
from haltere.claims import ahead, all_of, claim, value
from haltere.claims.comparison import compare
from haltere.metrics import METRICS
from haltere.stats import mean

@claim("QUIC is sooner.", source="our expectation")
def sooner(tables):
    """By the completion times."""
    values = tables.values("base", "completion_time")["value"]
    return all_of(ahead("All times", mean(values.log().to_list()), METRICS["completion_time"]))

@value
def middle(tables):
    return mean(tables.values("base", "completion_time")["value"].to_list())

@value
def several(tables):
    return {"runs": tables.runs.height, "word": "two | three"}

@value
def by_rate(tables):
    found = tables.values("base", "completion_time").select("rate", "value")
    return found.group_by("rate", maintain_order=True).mean()
'''

PAGE = """# Small

<!-- kept: campaign -->?<!-- end -->

<!-- kept: claims --><!-- end -->

The mean is <!-- kept: value middle -->1<!-- end --> s over <!-- kept: value several.runs --><!-- end --> runs;
the claim is <!-- kept: verdict sooner --><!-- end --> by <!-- kept: number sooner times --><!-- end -->.

<!-- kept: value by_rate --><!-- end -->

```markdown
<!-- kept: nothing that is known -->
```
"""

STUDIES = sorted({file.parent.parent for file in (ROOT / "studies").glob(f"*/{kept.FOLDER}/*.json")})


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of a small study whose folder has claims and a page."""
    folder = tmp_path_factory.mktemp("kept") / "small"
    folder.mkdir()
    (folder / "study.toml").write_text(SMALL_STUDY)
    (folder / "claims.py").write_text(CLAIMS)
    (folder / "README.md").write_text(PAGE)
    Study.load(folder).run(out=folder.parent / "results")
    return folder.parent / "results"


@pytest.fixture
def study(results: Path, tmp_path: Path) -> Path:
    """A copy of that study, in which nothing is kept."""
    return Path(shutil.copytree(results.parent / "small", tmp_path / "small"))


def test_no_page_of_the_project_differs_from_what_is_kept() -> None:
    places = [ROOT / name for name in ("README.md", "docs", "studies")]
    wrong = [(str(file.relative_to(ROOT)), lines) for place in places for file, lines in kept.check(place)]
    assert not wrong, "`haltere pages` writes them anew"


def test_no_line_of_a_page_begins_with_the_mark_of_a_number() -> None:
    """Markdown takes such a line as HTML, and shows the signs of its emphasis and code."""
    for file in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "studies").rglob("*.md")]:
        wrong = re.findall(r"^<!-- kept:.*<!-- end -->", file.read_text(), re.MULTILINE)
        assert not wrong, f"{file}: begin the line with a word: {wrong[0][:60]}"


@pytest.mark.parametrize("folder", STUDIES, ids=lambda folder: folder.name)
def test_what_a_study_keeps_says_whether_it_is_stale(folder: Path) -> None:
    for name in campaign.names(folder):
        found = campaign.read(folder, name)
        assert found is not None
        assert found.stale == canary.why_stale(found, folder), f"{name}: `haltere pages --canary` notes it"
        assert campaign.file_of(folder, name).stat().st_size < 60_000
        if name == campaign.MAIN:
            assert any("<!-- kept: campaign -->" in page.read_text() for page in pages_of(folder))


def test_a_page_is_written_from_what_is_kept(results: Path, study: Path) -> None:
    done = kept.keep(results, study)
    text = (study / "README.md").read_text()
    assert done.pages == (study / "README.md",)
    assert "Fidelity `model`, version" in text and "seed 7, 3 replications, 30 runs, none failed." in text
    assert "| claim | here | verdict |\n" in text
    assert "| 1. QUIC is sooner. (ours) | All times: " in text
    assert "over <!-- kept: value several.runs -->30<!-- end --> runs" in text
    assert "<!-- kept: nothing that is known -->\n```" in text
    assert "| rate | value |\n|---|--:|\n| 5Mbit/s | 0." in text
    # A second writing changes nothing, and nothing is said to have changed.
    again = kept.keep(results, study)
    assert (again.pages, again.verdicts, again.numbers) == ((), (), ())


def test_a_page_names_the_kernels_that_ran(results: Path, study: Path, tmp_path: Path) -> None:
    real = Path(shutil.copytree(results, tmp_path / "real"))
    manifest = json.loads((real / "manifest.json").read_text())
    manifest["fidelities"] = manifest["study"]["fidelity"] = ["model", "linux", "testbed"]
    linux = {"name": "6.12.117-hz250-25c7d7", "version": "6.12.117", "hz": 250, "config": "25c7d7f6d8bd"}
    manifest["kernels"] = {"linux": linux, "testbed": {"name": "6.1.0-18-amd64", "version": "6.1.0-18-amd64"}}
    (real / "manifest.json").write_text(json.dumps(manifest))
    kept.keep(real, study)
    assert "`model` and `linux` and `testbed` (Linux 6.12.117, 6.1.0-18-amd64)" in (study / "README.md").read_text()


def test_a_row_of_claims_has_the_papers_value_and_three_numbers_that_decide() -> None:
    numbers = [campaign.Number(what=f"x{k}", text=f"{k}.0", outcome="confirmed", bound="above 1") for k in range(4)]
    numbers.append(campaign.Number(what="y", text="9.0", outcome="contradicted"))
    claim = campaign.Claim(
        name="far", sentence="It is far.", source="5", outcome="contradicted", reason="", numbers=tuple(numbers),
        whose="Doe 2020", paper="3 m",
    )  # fmt: skip
    assert pages.claims_table([claim]).splitlines() == [
        "| claim | the paper | here | verdict |",
        "|---|---|---|---|",
        "| 1. It is far. (Doe 2020) | 3 m | y: 9.0; x0: above 1: 0.0; x1: above 1: 1.0; 2 more in the report | "
        "*contradicted* |",
    ]


def test_a_papers_claims_and_ones_own_have_tables_of_their_own(results: Path, study: Path) -> None:
    made = kept.keep(results, study).kept
    one, other = (
        made.claims[0].model_copy(update={"sentence": sentence, "whose": whose})
        for sentence, whose in (("It is far.", "Doe 2020"), ("It is near.", "ours"))
    )
    (study / "kept" / "main.json").write_text(made.model_copy(update={"claims": (one, other)}).model_dump_json())
    page = study / "README.md"
    page.write_text("<!-- kept: paper-claims --><!-- end -->\n<!-- kept: own-claims --><!-- end -->\n")
    theirs, ours = pages.Page.read(page).rendered(study.parent).split("<!-- kept: own-claims -->")
    assert f"| 1. {one.sentence}" in theirs and "| 2. It is near. (ours) |" not in theirs
    assert "| 2. It is near. (ours) |" in ours and one.sentence not in ours


def test_a_number_that_was_changed_by_hand_is_found(results: Path, study: Path, haltere: Haltere) -> None:
    kept.keep(results, study)
    page = study / "README.md"
    page.write_text(page.read_text().replace("-->30<!--", "-->31<!--"))
    line = next(number for number, text in enumerate(page.read_text().splitlines(), 1) if "-->31<!--" in text)
    assert kept.check(study) == [(page, [line])]
    said = haltere("pages", str(study), "--check")
    assert said.returncode == 5
    assert f"line {line}: is not what is kept" in said.stderr
    assert haltere("pages", str(study)).returncode == 0
    assert kept.check(study) == []


def test_a_page_can_be_named_instead_of_its_folder(results: Path, study: Path, haltere: Haltere) -> None:
    kept.keep(results, study)
    page = study / "README.md"
    whole = page.read_text()
    page.write_text(whole.replace("-->30<!--", "-->31<!--"))
    assert haltere("pages", str(page), "--check").returncode == 5
    assert haltere("pages", str(page)).returncode == 0
    assert page.read_text() == whole
    refused = haltere("pages", str(study / "study.toml"))
    assert refused.returncode == 2
    assert "is no page and no folder" in refused.stderr


def test_the_command_keeps_and_says_what_it_wrote(results: Path, study: Path, haltere: Haltere) -> None:
    said = haltere("keep", str(results), "--study", str(study))
    assert said.returncode == 0, said.stderr
    assert "keeps 1 claim and 4 values of 30 runs" in " ".join(said.stdout.split())


def slower(scenario: core.Scenario | str, *rest: object) -> str:
    """Run as a model would whose links all carry one per cent less."""
    data = json.loads(scenario if isinstance(scenario, str) else scenario.json)

    def slowed(part: object) -> object:
        if isinstance(part, dict):
            part = {**_of_preset(part.get("preset")), **part}
            return {name: _less(one) if name == "rate" else slowed(one) for name, one in part.items()}
        return [slowed(one) for one in part] if isinstance(part, list) else part

    return real_run(core.Scenario(json.dumps(slowed(data))), *rest)


def _of_preset(name: object) -> dict[str, object]:
    """The rates of a link's preset, as conditions that a link may state beside it."""
    found: dict[str, Any] = {}
    for one in core.presets():
        for setting in one["settings"] if one["name"] == name else ():
            *way, field = setting["field"].split(".")
            if field == "rate":
                (found.setdefault(way[0], {}) if way else found)[field] = setting["value"]
    return found


def _less(rate: object) -> object:
    if not isinstance(rate, str):
        return rate
    number, unit = re.fullmatch(r"([\d.]+)(.*)", rate).groups()  # type: ignore[union-attr]
    return f"{float(number) * 0.99:.9f}{unit}"


real_run: Callable[..., str] = core.run


def test_a_model_that_is_one_per_cent_off_is_noticed(
    results: Path, study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.keep(results, study)
    assert kept.mark_stale(study) == {}
    monkeypatch.setattr(executor.core, "run", slower)
    assert kept.mark_stale(study) == {"main": "the model has changed"}
    kept.render(study)
    assert "the model has changed since." in (study / "README.md").read_text()
    monkeypatch.undo()
    assert kept.mark_stale(study) == {}
    kept.render(study)
    assert "the model has changed" not in (study / "README.md").read_text()


@pytest.mark.parametrize("folder", STUDIES, ids=lambda folder: folder.name)
def test_each_shipped_study_is_named_if_the_model_is_one_per_cent_off(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / folder.name))
    found = {name: campaign.read(copy, name) for name in campaign.names(copy)}
    of_today = [name for name, one in found.items() if one is not None and one.canary and not one.stale]
    monkeypatch.setattr(executor.core, "run", slower)
    why = kept.mark_stale(copy)
    assert {name: why.get(name) for name in of_today} == dict.fromkeys(of_today, "the model has changed")


def test_a_canary_needs_no_kernel(results: Path, study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = kept.keep(results, study).kept
    campaign.write(study, campaign.MAIN, made.model_copy(update={"fidelities": ("model", "linux")}))
    monkeypatch.setenv("HALTERE_KERNEL", "none-such")
    assert kept.mark_stale(study) == {}


def test_a_study_with_other_levels_or_rules_is_stale_but_not_one_with_other_comments(
    results: Path, study: Path
) -> None:
    kept.keep(results, study)
    file, code = study / "study.toml", study / "claims.py"
    text, rules = file.read_text(), code.read_text()
    file.write_text("# A comment.\n" + text.replace('title = "A small study"', 'title = "Another title"'))
    code.write_text(f"# A comment.\n{rules}")
    assert kept.mark_stale(study) == {}
    file.write_text(text.replace("20ms", "21ms"))
    assert kept.mark_stale(study) == {"main": "the study has changed"}
    file.write_text(text)
    code.write_text(rules.replace("completion_time", "goodput", 1))
    assert kept.mark_stale(study) == {"main": "the study has changed"}


@pytest.mark.parametrize(
    ("mark", "problem"),
    [
        ("<!-- kept: claims -->", "has no end"),
        ("<!-- kept: claims --><!-- kept: runs --><!-- end -->", "has no end"),
        ("<!-- kept: clams --><!-- end -->", "right: claims"),
        ("<!-- kept: --><!-- end -->", "says nothing"),
        ("<!-- kept: verdict --><!-- end -->", "verdict takes 1 argument"),
        ("<!-- kept: verdict soner --><!-- end -->", "right: sooner"),
        ("<!-- kept: number sooner nothing --><!-- end -->", "0 numbers of sooner"),
        ("<!-- kept: value midle --><!-- end -->", "right: middle"),
        ("<!-- kept: runs of /era --><!-- end -->", "small keeps no campaign era"),
        ("<!-- kept: runs of nothing --><!-- end -->", "nothing keeps no campaign main"),
        ('<!-- kept: value "a --><!-- end -->', "quote"),
    ],
)
def test_a_mark_that_cannot_be_filled_is_named_with_its_line(
    results: Path, study: Path, mark: str, problem: str
) -> None:
    kept.keep(results, study)
    page = study / "README.md"
    page.write_text(f"# Small\n\n{mark}\n")
    with pytest.raises(InputError, match=problem) as wrong:
        Page.read(page).rendered(study.parent)
    assert wrong.value.place is not None and wrong.value.place.line == 3


def test_a_page_says_that_nothing_is_kept_before_the_first_campaign_is(study: Path) -> None:
    page = study / "README.md"
    assert kept.render(study) == [page]
    text = page.read_text()
    assert "No campaign is kept yet." in text
    assert "The mean is <!-- kept: value middle -->*not kept yet*<!-- end --> s" in text
    page.write_text("<!-- kept: clams --><!-- end -->")
    with pytest.raises(InputError, match="right: claims"):
        kept.check(study)


def test_a_page_can_wait_for_a_variant_of_its_study(results: Path, study: Path) -> None:
    with (study / "study.toml").open("a") as file:
        file.write("\n[variants.era.study]\nreplications = 2\n")
    page = study / "README.md"
    page.write_text("<!-- kept: runs -->?<!-- end --> <!-- kept: runs of /era -->?<!-- end -->")
    kept.keep(results, study)
    assert page.read_text() == "<!-- kept: runs -->30<!-- end --> <!-- kept: runs of /era -->*not kept yet*<!-- end -->"


def test_a_page_can_wait_for_what_is_asked_after_the_campaign(results: Path, study: Path) -> None:
    page = study / "README.md"
    page.write_text("<!-- kept: value why --><!-- end --> <!-- kept: value when --><!-- end -->")
    kept.keep(results, study)
    assert page.read_text().count("-->*not kept yet*<!--") == 2


def test_a_damaged_file_says_what_to_do(results: Path, study: Path) -> None:
    kept.keep(results, study)
    campaign.file_of(study).write_text('{"format": 1}')
    with pytest.raises(InputError, match="a file written by `haltere keep`; remove this one"):
        campaign.read(study)


def test_a_file_has_of_a_claim_what_pages_show_and_changes_compare(results: Path, study: Path) -> None:
    made = kept.keep(results, study).kept
    of, to = Interval(2.5, 2.0, 3.0, 3, 0.95, "Student's t"), Interval(1.0, None, None, 1, 0.9, "bootstrap")
    deciding = [
        campaign.Number(what=f"x{k}", text="1.0", interval=of, outcome="confirmed", bound="above 1") for k in range(4)
    ]
    twice = [campaign.Number(what="both", text=text) for text in ("1", "2")]
    rest = [campaign.Number(what="one", text="3"), campaign.Number(what="wide", text="4", interval=to)]
    full = made.claims[0].model_copy(update={"numbers": (*deciding, *twice, *rest), "outcome": "confirmed"})
    campaign.write(study, "main", made.model_copy(update={"claims": (full,)}))
    text = campaign.file_of(study).read_text()
    assert '["x2", "1.0", [2.5, 2.0, 3.0, 3], "confirmed", "above 1"]' in text
    assert '["x3", "1.0", [2.5, 2.0, 3.0, 3]]' in text
    assert '["wide", "4", [1.0, null, null, 1, "bootstrap", 0.9]]' in text
    assert '"both"' not in text and '["one", "3"]' in text
    again = campaign.read(study)
    assert again is not None
    (claim,) = again.claims
    assert [one.interval for one in claim.numbers] == [of, of, of, of, None, to]
    assert pages.claims_table([claim]) == pages.claims_table([full])
    assert changes.numbers(made.model_copy(update={"claims": (full,)}), again) == []


def test_a_file_of_format_1_is_read_and_written_in_format_3(results: Path, study: Path) -> None:
    made = kept.keep(results, study).kept
    new = json.loads(campaign.file_of(study).read_text())
    old = json.loads(campaign.file_of(study).read_text()) | {"format": 1}
    names, ends = (
        ("what", "text", "interval", "outcome", "bound"),
        ("value", "low", "high", "n", "method", "confidence"),
    )
    for claim in old["claims"]:
        claim["numbers"] = [dict(zip(names, one, strict=False)) for one in claim["numbers"]]
        for one in claim["numbers"]:
            if one.get("interval"):
                usual = [*one["interval"], "Student's t", 0.95]
                one["interval"] = dict(zip(ends, [*one["interval"][:6], *usual[len(one["interval"]) :]], strict=False))
    campaign.file_of(study).write_text(json.dumps(old))
    read = campaign.read(study)
    assert read is not None and read.claims == made.claims
    campaign.write(study, "main", read)
    assert json.loads(campaign.file_of(study).read_text()) == new


def test_metrics_of_flows_are_lists_and_older_files_name_each(results: Path, study: Path) -> None:
    made = kept.keep(results, study).kept
    metrics = {"goodput@first": 1.5, "goodput@second/up": 0.1 + 0.2, "rtt@second/up": 20.0, "fairness": 0.99}
    run = campaign.Canary(experiment="base", treatment=0, levels={}, fidelity="model", replication=0, metrics=metrics)
    kept_run = made.model_copy(update={"canary": (run,)})
    campaign.write(study, "main", kept_run)
    file = campaign.file_of(study)
    data = json.loads(file.read_text())
    assert data["canary"][0]["flows"] == ["first", "second/up"]
    assert data["canary"][0]["metrics"] == {"goodput": [1.5, 0.1 + 0.2], "rtt": [None, 20.0], "fairness": 0.99}
    read = campaign.read(study)
    assert read is not None and read.canary == (run,)

    del data["canary"][0]["flows"]
    data["canary"][0]["metrics"] = metrics
    file.write_text(json.dumps(data | {"format": 2}))
    older = campaign.read(study)
    assert older is not None and older.canary == (run,)


@pytest.mark.parametrize(
    "damage",
    [{"flows": 3}, {"flows": ["first"], "metrics": 3}, {"flows": ["first"], "metrics": {"goodput": [1.0, 2.0]}}],
)
def test_a_damaged_canary_says_what_to_do(results: Path, study: Path, damage: dict[str, object]) -> None:
    kept.keep(results, study)
    file = campaign.file_of(study)
    data = json.loads(file.read_text())
    data["canary"][0] |= damage
    file.write_text(json.dumps(data))
    with pytest.raises(InputError, match="a file written by `haltere keep`; remove this one"):
        campaign.read(study)


def test_a_variants_file_has_words_of_claims_only_if_they_are_not_those_of_the_main_one(
    results: Path, study: Path
) -> None:
    made = kept.keep(results, study).kept
    own = made.claims[0].model_copy(update={"name": "own", "sentence": "It is otherwise."})
    variant = made.model_copy(update={"variant": "era", "claims": (made.claims[0], own)})
    campaign.write(study, "era", variant)
    text = campaign.file_of(study, "era").read_text()
    assert "It is otherwise." in text and made.claims[0].sentence not in text
    assert campaign.read(study, "era") == variant
    campaign.file_of(study).unlink()
    alone = campaign.read(study, "era")
    assert alone is not None and alone.claims[0].sentence == made.claims[0].name


@pytest.mark.parametrize("number", [["x"], [], ["x", "1", None, None, "", "too much"], ["x", "1", [1.0]]])
def test_a_number_that_is_none_makes_a_file_damaged(number: list[object], results: Path, study: Path) -> None:
    kept.keep(results, study)
    data = json.loads(campaign.file_of(study).read_text())
    data["claims"][0]["numbers"] = [number]
    campaign.file_of(study).write_text(json.dumps(data))
    with pytest.raises(InputError, match="a file written by `haltere keep`; remove this one"):
        campaign.read(study)


def number(what: str, interval: Interval) -> campaign.Number:
    return campaign.Number(what=what, text=f"{interval.value:.3f}", interval=interval)


def test_chance_is_rarely_called_a_change_and_real_changes_are_found(results: Path, study: Path) -> None:
    made = kept.keep(results, study).kept
    dice = np.random.default_rng(1)

    def drawn(shift: float) -> campaign.Kept:
        numbers = {str(k): number(str(k), mean(dice.normal(shift if k == 0 else 0, 1, 10))) for k in range(40)}
        return made.model_copy(update={"claims": (), "values": numbers})

    rounds = 400
    false = sum(bool(changes.numbers(drawn(0), drawn(0))) for _ in range(rounds))
    assert false / rounds <= 0.06
    found = sum(any(one.what == "value 0" for one in changes.numbers(drawn(0), drawn(4))) for _ in range(50))
    assert found >= 45


def test_an_exact_number_changes_with_its_value_and_a_verdict_with_its_outcome(results: Path, study: Path) -> None:
    made = kept.keep(results, study).kept
    first, second = (mean([value] * 3) for value in (1.0, 1.01))
    before, after = (made.model_copy(update={"values": {"x": number("x", one)}}) for one in (first, second))
    assert [str(one) for one in changes.numbers(before, after)] == ["value x: 1.000 → 1.010"]
    (claim,) = made.claims
    other = made.model_copy(update={"claims": (claim.model_copy(update={"outcome": "broken"}),)})
    assert [str(one) for one in changes.verdicts(made, other)] == [f"claim sooner: {claim.outcome} → broken"]


def test_a_study_of_measured_paths_is_kept_too(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(ROOT / "studies" / "internet-paths", tmp_path / "internet-paths"))
    shutil.rmtree(folder / kept.FOLDER, ignore_errors=True)
    PathsStudy.load(folder).run(tmp_path / "results", command="haltere run", on_progress=lambda *_: None)
    done = kept.keep(tmp_path / "results", folder)
    assert (done.kept.fidelities, done.kept.canary, len(done.kept.claims)) == ((), (), 7)
    assert "-->Measured paths, version" in (folder / "README.md").read_text()
    assert kept.mark_stale(folder) == {}


def test_the_script_runs_every_kept_campaign_and_says_what_changed_and_what_could_not_run(
    results: Path, study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kept.keep(results, study)
    made = campaign.read(study)
    assert made is not None
    (claim,) = made.claims
    for name, outcome in (("small", "broken"), ("wrong", claim.outcome)):
        folder = Path(shutil.copytree(study, tmp_path / "studies" / name))
        before = made.model_copy(update={"claims": (claim.model_copy(update={"outcome": outcome}),)})
        campaign.write(folder, campaign.MAIN, before)
    (tmp_path / "studies" / "wrong" / "claims.py").write_text("1 / 0")
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").touch()
    monkeypatch.setattr(studies, "ROOT", tmp_path)
    monkeypatch.setattr("sys.argv", ["studies.py", "--minutes", "1"])
    assert studies.main() == 1
    said = " ".join(capsys.readouterr().out.split())
    assert f"small, campaign main claim sooner: broken → {claim.outcome}" in said
    assert "wrong, campaign main left out: " in said and "ZeroDivisionError" in said
