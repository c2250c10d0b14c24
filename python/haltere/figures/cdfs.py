"""Cumulative distributions of a metric over runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from haltere.figures.parts import AnyMark, Axis, Dot, Figure, Line
from haltere.figures.samples import Part, number_axis, sample, thinned
from haltere.figures.spec import Chart, Data, Description
from haltere.metrics.text import significant

_TOLD = (0.1, 0.25, 0.5, 0.75, 0.9)
"""The shares at which a curve answers."""


class Cdfs(Chart):
    """The cumulative distribution of the metric over runs."""

    description = Description("cdfs", "cdf", "The cumulative distribution over runs.")

    def figure(self, data: Data) -> Figure:
        """Compute what is drawn."""
        whole = sample(data, self)
        unit = f" {whole.metric.unit}" if whole.metric.unit else ""

        def marks(part: Part) -> Sequence[AnyMark]:
            ordered = np.sort(part.frame["value"].to_numpy())
            line = [(float(ordered[0]), 0.0)]
            line += [(float(ordered[i]), (i + 1) / ordered.size) for i in thinned(ordered.size)]
            dots = []
            for share in _TOLD:
                at = float(np.quantile(ordered, share, method="inverted_cdf"))
                place = part.at(f"{100 * share:.0f} % of {ordered.size} runs")
                dots.append(Dot(at, share, form="answer", place=place, value=f"at most {significant(at)}{unit}"))
            return [Line(line, steps=True), *dots]

        x = number_axis(whole.metric.axis, whole.frame["value"].to_list(), log=self.log)
        return whole.draw(x, Axis("share of runs", 0.0, 1.0), marks)
