"""The common part of all kinds of figures: their fields in `figures.toml`, the file beside a study's `study.toml`.

A kind is one class. Its fields are those of its tables in the file, its `description` names it, and `figure` computes
what is drawn. `kinds` lists the classes and reads the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal

import polars as pl
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from haltere.errors import among
from haltere.figures.parts import Figure
from haltere.metrics import METRICS, Metric, quantities
from haltere.metrics.contenders import is_contender, look
from haltere.metrics.tables import Tables


def _known_metric(name: str) -> str:
    if name not in METRICS:
        raise ValueError(f"there is no such metric|one of {among(name, METRICS)}")
    return name


def _a_time(text: str) -> str:
    if quantities.dimension(text) != "time":
        raise ValueError("is no time|a number with a unit, such as 60s")
    return text


MetricName = Annotated[str, AfterValidator(_known_metric)]
Time = Annotated[str, AfterValidator(_a_time)]
FigureName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]*$")]
Named = tuple[str, str, Sequence[str]]
"""A field of a figure, the factor it is about, and the levels that it names there."""


class Part(BaseModel):
    """A table of `figures.toml`."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True)
class Description:
    """The names of a kind, and how a page shows it.

    Attributes:
        list: the name of its list in `figures.toml`, such as `lines`.
        function: the name of its function in Python, such as `line`.
        summary: what it shows, in a sentence.
        section: the heading under which a page shows its figures; a figure may have its own.
        hint: what a reader must know of all its figures.
        width: how much room a page gives it: a column of several, a wide one, or all, beside the answer.
    """

    list: str
    function: str
    summary: str
    section: str = "Along factors and over runs"
    hint: str = ""
    width: Literal["column", "wide", "answer"] = "column"


class Kind(Part):
    """A kind of figure. Its files are called after its `name`; `where` fixes the levels of factors.

    `flow` and `direction` say which flows of a run count: those of this label (`all`: of any), those that go this way.
    """

    description: ClassVar[Description]
    factors: ClassVar[Sequence[str]] = ("x", "y", "series", "panels")
    """The fields that name factors."""
    metrics: ClassVar[Sequence[str]] = ()
    """The fields that name metrics or own columns."""

    name: FigureName
    experiment: str
    where: Mapping[str, str | tuple[str, ...]] = Field(default_factory=dict)
    flow: str | None = None
    direction: Literal["down", "up"] | None = None
    title: str = ""
    source: str = ""
    section: str = ""

    def whose(self, metric: Metric) -> Metric:
        """The metric of the figure's flows, in whose label they are named as in legends."""
        found = metric.of(self.flow, self.direction)
        own = self.flow is not None and is_contender(self.flow)
        return replace(found, label=found.label.replace(f"{self.flow}", look(f"{self.flow}").name)) if own else found

    def figure(self, data: Data) -> Figure:
        """Compute what is drawn.

        Raises `haltere.figures.parts.NotInResultsError` if the results hold none of what is to be shown.
        """
        raise NotImplementedError

    def named_levels(self) -> Iterator[Named]:
        """The levels of factors that the figure names, besides those of `where`."""
        yield from ()

    def named(self) -> Iterator[Named]:
        """All factors and levels that the figure names."""
        for name in self.factors:
            named = getattr(self, name, ())
            for factor in (named,) if isinstance(named, str) else named:
                if factor:
                    yield name, factor, ()
        for factor, level in self.where.items():
            yield f"where.{factor}", factor, (level,) if isinstance(level, str) else level
        yield from self.named_levels()

    @property
    def single(self) -> dict[str, str]:
        """The factors of `where` with one level."""
        return {factor: level for factor, level in self.where.items() if isinstance(level, str)}


def _an_expression(text: str) -> str:
    try:
        pl.sql_expr(text)
    except pl.exceptions.PolarsError as error:
        raise ValueError(f"is no expression: {error}|such as goodput / throughput") from None
    return text


class Column(Part):
    """A metric of the study's own: an expression over metrics and over columns of `runs` and `flows`."""

    expression: Annotated[str, AfterValidator(_an_expression)]
    label: str = ""
    unit: str = ""
    better: Literal["lower", "higher", "neither"] = "neither"
    comparison: Literal["ratio", "difference"] = "ratio"


class Chart(Kind):
    """The common fields of charts. `metric` is a metric or an own column; each level of `panels` has a panel."""

    metrics: ClassVar[Sequence[str]] = ("metric",)

    metric: str
    series: str = ""
    """The factor whose levels have a colour each."""
    panels: str = ""
    log: bool | None = None
    """Whether the metric's axis is logarithmic. Unless given, it is so for means of which one is 20 times another."""


class SideBySide(Chart):
    """The common fields of charts whose series stand beside each other, of which some may be left out."""

    x: str
    only: tuple[str, ...] = ()
    """The levels of `series` that are shown; all if there are none."""

    @field_validator("only")
    @classmethod
    def _of_series(cls, only: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        if only and not info.data.get("series"):
            raise ValueError("names levels of series, which is not given|series, or levels of x in where")
        return only

    def named_levels(self) -> Iterator[Named]:
        """The levels of factors that the figure names."""
        if self.series:
            yield "only", self.series, self.only


def _a_font(family: str) -> str:
    from haltere.figures import style  # noqa: PLC0415 (drawing is slow to load)

    if family and not style.has_font(family):
        raise ValueError("this machine has no font of this family|one that is installed, such as DejaVu Sans, or serif")
    return family


class Lettering(Part):
    """How figures are lettered: whether files for paper hold their titles, and the family of the font everywhere."""

    titles: bool = True
    font: Annotated[str, Field(pattern=r"^[A-Za-z0-9 -]*$"), AfterValidator(_a_font)] = ""

    def lettered(self, figure: Figure) -> Figure:
        """The figure as files for paper have it: with its title or without."""
        return figure if self.titles else replace(figure, title="")


class FigureList(Part):
    """The fields of a `figures.toml` that are no figures. `kinds.read` adds a list for each kind.

    `main` names the figure that stands beside the answer; else it is the first.
    """

    main: FigureName | None = None
    style: Lettering = Lettering()
    factors: Mapping[str, str] = Field(default_factory=dict)
    columns: Mapping[str, Column] = Field(default_factory=dict)

    def lists(self) -> dict[str, Sequence[Kind]]:
        """The figures, by the names of their lists."""
        return {name: getattr(self, name) for name in type(self).model_fields if name not in FigureList.model_fields}

    def of(self, kind: type[Any]) -> Sequence[Any]:
        """The figures of a kind."""
        return [one for figures in self.lists().values() for one in figures if isinstance(one, kind)]

    def metric(self, name: str) -> Metric:
        """A metric by its name, or the column of this file with this name. Raises `KeyError` if there is neither."""
        if name in METRICS:
            return METRICS[name]
        own = self.columns[name]
        label = own.label or name.replace("_", " ").capitalize()
        says = f"The study's own: {own.expression}."
        return Metric(name, label, own.unit, "expression", own.expression, 1.0, own.better, says, own.comparison)

    def level(self, factor: str, level: str) -> str:
        """A level where nothing else names its factor: `loss 0 %`. Names of contenders stand alone: `CUBIC`."""
        return quantities.named(level, factor, self.factor(factor))

    def all_levels(self, levels: Mapping[str, str]) -> str:
        """Some levels where nothing else names their factors: `CUBIC, object 32 MB`."""
        return ", ".join(self.level(factor, level) for factor, level in levels.items())

    def factor(self, name: str) -> str:
        """The words for a factor: those of the file, or else its name with spaces."""
        return self.factors.get(name, name.replace("_", " "))


@dataclass(frozen=True)
class Data:
    """The sources of figures: the tables of results, a study's words and columns, and how to load that study."""

    tables: Tables
    words: FigureList = field(default_factory=FigureList)
    study: Callable[[], Any] | None = None
