"""The figures of `figures.toml` from Python: `haltere.figures.line(results, metric="goodput", x="rate")`.

The keywords are the fields of the kind in `figures.toml`. `experiment` may be left out if the results have one, `name`
always. `columns`, `factors` and `style` are the tables of these names: `style={"titles": False, "font": "serif"}`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from haltere.errors import InputError, as_written
from haltere.figures.kinds import KINDS, problem_of, unknown_metrics
from haltere.figures.on_screen import HATCHES, css_family, svgs, swatch
from haltere.figures.parts import Figure, NotInResultsError
from haltere.figures.spec import Data, FigureList, Kind, Lettering
from haltere.metrics.tables import Tables
from haltere.results import Results
from haltere.study.origin import study_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas
    from matplotlib.figure import SubFigure

_OTHERS = (".jpg", ".jpeg", ".gif", ".webp", ".tif", ".tiff", ".bmp", ".eps", ".ps")

_STYLE = """
.haltere{max-width:34rem;background:#fff;color:#1a1a1a;font:13px system-ui,sans-serif}.haltere .two{--c:var(--l)}
.haltere text{font-size:11px;fill:#444}.haltere .grid{stroke:#ddd}.haltere .axis{stroke:#444}
.haltere .fill{fill:var(--c)}.haltere .line{fill:none;stroke:var(--c);stroke-width:1.6}
.haltere .bold text{font-weight:700}.haltere .faint text{fill:#888}.haltere .hatch path{stroke:#fff8;stroke-width:2.4}
.haltere .whisker{fill:none;stroke:#1a1a1a;stroke-width:1.4}
.haltere .plot{overflow:visible}.haltere .swatch{vertical-align:-2px}"""
"""The rules of the report's style sheet for figures, for a page that has another."""


@dataclass(frozen=True)
class Drawing:
    """A figure of some results. In a notebook it shows itself; `save` writes it for paper."""

    figure: Figure
    lettering: Lettering = field(default_factory=Lettering)

    def save(self, path: str | Path) -> list[Path]:
        """Write the figure for paper; the paths written.

        Args:
            path: ends in `.svg`, `.pdf` or `.png` for one file; else a stem, to which `.svg` and `.pdf` are added.

        Raises:
            InputError: if the path ends in another form of pictures.
        """
        from haltere.figures import on_paper  # noqa: PLC0415 (drawing is slow to load)

        out = Path(path)
        if out.suffix in _OTHERS:
            raise InputError(
                "figures have no such format", field="save", given=as_written(str(path)), right=".svg, .pdf, .png"
            )
        return on_paper.write(self.lettering.lettered(self.figure), out, self.lettering.font)

    def onto(self, ax: Axes | None = None, fig: Canvas | SubFigure | None = None) -> Drawing:
        """Draw the figure into axes of Matplotlib, or, if it has several panels, into a figure; return the drawing.

        The fonts are those of Matplotlib's settings.

        Raises:
            InputError: if a figure of several panels is to be drawn into `ax`.
        """
        from haltere.figures import on_paper  # noqa: PLC0415 (drawing is slow to load)

        if fig is not None:
            on_paper.fill(self.lettering.lettered(self.figure), fig)
        if ax is not None:
            if len(self.figure.panels) > 1:
                panels = f"the figure has {len(self.figure.panels)} panels"
                raise InputError(f"{panels}, which one pair of axes cannot hold", field="ax", right="fig=, a figure")
            panel = self.figure.panels[0]
            on_paper.onto(
                replace(panel, title=self.lettering.lettered(self.figure).title), ax, cells=self.figure.cell is not None
            )
            on_paper.inside(ax, panel)
        return self

    def svgs(self) -> list[str]:
        """The SVG elements for a page, one for each panel."""
        return svgs(self.figure)

    def rows(self) -> list[tuple[str, str]]:
        """The numbers of the figure: where, and what."""
        return self.figure.rows()

    def __repr__(self) -> str:
        return f"<Drawing {self.figure.title!r}>"

    def _repr_html_(self) -> str:
        figure = self.figure
        drawn = "".join(
            f"<div>{escape(panel.title)} {_keys(panel) if figure.stacked else ''}{svg}</div>"
            for panel, svg in zip(figure.panels, self.svgs(), strict=True)
        )
        keys = "" if figure.stacked else _keys(figure)
        font = f' style="font-family:{escape(css_family(self.lettering.font))}"' if self.lettering.font else ""
        caption = f"<figcaption><b>{escape(figure.title)}</b> {keys} {escape(figure.unit)}</figcaption>"
        return f'<style>{_STYLE}</style>{HATCHES}<figure class="haltere"{font}>{caption}{drawn}</figure>'


def _keys(of: Any) -> str:
    factor = f"<span>{escape(of.colours)}:</span> " if getattr(of, "colours", "") else ""
    return factor + " ".join(f"<span>{swatch(series)} {escape(series.label)}</span>" for series in of.legend)


def functions() -> dict[str, Callable[..., Drawing]]:
    """The functions of all kinds, by their names."""
    return {kind.description.function: _function(kind) for kind in KINDS}


def _function(kind: type[Kind]) -> Callable[..., Drawing]:
    """The function of a kind. Its signature has the fields, so that `help` and completion know them."""

    def function(
        results: Results, *, ax: Axes | None = None, fig: Canvas | SubFigure | None = None, **fields: Any
    ) -> Drawing:
        return draw(kind, results, fields).onto(ax, fig)

    only = inspect.Parameter.KEYWORD_ONLY
    given = {name: one for name, one in kind.model_fields.items() if name not in ("name", "experiment")}
    parameters = [inspect.Parameter("results", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=Results)]
    for name, one in sorted(given.items(), key=lambda item: not item[1].is_required()):
        default = inspect.Parameter.empty if one.is_required() else one.get_default(call_default_factory=True)
        parameters.append(inspect.Parameter(name, only, default=default, annotation=one.annotation))
    others = ("experiment", "name", "columns", "factors", "style", "ax", "fig")
    parameters += [inspect.Parameter(name, only, default=None) for name in others if name not in given]
    function.__name__ = function.__qualname__ = kind.description.function
    function.__doc__ = f"{kind.description.summary}\n\n{inspect.getdoc(kind)}\n\n{__doc__}"
    function.__signature__ = inspect.Signature(parameters, return_annotation=Drawing)  # type: ignore[attr-defined]
    return function


def draw(kind: type[Kind], results: Results, fields: Mapping[str, Any]) -> Drawing:
    """Compute a figure.

    Raises:
        InputError: if a field is missing or wrong, or the results hold nothing of what is to be shown.
    """
    function = kind.description.function
    given = {name: value for name, value in fields.items() if value is not None}
    # Maps have `columns` of their own: the factors that lie across.
    columns = given.pop("columns", {}) if isinstance(given.get("columns"), Mapping) else {}
    own = {name: {"expression": one} if isinstance(one, str) else one for name, one in columns.items()}
    experiments = list(results.manifest["experiments"])
    if "experiment" not in given and len(experiments) == 1:
        given["experiment"] = experiments[0]
    given.setdefault("name", function.replace("_", "-"))
    tables = {"factors": given.pop("factors", {}), "columns": own, "style": given.pop("style", {})}
    try:
        words = FigureList.model_validate(tables)
        one = kind.model_validate(given)
    except ValidationError as error:
        raise _refused(kind, error, ", ".join(experiments)) from None
    for name, problem, right in unknown_metrics(one, words):
        raise InputError(problem, field=f"{function}: {name}", given=as_written(getattr(one, name)), right=right)

    try:
        return Drawing(one.figure(Data(Tables.of(results), words, lambda: study_of(results))), words.style)
    except NotInResultsError as error:
        raise InputError(str(error), field=function) from None


def _refused(kind: type[Kind], error: ValidationError, experiments: str) -> InputError:
    fault = min(error.errors(), key=lambda one: one["type"] == "missing")
    missing = fault["type"] == "missing"
    field = ".".join(map(str, fault["loc"]))
    problem, right = problem_of(fault, FigureList if error.title == "FigureList" else kind)
    return InputError(
        problem,
        field=f"{kind.description.function}: {field}",
        given=None if missing else as_written(fault["input"]),
        right=experiments if field == "experiment" and missing else right,
    )
