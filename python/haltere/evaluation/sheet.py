"""A study's `sheet.toml`: what each section of a document asks, and by which numbers of the study it is judged."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from haltere.documents import Document, join, shown
from haltere.errors import ArgumentError, InputError, Place, as_written, in_words, nearest
from haltere.figures import kinds
from haltere.metrics import METRICS

FILE = "sheet.toml"


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Part(_Table):
    """One thing that a row is judged by: a metric of an experiment, for each level of the factors `by` for itself.

    `margin` is how much worse still counts as no worse: a share of a ratio, or a difference in the metric's unit.
    `instead` has experiments with somebody else in the newcomer's place, by the words for them. Their factors are those
    of `experiment` but for the sheet's. From `nobody` the harm is told.
    """

    experiment: str
    metric: str
    flow: str | None = None
    margin: Annotated[float, Field(gt=0)]
    by: tuple[str, ...] = ()
    instead: dict[str, str] = {}


class Row(_Table):
    """`[[rows]]`: a section, what it asks and how strongly, and what it is judged by, or why it is not."""

    section: str
    title: str
    strength: str
    demand: str
    note: str = ""
    parts: tuple[Part, ...] = ()
    missing: str = ""
    judgement: str = ""


class Sheet(_Table):
    """All rows, and the factor whose first level is the newcomer and whose others it is held against."""

    factor: str
    rows: tuple[Row, ...]

    def of_sections(self, sections: Collection[str]) -> Sheet:
        """Return the rows of some sections; a section stands for those below it.

        Raises:
            ArgumentError: if there is no such section.
        """
        known = [number for row in self.rows for number in row.section.split(", ")]
        for one in sections:
            if not any(_below(number, one) for number in known):
                message, right = "the sheet has no such section", ", ".join(dict.fromkeys(known))
                raise ArgumentError(message, field="sections", given=as_written(one), right=right)
        kept = [row for row in self.rows if any(_below(n, one) for n in row.section.split(", ") for one in sections)]
        return self.model_copy(update={"rows": tuple(kept)})

    @property
    def compared(self) -> list[str]:
        """The experiments in which the newcomer stands."""
        return list(dict.fromkeys(part.experiment for row in self.rows for part in row.parts))

    @property
    def experiments(self) -> list[str]:
        """The experiments in which the newcomer stands, and those that say what is there without it."""
        return self.without(())

    def without(self, left_out: Collection[str]) -> list[str]:
        """Return all experiments but those that are left out, and those that belong to these alone."""
        parts = [part for row in self.rows for part in row.parts if part.experiment not in left_out]
        return list(dict.fromkeys(name for part in parts for name in (part.experiment, *part.instead.values())))


def _below(section: str, of: str) -> bool:
    return f"{section}.".startswith(f"{of}.")


def read(folder: Path) -> Sheet | None:
    """Return the sheet of the study in a folder; None if it has none.

    Its metrics are those of all studies and the columns of the study's `figures.toml`.

    Raises:
        InputError: if it cannot be read.
    """
    file = folder / FILE
    if not file.exists():
        return None
    document, words = Document.read(file), kinds.read(folder / "figures.toml")
    try:
        sheet = Sheet.model_validate(document.data)
    except ValidationError as errors:
        first = errors.errors()[0]
        raise _error(document, list(first["loc"]), in_words(dict(first))) from None
    for number, row in enumerate(sheet.rows):
        for place, part in enumerate(row.parts):
            if part.metric not in METRICS and part.metric not in words.columns:
                known = [*words.columns, *METRICS]
                right = nearest(part.metric, known) or ", ".join(known)
                raise _error(document, ["rows", number, "parts", place, "metric"], "there is no such metric", right)
    return sheet


def required(folder: Path) -> Sheet:
    """Return the sheet of a study that must have one.

    Raises:
        InputError: if it has none, or it cannot be read.
    """
    sheet = read(folder)
    if sheet is None:
        raise InputError("has no sheet", place=Place(shown(folder)), right=f"a file {FILE}")
    return sheet


def _error(document: Document, path: list[Any], problem: str, right: str | None = None) -> InputError:
    field = join(path)
    value: Any = document.data
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            value = None
            break
    given = None if value is None or isinstance(value, dict) else as_written(value)
    return InputError(problem, place=document.place(field), field=field, given=given, right=right)
