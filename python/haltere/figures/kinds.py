"""Every kind of figure: its description in `figures.toml`, how its numbers are computed, and how it is drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from haltere.figures import (
    boxes,
    cdfs,
    choices,
    data,
    heatmaps,
    lines,
    paper,
    points,
    scatters,
    screen,
    spec,
    timeline,
    violins,
)
from haltere.figures.chart_paper import draw_chart
from haltere.figures.chart_screen import chart_svgs
from haltere.figures.spec import FigureList, Lettering
from haltere.metrics.tables import Tables


@dataclass(frozen=True)
class Kind:
    """A kind of figure: `compute` its numbers, draw them for the `screen` as SVG elements and for `paper` into files.

    `paper` takes the figure, the files' name without ending, and the family of the font (none: the style's own).

    `compute` raises `haltere.figures.data.NotInResultsError` if the results hold none of what is to be shown.
    """

    spec: type[Any]
    compute: Callable[[Tables, Any, FigureList], Any]
    screen: Callable[[Any], Sequence[str]]
    paper: Callable[[Any, Path, str], list[Path]]


KINDS: dict[str, Kind] = {
    "bars": Kind(spec.Bars, data.bars, lambda figure: [screen.bars_svg(figure)], paper.draw_bars),
    "boxes": Kind(spec.Boxes, boxes.boxes, lambda figure: [boxes.box_svg(figure)], boxes.draw_boxes),
    "overviews": Kind(
        spec.Overview,
        data.overview,
        lambda figure: [screen.panel_svg(figure, panel) for panel in figure.panels],
        paper.draw_overview,
    ),
    "points": Kind(
        spec.Points,
        lambda tables, one, _words: points.points(tables, one),
        lambda figure: [points.points_svg(figure)],
        points.draw_points,
    ),
    "choices": Kind(
        spec.Choices,
        choices.choices,
        lambda figure: [choices.choice_svg(figure, panel) for panel in figure.panels],
        choices.draw_choices,
    ),
    "lines": Kind(spec.Lines, lines.lines, chart_svgs, draw_chart),
    "cdfs": Kind(spec.Cdfs, cdfs.cdfs, chart_svgs, draw_chart),
    "violins": Kind(spec.Violins, violins.violins, chart_svgs, draw_chart),
    "scatters": Kind(spec.Scatters, scatters.scatters, chart_svgs, draw_chart),
    "heatmaps": Kind(spec.Heatmaps, heatmaps.heatmaps, chart_svgs, draw_chart),
}
"""By the names of their lists in `figures.toml`. Timelines are apart: they are made of a run, not of tables."""


def _from_tables(_tables: Tables, _one: object, _words: FigureList) -> Any:
    raise data.NotInResultsError("a figure over time is made of a run, not of tables")


OVER_TIME = Kind(spec.Timeline, _from_tables, timeline.timeline_svgs, timeline.draw_timeline)


def on_paper(kind: Kind, figure: Any, stem: Path, lettering: Lettering) -> list[Path]:
    """Draw a figure into files, in the font and with or without the title that were chosen; the paths written."""
    return kind.paper(figure if lettering.titles else replace(figure, title=""), stem, lettering.font)


def kind_of(one: object) -> Kind:
    """The kind of a figure by its description."""
    return next(kind for kind in KINDS.values() if type(one) is kind.spec)
