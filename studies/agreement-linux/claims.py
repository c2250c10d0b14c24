"""How near the model comes to the kernel.

The bounds of completion times and of the 90th percentile of shares were given before there were results; those of
retransmissions, queueing delays and the median share were set after a first look at single transfers.

Both fidelities of a run meet the same losses, packet for packet, and begin at the same phase of their hosts' clock. A
*log ratio* is the logarithm of the model's value over the kernel's, of the medians over replications of a treatment;
0.01 is about 1 %. The intervals are bootstrapped over treatments (95 %, percentiles of 2000 resamples).
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from haltere.figures.tables import Tables
from haltere.report.claims import Evidence, MissingDataError, Outcome, Verdict, all_of, answer, claim, remark

Values = NDArray[np.float64]
RESAMPLES = 2000
LEAST_QUEUEING_S = 1e-3


def both(tables: Tables, experiment: str, column: str, *, flows: bool) -> pl.DataFrame:
    """A row a treatment: its factors, and the medians over replications as `model` and `linux`."""
    runs = tables.experiment_runs(experiment)
    if runs.is_empty():
        raise MissingDataError(f"experiment {experiment} is not in these results")
    ended = runs.filter(pl.col("status") == "ok")
    if flows:
        means = tables.flows.group_by("run_id").agg(value=pl.col(column).cast(pl.Float64).mean())
        ended = ended.join(means, on="run_id")
    else:
        ended = ended.with_columns(value=pl.col(column).cast(pl.Float64))
    factors = list(tables.factors[experiment])
    # A replication counts if it ended well at both.
    keys = ["treatment", *factors, "replication"]
    wide = ended.pivot(on="fidelity", index=keys, values="value", aggregate_function="first")
    if not {"model", "linux"} <= set(wide.columns):
        raise MissingDataError(f"experiment {experiment} was not run at both fidelities")
    wide = wide.drop_nulls(["model", "linux"])
    return wide.group_by(["treatment", *factors], maintain_order=True).agg(pl.col("model", "linux").median())


def log_ratio(frame: pl.DataFrame, add: float = 0.0) -> Values:
    """The logarithms of the model's values over the kernel's."""
    ratio: Values = np.log((frame["model"].to_numpy() + add) / (frame["linux"].to_numpy() + add))
    return ratio


def quantile(values: Values, share: float) -> tuple[float, float, float]:
    """A quantile of the sizes, and its interval over treatments."""
    sizes = np.abs(values)
    if sizes.size < 2:
        raise MissingDataError(f"{sizes.size} treatments have a value at both fidelities; two are needed")
    draws = np.random.default_rng(1).integers(sizes.size, size=(RESAMPLES, sizes.size))
    low, high = np.quantile(np.quantile(sizes[draws], share, axis=1), [0.025, 0.975])
    return float(np.quantile(sizes, share)), float(low), float(high)


def within(what: str, values: Values, share: float, bound: float, *, decides: bool = True) -> Evidence:
    """The part "this quantile lies within the bound", by its interval's ends."""
    value, low, high = quantile(values, share)
    outcome = Outcome.CONFIRMED if high <= bound else Outcome.CONTRADICTED if low > bound else Outcome.UNDECIDED
    return Evidence(what, f"{value:.4f} [{low:.4f}, {high:.4f}] against {bound:g}", outcome if decides else None)


def by_congestion(frame: pl.DataFrame, share: float) -> str:
    """A quantile of the log ratios of each congestion control."""
    parts = []
    for name in ("cubic", "newreno", "bbr"):
        values = log_ratio(frame.filter(pl.col("congestion") == name))
        parts.append(f"{name} {np.quantile(np.abs(values), share):.4f}" if values.size else f"{name} –")
    return ", ".join(parts)


def completion(tables: Tables, experiment: str, median: float, largest: float) -> Verdict:
    """Both quantiles of the completion times' log ratios."""
    frame = both(tables, experiment, "completion_s", flows=True)
    values = log_ratio(frame)
    return all_of(
        within("|log ratio| of completion times, median", values, 0.5, median),
        within("90th percentile", values, 0.9, largest),
        remark("Mean log ratio, its sign kept", f"{values.mean():+.4f}"),
        remark("90th percentile by congestion control", by_congestion(frame, 0.9)),
    )


@claim(
    "Without random loss the completion times are the kernel's, to 1 % in the median case.", source="the issue's bounds"
)
def lossless_completion(tables: Tables) -> Verdict:
    """Over the treatments of `lossless`, the median of |log ratio| must lie within 0.01 and its 90th percentile within
    0.05."""
    return completion(tables, "lossless", 0.01, 0.05)


@claim("With random loss they are the kernel's to 5 % in the median case.", source="the issue's bounds")
def lossy_completion(tables: Tables) -> Verdict:
    """Over the treatments of `lossy`, the median of |log ratio| must lie within 0.05 and its 90th percentile within
    0.20."""
    return completion(tables, "lossy", 0.05, 0.20)


@claim("The model retransmits as often as the kernel.", source="this study")
def retransmissions(tables: Tables) -> Verdict:
    """In both experiments, the median of the |log ratio| of (retransmitted packets + 1) must lie within 0.05 and its
    90th percentile within 0.25; the one is added because many runs have none."""
    parts = []
    for experiment in ("lossless", "lossy"):
        values = log_ratio(both(tables, experiment, "retransmitted_packets", flows=True), add=1.0)
        parts.append(within(f"{experiment}, median", values, 0.5, 0.05))
        parts.append(within(f"{experiment}, 90th percentile", values, 0.9, 0.25))
    return all_of(*parts)


@claim("The bottleneck's queue delays packets as long in the model as in the kernel.", source="this study")
def queueing(tables: Tables) -> Verdict:
    """In both experiments, over the treatments in which the kernel's mean queueing delay is 1 ms or more, the median of
    |log ratio| of the mean queueing delay must lie within 0.05 and its 90th percentile within 0.25."""
    parts = []
    for experiment in ("lossless", "lossy"):
        frame = both(tables, experiment, "bottleneck_mean_queueing_delay_s", flows=False)
        frame = frame.filter((pl.col("linux") >= LEAST_QUEUEING_S) & (pl.col("model") > 0))
        parts.append(within(f"{experiment}, median", log_ratio(frame), 0.5, 0.05))
        parts.append(within(f"{experiment}, 90th percentile", log_ratio(frame), 0.9, 0.25))
    return all_of(*parts)


def shares(tables: Tables) -> pl.DataFrame:
    """A row a treatment of `pairs`: the first flow's share of the goodput as `model` and `linux`."""
    total = pl.col("goodput_bps").sum().over("run_id")
    share = (pl.col("goodput_bps") / total).alias("share")
    first = tables.flows.with_columns(share).filter(pl.col("flow") == 0).select("run_id", "share")
    joined = Tables(tables.runs.join(first, on="run_id", how="left"), tables.flows, tables.factors)
    return both(joined, "pairs", "share", flows=False)


@claim("Two flows share a bottleneck as they do in the kernel.", source="the issue's bound of 0.1")
def sharing(tables: Tables) -> Verdict:
    """Over the treatments of `pairs`, the difference of the first flow's share of the goodput must lie within 0.02 in
    the median case and within 0.1 at the 90th percentile."""
    frame = shares(tables)
    values = frame["model"].to_numpy() - frame["linux"].to_numpy()
    return all_of(
        within("|difference| of the share, median", values, 0.5, 0.02),
        within("90th percentile", values, 0.9, 0.1),
    )


def worst(tables: Tables, experiment: str) -> str:
    """The treatments that differ most, in words."""
    frame = both(tables, experiment, "completion_s", flows=True)
    frame = frame.with_columns(log=pl.Series(log_ratio(frame)))
    rows = frame.sort(pl.col("log").abs(), descending=True).head(3).to_dicts()
    factors = list(tables.factors[experiment])
    return "; ".join(f"{', '.join(str(row[name]) for name in factors)}: {row['log']:+.2f}" for row in rows)


@answer
def in_short(tables: Tables) -> list[str]:
    """How far apart, and where."""
    sentences = []
    for experiment, words in (("lossless", "Without random loss"), ("lossy", "With random loss")):
        values = log_ratio(both(tables, experiment, "completion_s", flows=True))
        sizes = np.abs(values)
        sentences.append(
            f"{words}, completion times of model and kernel differ by {100 * np.median(sizes):.2f} % in the median "
            f"case and by {100 * np.quantile(sizes, 0.9):.1f} % at the 90th percentile of {sizes.size} treatments; in "
            f"{100 * np.mean(sizes > 0.01):.0f} % of them by more than 1 %. Worst: {worst(tables, experiment)}."
        )
    return sentences
