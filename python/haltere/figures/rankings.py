"""The levels of a factor in the order of a metric: who is first, and whom that is shown to be ahead of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import polars as pl

from haltere.figures.parts import Dot, Figure, Line, NotInResultsError, Panel, Series, Table
from haltere.figures.samples import ends, listed_axis, number_axis, sample, sought
from haltere.figures.spec import Chart, Data, Description
from haltere.metrics import Metric, quantities
from haltere.metrics.plain import interval, number
from haltere.stats import Interval, Lead, leads, typical


@dataclass(frozen=True)
class _Level:
    """A level that was ranked: its typical value, and how the first stands against it (None for the first itself)."""

    name: str
    value: Interval
    lead: Lead | None

    @property
    def behind(self) -> Interval | None:
        """Its value over the first's, with the interval that is corrected for all pairs."""
        if self.lead is None:
            return None
        found = self.lead.ratio
        low, high = (1 / found.high, 1 / found.low) if found.low and found.high else (None, None)
        return replace(found, value=1 / found.value, low=low, high=high)

    def words(self, metric: Metric) -> str:
        """How it stands against the first."""
        if self.lead is None:
            return "first"
        if self.lead.needed:
            return f"too few replications: {self.lead.needed} are needed"
        if self.lead.ahead:
            return "behind"
        alike = f"alike, within {100 * metric.alike:g} %"
        return alike if self.lead.stands == "alike" else "not shown to be behind"


class Rankings(Chart):
    """The levels of `factor`, best first, each with its ratio to the first.

    Over all other factors a replication has the geometric mean of its runs. The first was picked after the fact, so
    ratios have intervals, and tests p-values, that are corrected for all pairs of levels (`haltere.stats.ranking`). A
    replication in which a level lacks a run does not count for that level.
    """

    description = Description(
        "rankings", "ranking", "The levels of a factor, best first, with ratios to the first that are corrected."
    )
    factors = ("factor", "panels")

    factor: str
    series: Literal[""] = ""

    def figure(self, data: Data) -> Figure:
        """Compute what is drawn."""
        whole = sample(data, self)
        metric = whole.metric
        if metric.better == "neither":
            raise NotInResultsError(sought(self.experiment, metric, self.where, "no better and no worse"))
        label, panels, rows = data.words.factor(self.factor), [], []
        for name in whole.levels(self.panels):
            inside = whole.frame.filter(pl.col(self.panels) == name) if name else whole.frame
            found = ranked(inside, self.factor, whole.levels(self.factor), metric)
            title = data.words.level(self.panels, name) if name else ""
            panels.append(self._panel(title, label, found, metric))
            rows += [(title, str(at), *_row(one, self.factor, metric)) for at, one in enumerate(found, 1)]
        heads = (data.words.factor(self.panels) if self.panels else "", "", label, metric.axis)
        first = 0 if self.panels else 1
        heads_shown = (*heads, "÷ the first [corrected 95 %]", "p (corrected)", "")[first:]
        table = Table(heads_shown, [row[first:] for row in rows])
        title = self.title or f"{metric.label} by {label}, best first"
        return Figure(self.name, title, panels, self.source, own_table=table)

    def _panel(self, title: str, label: str, found: Sequence[_Level], metric: Metric) -> Panel:
        x, places = listed_axis(label, self.factor, [one.name for one in found])
        dots: dict[str, list[Dot]] = {"first": [], "quiet": []}
        for one in found:
            look = "first" if one.lead is None or one.lead.ahead else "quiet"
            place = quantities.text(one.name, self.factor)
            value = f"{_text(one.value, metric)}, {one.words(metric)}"
            at, whisker = (one.behind.value, ends(one.behind)) if one.behind else (1.0, None)
            dots[look].append(Dot(places[one.name], at, y_ends=whisker, place=place, value=value))
        every = [end for own in dots.values() for dot in own for end in (dot.y, *(dot.y_ends or ()))]
        y = number_axis(f"{metric.label} ÷ that of the first", [1.0, *every], log=True)
        equal = Series("quiet", "", [Line([(x.low, 1.0), (x.high, 1.0)], dash=":")])
        return Panel(
            title, x, y,
            [
                equal,
                Series("first", "first, or shown to be behind it", dots["first"]),
                Series("quiet", "not shown to be behind", dots["quiet"]),
            ],
        )  # fmt: skip


def ranked(values: pl.DataFrame, factor: str, levels: Sequence[str], metric: Metric) -> list[_Level]:
    """Rank the levels of a factor by a metric, best first.

    Args:
        values: `factor`, other factors, `replication` and `value`, which is above 0.
        factor: whose levels are ranked.
        levels: those that there are.
        metric: which way is better, and its margin of practical equivalence.

    Raises:
        NotInResultsError: if fewer than two levels have a complete replication, or a value is not above 0.
    """
    if (values["value"] <= 0).any():
        raise NotInResultsError(f"no ratios: {metric.label.lower()} is not above 0 everywhere")
    each = values.group_by(factor, "replication", maintain_order=True).agg(
        pl.col("value").log().mean().exp(), runs=pl.len()
    )
    whole = each["runs"].max()
    by_level = {
        level: dict(own.select("replication", "value").iter_rows())
        for (level,), own in each.filter(pl.col("runs") == whole).group_by(factor, maintain_order=True)
    }
    there = [level for level in levels if level in by_level]
    if len(there) < 2:
        raise NotInResultsError(f"no two levels of {factor} with a complete replication")
    replications = sorted({number for own in by_level.values() for number in own})
    columns = [[by_level[level].get(number) for number in replications] for level in there]
    middles = [typical([value for value in column if value is not None]) for column in columns]
    better = -1 if metric.better == "higher" else 1
    order = sorted(range(len(there)), key=lambda at: better * middles[at].value)
    against = {lead.other: lead for lead in leads(columns, order[0], alike=metric.alike)}
    return [_Level(there[at], middles[at], against.get(at)) for at in order]


def _row(one: _Level, factor: str, metric: Metric) -> tuple[str, str, str, str, str]:
    lead = one.lead
    shown = "1" if one.behind is None else interval(one.behind)
    p = "" if lead is None else "exact" if lead.p is None else f"{lead.p:.2g}"
    return quantities.text(one.name, factor), _text(one.value, metric), shown, p, one.words(metric)


def _text(found: Interval, metric: Metric) -> str:
    return f"{number(found.value)}{f' {metric.unit}' if metric.unit else ''}"
