"""Verdicts of `haltere compare` in words: who is ahead, whether that is real, and what would be needed to tell."""

from __future__ import annotations

from collections.abc import Sequence

from haltere.cli import show
from haltere.stats import Lead


def verdicts(names: Sequence[str], first: int, leads: Sequence[Lead], alike: float, what: str, of: str) -> list[str]:
    """Return a headline about the first, and a line about each of the others.

    Args:
        names: the contenders.
        first: the place of the one that was picked as the first.
        leads: how it stands against the others.
        alike: the margin within which two are alike.
        what: what it has, such as `the lowest median time`.
        of: what the ratios are of, such as `time`.
    """
    if all(lead.ahead for lead in leads):
        head = f"{names[first]} wins: it has {what}, and is ahead of every other"
    elif any(lead.ahead for lead in leads):
        head = f"{names[first]} has {what}, but is not shown to be ahead of every other"
    elif all(lead.stands == "alike" for lead in leads):
        head = f"no winner: all are within {100 * alike:g} % of {names[first]}, which has {what}"
    else:
        head = f"no winner is shown; {names[first]} has {what}"
    ratio = [show.interval(lead.ratio, digits=3) for lead in leads]
    lines = [
        f"  {text} of {names[lead.other]}'s {of}: {judged(lead, alike)}"
        for text, lead in zip(ratio, leads, strict=True)
    ]
    return [f"{head}:", *lines]


def judged(lead: Lead, alike: float) -> str:
    """Return whether a lead is real, with its test, or how many replications could tell."""
    tested = f"paired over {lead.n} replications, {_p(lead)}"
    if lead.n == 1:
        return f"one replication cannot tell; {lead.needed} could"
    if lead.stands == "alike":
        return f"alike, as the margin is {100 * alike:g} %" + (
            "; the same in every replication" if lead.exact else f" ({tested})"
        )
    if lead.exact:
        return "exact, as nothing random happened and every replication was the same"
    if lead.ahead:
        return f"a real difference ({tested})"
    if lead.needed is not None:
        return f"undecided: {lead.n} replications cannot tell, {lead.needed} could ({tested})"
    return f"not shown to be a real difference ({tested})"


def _p(lead: Lead) -> str:
    p = f"p = {show.number(lead.p or 0.0, 2)}"
    return p if lead.pairs == 1 else f"{p} corrected for all {lead.pairs} pairs"
