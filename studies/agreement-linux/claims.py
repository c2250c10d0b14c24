"""How near the model comes to the kernel.

The bounds of completion times and of the 90th percentile of shares were given before there were results; those of
retransmissions, queueing delays and the median share were set after a first look at single transfers.

Both fidelities of a run meet the same losses, packet for packet, and begin at the same phase of their hosts' clock.
What a log ratio is, and how its intervals are made, `haltere.claims.agreement` says.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from haltere.claims import OURS, Verdict, all_of, answer, claim
from haltere.claims.agreement import Sides, completion, log_ratio, retransmitted, side_by_side, within, worst
from haltere.metrics.tables import Tables

SIDES = Sides("fidelity", "model", "linux")
LEAST_QUEUEING_S = 1e-3


def both(tables: Tables, experiment: str, column: str, *, flows: bool) -> pl.DataFrame:
    """A row a treatment: the model's median as `first`, the kernel's as `second`."""
    return side_by_side(tables, experiment, column, SIDES, flows=flows)


@claim(
    "Without random loss the completion times are the kernel's, to 1 % in the median case.",
    source="the bounds that were set before the runs",
    whose=OURS,
)
def lossless_completion(tables: Tables) -> Verdict:
    """Over the treatments of `lossless`, the median of |log ratio| must lie within 0.01 and its 90th percentile within
    0.05."""
    return completion(tables, "lossless", SIDES, 0.01, 0.05, by="congestion")


@claim(
    "With random loss they are the kernel's to 5 % in the median case.",
    source="the bounds that were set before the runs",
    whose=OURS,
)
def lossy_completion(tables: Tables) -> Verdict:
    """Over the treatments of `lossy`, the median of |log ratio| must lie within 0.05 and its 90th percentile within
    0.20."""
    return completion(tables, "lossy", SIDES, 0.05, 0.20, by="congestion")


@claim("The model retransmits as often as the kernel.", source="this study", whose=OURS)
def retransmissions(tables: Tables) -> Verdict:
    """In both experiments, the median of the |log ratio| of (retransmitted packets + 1) must lie within 0.05 and its
    90th percentile within 0.25; the one is added because many runs have none."""
    return retransmitted(tables, ("lossless", "lossy"), SIDES, 0.05, 0.25)


@claim("The bottleneck's queue delays packets as long in the model as in the kernel.", source="this study", whose=OURS)
def queueing(tables: Tables) -> Verdict:
    """In both experiments, over the treatments in which the kernel's mean queueing delay is 1 ms or more, the median of
    |log ratio| of the mean queueing delay must lie within 0.05 and its 90th percentile within 0.25."""
    parts = []
    for experiment in ("lossless", "lossy"):
        frame = both(tables, experiment, "bottleneck_mean_queueing_delay_s", flows=False)
        frame = frame.filter((pl.col("second") >= LEAST_QUEUEING_S) & (pl.col("first") > 0))
        parts.append(within(f"{experiment}, median", log_ratio(frame), 0.5, 0.05))
        parts.append(within(f"{experiment}, 90th percentile", log_ratio(frame), 0.9, 0.25))
    return all_of(*parts)


def shares(tables: Tables) -> pl.DataFrame:
    """A row a treatment of `pairs`: the first flow's share of the goodput as `first` (model) and `second` (kernel)."""
    total = pl.col("goodput_bps").sum().over("run_id")
    share = (pl.col("goodput_bps") / total).alias("share")
    first = tables.flows.with_columns(share).filter(pl.col("flow") == 0).select("run_id", "share")
    joined = Tables(tables.runs.join(first, on="run_id", how="left"), tables.flows, tables.factors)
    return both(joined, "pairs", "share", flows=False)


@claim(
    "Two flows share a bottleneck as they do in the kernel.", source="a bound of 0.1, set before the runs", whose=OURS
)
def sharing(tables: Tables) -> Verdict:
    """Over the treatments of `pairs`, the difference of the first flow's share of the goodput must lie within 0.02 in
    the median case and within 0.1 at the 90th percentile."""
    frame = shares(tables)
    values = frame["first"].to_numpy() - frame["second"].to_numpy()
    return all_of(
        within("|difference| of the share, median", values, 0.5, 0.02),
        within("90th percentile", values, 0.9, 0.1),
    )


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
            f"{100 * np.mean(sizes > 0.01):.0f} % of them by more than 1 %. Worst: {worst(tables, experiment, SIDES)}."
        )
    return sentences
