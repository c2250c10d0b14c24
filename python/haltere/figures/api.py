"""The figures of `figures.toml` from Python: `haltere.figures.line(results, metric="goodput", x="rate")`.

The keywords are the fields of the kind in `figures.toml`. `experiment` may be left out if the results have one, `name`
always. `style` is the table `[style]`: `{"titles": False, "font": "serif"}`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from haltere.errors import InputError, as_written
from haltere.figures import data
from haltere.figures.chart import ChartFigure
from haltere.figures.chart_screen import colours
from haltere.figures.kinds import KINDS, OVER_TIME, Kind, on_paper
from haltere.figures.plots import COLOURS
from haltere.figures.spec import FigureList, Lettering, Timeline, problem_of
from haltere.figures.style import css_family
from haltere.figures.timeline import timeline
from haltere.metrics import METRICS
from haltere.metrics.contenders import css_name, look
from haltere.metrics.tables import Tables
from haltere.results import Results
from haltere.study.origin import study_of

NAMES = {
    "bar": "bars",
    "box": "boxes",
    "overview": "overviews",
    "point": "points",
    "choice": "choices",
    "line": "lines",
    "cdf": "cdfs",
    "violin": "violins",
    "scatter": "scatters",
    "heatmap": "heatmaps",
}
"""The functions, and the lists of `figures.toml` that they stand for; `over_time` stands for `timelines`."""


_STYLE = """
.haltere{max-width:34rem;background:#fff;color:#1a1a1a;font:13px system-ui,sans-serif}.haltere .two{--c:var(--l)}
.haltere text{font-size:11px;fill:#444}.haltere .grid{stroke:#ddd}.haltere .axis{stroke:#444}
.haltere .fill{fill:var(--c)}.haltere .line{fill:none;stroke:var(--c);stroke-width:1.6}
.haltere .whisker{fill:none;stroke:#1a1a1a;stroke-width:1.4}"""
"""What the report's style sheet says of figures, for a page that has another."""


@dataclass(frozen=True)
class Drawing:
    """A figure of some results. In a notebook it shows itself; `save` writes it for paper."""

    figure: Any
    kind: Kind
    lettering: Lettering

    def save(self, stem: str | Path) -> list[Path]:
        """Write `stem.svg` and `stem.pdf` and return their paths."""
        return on_paper(self.kind, self.figure, Path(stem), self.lettering)

    def svgs(self) -> list[str]:
        """The SVG elements for a page, one for each panel."""
        return list(self.kind.screen(self.figure))

    def rows(self) -> list[tuple[str, str]]:
        """The numbers of a chart: where, and what."""
        return self.figure.rows() if isinstance(self.figure, ChartFigure) else []

    def __repr__(self) -> str:
        return f"<{type(self.figure).__name__} {self.figure.title!r}>"

    def _repr_html_(self) -> str:
        legend = self.figure.legend if isinstance(self.figure, ChartFigure) else ()
        keys = "".join(
            f'<span class="two" style="{colours(one.look)}"><b style="color:var(--c)">●</b> {escape(one.label)}</span> '
            for one in legend
        )
        names = [one.contender for one in getattr(self.figure, "series", ())]
        names += [name for side in ("of", "to") if (name := getattr(self.figure.spec, side, None))]
        own = "".join(f"--c-{css_name(name)}:{look(name).light};" for name in names)
        own += "".join(f"--c-{name}:{light};" for name, (light, _) in COLOURS.items())
        drawn = "".join(f"<div>{svg}</div>" for svg in self.svgs())
        title = escape(str(self.figure.title))
        if self.lettering.font:
            own += f"font-family:{escape(css_family(self.lettering.font))};"
        style = f"<style>{_STYLE}</style>"
        return f'{style}<figure class="haltere" style="{own}"><figcaption>{title} {keys}</figcaption>{drawn}</figure>'


def draw(kind: str, results: Results, fields: Mapping[str, Any]) -> Drawing:
    """Compute a figure.

    Raises:
        InputError: if a field is missing or wrong, or the results hold nothing of what is to be shown.
    """
    given = dict(fields)
    # Maps have `columns` of their own: the factors that lie across.
    columns = given.pop("columns", {}) if isinstance(given.get("columns"), Mapping) else {}
    own = {name: {"expression": one} if isinstance(one, str) else one for name, one in columns.items()}
    experiments = list(results.manifest["experiments"])
    if "experiment" not in given and len(experiments) == 1:
        given["experiment"] = experiments[0]
    given.setdefault("name", kind.replace("_", "-"))
    chosen = KINDS.get(NAMES.get(kind, ""))
    words, described = _described(kind, chosen.spec if chosen else Timeline, given, own, experiments)
    try:
        if chosen is None:
            return Drawing(timeline(study_of(results), described), OVER_TIME, words.style)
        return Drawing(chosen.compute(Tables.of(results), described, words), chosen, words.style)
    except data.NotInResultsError as error:
        raise InputError(str(error), field=kind) from None


def _described(
    kind: str, described: type[Any], given: dict[str, Any], columns: Mapping[str, Any], experiments: Sequence[str]
) -> tuple[FigureList, Any]:
    """Return the study's words and the description of a figure, checked."""
    try:
        words = FigureList.model_validate(
            {"factors": given.pop("factors", {}), "columns": columns, "style": given.pop("style", {})}
        )
        one = described.model_validate(given)
    except ValidationError as error:
        fault = min(error.errors(), key=lambda one: one["type"] == "missing")
        missing = fault["type"] == "missing"
        field = ".".join(map(str, fault["loc"]))
        problem, right = problem_of(fault, FigureList if error.title == "FigureList" else described)
        if field == "experiment" and missing:
            right = ", ".join(experiments)
        raise InputError(
            problem,
            field=f"{kind}: {field}",
            given=None if missing else as_written(fault["input"]),
            right=right,
        ) from None
    for key in ("metric", "against"):
        name = getattr(one, key, None)
        if isinstance(name, str) and name not in {*METRICS, *words.columns}:
            right = f"one of {', '.join([*METRICS, *words.columns])}; or one of `columns`"
            raise InputError("there is no such metric", field=f"{kind}: {key}", given=as_written(name), right=right)
    return words, one
