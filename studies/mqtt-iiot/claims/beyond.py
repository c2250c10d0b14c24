"""Quality of service, streams, batches and migration, which the thesis does not have."""

from __future__ import annotations

import dataclasses
import itertools

import polars as pl

from haltere.claims import OURS, Evidence, Verdict, ahead, alike, all_of, below, claim, exceeds, reading, remark
from haltere.claims.comparison import compare
from haltere.metrics import quantities
from haltere.metrics.tables import Tables
from haltere.stats import Interval, mean, mean_of_amounts

from .shared import Numbers, each

BEYOND = "beyond the thesis; the rule was written after a trial of four replications"
STATES = ["without loss", "2 % lost", "2 % lost, outages"]
WIFI = ["still works", "was lost 200 ms before"]


@claim(
    "QoS 1 and 2 cost no delivery time, and lose no message where QoS 0 does.",
    source=f"quality of service, {BEYOND}",
    whose=OURS,
)
def quality(tables: Tables) -> Verdict:
    """Without loss, the delivery time at QoS 1 and 2 must be that at QoS 0 within the margin of 1 %. With outages, more
    than 5 % of the messages must be lost at QoS 0, and none at QoS 1 and 2."""
    parts: list[Evidence] = []
    over = {"network": ["Wi-Fi", "satellite"], "state": STATES[:1], "transport": ["tcp", "quic"]}
    for qos in ("1", "2"):
        found = compare(tables, "qos", "delivery_time", "qos", qos, "0", over=over)
        parts.append(alike(f"Delivery time without loss, QoS {qos} ÷ QoS 0", found.pooled(), found.metric))
    lost = {qos: lost_messages(tables, qos) for qos in ("0", "1", "2")}
    parts.append(exceeds("Lost with outages at QoS 0", mean_of_amounts(lost["0"], 1.0), 0.05, "%"))
    parts += [exceeds(f"Delivered with outages at QoS {qos}", mean(1 - lost[qos]), 0.9999, "%") for qos in ("1", "2")]
    return all_of(*parts)


def lost_messages(tables: Tables, qos: str) -> Numbers:
    """The share of messages that were lost with outages, a number a replication. A run that lost some at QoS 1 or 2
    counts as failed, and is among them."""
    runs = tables.experiment_runs("qos").filter(pl.col("state") == STATES[2], pl.col("qos") == qos)
    found = runs.join(tables.flows.select("run_id", "messages_lost", "messages_published"), on="run_id")
    share = pl.col("messages_lost").sum() / pl.col("messages_published").sum()
    return found.group_by("replication").agg(value=share).sort("replication")["value"].to_numpy()


@claim(
    "A stream for each topic spares messages the wait for lost ones of other topics.",
    source=f"streams against head-of-line blocking, {BEYOND}",
    whose=OURS,
)
def streams(tables: Tables) -> Verdict:
    """Ten topics, a message every 10 ms, CUBIC: for each network, the geometric mean over losses of 1 to 5 % of the
    delivery time with a stream for each topic must be below that with one stream by more than the margin."""
    parts: list[Evidence] = []
    for network in ("Wi-Fi", "4G"):
        over = {"network": [network], "loss": ["1%", "2%", "5%"]}
        for level, decides in (("QUIC, a stream a topic", True), ("QUIC, a stream a message", False)):
            found = compare(tables, "streams", "delivery_time", "streams", level, "QUIC, one stream", over=over)
            what = f"{network}: {level} ÷ one stream"
            shown = reading(found.pooled(), found.metric)
            parts.append(ahead(what, found.pooled(), found.metric) if decides else remark(what, shown))
    return all_of(*parts)


def inverse(found: Interval) -> Interval:
    """One over a ratio."""
    low = None if found.high is None else 1 / found.high
    high = None if found.low is None else 1 / found.low
    return dataclasses.replace(found, value=1 / found.value, low=low, high=high)


@claim(
    "Ten small messages sent together save more than half of the overhead and cost no more time than they gather.",
    source=f"batching, {BEYOND}",
    whose=OURS,
)
def batches(tables: Tables) -> Verdict:
    """Messages of 100 bytes, one every 10 ms. The overhead with ten together must be less than half of that with single
    ones, as a geometric mean over networks, losses and transports; without loss, the mean delivery time must not grow
    by more than the 90 ms from the first to the last of a batch."""
    over = {"network": ["Wi-Fi", "satellite"], "loss": ["0%", "2%"], "transport": ["tcp", "quic"]}
    saved = compare(tables, "batch", "overhead", "batch", "10", "1", over=over)
    ten, one = (each(tables, "batch", "delivery_time", loss="0%", batch=batch) for batch in ("10", "1"))
    parts: list[Evidence] = [
        exceeds("Overhead, single ÷ ten together", inverse(saved.pooled()), 2.0),
        below("Growth of the delivery time without loss", mean(ten - one), 90.0, "ms"),
    ]
    times = compare(tables, "batch", "delivery_time", "batch", "10", "1", over=over)
    for network, loss in itertools.product(over["network"], over["loss"]):
        part = times.within({"network": [network], "loss": [loss]}).pooled()
        what = f"Delivery time, ten together ÷ single, {network}, {quantities.text(loss)}"
        parts.append(remark(what, reading(part, times.metric)))
    return all_of(*parts)


@claim(
    "A publisher that changes networks: messages wait less over QUIC, which migrates, than over TCP, which reconnects.",
    source=f"migration, {BEYOND}",
    whose=OURS,
)
def moves(tables: Tables) -> Verdict:
    """From Wi-Fi to 4G; the publisher connects again a second after it has lost a connection. The longest delivery time
    over QUIC must be below that over TCP, with TLS 1.3 and with early data and Fast Open, as a geometric mean over both
    states of Wi-Fi and QoS 0 and 1."""
    parts: list[Evidence] = []
    over = {"wifi": WIFI, "qos": ["0", "1"]}
    for other in ("TCP, TLS 1.3", "TCP, early data, Fast Open"):
        found = compare(tables, "migration", "delivery_time_max", "connection", "QUIC", other, over=over)
        parts.append(ahead(f"Longest delivery time, QUIC ÷ {other}", found.pooled(), found.metric))
    for name in ("TCP, TLS 1.3", "QUIC", "MPTCP", "MPQUIC"):
        longest = each(tables, "migration", "delivery_time_max", connection=name).mean()
        lost = each(tables, "migration", "message_loss", connection=name, wifi=WIFI[1], qos="0").mean() * 6
        what = f"{name}: longest delivery time; messages of 600 lost at QoS 0 where Wi-Fi {WIFI[1]}"
        parts.append(remark(what, f"{longest:.0f} ms; {lost:.1f}"))
    return all_of(*parts)
