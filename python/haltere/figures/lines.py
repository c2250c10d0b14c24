"""Lines along a factor: means with 95 % intervals over replications."""

from __future__ import annotations

from collections.abc import Sequence

from haltere.figures.parts import AnyMark, Dot, Figure, Line
from haltere.figures.samples import Part, ends, factor_axis, number_axis, sample, value_text
from haltere.figures.spec import Chart, Data, Description
from haltere.metrics import quantities


class Lines(Chart):
    """The metric's mean with its 95 % interval along the factor `x`, to scale where its levels are quantities."""

    description = Description("lines", "line", "Means with 95 % intervals along a factor.")

    x: str

    def figure(self, data: Data) -> Figure:
        """Compute what is drawn."""
        whole = sample(data, self)
        found, levels = whole.means(self.x), whole.levels(self.x)
        x, places = factor_axis(data.words.factor(self.x), self.x, levels)

        def marks(part: Part) -> Sequence[AnyMark]:
            dots = []
            for level in levels:
                mean = found.get((*part.keys, level))
                if mean is not None:
                    place = part.at(quantities.text(level, self.x))
                    value = value_text(mean, whole.metric)
                    dots.append(Dot(places[level], mean.value, y_ends=ends(mean), place=place, value=value))
            return [Line([(dot.x, dot.y) for dot in dots]), *dots]

        values = [value for mean in found.values() for value in (mean.value, *(ends(mean) or ()))]
        y = number_axis(whole.metric.axis, values, log=self.log, zero=not self.log and min(values) >= 0)
        return whole.draw(x, y, marks)
