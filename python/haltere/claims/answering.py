"""The answer of a study that has no function for it, written from the verdicts and the largest effect that is real."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from haltere.claims import Claim, Evidence, Outcome, Verdict

Judged = tuple[Claim[Any], Verdict]


def from_verdicts(judged: Sequence[Judged]) -> list[str]:
    """Return the answer in one or two sentences: of the confirmed claims, then of the contradicted, the largest effect.

    Without claims there are no sentences.
    """
    if not judged:
        return []
    sentences = []
    confirmed, contradicted = (_largest(judged, one) for one in (Outcome.CONFIRMED, Outcome.CONTRADICTED))
    if confirmed is not None:
        sentences.append(f"{_plain(confirmed[0])}{_because(confirmed[1], ': ')}.")
    if contradicted is not None:
        sentences.append(f"It is not so that “{_plain(contradicted[0])}”{_because(contradicted[1], ': ')}.")
    return sentences or [_nothing(judged)]


def _largest(judged: Sequence[Judged], outcome: Outcome) -> tuple[Claim[Any], Evidence | None] | None:
    """Return the claim of this outcome with the largest effect, and the part that shows it."""
    found = []
    for claim, verdict in judged:
        if verdict.outcome is outcome:
            parts = [one for one in verdict.evidence if one.outcome is outcome]
            found.append((claim, max(parts, key=lambda one: one.size, default=None)))
    return max(found, key=lambda one: one[1].size if one[1] else -1.0, default=None)


def _plain(claim: Claim[Any]) -> str:
    return claim.sentence.rstrip(".")


def _because(part: Evidence | None, before: str) -> str:
    if part is None:
        return ""
    held = f", held against: {part.bound}" if part.bound else ""
    return f"{before}{part.what} is {part.numbers}{held}"


def _nothing(judged: Sequence[Judged]) -> str:
    """Say that nothing is decided, and why the first claim is not."""
    reasons = [verdict.reason for _, verdict in judged if verdict.reason]
    why = f": {reasons[0].rstrip('.')}" if reasons else ": the intervals are too wide, more replications narrow them"
    return f"These runs decide none of the {len(judged)} claims{why}."
