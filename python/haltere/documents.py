"""TOML files with the position of each value, so that an error can point at it."""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from haltere import core
from haltere.errors import InputError, Place

_POSITION = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$")
_TWICE = re.compile(r"Cannot declare \((.*)\) twice")
_CURLED = re.compile("[\u2018-\u201f\u00ab\u00bb]")
_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")


def steps(path: str) -> list[str | int]:
    """Split `flows[0].contender` into `["flows", 0, "contender"]`."""
    return [int(index) if index else key for index, key in _STEP.findall(path)]


def join(parts: list[str | int]) -> str:
    """The inverse of `steps`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts).removeprefix(".")


def follow(value: Any, parts: list[str | int]) -> Any:
    """Return the value at a path inside nested tables and lists, or None if there is none."""
    for part in parts:
        nested = isinstance(value, dict | list)
        try:
            value = value[part] if nested else None
        except (KeyError, IndexError, TypeError):
            return None
    return value


@dataclass(frozen=True)
class Document:
    """A parsed TOML text with its name."""

    name: str
    text: str
    data: dict[str, Any]

    @classmethod
    def read(cls, path: Path) -> Document:
        """Read and parse a file; raise `InputError` if it cannot be read or is not TOML."""
        name = shown(path)
        try:
            raw = path.read_bytes()
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", place=Place(name)) from None
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            line = raw.count(b"\n", 0, error.start) + 1
            column = error.start - raw.rfind(b"\n", 0, error.start)
            raise InputError(
                "is not UTF-8 text",
                place=Place(name, line, column),
                given=f"the byte 0x{raw[error.start]:02x}",
                right="a TOML file in UTF-8",
            ) from None
        return cls.parse(name, text)

    @classmethod
    def parse(cls, name: str, text: str) -> Document:
        """Parse a TOML text; a byte-order mark, as some editors write it, is no part of it.

        Raises:
            InputError: if it is not TOML.
        """
        text = text.removeprefix("\ufeff")
        try:
            return cls(name, text, tomllib.loads(text))
        except tomllib.TOMLDecodeError as error:
            found = _POSITION.search(str(error))
            line, column = (int(found[1]), int(found[2])) if found and found[1] else (text.count("\n") + 1, 1)
            problem = _TWICE.sub(_twice, _POSITION.sub("", str(error)))
            given = (text.splitlines() or [""])[min(line, len(text.splitlines()) or 1) - 1].strip()
            raise InputError(
                f"is not TOML: {problem}",
                place=Place(name, line, column),
                given=given or "the end of the file",
                right='straight quotes: "..."' if _CURLED.search(given) else None,
            ) from None
        except RecursionError:
            raise InputError("is nested too deeply", place=Place(name)) from None

    def place(self, path: str) -> Place:
        """Return where the value at `path` stands, or its nearest parent."""
        line, column = core.locate(self.text, path)
        if (line, column) == (1, 1):
            return Place(self.name, *self._sought(path))
        return Place(self.name, line, column)

    def _sought(self, path: str) -> tuple[int, int]:
        """The only line that sets a key of this name: the core cannot place what is in a file with huge numbers."""
        names = [part for part in steps(path) if isinstance(part, str)]
        found = list(re.finditer(rf"^\s*{re.escape(names[-1])}\s*=\s*", self.text, re.M)) if names else []
        if len(found) != 1:
            return 1, 1
        end = found[0].end()
        return self.text.count("\n", 0, end) + 1, end - self.text.rfind("\n", 0, end)


def _twice(found: re.Match[str]) -> str:
    names = ".".join(part.strip().strip("'\"") for part in found[1].split(",") if part.strip())
    return f"there is a table [{names}] before this one"


def shown(path: Path) -> str:
    """Return a path as a user would type it: relative to the working directory where it lies below it."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative
