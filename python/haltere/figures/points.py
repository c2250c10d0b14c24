"""Figures of points: what treatments cost on x against what they give on y, a labelled point a treatment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from haltere.figures.parts import Axis, Dot, Figure, NotInResultsError, Panel, Series, Table
from haltere.figures.samples import ends, sought
from haltere.figures.spec import Data, Description, Kind, MetricName, Named, Part
from haltere.metrics import METRICS, Metric, quantities
from haltere.metrics.text import fixed
from haltere.stats import Interval, mean

Levels = Mapping[str, str | tuple[str, ...]]


class OtherPoint(Part):
    """A treatment beside those that a figure of points shows by its factor."""

    label: str
    levels: Mapping[str, str]


class Points(Kind):
    """Points: `metric` on y (logarithmic), what is lost of `lost` against the treatment `against` on x (percent).

    There is a point for each level of the factor `label`, at the levels of `where`, and one for each of `also`.
    """

    description = Description(
        "points",
        "point",
        "What is gained on y, what is lost on x: a labelled point a treatment.",
        section="Gain and cost",
        width="wide",
    )
    factors = ("label",)

    metric: MetricName
    lost: MetricName
    against: Mapping[str, str]
    label: str
    also: tuple[OtherPoint, ...] = ()

    def named_levels(self) -> Iterator[Named]:
        """The levels of factors that the figure names."""
        for factor, level in self.against.items():
            yield f"against.{factor}", factor, (level,)
        for number, other in enumerate(self.also):
            for factor, level in other.levels.items():
                yield f"also[{number}].levels.{factor}", factor, (level,)

    def figure(self, data: Data) -> Figure:
        """Compute what is drawn."""
        metric, lost = (self.whose(METRICS[name]) for name in (self.metric, self.lost))
        against = data.words.all_levels(self.against)
        x_label, y_label = f"{lost.label} lost against {against} (%)", metric.axis
        reference = self._values(data, lost, self.against)
        levels = data.tables.levels(self.experiment, self.label)
        chosen: list[tuple[str, str, Levels]]
        chosen = [(quantities.text(level, self.label), "first", {**self.where, self.label: level}) for level in levels]
        chosen += [(other.label, "second", other.levels) for other in self.also]
        found: list[tuple[str, Dot]] = []
        rows = []
        for label, look, treatment in chosen:
            gained, kept = self._values(data, metric, treatment), self._values(data, lost, treatment)
            shares = [100 * (1 - kept[r] / reference[r]) for r in sorted(kept) if reference.get(r)]
            if gained and shares:
                x, y = mean(shares), mean([gained[r] for r in sorted(gained)])
                said = f"{y_label}: {_text(y)}\n{x_label}: {_text(x)}"
                found.append((look, Dot(x.value, y.value, ends(x), ends(y), label, place=label, value=said)))
                rows.append((label, _text(y), _text(x)))
        if not found:
            raise NotInResultsError(sought(self.experiment, metric, self.where))
        xs = [value for _, dot in found for value in (dot.x, *(dot.x_ends or ()))]
        ys = [value for _, dot in found for value in (dot.y, *(dot.y_ends or ()))]
        low, high = min(0.0, *xs), max(1.0, *xs)
        room = 0.04 * (high - low)
        x_axis, y_axis = Axis(x_label, low - room, high + room), Axis(y_label, 0.9 * min(ys), 1.1 * max(ys), log=True)
        found = _named_together(found, x_axis, y_axis)
        series = [Series(look, "", [dot for one, dot in found if one == look]) for look in ("first", "second")]
        panel = Panel("", x_axis, y_axis, series)
        table = Table(("", y_label, x_label), rows)
        return Figure(self.name, self.title or metric.label, [panel], self.source, own_table=table, wide=True)

    def _values(self, data: Data, metric: Metric, where: Levels) -> dict[int, float]:
        """The metric by replication."""
        values = data.tables.values(self.experiment, metric, where)
        return dict(zip(values["replication"].to_list(), values["value"].to_list(), strict=True))


_TOUCHING = 0.02
"""Points nearer to each other than this share of both axes look like one."""


def _named_together(found: Sequence[tuple[str, Dot]], x: Axis, y: Axis) -> list[tuple[str, Dot]]:
    """Points that look like one have one label with all their names: as many labels as there are points to be seen."""
    groups: list[list[int]] = []
    for at, (look, dot) in enumerate(found):

        def touches(group: list[int], look: str = look, dot: Dot = dot) -> bool:
            first, other = found[group[0]]
            near = (abs(axis.place(a) - axis.place(b)) for axis, a, b in ((x, dot.x, other.x), (y, dot.y, other.y)))
            return look == first and all(share < _TOUCHING for share in near)

        group = next((one for one in groups if touches(one)), None)
        if group is None:
            groups.append([at])
        else:
            group.append(at)
    labels = {group[0]: ", ".join(found[at][1].label for at in group) for group in groups}
    return [(look, replace(dot, label=labels.get(at, ""))) for at, (look, dot) in enumerate(found)]


def _text(found: Interval) -> str:
    middle, whisker = fixed(found.value, 1), ends(found)
    return f"{middle} [{fixed(whisker[0], 1)}, {fixed(whisker[1], 1)}]" if whisker else middle
