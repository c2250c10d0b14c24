"""The interface of code of users, as a page: the structures and constants of `haltere.h` with their comments."""

from __future__ import annotations

import re
from collections.abc import Iterator

from haltere.plugins.by_numba import HEADER

_COMMENT = r"/\*\*\n(?P<said>(?:\s*\*[^/\n]*\n)+)\s*\*/\n"


def markdown() -> str:
    """Return the sections of the page."""
    text = HEADER.read_text(encoding="utf-8")
    return "\n".join([*_structures(text), *_constants(text)])


def _said(comment: str) -> str:
    lines = (line.strip().removeprefix("*").strip() for line in comment.splitlines())
    return " ".join(filter(None, lines)).replace("<", "&lt;")


def _structures(text: str) -> Iterator[str]:
    for found in re.finditer(_COMMENT + r"typedef struct \{(?P<fields>[^}]*)\} (?P<name>\w+);", text):
        yield f"## `{found['name']}`\n\n{_said(found['said'])}\n"
        yield "| field | type | meaning |\n|---|---|---|"
        for field in re.finditer(_COMMENT.replace("said", "about") + r"\s*(?P<line>[^;]*);", "\n" + found["fields"]):
            kind, name = _declared(field["line"])
            yield f"| `{name}` | {kind} | {_said(field['about'])} |"
        yield ""


def _declared(line: str) -> tuple[str, str]:
    """Return the type and the name of a field."""
    line = " ".join(line.split())
    if called := re.fullmatch(r".*\(\*(\w+)\)\(.*\)", line):
        return "function", called[1]
    kind, _, name = line.rpartition(" ")
    stars = len(name) - len(name.lstrip("*"))
    return f"`{kind}{' *' if stars else ''}`", name.lstrip("*")


def _constants(text: str) -> Iterator[str]:
    yield "## Constants\n\n| constant | value | meaning |\n|---|---|---|"
    for found in re.finditer(_COMMENT + r"#define (?P<name>\w+) (?P<value>\S+)", text):
        yield f"| `{found['name']}` | `{found['value']}` | {_said(found['said'])} |"
