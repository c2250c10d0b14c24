"""Errors that a user can correct: each names the place and the field, what was given and what would be right."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

_NAME = re.compile(r"`(\w+)`")


class HaltereError(Exception):
    """The base class of every error that this package raises on purpose. `str(error)` is one readable block."""

    def _render_traceback_(self) -> list[str]:
        """The lines that IPython shows in the place of a traceback."""
        return f"{type(self).__name__}: {self}".splitlines()


@dataclass(frozen=True)
class Place:
    """A position in a file. Lines and columns count from 1."""

    file: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        return ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)


class InputError(HaltereError):
    """Something given by the user that cannot be used.

    Args:
        problem: what is wrong, in one sentence.
        place: file, line and column, if it stands in a file.
        field: the path of the field, like `experiments.base.factors.rate[1]`, or the name of an option.
        given: what was given, as the user would write it.
        right: what would be right.
        notes: further lines, such as the treatment in which it shows.
    """

    def __init__(
        self,
        problem: str,
        *,
        place: Place | None = None,
        field: str | None = None,
        given: str | None = None,
        right: str | None = None,
        notes: tuple[str, ...] = (),
    ) -> None:
        self.problem, self.place, self.field = problem, place, field
        self.given, self.right, self.notes = given, right, notes
        head = ": ".join(str(part) for part in (place, field, problem) if part)
        lines = [head]
        if given is not None:
            lines.append(f"  given: {given}")
        if right is not None:
            lines.append(f"  right: {right}")
        lines += [f"  {note}" for note in notes]
        super().__init__("\n".join(lines))


class ArgumentError(InputError):
    """An argument that cannot be used: `field` is its name, and names of arguments in sentences stand in backquotes.

    The command line shows the options that give them.
    """

    def shown(self, option: Callable[[str], str | None]) -> str:
        """Return the error with the names that `option` has for arguments."""
        head, colon, key = (self.field or "").partition(": ")
        names = ", ".join(option(name) or name for name in head.split(", "))

        def told(name: re.Match[str]) -> str:
            return (name[1].replace("_", "-") if colon else option(name[1])) or name[0]

        field = f"{names}: {key.replace('_', '-')}" if colon else names
        right = self.right and _NAME.sub(told, self.right)
        return str(
            InputError(
                _NAME.sub(told, self.problem),
                place=self.place,
                field=field or None,
                given=self.given,
                right=right,
                notes=self.notes,
            )
        )


class Interrupted(HaltereError):
    """A campaign that was stopped on request (Ctrl-C) after writing every finished run."""


def as_written(value: Any) -> str:
    """Return a value as a user would write it in TOML, shortened to one line."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 120 else text[:117] + "..."


def refuse_below(least: int, **numbers: int | None) -> None:
    """Raise `ArgumentError` if one of some numbers, each called as its argument, is given and less than that."""
    for name, number in numbers.items():
        if number is not None and number < least:
            problem = f"is not a number of {name}" if least else "is negative"
            raise ArgumentError(problem, field=name, given=as_written(number), right=f"a whole number from {least}")


def nearest(name: str, known: Collection[str]) -> str | None:
    """Return the known name that a name was probably meant to be."""
    return next(iter(difflib.get_close_matches(name, known, 1)), None)


def among(name: str, known: Collection[str]) -> str:
    """Return what would be right in the place of an unknown name: the nearest of the known ones, and all of them."""
    near = nearest(name, known)
    return f"{', '.join(known)}" + (f"; did you mean {near}?" if near else "")


def grouped(number: int) -> str:
    """Return a whole number with a thin space between thousands; one of four digits, which may be a year, without."""
    return f"{number:,}".replace(",", "\u202f") if abs(number) >= 10_000 else str(number)


def counted(number: int, thing: str) -> str:
    """Return a number of things: `1 run`, `3 runs`."""
    return f"{grouped(number)} {thing}" + ("" if number == 1 else "s")


_SAID = {
    "bool_type": "is neither true nor false",
    "bool_parsing": "is neither true nor false",
    "dict_type": "is not a table",
    "int_type": "is not a whole number",
    "list_type": "is not a list",
    "model_attributes_type": "is not a table",
    "model_type": "is not a table",
    "string_pattern_mismatch": "has characters that it cannot have",
    "string_type": "is not a text",
    "too_short": "is empty",
    "tuple_type": "is not a list",
}


def in_words(fault: Mapping[str, Any]) -> str:
    """Return what pydantic says of a wrong field in the words of the file's author: a table, not a dictionary."""
    said = str(fault["msg"]).removeprefix("Value error, ")
    return _SAID.get(fault["type"]) or (said[0].lower() + said[1:]).removeprefix("input ")


_UNKNOWN = re.compile(r"unknown (?:field|variant) `([^`]*)`, expected (?:one of )?(`.*)")
_MISSING = re.compile(r"missing field `([^`]*)`")
_TYPE = re.compile(r"invalid (?:type|value): (.*), expected (.*)", re.DOTALL)
_SCALAR = re.compile(r"(?:integer|floating point|boolean) `([^`]*)`|string (\".*\")", re.DOTALL)
_EXPECTED = (
    (re.compile(r"u\d+|usize"), "a whole number from 0"),
    (re.compile(r"i\d+|isize"), "a whole number"),
    (re.compile(r"f\d+"), "a number"),
    (re.compile(r"bool|a boolean"), "true or false"),
    (re.compile(r"a string"), "a text in quotes"),
    (re.compile(r"struct \w+|a map"), "a table"),
    (re.compile(r"a sequence|tuple .*"), "a list"),
)


def of_types(problem: str) -> str:
    """Return a problem of the core with a value of a wrong type in the words of the file's author."""
    found = _TYPE.fullmatch(problem)
    if found is None:
        return problem
    given, expected = found[1], found[2]
    scalar = _SCALAR.fullmatch(given)
    given = scalar[1] or scalar[2] if scalar else {"map": "a table", "sequence": "a list"}.get(given, given)
    expected = next((words for pattern, words in _EXPECTED if pattern.fullmatch(expected)), expected)
    return f"{given} is not {expected}"


def hint(problem: str) -> str | None:
    """Return the nearest of the fields that a problem of the core lists, or how what it wants is written."""
    if problem == "a table is not a list":
        return "a list: its heading stands in double brackets, as [[flows]] does"
    missing = _MISSING.fullmatch(problem)
    if missing:
        return f"a line {missing[1]} = ... in this table, or a table of this name (see `haltere schema`)"
    found = _UNKNOWN.fullmatch(problem)
    return nearest(found[1], re.findall(r"`([^`]*)`", found[2])) if found else None
