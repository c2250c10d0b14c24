"""Violins: the density of a metric over runs, with median and quartiles.

The density is a Gaussian kernel estimate with Scott's bandwidth (D. W. Scott, Multivariate Density Estimation, 1992),
of the logarithms on a logarithmic axis; it ends at the least and the largest value.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from haltere.errors import counted
from haltere.figures.parts import AnyMark, Dot, Figure, Outline, Point
from haltere.figures.samples import Part, listed_axis, number_axis, sample
from haltere.figures.spec import Chart, Data, Description
from haltere.metrics.text import significant

_STEPS = 48


class Violins(Chart):
    """The density of the metric over runs, for each level of the factor `x`, with median and quartiles."""

    description = Description("violins", "violin", "The density over runs, with median and quartiles.")

    x: str

    def figure(self, data: Data) -> Figure:
        """Compute what is drawn."""
        whole = sample(data, self)
        x, places = listed_axis(data.words.factor(self.x), self.x, whole.levels(self.x))
        y = number_axis(whole.metric.axis, whole.frame["value"].to_list(), log=bool(self.log))

        def marks(part: Part) -> Sequence[AnyMark]:
            found: list[AnyMark] = []
            for level, runs in part.split(self.x, places):
                values = np.asarray(runs, dtype=np.float64)
                first, middle, third = (float(q) for q in np.quantile(values, [0.25, 0.5, 0.75]))
                said = f"median {significant(middle)}, quartiles {significant(first)} and {significant(third)}"
                said = " ".join(filter(None, (said, whole.metric.unit))) + f", {counted(values.size, 'run')}"
                place, at = part.at(data.words.level(self.x, level)), part.beside(places[level])
                shape = outline(values, at, 0.46 * part.width, log=y.log)
                found.append(Outline(shape, 0.45, place=place, value=said))
                found.append(Dot(at, middle, y_ends=(first, third), place=place, value=said))
            return found

        return whole.draw(x, y, marks)


def outline(values: NDArray[np.float64], centre: float, half: float, *, log: bool) -> list[Point]:
    """The outline of a violin: as wide as the density, `half` to each side where that is largest."""
    from scipy.stats import gaussian_kde  # noqa: PLC0415 (a third of a second to load)

    scale = np.log(values) if log else values
    low, high = float(scale.min()), float(scale.max())
    if values.size < 3 or high == low:
        flat = float(values.mean())
        return [(centre - half, flat), (centre + half, flat)]
    at = np.linspace(low, high, _STEPS)
    density = gaussian_kde(scale)(at)
    widths = half * density / density.max()
    levels = np.exp(at) if log else at
    right = [(centre + float(w), float(v)) for w, v in zip(widths, levels, strict=True)]
    return right + [(2 * centre - px, py) for px, py in reversed(right)]
