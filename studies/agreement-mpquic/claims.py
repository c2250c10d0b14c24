"""How near the model of multipath QUIC comes to production stacks.

The bounds are those of MPTCP beside the kernel's: 3 % in the median, 15 % for nine treatments of ten. They were given
before there were results. All sides of a treatment meet the same losses, by the packet's ordinal on each link. What a
log ratio is, and how its intervals are made, `haltere.claims.agreement` says.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from haltere.claims import OURS, Evidence, MissingDataError, Outcome, Verdict, all_of, answer, claim, remark
from haltere.claims.agreement import Sides, Values, log_ratio, near, side_by_side, worst
from haltere.metrics.tables import Tables

BOUNDS = (0.03, 0.15)
"""Of the median, and of the 90th percentile."""
MODEL, AS_NOQ, NOQ = "model, priority", "model, acks as noq", "noq"
EXPERIMENTS = ("lossless", "lossy")
SCHEDULERS = ("lowest RTT", "round robin", "redundant")


def ratios(tables: Tables, experiment: str, first: str, second: str) -> Values:
    """The log ratios of the completion times of two treatments."""
    return log_ratio(side_by_side(tables, experiment, "completion_s", Sides("stack", first, second), flows=True))


def second_path(tables: Tables, experiment: str, first: str, second: str) -> Values:
    """The differences of the shares that the second path carries of the bytes to the client."""
    runs = tables.experiment_runs(experiment)
    down = tables.links.filter(pl.col("direction") == "down").group_by("run_id")
    carried = down.agg(
        share=pl.col("delivered_bytes").filter(pl.col("link") == "path 1").sum() / pl.col("delivered_bytes").sum()
    )
    keys = [name for name in tables.factors[experiment] if name != "stack"]
    medians = runs.join(carried, on="run_id").group_by([*keys, "stack"]).agg(pl.col("share").median())
    wide = medians.pivot(on="stack", index=keys, values="share")
    if not {first, second} <= set(wide.columns):
        raise MissingDataError(f"experiment {experiment} was not run with both {first} and {second}")
    differences: Values = (wide[first] - wide[second]).to_numpy()
    return differences


def use(tables: Tables, first: str, second: str) -> list[Evidence]:
    """How far apart the shares of the second path are, and the retransmission rates."""
    parts = []
    for experiment in EXPERIMENTS:
        apart = np.abs(second_path(tables, experiment, first, second))
        text = f"{np.median(apart):.3f}, {np.quantile(apart, 0.9):.3f}"
        parts.append(remark(f"{experiment}: difference of the second path's share, median and 90th percentile", text))
        runs = tables.flows.filter(pl.col("experiment") == experiment)
        rates = [
            runs.filter(pl.col("stack") == one).select(
                pl.col("retransmitted_packets").sum() / pl.col("sent_packets").sum()
            )
            for one in (first, second)
        ]
        text = f"{rates[0].item():.4f} and {rates[1].item():.4f}"
        parts.append(remark(f"{experiment}: packets sent again, {first} and {second}", text))
    return parts


@claim(
    "With strict priority and acknowledgements as noq sends them, the model's completion times are noq's, to 3 % in "
    "the median case.",
    source="this study",
    whose=OURS,
)
def noq(tables: Tables) -> Verdict:
    """In `lossless` and `lossy`, |log ratio| must lie within 0.03 in the median and within 0.15 at the 90th
    percentile."""
    parts = [e for x in EXPERIMENTS for e in near(f"{x}, model ÷ noq", ratios(tables, x, AS_NOQ, NOQ), *BOUNDS)]
    return all_of(*parts, *use(tables, AS_NOQ, NOQ))


@claim("What noq's acknowledgements on the first path cost is most of the difference.", source="this study", whose=OURS)
def acknowledgements(tables: Tables) -> Verdict:
    """In `lossless` and `lossy`, the 90th percentile of |log ratio| against noq must be smaller with the model's
    acknowledgements on the path with the lowest number than with those on each path itself, the difference's interval
    over treatments (bootstrap) lying wholly on that side."""
    parts = []
    for experiment in EXPERIMENTS:
        own, lowest = (np.abs(ratios(tables, experiment, one, NOQ)) for one in (MODEL, AS_NOQ))
        count = min(own.size, lowest.size)
        draws = np.random.default_rng(1).integers(count, size=(2000, count))
        ratio = np.quantile(own[:count][draws], 0.9, axis=1) / np.quantile(lowest[:count][draws], 0.9, axis=1)
        low, high = np.quantile(ratio, [0.025, 0.975])
        value = np.quantile(own, 0.9) / np.quantile(lowest, 0.9)
        outcome = Outcome.CONFIRMED if low > 1 else Outcome.CONTRADICTED if high < 1 else Outcome.UNDECIDED
        what = f"{experiment}: 90th percentile, each path's own ÷ all on the lowest"
        parts.append(Evidence(what, f"{value:.2f} [{low:.2f}, {high:.2f}]", outcome, bound="above 1"))
    return all_of(*parts)


@claim("Over one path alone the model and noq are as near.", source="this study", whose=OURS)
def one_path(tables: Tables) -> Verdict:
    """The bounds of the completion time over the first path alone, with which several paths are to be compared."""
    pairs = ((x, ratios(tables, x, "model, one path", "noq, one path")) for x in EXPERIMENTS)
    return all_of(*[e for experiment, values in pairs for e in near(f"{experiment}, model ÷ noq", values, *BOUNDS)])


@claim("With each of its three schedulers, the model's completion times are tquic's.", source="this study", whose=OURS)
def tquic(tables: Tables) -> Verdict:
    """The bounds of the model beside noq, for all three schedulers, in the results of the variant `tquic`."""
    parts = []
    for experiment in EXPERIMENTS:
        for one in SCHEDULERS:
            parts += near(f"{experiment}, {one}", ratios(tables, experiment, f"model, {one}", f"tquic, {one}"), *BOUNDS)
    return all_of(*parts, *[e for one in SCHEDULERS for e in use(tables, f"model, {one}", f"tquic, {one}")])


@claim("Over one path alone the model and tquic are as near.", source="this study", whose=OURS)
def tquic_one_path(tables: Tables) -> Verdict:
    """The bounds of the completion time over the first path alone, in the results of the variant `tquic`."""
    pairs = ((x, ratios(tables, x, "model, one path", "tquic, one path")) for x in EXPERIMENTS)
    return all_of(*[e for experiment, values in pairs for e in near(f"{experiment}, model ÷ tquic", values, *BOUNDS)])


@answer
def in_short(tables: Tables) -> list[str]:
    """How far apart, and where."""
    sentences = []
    of_tquic = [(f"model, {one}", f"tquic, {one}") for one in SCHEDULERS]
    for experiment, words in (("lossless", "Without random loss"), ("lossy", "With random loss")):
        for first, second in [(MODEL, NOQ), (AS_NOQ, NOQ), *of_tquic]:
            try:
                sizes = np.abs(ratios(tables, experiment, first, second))
            except MissingDataError:
                continue
            far = worst(tables, experiment, Sides("stack", first, second))
            sentences.append(
                f"{words}, completion times of {first!r} and {second!r} differ by {100 * np.median(sizes):.1f} % in "
                f"the median case and by {100 * np.quantile(sizes, 0.9):.0f} % at the 90th percentile of {sizes.size} "
                f"treatments. Worst: {far}."
            )
    return sentences
