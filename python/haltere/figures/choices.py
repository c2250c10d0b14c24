"""Maps of choices: in each cell the level of a factor that is surely better than a reference, and by how much.

A cell names another level than the reference only if that level is better beyond chance and beyond the metric's margin
of practical equivalence. The test is Student's one-sided t test over replications, which meet the same losses, adjusted
by Holm's method for all cells and levels of the figure: of figures that show treatments without any difference, at most
5 % name another level anywhere. Of several levels that pass, the cell shows the one with the best mean, which says that
it beats the reference, not that it beats the others.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl
from scipy import special

from haltere.figures.maps import Cell, Map, directions, panels
from haltere.figures.parts import Figure, NotInResultsError
from haltere.figures.samples import comparison_text
from haltere.figures.spec import Data, Description, Named
from haltere.metrics import METRICS, Metric
from haltere.metrics.tables import Key, from_scale, margins, paired
from haltere.metrics.text import OPACITY, fixed
from haltere.stats import Interval, holm, mean

_LEVEL = 0.05
"""How often at most a figure may name a level that is not better than the reference."""
_LETTERS = 12
"""The letters of a level that fit into a cell."""


class Choices(Map):
    """A map that names in each cell the level of `factor` that is surely better than the level `against`.

    `panels`, `rows` and `columns` place a cell. Over all factors that are named nowhere the comparison is averaged.
    """

    description = Description(
        "choices",
        "choice",
        "A map that names the better levels of a factor.",
        section="What to choose",
        hint="A cell names what is surely better than the reference, and by how much; without a number it names the "
        "reference, which nothing surely beats there.",
        width="wide",
    )

    against: str
    only: tuple[str, ...] = ()
    """The levels of `factor` that may be named; all if there are none."""

    def named_levels(self) -> Iterator[Named]:
        """The levels of factors that the figure names."""
        yield "against", self.factor, (self.against,)
        yield "only", self.factor, self.only

    def figure(self, data: Data) -> Figure:
        """Compute what is drawn."""
        metric, found = self.whose(METRICS[self.metric]), self._compared(data)
        present = {key for cells in found.values() for key in cells}
        if not present:
            raise NotInResultsError(self._sought)
        named = name_better(found, metric)
        factor = data.words.factor(self.factor)

        def cell(key: Key) -> Cell:
            if key not in present:
                return Cell(1, ["–"], weight="faint")
            if not named.get(key):
                said = f"no other {factor} is surely better than {self.against}"
                return Cell(0, [_short(self.against)], weight="faint", value=said)
            best, *others = named[key]
            point = from_scale(mean(found[best][key]), metric)
            more = f"\n{len(others)} more are surely better than {self.against}" if others else ""
            by = "÷" if metric.comparison == "ratio" else "−"
            said = f"{metric.label}, {best} {by} {self.against}: {comparison_text(point)}{more}"
            return Cell(0, [_short(best), _gain(point, metric)], _weight(point, metric), "bold", said)

        drawn = panels(data, self.experiment, self.sides, present, [("first", ""), ("ink", "")], cell)
        title = self.title or f"{metric.label}, best {factor} against {self.against}"
        caption = f"{directions(data, self.sides)}."
        return Figure(self.name, title, drawn, self.source, caption=caption, cell=(74.0, 34.0))

    def _compared(self, data: Data) -> dict[str, dict[Key, list[float]]]:
        """The comparisons of each level with the reference, by cell."""
        values = data.tables.values(self.experiment, self.whose(METRICS[self.metric]), self.where)
        levels = data.tables.levels(self.experiment, self.factor)
        if values.is_empty() or self.against not in levels or any(axis not in values.columns for axis in self.axes):
            raise NotInResultsError(self._sought)
        candidates = [level for level in levels if level != self.against and level in (self.only or levels)]
        metric = METRICS[self.metric]
        return {
            level: _replications(paired(values, self.factor, level, self.against, metric), self.axes)
            for level in candidates
        }

    @property
    def _sought(self) -> str:
        pair = f"{self.factor} {self.against} and another"
        return f"no completed pair of runs of experiment {self.experiment} with {pair}"


def _gain(found: Interval, metric: Metric) -> str:
    """By how much the named level is better: `−23 %`."""
    if metric.comparison == "difference":
        return fixed(found.value, 2)
    change = 100 * (found.value - 1)
    return f"{'+' if change > 0 else ''}{fixed(change, 0)} %"


def _weight(found: Interval, metric: Metric) -> float:
    """The opacity of a cell's colour: full where the metric says so."""
    if metric.comparison == "difference":
        return OPACITY * min(1.0, abs(found.value) / metric.full)
    return OPACITY * min(1.0, abs(math.log(found.value)) / math.log(metric.full))


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


def _short(level: str) -> str:
    """A level that fits into a cell: the words of a long one are cut so that all have a share of the place."""
    if len(level) <= _LETTERS:
        return level
    words = level.split("-")
    share = max(2, (_LETTERS - len(words) + 1) // len(words))
    return "-".join(word[:share] for word in words)
