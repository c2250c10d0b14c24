"""One metric against another: a point a treatment or a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import polars as pl

from haltere.figures.parts import AnyMark, Dot, Figure, NotInResultsError
from haltere.figures.samples import Part, number_axis, sample
from haltere.figures.spec import Chart, Data, Description
from haltere.metrics import quantities
from haltere.metrics.text import significant


class Scatters(Chart):
    """The metric against another one, `against`, a point a treatment (its means) or a run."""

    description = Description("scatters", "scatter", "A metric against another one.")
    metrics = ("metric", "against")

    against: str
    each: Literal["treatment", "run"] = "treatment"

    def figure(self, data: Data) -> Figure:
        """Compute what is drawn."""
        whole, other = sample(data, self), sample(data, self, metric=self.against)
        factors = [name for name in whole.frame.columns if name not in ("replication", "value")]
        both = whole.frame.join(
            other.frame.rename({"value": "other"}),
            on=[*factors, "replication"],
            how="inner",
            nulls_equal=True,
            maintain_order="left",
        )
        if both.is_empty():
            message = f"no completed run has both {whole.metric.label.lower()} and {other.metric.label.lower()}"
            raise NotInResultsError(message)
        if self.each == "treatment":
            both = both.group_by(factors, maintain_order=True).agg(pl.col("value", "other").mean())

        def dot(row: dict[str, Any]) -> Dot:
            place = ", ".join(quantities.text(row[factor], factor) for factor in factors if row[factor] is not None)
            if self.each == "run":
                place += f", replication {row['replication']}"
            value = ", ".join(
                f"{one.metric.label} {significant(row[column])} {one.metric.unit}".strip()
                for one, column in ((other, "other"), (whole, "value"))
            )
            return Dot(row["other"], row["value"], form="point", place=place, value=value)

        def marks(part: Part) -> Sequence[AnyMark]:
            return [dot(row) for row in part.frame.to_dicts()]

        x = number_axis(other.metric.axis, both["other"].to_list(), log=self.log)
        y = number_axis(whole.metric.axis, both["value"].to_list(), log=self.log)
        return replace(whole, frame=both).draw(x, y, marks)
