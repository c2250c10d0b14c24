"""Five claims of L4S, each judged from the results by a rule that was fixed before there were any.

Rates are goodputs after the first ten seconds. The delay of a flow's packets is the mean of its RTT samples less the
RTT of the empty path. Ratios are geometric means over rates and RTTs, compared within each replication; intervals are
at 95 % over replications.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from haltere.claims import (
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
from haltere.claims.comparison import geometric
from haltere.metrics import quantities
from haltere.metrics.tables import Tables
from haltere.stats import Interval, mean

Numbers = NDArray[np.float64]

BESIDE = "Prague beside CUBIC"
RATES = ["10Mbit/s", "40Mbit/s", "200Mbit/s"]
RTTS = ["10ms", "50ms"]
RFC = "RFC 9332"
AUTHORS = "De Schepper et al. 2023"
RISK = "RFC 9331 section 6.1"
RISK_AUTHORS = "De Schepper and Briscoe 2023"


def column(tables: Tables, flows: str, queue: str, rate: str, rtt: str, what: pl.Expr) -> tuple[Numbers, Numbers]:
    """A value of the first flow and of the second, replication by replication."""
    runs = tables.experiment_runs("side-by-side").filter(
        pl.col("status") == "ok",
        pl.col("flows") == flows, pl.col("queue") == queue, pl.col("rate") == rate, pl.col("rtt") == rtt,
    )  # fmt: skip
    found = runs.join(tables.flows.select("run_id", "flow", what.alias("value")), on="run_id").sort(
        "replication", "flow"
    )
    first, second = (found.filter(pl.col("flow") == flow)["value"].to_numpy() for flow in (0, 1))
    if len(first) < 2 or len(first) != len(second):
        raise MissingDataError(f"{few(len(first))} of {flows} with {queue}, {rate}, {rtt}")
    return first, second


def shares(tables: Tables, flows: str, queue: str, rates: list[str] = RATES, rtts: list[str] = RTTS) -> Numbers:
    """The logarithm of the first flow's rate over the second's, averaged over rates and RTTs."""
    parts = [column(tables, flows, queue, rate, rtt, pl.col("goodput_bps")) for rate in rates for rtt in rtts]
    return np.mean([np.log(first / second) for first, second in parts], axis=0)


def delays(tables: Tables, flows: str, queue: str, rate: str, rtt: str) -> tuple[Numbers, Numbers]:
    """Mean queueing delays of both flows, ms."""
    base = quantities.value(rtt) or 0.0
    return column(tables, flows, queue, rate, rtt, (pl.col("mean_rtt_s") - base) * 1e3)


def within_factor(what: str, logarithms: Numbers, factor: float) -> Evidence:
    """The part "not more than `factor` times, and not less than one part in `factor`"."""
    return between(what, geometric(logarithms), 1 / factor, factor)


@claim(
    "Under DualPI2 a Prague flow and a CUBIC flow get about the same rate.", source=RFC, whose=AUTHORS, paper="about 1"
)
def about_the_same_rate(tables: Tables) -> Verdict:
    """For each rate and RTT, Prague's goodput over CUBIC's must lie between 1/2 and 2."""
    parts: list[Evidence] = []
    for rate in RATES:
        for rtt in RTTS:
            found = shares(tables, BESIDE, "DualPI2", [rate], [rtt])
            at = f"{quantities.text(rate)}, {quantities.text(rtt)}"
            parts.append(within_factor(f"Rate, Prague ÷ CUBIC, {at}", found, 2.0))
    return all_of(*parts)


@claim(
    "Under DualPI2 the packets of a Prague flow wait about a millisecond, beside a CUBIC flow too.",
    source=RFC,
    whose=AUTHORS,
    paper="about 1 ms",
)
def a_millisecond(tables: Tables) -> Verdict:
    """Beside CUBIC and beside itself, for each rate and RTT, Prague's mean delay must be below 2 ms, or below the time
    of three packets where that is longer."""
    parts = []
    for flows in (BESIDE, "Prague beside itself"):
        for rate in RATES:
            bound = max(2.0, 3 * 1500 * 8 / (quantities.value(rate) or 1.0) * 1e3)
            for rtt in RTTS:
                first, _ = delays(tables, flows, "DualPI2", rate, rtt)
                name = f"Prague's wait, {flows}, {quantities.text(rate)}, {quantities.text(rtt)}"
                parts.append(below(name, mean(first), bound, "ms"))
    return all_of(*parts)


@claim(
    "Under DualPI2 the packets of a CUBIC flow wait about the target of 15 ms, not more.",
    source=RFC,
    whose=AUTHORS,
    paper="15 ms",
)
def the_target(tables: Tables) -> Verdict:
    """Beside Prague, for each rate and RTT, CUBIC's mean delay must be below 20 ms."""
    parts = []
    for rate in RATES:
        for rtt in RTTS:
            _, second = delays(tables, BESIDE, "DualPI2", rate, rtt)
            name = f"CUBIC's wait, {quantities.text(rate)}, {quantities.text(rtt)}"
            parts.append(below(name, mean(second), 20.0, "ms"))
    return all_of(*parts)


@claim(
    "In one queue that marks as RFC 3168 says, Prague takes most of a classic flow's rate.",
    source=RISK,
    whose=RISK_AUTHORS,
)
def starves_in_one_queue(tables: Tables) -> Verdict:
    """Under CoDel with ECN, Prague's goodput must be more than twice CUBIC's, over all rates and RTTs."""
    found = shares(tables, "Prague beside CUBIC with ECN", "CoDel with ECN")
    parts = [exceeds("Prague ÷ CUBIC with ECN", geometric(found), 2.0)]
    for rate in RATES:
        for rtt in RTTS:
            one = geometric(shares(tables, "Prague beside CUBIC with ECN", "CoDel with ECN", [rate], [rtt]))
            parts.append(remark(f"at {quantities.text(rate)}, {quantities.text(rtt)}", f"{one.value:.1f}"))
    return all_of(*parts)


@claim(
    "Where each flow has a queue of its own, Prague and CUBIC get the same rate.",
    source="RFC 9331 section 6.1, after RFC 8290",
    whose=RISK_AUTHORS,
)
def same_in_flow_queues(tables: Tables) -> Verdict:
    """Under FQ-CoDel, Prague's goodput over CUBIC's must lie between 0.8 and 1.25 over all rates and RTTs."""
    return all_of(within_factor("Rate, Prague ÷ CUBIC", shares(tables, BESIDE, "FQ-CoDel"), 1.25))


@answer
def in_short(tables: Tables) -> list[str]:
    """Delays and rates beside each other under DualPI2, and the rates under other queues."""
    waits = [delays(tables, BESIDE, "DualPI2", rate, rtt) for rate in RATES for rtt in RTTS]
    prague, cubic = ([float(pair[at].mean()) for pair in waits] for at in (0, 1))
    rates = {
        f"{quantities.text(rate)} and {quantities.text(rtt)}": geometric(
            shares(tables, BESIDE, "DualPI2", [rate], [rtt])
        )
        for rate in RATES
        for rtt in RTTS
    }
    least = min(rates, key=lambda at: rates[at].value)
    most = max(rates, key=lambda at: rates[at].value)
    one, own = (
        geometric(shares(tables, flows, queue)).value
        for flows, queue in (("Prague beside CUBIC with ECN", "CoDel with ECN"), (BESIDE, "FQ-CoDel"))
    )
    return [
        f"Side by side under DualPI2, Prague's packets wait {min(prague):.1f} to {max(prague):.1f} ms and CUBIC's "
        f"{min(cubic):.1f} to {max(cubic):.1f} ms, and Prague gets {rates[least].value:.2f} times CUBIC's rate (at "
        f"{least}) to {rates[most].value:.1f} times (at {most}).",
        f"In one queue that marks as RFC 3168 says Prague gets {one:.0f} times the rate of CUBIC with ECN; in a queue "
        f"for each flow (FQ-CoDel) {own:.2f} times CUBIC's.",
    ]


@value
def share_at_10_mbit_s_and_50_ms(tables: Tables) -> Interval:
    """Prague's rate over CUBIC's where the threshold is shorter than a packet."""
    return geometric(shares(tables, BESIDE, "DualPI2", ["10Mbit/s"], ["50ms"]))


@value
def shares_from_40_mbit_s(tables: Tables) -> str:
    """The smallest and the largest of Prague's rates over CUBIC's, from 40 Mbit/s on."""
    found = [geometric(shares(tables, BESIDE, "DualPI2", [rate], [rtt])).value for rate in RATES[1:] for rtt in RTTS]
    return f"{min(found):.1f} to {max(found):.1f}"
