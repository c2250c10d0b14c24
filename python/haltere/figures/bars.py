"""Grouped bars with 95 % intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from haltere.figures.parts import AnyMark, Axis, Figure, Rect, Table, up_to
from haltere.figures.samples import Part, ends, listed_axis, sample, value_text
from haltere.figures.spec import Chart, Data, Description, Named
from haltere.metrics import quantities
from haltere.metrics.text import fixed
from haltere.stats import Interval


class Bars(Chart):
    """Grouped bars: `metric` on y from `baseline`, the levels of `x` on x, the levels of `series` side by side."""

    description = Description("bars", "bar", "Grouped bars with 95 % intervals.")

    x: str
    series: str
    only: tuple[str, ...] = ()
    """The levels of `series` that are shown; all if there are none."""
    baseline: float = 0.0

    def named_levels(self) -> Iterator[Named]:
        """The levels of factors that the figure names."""
        yield "only", self.series, self.only

    def figure(self, data: Data) -> Figure:
        """Compute what is drawn."""
        whole = sample(data, self, only=self.only)
        found, metric, label = whole.means(self.x), whole.metric, data.words.factor(self.x)
        x, places = listed_axis(label, self.x, whole.order[self.x])
        whiskers = {key: self._whisker(mean, metric.ceiling) for key, mean in found.items()}
        top = metric.ceiling or max((whiskers[key] or (0.0, mean.value))[1] for key, mean in found.items())
        ticks = up_to(self.baseline, top)
        decimals = next(p for p in range(9) if all(round(tick, p) == tick for tick in ticks))
        y = Axis(metric.axis, self.baseline, ticks[-1], names=[(tick, fixed(tick, decimals)) for tick in ticks])
        texts = {level: quantities.text(level, self.x) for level in places}

        def marks(part: Part) -> Sequence[AnyMark]:
            shown = []
            for level in places:
                key = (*part.keys, level)
                if key in found:
                    at, half = part.beside(places[level]), 0.46 * part.width
                    place, value = part.at(f"{label} {texts[level]}"), value_text(found[key], metric)
                    bar = Rect(
                        (at - half, at + half), (self.baseline, found[key].value), ends=whiskers[key],
                        place=place, value=value,
                    )  # fmt: skip
                    shown.append(bar)
            return shown

        figure = whole.draw(x, y, marks)
        table = None
        if not self.panels:
            names = whole.levels(self.series)
            rows = [
                [text, *(value_text(found[name, level], metric) if (name, level) in found else "–" for name in names)]
                for level, text in texts.items()
            ]
            table = Table([label[:1].upper() + label[1:], *(one.label for one in figure.legend)], rows)
        return replace(figure, section=metric.label, own_table=table)

    def _whisker(self, mean: Interval, ceiling: float | None) -> tuple[float, float] | None:
        """The ends of a bar's whisker, within what the metric can be; None if it needs no whisker or has none."""
        found = ends(mean)
        if found is None:
            return None
        return max(found[0], self.baseline), found[1] if ceiling is None else min(found[1], ceiling)
