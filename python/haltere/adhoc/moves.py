"""Changes of a client's addresses as text: `TIME` and a second word."""

from __future__ import annotations

from typing import Any

from haltere.errors import ArgumentError, as_written

WORDS = {"migrate": "path", "rebind": "new"}
"""Conditions that happen at times, and what their second word says."""


def parse(field: str, text: str) -> dict[str, Any]:
    """Return the entry of a flow for a change of the client's addresses, given as `TIME` or `TIME:WORD`."""
    at, colon, word = (part.strip() for part in text.partition(":"))
    right = "TIME:PATH, such as 2s:1" if field == "migrate" else "TIME or TIME:address, such as 2s"
    key = WORDS[field]
    number = key == "path"
    if not at or (number and not word.isdecimal()) or (colon and not word):
        raise ArgumentError("is not such a change", field=field, given=as_written(text), right=right)
    entry: dict[str, Any] = {"at": at}
    if word:
        entry[key] = int(word) if number else word
    return entry
