"""The claims of the thesis on MQTT, each judged from the results by a rule that was fixed before there were any.

Delivery times are means over a run's messages. QUIC and TCP are compared within each replication, as both meet the same
losses by ordinal; intervals are at 95 % over replications. Shares of the bottleneck are goodputs from 50 s on, in parts
of the link's rate.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from haltere.claims import (
    OURS,
    Evidence,
    MissingDataError,
    Verdict,
    ahead,
    alike,
    all_of,
    answer,
    below,
    between,
    claim,
    exceeds,
    few,
    not_ahead,
    reading,
    remark,
    value,
)
from haltere.claims.comparison import Comparison, compare
from haltere.figures.timeline import record
from haltere.metrics import METRICS, quantities
from haltere.metrics.tables import Tables, from_scale
from haltere.stats import Interval, mean, mean_of_amounts
from haltere.study import Study

Numbers = NDArray[np.float64]

NETWORKS = ["Wi-Fi", "4G", "satellite"]
LOSSES = ["0%", "1%", "2%", "3%", "5%"]
CONGESTION = ["newreno", "cubic", "bbr"]
CELL_DELAYS = ["100ms", "200ms", "300ms"]
LOSS_BASED = ["newreno", "cubic"]
THESIS = "Villegas Saiz 2021"


def xi(tables: Tables, networks: list[str], losses: list[str]) -> Comparison:
    """The delivery time over QUIC against that over TCP, which the thesis calls ξ."""
    over = {"network": networks, "loss": losses, "congestion": CONGESTION}
    return compare(tables, "latency", "delivery_time", "transport", "quic", "tcp", over=over)


@claim(
    "With losses QUIC delivers messages sooner than TCP, or as soon, on each network.", whose=THESIS, source="claim 1"
)
def sooner(tables: Tables) -> Verdict:
    """For each network, the geometric mean of ξ over the losses from 1 to 5 % and the three congestion controls must
    not be above 1 by more than the margin of 1 %."""
    found = {network: xi(tables, [network], LOSSES[1:]) for network in NETWORKS}
    return all_of(*(not_ahead(f"ξ, {n}", c.pooled(), c.metric, "to") for n, c in found.items()))


@claim("The gain is largest on Wi-Fi, and small on the satellite link.", whose=THESIS, source="claim 1")
def largest_on_wifi(tables: Tables) -> Verdict:
    """With losses, ξ must be smaller on Wi-Fi than on 4G, and on 4G than on the satellite link."""
    parts: list[Evidence] = []
    found = xi(tables, NETWORKS, LOSSES[1:])
    for near, far in itertools.pairwise(NETWORKS):
        one, other = (found.within({"network": [network]}) for network in (far, near))
        parts.append(exceeds(f"ξ, {far} ÷ {near}", one.minus(other), 1.0))
    parts += [remark(f"ξ, {n}", reading(found.within({"network": [n]}).pooled(), found.metric)) for n in NETWORKS]
    return all_of(*parts)


@claim("The gain grows with the loss.", whose=THESIS, source="claim 1")
def grows_with_loss(tables: Tables) -> Verdict:
    """For each network, ξ must be smaller at 5 % than at 1 %."""
    parts = []
    for network in NETWORKS:
        found = xi(tables, [network], LOSSES[1:])
        one, five = (found.within({"loss": [loss]}) for loss in ("1%", "5%"))
        parts.append(exceeds(f"ξ at 1 % ÷ at 5 %, {network}", one.minus(five), 1.0))
    return all_of(*parts)


@claim("Without loss TCP is marginally better: ξ lies between 1.003 and 1.01.", whose=THESIS, source="claim 1",
       paper="1.003 to 1.01")  # fmt: skip
def without_loss(tables: Tables) -> Verdict:
    """On each network ξ must be above 1 and not above 1.01, in the mean over the congestion controls."""
    parts: list[Evidence] = []
    for network in NETWORKS:
        found = xi(tables, [network], ["0%"]).pooled()
        parts.append(between(f"ξ without loss, {network}", found, 1.0, 1.01))
    return all_of(*parts)


def inverse(found: Interval) -> Interval:
    """One over a ratio."""
    low = None if found.high is None else 1 / found.high
    high = None if found.low is None else 1 / found.low
    return dataclasses.replace(found, value=1 / found.value, low=low, high=high)


@claim(
    "With publisher and broker in one 802.11 cell, QUIC too delivers messages as soon as TCP, or sooner.",
    whose=THESIS,
    source="claim 1, the Wi-Fi cell",
)
def cell(tables: Tables) -> Verdict:
    """For each delay behind the broker, the geometric mean of ξ over the frame error rates from 0 to 5 % and the three
    congestion controls must not be above 1 by more than the margin of 1 %, and it must be larger with 300 ms than with
    100 ms, as the delay that both have in common grows."""
    over = {"delay": CELL_DELAYS, "loss": LOSSES, "congestion": CONGESTION}
    found = compare(tables, "cell", "delivery_time", "transport", "quic", "tcp", over=over)
    near, *_, far = parts = [found.within({"delay": [delay]}) for delay in CELL_DELAYS]
    named = zip(CELL_DELAYS, parts, strict=True)
    return all_of(
        *(not_ahead(f"ξ, {quantities.text(d)}", part.pooled(), found.metric, "to") for d, part in named),
        exceeds("ξ with 300 ms ÷ with 100 ms", far.minus(near), 1.0),
        *(
            remark(f"ξ at {quantities.text(loss)}", reading(found.within({"loss": [loss]}).pooled(), found.metric))
            for loss in LOSSES
        ),
    )


@claim("A repeated connection with 0-RTT saves the round trip of the first one.", whose=THESIS, source="figure 4.4")
def zero_rtt(tables: Tables) -> Verdict:
    """Without loss, the time to CONNACK over QUIC must be shorter by at least 0.9 round trips (540 ms) with 0-RTT than
    without."""
    over = {"eager": ["after CONNACK"], "loss": ["0%"]}
    values = tables.values("setup", "setup_time", over)
    if values.is_empty():
        raise MissingDataError("experiment setup is not in these results")
    first, repeated = (
        values.filter(pl.col("connection") == name)["value"].to_numpy() for name in ("QUIC, 1-RTT", "QUIC, 0-RTT")
    )
    if len(first) < 2 or len(first) != len(repeated):
        raise MissingDataError(f"{few(min(len(first), len(repeated)))} of both connections in setup")
    others = ["TCP, TLS 1.2, first", "TCP, TLS 1.3, first", "TCP, TLS 1.3, early data, Fast Open"]
    shown = ", ".join(f"{values.filter(pl.col('connection') == name)['value'].mean():.0f}" for name in others)
    return all_of(
        exceeds("Saved", mean(first - repeated), 540.0, "ms"),
        remark("QUIC first and repeated, ms", f"{first.mean():.0f} and {repeated.mean():.0f}"),
        remark("TCP with TLS 1.2, with TLS 1.3, with early data and Fast Open, ms", shown),
    )


def goodputs(tables: Tables, congestion: str, network: str, loss: str, interval: str = "10ms") -> Numbers:
    """Goodput over QUIC, Mbit/s, replication by replication."""
    where = {
        "network": network, "loss": loss, "interval": interval, "congestion": congestion, "transport": "quic",
    }  # fmt: skip
    found = tables.values("loaded", "goodput", where).sort("replication")["value"].to_numpy()
    if len(found) < 2:
        raise MissingDataError(f"{few(len(found))} of {congestion}, {network}, {loss} in loaded")
    return found


@claim(
    "A message every 10 ms: the goodput of loss-based control falls as the RTT grows, by up to 75 % (satellite, 5 %).",
    whose=THESIS,
    source="claim 2, figure 4.7",
    paper="up to 75 %",
)
def falls_with_rtt(tables: Tables) -> Verdict:
    """At 5 % of loss, the goodput of NewReno and of CUBIC must be less on the satellite link than on 4G, and there fall
    by 60 to 90 % below the 0.4 Mbit/s that are offered."""
    parts: list[Evidence] = []
    for congestion in LOSS_BASED:
        near, far = (goodputs(tables, congestion, network, "5%") for network in ("4G", "satellite"))
        fall = mean(1 - far / 0.4)
        parts += [
            exceeds(f"4G − satellite, Mbit/s, {congestion}", mean(near - far), 0.0, "±"),
            between(f"Fall on the satellite link, {congestion}", fall, 0.6, 0.9, "%"),
        ]
    return all_of(*parts)


@claim("BBR keeps its goodput high everywhere.", whose=THESIS, source="claim 2, figure 4.7")
def bbr_keeps(tables: Tables) -> Verdict:
    """A message every 10 ms, 5 % of loss: BBR's goodput must be above 90 % of the 0.4 Mbit/s that are offered."""
    parts = []
    for network in NETWORKS:
        worst = mean(goodputs(tables, "bbr", network, "5%") / 0.4)
        parts.append(exceeds(f"Share of the offered load at 5 %, {network}", worst, 0.9, "%"))
    return all_of(*parts)


WINDOW = {"interval": "10ms", "loss": "1%"}
"""The treatments of `loaded` whose windows are looked at, with each network and transport."""
UNTIL = 60.0
"""How long a run is recorded, s."""
OPENED = (5.0, 15.0)
"""The publisher connects at 5 s: the first ten seconds of its connection."""


def windows(tables: Tables, network: str, transport: str) -> tuple[list[float], list[float]]:
    """BBR's congestion window over the larger one of NewReno's and CUBIC's: the largest at the start, and the mean
    after that. A number a replication, of the first ten; the runs are made once more to be recorded."""
    runs = tables.experiment_runs("loaded")
    if runs.is_empty():
        raise MissingDataError("experiment loaded is not in these results")
    study = Study.load(Path(__file__).parent)
    peaks, means = [], []
    for replication in sorted(runs["replication"].unique().to_list())[:10]:
        found = {}
        for congestion in CONGESTION:
            where = {**WINDOW, "network": network, "transport": transport, "congestion": congestion}
            found[congestion] = window(record(study, "loaded", where, replication, f"{UNTIL:.0f}s"))
        peak, average = (np.array([found[name][part] for name in CONGESTION]) for part in (0, 1))
        peaks.append(float(peak[2] / peak[:2].max()))
        means.append(float(average[2] / average[:2].max()))
    return peaks, means


def window(series: Mapping[tuple[str, str], Mapping[str, Any]]) -> tuple[float, float]:
    """The largest window in the first ten seconds of the connection, and the mean over time after them, bytes."""
    cwnd = series["flow 0", "cwnd"]
    times, values = np.array(cwnd["t_s"]), np.array(cwnd["v"])
    first, then = OPENED
    # A value holds until the next one.
    held = np.clip(np.append(times[1:], UNTIL), then, UNTIL) - np.clip(times, then, UNTIL)
    opening = values[(times >= first) & (times < then)]
    return float(opening.max()), float(np.average(values, weights=held))


@claim(
    "BBR's window overshoots to almost four times the others' at the start, then settles, and stays above theirs.",
    whose=THESIS,
    source="claim 3",
    paper="almost 4 times",
)
def overshoot(tables: Tables) -> Verdict:
    """A message every 10 ms, 1 % of loss, on each network, over TCP and QUIC. In the first ten seconds of the
    connection BBR's largest window must be more than three and less than four times the larger one of NewReno's and
    CUBIC's, as a geometric mean over networks and transports; after that its mean window must be above theirs, and
    the ratio of the means below that of the largest windows."""
    pairs = list(itertools.product(NETWORKS, ("tcp", "quic")))
    found = [windows(tables, network, transport) for network, transport in pairs]
    peaks, means = (np.log(np.array([part[k] for part in found])) for k in (0, 1))

    def ratio(of: Numbers) -> Interval:
        return from_scale(mean(of), METRICS["goodput"])

    parts: list[Evidence] = [
        between("Largest window at the start, BBR ÷ others", ratio(peaks.mean(axis=0)), 3.0, 4.0),
        exceeds("Mean window later, BBR ÷ others", ratio(means.mean(axis=0)), 1.0),
        exceeds("Ratio at the start ÷ ratio later", ratio((peaks - means).mean(axis=0)), 1.0),
    ]
    for (network, transport), peak, later in zip(pairs, peaks, means, strict=True):
        shown = f"{math.exp(peak.mean()):.2f} and {math.exp(later.mean()):.2f}"
        parts.append(remark(f"At the start and later, {network}, {transport}", shown))
    return all_of(*parts)


def rates(tables: Tables, experiment: str, **where: str) -> Numbers:
    """Goodput from 50 s on, a row a replication and a column a flow, bit/s."""
    of = tables.experiment_runs(experiment)
    if of.is_empty():
        raise MissingDataError(f"experiment {experiment} is not in these results")
    runs = of.filter(pl.col("status") == "ok", *(pl.col(k) == v for k, v in where.items()))
    found = runs.join(tables.flows.select("run_id", "flow", "goodput_bps"), on="run_id").sort("replication", "flow")
    if runs.height < 2:
        raise MissingDataError(f"{few(runs.height)} of {', '.join(where.values())} in {experiment}")
    return found["goodput_bps"].to_numpy().reshape(runs.height, -1)


def jain(of: Numbers) -> Numbers:
    """Jain's index of each row."""
    return np.square(of.sum(axis=1)) / (of.shape[1] * np.square(of).sum(axis=1))


@claim("With a large queue BBR gets less than 5 % of the rate beside NewReno or CUBIC.", whose=THESIS, source="claim 4",
       paper="2.55 to 4.13 %")  # fmt: skip
def starved(tables: Tables) -> Verdict:
    """BBR starts first, the other 20 s later. BBR's share of 500 kbit/s must be below 5 %, over TCP and QUIC."""
    parts: list[Evidence] = []
    for transport, reported in (("tcp", ("4.13", "3.86")), ("quic", ("2.55", "2.62"))):
        for pair, stated in zip(("BBR and NewReno", "BBR and CUBIC"), reported, strict=True):
            share = rates(tables, "two", kinds=pair, transport=transport)[:, 0] / 500e3
            what = f"BBR's share, {pair}, {transport} (the thesis: {stated} %)"
            parts.append(below(what, mean_of_amounts(share, 1.0), 0.05, "%"))
    return all_of(*parts)


@claim("Two BBR flows share evenly.", whose=THESIS, source="claim 4")
def even(tables: Tables) -> Verdict:
    """Jain's index of two BBR flows must be above 0.98, over TCP and QUIC."""
    parts: list[Evidence] = []
    for transport in ("tcp", "quic"):
        found = rates(tables, "two", kinds="BBR and BBR", transport=transport)
        parts += [
            exceeds(f"Jain's index, {transport}", mean(jain(found)), 0.98),
            remark("The first flow's share", f"{(found[:, 0] / 500e3).mean():.1%}"),
        ]
    return all_of(*parts)


@claim(
    "CUBIC holds about 80 % beside NewReno and beside BBR, and shares evenly with CUBIC.",
    whose=THESIS,
    source="claim 4",
    paper="about 80 %",
)
def cubic_holds(tables: Tables) -> Verdict:
    """Over TCP and QUIC, CUBIC's share must lie between 70 and 90 % beside NewReno and beside BBR; Jain's index of two
    CUBIC flows must be above 0.98."""
    parts: list[Evidence] = []
    for transport in ("tcp", "quic"):
        for pair in ("CUBIC and NewReno", "CUBIC and BBR"):
            share = rates(tables, "two", kinds=pair, transport=transport)[:, 0] / 500e3
            parts += [
                between(f"CUBIC's share, {pair}, {transport}", mean_of_amounts(share, 1.0), 0.7, 0.9, "%"),
            ]
        index = jain(rates(tables, "two", kinds="CUBIC and CUBIC", transport=transport))
        parts.append(exceeds(f"Jain's index, CUBIC and CUBIC, {transport}", mean(index), 0.98))
    return all_of(*parts)


REPORTED = {
    "4 CUBIC": (0.98, 0.99),
    "4 BBR": (0.87, 0.95),
    "4 CUBIC + 1 BBR": (0.90, 0.80),
    "4 BBR + 1 CUBIC": (0.57, 0.63),
    "CUBIC, then BBR": (0.52, 0.95),
    "BBR, then CUBIC": (0.60, 0.99),
}
"""Jain's indices of the thesis (table 4.3): with a large queue, and with one of a bandwidth-delay product."""


@claim(
    "CUBIC flows among themselves are fair, and BBR's sharing with CUBIC depends on the queue.",
    whose=THESIS,
    source="claim 5",
    paper="4 CUBIC: 0.98 (large queue), 0.99 (1 BDP); CUBIC, then BBR: 0.52, 0.95",
)
def several(tables: Tables) -> Verdict:
    """Over QUIC. Four CUBIC flows must have a Jain's index above 0.95 with either queue. With the queue of a
    bandwidth-delay product the index of one BBR and one CUBIC must be higher than with the large one, whoever is
    first."""
    parts: list[Evidence] = []
    found = {
        mix: [jain(rates(tables, "five", mix=mix, queue=queue, transport="quic")) for queue in ("100000p", "1bdp")]
        for mix in REPORTED
    }
    for queue, index in zip(("large", "1 BDP"), found["4 CUBIC"], strict=True):
        parts.append(exceeds(f"4 CUBIC, {queue}", mean(index), 0.95))
    for mix in ("CUBIC, then BBR", "BBR, then CUBIC"):
        large, small = found[mix]
        parts.append(exceeds(f"{mix}, 1 BDP − large", mean(small - large), 0.0, "±"))
    for mix, (large, small) in found.items():
        one, other = REPORTED[mix]
        shown = f"{large.mean():.2f} and {small.mean():.2f}; the thesis: {one} and {other}"
        parts.append(remark(f"{mix}, large queue and 1 BDP", shown))
    return all_of(*parts)


@claim("Of two BBR flows the one with the longer RTT takes more.", whose=THESIS, source="claim 6, figure 4.8")
def longer_takes_more(tables: Tables) -> Verdict:
    """The second flow's rate over the first's, with 200 and with 300 ms, must be above 1, over TCP and QUIC."""
    parts: list[Evidence] = []
    for transport in ("tcp", "quic"):
        for rtt in ("200 ms", "300 ms"):
            found = rates(tables, "rtt", rtt=rtt, congestion="bbr", transport=transport)
            ratio = from_scale(mean(np.log(found[:, 1] / found[:, 0])), METRICS["goodput"])
            parts.append(exceeds(f"Rate, {rtt} ÷ 100 ms, {transport}", ratio, 1.0))
    return all_of(*parts)


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


def each(tables: Tables, experiment: str, metric: str, **where: str) -> Numbers:
    """A metric, averaged within each replication over the factors that are not named."""
    values = tables.values(experiment, metric, where)
    if values.is_empty():
        raise MissingDataError(f"experiment {experiment} holds no run of {', '.join(where.values())}")
    return values.group_by("replication").agg(pl.col("value").mean()).sort("replication")["value"].to_numpy()


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


ENERGY = "energy, beyond the thesis; the rule was written before there were results"


@claim(
    "QUIC's keep-alive doubles the time that an LTE radio is on; with 0-RTT a device can sleep and be as good as TCP.",
    source=ENERGY,
    whose=OURS,
)
def keep_alive(tables: Tables) -> Verdict:
    """A message a minute. QUIC's connection ends after 30 s without packets, so that it needs a PINGREQ every 20 s;
    over TCP every 60 s is enough. With LTE the time that the radio is on for each message must be more than twice as
    long over QUIC; and with sleeping devices, which resume with 0-RTT, it must be that over TCP every 60 s within the
    margin of 5 %. Means over QoS 0 to 2, messages at once."""
    over = {"radio": ["LTE"], "qos": ["0", "1", "2"], "gather": ["at once"]}
    parts: list[Evidence] = []
    kept = compare(tables, "energy", "radio_on", "device", "QUIC, every 20 s", "TCP, every 60 s", over=over)
    parts.append(exceeds("Radio on, QUIC every 20 s ÷ TCP every 60 s", kept.pooled(), 2.0))
    asleep = compare(tables, "energy", "radio_on", "device", "QUIC, sleeps", "TCP, every 60 s", over=over)
    parts.append(alike("Radio on, QUIC that sleeps ÷ TCP every 60 s", asleep.pooled(), asleep.metric))
    for radio, device in itertools.product(("LTE", "Wi-Fi"), tables.levels("energy", "device")):
        where = {"radio": radio, "device": device, "gather": "at once", "qos": "1"}
        on, joules, size = (
            each(tables, "energy", m, **where).mean() for m in ("radio_on", "radio_energy", "radio_bytes")
        )
        shown = f"{on:.2f} s, {joules:.2g} J (estimate), {size:.0f} B"
        parts.append(remark(f"{radio}, {device}: a message of QoS 1", shown))
    return all_of(*parts)


@claim("On LTE, QoS costs no radio time, and ten messages together save four fifths of it.", source=ENERGY, whose=OURS)
def gathered(tables: Tables) -> Verdict:
    """TCP with a PINGREQ every 60 s, QUIC and TCP that sleep. The time that the radio is on for each message at QoS 1
    and 2 must be that at QoS 0 within the margin of 5 %; of devices that sleep, it must be less than a fifth for ten
    messages every ten minutes of that for one a minute."""
    devices = ["TCP, every 60 s", "TCP, sleeps", "QUIC, sleeps"]
    parts: list[Evidence] = []
    for qos in ("1", "2"):
        over = {"radio": ["LTE"], "device": devices, "gather": ["at once"]}
        found = compare(tables, "energy", "radio_on", "qos", qos, "0", over=over)
        parts.append(alike(f"Radio on, QoS {qos} ÷ QoS 0", found.pooled(), found.metric))
    over = {"radio": ["LTE"], "device": devices[1:], "qos": ["0", "1", "2"]}
    found = compare(tables, "energy", "radio_on", "gather", "at once", "ten together", over=over)
    parts.append(exceeds("Radio on, at once ÷ ten together", found.pooled(), 5.0))
    over = {**over, "device": devices[:1]}
    awake = compare(tables, "energy", "radio_on", "gather", "at once", "ten together", over=over)
    parts.append(remark("The same, TCP every 60 s", reading(awake.pooled(), awake.metric)))
    return all_of(*parts)


@answer
def conclusion(tables: Tables) -> list[str]:
    """ξ with each network: with losses and without, then loss by loss."""
    lossy = {network: xi(tables, [network], LOSSES[1:]).pooled().value for network in NETWORKS}
    clean = xi(tables, NETWORKS, LOSSES[:1]).pooled().value
    told = ", ".join(f"{value:.2f} ({network})" for network, value in lossy.items())
    sentences = [
        f"With 1 to 5 % of loss, messages over QUIC take these shares of their delivery time over TCP: {told}; without "
        f"loss {clean:.3f}."
    ]
    for network in NETWORKS:
        found = xi(tables, [network], LOSSES)
        shown = [
            f"{reading(found.within({'loss': [loss]}).pooled(), found.metric)} at {quantities.text(loss)}"
            for loss in LOSSES
        ]
        sentences.append(
            f"{network}: the delivery time over QUIC as a share of that over TCP (ξ) is {', '.join(shown)}."
        )
    return sentences


@value
def cost_of_a_loss(tables: Tables) -> dict[str, str]:
    """The cost of a lost message on Wi-Fi at 5 %, ms: the delivery time beyond that without loss, over the loss."""
    found = {}
    for transport in ("tcp", "quic"):
        where = {"network": "Wi-Fi", "transport": transport}
        clean, lossy = (each(tables, "latency", "delivery_time", loss=loss, **where).mean() for loss in ("0%", "5%"))
        found[transport] = f"{(lossy - clean) / 0.05:.0f}"
    return found


@value
def controls_apart(tables: Tables) -> str:
    """How far the mean delivery times of the congestion controls are apart, at most, on Wi-Fi and 4G."""
    apart = []
    for network, loss, transport in itertools.product(NETWORKS[:2], LOSSES, ("tcp", "quic")):
        where = {"network": network, "loss": loss, "transport": transport}
        means = [
            each(tables, "latency", "delivery_time", congestion=name, **where).mean()
            for name in tables.levels("latency", "congestion")
        ]
        apart.append(max(means) / min(means) - 1)
    return f"{100 * max(apart):.1g} %"


@value
def bbr3(tables: Tables) -> dict[str, str]:
    """The shares of the rate that BBRv3 and BBR keep beside CUBIC with a large queue, and deliver at 5 % by satellite.

    All are over QUIC.
    """
    first = {name: rates(tables, "two", kinds=f"{name} and CUBIC", transport="quic")[:, 0] for name in ("BBR", "BBRv3")}
    far = {name: goodputs(tables, name, "satellite", "5%") / 0.4 for name in ("bbr", "bbr3")}
    return {
        "beside_cubic": f"{100 * (first['BBRv3'] / 500e3).mean():.0f} %",
        "bbr_beside_cubic": f"{100 * (first['BBR'] / 500e3).mean():.0f} %",
        "satellite": f"{100 * far['bbr3'].mean():.0f} %",
        "bbr_satellite": f"{100 * far['bbr'].mean():.0f} %",
    }
