"""Maps: panels of cells, a cell a combination of the levels of several factors."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import ValidationInfo, field_validator

from haltere.figures.parts import Axis, Panel, Rect, Series
from haltere.figures.samples import levels_text
from haltere.figures.spec import Data, Kind, MetricName
from haltere.metrics.tables import Key
from haltere.metrics.text import OPACITY

_KEY = Rect((0, 1), (0, 1), OPACITY, ["cell"])
_GAP = 0.12
"""Between groups of columns, in columns."""


@dataclass(frozen=True)
class Cell:
    """The content of a cell: the number of its series, its text, how strong its colour is, and its answer."""

    series: int
    text: Sequence[str]
    strength: float = 0.0
    weight: Literal["plain", "bold", "faint"] = "plain"
    value: str = ""


Factors = Mapping[str, Sequence[str]]
"""The factors of `panels`, `rows` and `columns`."""


class Map(Kind):
    """A map over the levels of `panels`, `rows` and `columns`, in which levels of `factor` are compared."""

    factors = ("factor", "panels", "rows", "columns")

    metric: MetricName
    factor: str
    panels: tuple[str, ...] = ()
    rows: tuple[str, ...]
    columns: tuple[str, ...]

    @field_validator("columns")
    @classmethod
    def _each_factor_once(cls, columns: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        named = [info.data.get("factor"), *info.data.get("panels", ()), *info.data.get("rows", ()), *columns]
        twice = next((name for name in named if name and named.count(name) > 1), None)
        if twice:
            raise ValueError(f"the factor {twice} has two places|each factor once in factor, panels, rows and columns")
        return columns

    @property
    def sides(self) -> Factors:
        """The factors that place a cell."""
        return {"panels": self.panels, "rows": self.rows, "columns": self.columns}

    @property
    def axes(self) -> list[str]:
        """The factors that place a cell, in the order of a key."""
        return [*self.panels, *self.rows, *self.columns]


def directions(data: Data, sides: Factors) -> str:
    """Say what stands in the rows of a map and what in its columns: `rate down, delay and loss across`."""
    words = {side: " and ".join(map(data.words.factor, factors)) for side, factors in sides.items()}
    return ", ".join(f"{words[side]} {way}" for side, way in (("rows", "down"), ("columns", "across")) if words[side])


def panels(
    data: Data,
    experiment: str,
    sides: Factors,
    present: Collection[Key],
    series: Sequence[tuple[str, str]],
    cell: Callable[[Key], Cell],
) -> list[Panel]:
    """The panels of a map.

    Args:
        data: where the words and the order of levels come from.
        experiment: whose levels.
        sides: the factors that place a cell; a key has the levels of panels, rows and columns.
        present: the keys that there are; levels that none of them has are left out.
        series: look and label of each.
        cell: what a cell shows.
    """
    factors = [*sides["panels"], *sides["rows"], *sides["columns"]]
    there = {factor: {key[i] for key in present} for i, factor in enumerate(factors)}

    def combinations(of: Sequence[str]) -> list[Key]:
        levels = ([one for one in data.tables.levels(experiment, factor) if one in there[factor]] for factor in of)
        return list(itertools.product(*levels))

    rows, columns = combinations(sides["rows"]), combinations(sides["columns"])
    x, places = _across(data, sides["columns"], columns)
    y = _axis(data, sides["rows"], [(float(at), _text(sides["rows"], row)) for at, row in enumerate(rows)])
    found = []
    for panel in combinations(sides["panels"]):
        marks: list[list[Rect]] = [[] for _ in series]
        for (at, row), (place, column) in itertools.product(enumerate(rows), zip(places, columns, strict=True)):
            key = panel + row + column
            shown = cell(key)
            said = ", ".join(map(data.words.level, factors, key))
            rect = Rect(
                (place - 0.5, place + 0.5), (at - 0.5, at + 0.5), shown.strength, shown.text, shown.weight,
                place=said, value=shown.value,
            )  # fmt: skip
            marks[shown.series].append(rect)
        drawn = [Series(look, label, rects, _KEY) for (look, label), rects in zip(series, marks, strict=True)]
        title = ", ".join(map(data.words.level, sides["panels"], panel))
        found.append(Panel(title, x, y, drawn))
    return found


def _text(factors: Sequence[str], levels: Sequence[str]) -> str:
    return levels_text(dict(zip(factors, levels, strict=True)))


def _axis(data: Data, factors: Sequence[str], names: Sequence[tuple[float, str]]) -> Axis:
    """The axis of the rows: the first on top."""
    label = " and ".join(map(data.words.factor, factors))
    return Axis(label, names[-1][0] + 0.5, -0.5, names=names, listed=True)


def _across(data: Data, factors: Sequence[str], columns: Sequence[Key]) -> tuple[Axis, list[float]]:
    """The axis of the columns and their places. The levels of outer factors stand above groups with gaps between."""
    names: list[tuple[float, str]] = []
    groups = []
    for number, (outer, members) in enumerate(itertools.groupby(columns, key=lambda column: column[:-1])):
        first = len(names)
        names += [(len(names) + at + _GAP * number, _text(factors[-1:], one[-1:])) for at, one in enumerate(members)]
        groups.append(((names[first][0] + names[-1][0]) / 2, _text(factors[:-1], outer)))
    label = " and ".join(map(data.words.factor, factors))
    end = names[-1][0] + 0.5
    axis = Axis(label, -0.5, end, names=names, groups=groups if len(factors) > 1 else (), listed=True)
    return axis, [at for at, _ in names]
