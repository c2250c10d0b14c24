"""Changes between two results folders, treatment by treatment, and whether they are real.

A treatment is in both folders if its experiment and all levels of its factors are. Where the seeds are the same, both
met the same random losses in a replication, and values are compared in pairs; else as independent sets. Each treatment
and metric is one test: Student's t test of the paired differences, or Welch's, of logarithms for metrics that are
compared by their ratio. The p-values of all tests are corrected together (Holm), so that of two folders between which
nothing differs but chance at most 5 % show any real difference.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from haltere.errors import ArgumentError, InputError, among, as_written
from haltere.metrics import METRICS, Metric, quantities
from haltere.metrics.tables import Tables, margins
from haltere.notebook import notebook
from haltere.results import Results
from haltere.stats import holm, paired_p, welch_p

Standing = Literal["same", "real", "not shown", "undecided"]
"""The values are the same; their mean differs beyond chance; that is not shown; too few replications to tell."""

Levels = Mapping[str, str]
Values = NDArray[np.float64]
CONFIDENCE = 0.95
LEAST = 3
"""Replications below which a difference that is not the same every time remains undecided."""


@dataclass(frozen=True)
class Change:
    """One metric of one treatment in both folders: means `a` and `b` in the metric's unit.

    `change` is b ÷ a (the geometric mean of the ratios where values are paired), or b − a for metrics that are compared
    by their difference. `p` is corrected for the number of tests; None where every value was the same on both sides.
    """

    experiment: str
    levels: Mapping[str, str]
    metric: Metric
    n: int
    a: float
    b: float
    change: float
    p: float | None
    standing: Standing

    @property
    def small(self) -> bool:
        """Whether the change lies within the metric's margin of practical equivalence."""
        low, high = margins(self.metric)
        return low <= self.change <= high

    @property
    def better(self) -> bool | None:
        """Whether the second folder is ahead; None where neither direction is better, or nothing changed."""
        neutral = 1.0 if self.metric.comparison == "ratio" else 0.0
        if self.metric.better == "neither" or self.change == neutral:
            return None
        return (self.change > neutral) == (self.metric.better == "higher")

    @property
    def said(self) -> str:
        """The change in words: `+12 %, better`, `−3 packets, small` if it is small in practice."""
        if self.metric.comparison == "difference":
            words = f"{self.change:+.3g} {self.metric.unit}".strip()
        elif math.isinf(self.change):
            words = "from 0"
        else:
            words = f"{100 * (self.change - 1):+.3g} %"
        side = {True: ", better", False: ", worse", None: ""}[self.better]
        return words.replace("-", "−") + (", small" if self.small else side)

    def data(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        metric = {"metric": self.metric.name, "flow": self.metric.flow, "direction": self.metric.direction}
        meaning = {"unit": self.metric.unit, "comparison": self.metric.comparison}
        own = {name: getattr(self, name) for name in ("n", "a", "b", "p", "standing", "small")}
        change = self.change if math.isfinite(self.change) else None
        return {"experiment": self.experiment, "levels": self.levels, **metric, **meaning, **own, "change": change}


@dataclass(frozen=True, repr=False)
class Difference:
    """The whole comparison of two folders.

    `only_a` and `only_b` are treatments that one folder alone has, `failures` those whose number of failed runs
    differs, with both numbers. `paired` says whether the seeds are the same.
    """

    changes: Sequence[Change]
    paired: bool
    only_a: Sequence[Mapping[str, str]] = ()
    only_b: Sequence[Mapping[str, str]] = ()
    failures: Sequence[tuple[Mapping[str, str], int, int]] = ()
    tests: int = 0

    @property
    def real(self) -> list[Change]:
        """The changes that are real, the largest first in terms of the metric's full scale."""
        found = [change for change in self.changes if change.standing == "real"]
        return sorted(found, key=_size, reverse=True)

    def counts(self) -> dict[Standing, int]:
        """Return how many tests have each standing."""
        standings = [change.standing for change in self.changes]
        names: tuple[Standing, ...] = ("same", "real", "not shown", "undecided")
        return {name: standings.count(name) for name in names}

    @property
    def answer(self) -> str:
        """How many changes there are, in a sentence."""
        counts = self.counts()
        return (
            f"{counts['real']} real changes; {counts['same']} the same, {counts['not shown']} not shown to be real, "
            f"{counts['undecided']} undecided (fewer than {LEAST} replications)"
        )

    @property
    def table(self) -> pl.DataFrame:
        """A row a real change, the largest first: treatment, metric, both means, the change in words, and p."""
        rows = [
            (place({"experiment": one.experiment, **one.levels}), one.metric.axis, one.a, one.b, one.said, one.p)
            for one in self.real
        ]
        numbers = {"A": pl.Float64(), "B": pl.Float64(), "B against A": pl.String(), "p": pl.Float64()}
        return pl.DataFrame(rows, schema={"treatment": pl.String(), "metric": pl.String(), **numbers}, orient="row")

    def data(self) -> dict[str, Any]:
        """Return all of it as JSON has it."""
        return {
            "paired": self.paired,
            "tests": self.tests,
            "counts": self.counts(),
            "only_a": list(self.only_a),
            "only_b": list(self.only_b),
            "failures": [{"treatment": levels, "a": a, "b": b} for levels, a, b in self.failures],
            "changes": [one.data() for one in self.changes],
        }

    def __repr__(self) -> str:
        return f"<Difference: {self.answer}>"

    def _repr_html_(self) -> str:
        return notebook(self.answer, self.table)


def place(levels: Mapping[str, str]) -> str:
    """Return the levels of a treatment in words."""
    return ", ".join(quantities.named(level, factor) for factor, level in levels.items())


def compare(a: Results, b: Results, *, metrics: Sequence[str] | None = None) -> Difference:
    """Compare two results folders.

    Args:
        a: the first, against which the second is compared.
        b: the second.
        metrics: names of metrics (default: all that both hold).

    Raises:
        InputError: if a metric is unknown, or they have no experiment with the same factors in common.
    """
    for name in metrics or ():
        if name not in METRICS:
            raise ArgumentError(
                "there is no such metric", field="metrics", given=as_written(name), right=among(name, METRICS)
            )
    first, second = Tables.of(a), Tables.of(b)
    common = [
        name
        for name, factors in first.factors.items()
        if name in second.factors and set(factors) == set(second.factors[name])
    ]
    if not common:
        raise InputError(
            "the two have no experiment with the same factors in common",
            field=str(b.path),
            given=_described(second),
            right=_described(first),
        )
    pairs = a.manifest["seed"] == b.manifest["seed"]
    chosen = [METRICS[name] for name in metrics] if metrics else list(METRICS.values())
    changes = [
        change
        for name in common
        for metric in chosen
        for part in first.parted(metric, name)
        for change in _changes(first, second, name, part, pairs=pairs)
    ]
    adjusted = holm([change.p for change in changes])
    judged = [
        dataclasses.replace(change, p=p, standing=_standing(change, p))
        for change, p in zip(changes, adjusted, strict=True)
    ]
    only_a, only_b, failures = _unmatched(first, second)
    return Difference(judged, pairs, only_a, only_b, failures, sum(change.p is not None for change in judged))


def _described(tables: Tables) -> str:
    return "; ".join(f"{name}: {', '.join(factors) or 'no factors'}" for name, factors in tables.factors.items())


def _changes(a: Tables, b: Tables, experiment: str, metric: Metric, *, pairs: bool) -> list[Change]:
    factors = list(a.factors[experiment])
    first, second = (_grouped(tables, experiment, metric, factors) for tables in (a, b))
    found = []
    for levels, mine in first.items():
        other = second.get(levels)
        if other is None:
            continue
        shared = sorted(mine.keys() & other.keys())
        if pairs and not shared:
            continue
        x = np.array([mine[r] for r in (shared if pairs else sorted(mine))])
        y = np.array([other[r] for r in (shared if pairs else sorted(other))])
        treatment = dict(zip(factors, levels, strict=True))
        found.append(_change(experiment, treatment, metric, (x, y), pairs=pairs))
    return found


def _grouped(
    tables: Tables, experiment: str, metric: Metric, factors: Sequence[str]
) -> dict[tuple[str, ...], dict[int, float]]:
    values = tables.values(experiment, metric)
    groups: dict[tuple[str, ...], dict[int, float]] = {}
    for row in values.iter_rows(named=True):
        key = tuple(str(row[factor]) for factor in factors)
        groups.setdefault(key, {})[row["replication"]] = row["value"]
    return groups


def _change(experiment: str, levels: Levels, metric: Metric, both: tuple[Values, Values], *, pairs: bool) -> Change:
    a, b = both
    by_ratio = metric.comparison == "ratio" and bool((a > 0).all() and (b > 0).all())
    x, y = (np.log(a), np.log(b)) if by_ratio else (a, b)
    middle = float(y.mean() - x.mean())
    change = math.exp(middle) if by_ratio else _plain(metric, float(a.mean()), float(b.mean()))
    p = paired_p(y - x) if pairs else welch_p(x, y)
    n = min(a.size, b.size)
    if p is not None and n < LEAST:
        p = 1.0
    standing: Standing = "undecided" if n < LEAST else "not shown"
    if p is None:
        standing = "same" if middle == 0 else "real" if n > 1 else "undecided"
    return Change(experiment, levels, metric, n, float(a.mean()), float(b.mean()), change, p, standing)


def _plain(metric: Metric, a: float, b: float) -> float:
    """The ratio of two means of which one may be 0, or their difference."""
    if metric.comparison == "difference":
        return b - a
    if a == b:
        return 1.0
    return b / a if a else math.inf


def _standing(change: Change, p: float | None) -> Standing:
    if p is None or change.standing == "undecided":
        return change.standing
    return "real" if p <= 1 - CONFIDENCE else "not shown"


def _size(change: Change) -> float:
    """How large a change is, as a share of what its metric calls full."""
    if change.metric.comparison == "difference":
        return abs(change.change) / change.metric.full
    if not 0 < change.change < math.inf:
        return math.inf
    return abs(math.log(change.change)) / math.log(change.metric.full)


def _unmatched(a: Tables, b: Tables) -> tuple[list[Levels], list[Levels], list[tuple[Levels, int, int]]]:
    """Return the treatments of `a` alone, of `b` alone, and those whose number of failed runs differs."""
    first, second = _treatments(a), _treatments(b)
    only_a = [levels for key, (levels, _) in first.items() if key not in second]
    only_b = [levels for key, (levels, _) in second.items() if key not in first]
    both = [(levels, failed, second[key][1]) for key, (levels, failed) in first.items() if key in second]
    return only_a, only_b, [one for one in both if one[1] != one[2]]


def _treatments(tables: Tables) -> dict[tuple[tuple[str, str], ...], tuple[Levels, int]]:
    """Return the levels of each treatment, and how many of its runs failed."""
    found: dict[tuple[tuple[str, str], ...], tuple[Levels, int]] = {}
    for name, factors in tables.factors.items():
        grouped = tables.experiment_runs(name).group_by(list(factors) or "experiment", maintain_order=True)
        for row in grouped.agg(failed=(pl.col("status") != "ok").sum()).iter_rows(named=True):
            levels = {"experiment": name, **{factor: str(row[factor]) for factor in factors}}
            found[tuple(sorted(levels.items()))] = levels, row["failed"]
    return found
