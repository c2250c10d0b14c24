"""Grouped bars with 95 % intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from haltere.figures.parts import AnyMark, Axis, Dot, Ends, Figure, Rect, Table, up_to
from haltere.figures.samples import Part, ends, listed_axis, mean_axis, sample, value_text, wide_range
from haltere.figures.spec import Data, Description, SideBySide
from haltere.metrics import Metric, quantities
from haltere.metrics.tables import Key
from haltere.metrics.text import fixed
from haltere.stats import Interval


class Bars(SideBySide):
    """Grouped bars: `metric` on y from `baseline`, the levels of `x` on x, the levels of `series` side by side.

    A logarithmic axis has no zero from which bars could rise: it has points.
    """

    description = Description("bars", "bar", "Grouped bars with 95 % intervals.")

    baseline: float = 0.0

    def figure(self, data: Data) -> Figure:
        """Compute what is drawn."""
        whole = sample(data, self, only=self.only)
        found, metric, label = whole.means(self.x), whole.metric, data.words.factor(self.x)
        x, places = listed_axis(label, self.x, whole.order[self.x])
        log = self.log or (self.log is None and not metric.ceiling and wide_range(found.values()))
        whiskers = {key: self._whisker(mean, metric.ceiling) for key, mean in found.items()}
        y = mean_axis(metric.axis, found.values()) if log else self._linear(metric, found, whiskers)
        texts = {level: quantities.text(level, self.x) for level in places}

        def marks(part: Part) -> Sequence[AnyMark]:
            shown: list[AnyMark] = []
            for level in places:
                key = (*part.keys, level)
                if key in found:
                    at, half = part.beside(places[level]), 0.46 * part.width
                    place, value = part.at(data.words.level(self.x, level)), value_text(found[key], metric)
                    bar = Rect(
                        (at - half, at + half), (self.baseline, found[key].value), ends=whiskers[key],
                        place=place, value=value,
                    )  # fmt: skip
                    dot = Dot(at, found[key].value, y_ends=ends(found[key]), place=place, value=value)
                    shown.append(dot if log else bar)
            return shown

        figure = whole.draw(x, y, marks)
        table = None
        if not self.panels:
            own = self.series in ("", self.x)
            names = [""] if own else whole.levels(self.series)
            labels = [data.words.level(self.series, one) for one in names] if figure.colours else None
            heads = [metric.axis] if own else labels or [one.label for one in figure.legend]
            rows = []
            for level, text in texts.items():
                keys = [(level,) * (2 if self.series else 1) if own else (name, level) for name in names]
                rows.append([text, *(value_text(found[key], metric) if key in found else "–" for key in keys)])
            table = Table([label[:1].upper() + label[1:], *heads], rows)
        return replace(figure, section=data.words.metric(self.metric).label, own_table=table)

    def _linear(self, metric: Metric, found: Mapping[Key, Interval], whiskers: Mapping[Key, Ends | None]) -> Axis:
        """The axis of bars, from the baseline to a round number above them all."""
        top = metric.ceiling or max((whiskers[key] or (0.0, mean.value))[1] for key, mean in found.items())
        ticks = up_to(self.baseline, top)
        decimals = next(p for p in range(9) if all(round(tick, p) == tick for tick in ticks))
        return Axis(metric.axis, self.baseline, ticks[-1], names=[(tick, fixed(tick, decimals)) for tick in ticks])

    def _whisker(self, mean: Interval, ceiling: float | None) -> Ends | None:
        """The ends of a bar's whisker, within what the metric can be; None if it needs no whisker or has none."""
        found = ends(mean)
        if found is None:
            return None
        return max(found[0], self.baseline), found[1] if ceiling is None else min(found[1], ceiling)
