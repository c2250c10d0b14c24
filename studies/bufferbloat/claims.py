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

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from haltere.claims import (
    OURS,
    Evidence,
    MissingDataError,
    Verdict,
    all_of,
    answer,
    below,
    between,
    claim,
    exceeds,
    few,
    remark,
    value,
)
from haltere.metrics import quantities
from haltere.metrics.tables import Tables
from haltere.metrics.text import significant
from haltere.stats import mean, mean_of_amounts

Numbers = NDArray[np.float64]

THESIS = "Cardozo 2013"
TO = 0.15
"""How near a stated number must be met."""

ERAS = ("2010", "today, pfifo_fast", "today")
"""The stacks for which each claim is judged; `2010, plain` is there to say what OpenSSH's type of service does."""

QDISCS = ("200p", "1000p", "100000000p")
LONG_RINGS = ("5000p", "10000p", "15000p")

EraJudge = Callable[[Tables, str], Verdict]


def for_each_era(sentence: str, *, source: str, paper: str = "") -> Callable[[EraJudge], EraJudge]:
    """Make a claim for each era of a function that judges it; they become names of this module, as all claims are."""

    def decorate(judge: EraJudge) -> EraJudge:
        for number, era in enumerate(ERAS):

            def judged(tables: Tables, era: str = era) -> Verdict:
                return judge(tables, era)

            judged.__name__, judged.__doc__ = f"{judge.__name__}_{number}", judge.__doc__
            globals()[judged.__name__] = claim(f"{era}: {sentence}", source=source, whose=THESIS, paper=paper)(judged)
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
        where = ", ".join(quantities.text(level) for level in levels.values())
        raise MissingDataError(f"{few(found.len() - found.null_count())} of {experiment} with {where}")
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


def near(what: str, values: Numbers, stated: float, unit: str) -> Evidence:
    """The part "within 15 % of a stated number"."""
    return between(what, mean(values), stated * (1 - TO), stated * (1 + TO), unit)


@for_each_era(
    "One copy: the mean RTT is about 317, 316 and 301 ms whatever the size of the queue discipline.",
    source="scenario 1",
    paper="317, 316 and 301 ms",
)
def one_copy(tables: Tables, era: str) -> Verdict:
    """With ICMP probes, the mean RTT must be the stated number to ±15 % for each size."""
    parts: list[Evidence] = []
    for qdisc, stated in (("200p", 317.0), ("1000p", 316.0), ("100000000p", 301.0)):
        found = latency(tables, "one-copy", "rtt_mean_s", era=era, qdisc=qdisc, ping="icmp") * 1e3
        parts.append(near(f"RTT, queue discipline of {quantities.text(qdisc)}", found, stated, "ms"))
        if era == "2010":
            same = latency(tables, "one-copy", "rtt_mean_s", era="2010, plain", qdisc=qdisc, ping="icmp") * 1e3
            what = f"The same if copies were no bulk traffic, {quantities.text(qdisc)}"
            parts.append(remark(what, f"{same.mean():.0f} ms"))
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
    paper="118, 704 and 1221 packets",
)
def one_copy_occupancy(tables: Tables, era: str) -> Verdict:
    """The mean occupancy must be the stated number to ±15 % for each size. This rule has the margin of the others, but
    it was written after the numbers had been seen."""
    parts: list[Evidence] = []
    for qdisc, stated in (("200p", 118.0), ("1000p", 704.0), ("100000000p", 1221.0)):
        held = bottleneck(tables, "one-copy", "mean_qdisc_packets", era=era, qdisc=qdisc, ping="icmp")
        what = f"Packets held by a queue discipline of {quantities.text(qdisc)}, mean"
        parts.append(near(what, held, stated, "packets"))
    return all_of(*parts)


@for_each_era("TCP, UDP and ICMP probes see the same RTT.", source="scenario 1")
def same_for_all(tables: Tables, era: str) -> Verdict:
    """For each size, the mean RTT of UDP and of TCP probes over that of ICMP probes must lie between 0.95 and 1.05."""
    parts: list[Evidence] = []
    for qdisc in ("200p", "1000p", "100000000p"):
        icmp = latency(tables, "one-copy", "rtt_mean_s", era=era, qdisc=qdisc, ping="icmp")
        for kind in ("udp", "tcp"):
            ratio = latency(tables, "one-copy", "rtt_mean_s", era=era, qdisc=qdisc, ping=kind) / icmp
            name = f"RTT, {kind.upper()} ÷ ICMP, queue discipline of {quantities.text(qdisc)}"
            parts.append(between(name, mean(ratio), 0.95, 1.05))
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
        parts.append(
            exceeds(
                f"Share of probes without an answer, {quantities.text(qdisc)}", mean_of_amounts(lost, 1.0), 0.1, "%"
            )
        )
    full = bottleneck(tables, "trains", "max_qdisc_packets", era=era, qdisc="200p")
    parts.append(exceeds("Largest length of the queue discipline of 200 packets", mean(full), 199.5, "packets"))
    dropped = bottleneck(tables, "trains", "dropped_queue", era=era, qdisc="100000000p")
    parts.append(below("Drops with 100 000 000 packets", mean(dropped), 1.0))
    return all_of(*parts)


@for_each_era(
    "One copy: the ring governs the latency, 615 ms with 500 packets, 1172 ms with 1000, 1765 ms from 5000 on.",
    source="scenario 3",
    paper="615, 1172, 1765 and 1765 ms",
)
def the_ring_governs(tables: Tables, era: str) -> Verdict:
    """The mean RTT must be the stated number to ±15 % for each size of the ring."""
    parts: list[Evidence] = []
    for ring, stated in (("500p", 615.0), ("1000p", 1172.0), ("5000p", 1765.0), ("15000p", 1765.0)):
        found = latency(tables, "ring", "rtt_mean_s", era=era, ring=ring) * 1e3
        parts.append(near(f"RTT, ring of {quantities.text(ring)}", found, stated, "ms"))
    return all_of(*parts)


@for_each_era(
    "Ten copies, queue discipline of 2500: the mean RTT is 126, 417 and 2089 ms with rings of 100, 350 and 1700.",
    source="scenario 4",
    paper="126, 417 and 2089 ms",
)
def ten_copies_latency(tables: Tables, era: str) -> Verdict:
    """The mean RTT must be the stated number to ±15 % for each size of the ring."""
    parts: list[Evidence] = []
    for ring, stated in (("100p", 126.0), ("350p", 417.0), ("1700p", 2089.0)):
        found = latency(tables, "ten-copies", "rtt_mean_s", era=era, qdisc="2500p", ring=ring) * 1e3
        parts.append(near(f"RTT, ring of {quantities.text(ring)}", found, stated, "ms"))
    return all_of(*parts)


@for_each_era(
    "Ten copies: up to rings of 1700 there are as many retransmissions as drops.",
    source="scenario 4",
    paper="7421 of 7440, 7466 of 7479 and 8244 of 8259",
)
def drops_are_retransmissions(tables: Tables, era: str) -> Verdict:
    """With 2500 packets in the queue discipline, retransmissions over drops must lie between 0.98 and 1.02."""
    parts: list[Evidence] = []
    for ring in ("100p", "350p", "1700p"):
        levels = {"era": era, "qdisc": "2500p", "ring": ring}
        again = flows(tables, "ten-copies", "retransmitted_packets", **levels)
        dropped = bottleneck(tables, "ten-copies", "dropped_queue", **levels)
        dropped = dropped + bottleneck(tables, "ten-copies", "dropped_early", **levels)
        if not dropped.all():
            parts.append(exceeds(f"Drops, ring of {quantities.text(ring)}", mean(dropped), 0.0, "packets"))
            continue
        ratio = again / dropped
        parts.append(between(f"Retransmissions ÷ drops, ring of {quantities.text(ring)}", mean(ratio), 0.98, 1.02))
    return all_of(*parts)


@for_each_era(
    "Ten copies: with a ring of 13 000 nothing is dropped, and 11 068 packets are retransmitted for nothing.",
    source="scenario 4",
    paper="0 drops, 11 068 retransmissions",
)
def spurious(tables: Tables, era: str) -> Verdict:
    """With 2500 packets in the queue discipline nothing may be dropped, and more than 1000 packets be retransmitted."""
    levels = {"era": era, "qdisc": "2500p", "ring": "13000p"}
    dropped = bottleneck(tables, "ten-copies", "dropped_queue", **levels)
    dropped = dropped + bottleneck(tables, "ten-copies", "dropped_early", **levels)
    again = flows(tables, "ten-copies", "retransmitted_packets", **levels)
    parts = [
        below("Drops", mean(dropped), 1.0),
        exceeds("Retransmissions", mean(again), 1000.0, "packets"),
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
        parts.append(below(f"Wait in the queue discipline, ring of {quantities.text(ring)}", mean(waits), 10.0, "ms"))
        held = bottleneck(tables, "ring", "mean_qdisc_packets", era=era, ring=ring)
        name = f"Packets held by the queue discipline, ring of {quantities.text(ring)}, mean"
        parts.append(remark(name, f"{held.mean():.1f}"))
    return all_of(*parts)


@claim("The cure: a modern queue discipline keeps the latency under load near the empty path's, at full rate.",
       source="our own", whose=OURS)  # fmt: skip
def the_cure(tables: Tables) -> Verdict:
    """Under FQ-CoDel and CAKE, ten CUBIC flows may add at most 10 ms to the mean RTT of probes (33 ms with the time of
    their own bits), and must keep 97 % of the goodput under drop-tail with 1000 packets."""
    parts: list[Evidence] = []
    plain = flows(tables, "cure", "goodput_bps", queue="drop-tail", protocol="tcp/cubic")
    for queue in ("fq_codel", "cake"):
        rtt = latency(tables, "cure", "rtt_mean_s", queue=queue, protocol="tcp/cubic") * 1e3
        parts.append(below(f"RTT under {queue}", mean(rtt), 43.0, "ms"))
        kept = flows(tables, "cure", "goodput_bps", queue=queue, protocol="tcp/cubic") / plain
        parts.append(exceeds(f"Goodput under {queue} ÷ that under drop-tail", mean(kept), 0.97))
    before = latency(tables, "cure", "rtt_mean_s", queue="drop-tail", protocol="tcp/cubic") * 1e3
    parts.append(remark("RTT under drop-tail with 1000 packets, ms", f"{before.mean():.0f}"))
    return all_of(*parts)


@answer
def in_short(tables: Tables) -> list[str]:
    """The effect of one copy, the ring and ten flows on the latency, then and now."""
    one = [_rtt(tables, "one-copy", era=era, qdisc="1000p", ping="icmp") for era in ERAS]
    ring = [_rtt(tables, "ring", era=era, ring="5000p") for era in ERAS]
    cure = {queue: _rtt(tables, "cure", queue=queue, protocol="tcp/cubic") for queue in ("drop-tail", "fq_codel")}
    now = f"{one[1]} with today's TCP and interfaces and {one[2]} with fq_codel besides"
    return [
        f"One copy through a queue discipline of 1000 packets brings the mean RTT to {one[0]} with the mechanisms of "
        f"2010, to {now}.",
        f"With a ring of 5000 packets it is {ring[0]} with those of 2010, {ring[1]} and {ring[2]} with today's.",
        f"Ten CUBIC flows: {cure['drop-tail']} under drop-tail with 1000 packets, {cure['fq_codel']} under FQ-CoDel.",
    ]


def _rtt(tables: Tables, experiment: str, **levels: str) -> str:
    return f"{significant(float(latency(tables, experiment, 'rtt_mean_s', **levels).mean()) * 1e3)} ms"


@value
def by_era(tables: Tables) -> dict[str, str]:
    """The means that each claim speaks of, for each era: `one_copy_0` belongs to the claim of this name."""
    return {f"{name}_{number}": told(tables, era) for number, era in enumerate(ERAS) for name, told in _TOLD.items()}


def _rtts(tables: Tables, experiment: str, factor: str, levels: Sequence[str], **where: str) -> str:
    found = (latency(tables, experiment, "rtt_mean_s", **{**where, factor: level}).mean() * 1e3 for level in levels)
    return ", ".join(f"{value:.0f}" for value in found)


def _occupancy(tables: Tables, era: str) -> str:
    found = (
        bottleneck(tables, "one-copy", "mean_qdisc_packets", era=era, qdisc=qdisc, ping="icmp").mean()
        for qdisc in QDISCS
    )
    return ", ".join(f"{value:.0f}" for value in found)


def _farthest(tables: Tables, era: str) -> str:
    """How far the mean RTT of UDP and TCP probes is from that of ICMP probes, at most."""
    off = []
    for qdisc in QDISCS:
        icmp, *others = (
            latency(tables, "one-copy", "rtt_mean_s", era=era, qdisc=qdisc, ping=kind)
            for kind in ("icmp", "udp", "tcp")
        )
        off += [abs((other / icmp).mean() - 1) for other in others]
    return f"to {100 * max(off):.1f} %"


def _unanswered(tables: Tables, era: str) -> str:
    found = []
    for qdisc in QDISCS:
        lost, sent = (latency(tables, "trains", what, era=era, qdisc=qdisc) for what in ("lost", "sent"))
        found.append(f"{100 * (lost / sent).mean():.0f}")
    return f"no answer to {', '.join(found)} %"


def _repeated(tables: Tables, era: str, rings: Sequence[str]) -> tuple[float, float]:
    """Drops and retransmissions of ten copies, the mean over replications, added up over rings."""
    levels = [{"era": era, "qdisc": "2500p", "ring": ring} for ring in rings]
    dropped = sum(
        bottleneck(tables, "ten-copies", what, **level).mean()
        for level in levels
        for what in ("dropped_queue", "dropped_early")
    )
    again = sum(flows(tables, "ten-copies", "retransmitted_packets", **level).mean() for level in levels)
    return float(dropped), float(again)


def _share_repeated(tables: Tables, era: str) -> str:
    dropped, again = _repeated(tables, era, ("100p", "350p", "1700p"))
    return f"{again / dropped:.3f} retransmissions a drop" if dropped else "no drops"


def _for_nothing(tables: Tables, era: str) -> str:
    dropped, again = _repeated(tables, era, ("13000p",))
    return f"{dropped:.0f} drops, {again:.0f} retransmissions"


def _held(tables: Tables, era: str) -> str:
    found = [bottleneck(tables, "ring", "mean_qdisc_packets", era=era, ring=ring).mean() for ring in LONG_RINGS]
    return f"{np.mean(found):.1f} packets"


_TOLD: dict[str, Callable[[Tables, str], str]] = {
    "one_copy": lambda tables, era: _rtts(tables, "one-copy", "qdisc", QDISCS, era=era, ping="icmp"),
    "one_copy_occupancy": _occupancy,
    "same_for_all": _farthest,
    "trains": _unanswered,
    "the_ring_governs": lambda tables, era: _rtts(tables, "ring", "ring", ("500p", "1000p", "5000p"), era=era),
    "ten_copies_latency": lambda tables, era: _rtts(
        tables, "ten-copies", "ring", ("100p", "350p", "1700p"), era=era, qdisc="2500p"
    ),
    "drops_are_retransmissions": _share_repeated,
    "spurious": _for_nothing,
    "qdisc_stays_empty": _held,
}


@value
def plain(tables: Tables) -> str:
    """One copy in 2010 without OpenSSH's type of service: the mean RTTs, ms, by queue discipline."""
    return _rtts(tables, "one-copy", "qdisc", QDISCS, era="2010, plain", ping="icmp")


@value
def cure_table(tables: Tables) -> pl.DataFrame:
    """Mean and 95th percentile of the RTT under load, ms, and goodput, Mbit/s, of each queue with each protocol."""
    protocols = tables.levels("cure", "protocol")
    rows = []
    for queue in tables.levels("cure", "queue"):
        row = {"queue": f"`{queue}`"}
        for protocol in protocols:
            rtts = (
                latency(tables, "cure", what, queue=queue, protocol=protocol) for what in ("rtt_mean_s", "rtt_p95_s")
            )
            middle, high = (values.mean() * 1e3 for values in rtts)
            rate = flows(tables, "cure", "goodput_bps", queue=queue, protocol=protocol).mean() / 1e6
            row[protocol] = f"{middle:.0f} / {high:.0f} ms, {rate:.2f}"
        rows.append(row)
    return pl.DataFrame(rows)
