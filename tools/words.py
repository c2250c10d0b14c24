"""Refuses doc comments and paragraphs of pages that open with a pronoun in the place of the thing they describe.

`python tools/words.py` looks at all files of the repository, `python tools/words.py FILE…` at some. A comment that
opens with "What", "Those" or "The same" sends its reader elsewhere to learn what is spoken of. Questions are fine.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

OPENING = re.compile(r"(What|Whose|Of what|Those|That of|The same|It is none)\b")
"""The openings that are refused."""
QUESTION = re.compile(r"[^.:;!?]*\?")
"""A first sentence that asks."""
FENCE = ("```", "~~~")
ITEM = re.compile(r"\s*([-*+]|\d+\.)\s+")
"""The mark of a list's item."""


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of prose, and its line, counted from 1."""

    line: int
    text: str


def refused(text: str) -> bool:
    """Whether a paragraph opens with one of the words that are refused, and is no question."""
    return OPENING.match(text) is not None and QUESTION.match(text) is None


def paragraphs(lines: list[tuple[int, str]]) -> Iterator[Paragraph]:
    """Paragraphs of numbered lines. Empty lines and items of lists part them; fenced code is left out."""
    fenced, text, first = False, "", 0
    for number, line in [*lines, (0, "")]:
        bare = ITEM.sub("", line).strip()
        fence = bare.startswith(FENCE)
        heading = bare.startswith("#")
        if not bare or heading or fence or fenced or ITEM.match(line):
            if text:
                yield Paragraph(first, text)
            text = ""
        fenced ^= fence
        if not (heading or fence or fenced):
            first, text = (first, f"{text} {bare}") if text else (number, bare)


def rust(source: str) -> Iterator[Paragraph]:
    """Paragraphs of the doc comments of a Rust file."""
    block: list[tuple[int, str]] = []
    for number, line in enumerate([*source.splitlines(), ""], 1):
        doc = re.match(r"\s*//[/!](?!/)(.*)", line)
        if doc:
            block.append((number, doc[1]))
        elif block:
            yield from paragraphs(block)
            block = []


def python(source: str) -> Iterator[Paragraph]:
    """Paragraphs of the docstrings of a Python file: of modules, classes, functions and names."""
    for node in ast.walk(ast.parse(source)):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else ():
            match statement:
                case ast.Expr(value=ast.Constant(value=str(text), lineno=line)):
                    yield from paragraphs(list(enumerate(text.splitlines(), line)))


def page(source: str) -> Iterator[Paragraph]:
    """Paragraphs of a Markdown page."""
    yield from paragraphs(list(enumerate(source.splitlines(), 1)))


READERS = {".rs": rust, ".py": python, ".md": page}


def files(root: Path) -> Iterator[Path]:
    """The files under version control that have prose in them."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        path = root / name
        if path.suffix in READERS and path.is_file():
            yield path


def faults(path: Path) -> Iterator[str]:
    """The refused paragraphs of a file, each with its place."""
    for paragraph in READERS[path.suffix](path.read_text(encoding="utf-8")):
        if refused(paragraph.text):
            place = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
            yield f"{place}:{paragraph.line}: name the thing that is spoken of: {paragraph.text[:70]}"


def main() -> int:
    """Print all faults; the exit code is 1 if there are any."""
    named = [Path(argument).resolve() for argument in sys.argv[1:]]
    found = [fault for path in named or files(ROOT) for fault in faults(path)]
    sys.stdout.writelines(f"{fault}\n" for fault in found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
