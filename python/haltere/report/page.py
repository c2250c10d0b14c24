"""The report's page: gathers its content from results, study, figures and claims, and fills the template."""

from __future__ import annotations

import base64
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
from markupsafe import Markup, escape

from haltere.claims.findings import Findings, tables_of
from haltere.evaluation import words as words_of_sheets
from haltere.evaluation.judging import Judgement
from haltere.explanation import asked
from haltere.explanation.page import waterfall
from haltere.figures import kinds, on_paper, on_screen
from haltere.figures.pages import page
from haltere.figures.parts import NotInResultsError
from haltere.figures.spec import Data, Description, FigureList, Kind
from haltere.metrics import METRICS
from haltere.metrics.tables import DifferentFlowsError
from haltere.report import design, treatments
from haltere.report.asking import asking
from haltere.results import Results, made_elsewhere
from haltere.study import Study, with_variant
from haltere.when.results import Found
from haltere.when.results import read as read_when

EMBED_LIMIT = 100_000
"""Figures up to this many bytes are also embedded in the page for download."""
FAILURES_SHOWN = 40
ROWS_SHOWN = 200
"""Treatments that a table shows at first; the page's script shows more as it is scrolled, and paper has all."""


@dataclass(frozen=True)
class Download:
    """A figure's file: its format, its address beside the report, and the same bytes inside the page."""

    form: str
    name: str
    href: str
    embedded: str | None


@dataclass(frozen=True)
class Shown:
    """A figure of the page: what it shows, its drawings, its files, what its kind is."""

    figure: Any
    drawings: Sequence[str]
    downloads: Sequence[Download]
    kind: Description | None = None
    asked: str = ""
    """The experiment of which a treatment can be run in the page."""

    @property
    def section(self) -> str:
        """The heading under which it stands."""
        if self.kind and self.kind.width == "answer":
            return "Maps of all treatments"
        return self.figure.section or (self.kind.section if self.kind else "")


@dataclass(frozen=True)
class Design:
    """An experiment's design as the page describes it."""

    name: str
    title: str
    design: str
    factors: Sequence[tuple[str, str, Sequence[str]]]
    """The words for each factor, its levels in words, and all of them if they are too many to be named there."""
    treatments: int
    runs: int
    failed: int
    drawing: str
    links: Sequence[tuple[str, str, Sequence[str]]]
    """The words for each link, its values, and all of them if they are too many to be named there."""
    constant: Sequence[tuple[str, str]]
    varied: Sequence[tuple[str, str]]


def render(
    results: Results,
    study_dir: Path,
    figures_dir: Path,
    findings: Findings,
    *,
    sheet: Judgement | None = None,
    alone: bool = False,
    module: bytes | None = None,
) -> tuple[str, set[Path]]:
    """The page as text, and the figures' files, which are written into `figures_dir`.

    A page that stands `alone` links to no file beside it. One with the playground's `module` can be asked.

    Raises:
        InputError: if `figures.toml` is wrong, or the results cannot be asked; nothing has been drawn by then.
    """
    manifest = results.manifest
    words = kinds.read(study_dir / "figures.toml")
    factors = {name: one.get("factors", {}) for name, one in manifest.get("experiments", {}).items()}
    tables = tables_of(results, study_dir)
    kinds.check(study_dir / "figures.toml", words, tables.known)
    can_ask = None if module is None else asking(results, study_dir, words, module)
    study = cache(lambda: Study.load(study_dir, variant=manifest.get("variant")))
    shown, missing = _draw(Data(tables, words, study), figures_dir, can_ask.experiments if can_ask else ())
    main = next((one for one in shown if one.figure.name == words.main), next(iter(shown), None))
    why = _why(results, figures_dir)
    metrics = [
        metric
        for metric in METRICS.values()
        if any(not tables.values(one, part).is_empty() for one in factors for part in tables.parted(metric, one))
    ]
    explained = [one for some in why.values() for one in some]
    drawn = {figures_dir / file.name for one in [*shown, *explained] for file in one.downloads}
    if alone:
        main, shown = None if main is None else alone_of(main), [alone_of(one) for one in shown if one is not main]
        why = {name: [alone_of(one) for one in some] for name, some in why.items()}
    else:
        shown = [one for one in shown if one is not main]
    text = page(
        "report.html.j2",
        script=True,
        alone=alone,
        asked=can_ask,
        elsewhere=made_elsewhere(manifest),
        partial=manifest.get("partial"),
        manifest=manifest,
        study={"rules": "", **manifest["study"]},
        fidelities=manifest.get("fidelities", ["model"]),
        kernels=manifest.get("kernels", {}),
        paths=manifest.get("paths", {}),
        answer=findings.answer,
        sheet=sheet,
        say=words_of_sheets,
        judged=findings.judged,
        when=_when(results),
        why=why,
        tally=findings.tally(),
        broken_answer=findings.broken_answer,
        designs=_designs(results, factors, words),
        main=main,
        sections=_sections(shown),
        missing=missing,
        treatment_tables=treatments.tables(tables, words, manifest),
        rows_shown=ROWS_SHOWN,
        metrics=metrics,
        failures=_failures(results.runs, factors, words),
        failures_shown=FAILURES_SHOWN,
        hatches=on_screen.HATCHES,
        font=on_screen.css_family(words.style.font) if words.style.font else "",
        command=manifest["command"],
        version=manifest["haltere"],
        seed=manifest["seed"],
    )
    return text, drawn


def alone_of(shown: Shown) -> Shown:
    """The figure without links to its files; the page itself holds those that are small."""
    return replace(shown, downloads=[replace(file, href="") for file in shown.downloads])


def _when(results: Results) -> dict[str, Otherwise]:
    """The findings of `haltere when` for each claim, by the claim's name, if it searched."""
    searched = read_when(results.path)
    return {} if searched is None else {one.name: otherwise(one) for one in searched.claims if one.tried}


def _why(results: Results, folder: Path) -> dict[str, list[Shown]]:
    """The findings of `haltere why` for each claim, by the claim's name, if they are of these results."""
    shown: dict[str, list[Shown]] = {}
    for number, one in enumerate(asked.read(results.path, results.manifest), 1):
        figure = waterfall(one.explanation)
        paths = on_paper.draw(figure, folder / f"why-{number}")
        because = _shown(one.explanation, on_screen.svgs(figure), paths)
        for name in one.claims:
            shown.setdefault(name, []).append(because)
    return shown


def _draw(data: Data, folder: Path, asked: Collection[str]) -> tuple[list[Shown], list[tuple[str, str]]]:
    """Every figure that the results can fill, and for each of the others its name and what is missing."""
    shown, missing = [], []
    for one in data.words.of(Kind):
        try:
            figure = one.figure(data)
        except (NotInResultsError, DifferentFlowsError) as error:
            missing.append((one.name, str(error)))
        else:
            figure = replace(figure, section=one.section) if one.section else figure
            paths = on_paper.draw(data.words.style.lettered(figure), folder / one.name, data.words.style.font)
            drawn = _shown(figure, on_screen.svgs(figure), paths, one.description)
            shown.append(replace(drawn, asked=one.experiment if one.experiment in asked else ""))
    return shown, missing


def _sections(shown: Sequence[Shown]) -> list[tuple[str, list[Shown]]]:
    """The figures under their headings, in the order of the first of each."""
    sections: dict[str, list[Shown]] = {}
    for one in shown:
        sections.setdefault(one.section, []).append(one)
    return list(sections.items())


def _shown(figure: Any, drawings: Sequence[str], paths: Sequence[Path], kind: Description | None = None) -> Shown:
    return Shown(figure, drawings, [download(path) for path in paths], kind)


def download(path: Path, *, embed: bool = True) -> Download:
    """Return a figure's file as the page offers it; within the page as well if it is to be embedded and small."""
    content = path.read_bytes()
    form = path.suffix[1:]
    kind = "image/svg+xml" if form == "svg" else "application/pdf"
    embedded = None
    if embed and len(content) <= EMBED_LIMIT:
        embedded = f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"
    return Download(form.upper(), path.name, f"figures/{path.name}", embedded)


def _designs(results: Results, factors: Mapping[str, design.Factors], words: FigureList) -> list[Design]:
    text = str(results.manifest.get("study_text", ""))
    study = with_variant(tomllib.loads(text), results.manifest.get("variant"))
    scenarios = {name: one.get("scenario", {}) for name, one in study.get("experiments", {}).items()}
    designs = []
    for name, one in results.manifest["experiments"].items():
        runs = results.runs.filter(pl.col("experiment") == name)
        rows = [(words.factor(factor), *design.said(levels, factor)) for factor, levels in factors[name].items()]
        drawing = design.drawing(scenarios.get(name, {}), factors[name])
        failed = runs.filter(pl.col("status") != "ok").height
        title = one.get("title") or name
        designs.append(
            Design(
                name,
                title,
                one.get("design", ""),
                rows,
                one.get("treatments", 0),
                runs.height,
                failed,
                drawing,
                design.links_said(one.get("links", [])),
                *design.fields(scenarios.get(name, {})),
            )
        )
    return designs


def _failures(runs: pl.DataFrame, factors: Mapping[str, design.Factors], words: FigureList) -> list[dict[str, Any]]:
    """Failed runs by treatment and reason, with how many replications of it failed so."""
    failed = runs.filter(pl.col("status") != "ok").with_columns(pl.col("error").fill_null("no reason recorded"))
    grouped = failed.group_by("experiment", "treatment", "error", maintain_order=True).agg(
        pl.col("replication"), pl.exclude("replication").first()
    )
    rows = []
    for row in grouped.to_dicts():
        levels = {factor: str(row[factor]) for factor in factors.get(row["experiment"], {})}
        rows.append({**row, "levels": words.all_levels(levels)})
    return rows


@dataclass(frozen=True)
class Otherwise:
    """The answer in a sentence, which is always visible, and what it rests on, which is folded below it."""

    answer: Markup
    evidence: Sequence[Markup]


def otherwise(found: Found) -> Otherwise:
    """Return what `haltere when` found for a claim, with switches and bundles set as code."""
    names = {name for one in found.tried for name in one.changes if _is_code(name)}
    answer = found.answer()
    lines = [
        f"With {' and '.join(one.changes)}, on fresh seeds: {'; '.join(one.evidence)}."
        for one in found.turned
        if one.evidence
    ]
    return Otherwise(
        _coded(f"{answer[:1].upper()}{answer[1:]}.", names),
        [_coded(line, names) for line in [*lines, *found.lines()]],
    )


def _is_code(change: str) -> bool:
    """Whether a change's name is a word of a contender (`tcp+tfo`), not of plain English (`no losses`)."""
    return not re.search(r"\s", change)


def _coded(text: str, names: Collection[str]) -> Markup:
    """Return a text as HTML in which each of these names, where it stands whole, is set as code."""
    if not names:
        return escape(text)
    longest_first = sorted(names, key=len, reverse=True)
    # A name ends before a full stop or a comma, but not before what would make it a longer name.
    whole = rf"(?<![\w+=-])({'|'.join(re.escape(name) for name in longest_first)})(?![\w+=-]|\.\w)"
    parts = re.split(whole, text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if at % 2 else escape(part) for at, part in enumerate(parts)
    )
