"""Compares two levels of a factor over many treatments in pairs, and decides claims by it.

The independent unit is the replication: all treatments of one replication draw from the same random streams, so what is
averaged over treatments is averaged within a replication first, and the interval is taken over replications.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from haltere.metrics import METRICS, Metric, quantities
from haltere.metrics.tables import Tables, check_names, from_scale, paired
from haltere.stats import Interval, mean
from haltere.stats.intervals import clopper_pearson, from_logarithms, together

Levels = Mapping[str, Sequence[str]]
"""For every factor of the experiment but the compared one, the levels that a statement speaks of."""


LEAST = 3
"""Replications that an interval needs, unless all give the same value."""
SHARE = "Clopper and Pearson"
"""The method of the interval of a share that is the same in every replication."""


def few(has: int) -> str:
    """Say that there are too few replications: `needs 3 replications or more, has 1`."""
    return f"needs {LEAST} replications or more, has {has}"


class MissingDataError(LookupError):
    """The results lack treatments or replications that a claim needs; the message says which."""


def runs_of(tables: Tables, experiment: str) -> pl.DataFrame:
    """Return the runs of an experiment, one a row, with its factors as columns.

    Raises:
        MissingDataError: if the results hold none.
    """
    runs = tables.experiment_runs(experiment)
    if runs.is_empty():
        raise MissingDataError(f"experiment {experiment} is not in these results")
    return runs


def geometric(logarithms: NDArray[np.float64]) -> Interval:
    """Return the geometric mean of ratios from their logarithms, one a replication, with its interval at 95 %."""
    return from_logarithms(mean(logarithms))


@dataclass(frozen=True)
class Comparison:
    """Level `of` against level `to` of one factor: `matrix[cell, replication]` holds log ratios or differences."""

    metric: Metric
    of: str
    to: str
    cells: tuple[Mapping[str, str], ...]
    matrix: NDArray[np.float64]

    @property
    def replications(self) -> int:
        """How many replications are complete in every cell."""
        return int(self.matrix.shape[1])

    def pooled(self) -> Interval:
        """The mean over all cells: a geometric mean of ratios, or a mean difference; its interval over replications."""
        return self._back(mean(self.matrix.mean(axis=0)))

    def share_above(self) -> Interval:
        """The share of cells in which `of` has the larger value, a tie counted half; its interval over replications.

        If the share is the same in all replications though their values differ, it says nothing of its own spread. The
        interval is then that of a share found in so many trials (C. J. Clopper, E. S. Pearson, Biometrika 26, 1934).
        """
        found = mean(((np.sign(self.matrix) + 1) / 2).mean(axis=0))
        if not found.exact or (self.matrix == self.matrix[:, :1]).all():
            return found
        low, high = clopper_pearson(found.value, found.n, (1 - found.confidence) / 2)
        return Interval(found.value, low, high, found.n, found.confidence, SHARE)

    def each(self) -> list[Interval]:
        """One interval a cell, wide enough that all of them hold together with 95 % confidence."""
        confidence = together(len(self.cells))
        return [self._back(mean(row, confidence)) for row in self.matrix]

    def within(self, keep: Levels) -> Comparison:
        """Return the comparison over the cells that have one of these levels in each of these factors."""
        kept = [i for i, cell in enumerate(self.cells) if _matches(cell, keep)]
        return self._part(kept)

    def without(self, drop: Levels) -> Comparison:
        """Return the comparison over the cells that `within(drop)` leaves out."""
        kept = [i for i, cell in enumerate(self.cells) if not _matches(cell, drop)]
        return self._part(kept)

    def minus(self, other: Comparison) -> Interval:
        """How much larger the pooled comparison is here than in `other`, replication by replication.

        Both must be parts of one comparison, so that their replications are the same. For ratios the result is the
        ratio of the two pooled ratios.
        """
        return self._back(mean(self.matrix.mean(axis=0) - other.matrix.mean(axis=0)))

    def _part(self, kept: Sequence[int]) -> Comparison:
        if not kept:
            raise MissingDataError(f"no treatment that is compared by {self.metric.name} is in this part")
        return Comparison(self.metric, self.of, self.to, tuple(self.cells[i] for i in kept), self.matrix[list(kept)])

    def _back(self, found: Interval) -> Interval:
        return from_scale(found, self.metric)


def compare(
    tables: Tables, experiment: str, metric: str | Metric, factor: str, of: str, to: str, *, over: Levels
) -> Comparison:
    """Compare two levels of a factor over all combinations of the levels `over`.

    A metric of some flows is `METRICS["goodput"].of("tcp/prague")`.

    Raises `MissingDataError` if the experiment was not run, if the results lack one of these treatments, or if fewer
    than two replications are complete in all of them, and `UnknownNameError` if the study has no such factor or level.
    """
    check_names(tables.known, experiment, {**over, factor: [of, to]})
    measure = METRICS[metric] if isinstance(metric, str) else metric
    values = tables.values(experiment, measure, {**over, factor: [of, to]})
    pairs = paired(values, factor, of, to, measure) if not values.is_empty() else values
    cells, matrix = complete(tables, experiment, pairs, over)
    return Comparison(measure, of, to, cells, matrix)


def complete(
    tables: Tables, experiment: str, values: pl.DataFrame, over: Levels
) -> tuple[tuple[Mapping[str, str], ...], NDArray[np.float64]]:
    """The column `value` as a matrix of cells × replications, of the replications that are complete in every cell.

    Of results that are a share of a study the cells are those that are there.

    Raises `MissingDataError` as `compare` does.
    """
    runs_of(tables, experiment)
    cells = [dict(zip(over, levels, strict=True)) for levels in itertools.product(*over.values())]
    rows: dict[tuple[str, ...], dict[int, float]] = {}
    for row in values.to_dicts():
        key = tuple(_canonical(str(row[factor]), over[factor]) for factor in over)
        rows.setdefault(key, {})[int(row["replication"])] = float(row["value"])
    absent = [cell for cell in cells if tuple(cell.values()) not in rows]
    if tables.share and len(absent) < len(cells):
        cells = [cell for cell in cells if cell not in absent]
    elif absent:
        named = ", ".join(f"{factor} {level}" for factor, level in absent[0].items())
        message = f"{len(absent)} of {len(cells)} treatments have no completed pair of runs (the first: {named})"
        raise MissingDataError(message)
    shared = sorted(set.intersection(*(set(rows[tuple(cell.values())]) for cell in cells)))
    if len(shared) < 2:
        every = f" that {'are' if len(shared) != 1 else 'is'} complete in all {len(cells)} treatments"
        raise MissingDataError(f"{few(len(shared))}{every if len(cells) > 1 else ''}")
    return tuple(cells), np.array([[rows[tuple(cell.values())][r] for r in shared] for cell in cells])


def _canonical(level: str, wanted: Sequence[str]) -> str:
    """The spelling that the claim uses for a level."""
    return next((other for other in wanted if quantities.same(level, other)), level)


def _matches(cell: Mapping[str, str], levels: Levels) -> bool:
    return all(any(quantities.same(cell[factor], level) for level in wanted) for factor, wanted in levels.items())
