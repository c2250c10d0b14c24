"""The claims of the thesis on MQTT, each judged from the results by a rule, and our own.

Delivery times are means over a run's messages. QUIC and TCP are compared within each replication, as both meet the same
losses by ordinal; intervals are at 95 % over replications. Shares of the bottleneck are goodputs from 50 s on, in parts
of the link's rate. Where the thesis does not state a rate, a claim is judged at each of several: it is confirmed if it
holds at all of them, contradicted if at none, and otherwise says where it holds.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from haltere.claims import (
    OURS,
    Evidence,
    MissingDataError,
    Outcome,
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
REFERENCE = "Fernández et al. 2020"
"""Reference 12 of the thesis, "And QUIC meets IoT: performance assessment of MQTT over QUIC" (WiMob 2020)."""


def xi(tables: Tables, networks: list[str], losses: list[str]) -> Comparison:
    """The delivery time over QUIC against that over TCP, which the thesis calls ξ."""
    over = {"network": networks, "loss": losses, "congestion": CONGESTION}
    return compare(tables, "latency", "delivery_time", "transport", "quic", "tcp", over=over)


@claim(
    "With losses QUIC delivers messages sooner than TCP, or as soon, on each network.",
    whose=THESIS,
    source="section 4.1, figures 4.1 and 4.2",
)
def sooner(tables: Tables) -> Verdict:
    """For each network, the geometric mean of ξ over the losses from 1 to 5 % and the three congestion controls must
    not be above 1 by more than the margin of 1 %."""
    found = {network: xi(tables, [network], LOSSES[1:]) for network in NETWORKS}
    return all_of(*(not_ahead(f"ξ, {n}", c.pooled(), c.metric, "to") for n, c in found.items()))


@claim("The gain is largest on Wi-Fi, and small on the satellite link.", whose=THESIS, source="section 4.1")
def largest_on_wifi(tables: Tables) -> Verdict:
    """With losses, ξ must be smaller on Wi-Fi than on 4G, and on 4G than on the satellite link."""
    parts: list[Evidence] = []
    found = xi(tables, NETWORKS, LOSSES[1:])
    for near, far in itertools.pairwise(NETWORKS):
        one, other = (found.within({"network": [network]}) for network in (far, near))
        parts.append(exceeds(f"ξ, {far} ÷ {near}", one.minus(other), 1.0))
    parts += [remark(f"ξ, {n}", reading(found.within({"network": [n]}).pooled(), found.metric)) for n in NETWORKS]
    return all_of(*parts)


@claim("The gain grows with the loss.", whose=THESIS, source="section 4.1")
def grows_with_loss(tables: Tables) -> Verdict:
    """For each network, ξ must be smaller at 5 % than at 1 %."""
    parts = []
    for network in NETWORKS:
        found = xi(tables, [network], LOSSES[1:])
        one, five = (found.within({"loss": [loss]}) for loss in ("1%", "5%"))
        parts.append(exceeds(f"ξ at 1 % ÷ at 5 %, {network}", one.minus(five), 1.0))
    return all_of(*parts)


def clean_ratio(tables: Tables, most: float) -> Verdict:
    """ξ without loss on each network, in the mean over the congestion controls, held against 1 and a bound."""
    found = {network: xi(tables, [network], ["0%"]).pooled() for network in NETWORKS}
    return all_of(
        *(between(f"ξ without loss, {network} (at most {most})", one, 1.0, most) for network, one in found.items())
    )


@claim("Without loss TCP is marginally better: ξ is close to 1.003.", whose=THESIS, source="section 4.1, figure 4.2",
       paper="1.003")  # fmt: skip
def without_loss(tables: Tables) -> Verdict:
    """On each network ξ must be above 1 and not above 1.006, twice as far from 1 as stated, in the mean over the
    congestion controls."""
    return clean_ratio(tables, 1.006)


@claim("Without loss TCP is marginally better: ξ is close to 1.01.", whose=REFERENCE, source="cited in section 4.1",
       paper="1.01")  # fmt: skip
def without_loss_before(tables: Tables) -> Verdict:
    """On each network ξ must be above 1 and not above 1.02, twice as far from 1 as stated, in the mean over the
    congestion controls. The reference takes the time of 100 messages; here it is the mean of 1000 delivery times."""
    return clean_ratio(tables, 1.02)


@claim("Bandwidth hardly matters: messages are short.", whose=THESIS, source="section 4.1 and figure 4.7",
       paper="almost insignificant")  # fmt: skip
def bandwidth(tables: Tables) -> Verdict:
    """CUBIC, without loss and with 2 %, over TCP and QUIC. With each RTT of the three networks, at 1.5 Mbit/s and at
    20 Mbit/s, the delivery time with a message a second and the goodput with one every 10 ms must be alike to 5 %. The
    thesis compares networks whose RTTs differ as well."""
    parts: list[Evidence] = []
    for metric, interval, what in (("delivery_time", "1s", "Delivery time"), ("goodput", "10ms", "Goodput")):
        for delay in ("25 ms", "100 ms", "600 ms"):
            over = {"delay": [delay], "loss": ["0%", "2%"], "interval": [interval], "transport": ["tcp", "quic"]}
            found = compare(tables, "bandwidth", metric, "rate", "1.5Mbit/s", "20Mbit/s", over=over).pooled()
            parts.append(between(f"{what}, 1.5 ÷ 20 Mbit/s, RTT {delay}", found, 0.95, 1.05))
    return all_of(*parts)


def inverse(found: Interval) -> Interval:
    """One over a ratio."""
    low = None if found.high is None else 1 / found.high
    high = None if found.low is None else 1 / found.low
    return dataclasses.replace(found, value=1 / found.value, low=low, high=high)


@claim(
    "With publisher and broker in one 802.11 cell, QUIC too delivers messages as soon as TCP, or sooner.",
    whose=THESIS,
    source="section 4.1, figure 4.3",
)
def cell(tables: Tables) -> Verdict:
    """Frames are lost at the broker. For each delay behind it, the geometric mean of ξ over the frame error rates from
    0 to 5 % and the three congestion controls must not be above 1 by more than the margin of 1 %, and it must be larger
    with 300 ms than with 100 ms, as the delay that both have in common grows."""
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


HANDSHAKES = {
    "TCP, TLS 1.2, first": 3,
    "TCP, TLS 1.2, resumed": 2,
    "TCP, TLS 1.3, first": 2,
    "TCP, TLS 1.3, early data": 1,
    "QUIC, 1-RTT": 1,
    "QUIC, 0-RTT": 0,
}
"""Round trips of a handshake by the thesis' table 2.1, without and with an earlier connection."""


def handshake(tables: Tables, connection: str) -> Numbers:
    """Round trips of 600 ms before CONNECT can go, without loss: those to CONNACK, less that of CONNECT itself."""
    times = each(tables, "setup", "setup_time", connection=connection, eager="after CONNACK", loss="0%")
    return times / 600 - 1


@claim("A handshake takes 3, 2 and 1 round trips with TLS 1.2, TLS 1.3 and QUIC, and one fewer with an earlier one.",
       whose=THESIS, source="table 2.1", paper="3, 2; 2, 1; 1, 0")  # fmt: skip
def handshakes(tables: Tables) -> Verdict:
    """On the satellite link without loss, the time to CONNACK in round trips of 600 ms, less that of CONNECT itself,
    must be the table's to 0.15 round trips. TLS 1.3 with an earlier connection has early data."""
    return all_of(
        *(between(name, mean(handshake(tables, name)), trips - 0.15, trips + 0.15)
          for name, trips in HANDSHAKES.items())
    )  # fmt: skip


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
    source="section 4.2.1, figure 4.7",
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


@claim("BBR keeps its goodput high everywhere.", whose=THESIS, source="section 4.2.1, figure 4.7")
def bbr_keeps(tables: Tables) -> Verdict:
    """A message every 10 ms, 5 % of loss: BBR's goodput must be above 90 % of the 0.4 Mbit/s that are offered."""
    parts = []
    for network in NETWORKS:
        worst = mean(goodputs(tables, "bbr", network, "5%") / 0.4)
        parts.append(exceeds(f"Share of the offered load at 5 %, {network}", worst, 0.9, "%"))
    return all_of(*parts)


UNTIL = 60.0
"""How long a run is recorded, s."""
OPENED = (5.0, 15.0)
"""The publisher connects at 5 s: the first ten seconds of its connection."""


def windows(tables: Tables, interval: str) -> dict[str, Numbers]:
    """The congestion window by congestion control, under the caption of figure 4.5 or 4.6: QUIC, satellite, 2 % lost.

    A row a replication, of the first ten; the runs are made once more to be recorded. The columns are the largest in
    the first ten seconds of the connection, then the mean and the largest after them.
    """
    runs = tables.experiment_runs("loaded")
    if runs.is_empty():
        raise MissingDataError("experiment loaded is not in these results")
    study = Study.load(Path(__file__).parent)
    replications = sorted(runs["replication"].unique().to_list())[:10]
    where = {"network": "satellite", "loss": "2%", "transport": "quic", "interval": interval}
    return {
        congestion: np.array([
            window(record(study, "loaded", {**where, "congestion": congestion}, replication, f"{UNTIL:.0f}s"))
            for replication in replications
        ])
        for congestion in CONGESTION
    }  # fmt: skip


def window(series: Mapping[tuple[str, str], Mapping[str, Any]]) -> tuple[float, float, float]:
    """The largest window in the first ten seconds of the connection, and the mean and the largest after them, bytes."""
    cwnd = series["flow 0", "cwnd"]
    times, values = np.array(cwnd["t_s"]), np.array(cwnd["v"])
    first, then = OPENED
    # A value holds until the next one.
    held = np.clip(np.append(times[1:], UNTIL), then, UNTIL) - np.clip(times, then, UNTIL)
    opening = values[(times >= first) & (times < then)]
    return float(opening.max()), float(np.average(values, weights=held)), float(values[held > 0].max())


def ratio(of: Numbers) -> Interval:
    """The geometric mean of ratios, a number a replication."""
    return from_scale(mean(np.log(of)), METRICS["goodput"])


def overshooting(tables: Tables, interval: str) -> Verdict:
    """The verdict on BBR's window over the larger one of NewReno's and CUBIC's."""
    found = windows(tables, interval)
    peak, later = (found["bbr"][:, k] / np.maximum(found["newreno"], found["cubic"])[:, k] for k in (0, 1))
    return all_of(
        between("Largest window at the start, BBR ÷ others", ratio(peak), 3.0, 4.0),
        exceeds("Mean window later, BBR ÷ others", ratio(later), 1.0),
        exceeds("Ratio at the start ÷ ratio later", ratio(peak / later), 1.0),
        *(
            remark(f"Largest at the start, mean later, {name}", f"{one.mean(axis=0)[0] / 1e3:.0f} and "
                   f"{one.mean(axis=0)[1] / 1e3:.0f} kB")
            for name, one in found.items()
        ),
    )  # fmt: skip


@claim(
    "A message every 10 ms: BBR's window overshoots to almost four times the others', then settles, and stays above.",
    whose=THESIS,
    source="section 4.2.1, figure 4.6",
    paper="a larger growth; no number",
)
def overshoot(tables: Tables) -> Verdict:
    """Under the figure's caption (QUIC, satellite, 2 % lost). In the first ten seconds of the connection BBR's largest
    window must be more than three and less than four times the larger one of NewReno's and CUBIC's; after that its mean
    window must be above theirs, and the ratio of the means below that of the largest windows."""
    return overshooting(tables, "10ms")


@claim(
    "A message every 100 ms: BBR's window overshoots to almost four times the others', then settles, and stays above.",
    whose=THESIS,
    source="section 4.2.1, figure 4.5",
    paper="almost 4 times",
)
def overshoot_when_idle(tables: Tables) -> Verdict:
    """Under the figure's caption (QUIC, satellite, 2 % lost), which the thesis' text names for the number. In the first
    ten seconds of the connection BBR's largest window must be more than three and less than four times the larger one
    of NewReno's and CUBIC's; after that its mean window must be above theirs, and the ratio of the means below that of
    the largest windows."""
    return overshooting(tables, "100ms")


@claim("CUBIC's window has higher peaks than NewReno's.", whose=THESIS, source="section 4.2.1, figures 4.5 and 4.6")
def cubic_peaks(tables: Tables) -> Verdict:
    """Under the captions of both figures, after the first ten seconds of the connection, CUBIC's largest window must be
    larger than NewReno's."""
    parts = []
    for interval in ("100ms", "10ms"):
        found = windows(tables, interval)
        what = f"Largest window later, CUBIC ÷ NewReno, {quantities.text(interval)}"
        parts.append(exceeds(what, ratio(found["cubic"][:, 2] / found["newreno"][:, 2]), 1.0))
    return all_of(*parts)


def rates(tables: Tables, experiment: str, **where: str) -> Numbers:
    """Goodput from 50 s on, a row a replication and a column a flow, bit/s."""
    of = tables.experiment_runs(experiment)
    if of.is_empty():
        raise MissingDataError(f"experiment {experiment} is not in these results")
    runs = of.filter(pl.col("status") == "ok", *(pl.col(k) == v for k, v in where.items()))
    # Runs of two experiments that are the same, as those of two BBR flows with an RTT of 100 ms, have one name.
    flows = tables.flows.select("run_id", "flow", "goodput_bps").unique(["run_id", "flow"])
    found = runs.join(flows, on="run_id").sort("replication", "flow")
    if runs.height < 2:
        raise MissingDataError(f"{few(runs.height)} of {', '.join(where.values())} in {experiment}")
    return found["goodput_bps"].to_numpy().reshape(runs.height, -1)


def jain(of: Numbers) -> Numbers:
    """Jain's index of each row."""
    return np.square(of.sum(axis=1)) / (of.shape[1] * np.square(of).sum(axis=1))


@claim("With a large queue BBR gets less than 5 % of the rate beside NewReno or CUBIC.", whose=THESIS,
       source="table 4.1", paper="2.55 to 4.13 %")  # fmt: skip
def starved(tables: Tables) -> Verdict:
    """BBR starts first, the other 20 s later. BBR's share of 500 kbit/s must be below 5 %, over TCP and QUIC."""
    parts: list[Evidence] = []
    for transport, reported in (("tcp", ("4.13", "3.86")), ("quic", ("2.55", "2.62"))):
        for pair, stated in zip(("BBR and NewReno", "BBR and CUBIC"), reported, strict=True):
            share = rates(tables, "two", kinds=pair, transport=transport)[:, 0] / 500e3
            what = f"BBR's share, {pair}, {transport} (the thesis: {stated} %)"
            parts.append(below(what, mean_of_amounts(share, 1.0), 0.05, "%"))
    return all_of(*parts)


@claim("Two BBR flows share evenly.", whose=THESIS, source="table 4.1",
       paper="Jain's index 1; 46.63 and 46.78 %")  # fmt: skip
def even(tables: Tables) -> Verdict:
    """Jain's index of two BBR flows must be above 0.98, over TCP and QUIC."""
    parts: list[Evidence] = []
    for transport in ("tcp", "quic"):
        found = rates(tables, "two", kinds="BBR and BBR", transport=transport)
        parts += [
            exceeds(f"Jain's index, {transport}", mean(jain(found)), 0.98),
            remark("The first flow's share", f"{100 * (found[:, 0] / 500e3).mean():.1f} %"),
        ]
    return all_of(*parts)


@claim(
    "CUBIC holds about 80 % beside NewReno and beside BBR, and shares evenly with CUBIC.",
    whose=THESIS,
    source="table 4.2",
    paper="79.86 and 79.99 %; 45.05 %",
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


TOTALS = {
    ("BBR and NewReno", "tcp"): ("4.13", "84.12", "0.55"),
    ("BBR and CUBIC", "tcp"): ("3.86", "83.85", "0.55"),
    ("BBR and BBR", "tcp"): ("46.63", "90.19", "1"),
    ("BBR and NewReno", "quic"): ("2.55", "76.82", "0.53"),
    ("BBR and CUBIC", "quic"): ("2.62", "76.79", "0.54"),
    ("BBR and BBR", "quic"): ("46.78", "94.91", "1"),
    ("CUBIC and NewReno", ""): ("79.86", "89.41", "0.62"),
    ("CUBIC and BBR", ""): ("79.99", "83.14", "0.54"),
    ("CUBIC and CUBIC", ""): ("45.05", "88.1", "1"),
}
"""The thesis' tables 4.1 and 4.2: the first flow's throughput and that of both, %, and Jain's index."""


@claim(
    "Two publishers use less of the rate where BBR stands beside NewReno or CUBIC than where both have BBR.",
    whose=THESIS,
    source="table 4.1",
    paper="84.12, 83.85; 90.19 % (TCP); 76.82, 76.79; 94.91 % (QUIC)",
)
def total_throughput(tables: Tables) -> Verdict:
    """The sum of both goodputs, in parts of 500 kbit/s, must be larger with two BBR flows than with BBR and NewReno and
    with BBR and CUBIC, over TCP and QUIC."""
    parts: list[Evidence] = []
    for transport in ("tcp", "quic"):
        pairs = ("BBR and BBR", "BBR and NewReno", "BBR and CUBIC")
        alone, *mixed = (rates(tables, "two", kinds=k, transport=transport).sum(axis=1) / 500e3 for k in pairs)
        for pair, total in zip(pairs[1:], mixed, strict=True):
            parts.append(exceeds(f"BBR and BBR − {pair}, {transport}", mean(alone - total), 0.0, "±"))
        parts.append(remark(f"Two BBR flows, {transport}", f"{100 * alone.mean():.1f} %"))
    return all_of(*parts)


LARGE, BDP, SMALL = "100000p", "1bdp", "0.25bdp"
QUEUES = {LARGE: "large queue", BDP: "1 BDP", SMALL: "0.25 BDP"}
REPORTED = {
    "4 CUBIC": ("four", "0.98", "0.99"),
    "4 BBR": ("four", "0.87", "0.95"),
    "4 CUBIC + 1 BBR": ("five", "0.90", "0.80"),
    "4 BBR + 1 CUBIC": ("five", "0.57", "0.63"),
    "CUBIC, then BBR": ("pair", "0.52", "0.95"),
    "BBR, then CUBIC": ("pair", "0.60", "0.99"),
}
"""The thesis' table 4.3: the experiment here, and Jain's indices with a large queue and with one of a BDP."""
PAIRS = ("CUBIC, then BBR", "BBR, then CUBIC")


def shared(tables: Tables, mix: str, rate: str, queue: str) -> Numbers:
    """Goodputs of publishers that share a swept rate, over QUIC."""
    return rates(tables, REPORTED[mix][0], mix=mix, rate=rate, queue=queue, transport="quic")


def at_each_rate(tables: Tables, experiment: str, judge: Callable[[str], tuple[Verdict, str]]) -> Verdict:
    """Judge at each rate of an experiment: confirmed if the claim holds at all, contradicted if at none.

    `judge` returns the verdict at a rate, and its numbers in words.
    """
    levels = list(tables.levels(experiment, "rate"))
    if not levels:
        raise MissingDataError(f"experiment {experiment} is not in these results")
    judged = {quantities.text(rate): judge(rate) for rate in levels}
    by_outcome = {
        word: [rate for rate, (verdict, _) in judged.items() if verdict.outcome is outcome]
        for word, outcome in (("holds at", Outcome.CONFIRMED), ("not at", Outcome.CONTRADICTED),
                              ("unclear at", Outcome.UNDECIDED))
    }  # fmt: skip
    outcomes = {verdict.outcome for verdict, _ in judged.values()}
    outcome = outcomes.pop() if len(outcomes) == 1 else Outcome.UNDECIDED
    said = "; ".join(f"{word} {', '.join(found)}" for word, found in by_outcome.items() if found)
    return Verdict(
        outcome,
        (
            Evidence("Rates of the bottleneck", said, outcome),
            *(remark(f"At {rate}", numbers) for rate, (_, numbers) in judged.items()),
        ),
    )


@claim(
    "A BBR and a CUBIC flow share fairly with a queue of a BDP, and unfairly with a large one.",
    whose=THESIS,
    source="section 4.2.2, table 4.3, figures 4.10a and 4.11a",
    paper="CUBIC first: 0.95 (1 BDP), 0.52 (large); BBR first: 0.99, 0.60",
)
def two_by_queue(tables: Tables) -> Verdict:
    """At each rate, Jain's index must be higher with the queue of a bandwidth-delay product than with the large one,
    whoever is first."""

    def judge(rate: str) -> tuple[Verdict, str]:
        parts, shown = [], []
        for mix in PAIRS:
            small, large = (jain(shared(tables, mix, rate, queue)) for queue in (BDP, LARGE))
            parts.append(exceeds(mix, mean(small - large), 0.0, "±"))
            shown.append(f"{mix}: {small.mean():.2f} (1 BDP), {large.mean():.2f} (large)")
        return all_of(*parts), "; ".join(shown)

    return at_each_rate(tables, "pair", judge)


@claim(
    "Four CUBIC flows share evenly.",
    whose=THESIS,
    source="table 4.3",
    paper="0.98 (large queue), 0.99 (1 BDP)",
)
def four_cubic(tables: Tables) -> Verdict:
    """At each rate, Jain's index must be above 0.95 with either queue."""

    def judge(rate: str) -> tuple[Verdict, str]:
        found = {QUEUES[queue]: jain(shared(tables, "4 CUBIC", rate, queue)) for queue in (LARGE, BDP)}
        shown = ", ".join(f"{index.mean():.2f} ({queue})" for queue, index in found.items())
        return all_of(*(exceeds(queue, mean(index), 0.95) for queue, index in found.items())), shown

    return at_each_rate(tables, "four", judge)


@claim(
    "With a queue below a BDP BBR gets more than CUBIC.",
    whose=THESIS,
    source="section 4.2.2",
    paper="about 90 %, from others' studies",
)
def below_bdp(tables: Tables) -> Verdict:
    """With a queue of a quarter of a bandwidth-delay product, BBR must have more than half of the goodput of both, at
    each rate, whoever is first."""

    def judge(rate: str) -> tuple[Verdict, str]:
        shares = {}
        for mix in PAIRS:
            found = shared(tables, mix, rate, SMALL)
            shares[mix] = found[:, 0 if mix.startswith("BBR") else 1] / found.sum(axis=1)
        shown = "; ".join(f"{mix}: BBR has {100 * share.mean():.0f} %" for mix, share in shares.items())
        return all_of(*(exceeds(mix, mean(share), 0.5, "%") for mix, share in shares.items())), shown

    return at_each_rate(tables, "pair", judge)


@claim(
    "A BBR flow that comes to four CUBIC flows is driven out, with a large queue and with one of a BDP.",
    whose=THESIS,
    source="section 4.2.2, figures 4.10b and 4.11b",
    paper="completely",
)
def newcomer(tables: Tables) -> Verdict:
    """At each rate, BBR must have less than 5 % of the goodput of all five flows, with either queue."""

    def judge(rate: str) -> tuple[Verdict, str]:
        shares = {}
        for queue in (LARGE, BDP):
            found = shared(tables, "4 CUBIC + 1 BBR", rate, queue)
            shares[QUEUES[queue]] = found[:, -1] / found.sum(axis=1)
        shown = ", ".join(f"{100 * share.mean():.1f} % ({queue})" for queue, share in shares.items())
        return all_of(*(below(queue, mean(share), 0.05, "%") for queue, share in shares.items())), shown

    return at_each_rate(tables, "five", judge)


def astray(tables: Tables, mix: str) -> Numbers:
    """How far the shares of four flows are from what they are in other replications, a number a replication.

    The mean distance from the median share over replications, in parts of an even share, over rates and queues.
    """
    found = []
    for rate, queue in itertools.product(tables.levels("four", "rate"), (LARGE, BDP)):
        of = shared(tables, mix, rate, queue)
        shares = 4 * of / of.sum(axis=1, keepdims=True)
        found.append(np.abs(shares - np.median(shares, axis=0)).mean(axis=1))
    return np.array(found).mean(axis=0)


@claim("Several BBR flows are unstable: small variations change how they share. CUBIC flows are not.", whose=THESIS,
       source="section 4.2.2")  # fmt: skip
def unstable(tables: Tables) -> Verdict:
    """Replications differ in when publishers start, by up to a second. The mean distance of the shares of four BBR
    flows from their median over replications, over all rates and both queues, must be larger than that of four CUBIC
    flows."""
    bbr, cubic = (astray(tables, mix) for mix in ("4 BBR", "4 CUBIC"))
    return all_of(
        exceeds("Distance from the median share, BBR − CUBIC", mean(bbr - cubic), 0.0, "±"),
        remark(
            "Distance in parts of an even share, BBR and CUBIC",
            f"{100 * bbr.mean():.1f} and {100 * cubic.mean():.1f} %",
        ),
    )


@claim("Of two BBR flows the one with the longer RTT takes more.", whose=THESIS, source="figure 4.8")
def longer_takes_more(tables: Tables) -> Verdict:
    """The second flow's rate over the first's, with 200 and with 300 ms, must be above 1, over TCP and QUIC."""
    parts: list[Evidence] = []
    for transport in ("tcp", "quic"):
        for rtt in ("200 ms", "300 ms"):
            found = rates(tables, "rtt", rtt=rtt, congestion="bbr", transport=transport)
            parts.append(exceeds(f"Rate, {rtt} ÷ 100 ms, {transport}", ratio(found[:, 1] / found[:, 0]), 1.0))
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


@value
def tables_4_1_and_4_2(tables: Tables) -> pl.DataFrame:
    """The thesis' tables 4.1 and 4.2 beside ours; it does not say whether table 4.2 is of TCP or QUIC."""
    rows = []
    for (pair, stated), reported in TOTALS.items():
        for transport in (stated,) if stated else ("tcp", "quic"):
            found = rates(tables, "two", kinds=pair, transport=transport)
            ours = (100 * found[:, 0].mean() / 500e3, 100 * found.sum(axis=1).mean() / 500e3, jain(found).mean())
            cells = [
                f"{said} / {here:.{places}f}" for said, here, places in zip(reported, ours, (1, 1, 2), strict=True)
            ]
            rows.append((pair, transport.upper(), *cells))
    heads = ("first and second", "over", "the first's share, %", "both, %", "Jain's index")
    return pl.DataFrame(rows, schema=heads, orient="row")


@value
def table_4_3(tables: Tables) -> pl.DataFrame:
    """The thesis' table 4.3 beside ours, over the rate for each publisher."""
    rows, heads = [], list[str]()
    for mix, (experiment, large, small) in REPORTED.items():
        levels = tables.levels(experiment, "rate")
        flows = {"pair": 2, "four": 4, "five": 5}[experiment]
        heads = [f"{(quantities.value(rate) or 0.0) / flows / 1e3:.0f} kbit/s" for rate in levels]
        for queue, said in ((LARGE, large), (BDP, small)):
            found = [f"{jain(shared(tables, mix, rate, queue)).mean():.2f}" for rate in levels]
            rows.append((mix, QUEUES[queue], said, *found))
    return pl.DataFrame(rows, schema=["publishers", "queue", "the thesis", *heads], orient="row")


@value
def cell_ends(tables: Tables) -> pl.DataFrame:
    """Delivery times in the cell by where frames are lost, ms."""
    rows = []
    for errors in tables.levels("cell-ends", "errors"):
        tcp, quic = (
            each(tables, "cell-ends", "delivery_time", errors=errors, transport=transport).mean()
            for transport in ("tcp", "quic")
        )
        rows.append((errors, f"{tcp:.1f}", f"{quic:.1f}", f"{quic / tcp:.3f}"))
    return pl.DataFrame(rows, schema=("frames lost", "TCP, ms", "QUIC, ms", "ξ"), orient="row")
