"""The report of a study: one self-contained HTML file, and every figure as SVG and PDF beside it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from haltere import explorer
from haltere.claims.findings import Findings, find, markdown
from haltere.errors import ArgumentError, InputError
from haltere.evaluation.evaluating import judged
from haltere.evaluation.words import summary
from haltere.evolution.results import KIND
from haltere.files import write_whole
from haltere.report import evolution
from haltere.report.page import render
from haltere.results import Results, load, read_manifest
from haltere.runner.campaign import so_far

__all__ = ["build"]

PAGE_ALONE = ".html"
"""The ending of a file that holds a report alone."""


def build(results_dir: Path, study_dir: Path | None, out: Path | None = None, *, module: bytes | None = None) -> Path:
    """Write the report, `verdicts.md`, `explore.html` and `figures/` into a folder; return the report's path.

    Figures of a former report that this one does not have are removed.

    The figures are those that `figures.toml` in the study's folder lists, the claims those of its `claims.py` or
    `claims/`; a study may have neither. The page loads nothing from a network or from other files.

    Args:
        results_dir: the results. Of a campaign that has not finished, the runs so far are reported, in its `so-far`.
        study_dir: the study's folder.
        out: another folder, or a file that ends in `.html`: then the page alone is written, without files beside it.
        module: the playground's module, `haltere.playground.module_of`, if the page is to run treatments itself.

    Raises:
        haltere.errors.InputError: if the folder holds no results, or the study's figures or claims cannot be read.
    """
    return written(results_dir, study_dir, out, module=module)[0]


def results_of(folder: Path) -> Results:
    """Return the results of a folder, or those so far if its campaign has not finished.

    Raises:
        haltere.errors.InputError: if it holds none.
    """
    found = None if read_manifest(folder) is not None else so_far(folder)
    return found or load(folder)


def written(
    results_dir: Path, study_dir: Path | None, out: Path | None = None, *, module: bytes | None = None
) -> tuple[Path, Findings]:
    """Do what `build` does; return the findings as well."""
    results = results_of(results_dir)
    if out is not None and out.suffix == PAGE_ALONE:
        with TemporaryDirectory() as scratch:
            page, found = _written(results, study_dir, Path(scratch), alone=True, module=module)
            out.parent.mkdir(parents=True, exist_ok=True)
            write_whole(out, page.read_bytes())
        return out, found
    folder = out or results.path
    folder.mkdir(parents=True, exist_ok=True)
    return _written(results, study_dir, folder, module=module)


def _written(
    results: Results, study_dir: Path | None, folder: Path, *, alone: bool = False, module: bytes | None = None
) -> tuple[Path, Findings]:
    if KIND in results.manifest:
        if module is not None:
            right = "a report without it: a comparison of measured paths has no runs"
            raise ArgumentError("is of measured paths, which no page can run", field="module", right=right)
        return evolution.build(results.path, study_dir, folder, alone=alone)[:2]
    if study_dir is None:
        raise InputError("is needed", field="study", right="the folder of the study that these results came from")
    findings, sheet = find(results, study_dir), judged(results, study_dir)
    if sheet is not None and not findings.answer:
        findings = replace(findings, answer=summary(sheet))
    figures = folder / "figures"
    before = {path for kind in ("svg", "pdf") for path in figures.glob(f"*.{kind}")}
    page, drawn = render(results, study_dir, figures, findings, sheet=sheet, alone=alone, module=module)
    for path in before - drawn:
        path.unlink()
    (folder / "verdicts.md").write_text(markdown(findings), encoding="utf-8")
    if not alone:
        (folder / explorer.PAGE).write_text(explorer.page(results), encoding="utf-8")
    out = folder / "report.html"
    out.write_text(page, encoding="utf-8")
    return out, findings
