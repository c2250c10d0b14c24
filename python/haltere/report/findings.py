"""What a study found: the short answer and the judged claims, for the page, a text beside it, and the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from haltere.figures.tables import Tables
from haltere.report import claims
from haltere.report.claims import MissingDataError, Verdict
from haltere.results import Results


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict."""

    claim: claims.Claim[Any]
    verdict: Verdict


@dataclass(frozen=True)
class Findings:
    """The answer's sentences and the claims, judged."""

    answer: Sequence[str]
    judged: Sequence[Judged]

    def tally(self) -> list[tuple[str, int]]:
        """How many claims have each outcome."""
        outcomes = [one.verdict.outcome for one in self.judged]
        return [(outcome.value, outcomes.count(outcome)) for outcome in claims.Outcome]


def find(results: Results, study_dir: Path) -> Findings:
    """Judge the claims of the study's `claims.py`.

    Raises:
        haltere.errors.InputError: if the claims cannot be read.
    """
    judge_list, answer = claims.load(study_dir / "claims.py")
    tables = tables_of(results)
    return Findings(_answer(answer, tables), [Judged(one, one.verdict(tables)) for one in judge_list])


def tables_of(results: Results) -> Tables:
    """The result tables with the factors of each experiment."""
    return Tables.of(results)


def markdown(findings: Findings) -> str:
    """The findings as Markdown, fit for a study's README."""
    lines = [*(f"- {sentence}" for sentence in findings.answer), ""]
    if findings.judged:
        lines += ["| claim | verdict | deciding numbers |", "|---|---|---|"]
    for number, one in enumerate(findings.judged, 1):
        evidence = "; ".join(f"{e.what}: {e.numbers}" for e in one.verdict.evidence) or one.verdict.reason
        cells = (f"{number}. {one.claim.sentence}", f"*{one.verdict.outcome.value}*", evidence)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines).strip() + "\n"


def _answer(answer: claims.Answer | None, tables: Tables) -> list[str]:
    if answer is None:
        return []
    try:
        return answer.sentences(tables)
    except MissingDataError as missing:
        return [f"These results do not suffice for an answer: {missing}."]
