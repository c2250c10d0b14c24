"""How near our MPTCP comes to the kernel's.

The bounds of completion times were given before there were results, for all 200 treatments together; those of
retransmissions are those of agreement-linux, and that of shares was set with them.

Both fidelities of a run meet the same losses, packet for packet of each path, and begin at the same phase of their
hosts' clock. What a log ratio is, and how its intervals are made, `haltere.claims.agreement` says.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from haltere.claims import OURS, MissingDataError, Verdict, all_of, answer, claim, remark
from haltere.claims.agreement import (
    Sides,
    by_level,
    log_ratio,
    retransmitted,
    side_by_side,
    within,
    worst,
)
from haltere.metrics.tables import Tables

SIDES = Sides("fidelity", "model", "linux")
EXPERIMENTS = ("lossless", "lossy")


@claim(
    "The completion times are the kernel's, to 3 % in the median case.",
    source="a bound that was set before the runs",
    whose=OURS,
)
def completion_times(tables: Tables) -> Verdict:
    """Over all treatments of both experiments, the median of |log ratio| must lie within 0.03 and its 90th percentile
    within 0.15."""
    frames = {name: side_by_side(tables, name, "completion_s", SIDES, flows=True) for name in EXPERIMENTS}
    values = np.concatenate([log_ratio(frame) for frame in frames.values()])
    both = pl.concat(frame.select("congestion", "first", "second") for frame in frames.values())
    return all_of(
        within("|log ratio| of completion times, median", values, 0.5, 0.03),
        within("90th percentile", values, 0.9, 0.15),
        remark("Mean log ratio, its sign kept", f"{values.mean():+.4f}"),
        *(
            within(f"{name}, 90th percentile", log_ratio(frame), 0.9, 0.15, decides=False)
            for name, frame in frames.items()
        ),
        remark("90th percentile by congestion", by_level(both, "congestion", 0.9)),
    )


@claim("The model's subflows retransmit as often as the kernel's.", source="this study", whose=OURS)
def retransmissions(tables: Tables) -> Verdict:
    """In both experiments, the median of the |log ratio| of (retransmitted packets + 1) must lie within 0.05 and its
    90th percentile within 0.25."""
    return retransmitted(tables, EXPERIMENTS, SIDES, 0.05, 0.25)


def shares(tables: Tables, experiment: str) -> pl.DataFrame:
    """A row a treatment: the first path's share of what arrived, as `first` (model) and `second` (kernel)."""
    if tables.links.is_empty():
        raise MissingDataError("the results hold no links")
    down = tables.links.filter(pl.col("direction") == "down")
    carried = pl.col("delivered_bytes")
    share = down.group_by("run_id").agg(share=carried.filter(pl.col("link") == "path 0").sum() / carried.sum())
    joined = Tables(tables.runs.join(share, on="run_id", how="left"), tables.flows, tables.factors)
    return side_by_side(joined, experiment, "share", SIDES, flows=False)


@claim("Each path carries as much as in the kernel.", source="this study", whose=OURS)
def paths(tables: Tables) -> Verdict:
    """In both experiments, the difference of the first path's share of the bytes must lie within 0.02 in the median
    case and within 0.1 at the 90th percentile."""
    parts = []
    for experiment in EXPERIMENTS:
        frame = shares(tables, experiment)
        values = frame["first"].to_numpy() - frame["second"].to_numpy()
        parts.append(within(f"{experiment}, |difference| of the share, median", values, 0.5, 0.02))
        parts.append(within(f"{experiment}, 90th percentile", values, 0.9, 0.1))
    return all_of(*parts)


@answer
def in_short(tables: Tables) -> list[str]:
    """How far apart, and where."""
    sentences = []
    for experiment, words in (("lossless", "Without random loss"), ("lossy", "With random loss")):
        values = log_ratio(side_by_side(tables, experiment, "completion_s", SIDES, flows=True))
        sizes = np.abs(values)
        sentences.append(
            f"{words}, completion times of model and kernel differ by {100 * np.median(sizes):.2f} % in the median "
            f"case and by {100 * np.quantile(sizes, 0.9):.1f} % at the 90th percentile of {sizes.size} treatments. "
            f"Worst: {worst(tables, experiment, SIDES)}."
        )
    return sentences
