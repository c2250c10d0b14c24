"""Spellings of former versions: each is refused, and the new one is named."""

from __future__ import annotations

from collections.abc import Sequence

from haltere.errors import InputError

MOVED: dict[tuple[str, ...], str] = {
    ("trace", "--shadow"): "haltere shadow WHAT --control CONTROL",
    ("trace", "--first-difference"): "haltere first-difference CONTENDER --against CONTENDER",
    ("validate", "--first-difference"): "haltere first-difference CONTENDER",
    ("explain", "--study"): "haltere map STUDY CONTENDER CONTENDER, or haltere why STUDY for its tables [[why]]",
    ("paths", "nodes"): "haltere paths topology LAKE --of nodes",
    ("paths", "links"): "haltere paths topology LAKE --of links",
}
"""The words of a command and an option of it, or the words alone; and the line that takes their place."""


def refuse(words: Sequence[str]) -> None:
    """Refuse a line that is spelt as in a former version; raise `InputError` with the new spelling."""
    for (first, second), now in MOVED.items():
        if words[:1] != [first]:
            continue
        if words[1:2] == [second] or (second.startswith("--") and any(_is(word, second) for word in words)):
            raise InputError("is spelt otherwise now", field=f"haltere {first} {second}", right=now)


def _is(word: str, option: str) -> bool:
    return word == option or word.startswith(f"{option}=")
