"""How near the model of QUIC comes to production stacks.

The bounds of the first claim were given before there were results: 5 % in the median, 25 % for nine treatments of ten.
The others ask the same of what it leaves out. All sides of a treatment meet the same losses, by the packet's ordinal on
the link. What a log ratio is, and how its intervals are made, `haltere.claims.agreement` says.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from haltere.claims import OURS, Evidence, Outcome, Verdict, all_of, answer, claim, remark
from haltere.claims.agreement import Sides, Values, log_ratio, near, side_by_side, worst
from haltere.metrics.tables import Tables

BOUNDS = (0.05, 0.25)
"""Of the median, and of the 90th percentile."""


def ratios(tables: Tables, experiment: str, first: str, second: str, congestion: str | None = None) -> Values:
    """The log ratios of the completion times of two stacks."""
    frame = side_by_side(tables, experiment, "completion_s", Sides("stack", first, second), flows=True)
    if congestion is not None:
        frame = frame.filter(pl.col("congestion") == congestion)
    return log_ratio(frame)


def by_congestion(tables: Tables, experiment: str, stack: str) -> Evidence:
    """The quantiles of each congestion control."""
    parts = []
    for name in ("cubic", "newreno"):
        sizes = np.abs(ratios(tables, experiment, "model", stack, name))
        parts.append(f"{name} {np.median(sizes):.4f} and {np.quantile(sizes, 0.9):.4f}")
    return remark("Median and 90th percentile by congestion control", ", ".join(parts))


@claim(
    "Without random loss the model's completion times are quinn's, to 5 % in the median case.",
    source="the bounds that were set before the runs",
    whose=OURS,
)
def lossless_quinn(tables: Tables) -> Verdict:
    """Over the treatments of `lossless` (CUBIC and NewReno), |log ratio| must lie within 0.05 in the median and within
    0.25 at the 90th percentile."""
    values = ratios(tables, "lossless", "model", "quinn")
    return all_of(*near("|log ratio| model ÷ quinn", values, *BOUNDS), by_congestion(tables, "lossless", "quinn"))


@claim("Without random loss they are noq's too.", source="this study", whose=OURS)
def lossless_noq(tables: Tables) -> Verdict:
    """The bounds of the completion time, against noq."""
    values = ratios(tables, "lossless", "model", "noq")
    return all_of(*near("|log ratio| model ÷ noq", values, *BOUNDS), by_congestion(tables, "lossless", "noq"))


@claim("With random loss they are the stacks' as well.", source="this study", whose=OURS)
def lossy(tables: Tables) -> Verdict:
    """The bounds of the completion time over the treatments of `lossy`, against each stack."""
    parts = [
        e
        for stack in ("quinn", "noq")
        for e in near(f"model ÷ {stack}", ratios(tables, "lossy", "model", stack), *BOUNDS)
    ]
    return all_of(*parts)


@claim(
    "With our congestion control inside, the stacks come nearer to the model: what differs is the algorithm.",
    source="this study",
    whose=OURS,
)
def our_control_inside(tables: Tables) -> Verdict:
    """In `lossless` and `lossy`, for each stack: the 90th percentile of |log ratio| against the model must be smaller
    with our congestion control inside the stack than with the stack's own, the difference's interval over treatments
    (bootstrap) lying wholly on that side."""
    parts = []
    for experiment in ("lossless", "lossy"):
        for stack in ("quinn", "noq"):
            own = np.abs(ratios(tables, experiment, "model", stack))
            ours = np.abs(ratios(tables, experiment, "model", f"{stack}, our control"))
            parts.append(smaller(f"{experiment}, {stack}: 90th percentile, own ÷ ours inside", own, ours))
    return all_of(*parts)


def smaller(what: str, larger: Values, smaller: Values) -> Evidence:
    """The part "the second's 90th percentile is the smaller", over treatments drawn anew together."""
    count = min(larger.size, smaller.size)
    draws = np.random.default_rng(1).integers(count, size=(2000, count))
    ratio = np.quantile(larger[:count][draws], 0.9, axis=1) / np.quantile(smaller[:count][draws], 0.9, axis=1)
    low, high = np.quantile(ratio, [0.025, 0.975])
    value = np.quantile(larger, 0.9) / np.quantile(smaller, 0.9)
    outcome = Outcome.CONFIRMED if low > 1 else Outcome.CONTRADICTED if high < 1 else Outcome.UNDECIDED
    return Evidence(what, f"{value:.2f} [{low:.2f}, {high:.2f}]", outcome, bound="above 1")


@claim("With BBR the model's completion times are the stacks' too.", source="this study", whose=OURS)
def bbr(tables: Tables) -> Verdict:
    """The bounds of the completion time for BBR: version 1 against quinn's, version 3 against noq's, each with our
    BBR inside the stack."""
    return all_of(
        *near("BBR 1, model ÷ our BBR in quinn", ratios(tables, "bbr", "model, BBR 1", "quinn, our BBR 1"), *BOUNDS),
        *near("BBR 3, model ÷ our BBR in noq", ratios(tables, "bbr", "model, BBR 3", "noq, our BBR 3"), *BOUNDS),
    )


@answer
def in_short(tables: Tables) -> list[str]:
    """How far apart, and where."""
    sentences = []
    for experiment, words in (("lossless", "Without random loss"), ("lossy", "With random loss")):
        for stack in ("quinn", "noq"):
            sizes = np.abs(ratios(tables, experiment, "model", stack))
            far = worst(tables, experiment, Sides("stack", "model", stack))
            sentences.append(
                f"{words}, completion times of the model and {stack} differ by {100 * np.median(sizes):.1f} % in the "
                f"median case and by {100 * np.quantile(sizes, 0.9):.0f} % at the 90th percentile of {sizes.size} "
                f"treatments. Worst: {far}."
            )
    return sentences
