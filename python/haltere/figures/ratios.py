"""Two levels of a factor against each other, along another factor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from haltere.figures.parts import AnyMark, Dot, Figure, Line, NotInResultsError, Series
from haltere.figures.samples import Part, comparison_text, ends, factor_axis, joined, number_axis, sample, sought
from haltere.figures.spec import Chart, Data, Description, Named
from haltere.metrics.tables import from_scale, paired


class Ratios(Chart):
    """The metric at level `of` of `factor` over that at level `to`, with 95 % intervals, along the factor `x`.

    The levels are compared within each replication, where both meet the same losses. A metric that is compared by
    differences, such as Jain's index, has the difference.
    """

    description = Description("ratios", "ratio", "Two levels of a factor against each other, along another factor.")
    factors = ("x", "factor", "series", "panels")

    x: str
    factor: str
    of: str
    to: str

    def named_levels(self) -> Iterator[Named]:
        """The levels of factors that the figure names."""
        yield "of", self.factor, (self.of,)
        yield "to", self.factor, (self.to,)

    def figure(self, data: Data) -> Figure:
        """Compute what is drawn."""
        whole = sample(data, self)
        metric, where = whole.metric, {**self.where, self.factor: f"{self.of} and {self.to}"}
        pairs = replace(whole, frame=paired(whole.frame, self.factor, self.of, self.to, metric), compared=True)
        if pairs.frame.is_empty():
            raise NotInResultsError(sought(self.experiment, metric, where, "no completed pair of runs"))
        found = {key: from_scale(one, metric) for key, one in pairs.means(self.x).items()}
        x, places = factor_axis(data.words.factor(self.x), self.x, pairs.levels(self.x))

        def marks(part: Part) -> Sequence[AnyMark]:
            dots = []
            for level, at in places.items():
                one = found.get((*part.keys, level))
                if one is not None:
                    place, value = part.at(data.words.level(self.x, level)), comparison_text(one)
                    dots.append(Dot(part.along(x, at), one.value, y_ends=ends(one), place=place, value=value))
            return joined(x, dots)

        ratio = metric.comparison == "ratio"
        values = [value for one in found.values() for value in (one.value, *(ends(one) or ()))]
        of, to = (data.words.level(self.factor, side) for side in (self.of, self.to))
        label = f"{metric.label}, {of} {'÷' if ratio else '−'} {to}"
        y = number_axis(label, [*values, 1.0 if ratio else 0.0], log=ratio)
        figure = pairs.draw(x, y, marks)
        level = Series("quiet", "", [Line([(x.low, float(ratio)), (x.high, float(ratio))], dash=":")])
        panels = [replace(panel, series=[level, *panel.series]) for panel in figure.panels]
        return replace(figure, title=self.title or label, panels=panels)
