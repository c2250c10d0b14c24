"""How near our queue disciplines come to the kernel's.

The bounds of queueing delays and of goodput were given before there were results; those of drops and marks were set
after a first look. What a log ratio is, and how its intervals are made, `haltere.claims.agreement` says.

Where a discipline draws at random, model and kernel draw differently: their runs are two draws of one law, and differ
by what two replications of the model differ. The model's TCP and the kernel's stand behind them: what differs there
differs here too.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from haltere.claims import OURS, MissingDataError, Verdict, all_of, answer, claim, remark, value
from haltere.claims.agreement import Sides, log_ratio, side_by_side, within
from haltere.metrics import quantities
from haltere.metrics.tables import Tables
from haltere.metrics.text import fixed

SIDES = Sides("fidelity", "model", "linux")
EXPERIMENTS = ("packets", "bytes", "shapers")
DELAY = "bottleneck_mean_queueing_delay_s"
LEAST_DELAY_S = 1e-4
"""Below this mean queueing delay a ratio says nothing: the meter's grain is a microsecond."""


def both(tables: Tables, column: str, *, flows: bool = False) -> pl.DataFrame:
    """A row a treatment of all experiments that are there: its factors, the model's value as `first`, the kernel's as
    `second`."""
    frames = []
    for experiment in EXPERIMENTS:
        try:
            frame = side_by_side(tables, experiment, column, SIDES, flows=flows)
        except MissingDataError:
            continue
        kept = [name for name in ("discipline", "rate", "rtt", "limit", "flows", "ecn") if name in frame.columns]
        frames.append(frame.select(pl.col(kept).cast(pl.String), "first", "second"))
    if not frames:
        raise MissingDataError(f"no experiment was run with both {SIDES.first} and {SIDES.second}")
    return pl.concat(frames, how="diagonal")


def delays(tables: Tables) -> pl.DataFrame:
    """The mean queueing delays, where the kernel's is long enough to compare."""
    return both(tables, DELAY).filter((pl.col("second") >= LEAST_DELAY_S) & (pl.col("first") > 0))


def dropped(tables: Tables) -> pl.DataFrame:
    """The packets that a discipline dropped, early or for lack of room: not every discipline tells which."""
    total = pl.col("bottleneck_dropped_queue") + pl.col("bottleneck_dropped_early")
    return both(Tables(tables.runs.with_columns(dropped=total), tables.flows, tables.factors), "dropped")


def by_discipline(frame: pl.DataFrame, *, add: float = 0.0) -> str:
    """Median and 90th percentile of the log ratios of each discipline."""
    parts = []
    for name in frame["discipline"].unique(maintain_order=True):
        sizes = np.abs(log_ratio(frame.filter(pl.col("discipline") == name), add))
        parts.append(f"{name} {np.median(sizes):.3f}, {np.quantile(sizes, 0.9):.3f}")
    return "; ".join(parts)


@claim(
    "The disciplines delay packets as long as the kernel's.",
    source="the bounds that were set before the runs",
    whose=OURS,
)
def queueing(tables: Tables) -> Verdict:
    """Over all treatments, the median of |log ratio| of the mean queueing delay must lie within 0.05 and its 90th
    percentile within 0.20. Treatments in which the kernel's delay is below 0.1 ms are left out."""
    frame = delays(tables)
    values = log_ratio(frame)
    return all_of(
        within("|log ratio| of the mean queueing delay, median", values, 0.5, 0.05),
        within("90th percentile", values, 0.9, 0.20),
        remark("Mean log ratio, its sign kept", f"{values.mean():+.4f}"),
        remark("Median and 90th percentile by discipline", by_discipline(frame)),
    )


@claim("Flows get the same goodput through them.", source="the bounds that were set before the runs", whose=OURS)
def goodput(tables: Tables) -> Verdict:
    """Over all treatments, the median of |log ratio| of the flows' mean goodput must lie within 0.01 and its 90th
    percentile within 0.05."""
    frame = both(tables, "goodput_bps", flows=True).filter((pl.col("first") > 0) & (pl.col("second") > 0))
    values = log_ratio(frame)
    return all_of(
        within("|log ratio| of the goodput, median", values, 0.5, 0.01),
        within("90th percentile", values, 0.9, 0.05),
        remark("Mean log ratio, its sign kept", f"{values.mean():+.4f}"),
        remark("Median and 90th percentile by discipline", by_discipline(frame)),
    )


@claim("They drop and mark as many packets.", source="this study", whose=OURS)
def drops_and_marks(tables: Tables) -> Verdict:
    """Over all treatments, the medians of |log ratio| of (drops + 1) and of (marks + 1) must lie within 0.05 and their
    90th percentiles within 0.35; the one is added because many runs have none. Marks are those of ECN-capable flows."""
    drops, marks = dropped(tables), both(tables, "bottleneck_marked_packets")
    if "ecn" in marks.columns:
        marks = marks.filter(pl.col("ecn") == "on")
    lost, marked = log_ratio(drops, 1.0), log_ratio(marks, 1.0)
    return all_of(
        within("drops, median", lost, 0.5, 0.05),
        within("drops, 90th percentile", lost, 0.9, 0.35),
        within("marks, median", marked, 0.5, 0.05),
        within("marks, 90th percentile", marked, 0.9, 0.35),
        remark("Drops by discipline", by_discipline(drops, add=1.0)),
        remark("Marks by discipline", by_discipline(marks, add=1.0)),
    )


@answer
def in_short(tables: Tables) -> list[str]:
    """How far apart, and where."""
    frame = delays(tables)
    frame = frame.with_columns(log=pl.Series(log_ratio(frame)))
    sizes = np.abs(frame["log"].to_numpy())
    rows = frame.sort(pl.col("log").abs(), descending=True).head(3).to_dicts()
    names = [name for name in frame.columns if name not in ("first", "second", "log")]
    where = "; ".join(
        f"{', '.join(quantities.named(str(row[n]), n) for n in names if row[n] is not None)}: {fixed(row['log'], 2)}"
        for row in rows
    )
    return [
        f"The mean queueing delays of model and kernel differ by {100 * np.median(sizes):.2f} % in the median case and "
        f"by {100 * np.quantile(sizes, 0.9):.1f} % at the 90th percentile of {sizes.size} treatments. "
        f"Worst, as ln(model / kernel): {where}."
    ]


@value
def each_discipline(tables: Tables) -> pl.DataFrame:
    """Median and 90th percentile of |log ratio| of each discipline's delay, goodput, drops and marks."""
    goodputs = both(tables, "goodput_bps", flows=True).filter((pl.col("first") > 0) & (pl.col("second") > 0))
    parts = {
        "delay": (delays(tables), 0.0),
        "goodput": (goodputs, 0.0),
        "drops + 1": (dropped(tables), 1.0),
        "marks + 1": (both(tables, "bottleneck_marked_packets"), 1.0),
    }
    rows = []
    for name in parts["delay"][0]["discipline"].unique(maintain_order=True):
        row = {"median, 90th percentile": name}
        for what, (frame, add) in parts.items():
            sizes = np.abs(log_ratio(frame.filter(pl.col("discipline") == name), add))
            row[what] = f"{np.median(sizes):.3f}, {np.quantile(sizes, 0.9):.3f}"
        rows.append(row)
    return pl.DataFrame(rows)
