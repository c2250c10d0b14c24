"""Which figures a study shows, as data: the file `figures.toml` beside its `study.toml`.

`[factors]` gives each factor the words that axes and captions use for it. Each `[[overviews]]` is one map over all
treatments of an experiment in which two levels of a factor are set against each other; each `[[bars]]` is one figure of
grouped bars with 95 % intervals; each `[[boxes]]` shows how a metric is spread over treatments; each `[[points]]` sets
one metric against the loss of another, a point a treatment; each `[[choices]]` is a map that names the better levels of
a factor; each `[[timelines]]` shows one run over time. `[[lines]]`, `[[cdfs]]`, `[[violins]]`, `[[scatters]]` and
`[[heatmaps]]` are what papers print besides; they take own columns, `[columns]`, and panels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, get_args

import polars as pl
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from haltere.documents import Document, join
from haltere.errors import InputError, as_written, in_words, nearest
from haltere.metrics import METRICS, Metric, quantities


def _known_metric(name: str) -> str:
    if name not in METRICS:
        message = f"there is no such metric|one of {', '.join(METRICS)}"
        raise ValueError(message)
    return name


def _a_time(text: str) -> str:
    if quantities.dimension(text) != "time":
        message = "is no time|a number with a unit, such as 60s"
        raise ValueError(message)
    return text


MetricName = Annotated[str, AfterValidator(_known_metric)]
FigureName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]*$")]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Figure(_Part):
    """What every kind of figure has. Its files are called after its `name`; `where` fixes the levels of factors."""

    name: FigureName
    experiment: str
    metric: MetricName
    where: Mapping[str, str] = Field(default_factory=dict)
    title: str = ""
    source: str = ""


class Bars(_Figure):
    """Grouped bars: `metric` on y from `baseline`, the levels of `x` on x, the levels of `series` side by side."""

    x: str
    series: str
    only: tuple[str, ...] = ()
    """The levels of `series` that are shown; all if there are none."""
    baseline: float = 0.0


class Boxes(_Figure):
    """Box plots over treatments: `metric` on y, the levels of `x` on x, the levels of `series` side by side."""

    x: str
    series: str
    only: tuple[str, ...] = ()
    """The levels of `series` that are shown; all if there are none."""
    log: bool = True
    """Whether y is logarithmic."""


class Overview(_Figure):
    """A map of all treatments: level `of` of `factor` against level `to`, a cell a treatment.

    `panels`, `rows` and `columns` are the factors that place a cell; together with `factor` and `where` they are all
    factors of the experiment.
    """

    factor: str
    of: str
    to: str
    panels: tuple[str, ...] = ()
    rows: tuple[str, ...]
    columns: tuple[str, ...]


class Choices(_Figure):
    """A map that names in each cell the level of `factor` that is surely better than the level `against`.

    `panels`, `rows` and `columns` place a cell. Over all factors that are named nowhere the comparison is averaged.
    """

    factor: str
    against: str
    only: tuple[str, ...] = ()
    """The levels of `factor` that may be named; all if there are none."""
    panels: tuple[str, ...] = ()
    rows: tuple[str, ...]
    columns: tuple[str, ...]


class OtherPoint(_Part):
    """A treatment beside those that a figure of points shows by its factor."""

    label: str
    levels: Mapping[str, str]


class Points(_Figure):
    """Points: `metric` on y (logarithmic), what is lost of `lost` against the treatment `against` on x (percent).

    There is a point for each level of the factor `label`, at the levels of `where`, and one for each of `also`.
    """

    lost: MetricName
    against: Mapping[str, str]
    label: str
    also: tuple[OtherPoint, ...] = ()


class Timeline(_Part):
    """One run over time, of the treatment at `where`: the RTT of `probe`, and what the stages of `link` hold.

    `show` names series of a trace, such as `cwnd` and `rtt`, to be shown instead, a plot each. With `series`, a factor
    that `where` does not name, there is one run for each of its `levels` (at most three; all, if none are given), and
    the plots have a line a level: of `show`, or else of congestion window and bytes in flight, of `flow`.
    """

    name: FigureName
    experiment: str
    where: Mapping[str, str] = Field(default_factory=dict)
    replication: int = 0
    until: Annotated[str, AfterValidator(_a_time)] = "60s"
    probe: str = "probe 0"
    link: str = "bottleneck down"
    show: tuple[str, ...] = ()
    series: str = ""
    levels: Annotated[tuple[str, ...], Field(max_length=3)] = ()
    flow: str = "flow 0"
    title: str = ""
    source: str = ""


def _an_expression(text: str) -> str:
    try:
        pl.sql_expr(text)
    except pl.exceptions.PolarsError as error:
        message = f"is no expression: {error}|such as goodput / throughput"
        raise ValueError(message) from None
    return text


class Column(_Part):
    """A metric of the study's own: an expression over metrics and over columns of `runs` and `flows`."""

    expression: Annotated[str, AfterValidator(_an_expression)]
    label: str = ""
    unit: str = ""


class Chart(_Part):
    """What the charts have in common. `metric` is a metric or an own column; each level of `panels` has a panel."""

    name: FigureName
    experiment: str
    metric: str
    series: str = ""
    """The factor whose levels have a colour each."""
    panels: str = ""
    where: Mapping[str, str | tuple[str, ...]] = Field(default_factory=dict)
    log: bool = False
    """Whether the metric's axis is logarithmic."""
    title: str = ""
    source: str = ""


class Lines(Chart):
    """The metric's mean with its 95 % interval along the factor `x`, to scale where its levels are quantities."""

    x: str


class Cdfs(Chart):
    """The cumulative distribution of the metric over runs."""


class Violins(Chart):
    """The density of the metric over runs, for each level of the factor `x`, with median and quartiles."""

    x: str


class Scatters(Chart):
    """The metric against another one, `against`, a point a treatment (its means) or a run."""

    against: str
    each: Literal["treatment", "run"] = "treatment"


class Heatmaps(Chart):
    """The metric's mean as a colour: the levels of the factor `x` across, those of `y` down."""

    x: str
    y: str


def _a_font(family: str) -> str:
    from haltere.figures import style  # noqa: PLC0415 (drawing is slow to load)

    if family and not style.has_font(family):
        message = "this machine has no font of this family|one that is installed, such as DejaVu Sans, or serif"
        raise ValueError(message)
    return family


class Lettering(_Part):
    """How figures are lettered: whether files for paper hold their titles, and the family of the font everywhere."""

    titles: bool = True
    font: Annotated[str, Field(pattern=r"^[A-Za-z0-9 -]*$"), AfterValidator(_a_font)] = ""


class FigureList(_Part):
    """The whole of a `figures.toml`."""

    style: Lettering = Lettering()

    factors: Mapping[str, str] = Field(default_factory=dict)
    columns: Mapping[str, Column] = Field(default_factory=dict)
    overviews: tuple[Overview, ...] = ()
    bars: tuple[Bars, ...] = ()
    boxes: tuple[Boxes, ...] = ()
    points: tuple[Points, ...] = ()
    choices: tuple[Choices, ...] = ()
    timelines: tuple[Timeline, ...] = ()
    lines: tuple[Lines, ...] = ()
    cdfs: tuple[Cdfs, ...] = ()
    violins: tuple[Violins, ...] = ()
    scatters: tuple[Scatters, ...] = ()
    heatmaps: tuple[Heatmaps, ...] = ()

    @property
    def charts(self) -> tuple[Chart, ...]:
        """The figures of the kinds that share `Chart`."""
        return (*self.lines, *self.cdfs, *self.violins, *self.scatters, *self.heatmaps)

    def metric(self, name: str) -> Metric:
        """A metric by its name, or the column of this file with this name. Raises `KeyError` if there is neither."""
        if name in METRICS:
            return METRICS[name]
        own = self.columns[name]
        label = own.label or name.replace("_", " ").capitalize()
        says = f"The study's own: {own.expression}."
        return Metric(name, label, own.unit, "expression", own.expression, 1.0, "neither", says)

    def factor(self, name: str) -> str:
        """The words for a factor: those of the file, or else its name with spaces."""
        return self.factors.get(name, name.replace("_", " "))


def read(path: Path) -> FigureList:
    """Read a `figures.toml`; a study without one shows no figures.

    Raises `haltere.errors.InputError`, which names file, line and field, for a file that is not TOML, has unknown or
    missing fields, or gives two figures the same name.
    """
    if not path.exists():
        return FigureList()
    document = Document.read(path)
    try:
        figures = FigureList.model_validate(document.data)
    except ValidationError as error:
        raise _refusal(document, error.errors()) from None
    seen = set()
    kinds: dict[str, Sequence[_Figure | Timeline | Chart]] = {
        "overviews": figures.overviews,
        "bars": figures.bars,
        "boxes": figures.boxes,
        "points": figures.points,
        "choices": figures.choices,
        "timelines": figures.timelines,
        "lines": figures.lines,
        "cdfs": figures.cdfs,
        "violins": figures.violins,
        "scatters": figures.scatters,
        "heatmaps": figures.heatmaps,
    }
    for kind, members in kinds.items():
        for index, figure in enumerate(members):
            if figure.name in seen:
                field = f"{kind}[{index}].name"
                raise InputError(
                    "two figures have this name",
                    place=document.place(field),
                    field=field,
                    given=as_written(figure.name),
                    right="a name of its own: its files are called after it",
                )
            seen.add(figure.name)
            for key in ("metric", "against"):
                metric = getattr(figure, key, None)
                if isinstance(figure, Chart) and metric is not None and metric not in {*METRICS, *figures.columns}:
                    field = f"{kind}[{index}].{key}"
                    raise InputError(
                        "there is no such metric",
                        place=document.place(field),
                        field=field,
                        given=as_written(metric),
                        right=f"one of {', '.join([*METRICS, *figures.columns])}; or a column of [columns]",
                    )
    return figures


def problem_of(fault: ErrorDetails, model: type[BaseModel]) -> tuple[str, str | None]:
    """What is wrong with a field of a description of figures, and what would be right."""
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


def _refusal(document: Document, faults: list[ErrorDetails]) -> InputError:
    # A field that is missing may be there under a wrong name, which says more.
    fault, others = min(faults, key=lambda one: one["type"] == "missing"), len(faults) - 1
    field = join(list(fault["loc"]))
    problem, right = problem_of(fault, FigureList)
    notes = (f"{others} more field{'s are' if others > 1 else ' is'} wrong after this one",) if others else ()
    return InputError(
        problem,
        place=document.place(field),
        field=field,
        given=None if fault["type"] == "missing" else as_written(fault["input"]),
        right=right,
        notes=notes,
    )
