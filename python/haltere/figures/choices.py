"""Maps of choices: in each cell the level of a factor that is surely better than a reference, and by how much.

A cell names another level than the reference only if that level is better beyond chance and beyond the metric's margin
of practical equivalence. The test is Student's one-sided t test over replications, which meet the same losses, adjusted
by Holm's method for all cells and levels of the figure: of figures that show treatments without any difference, at most
5 % name another level anywhere. Of several levels that pass, the cell shows the one with the best mean, which says that
it beats the reference, not that it beats the others.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from scipy import special

from haltere.figures import style
from haltere.figures.data import NotInResultsError, levels_text
from haltere.figures.plots import COLOURS
from haltere.figures.screen import comparison_text, open_plot, room_for
from haltere.figures.spec import Choices, FigureList
from haltere.metrics import METRICS, Metric, quantities
from haltere.metrics.tables import Key, Tables, from_scale, margins, paired
from haltere.metrics.text import OPACITY, fixed
from haltere.stats import Interval, holm, mean

_LEVEL = 0.05
"""How often at most a figure may name a level that is not better than the reference."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A cell: its levels, the level that it names, and how that one compares with the reference (None: it is it)."""

    levels: Mapping[str, str]
    named: str
    found: Interval | None
    others: int = 0
    """How many other levels are surely better than the reference, too."""


@dataclass(frozen=True, slots=True)
class ChoicePanel:
    """One map: `cells[row][column]`, None where the results have no runs."""

    title: str
    cells: tuple[tuple[Choice | None, ...], ...]


@dataclass(frozen=True, slots=True)
class ChoiceFigure:
    """The data of a map of choices."""

    spec: Choices
    metric: Metric
    title: str
    rows: tuple[Key, ...]
    columns: tuple[Key, ...]
    panels: tuple[ChoicePanel, ...]
    words: FigureList

    @property
    def row_words(self) -> str:
        """The factors down the side, in the study's words."""
        return " and ".join(self.words.factor(factor) for factor in self.spec.rows)

    def says(self, cell: Choice) -> str:
        """What a cell answers when pointed at."""
        place = ", ".join(quantities.text(level, factor) for factor, level in cell.levels.items())
        factor = self.words.factor(self.spec.factor)
        if cell.found is None:
            return f"{place}\nno other {factor} is surely better than {cell.named}"
        more = f"\n{cell.others} more are surely better than {self.spec.against}" if cell.others else ""
        said = f"{self.metric.label}, {cell.named} ÷ {self.spec.against}: {comparison_text(cell.found)}"
        return f"{place}\n{said}{more}"

    def gain(self, cell: Choice) -> str:
        """By how much the named level is better: `−23 %`; empty for the reference."""
        if cell.found is None:
            return ""
        if self.metric.comparison == "difference":
            return fixed(cell.found.value, 2)
        change = 100 * (cell.found.value - 1)
        return f"{'+' if change > 0 else ''}{fixed(change, 0)} %"

    def weight(self, cell: Choice) -> float:
        """The opacity of a cell's colour: full where the metric says so."""
        if cell.found is None:
            return 0.0
        if self.metric.comparison == "difference":
            return OPACITY * min(1.0, abs(cell.found.value) / self.metric.full)
        return OPACITY * min(1.0, abs(math.log(cell.found.value)) / math.log(self.metric.full))


def choices(tables: Tables, spec: Choices, words: FigureList) -> ChoiceFigure:
    """The numbers of a map of choices. Raises `NotInResultsError` if the results hold none of them."""
    metric = METRICS[spec.metric]
    values = tables.values(spec.experiment, metric, spec.where)
    axes = [*spec.panels, *spec.rows, *spec.columns]
    levels = tables.levels(spec.experiment, spec.factor)
    sought = f"no completed pair of runs of experiment {spec.experiment} with {spec.factor} {spec.against} and another"
    if values.is_empty() or spec.against not in levels or any(axis not in values.columns for axis in axes):
        raise NotInResultsError(sought)
    candidates = [level for level in levels if level != spec.against and level in (spec.only or levels)]
    found = {
        level: _replications(paired(values, spec.factor, level, spec.against, metric), axes) for level in candidates
    }
    keys = [key for one in found.values() for key in one]
    if not keys:
        raise NotInResultsError(sought)
    named = name_better(found, metric)
    shown = {axis: {key[i] for key in keys} for i, axis in enumerate(axes)}

    def combinations(factors: Sequence[str]) -> list[Key]:
        present = ([x for x in tables.levels(spec.experiment, one) if x in shown[one]] for one in factors)
        return list(itertools.product(*present))

    def cell(key: Key) -> Choice | None:
        if key not in keys:
            return None
        place = dict(zip(axes, key, strict=True))
        better = named.get(key, [])
        if not better:
            return Choice(place, spec.against, None)
        level = better[0]
        return Choice(place, level, from_scale(mean(found[level][key]), metric), len(better) - 1)

    rows, columns = combinations(spec.rows), combinations(spec.columns)
    panels = tuple(
        ChoicePanel(
            levels_text(spec.panels, panel),
            tuple(tuple(cell(panel + row + column) for column in columns) for row in rows),
        )
        for panel in combinations(spec.panels)
    )
    title = spec.title or f"{metric.label}, best {words.factor(spec.factor)} against {spec.against}"
    return ChoiceFigure(spec, metric, title, tuple(rows), tuple(columns), panels, words)


def _replications(pairs: pl.DataFrame, axes: Sequence[str]) -> dict[Key, list[float]]:
    """The comparisons of each cell, one a replication, averaged over the factors that are not axes."""
    each = pairs.group_by([*axes, "replication"]).agg(pl.col("value").mean()).sort("replication")
    cells = each.group_by(list(axes), maintain_order=True).agg(pl.col("value"))
    return {tuple(str(row[axis]) for axis in axes): row["value"] for row in cells.to_dicts()}


def name_better(found: Mapping[str, Mapping[Key, Sequence[float]]], metric: Metric) -> dict[Key, list[str]]:
    """The levels that are surely better than the reference, by cell, the best mean first.

    `found` has for each level and cell the comparisons with the reference, one a replication, as `tables.paired` gives
    them.
    """
    sign = 1.0 if metric.better == "higher" else -1.0
    tests = [(key, level) for level, cells in found.items() for key in cells]
    adjusted = holm([_one_sided(sign * np.asarray(found[level][key], dtype=np.float64)) for key, level in tests])
    low, high = margins(metric)
    better: dict[Key, list[tuple[float, str]]] = {}
    for (key, level), p in zip(tests, adjusted, strict=True):
        compared = from_scale(mean(found[level][key]), metric).value
        beyond = compared > high if metric.better == "higher" else compared < low
        if p is not None and p <= _LEVEL and beyond:
            better.setdefault(key, []).append((-sign * compared, level))
    return {key: [level for _, level in sorted(one)] for key, one in better.items()}


def _one_sided(gains: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float | None:
    """The p-value of Student's test that the mean is not above 0; None with fewer than three replications."""
    if gains.size < 3:
        return None
    spread = float(gains.std(ddof=1))
    if spread == 0:
        return 0.0 if gains[0] > 0 else 1.0
    t = float(gains.mean()) / (spread / math.sqrt(gains.size))
    return float(special.stdtr(gains.size - 1, -t))


_WIDE, _HIGH = 74.0, 34.0
_LETTERS = 12
"""The letters of a level that fit into a cell."""


def choice_svg(figure: ChoiceFigure, panel: ChoicePanel) -> str:
    """The SVG element of one map of choices."""
    row_labels = [levels_text(figure.spec.rows, row) for row in figure.rows]
    left, top = room_for(row_labels), 34.0
    width = left + _WIDE * len(figure.columns) + 2
    height = top + _HIGH * len(figure.rows) + 4
    name = f"{figure.title}: {panel.title}" if panel.title else figure.title
    parts = [open_plot(width, height, name)]
    middle = left + _WIDE * len(figure.columns) / 2
    across = escape(" and ".join(figure.words.factor(one) for one in figure.spec.columns))
    parts.append(f'<text class="label" x="{middle:.1f}" y="11" text-anchor="middle">{across}</text>')
    for i, column in enumerate(figure.columns):
        label = escape(levels_text(figure.spec.columns, column))
        parts.append(
            f'<text class="tick" x="{left + _WIDE * (i + 0.5):.1f}" y="27" text-anchor="middle">{label}</text>'
        )
    for j, (label, cells) in enumerate(zip(row_labels, panel.cells, strict=True)):
        y = top + _HIGH * j
        parts.append(f'<text class="tick" x="{left - 6:g}" y="{y + 20:.1f}" text-anchor="end">{escape(label)}</text>')
        parts += [_cell_svg(figure, cell, left + _WIDE * i, y) for i, cell in enumerate(cells)]
    return "".join([*parts, "</svg>"])


def _cell_svg(figure: ChoiceFigure, cell: Choice | None, x: float, y: float) -> str:
    centre = x + _WIDE / 2
    if cell is None:
        return f'<text class="tick" x="{centre:.1f}" y="{y + 20:.1f}" text-anchor="middle">–</text>'
    gain = figure.gain(cell)
    lines = [_short(cell.named), gain] if gain else [_short(cell.named)]
    text = "".join(
        f'<text x="{centre:.1f}" y="{y + (15 if gain else 20) + 12 * i:.1f}" text-anchor="middle">{escape(line)}</text>'
        for i, line in enumerate(lines)
    )
    return (
        f'<g class="mark {"of" if gain else "unclear"}" style="--c:var(--c-first)">'
        f"<title>{escape(figure.says(cell))}</title>"
        f'<rect class="fill" x="{x + 0.5:.1f}" y="{y + 0.5:.1f}" width="{_WIDE - 1:.1f}" height="{_HIGH - 1:.1f}" '
        f'fill-opacity="{figure.weight(cell):.2f}"/>{text}</g>'
    )


def _short(level: str) -> str:
    """A level that fits into a cell: the words of a long one are cut so that all have a share of the place."""
    if len(level) <= _LETTERS:
        return level
    words = level.split("-")
    share = max(2, (_LETTERS - len(words) + 1) // len(words))
    return "-".join(word[:share] for word in words)


def draw_choices(figure: ChoiceFigure, stem: Path, font: str = "") -> list[Path]:
    """Draw maps of choices two columns wide, a panel below the other; the paths written."""
    with style.paper(font):
        height = len(figure.panels) * (0.29 * len(figure.rows) + 0.62) + 0.2
        canvas = Figure(figsize=(style.PAGE_IN, height))
        grid = canvas.subplots(len(figure.panels), 1, squeeze=False)
        for axes, panel in zip(grid.flat, figure.panels, strict=True):
            _panel(axes, figure, panel)
        canvas.suptitle(figure.title, x=0.01, ha="left", fontsize=8)
        canvas.supylabel(figure.row_words, fontsize=7)
        return style.save(canvas, stem)


def _panel(axes: Axes, figure: ChoiceFigure, panel: ChoicePanel) -> None:
    red, green, blue = to_rgb(COLOURS["first"][0])
    for y, row in enumerate(panel.cells):
        for x, cell in enumerate(row):
            weight = 0.0 if cell is None else figure.weight(cell)
            colour = tuple(1 - weight * (1 - part) for part in (red, green, blue))
            axes.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=colour, edgecolor="white", linewidth=1))
            gain = "" if cell is None else figure.gain(cell)
            axes.text(
                x,
                y,
                "–" if cell is None else _short(cell.named) + (f"\n{gain}" if gain else ""),
                ha="center",
                va="center",
                fontsize=6,
                linespacing=1.1,
                color=style.INK if gain else style.QUIET,
                fontweight="bold" if gain else "normal",
            )
    axes.set_xlim(-0.5, len(figure.columns) - 0.5)
    axes.set_ylim(len(figure.rows) - 0.5, -0.5)
    axes.set_xticks(range(len(figure.columns)), [levels_text(figure.spec.columns, one) for one in figure.columns])
    axes.set_yticks(range(len(figure.rows)), [levels_text(figure.spec.rows, one) for one in figure.rows])
    axes.set_xlabel(" and ".join(figure.words.factor(one) for one in figure.spec.columns))
    axes.tick_params(length=0, labelsize=6)
    axes.spines[:].set_visible(False)
    axes.set_title(panel.title, loc="left", fontsize=7, pad=4)


def table(figure: ChoiceFigure) -> Sequence[tuple[str, str, str]]:
    """The rows of the figure's numbers: the cell, the level that it names, its comparison with the reference."""
    shown = [cell for panel in figure.panels for row in panel.cells for cell in row if cell is not None]
    return [
        (
            ", ".join(quantities.text(level, factor) for factor, level in cell.levels.items()),
            cell.named,
            "" if cell.found is None else comparison_text(cell.found),
        )
        for cell in shown
    ]
