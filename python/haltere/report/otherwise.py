"""The text beside a claim that tells under which changes its verdict would be another."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from haltere.when.results import Found


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
