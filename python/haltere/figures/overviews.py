"""Maps of all treatments, in which two levels of a factor are set against each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from haltere.figures.maps import Cell, Map, directions, panels
from haltere.figures.parts import Figure, NotInResultsError
from haltere.figures.samples import comparison_text, sought
from haltere.figures.spec import Data, Description, Named
from haltere.metrics import METRICS, Metric
from haltere.metrics.contenders import is_contender, keys, look
from haltere.metrics.tables import Key, judged_together, paired, standing
from haltere.metrics.text import number, strength

_WEIGHTS: dict[str, Literal["plain", "bold", "faint"]] = {
    "of": "bold", "to": "bold", "alike": "plain", "unclear": "faint"
}  # fmt: skip


class Overview(Map):
    """A map of all treatments: level `of` of `factor` against level `to`, a cell a treatment.

    `panels`, `rows` and `columns` are the factors that place a cell; together with `factor` and `where` they are all
    factors of the experiment.
    """

    description = Description(
        "overviews",
        "overview",
        "A map of all treatments, in which two levels of a factor are set against each other.",
        width="answer",
    )

    of: str
    to: str

    def named_levels(self) -> Iterator[Named]:
        """The levels of factors that the figure names."""
        yield "of", self.factor, (self.of,)
        yield "to", self.factor, (self.to,)

    def figure(self, data: Data) -> Figure:
        """Compute what is drawn."""
        metric = self.whose(METRICS[self.metric])
        values = data.tables.values(self.experiment, metric, self.where)
        missing = sought(self.experiment, metric, {**self.where, self.factor: f"{self.of} and {self.to}"})
        if values.is_empty() or any(factor not in values.columns for factor in [*self.axes, self.factor]):
            raise NotInResultsError(missing)
        pairs = paired(values, self.factor, self.of, self.to, metric)
        if pairs.is_empty():
            raise NotInResultsError(missing)
        found = judged_together(pairs, self.axes, metric)
        title = self.title or f"{metric.label}, {_named(self.of)} against {_named(self.to)}"
        sides = [_ahead(side, metric) for side in (self.of, self.to)]

        def cell(key: Key) -> Cell:
            point = found.get(key)
            if point is None:
                return Cell(2, ["–"], weight="faint", value="no completed pair of runs")
            stands = standing(point, metric)
            side, opacity = strength(point.value, metric, clear=stands != "unclear")
            said = {"of": sides[0], "to": sides[1], "alike": "no practical difference"}.get(stands)
            weight = _WEIGHTS[stands]
            value = f"{title}: {comparison_text(point)}\n{said or 'the runs cannot tell'}"
            return Cell(int(side == "to"), [number(point.value, metric.comparison)], opacity, weight, value)

        drawn = keys([self.of, self.to])
        series = [(drawn[self.of], sides[0]), (drawn[self.to], sides[1]), ("ink", "")]
        return Figure(
            self.name,
            title,
            panels(data, self.experiment, self.sides, found, series, cell),
            self.source,
            caption=f"a cell is the {_what(metric, self.of, self.to)} of a treatment: {directions(data, self.sides)}.",
            notes=(("bold", "clearly so, all cells together at 95 %"), ("faint", "the runs cannot tell")),
            cell=(35.0, 28.0),
        )


def _what(metric: Metric, of: str, to: str) -> str:
    """The words for a cell, such as `ratio QUIC ÷ TCP`."""
    kind, sign = ("ratio", "÷") if metric.comparison == "ratio" else ("difference", "−")
    return f"{kind} {_named(of)} {sign} {_named(to)}"


def _named(side: str) -> str:
    return look(side).name if is_contender(side) else side


def _ahead(side: str, metric: Metric) -> str:
    """How a legend says that a side is ahead, such as `QUIC sooner`."""
    word = "sooner" if metric.name == "completion_time" else metric.better
    return f"{_named(side)} {word}"
