"""The report of a study: one self-contained HTML file, and every figure as SVG and PDF beside it."""

from __future__ import annotations

from pathlib import Path

from haltere import explorer
from haltere.claims.findings import Findings, find, markdown
from haltere.errors import InputError
from haltere.evolution.results import KIND
from haltere.report import evolution
from haltere.report.page import render
from haltere.results import load

__all__ = ["build"]


def build(results_dir: Path, study_dir: Path | None) -> Path:
    """Write the report, `verdicts.md`, `explore.html` and `figures/` into a results folder; return the report's path.

    Figures of a former report that this one does not have are removed.

    The figures are those that `figures.toml` in the study's folder lists, the claims those of its `claims.py`; a study
    may have neither. The page loads nothing from a network or from other files.

    Raises:
        haltere.errors.InputError: if the folder holds no results, or the study's figures or claims cannot be read.
    """
    return written(results_dir, study_dir)[0]


def written(results_dir: Path, study_dir: Path | None) -> tuple[Path, Findings]:
    """Do what `build` does; return the findings as well."""
    results = load(results_dir)
    if KIND in results.manifest:
        return evolution.build(results_dir, study_dir)[:2]
    if study_dir is None:
        raise InputError("is needed", field="study", right="the folder of the study that these results came from")
    findings = find(results, study_dir)
    figures = results_dir / "figures"
    before = {path for kind in ("svg", "pdf") for path in figures.glob(f"*.{kind}")}
    page, drawn = render(results, study_dir, figures, findings)
    for path in before - drawn:
        path.unlink()
    (results_dir / "verdicts.md").write_text(markdown(findings), encoding="utf-8")
    explorer.write(results_dir)
    out = results_dir / "report.html"
    out.write_text(page, encoding="utf-8")
    return out, findings
