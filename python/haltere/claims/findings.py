"""The findings of a study: the short answer and the judged claims, for the page, a text beside it, and the terminal."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

from haltere import claims
from haltere.claims import Evidence, Verdict
from haltere.claims.answering import from_verdicts
from haltere.claims.code import Code
from haltere.claims.loading import load
from haltere.metrics.levels import known_levels
from haltere.metrics.tables import Tables
from haltere.results import Results

LEADING = 3
"""Numbers of a claim that are not folded away."""


class _Decides(Protocol):
    """A number of a claim that may decide something."""

    @property
    def outcome(self) -> str | None: ...


Part = TypeVar("Part", bound=_Decides)


def leading(parts: Iterable[Part], outcome: str) -> list[Part]:
    """Return the numbers of a claim that a table shows: at most three, first those that decide as its verdict does."""
    deciding = [one for one in parts if one.outcome is not None]
    return sorted(deciding, key=lambda one: one.outcome != outcome)[:LEADING]


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict."""

    claim: claims.Claim[Any]
    verdict: Verdict
    experiments: Sequence[str] = ()
    """The experiments of the study that it looked at."""

    @property
    def leading(self) -> list[Evidence]:
        """The numbers that a table shows at once: at most three, first those that decide as the verdict does."""
        return leading(self.verdict.evidence, self.verdict.outcome)

    @property
    def others(self) -> list[Evidence]:
        """All other numbers, in their order."""
        leading = self.leading
        return [one for one in self.verdict.evidence if not any(one is other for other in leading)]


@dataclass(frozen=True)
class Findings:
    """The answer's sentences and the claims, judged."""

    answer: Sequence[str]
    judged: Sequence[Judged]
    broken_answer: str | None = None
    """Where and how the code of the answer failed, if it did."""

    def tally(self) -> list[tuple[str, int]]:
        """How many claims have each outcome; broken ones only if there are some."""
        outcomes = [one.verdict.outcome for one in self.judged]
        counts = [(outcome.value, outcomes.count(outcome)) for outcome in claims.Outcome]
        return [(name, count) for name, count in counts if count or name != claims.Outcome.BROKEN]

    def broken(self) -> list[str]:
        """Failures in the code of the study's claims, a line each."""
        reasons = [one.verdict.reason for one in self.judged if one.verdict.outcome is claims.Outcome.BROKEN]
        return [*([self.broken_answer] if self.broken_answer else []), *reasons]


def find(results: Results, study_dir: Path) -> Findings:
    """Judge the claims of the study in a folder by its results.

    Raises:
        haltere.errors.InputError: if the claims cannot be read.
    """
    found = judged(study_dir, tables_of(results, study_dir))
    if found.answer or found.broken_answer:
        return found
    return replace(found, answer=from_verdicts([(one.claim, one.verdict) for one in found.judged]))


def judged(study_dir: Path, found: Any) -> Findings:
    """Judge the claims of a study by what was found, such as tables or two periods; answer as it does, if it does.

    Raises:
        haltere.errors.InputError: if the claims cannot be read.
    """
    contents, code = load(study_dir), Code.of(study_dir)
    sentences, broken = list[str](), None
    if contents.answer is not None:
        try:
            sentences = claims.answered(contents.answer, found, code)
        except claims.BrokenCodeError as failure:
            broken = f"{failure}."
    return Findings(sentences, [_judged(one, found, code) for one in contents.claims], broken)


def _judged(one: claims.Claim[Any], found: Any, code: Code) -> Judged:
    if not isinstance(found, Tables):
        return Judged(one, claims.judge(one, found, code))
    asked: dict[str, None] = {}
    verdict = claims.judge(one, replace(found, asked=asked), code)
    return Judged(one, verdict, [name for name in asked if name in found.factors])


def tables_of(results: Results, study_dir: Path | None = None) -> Tables:
    """The result tables with the factors of each experiment, and the names that the study has.

    These are those of the study as it was run and as it is now, so that neither old results nor a claim that has been
    written for the next run are refused.
    """
    texts = [str(results.manifest.get("study_text", ""))]
    with contextlib.suppress(OSError, UnicodeDecodeError):
        if study_dir is not None:
            texts.append((study_dir / "study.toml").read_text(encoding="utf-8"))
    return replace(Tables.of(results), known=known_levels(texts))


def markdown(findings: Findings) -> str:
    """The findings as Markdown, fit for a study's README."""
    lines = [*(f"- {sentence}" for sentence in findings.answer), ""]
    if findings.judged:
        lines += ["| claim | verdict | deciding numbers |", "|---|---|---|"]
    for number, one in enumerate(findings.judged, 1):
        evidence = "; ".join(f"{e.what}: {e.said}" for e in one.verdict.evidence) or one.verdict.reason
        cells = (f"{number}. {one.claim.sentence}", f"*{one.verdict.outcome.value}*", evidence)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines).strip() + "\n"
