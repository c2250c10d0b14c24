"""The site: generated reference pages leave nothing out, examples hold, links are checked."""

from __future__ import annotations

import re
import shlex
import shutil
import tomllib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import onnx
import pytest
import typer

import haltere as package
from conftest import ROOT, Haltere
from haltere import Scenario, Study, core, gym, shipped
from haltere.cli.app import app
from haltere.metrics import METRICS
from haltere.plugins import store
from haltere.study.model import study_schema
from networks import model
from pages import commands, gallery, lists, metrics
from pages.links import broken
from pages.schema import Page
from pages.stage import filled

WRITTEN = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "studies").glob("*/*.md"))]


@pytest.mark.parametrize("schema", [core.scenario_schema(), study_schema()], ids=["scenario", "study"])
def test_the_page_of_a_schema_names_every_field_and_every_choice(schema: dict[str, Any]) -> None:
    text = Page(schema, "x").markdown()
    for name, table in [("The top level", schema), *schema["$defs"].items()]:
        if name == "JsonValue":
            continue  # what stands for any value has no section
        section = text.split(f"# {name}\n", 1)
        assert len(section) == 2, f"no section {name}"
        until = re.split(r"^\(x-", section[1], maxsplit=1, flags=re.MULTILINE)[0]
        for part in [table, *table.get("anyOf", [])]:
            for field in part.get("properties", {}):
                assert f"`{field}` — " in until, f"{name} lacks {field}"
        for choice in table.get("oneOf", []):
            if "const" in choice:
                assert f'`"{choice["const"]}"`' in until, f"{name} lacks {choice['const']}"


def _undescribed(schema: dict[str, Any]) -> list[str]:
    return [
        f"{name}.{field}"
        for name, table in [("", schema), *schema["$defs"].items()]
        for field, about in table.get("properties", {}).items()
        if "description" not in about and "$ref" not in about
    ]


def test_every_field_of_the_schemas_has_a_description() -> None:
    assert _undescribed(core.scenario_schema()) == []
    assert _undescribed(study_schema()) == []


def _commands(command: Any, words: list[str]) -> Iterator[tuple[str, Any]]:
    yield " ".join(words), command
    for name, inner in getattr(command, "commands", {}).items():
        yield from _commands(inner, [*words, name])


def test_the_page_of_commands_names_every_command_and_option() -> None:
    text = commands.markdown()
    known = list(_commands(typer.main.get_command(app), ["haltere"]))
    assert len(known) > 20
    for name, command in known:
        section = text.split(f"## `{name}`\n", 1)[1].split("\n## ", 1)[0]
        for parameter in command.params:
            said = parameter.opts[0] if parameter.param_type_name == "option" else parameter.name.upper()
            assert parameter.hidden or f"`{said}" in section, f"{name} {said}"


def test_the_page_of_contenders_names_all_of_them() -> None:
    text = lists.contenders()
    for rows in core.algorithms().values():
        for row in rows:
            assert f"`{row['name']}`" in text


def test_the_page_of_metrics_defines_all_of_them() -> None:
    text = metrics.markdown()
    for metric in METRICS.values():
        entry = text.split(f"`{metric.name}` ", 1)[1].split("\n\n", 1)[0]
        assert metric.label in entry
        assert metric.unit in entry
        assert "\n: " in entry


def test_the_page_of_python_names_all_that_the_package_offers() -> None:
    text = (ROOT / "docs" / "reference" / "python.md").read_text()
    for name in package.__all__:
        assert re.search(rf"haltere\.{name}$", text, re.MULTILINE), name


KINDS = {"tutorial": 200, "how-to": 200, "reference": None, "explanation": 200}
"""The folders of docs, by what their reader wants, and how many lines a page may have."""


def test_each_page_of_the_docs_is_of_one_kind_and_only_a_reference_is_long() -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        (kind, _) = page.relative_to(ROOT / "docs").parts
        most, lines = KINDS[kind], len(page.read_text().splitlines())
        assert most is None or lines <= most, f"{page.name} has {lines} lines"


def test_each_page_of_a_study_has_less_than_200_lines() -> None:
    pages = list((ROOT / "studies").glob("*/*.md"))
    long = {str(page.relative_to(ROOT)): len(page.read_text().splitlines()) for page in pages}
    assert len(pages) >= len(shipped.studies())
    assert not {page: lines for page, lines in long.items() if lines >= 200}


def test_the_readme_and_the_change_log_of_a_first_release_are_short() -> None:
    for name, most in (("README.md", 120), ("CHANGELOG.md", 70)):
        assert len((ROOT / name).read_text().splitlines()) <= most, name


def test_markers_are_filled_and_none_is_unknown() -> None:
    for page in sorted((ROOT / "docs" / "reference").glob("*.md")):
        assert "<!-- generated:" not in filled(page.read_text()), page.name


def test_the_gallery_shows_the_reports_that_were_made(tmp_path: Path) -> None:
    made = tmp_path / "results" / "gallery" / "l4s"
    (made / "figures").mkdir(parents=True)
    (made / "report.html").write_text('<a href="explore.html">any</a><a href="figures/rates.svg">SVG</a>')
    (made / "explore.html").write_text("<p>any metric against any factor</p>")
    (made / "figures" / "rates.svg").write_text("<svg/>")
    source = tmp_path / "source"
    for folder in ("extra", "static", "studies/l4s"):
        (source / folder).mkdir(parents=True)
    (source / "studies" / "l4s" / "README.md").write_text("# L4S")
    shutil.copyfile(ROOT / "tools" / "pages" / "gallery.md", source / "gallery.md")
    gallery.place(tmp_path, source)
    text = (source / "gallery.md").read_text()
    for study in shipped.studies():
        assert f"*{study.question}*" in text
    assert '<a href="reports/l4s/index.html">its report</a>' in text
    assert "![rates](static/l4s.svg)" in text
    assert "reports/l4s" in text and "reports/nsquic" not in text
    assert (source / "extra" / "reports" / "l4s" / "index.html").exists()
    assert (source / "static" / "l4s.svg").exists()
    assert broken(source / "extra") == []


def test_links_that_lead_nowhere_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<a href="b.html#there">1</a><a href="b.html#not">2</a><a href="c.html">3</a>')
    (tmp_path / "b.html").write_text('<h1 id="there"></h1><a href="https://example.org/x">4</a><img src="no.png">')
    assert broken(tmp_path) == ["a.html: b.html#not", "a.html: c.html", "b.html: no.png"]


def _blocks(kind: str) -> list[tuple[Path, str]]:
    fence = re.compile(rf"^```{kind}\n(.*?)^```", re.MULTILINE | re.DOTALL)
    return [(page, block[1]) for page in WRITTEN for block in fence.finditer(page.read_text())]


def _lines() -> Iterator[tuple[Path, list[str]]]:
    """Yield every call of haltere in the pages, with the page."""
    for page, block in _blocks("console"):
        for line in block.replace("\\\n", " ").splitlines():
            line = re.sub(r"(?:^|\s)#.*", "", line.removeprefix("$ ").removeprefix(".venv/bin/"))
            line = line.split(" > ")[0]
            line = line.split(" | ")[-1] if "| haltere" in line else line.split(" | ")[0]
            if line.startswith("haltere "):
                yield page, shlex.split(line)[1:]


LINES = list(_lines())


def test_every_command_line_of_the_pages_is_understood() -> None:
    assert len(LINES) > 60
    top: Any = typer.main.get_command(app)
    for page, words in LINES:
        command, rest, context = top, words, None
        while True:
            try:
                context = command.make_context("haltere", list(rest), parent=context)
            except Exception as error:
                raise AssertionError(f"{page.name}: haltere {' '.join(words)}: {error}") from error
            if not hasattr(command, "commands"):
                break
            # Options of haltere itself, such as --allow-code, come before the command.
            _, command, rest = command.resolve_command(context, [*context._protected_args, *context.args])


def _code(words: list[str]) -> set[tuple[str, str]]:
    """Return the files of code that a command names, each with its kind as `haltere new` has it."""
    found = set()
    for option, word in pairwise(["", *words]):
        if option == "--queue" and (file := store.queue_file(word)):
            found.add((file, "queue"))
            continue
        for file in store.files_of(word):
            found.add((file, "scheduler" if f"scheduler={file}" in word else "congestion-control"))
    return found


SIMULATED = [
    words
    for page, words in LINES
    if (words[0] in ("compare", "trace", "shadow") or ("--against" in words and words[0] == "first-difference"))
    and "--run" not in words  # of results, which test_docs.py makes
    and not any(word.endswith(".toml") or word in ("linux", "stack") for word in words)
]


@pytest.mark.parametrize("words", [pytest.param(words, id=" ".join(words[:4])) for words in SIMULATED])
def test_the_comparisons_and_traces_of_the_pages_run(
    words: list[str], haltere: Haltere, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is run with a small object, or for a short time, and once.

    Files of code are those that `haltere new` writes for their use, and files of Linux the one of their page. A policy
    is a network that nobody trained.
    """
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    page = (ROOT / "docs" / "how-to" / "linux-congestion-controls.md").read_text()
    for file, kind in _code(words):
        if Path(file).suffix == store.POLICY:
            onnx.save(model(30), tmp_path / file)
            gym.stamp(tmp_path / file, gym.Environment(ONE_LINK | {"duration": "30s"}))
        elif Path(file).name.startswith("tcp_"):
            (tmp_path / file).write_text(page.split("```c\n")[1].split("```")[0])
        else:
            assert haltere("new", f"--{kind}", file).returncode == 0, file
    short = ["--duration", "11s"] if "--share" in words else ["--size", "20kB"]
    once = ["--replications", "1"] if words[0] == "compare" else []
    done = haltere(*words, *short, *once)
    assert done.returncode == 0, done.stderr


ATTACKS = [words for _, words in LINES if words[0] == "attack"]


@pytest.mark.parametrize("words", [pytest.param(words, id=" ".join(words[:4])) for words in ATTACKS])
def test_the_attacks_of_the_pages_run(words: list[str], haltere: Haltere) -> None:
    """Each is run with a small search and judged once, so that nothing is a finding."""
    for file, kind in _code(words):
        assert haltere("new", f"--{kind}", file).returncode == 0, file
    done = haltere(*words, "--evaluations", "24", "--seconds", "3", "--replications", "1")
    assert done.returncode == 0, done.stderr


def test_the_studies_that_the_pages_run_are_there() -> None:
    named = {words[1] for _, words in LINES if words[0] in ("run", "design") and "studies" in words[1]}
    assert len(named) > 8
    for name in named:
        assert (ROOT / name / "study.toml").exists() or (ROOT / name).is_file(), name


LINK = {"rate": "10Mbit/s", "delay": "5ms"}
ONE_LINK = {"topology": {"kind": "point-to-point", "link": LINK}, "flows": [{"contender": "tcp/cubic", "size": "1MB"}]}
BROKER = {
    "topology": {
        "kind": "graph",
        "links": [
            {"from": "publisher", "to": "broker", "link": LINK},
            {"from": "broker", "to": "subscriber", "link": LINK},
        ],
    },
    "flows": [
        {
            "contender": "tcp/cubic",
            "server": "broker",
            "client": "publisher",
            "mqtt": {"subscriber": "subscriber", "messages": 3, "payload": "100B"},
        }
    ],
}


@pytest.mark.parametrize(
    ("page", "block"), [pytest.param(page, block, id=page.name) for page, block in _blocks("toml")]
)
def test_the_toml_of_the_pages_is_accepted(page: Path, block: str) -> None:
    if page.name == "links.md":  # each line is one of several things that a link may say
        for line in block.splitlines():
            if "trace" not in line:
                ring = {} if line.startswith(("tunnel", "breaker")) else {"ring": "256p"}
                Scenario(ONE_LINK).merged({"topology": {"link": {**ring, **tomllib.loads(line)}}})
        return
    data = tomllib.loads(block)
    if "study" in data:
        Study.parse(block)
    elif data.keys() & {"overviews", "bars", "lines", "factors"}:
        return  # a study's figures: tests of reports read them
    else:
        rest = BROKER if "brokers" in data else {**ONE_LINK, "duration": "30s"}
        Scenario({**rest, **data}, folder=page.parent)


def test_the_tutorial_can_be_walked(haltere: Haltere, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its files are written and its commands given in the order of the page."""
    text = (ROOT / "docs" / "tutorial" / "first-study.md").read_text()
    for block in re.finditer(r"^```(console|toml|python)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        named = re.match(r"# (\S+/\S+)\n", block[2])
        if named:
            file = tmp_path / named[1]
            file.parent.mkdir(exist_ok=True)
            file.write_text(block[2])
        elif block[1] == "console":
            for line in block[2].splitlines():
                done = haltere(*shlex.split(line)[2:])
                assert done.returncode == 0, (line, done.stderr)
        else:
            with monkeypatch.context() as there:
                there.chdir(tmp_path)
                exec(compile(block[2], "first-study.md", "exec"), {})
    results = tmp_path / "results" / "loss-and-size"
    assert sorted(file.stem for file in results.glob("figures/*.pdf")) == ["time-by-loss", "time-ratio", "times-500kb"]
    assert "QUIC is faster than TCP" in (results / "verdicts.md").read_text()
