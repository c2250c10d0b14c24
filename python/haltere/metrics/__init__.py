"""The metrics that figures, tables and claims can show, as columns of the results declare them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from haltere.results import columns
from haltere.stats.ranking import ALIKE

EVERY = "all"
"""The flow of a metric over flows of different labels."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric.

    `column` of `table` divided by `divisor` is the value in `unit`. `comparison` says how two contenders are set
    against each other: by their ratio, or, for an index, by their difference. `alike` is the margin of practical
    equivalence: a ratio within 1/(1+alike) .. 1+alike, or a difference within ±alike, makes no practical difference.
    With `share_of`, the value is the share that `column` is of that column.
    A metric of the table `expression` is no column: `column` is an expression over metrics and columns of a run.
    `flow` and `direction` say which flows of a run count, by their label and direction; with flow `all` those of every
    label are averaged, else those of one label and direction only.
    `full` is the ratio, or difference, that overviews draw in full colour; `ceiling` is the largest value there can be.
    """

    name: str
    label: str
    unit: str
    table: Literal["flows", "runs", "latency", "expression"] = "expression"
    column: str = ""
    divisor: float = 1.0
    better: Literal["lower", "higher", "neither"] = "neither"
    definition: str = ""
    comparison: Literal["ratio", "difference"] = "ratio"
    alike: float = ALIKE
    full: float = 2.0
    ceiling: float | None = None
    share_of: str | None = None
    flow: str | None = None
    direction: str | None = None

    def of(self, flow: str | None = None, direction: str | None = None) -> Metric:
        """Return the metric of the flows of one label (`all`: of any) and of one direction."""
        whose = ", ".join(one for one in (flow, direction) if one not in (None, EVERY))
        label = f"{self.label} ({whose})" if whose else self.label
        return replace(self, flow=flow, direction=direction, label=label)

    @property
    def axis(self) -> str:
        """The label of an axis: name and unit."""
        return f"{self.label} ({self.unit})" if self.unit else self.label

    @property
    def ratio(self) -> bool:
        """Whether contenders are set against each other by their ratio."""
        return self.comparison == "ratio"

    @property
    def spoken(self) -> str:
        """The label within a sentence."""
        kept = self.label.startswith(("RTT", "Jain"))
        return self.label if kept else self.label[:1].lower() + self.label[1:]


def _declared() -> Iterator[Metric]:
    tables: dict[str, Any] = {"flow": "flows", "run": "runs", "probe": "latency"}
    for column in columns.declared():
        for shown in column.metrics:
            own = {name: value for name, value in shown.items() if name != "meaning" and value is not None}
            about: Any = {"better": column.better, "definition": shown["meaning"] or column.meaning}
            yield Metric(table=tables[column.of], column=column.name, **about, **own)


METRICS: dict[str, Metric] = {metric.name: metric for metric in _declared()}
