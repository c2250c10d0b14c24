"""How far two ways of running the same treatments differ: log ratios, their quantiles, and verdicts on them.

A *log ratio* is the logarithm of the first's value over the second's, of the medians over replications of a treatment;
0.01 is about 1 %. Intervals are bootstrapped over treatments (95 %, percentiles of 2000 resamples).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from haltere.claims import Evidence, MissingDataError, Outcome, Verdict, all_of, remark
from haltere.claims.comparison import runs_of
from haltere.metrics import quantities
from haltere.metrics.tables import Tables
from haltere.metrics.text import fixed
from haltere.stats import Interval

Values = NDArray[np.float64]
RESAMPLES = 2000


@dataclass(frozen=True)
class Sides:
    """The two sides of a comparison: two levels of a column, which is `fidelity` or a factor."""

    column: str
    first: str
    second: str


def side_by_side(tables: Tables, experiment: str, column: str, sides: Sides, *, flows: bool) -> pl.DataFrame:
    """Return a row a treatment: its factors, and the medians over replications as `first` and `second`.

    A replication counts if it ended well on both sides. With `flows` the column is one of flows, and a run's value the
    mean over them.

    Raises:
        MissingDataError: if the results lack the experiment, or one of the sides.
    """
    ended = runs_of(tables, experiment).filter(pl.col("status") == "ok")
    if flows:
        means = tables.flows.group_by("run_id").agg(value=pl.col(column).cast(pl.Float64).mean())
        ended = ended.join(means, on="run_id", maintain_order="left")
    else:
        ended = ended.with_columns(value=pl.col(column).cast(pl.Float64))
    factors = [name for name in tables.factors[experiment] if name != sides.column]
    keys = [*factors, "replication"]
    wide = ended.pivot(on=sides.column, index=keys, values="value", aggregate_function="first")
    if not {sides.first, sides.second} <= set(wide.columns):
        raise MissingDataError(f"experiment {experiment} was not run with both {sides.first} and {sides.second}")
    wide = wide.rename({sides.first: "first", sides.second: "second"}).drop_nulls(["first", "second"])
    return wide.group_by(factors, maintain_order=True).agg(pl.col("first", "second").median())


def log_ratio(frame: pl.DataFrame, add: float = 0.0) -> Values:
    """Return the logarithms of the first's values over the second's, `add` added to both."""
    ratio: Values = np.log((frame["first"].to_numpy() + add) / (frame["second"].to_numpy() + add))
    return ratio


def quantile(values: Values, share: float) -> tuple[float, float, float]:
    """Return a quantile of the sizes, and the ends of its interval over treatments."""
    sizes = np.abs(values)
    if sizes.size < 2:
        raise MissingDataError(f"{sizes.size} treatments have a value on both sides; two are needed")
    draws = np.random.default_rng(1).integers(sizes.size, size=(RESAMPLES, sizes.size))
    low, high = np.quantile(np.quantile(sizes[draws], share, axis=1), [0.025, 0.975])
    return float(np.quantile(sizes, share)), float(low), float(high)


def within(what: str, values: Values, share: float, bound: float, *, decides: bool = True) -> Evidence:
    """Return the part "this quantile of the sizes lies within the bound", judged by its interval's ends."""
    value, low, high = quantile(values, share)
    outcome = Outcome.CONFIRMED if high <= bound else Outcome.CONTRADICTED if low > bound else Outcome.UNDECIDED
    interval = Interval(value, low, high, values.size, 0.95, "bootstrap over treatments")
    numbers = f"{value:.4f} [{low:.4f}, {high:.4f}]"
    return Evidence(what, numbers, outcome if decides else None, interval, bound=f"at most {bound:g}")


def near(what: str, values: Values, median: float, largest: float) -> list[Evidence]:
    """Return the parts "the median, and the 90th percentile, lie within their bounds", and the mean with its sign."""
    return [
        within(f"{what}, median", values, 0.5, median),
        within(f"{what}, 90th percentile", values, 0.9, largest),
        remark(f"{what}, mean log ratio, its sign kept", f"{values.mean():+.4f}"),
    ]


def by_level(frame: pl.DataFrame, factor: str, share: float) -> str:
    """Return a quantile of the log ratios' sizes for each level of a factor, in words."""
    parts = []
    for level in frame[factor].unique(maintain_order=True).sort():
        values = log_ratio(frame.filter(pl.col(factor) == level))
        parts.append(f"{level} {np.quantile(np.abs(values), share):.4f}")
    return ", ".join(parts)


def completion(tables: Tables, experiment: str, sides: Sides, median: float, largest: float, *, by: str) -> Verdict:
    """Judge the log ratios of completion times by their median and their 90th percentile.

    The 90th percentile of each level of the factor `by` is told as well.
    """
    frame = side_by_side(tables, experiment, "completion_s", sides, flows=True)
    values = log_ratio(frame)
    return all_of(
        within("|log ratio| of completion times, median", values, 0.5, median),
        within("90th percentile", values, 0.9, largest),
        remark("Mean log ratio, its sign kept", f"{values.mean():+.4f}"),
        remark(f"90th percentile by {by}", by_level(frame, by, 0.9)),
    )


def retransmitted(tables: Tables, experiments: Sequence[str], sides: Sides, median: float, largest: float) -> Verdict:
    """Judge the log ratios of retransmitted packets, one added because many runs have none."""
    parts = []
    for experiment in experiments:
        values = log_ratio(side_by_side(tables, experiment, "retransmitted_packets", sides, flows=True), add=1.0)
        parts.append(within(f"{experiment}, median", values, 0.5, median))
        parts.append(within(f"{experiment}, 90th percentile", values, 0.9, largest))
    return all_of(*parts)


def worst(tables: Tables, experiment: str, sides: Sides, count: int = 1, *, column: str = "completion_s") -> str:
    """Return the treatments whose times, such as those of completion, differ most, with the names of their factors."""
    frame = side_by_side(tables, experiment, column, sides, flows=True)
    frame = frame.with_columns(log=pl.Series(log_ratio(frame)))
    rows = frame.sort(pl.col("log").abs(), descending=True).head(count).to_dicts()
    factors = [name for name in tables.factors[experiment] if name != sides.column]
    return "; ".join(
        f"{', '.join(quantities.named(str(row[name]), name) for name in factors)}: {fixed(row['log'], 2)}"
        for row in rows
    )
