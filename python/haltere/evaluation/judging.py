"""Judges the rows of a sheet: is the newcomer worse than others in the same place with the same dice.

An effect is the newcomer's value over the other's, or their difference, within each replication, with Student's
interval over replications. Each effect has a margin. A row with several effects is

- *worse* if one interval lies wholly beyond its margin on the bad side, at a confidence widened for the number of
  effects (Bonferroni): by chance at most one row in twenty of a newcomer that stands at the margin everywhere;
- *no worse* if no interval reaches beyond its margin on the bad side;
- *better* if it is no worse, and one interval lies wholly beyond its margin on the good side, at that confidence;
- *undecided* otherwise: more replications may tell.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from haltere.claims.comparison import MissingDataError, compare
from haltere.evaluation.harm import Harm, Place, harm
from haltere.evaluation.sheet import Part, Row, Sheet
from haltere.figures.spec import FigureList
from haltere.metrics import Metric, quantities
from haltere.metrics.tables import DifferentFlowsError, Tables
from haltere.stats import Interval

Word = Literal["worse", "no worse", "better", "undecided"]
Standing = Literal["worse", "no worse", "better", "undecided", "not run", "a matter of judgement"]
RISK = 0.05


@dataclass(frozen=True)
class Effect:
    """The newcomer beside one other in one place.

    Attributes:
        against: the other.
        place: the levels of the factors by which the part is split.
        metric: what is compared.
        margin: how much worse still counts as no worse.
        newcomer: the newcomer's mean value.
        other: the other's mean value.
        found: the ratio or difference with its interval at 95 %.
        harm: what is there without the newcomer, and what it and the other take of that; None if it is not known.
    """

    against: str
    place: Mapping[str, str]
    metric: Metric
    margin: float
    newcomer: float
    other: float
    found: Interval
    harm: Harm | None = None

    @property
    def reaches(self) -> tuple[float, float]:
        """The bad and the good end of what counts as equal."""
        low, high = (1 / (1 + self.margin), 1 + self.margin) if self.metric.ratio else (-self.margin, self.margin)
        return (high, low) if self.metric.better == "lower" else (low, high)

    def beyond(self, *, good: bool, effects: int) -> bool:
        """Whether the interval, widened for a number of effects, lies wholly beyond the margin on one side."""
        wide = self.found.at(1 - RISK / effects)
        if wide.low is None or wide.high is None:
            return False
        bad_end, good_end = self.reaches
        above = (self.metric.better == "lower") != good
        return wide.low > (good_end if good else bad_end) if above else wide.high < (good_end if good else bad_end)

    @property
    def excess(self) -> float:
        """How far the newcomer is on the bad side, in margins: 1 at the margin, negative where it is better."""
        return self._in_margins(self.found.value)

    @property
    def excesses(self) -> tuple[float, float, float]:
        """The excess with the ends of its interval at 95 %; without an interval, three times the excess."""
        ends = [self.found.value if end is None else end for end in (self.found.low, self.found.high)]
        low, high = sorted(map(self._in_margins, ends))
        return self.excess, low, high

    def _in_margins(self, value: float) -> float:
        margin = self.margin
        if self.metric.ratio:
            value, margin = math.log(value), math.log1p(margin)
        return (value if self.metric.better == "lower" else -value) / margin

    @property
    def within(self) -> bool:
        """Whether the interval does not reach beyond the margin on the bad side."""
        if self.found.low is None or self.found.high is None:
            return False
        bad_end, _ = self.reaches
        return self.found.high <= bad_end if self.metric.better == "lower" else self.found.low >= bad_end


@dataclass(frozen=True)
class Judged:
    """A row of the sheet with what was found. `words` has a word for each that the newcomer is held against.

    `standing` is the word against the first of them; `reason` says why there is none.
    """

    row: Row
    standing: Standing
    words: Mapping[str, Word]
    effects: Sequence[Effect]
    reason: str = ""


@dataclass(frozen=True)
class Judgement:
    """A whole sheet: the newcomer, what it is held against, and every row."""

    newcomer: str
    against: Sequence[str]
    rows: Sequence[Judged]

    def of(self, standing: Standing) -> list[Judged]:
        """Return the rows that stand so."""
        return [one for one in self.rows if one.standing == standing]


def senders(sheet: Sheet, tables: Tables) -> list[str]:
    """Return the levels of the sheet's factor in some results, as the study has them: the newcomer is the first."""
    return next((list(of[sheet.factor]) for of in tables.factors.values() if sheet.factor in of), [])


def judge(
    sheet: Sheet,
    words: FigureList,
    tables: Tables,
    *,
    newcomer: str,
    against: Sequence[str],
    left_out: Mapping[str, str] | None = None,
) -> Judgement:
    """Judge every row.

    Args:
        sheet: the rows.
        words: the study's own columns.
        tables: the results.
        newcomer: the level of the sheet's factor that is judged.
        against: the levels that it is held against.
        left_out: why experiments cannot be run for this newcomer.
    """
    data = _Data(words, tables, sheet.factor, newcomer)
    return Judgement(newcomer, against, [_judged(row, data, against, left_out or {}) for row in sheet.rows])


@dataclass(frozen=True)
class _Data:
    words: FigureList
    tables: Tables
    factor: str
    newcomer: str

    def metric(self, part: Part) -> Metric:
        return self.words.metric(part.metric).of(part.flow)


def _judged(row: Row, data: _Data, against: Sequence[str], left_out: Mapping[str, str]) -> Judged:
    if row.judgement:
        return Judged(row, "a matter of judgement", {}, [], row.judgement)
    absent = [part.experiment for part in row.parts if part.experiment not in data.tables.factors]
    if row.missing or absent:
        why = row.missing or left_out.get(absent[0], f"experiment {absent[0]} is not in these results")
        return Judged(row, "not run", {}, [], why)
    effects, words, reason = list[Effect](), dict[str, Word](), ""
    for other in against:
        try:
            found = [one for part in row.parts for one in _effects(part, data, other)]
        except (MissingDataError, DifferentFlowsError) as missing:
            words[other], reason = "undecided", reason or f"{missing}."
            continue
        words[other] = word(found)
        effects += found
    standing: Standing = words[against[0]] if against else "undecided"
    return Judged(row, standing, words, effects, reason)


def word(effects: Sequence[Effect]) -> Word:
    """Return how the effects of a row against one other stand together."""
    count = len(effects)
    if any(one.beyond(good=False, effects=count) for one in effects):
        return "worse"
    if not effects or not all(one.within for one in effects):
        return "undecided"
    return "better" if any(one.beyond(good=True, effects=count) for one in effects) else "no worse"


def _effects(part: Part, data: _Data, other: str) -> Iterator[Effect]:
    of_all = data.tables.factors[part.experiment]
    factors = {name: list(levels) for name, levels in of_all.items() if name != data.factor}
    metric = data.metric(part)
    split = [quantities.ordered(factors[name]) for name in part.by]
    for chosen in itertools.product(*split):
        levels = dict(zip(part.by, chosen, strict=True))
        over = {**factors, **{name: [level] for name, level in levels.items()}}
        found = compare(data.tables, part.experiment, metric, data.factor, data.newcomer, other, over=over)
        its, others = (_mean(part, data, metric, {**over, data.factor: [one]}) for one in (data.newcomer, other))
        place = Place(data.tables, part, metric, data.factor, over)
        yield Effect(other, levels, metric, part.margin, its, others, found.pooled(), harm(place, data.newcomer, other))


def _mean(part: Part, data: _Data, metric: Metric, where: Mapping[str, Sequence[str]]) -> float:
    found = data.tables.values(part.experiment, metric, where).select(pl.col("value").mean()).item()
    return float("nan") if found is None else float(found)
