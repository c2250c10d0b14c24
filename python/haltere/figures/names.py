"""Checks that the figures of a `figures.toml` name experiments, factors and levels that the study has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from haltere.documents import Document, follow, steps
from haltere.errors import InputError, as_written
from haltere.figures import spec
from haltere.metrics.levels import Known
from haltere.metrics.tables import UnknownNameError, check_names

Named = tuple[str, str, tuple[str, ...]]
"""A field of a figure, the factor it is about, and the levels that it names there."""


def check(path: Path, figures: spec.FigureList, known: Known) -> None:
    """Raise `InputError`, with the line in the file, for the first name that the study does not have."""
    own = ("style", "factors", "columns")
    kinds = {name: getattr(figures, name) for name in type(figures).model_fields if name not in own}
    for kind, members in kinds.items():
        for index, figure in enumerate(members):
            for field, factor, levels in _named(figure):
                try:
                    check_names(known, figure.experiment, {factor: levels} if factor else {})
                except UnknownNameError as unknown:
                    raise _refused(path, f"{kind}[{index}]", figure, field, str(unknown)) from None


def _refused(path: Path, place: str, figure: spec.Bars, field: str, problem: str) -> InputError:
    document = Document.read(path)
    where = f"{place}.{field}"
    value = follow(document.data, steps(where))
    return InputError(
        problem,
        place=document.place(where),
        field=where,
        given=None if value is None else as_written(value),
        notes=(f"in the figure {figure.name}",),
    )


def _named(figure: object) -> Iterator[Named]:
    yield "experiment", "", ()
    for field in ("x", "y", "series", "label", "factor", "panels", "rows", "columns"):
        named = getattr(figure, field, ())
        for factor in (named,) if isinstance(named, str) else named:
            if factor:
                yield field, factor, ()
    for factor, level in getattr(figure, "where", {}).items():
        yield f"where.{factor}", factor, (level,) if isinstance(level, str) else tuple(level)
    yield from _levels(figure)


def _levels(figure: object) -> Iterator[Named]:
    if isinstance(figure, spec.Overview):
        yield "of", figure.factor, (figure.of,)
        yield "to", figure.factor, (figure.to,)
    elif isinstance(figure, spec.Choices):
        yield "against", figure.factor, (figure.against,)
        yield "only", figure.factor, figure.only
    elif isinstance(figure, spec.Bars | spec.Boxes):
        yield "only", figure.series, figure.only
    elif isinstance(figure, spec.Points):
        named = {f"against.{factor}": (factor, level) for factor, level in figure.against.items()}
        for number, other in enumerate(figure.also):
            named |= {f"also[{number}].levels.{factor}": (factor, level) for factor, level in other.levels.items()}
        for field, (factor, level) in named.items():
            yield field, factor, (level,)
