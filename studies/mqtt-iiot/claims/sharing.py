"""How publishers share a bottleneck: section 4.2.2, tables 4.1 to 4.3."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import polars as pl

from haltere.claims import (
    Evidence,
    MissingDataError,
    Outcome,
    Verdict,
    all_of,
    below,
    between,
    claim,
    exceeds,
    few,
    remark,
)
from haltere.claims.comparison import geometric, runs_of
from haltere.metrics import quantities
from haltere.metrics.tables import Tables
from haltere.stats import mean, mean_of_amounts

from .shared import THESIS, Numbers


def rates(tables: Tables, experiment: str, **where: str) -> Numbers:
    """Goodput from 50 s on, a row a replication and a column a flow, bit/s."""
    runs = runs_of(tables, experiment).filter(pl.col("status") == "ok", *(pl.col(k) == v for k, v in where.items()))
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
    runs_of(tables, experiment)
    judged = {quantities.text(rate): judge(rate) for rate in tables.levels(experiment, "rate")}
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
            second = geometric(np.log(found[:, 1] / found[:, 0]))
            parts.append(exceeds(f"Rate, {rtt} ÷ 100 ms, {transport}", second, 1.0))
    return all_of(*parts)
