"""The pages in docs/ that hold Python are run, block by block, as a reader would."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest

import lakes
from conftest import ROOT, Haltere
from haltere import Scenario, core, run
from haltere.export import authorship

PAGES = sorted(
    page
    for page in (ROOT / "docs").rglob("*.md")
    if "```python" in page.read_text() and page.name != "first-study.md"  # test_pages.py walks it
)
REDUCED = {"learn.md": ("rounds, pairs, links = 60, 8, 4", "rounds, pairs, links = 2, 2, 2")}
"""A part of a page, and the smaller part that the tests run in its place."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_blocks_of_the_page_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "studies").symlink_to(ROOT / "studies")
    lakes.write(tmp_path / "lake" / "2011", {("ark", "2011-01-01", "a"): lakes.traces(200, seed=1)})
    monkeypatch.chdir(tmp_path)
    whole, less = REDUCED.get(page.name, ("", ""))
    assert whole in page.read_text()
    text = page.read_text().replace(whole, less)
    names: dict[str, Any] = {}
    for block in re.finditer(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        line = text.count("\n", 0, block.start(1))
        exec(compile("\n" * line + block[1], str(page), "exec"), names)
    if page.name == "from-python.md":
        assert "completion_s" in capsys.readouterr().out
        assert (tmp_path / "results" / "loss-and-delay" / "manifest.json").exists()


def test_the_flows_of_study_files_can_be_run() -> None:
    text = (ROOT / "docs" / "reference" / "study-files.md").read_text()
    blocks = re.findall(r"^```toml\n(\[\[flows\]\]\n.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 2
    for block in blocks:
        topology = {"kind": "point-to-point", "link": {"rate": "10Mbit/s", "delay": "5ms"}}
        result = run(Scenario({"topology": topology, **tomllib.loads(block)}))
        assert result.status == "ok", block


def test_the_scenarios_of_study_files_can_be_run() -> None:
    """Losses and jitter, a graph, measured paths."""
    text = (ROOT / "docs" / "reference" / "study-files.md").read_text()
    blocks = re.findall(r"^```toml\n(\[topology\].*?)^```", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 3
    for block in blocks:
        assert run(Scenario.from_toml(block)).status == "ok", block


def test_the_page_of_study_files_names_everything_that_a_scenario_can_say() -> None:
    text = (ROOT / "docs" / "reference" / "study-files.md").read_text()
    named = set(re.findall(r"`([\w-]+)`", text.split("## Everything a scenario can say")[1].split("\n## ")[0]))
    schema = core.scenario_schema()
    for name, table in [("the scenario", schema), *schema["$defs"].items()]:
        forms = [table, *table.get("oneOf", []), *table.get("anyOf", [])]
        fields = {field for form in forms for field in form.get("properties", {})}
        assert fields <= named, f"{name}: {fields - named}"


def test_the_notebook_style_page_is_among_them() -> None:
    assert "from-python.md" in [page.name for page in PAGES]


def test_the_page_of_queues_names_every_discipline_and_every_parameter() -> None:
    sections = dict(
        part.split("\n", 1)
        for part in re.split(r"^### ", (ROOT / "docs" / "reference" / "queues.md").read_text(), flags=re.MULTILINE)
    )
    for one in core.queues():
        assert one["name"] in sections, f"docs/reference/queues.md has no section {one['name']}"
        listed = re.findall(r"^- `(\w+)` \(", sections[one["name"]], re.MULTILINE)
        assert listed == [parameter["name"] for parameter in one["parameters"]], one["name"]
        for parameter in one["parameters"]:
            if parameter["default"] is not None and parameter["name"] != "priomap":
                stated = _bytes(parameter["default"])
                line = re.search(rf"^- `{parameter['name']}` \(`?([^)`]*)`?\)", sections[one["name"]], re.MULTILINE)
                assert line and _bytes(line[1]) == stated, (one["name"], parameter)


def _bytes(text: str) -> str:
    return re.sub(r"^(\d+)kB$", r"\g<1>000B", text)


def test_the_scenario_with_queues_can_be_run() -> None:
    text = (ROOT / "docs" / "reference" / "queues.md").read_text()
    (block,) = re.findall(r"^```toml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert run(Scenario.from_toml(block)).status == "ok"


def _commands(page: Path) -> list[str]:
    return re.findall(r"^\$ haltere (.*?)(?:  +#.*)?$", page.read_text(), re.MULTILINE)


def test_the_commands_of_the_page_on_typical_paths_run(haltere: Haltere, tmp_path: Path) -> None:
    commands = _commands(ROOT / "docs" / "how-to" / "typical-paths.md")
    assert len(commands) == 4
    for command in commands:
        words, _, file = command.partition(" > ")
        short = ["--size", "20kB", "--replications", "1"] if words.startswith("compare") else []
        done = haltere(*shlex.split(words), *short)
        assert done.returncode == 0, done.stderr
        if file:
            (tmp_path / file).write_text(done.stdout)


def _changed(text: str, diff: str) -> str:
    """A text in which each line that a diff takes away is replaced by those that it adds after it."""
    lines = text.splitlines()
    for block in re.split(r"^(?=-)", diff, flags=re.MULTILINE)[1:]:
        gone, *new = (line[1:] for line in block.splitlines())
        there = [number for number, line in enumerate(lines) if re.sub(r"  +#.*", "", line) == gone]
        assert there, f"no line of the new study is {gone!r}"
        for number in there:
            lines[number] = "\n".join(new)
    return "\n".join(lines) + "\n"


def test_the_page_on_starting_leads_to_another_study(haltere: Haltere, tmp_path: Path) -> None:
    """Its commands are given, its changes are made to the three files, and its commands are given again."""
    page = ROOT / "docs" / "tutorial" / "start.md"
    new, *others = [command for command in _commands(page) if "results/" in command or "my-study" in command][:4]
    assert [command.split()[0] for command in (new, *others)] == ["new", "run", "report", "explore"]
    assert haltere(*shlex.split(new)).returncode == 0
    changes = re.findall(r"^\*\*`([\w.]+)`\*\*.*?```diff\n(.*?)```", page.read_text(), re.MULTILINE | re.DOTALL)
    assert [name for name, _ in changes] == ["study.toml", "figures.toml", "claims.py"]
    for name, diff in changes:
        file = tmp_path / "my-study" / name
        file.write_text(_changed(file.read_text(), diff))
    for command in others:
        done = haltere(*shlex.split(command))
        assert done.returncode == 0, (command, done.stderr)
    results = tmp_path / "results" / "my-study"
    assert "BBR ÷ CUBIC: " in (results / "verdicts.md").read_text()
    assert (results / "figures" / "completion-time.svg").exists()


def test_the_commands_of_the_page_on_exploring_run(haltere: Haltere, tmp_path: Path) -> None:
    assert haltere("new", "my-study").returncode == 0
    (tmp_path / "my-study" / "claims.py").write_text("")
    (tmp_path / "my-study" / "artifact.toml").write_text(authorship.EXAMPLE)
    assert haltere("run", "my-study", "--replications", "1").returncode == 0
    for name in ("before", "after"):
        (tmp_path / "results" / name).symlink_to(tmp_path / "results" / "my-study")
    run = json.loads((tmp_path / "results" / "my-study" / "manifest.json").read_text())
    assert run["counts"]["runs"] == 12
    text = (ROOT / "docs" / "how-to" / "exploring.md").read_text()
    commands = re.findall(r"^\$ haltere (.*?)(?:  +#.*)?$", text, re.MULTILINE)
    assert len(commands) == 7
    first = haltere("trace", "results/my-study", "--run", "").stderr.split()[-1]
    for command in commands:
        done = haltere(*shlex.split(command.replace("3f2a91c0", first)))
        assert done.returncode == 0, (command, done.stderr)
