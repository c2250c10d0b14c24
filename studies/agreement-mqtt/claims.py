"""How near the model's MQTT comes to mosquitto.

The bound of the median was given before there were results; that of the 90th percentile and those of the longest times
were written together with the study, before its first run.

Both fidelities of a run meet the same losses, packet for packet, have the same arrivals of messages, and begin at the
same phase of their hosts' clock. What a log ratio is, and how its intervals are made, `haltere.claims.agreement` says.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from haltere.claims import OURS, Verdict, all_of, answer, claim, remark
from haltere.claims.agreement import Sides, by_level, log_ratio, side_by_side, within, worst
from haltere.metrics.tables import Tables

SIDES = Sides("fidelity", "model", "linux")
MEAN = "delivery_mean_s"
WORDS = {"lossless": "Without losses", "lossy": "With losses", "nagle": "With losses and Nagle's algorithm"}


def both(tables: Tables, experiment: str, column: str = MEAN) -> pl.DataFrame:
    """A row a treatment: the model's value as `first`, mosquitto's as `second`."""
    return side_by_side(tables, experiment, column, SIDES, flows=True)


def delivery(tables: Tables, experiment: str) -> Verdict:
    """Judge the log ratios of the mean delivery times by their median and their 90th percentile."""
    frame = both(tables, experiment)
    values = log_ratio(frame)
    return all_of(
        within("|log ratio| of mean delivery times, median", values, 0.5, 0.02),
        within("90th percentile", values, 0.9, 0.1),
        remark("Mean log ratio, its sign kept", f"{values.mean():+.4f}"),
        remark("Median by QoS", by_level(frame, "qos", 0.5)),
        remark("90th percentile by QoS", by_level(frame, "qos", 0.9)),
    )


@claim(
    "Without losses messages take as long in the model as through mosquitto, to 2 %.",
    source="the bound that was set before the runs",
    whose=OURS,
)
def lossless_delivery(tables: Tables) -> Verdict:
    """Over the treatments of `lossless`, the median of |log ratio| of the mean delivery time must lie within 0.02 and
    its 90th percentile within 0.1."""
    return delivery(tables, "lossless")


@claim("With losses they take as long, to 2 %.", source="the bound that was set before the runs", whose=OURS)
def lossy_delivery(tables: Tables) -> Verdict:
    """As for `lossless`, over the treatments of `lossy`."""
    return delivery(tables, "lossy")


@claim("With Nagle's algorithm they take as long, to 2 %.", source="this study", whose=OURS)
def nagle_delivery(tables: Tables) -> Verdict:
    """As for `lossless`, over the treatments of `nagle`."""
    return delivery(tables, "nagle")


@claim("The longest delivery times are mosquitto's.", source="this study", whose=OURS)
def longest(tables: Tables) -> Verdict:
    """In each experiment, the median of |log ratio| of the 99th percentile of delivery times must lie within 0.05."""
    return all_of(
        *(within(f"{name}, median", log_ratio(both(tables, name, "delivery_p99_s")), 0.5, 0.05) for name in WORDS)
    )


@claim("Connections are opened in the same time.", source="this study", whose=OURS)
def handshakes(tables: Tables) -> Verdict:
    """In each experiment, the median of |log ratio| of the time to CONNACK must lie within 0.02."""
    return all_of(
        *(within(f"{name}, median", log_ratio(both(tables, name, "handshake_s")), 0.5, 0.02) for name in WORDS)
    )


@answer
def in_short(tables: Tables) -> list[str]:
    """How far apart, and where."""
    sentences = []
    for experiment, words in WORDS.items():
        frame = both(tables, experiment)
        sizes = np.abs(log_ratio(frame))
        sentences.append(
            f"{words}, mean delivery times of model and mosquitto differ by {100 * np.median(sizes):.2f} % in the "
            f"median case and by {100 * np.quantile(sizes, 0.9):.1f} % at the 90th percentile of {sizes.size} "
            f"treatments; in {100 * np.mean(sizes > 0.02):.0f} % of them by more than 2 %. Worst: "
            f"{worst(tables, experiment, SIDES, 3, column=MEAN)}."
        )
    return sentences
