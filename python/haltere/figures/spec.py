"""Which figures a study shows, as data: the file `figures.toml` beside its `study.toml`.

`[factors]` gives each factor the words that axes and captions use for it. Each `[[overviews]]` is one map over all
treatments of an experiment in which two levels of a factor are set against each other; each `[[bars]]` is one figure of
grouped bars with 95 % intervals.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from haltere.figures.metrics import METRICS


class FiguresFileError(ValueError):
    """A `figures.toml` that cannot be read: the message names file, place, what was given and what would be right."""


def _known_metric(name: str) -> str:
    if name not in METRICS:
        known = ", ".join(METRICS)
        message = f"unknown metric {name!r}; one of: {known}"
        raise ValueError(message)
    return name


MetricName = Annotated[str, AfterValidator(_known_metric)]
FigureName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]*$")]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Bars(_Part):
    """Grouped bars: `metric` on y from `baseline`, the levels of `x` on x, the levels of `series` side by side."""

    name: FigureName
    experiment: str
    metric: MetricName
    x: str
    series: str
    where: Mapping[str, str] = Field(default_factory=dict)
    baseline: float = 0.0
    title: str = ""
    source: str = ""


class Overview(_Part):
    """A map of all treatments: level `of` of `factor` against level `to`, a cell a treatment.

    `panels`, `rows` and `columns` are the factors that place a cell; together with `factor` and `where` they are all
    factors of the experiment.
    """

    name: FigureName
    experiment: str
    metric: MetricName
    factor: str
    of: str
    to: str
    panels: tuple[str, ...] = ()
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    where: Mapping[str, str] = Field(default_factory=dict)
    title: str = ""
    source: str = ""


class FigureList(_Part):
    """The whole of a `figures.toml`."""

    factors: Mapping[str, str] = Field(default_factory=dict)
    overviews: tuple[Overview, ...] = ()
    bars: tuple[Bars, ...] = ()

    def factor(self, name: str) -> str:
        """The words for a factor: those of the file, or else its name with spaces."""
        return self.factors.get(name, name.replace("_", " "))


def read(path: Path) -> FigureList:
    """Read a `figures.toml`; a study without one shows no figures.

    Raises `FiguresFileError` for a file that is not TOML, has unknown fields, or names the same figure twice.
    """
    if not path.exists():
        return FigureList()
    try:
        figures = FigureList.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except tomllib.TOMLDecodeError as error:
        message = f"{path}: not TOML: {error}"
        raise FiguresFileError(message) from None
    except ValidationError as error:
        raise FiguresFileError(_explain(path, error)) from None
    names = [figure.name for figure in (*figures.overviews, *figures.bars)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        message = f"{path}: figures need names of their own; used more than once: {', '.join(twice)}"
        raise FiguresFileError(message)
    return figures


def _explain(path: Path, error: ValidationError) -> str:
    lines = []
    for fault in error.errors():
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in fault["loc"]).lstrip(".")
        given = "" if fault["type"] == "missing" else f" (given: {fault['input']!r})"
        lines.append(f"{path}: {place}: {fault['msg']}{given}")
    return "\n".join(lines)
