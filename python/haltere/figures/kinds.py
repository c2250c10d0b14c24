"""All kinds of figures, and `figures.toml`, which lists those of a study."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError, create_model
from pydantic_core import ErrorDetails

from haltere.documents import Document, follow, join, steps
from haltere.errors import InputError, among, as_written, in_words, nearest
from haltere.figures.bars import Bars
from haltere.figures.boxes import Boxes
from haltere.figures.choices import Choices
from haltere.figures.heatmaps import Heatmaps
from haltere.figures.lines import Cdfs, Lines, Scatters
from haltere.figures.overviews import Overview
from haltere.figures.points import Points
from haltere.figures.rankings import Rankings
from haltere.figures.ratios import Ratios
from haltere.figures.spec import FigureList, Kind
from haltere.figures.timeline import Timeline
from haltere.figures.violins import Violins
from haltere.metrics import METRICS
from haltere.metrics.levels import Known
from haltere.metrics.tables import UnknownNameError, check_names

KINDS: list[type[Kind]] = [
    Overview, Timeline, Points, Choices, Lines, Ratios, Rankings, Cdfs, Violins, Scatters, Heatmaps, Boxes, Bars,
]  # fmt: skip
"""In the order of a report. `register` adds to them."""


def register(kind: type[Kind]) -> type[Kind]:
    """Add a kind of figure: to `figures.toml`, reports, and the functions of `haltere.figures`.

    Raises:
        ValueError: if there is a kind whose list or function has this name.
    """
    own = kind.description
    for one in KINDS:
        if own.list == one.description.list or own.function == one.description.function:
            raise ValueError(f"{one.__name__} has this name already: {own.list}, {own.function}")
    KINDS.append(kind)
    return kind


def model() -> type[FigureList]:
    """The model of a whole `figures.toml`: a list for each kind that is known now."""
    lists: dict[str, Any] = {one.description.list: (tuple[one, ...], ()) for one in KINDS}  # type: ignore[valid-type]
    return create_model("FigureList", __base__=FigureList, __doc__="The whole of a `figures.toml`.", **lists)


def read(path: Path) -> FigureList:
    """Read a `figures.toml`; a study without one shows no figures.

    Raises `haltere.errors.InputError`, which names file, line and field, for a file that is not TOML, has unknown or
    missing fields, gives two figures the same name, or names a metric that is not there.
    """
    if not path.exists():
        return model()()
    document = Document.read(path)
    try:
        figures = model().model_validate(document.data)
    except ValidationError as error:
        raise refusal(document, error.errors(), model()) from None
    seen: set[str] = set()
    for kind, members in figures.lists().items():
        for index, figure in enumerate(members):
            place = f"{kind}[{index}]"
            if figure.name in seen:
                right = "a name of its own: its files are called after it"
                raise _refused(document, f"{place}.name", "two figures have this name", right)
            seen.add(figure.name)
            for name, problem, right in unknown_metrics(figure, figures):
                raise _refused(document, f"{place}.{name}", problem, right)
    if figures.main is not None and figures.main not in seen:
        raise _refused(document, "main", "there is no such figure", among(figures.main, sorted(seen)))
    return figures


def unknown_metrics(figure: Kind, words: FigureList) -> list[tuple[str, str, str]]:
    """The fields that name neither a metric nor an own column: each with what is wrong, and what would be right."""
    known = [*METRICS, *words.columns]
    right = f"one of {', '.join(known)}; or a column of [columns]"
    return [(name, "there is no such metric", right) for name in figure.metrics if getattr(figure, name) not in known]


def check(path: Path, figures: FigureList, known: Known) -> None:
    """Raise `InputError`, with the line in the file, for the first name that the study does not have."""
    for kind, members in figures.lists().items():
        for index, figure in enumerate(members):
            for name, factor, levels in (("experiment", "", ()), *figure.named()):
                try:
                    check_names(known, figure.experiment, {factor: levels} if factor else {})
                except UnknownNameError as unknown:
                    field, note = f"{kind}[{index}].{name}", f"in the figure {figure.name}"
                    raise _refused(Document.read(path), field, str(unknown), None, note) from None


def _refused(document: Document, field: str, problem: str, right: str | None, *notes: str) -> InputError:
    value = follow(document.data, steps(field))
    given = None if value is None else as_written(value)
    return InputError(problem, place=document.place(field), field=field, given=given, right=right, notes=notes)


def problem_of(fault: ErrorDetails, model: type[BaseModel]) -> tuple[str, str | None]:
    """Say what is wrong with a field of a description of figures, and what would be right."""
    path = list(fault["loc"])
    if fault["type"] == "missing":
        return "is missing", None
    if fault["type"] == "extra_forbidden":
        known = list(_model_at(model, path[:-1]).model_fields)
        return "there is no such field", nearest(str(path[-1]), known) or ", ".join(known)
    if fault["type"] == "tuple_type" and len(path) == 1:
        return in_words(fault), f"a list: its heading stands in double brackets, [[{path[0]}]]"
    if fault["type"] == "string_pattern_mismatch":
        is_name = path[-1] == "name"
        return in_words(fault), "a name of small letters, digits, - and ." if is_name else "letters, digits and spaces"
    problem, _, right = in_words(fault).partition("|")
    return problem, right or None


def _model_at(model: type[BaseModel], path: list[str | int]) -> type[BaseModel]:
    """The model of the table at a path."""
    for part in path:
        annotation = model.model_fields[part].annotation if part in model.model_fields else None
        inside = [annotation, *get_args(annotation)]
        model = next((one for one in inside if isinstance(one, type) and issubclass(one, BaseModel)), model)
    return model


def refusal(document: Document, faults: list[ErrorDetails], fits: type[BaseModel]) -> InputError:
    """The error for a file that does not fit a model: its first fault, with the line."""
    # A field that is missing may be there under a wrong name, which says more.
    fault, others = min(faults, key=lambda one: one["type"] == "missing"), len(faults) - 1
    field = join(list(fault["loc"]))
    problem, right = problem_of(fault, fits)
    notes = (f"{others} more field{'s are' if others > 1 else ' is'} wrong after this one",) if others else ()
    return InputError(
        problem,
        place=document.place(field),
        field=field,
        given=None if fault["type"] == "missing" else as_written(fault["input"]),
        right=right,
        notes=notes,
    )
