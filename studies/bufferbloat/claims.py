"""The claims of the bufferbloat study, each judged from the results by a rule.

The rules were written after a trial of one replication and before the campaign. RTTs are means over the answered probes
of a run; probes without an answer within 5 s count as lost, not as long. Where a claim states a number, the rule asks
for it to ±15 %. Intervals are at 95 % over replications. Copies carry the type of service of OpenSSH's bulk traffic, as
they did then.

Each claim on the scenarios is judged for each era: for the mechanisms of 2010, about which it was made, and for those
of today, of which it says what has changed. A remark names the single mechanisms which, when they are switched, undo a
claim that is confirmed for 2010, or bring about one that is contradicted.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from haltere.claims import Evidence, MissingDataError, Verdict, all_of, claim, exceeds, remark
from haltere.metrics import quantities
from haltere.metrics.tables import Tables
from haltere.stats import mean

Numbers = NDArray[np.float64]

TO = 0.15
"""How near a stated number must be met."""

ERAS = ("2010", "today, pfifo_fast", "today")
"""The stacks for which each claim is judged; `2010, plain` is there to say what OpenSSH's type of service does."""

EraJudge = Callable[[Tables, str], Verdict]


def for_each_era(sentence: str, *, source: str) -> Callable[[EraJudge], EraJudge]:
    """Make a claim for each era of a function that judges it; they become names of this module, as all claims are."""

    def decorate(judge: EraJudge) -> EraJudge:
        for number, era in enumerate(ERAS):

            def judged(tables: Tables, era: str = era) -> Verdict:
                return judge(tables, era)

            judged.__name__, judged.__doc__ = f"{judge.__name__}_{number}", judge.__doc__
            globals()[judged.__name__] = claim(f"{era}: {sentence}", source=source)(judged)
        return judge

    return decorate


def latency(tables: Tables, experiment: str, what: str, **levels: str) -> Numbers:
    """A column of the table of latencies, a value a replication."""
    rows = tables.experiment_runs(experiment).filter(pl.col("status") == "ok")
    for factor, level in levels.items():
        rows = rows.filter(pl.col(factor) == level)
    probes = tables.latency.filter(pl.col("experiment") == experiment).select("run_id", what)
    found = rows.join(probes, on="run_id").sort("replication")[what]
    if found.len() < 2 or found.null_count():
        raise MissingDataError(f"{experiment} has no {what} at {levels}")
    return found.to_numpy().astype(np.float64)


def bottleneck(tables: Tables, experiment: str, what: str, **levels: str) -> Numbers:
    """A column of the bottleneck in the data direction, a value a replication."""
    rows = tables.experiment_runs(experiment).filter(pl.col("status") == "ok")
    for factor, level in levels.items():
        rows = rows.filter(pl.col(factor) == level)
    return rows.sort("replication")[f"bottleneck_{what}"].to_numpy().astype(np.float64)


def flows(tables: Tables, experiment: str, what: str, **levels: str) -> Numbers:
    """A column of the flows, added up within each replication."""
    rows = tables.experiment_runs(experiment).filter(pl.col("status") == "ok")
    for factor, level in levels.items():
        rows = rows.filter(pl.col(factor) == level)
    carried = tables.flows.filter(pl.col("experiment") == experiment).select("run_id", what)
    sums = rows.join(carried, on="run_id").group_by("replication").agg(pl.col(what).sum())
    return sums.sort("replication")[what].to_numpy().astype(np.float64)


def switches(tables: Tables, experiment: str, meets: Callable[[str], bool]) -> Evidence:
    """The single mechanisms that bring a condition about when they are switched, or that undo it if it is met."""
    levels = [level for level in tables.levels(experiment, "switch") if level != "none"]
    met = meets("none")
    found = [level for level in levels if meets(level) != met]
    what = "undo it" if met else "bring it about"
    said = ", ".join(found) if found else f"none of {len(levels)}"
    return remark(f"Single mechanisms that {what} when they are switched", said)


def is_near(values: Numbers, stated: float) -> bool:
    """Whether the mean is the stated number to ±15 %."""
    return bool(abs(values.mean() / stated - 1) <= TO)


def near(what: str, values: Numbers, stated: float, unit: str = "") -> list[Evidence]:
    """The parts "at least 85 %" and "at most 115 %" of a stated number."""
    least, most = stated * (1 - TO), stated * (1 + TO)
    name = f"{what} (stated: {stated:g}{unit})"
    return [
        exceeds(f"{name}; above {least:.4g}", mean(values), least),
        exceeds(f"{most:.4g} less it; above 0", mean(most - values), 0.0, "±"),
    ]


@for_each_era(
    "One copy: the mean RTT is about 317, 316 and 301 ms whatever the size of the queue discipline.",
    source="scenario 1",
)
def one_copy(tables: Tables, era: str) -> Verdict:
    """With ICMP probes, the mean RTT must be the stated number to ±15 % for each size."""
    parts: list[Evidence] = []
    for qdisc, stated in (("200p", 317.0), ("1000p", 316.0), ("100000000p", 301.0)):
        found = latency(tables, "one-copy", "rtt_mean_s", era=era, qdisc=qdisc, ping="icmp") * 1e3
        parts += near(f"RTT with {qdisc}, ms", found, stated, " ms")
        if era == "2010":
            same = latency(tables, "one-copy", "rtt_mean_s", era="2010, plain", qdisc=qdisc, ping="icmp") * 1e3
            parts.append(remark(f"The same if copies were no bulk traffic, {qdisc}, ms", f"{same.mean():.0f}"))
    if era == "2010":
        parts.append(
            switches(
                tables,
                "one-copy-switches",
                lambda switch: is_near(latency(tables, "one-copy-switches", "rtt_mean_s", switch=switch) * 1e3, 316.0),
            )
        )
    return all_of(*parts)


@for_each_era(
    "One copy: the mean queue discipline is 118, 704 and 1221 packets long.",
    source="scenario 1; the rule was written when its numbers were known",
)
def one_copy_occupancy(tables: Tables, era: str) -> Verdict:
    """The mean occupancy must be the stated number to ±15 % for each size. This rule has the margin of the others, but
    it was written after the numbers had been seen."""
    parts: list[Evidence] = []
    for qdisc, stated in (("200p", 118.0), ("1000p", 704.0), ("100000000p", 1221.0)):
        held = bottleneck(tables, "one-copy", "mean_qdisc_packets", era=era, qdisc=qdisc, ping="icmp")
        parts += near(f"Packets held by a queue discipline of {quantities.text(qdisc)}, mean", held, stated)
    return all_of(*parts)


@for_each_era("TCP, UDP and ICMP probes see the same RTT.", source="scenario 1")
def same_for_all(tables: Tables, era: str) -> Verdict:
    """For each size, the mean RTT of UDP and of TCP probes over that of ICMP probes must lie between 0.95 and 1.05."""
    parts: list[Evidence] = []
    for qdisc in ("200p", "1000p", "100000000p"):
        icmp = latency(tables, "one-copy", "rtt_mean_s", era=era, qdisc=qdisc, ping="icmp")
        for kind in ("udp", "tcp"):
            ratio = latency(tables, "one-copy", "rtt_mean_s", era=era, qdisc=qdisc, ping=kind) / icmp
            parts.append(exceeds(f"{kind} ÷ icmp, {qdisc}; above 0.95", mean(ratio), 0.95))
            parts.append(exceeds("1.05 less it; above 0", mean(1.05 - ratio), 0.0, "±"))
    return all_of(*parts)


@for_each_era(
    "Trains of datagrams: with 200 packets the queue is full and probes are lost; with more, probes time out.",
    source="scenario 2",
)
def trains(tables: Tables, era: str) -> Verdict:
    """With each size more than a tenth of the probes must stay without an answer, with 200 packets the queue must have
    been full, and with 100 000 000 nothing dropped."""
    parts: list[Evidence] = []
    for qdisc in ("200p", "1000p", "100000000p"):
        levels = {"era": era, "qdisc": qdisc}
        lost = latency(tables, "trains", "lost", **levels) / latency(tables, "trains", "sent", **levels)
        parts.append(exceeds(f"Share of probes without an answer, {qdisc}", mean(lost), 0.1))
    full = bottleneck(tables, "trains", "max_qdisc_packets", era=era, qdisc="200p")
    parts.append(exceeds("Longest queue discipline of 200 packets", mean(full), 199.5))
    dropped = bottleneck(tables, "trains", "dropped_queue", era=era, qdisc="100000000p")
    parts.append(exceeds("1 less the drops with 100 000 000 packets", mean(1.0 - dropped), 0.0, "±"))
    return all_of(*parts)


@for_each_era(
    "One copy: the ring governs the latency, 615 ms with 500 packets, 1172 ms with 1000, 1765 ms from 5000 on.",
    source="scenario 3",
)
def the_ring_governs(tables: Tables, era: str) -> Verdict:
    """The mean RTT must be the stated number to ±15 % for each size of the ring."""
    parts: list[Evidence] = []
    for ring, stated in (("500p", 615.0), ("1000p", 1172.0), ("5000p", 1765.0), ("15000p", 1765.0)):
        found = latency(tables, "ring", "rtt_mean_s", era=era, ring=ring) * 1e3
        parts += near(f"RTT with {ring}, ms", found, stated, " ms")
    return all_of(*parts)


@for_each_era(
    "Ten copies, queue discipline of 2500: the mean RTT is 126, 417 and 2089 ms with rings of 100, 350 and 1700.",
    source="scenario 4",
)
def ten_copies_latency(tables: Tables, era: str) -> Verdict:
    """The mean RTT must be the stated number to ±15 % for each size of the ring."""
    parts: list[Evidence] = []
    for ring, stated in (("100p", 126.0), ("350p", 417.0), ("1700p", 2089.0)):
        found = latency(tables, "ten-copies", "rtt_mean_s", era=era, qdisc="2500p", ring=ring) * 1e3
        parts += near(f"RTT with {ring}, ms", found, stated, " ms")
    return all_of(*parts)


@for_each_era("Ten copies: up to rings of 1700 there are as many retransmissions as drops.", source="scenario 4")
def drops_are_retransmissions(tables: Tables, era: str) -> Verdict:
    """With 2500 packets in the queue discipline, retransmissions over drops must lie between 0.98 and 1.02."""
    parts: list[Evidence] = []
    for ring in ("100p", "350p", "1700p"):
        levels = {"era": era, "qdisc": "2500p", "ring": ring}
        again = flows(tables, "ten-copies", "retransmitted_packets", **levels)
        dropped = bottleneck(tables, "ten-copies", "dropped_queue", **levels)
        dropped = dropped + bottleneck(tables, "ten-copies", "dropped_early", **levels)
        if not dropped.all():
            parts.append(exceeds(f"Drops, {ring}", mean(dropped), 0.0))
            continue
        ratio = again / dropped
        parts.append(exceeds(f"Retransmissions ÷ drops, {ring}; above 0.98", mean(ratio), 0.98))
        parts.append(exceeds("1.02 less it; above 0", mean(1.02 - ratio), 0.0, "±"))
    return all_of(*parts)


@for_each_era(
    "Ten copies: with a ring of 13 000 nothing is dropped, and 11 068 packets are retransmitted for nothing.",
    source="scenario 4",
)
def spurious(tables: Tables, era: str) -> Verdict:
    """With 2500 packets in the queue discipline nothing may be dropped, and more than 1000 packets be retransmitted."""
    levels = {"era": era, "qdisc": "2500p", "ring": "13000p"}
    dropped = bottleneck(tables, "ten-copies", "dropped_queue", **levels)
    dropped = dropped + bottleneck(tables, "ten-copies", "dropped_early", **levels)
    again = flows(tables, "ten-copies", "retransmitted_packets", **levels)
    parts = [
        exceeds("1 less the drops", mean(1.0 - dropped), 0.0, "±"),
        exceeds("Retransmissions", mean(again), 1000.0),
    ]
    if era == "2010":
        where = "ten-copies-switches"
        parts.append(
            switches(
                tables,
                where,
                lambda switch: bool(
                    bottleneck(tables, where, "dropped_queue", switch=switch).max() == 0
                    and flows(tables, where, "retransmitted_packets", switch=switch).mean() > 1000
                ),
            )
        )
    return all_of(*parts)


@for_each_era("Past 1000 packets in the ring the queue discipline stays nearly empty.", source="scenario 3")
def qdisc_stays_empty(tables: Tables, era: str) -> Verdict:
    """With rings of 5000 to 15 000 the packets of one copy must wait less than 10 ms in the queue discipline."""
    parts: list[Evidence] = []
    for ring in ("5000p", "10000p", "15000p"):
        waits = bottleneck(tables, "ring", "mean_qdisc_delay_s", era=era, ring=ring) * 1e3
        parts.append(exceeds(f"10 ms less the wait, {ring}, ms", mean(10.0 - waits), 0.0, "±"))
        held = bottleneck(tables, "ring", "mean_qdisc_packets", era=era, ring=ring)
        name = f"Packets held by the queue discipline, ring of {quantities.text(ring)}, mean"
        parts.append(remark(name, f"{held.mean():.1f}"))
    return all_of(*parts)


@claim("The cure: a modern queue discipline keeps the latency under load near the empty path's, at full rate.",
       source="our own")  # fmt: skip
def the_cure(tables: Tables) -> Verdict:
    """Under FQ-CoDel and CAKE, ten CUBIC flows may add at most 10 ms to the mean RTT of probes (33 ms with the time of
    their own bits), and must keep 97 % of the goodput under drop-tail with 1000 packets."""
    parts: list[Evidence] = []
    plain = flows(tables, "cure", "goodput_bps", queue="drop-tail", protocol="tcp/cubic")
    for queue in ("fq_codel", "cake"):
        rtt = latency(tables, "cure", "rtt_mean_s", queue=queue, protocol="tcp/cubic") * 1e3
        parts.append(exceeds(f"43 ms less the RTT under {queue}, ms", mean(43.0 - rtt), 0.0, "±"))
        kept = flows(tables, "cure", "goodput_bps", queue=queue, protocol="tcp/cubic") / plain
        parts.append(exceeds(f"Goodput under {queue} ÷ that under drop-tail", mean(kept), 0.97))
    before = latency(tables, "cure", "rtt_mean_s", queue="drop-tail", protocol="tcp/cubic") * 1e3
    parts.append(remark("RTT under drop-tail with 1000 packets, ms", f"{before.mean():.0f}"))
    return all_of(*parts)
