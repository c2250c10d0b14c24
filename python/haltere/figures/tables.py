"""What figures, claims and the report do with the result tables: select, summarise, and compare in pairs.

Every interval here is a 95 % Student t interval over replications. Two treatments of one replication meet the same
losses (common random numbers), so contenders are compared within each replication first and the differences, or the
logarithms of the ratios, are summarised afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import stats

from haltere.figures import quantities
from haltere.figures.metrics import METRICS, Metric

CONFIDENCE = 0.95

Where = Mapping[str, str | Sequence[str]]
"""A selection: for each factor the level, or the levels, to keep."""


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with the ends of its 95 % confidence interval, from `n` values."""

    estimate: float
    low: float
    high: float
    n: int

    def map_exp(self) -> Interval:
        """The interval of a ratio from that of its logarithm."""
        return Interval(math.exp(self.estimate), math.exp(self.low), math.exp(self.high), self.n)


def interval(values: Sequence[float] | NDArray[np.float64], confidence: float = CONFIDENCE) -> Interval:
    """Mean and Student t interval of at least one value.

    Equal values have an interval without width. A single value says nothing of the spread: its interval is unbounded.
    """
    sample = np.asarray(values, dtype=np.float64)
    mean = float(sample.mean())
    if len(sample) < 2:
        return Interval(mean, -math.inf, math.inf, len(sample))
    half = float(stats.t.ppf(0.5 + confidence / 2, len(sample) - 1)) * float(sample.std(ddof=1)) / math.sqrt(len(sample))
    return Interval(mean, mean - half, mean + half, len(sample))


@dataclass(frozen=True)
class Tables:
    """The result tables of one study: a row a run, a row a flow, and the factors of each experiment in their order."""

    runs: pl.DataFrame
    flows: pl.DataFrame
    factors: Mapping[str, Sequence[str]]

    def experiment_runs(self, experiment: str) -> pl.DataFrame:
        """The runs of one experiment; no rows if it was not run."""
        return self.runs.filter(pl.col("experiment") == experiment)

    def levels(self, experiment: str, factor: str) -> list[str]:
        """The levels that a factor takes in the results of an experiment, in their natural order."""
        if factor not in self.runs.columns:
            return []
        return quantities.ordered(self.experiment_runs(experiment).sort("treatment")[factor].drop_nulls().to_list())

    def values(self, experiment: str, metric: str | Metric, where: Where | None = None) -> pl.DataFrame:
        """The metric of every run that ended well: the experiment's factors, `replication`, `value` in its unit.

        A metric of flows is averaged over the flows of its run. A column that the results lack gives no rows.
        """
        measure = METRICS[metric] if isinstance(metric, str) else metric
        factors = list(self.factors.get(experiment, ()))
        runs = self._select(self.experiment_runs(experiment), where or {}).filter(pl.col("status") == "ok")
        source = runs if measure.table == "runs" else self.flows
        if measure.column not in source.columns:
            return runs.select(*factors, "replication", value=pl.lit(None, pl.Float64)).clear()
        number = pl.col(measure.column).cast(pl.Float64) / measure.divisor
        if measure.table == "runs":
            values = runs.with_columns(value=number)
        else:
            means = self.flows.group_by("run").agg(value=number.mean())
            values = runs.join(means, on="run", how="inner", maintain_order="left")
        return values.select(*factors, "replication", "value").drop_nulls("value")

    def _select(self, frame: pl.DataFrame, where: Where) -> pl.DataFrame:
        for factor, wanted in where.items():
            if factor not in frame.columns:
                return frame.clear()
            levels = [wanted] if isinstance(wanted, str) else wanted
            present = frame[factor].drop_nulls().unique().to_list()
            kept = [level for level in present if any(quantities.same(level, other) for other in levels)]
            frame = frame.filter(pl.col(factor).is_in(kept))
        return frame


def summarise(values: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Per combination of `by`: `mean`, `low`, `high` (95 %), `sd`, `n` of the column `value`, in order of appearance."""
    grouped = values.group_by(list(by), maintain_order=True).agg(
        n=pl.len(),
        mean=pl.col("value").mean(),
        sd=pl.col("value").std(),
    )
    counts = grouped["n"].unique().sort().to_list()
    quantile = {n: float(stats.t.ppf(0.5 + CONFIDENCE / 2, n - 1)) / math.sqrt(n) if n > 1 else math.inf for n in counts}
    scale = pl.col("n").replace_strict(quantile, return_dtype=pl.Float64)
    half = pl.when(pl.col("n") > 1).then(scale * pl.col("sd")).otherwise(math.inf)
    return grouped.with_columns(low=pl.col("mean") - half, high=pl.col("mean") + half)


def paired(values: pl.DataFrame, factor: str, of: str, to: str, comparison: str) -> pl.DataFrame:
    """Each replication's value at level `of` of the factor against that at level `to`, all other factors equal.

    The column `value` holds the difference, or for `comparison="ratio"` the natural logarithm of the ratio. Only
    replications in which both ended well have a row.
    """
    keys = [column for column in values.columns if column not in (factor, "value")]
    first = values.filter(pl.col(factor) == of).drop(factor)
    second = values.filter(pl.col(factor) == to).drop(factor).rename({"value": "other"})
    joined = first.join(second, on=keys, how="inner", nulls_equal=True, maintain_order="left")
    if comparison == "ratio":
        joined = joined.filter((pl.col("value") > 0) & (pl.col("other") > 0))
        number = (pl.col("value") / pl.col("other")).log()
    else:
        number = pl.col("value") - pl.col("other")
    return joined.with_columns(value=number).drop("other")


def summarise_pairs(pairs: pl.DataFrame, by: Sequence[str], comparison: str) -> pl.DataFrame:
    """Like `summarise`, for what `paired` returns: a ratio is a geometric mean and its interval, back from logarithms."""
    summary = summarise(pairs, by)
    if comparison == "ratio":
        summary = summary.with_columns(pl.col("mean", "low", "high").exp())
    return summary
