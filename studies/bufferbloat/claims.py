"""The claims of the bufferbloat study, each judged from the results by a rule.

RTTs are means over the answered probes of a run; probes without an answer within 5 s count as lost, not as long. Where
a claim states a number, the rule asks for it to ±15 %. Intervals are at 95 % over replications.

The thesis' claims are judged with the mechanisms of 2010, about which they were made; copies carry the type of service
of OpenSSH's bulk traffic, as they did then. Claims of our own say what holds with today's. A remark names the single
mechanisms which, when they are switched, undo a claim that is confirmed, or bring about one that is contradicted. Rules
were written after a trial of one replication and before the first campaign. Where one was written, or became stricter,
when its numbers were known, it says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial

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
    near,
    remark,
    value,
)
from haltere.metrics import quantities
from haltere.metrics.tables import Tables
from haltere.metrics.text import significant
from haltere.stats import Interval, mean, mean_of_amounts

Numbers = NDArray[np.float64]

THESIS = "Cardozo 2013"
TO = 0.15
"""How near a stated number must be met."""

LITTLE_MS = 100.0
"""The delay up to which queues are not long, after Chirichella and Rossi (2013), whom the thesis cites."""

ERAS = ("2010", "today, pfifo_fast", "today")
"""The stacks of each experiment; `2010, plain` is there to say what OpenSSH's type of service does."""

of_thesis = partial(claim, whose=THESIS)

QDISCS = ("200p", "1000p", "100000000p")
TEN_COPIES_QDISCS = ("100p", "1000p", "2500p", "10000p", "100000p", "1000000p", "100000000p")
LONG_RINGS = ("5000p", "10000p", "15000p")
RINGS = ("100p", "350p", "1700p")
"""The rings of scenario 4 up to which the thesis has as many retransmissions as drops."""

STATED = {
    "100p": (7440.0, 7421.0, 126.0),
    "350p": (7479.0, 7466.0, 417.0),
    "1700p": (8259.0, 8244.0, 2089.0),
    "3850p": (None, None, 2539.0),
    "13000p": (0.0, 11068.0, 2428.0),
}
"""Drops, retransmissions and mean RTT (ms) with 2500 packets in the queue discipline, as section 3.3.3 has them."""


def finished(tables: Tables, experiment: str, levels: Mapping[str, str]) -> pl.DataFrame:
    """The runs of some levels, in the order of their replications."""
    return tables.experiment_runs(experiment).filter(pl.col("status") == "ok", **levels).sort("replication")


def latency(tables: Tables, experiment: str, what: str, **levels: str) -> Numbers:
    """A column of the table of latencies, a value a replication."""
    probes = tables.latency.filter(pl.col("experiment") == experiment).select("run_id", what)
    found = finished(tables, experiment, levels).join(probes, on="run_id").sort("replication")[what]
    if found.len() < 2 or found.null_count():
        where = ", ".join(quantities.text(level) for level in levels.values())
        raise MissingDataError(f"{few(found.len() - found.null_count())} of {experiment} with {where}")
    return found.to_numpy().astype(np.float64)


def bottleneck(tables: Tables, experiment: str, what: str, **levels: str) -> Numbers:
    """A column of the bottleneck in the data direction, a value a replication."""
    return finished(tables, experiment, levels)[f"bottleneck_{what}"].to_numpy().astype(np.float64)


def flows(tables: Tables, experiment: str, what: str, **levels: str) -> Numbers:
    """A column of the flows, added up within each replication."""
    carried = tables.flows.filter(pl.col("experiment") == experiment).select("run_id", what)
    rows = finished(tables, experiment, levels).join(carried, on="run_id")
    return rows.group_by("replication").agg(pl.col(what).sum()).sort("replication")[what].to_numpy().astype(np.float64)


def drops(tables: Tables, experiment: str, **levels: str) -> Numbers:
    """Packets that the bottleneck's queue discipline dropped, full or early, a value a replication."""
    full, early = (bottleneck(tables, experiment, what, **levels) for what in ("dropped_queue", "dropped_early"))
    return np.asarray(full + early, dtype=np.float64)


def switches(tables: Tables, experiment: str, meets: Callable[[str], bool]) -> Evidence:
    """The single mechanisms that bring a condition about when they are switched, or that undo it if it is met."""
    levels = [level for level in tables.levels(experiment, "switch") if level != "none"]
    met = meets("none")
    found = [level for level in levels if meets(level) != met]
    what = "undo it" if met else "bring it about"
    said = ", ".join(found) if found else f"none of {len(levels)}"
    return remark(f"Single mechanisms that {what} when they are switched", said)


@of_thesis(
    "One copy: with queue disciplines of 200, 1000 and 100 000 000 packets the mean RTT is about 317, 316 and 301 ms, "
    "although 118, 704 and 1221 packets wait in them.",
    source="scenario 1, section 3.3.1, figures 3.5 to 3.7",
    paper="317, 316 and 301 ms; 118, 704 and 1221 packets",
)
def one_copy(tables: Tables) -> Verdict:
    """With ICMP probes, mean RTT and mean occupancy must be the stated numbers to ±15 % for each size. The rule for the
    occupancy was written when its numbers were known."""
    parts: list[Evidence] = []
    for qdisc, stated, waiting in zip(QDISCS, (317.0, 316.0, 301.0), (118.0, 704.0, 1221.0), strict=True):
        size = quantities.text(qdisc)
        held = bottleneck(tables, "one-copy", "mean_qdisc_packets", era="2010", qdisc=qdisc, ping="icmp")
        unmarked = _one_copy_rtt(tables, "2010, plain", qdisc).mean()
        parts += [
            near(f"RTT, queue discipline of {size}", mean(_one_copy_rtt(tables, "2010", qdisc)), stated, "ms"),
            near(f"Packets held by a queue discipline of {size}, mean", mean(held), waiting, "packets"),
            remark(f"RTT if copies were no bulk traffic, {size}", f"{unmarked:.0f} ms"),
        ]

    def holds(switch: str) -> bool:
        found = latency(tables, "one-copy-switches", "rtt_mean_s", switch=switch).mean() * 1e3
        return bool(abs(found / 316 - 1) <= TO)

    return all_of(*parts, switches(tables, "one-copy-switches", holds))


@of_thesis(
    "One copy: the rate stays the most that the bottleneck carries, 1.1 MB/s with each queue discipline.",
    source="scenario 1, section 3.3.1; of ten copies much the same is said in section 3.3.3",
    paper="1.1 MB/s with each size",
)
def full_rate(tables: Tables) -> Verdict:
    """The goodput must be 1.1 MB/s to ±15 % with each queue discipline, and with the larger ones that with 200 packets
    to ±5 %. The rule was written when its numbers were known."""
    found = {quantities.text(qdisc): _one_copy_goodput(tables, "2010", qdisc) for qdisc in QDISCS}
    first, *others = found
    means = [
        flows(tables, "ten-copies", "goodput_bps", era="2010", qdisc=qdisc, ring=ring).mean() / 10e6
        for qdisc in TEN_COPIES_QDISCS
        for ring in STATED
    ]
    return all_of(
        *(near(f"Goodput, {size}", mean(goodput), 1.1, "MB/s") for size, goodput in found.items()),
        *(between(f"Goodput, {size} ÷ {first}", mean(found[size] / found[first]), 0.95, 1.05) for size in others),
        remark("Goodput of each of ten copies, over all sizes", f"{min(means):.2f} to {max(means):.2f} Mbit/s"),
    )


@of_thesis("TCP, UDP and ICMP probes see the same RTT.", source="scenario 1, section 3.3.1")
def same_for_all(tables: Tables) -> Verdict:
    """For each size, the mean RTT of UDP and of TCP probes over that of ICMP probes must lie between 0.95 and 1.05."""
    return all_of(*_same_for_all(tables, "2010"))


@of_thesis(
    "Trains of datagrams: with 200 packets the queue is full and probes are lost; with more, probes time out.",
    source="scenario 2, section 3.3.1, figures 3.8 to 3.10",
)
def trains(tables: Tables) -> Verdict:
    """With each size more than a tenth of the probes must stay without an answer, with 200 packets the queue must have
    been full, and with 100 000 000 nothing dropped."""
    parts: list[Evidence] = []
    for qdisc in QDISCS:
        what = f"Share of probes without an answer, {quantities.text(qdisc)}"
        parts.append(exceeds(what, _share_unanswered(tables, "2010", qdisc), 0.1, "%"))
    full = bottleneck(tables, "trains", "max_qdisc_packets", era="2010", qdisc="200p")
    parts.append(exceeds("Largest length of the queue discipline of 200 packets", mean(full), 199.5, "packets"))
    dropped = bottleneck(tables, "trains", "dropped_queue", era="2010", qdisc="100000000p")
    parts.append(below("Drops with 100 000 000 packets", mean(dropped), 1.0))
    return all_of(*parts)


@of_thesis(
    "One copy: the ring governs the latency, 615 ms with 500 packets, 1172 ms with 1000, 1765 ms with 5000 and 15 000.",
    source="scenario 3, section 3.3.2, figures 3.12 to 3.15",
    paper="615, 1172, 1765 and 1765 ms",
)
def the_ring_governs(tables: Tables) -> Verdict:
    """The mean RTT must be the stated number to ±15 % for each size of the ring."""
    parts: list[Evidence] = []
    for ring, stated in (("500p", 615.0), ("1000p", 1172.0), ("5000p", 1765.0), ("15000p", 1765.0)):
        parts.append(near(f"RTT, ring of {quantities.text(ring)}", mean(_ring_rtt(tables, "2010", ring)), stated, "ms"))
    return all_of(*parts)


@of_thesis(
    "The ring weighs far more than the queue discipline: a long one alone brings an enormous latency.",
    source="section 3.4",
)
def ring_over_qdisc(tables: Tables) -> Verdict:
    """Ten copies. With the shortest queue discipline here, 100 packets, and a ring of 3850 the mean RTT must be longer
    than 1 s. With a ring of 350 the longest queue discipline may have at most 1.15 times the RTT of the shortest. The
    rule was written when its numbers were known."""
    long_ring = _ten_copies_rtt(tables, "2010", "100p", "3850p")
    longest, shortest = (_ten_copies_rtt(tables, "2010", qdisc, "350p") for qdisc in ("100000000p", "100p"))
    return all_of(
        exceeds("RTT, queue discipline of 100 packets, ring of 3850", mean(long_ring), 1000.0, "ms"),
        below(
            "RTT, queue discipline of 100 000 000 packets ÷ 100 packets, ring of 350", mean(longest / shortest), 1 + TO
        ),
    )


@of_thesis("Past 1000 packets in the ring the queue discipline holds far fewer packets.", source="section 3.3.3")
def qdisc_stays_empty(tables: Tables) -> Verdict:
    """With rings of 5000 to 15 000 the packets of one copy must wait less than 10 ms in the queue discipline."""
    parts: list[Evidence] = []
    for ring in LONG_RINGS:
        waits = bottleneck(tables, "ring", "mean_qdisc_delay_s", era="2010", ring=ring) * 1e3
        parts.append(below(f"Wait in the queue discipline, ring of {quantities.text(ring)}", mean(waits), 10.0, "ms"))
        held = bottleneck(tables, "ring", "mean_qdisc_packets", era="2010", ring=ring)
        name = f"Packets held by the queue discipline, ring of {quantities.text(ring)}, mean"
        parts.append(remark(name, f"{held.mean():.1f}"))
    return all_of(*parts)


@of_thesis(
    "Ten copies, queue discipline of 2500: the mean RTT is 126, 417 and 2089 ms with rings of 100, 350 and 1700.",
    source="scenario 4, section 3.3.3, figures 3.16 to 3.18",
    paper="126, 417 and 2089 ms",
)
def ten_copies_latency(tables: Tables) -> Verdict:
    """The mean RTT must be the stated number to ±15 % for each size of the ring."""
    parts: list[Evidence] = []
    for ring in RINGS:
        found, name = _ten_copies_rtt(tables, "2010", "2500p", ring), f"RTT, ring of {quantities.text(ring)}"
        parts.append(near(name, mean(found), STATED[ring][2], "ms"))
    return all_of(*parts)


@of_thesis(
    "Ten copies, queue discipline of 2500: up to rings of 1700 as many packets are retransmitted as dropped.",
    source="scenario 4, section 3.3.3, figures 3.16 to 3.18",
    paper="7421 of 7440, 7466 of 7479 and 8244 of 8259",
)
def drops_are_retransmissions(tables: Tables) -> Verdict:
    """Retransmissions over drops must lie between 0.98 and 1.02 for each size of the ring."""
    parts: list[Evidence] = []
    for ring in RINGS:
        ratio = _repeated_a_drop(tables, "2010", ring)
        parts.append(between(f"Retransmissions ÷ drops, ring of {quantities.text(ring)}", mean(ratio), 0.98, 1.02))
    return all_of(*parts)


@of_thesis(
    "Ten copies: up to rings of 1700 the most packets are dropped with a queue discipline of 2500: 7440, 7479 and 8259 "
    "with rings of 100, 350 and 1700.",
    source="scenario 4, section 3.3.3, figures 3.16 to 3.18",
    paper="7440, 7479 and 8259 packets",
)
def ten_copies_drops(tables: Tables) -> Verdict:
    """With 2500 packets there must be more drops than with every other size, and the stated number of them to ±15 %,
    for each size of the ring. The rule was written when its numbers were known."""
    parts: list[Evidence] = []
    for ring in RINGS:
        name, found = f"ring of {quantities.text(ring)}", _dropped(tables, "2010", "2500p", ring)
        parts.append(near(f"Drops, {name}", mean(found), STATED[ring][0] or 0.0, "packets"))
        parts.append(exceeds(f"Drops less the most with another size, {name}", _lead(tables, ring), 0.0, "packets"))
    return all_of(*parts)


@of_thesis(
    "Ten copies, ring of 3850: with 2500 packets drops and retransmissions no longer peak, they part by 7627, and the "
    "mean RTT is 2539 ms.",
    source="scenario 4, section 3.3.3, figure 3.19",
    paper="7627 packets apart; 2539 ms",
)
def ring_of_3850(tables: Tables) -> Verdict:
    """With 2500 packets there must not be more drops than with every other size; drops and retransmissions must differ
    by 7627, and the mean RTT be 2539 ms, to ±15 %. The rule was written when its numbers were known."""
    dropped = _dropped(tables, "2010", "2500p", "3850p")
    apart = np.abs(dropped - _repeated(tables, "2010", "2500p", "3850p"))
    return all_of(
        exceeds("Most drops with another size, less those with 2500", _lead(tables, "3850p", -1), 0.0, "packets"),
        near("Drops and retransmissions differ by", mean(apart), 7627.0, "packets"),
        near("RTT", mean(_ten_copies_rtt(tables, "2010", "2500p", "3850p")), 2539.0, "ms"),
    )


@of_thesis(
    "Ten copies, ring of 13 000: nothing is dropped with any size, 11 068 packets are retransmitted for nothing with "
    "2500, and the mean RTT is 2428 ms.",
    source="scenario 4, section 3.3.3, figure 3.20",
    paper="0 drops, 11 068 retransmissions, 2428 ms",
)
def spurious(tables: Tables) -> Verdict:
    """With 2500 packets in the queue discipline nothing may be dropped, and more than 1000 packets be retransmitted.
    The other sizes, which may have no drops either, and the RTT, to ±15 %, came into the rule when its numbers were
    known."""
    where, ring = "ten-copies-switches", "13000p"
    dropped = {qdisc: _dropped(tables, "2010", qdisc, ring) for qdisc in TEN_COPIES_QDISCS}
    rtt = _ten_copies_rtt(tables, "2010", "2500p", ring)

    def holds(switch: str) -> bool:
        again = flows(tables, where, "retransmitted_packets", switch=switch).mean()
        return bool(drops(tables, where, switch=switch).max() == 0 and again > 1000)

    return all_of(
        *(below(f"Drops with {quantities.text(qdisc)}", mean(each), 1.0) for qdisc, each in dropped.items()),
        exceeds("Retransmissions", mean(_repeated(tables, "2010", "2500p", ring)), 1000.0, "packets"),
        near("RTT of the probes that were answered", mean(rtt), 2428.0, "ms"),
        switches(tables, where, holds),
    )


@of_thesis(
    "With default settings, a queue discipline of 1000 packets and a ring of 256, there is no bufferbloat.",
    source="abstract, section 3.4 and chapter 4; the defaults: section 3.2.2",
    paper="its own RTT there: 316 ms",
)
def default_settings(tables: Tables) -> Verdict:
    """Under load the mean RTT must stay below 100 ms: for one copy, for ten, and for one whose packets are no bulk
    traffic. The thesis does not say from which latency on it speaks of bufferbloat; 100 ms is the bound of a work that
    it cites for queues that are not long (Chirichella and Rossi, 2013). The remark says with which bound it would hold.
    The rule was written when its numbers were known."""
    found = {
        "one copy by scp": _one_copy_rtt(tables, "2010", "1000p"),
        "ten copies by scp": _defaults_rtt(tables, "2010"),
        "one copy without scp's mark": _one_copy_rtt(tables, "2010, plain", "1000p"),
    }
    scp = max(found["one copy by scp"].mean(), found["ten copies by scp"].mean())
    every = max(values.mean() for values in found.values())
    return all_of(
        *(below(f"RTT, {name}", mean(values), LITTLE_MS, "ms") for name, values in found.items()),
        remark("Bound from which on it would hold", f"{scp:.0f} ms by scp, {every:.0f} ms with any copy"),
    )


@claim(
    "Today with pfifo_fast: byte queue limits make the ring's size immaterial, and the queue discipline alone decides; "
    "default sizes bloat.",
    source="our own: what holds today",
    whose=OURS,
)
def today_queue_decides(tables: Tables) -> Verdict:
    """Between the shortest and the longest ring the mean RTT of one copy, and that of ten, must be the same to ±5 %;
    from 200 to 1000 packets in the queue discipline it must at least double; at default sizes it must be more than
    100 ms. The rule was written when its numbers were known."""
    era = "today, pfifo_fast"
    one = _ring_rtt(tables, era, "15000p") / _ring_rtt(tables, era, "500p")
    ten = _ten_copies_rtt(tables, era, "2500p", "16000p") / _ten_copies_rtt(tables, era, "2500p", "100p")
    grown = _one_copy_rtt(tables, era, "1000p") / _one_copy_rtt(tables, era, "200p")
    return all_of(
        between("RTT of one copy, ring of 15 000 packets ÷ 500", mean(one), 0.95, 1.05),
        between("RTT of ten copies, ring of 16 000 packets ÷ 100", mean(ten), 0.95, 1.05),
        exceeds("RTT of one copy, queue discipline of 1000 packets ÷ 200", mean(grown), 2.0),
        exceeds("RTT of one copy, default sizes", mean(_one_copy_rtt(tables, era, "1000p")), LITTLE_MS, "ms"),
        exceeds("RTT of ten copies, default sizes", mean(_defaults_rtt(tables, era)), LITTLE_MS, "ms"),
    )


@claim(
    "Today with fq_codel: probes wait little whatever the sizes, the load and the number of copies.",
    source="our own: what holds today",
    whose=OURS,
)
def today_no_bloat(tables: Tables) -> Verdict:
    """In each of the four scenarios, and at default sizes, the mean RTT must stay below 100 ms at each size, and less
    than 1 % of the probes beside trains be without an answer. The rule was written when its numbers were known."""
    era = "today"
    parts: list[Evidence] = []
    for name, found in (
        ("one copy, every queue discipline", [_one_copy_rtt(tables, era, qdisc) for qdisc in QDISCS]),
        ("one copy, every ring", [_ring_rtt(tables, era, ring) for ring in ("500p", "1000p", *LONG_RINGS)]),
        ("ten copies, every ring", [_ten_copies_rtt(tables, era, "2500p", ring) for ring in (*STATED, "16000p")]),
        ("ten copies, default sizes", [_defaults_rtt(tables, era)]),
    ):
        parts.append(below(f"Largest RTT, {name}", mean(np.max(found, axis=0)), LITTLE_MS, "ms"))
    for qdisc in QDISCS:
        what = f"Share of probes without an answer beside trains, {quantities.text(qdisc)}"
        parts.append(below(what, _share_unanswered(tables, era, qdisc), 0.01, "%"))
    return all_of(*parts)


@claim(
    "As then: today as many packets are retransmitted as dropped, at every ring, and all probes see the same RTT.",
    source="our own: what holds today",
    whose=OURS,
)
def as_then(tables: Tables) -> Verdict:
    """With pfifo_fast and with fq_codel: ten copies' retransmissions over drops must lie between 0.98 and 1.02 with
    2500 packets and rings of 100 to 13 000, and the RTTs of UDP and TCP probes over those of ICMP probes between 0.95
    and 1.05. The rule for the ring of 13 000 was written when its numbers were known."""
    parts: list[Evidence] = []
    for era in ERAS[1:]:
        for ring in (*RINGS, "13000p"):
            name = f"Retransmissions ÷ drops, ring of {quantities.text(ring)}, {era}"
            parts.append(between(name, mean(_repeated_a_drop(tables, era, ring)), 0.98, 1.02))
        parts += [replace(part, what=f"{part.what}, {era}") for part in _same_for_all(tables, era)]
    return all_of(*parts)


@claim("The cure: a modern queue discipline keeps the latency under load near the empty path's, at full rate.",
       source="our own", whose=OURS)  # fmt: skip
def the_cure(tables: Tables) -> Verdict:
    """Under FQ-CoDel and CAKE, ten CUBIC flows may add at most 10 ms to the mean RTT of probes (33 ms with the time of
    their own bits), and must keep 97 % of the goodput under drop-tail with 1000 packets."""
    parts: list[Evidence] = []
    plain = flows(tables, "cure", "goodput_bps", queue="drop-tail", protocol="tcp/cubic")
    for queue in ("fq_codel", "cake"):
        rtt = latency(tables, "cure", "rtt_mean_s", queue=queue, protocol="tcp/cubic")
        parts.append(below(f"RTT under {queue}", mean(rtt * 1e3), 43.0, "ms"))
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


def _one_copy_rtt(tables: Tables, era: str, qdisc: str) -> Numbers:
    """The mean RTT of ICMP probes beside one copy, ms."""
    return latency(tables, "one-copy", "rtt_mean_s", era=era, qdisc=qdisc, ping="icmp") * 1e3


def _one_copy_goodput(tables: Tables, era: str, qdisc: str) -> Numbers:
    """The goodput of one copy beside ICMP probes, MB/s."""
    return flows(tables, "one-copy", "goodput_bps", era=era, qdisc=qdisc, ping="icmp") / 8e6


def _ring_rtt(tables: Tables, era: str, ring: str) -> Numbers:
    """The mean RTT beside one copy by the size of the ring, ms."""
    return latency(tables, "ring", "rtt_mean_s", era=era, ring=ring) * 1e3


def _ten_copies_rtt(tables: Tables, era: str, qdisc: str, ring: str) -> Numbers:
    """The mean RTT beside ten copies, ms."""
    return latency(tables, "ten-copies", "rtt_mean_s", era=era, qdisc=qdisc, ring=ring) * 1e3


def _defaults_rtt(tables: Tables, era: str) -> Numbers:
    """The mean RTT beside ten copies with default sizes, ms."""
    return latency(tables, "defaults", "rtt_mean_s", era=era) * 1e3


def _repeated(tables: Tables, era: str, qdisc: str, ring: str) -> Numbers:
    """Packets that ten copies retransmitted."""
    return flows(tables, "ten-copies", "retransmitted_packets", era=era, qdisc=qdisc, ring=ring)


def _dropped(tables: Tables, era: str, qdisc: str, ring: str) -> Numbers:
    """Packets of ten copies, and of the probes beside them, that were dropped."""
    return drops(tables, "ten-copies", era=era, qdisc=qdisc, ring=ring)


def _repeated_a_drop(tables: Tables, era: str, ring: str) -> Numbers:
    """Retransmissions of ten copies over their drops, with 2500 packets in the queue discipline."""
    return _repeated(tables, era, "2500p", ring) / _dropped(tables, era, "2500p", ring)


def _same_for_all(tables: Tables, era: str) -> list[Evidence]:
    """The parts "UDP and TCP probes see the RTT of ICMP probes", for each queue discipline."""
    parts: list[Evidence] = []
    for qdisc in QDISCS:
        icmp = latency(tables, "one-copy", "rtt_mean_s", era=era, qdisc=qdisc, ping="icmp")
        for kind in ("udp", "tcp"):
            ratio = latency(tables, "one-copy", "rtt_mean_s", era=era, qdisc=qdisc, ping=kind) / icmp
            name = f"RTT, {kind.upper()} ÷ ICMP, queue discipline of {quantities.text(qdisc)}"
            parts.append(between(name, mean(ratio), 0.95, 1.05))
    return parts


def _share_unanswered(tables: Tables, era: str, qdisc: str) -> Interval:
    """The share of probes beside trains that have no answer."""
    lost, sent = (latency(tables, "trains", what, era=era, qdisc=qdisc) for what in ("lost", "sent"))
    return mean_of_amounts(lost / sent, 1.0)


def _lead(tables: Tables, ring: str, sign: int = 1) -> Interval:
    """How many more drops ten copies of 2010 have with 2500 packets than with any other size; fewer with sign -1."""
    others = [_dropped(tables, "2010", qdisc, ring) for qdisc in TEN_COPIES_QDISCS if qdisc != "2500p"]
    return mean(sign * (_dropped(tables, "2010", "2500p", ring) - np.max(others, axis=0)))


@value
def by_era(tables: Tables) -> dict[str, str]:
    """The means that each claim speaks of, for each era: `one_copy_0` belongs to the claim of this name."""
    return {f"{name}_{number}": told(tables, era) for number, era in enumerate(ERAS) for name, told in _TOLD.items()}


def _means(values: Iterable[Numbers], places: int = 0) -> str:
    return ", ".join(f"{each.mean():.{places}f}" for each in values)


def _farthest(tables: Tables, era: str) -> str:
    """How far the mean RTT of UDP and TCP probes is from that of ICMP probes, at most."""
    ratios = [part.interval.value for part in _same_for_all(tables, era) if part.interval]
    return f"to {100 * max(abs(ratio - 1) for ratio in ratios):.1f} %"


def _unanswered(tables: Tables, era: str) -> str:
    shares = (f"{100 * _share_unanswered(tables, era, qdisc).value:.0f}" for qdisc in QDISCS)
    return f"no answer to {', '.join(shares)} %"


_TOLD: dict[str, Callable[[Tables, str], str]] = {
    "one_copy": lambda tables, era: _means(_one_copy_rtt(tables, era, qdisc) for qdisc in QDISCS),
    "one_copy_occupancy": lambda tables, era: _means(
        bottleneck(tables, "one-copy", "mean_qdisc_packets", era=era, qdisc=qdisc, ping="icmp") for qdisc in QDISCS
    ),
    "full_rate": lambda tables, era: _means((_one_copy_goodput(tables, era, qdisc) for qdisc in QDISCS), 2),
    "same_for_all": _farthest,
    "trains": _unanswered,
    "the_ring_governs": lambda tables, era: _means(
        _ring_rtt(tables, era, ring) for ring in ("500p", "1000p", "5000p", "15000p")
    ),
    "ring_over_qdisc": lambda tables, era: _means([_ten_copies_rtt(tables, era, "100p", "3850p")]),
    "qdisc_stays_empty": lambda tables, era: _means(
        (bottleneck(tables, "ring", "mean_qdisc_packets", era=era, ring=ring) for ring in LONG_RINGS), 1
    ),
    "ten_copies_latency": lambda tables, era: _means(_ten_copies_rtt(tables, era, "2500p", ring) for ring in RINGS),
    "drops_are_retransmissions": lambda tables, era: _means((_repeated_a_drop(tables, era, ring) for ring in RINGS), 3),
    "ten_copies_drops": lambda tables, era: _means(_dropped(tables, era, "2500p", ring) for ring in RINGS),
    "ring_of_3850": lambda tables, era: _means([_ten_copies_rtt(tables, era, "2500p", "3850p")]),
    "spurious": lambda tables, era: "{} drops, {} retransmissions".format(
        _means([_dropped(tables, era, "2500p", "13000p")]),
        _means([_repeated(tables, era, "2500p", "13000p")]),
    ),
    "default_settings": lambda tables, era: _means((_one_copy_rtt(tables, era, "1000p"), _defaults_rtt(tables, era))),
}


@value
def plain(tables: Tables) -> str:
    """One copy in 2010 without OpenSSH's type of service: the mean RTTs, ms, by queue discipline."""
    return _means(_one_copy_rtt(tables, "2010, plain", qdisc) for qdisc in QDISCS)


@value
def ten_copies_table(tables: Tables) -> pl.DataFrame:
    """Ten copies, 2500 packets in the queue discipline, by ring: the thesis' numbers and, in 2010, those here."""
    rows = []
    for ring, stated in STATED.items():
        here = (
            _dropped(tables, "2010", "2500p", ring).mean(),
            _repeated(tables, "2010", "2500p", ring).mean(),
            _ten_copies_rtt(tables, "2010", "2500p", ring).mean(),
        )
        row = {"ring": quantities.text(ring)}
        for name, thesis, found in zip(("drops", "retransmissions", "RTT, ms"), stated, here, strict=True):
            row |= {f"{name}: thesis": "–" if thesis is None else f"{thesis:.0f}", f"{name}: here": f"{found:.0f}"}
        rows.append(row)
    return pl.DataFrame(rows)


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
