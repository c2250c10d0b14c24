"""4 to 100 hosts on the dumbbell, and fairness among flows of one protocol."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from haltere.claims import Verdict, all_of, cells, claim, exceeds, reading, remark, standings
from haltere.claims.comparison import complete
from haltere.metrics.tables import Tables
from haltere.stats import Interval, mean

from .contenders import CENTRE, CUBIC, DELAYS, ENDLESS, LOSSES, PAIRS, PAPER, QUICS, RATES, SUMMARY, TCPS, lines


@claim(
    "Along rate, delay and loss the curves of QUIC and TCP CUBIC have their shape on the dumbbell, too.",
    source=f"{SUMMARY}, section 10, paragraph 3",
    whose=PAPER,
)
def alike_on_the_dumbbell(tables: Tables) -> Verdict:
    """For each QUIC and TCP CUBIC, along each of rate, delay and loss, the logarithms of the mean completion times on
    the dumbbell must correlate with those point to point by 0.95 or more."""
    least, high, count = 1.0, 0, 0
    parts = []
    for name in (*QUICS, CUBIC):
        told = []
        for factor, levels in {"rate": RATES, "delay": DELAYS, "loss": LOSSES}.items():
            over = {**CENTRE, factor: levels}
            both = [
                curve(tables, "point-to-point", name, over),
                curve(tables, "dumbbell", name, {**over, "pairs": ["2"]}),
            ]
            found = float(np.corrcoef(np.log(both))[0, 1])
            least, high, count = min(least, found), high + (found >= 0.95), count + 1
            told.append(f"{found:.3f} along {factor}")
        parts.append(remark(f"Correlation of the curves of {name}", ", ".join(told)))
    what = f"Curves with a correlation of 0.95 or more (the least: {least:.3f})"
    return all_of(cells(what, high, count - high, count, 1.0), *parts)


def curve(tables: Tables, experiment: str, name: str, over: dict[str, list[str]]) -> NDArray[np.float64]:
    """The mean completion times of a protocol, a number a treatment."""
    values = tables.values(experiment, "completion_time", {**over, "protocol": [name]})
    _, matrix = complete(tables, experiment, values, over)
    return matrix.mean(axis=1)


def order(tables: Tables, experiment: str, over: dict[str, list[str]]) -> list[float]:
    """Mean completion times of all protocols at one treatment."""
    values = tables.values(experiment, "completion_time", {**over, "protocol": [*QUICS, *TCPS]})
    _, matrix = complete(tables, experiment, values, {"protocol": [*QUICS, *TCPS], **over})
    means: list[float] = matrix.mean(axis=1).tolist()
    return means


@claim(
    "With 4 to 100 hosts on the dumbbell QUIC still has the better performance, whatever their number.",
    source=f"{SUMMARY}, section 10, paragraph 4",
    whose=PAPER,
    paper="4 to 100 hosts",
)
def any_number_of_hosts(tables: Tables) -> Verdict:
    """For each number of hosts each QUIC's completion time must be ahead of TCP CUBIC's. How like the order of all
    protocols is to that point to point (Spearman's rank correlation) is a remark."""
    alone = order(tables, "point-to-point", CENTRE)
    parts = []
    ranks = {}
    for pairs in PAIRS:
        found = order(tables, "dumbbell", {**CENTRE, "pairs": [pairs]})
        ranks[f"{2 * int(pairs)} hosts"] = float(spearmanr(alone, found).statistic)
    told = ", ".join(f"{value:.2f} ({hosts})" for hosts, value in ranks.items())
    for quic in QUICS:
        found_hosts = lines(tables, "dumbbell", "pairs", PAIRS, quic, CUBIC)
        sides = standings(found_hosts)
        yes, no = sides.count("of"), sides.count("to") + sides.count("alike")
        parts.append(cells(f"Numbers of hosts with {quic} ahead of {CUBIC}", yes, no, len(sides), 1.0))
        parts.append(remark(f"{quic} ÷ {CUBIC}, geometric mean", reading(found_hosts.pooled(), found_hosts.metric)))
    return all_of(*parts, remark("Rank correlation of the order of all protocols with that point to point", told))


def jain(tables: Tables, experiment: str, over: dict[str, list[str]]) -> Interval:
    """Jain's index, the mean over treatments; its interval over replications."""
    _, matrix = complete(tables, experiment, tables.values(experiment, "fairness", over), over)
    return mean(matrix.mean(axis=0))


def jain_of_two(tables: Tables, name: str) -> Interval:
    """Jain's index of two endless flows of a protocol."""
    return jain(tables, "long", {"mix": [f"{name} beside itself"], **ENDLESS})


@claim(
    "Flows of the same protocol share fairly: Jain's index near 1.",
    source=f"{SUMMARY}, section 10, paragraph 5",
    whose=PAPER,
    paper="near 1",
)
def fair_within(tables: Tables) -> Verdict:
    """Near 1 is above 0.95. For each protocol, the mean index at the centre over all numbers of hosts must be so, and
    that of two endless flows of each QUIC and of TCP CUBIC."""
    over = {**CENTRE, "pairs": PAIRS}
    found = {name: jain(tables, "dumbbell", {"protocol": [name], **over}) for name in [*QUICS, *TCPS]}
    least = min(found, key=lambda name: found[name].value)
    parts = [
        exceeds(f"Jain's index, 4 to 100 hosts, {name}", found[name], 0.95) for name in dict.fromkeys([*QUICS, least])
    ]
    endless = [
        exceeds(f"Jain's index, two endless flows, {name}", jain_of_two(tables, name), 0.95) for name in [*QUICS, CUBIC]
    ]
    return all_of(*parts, *endless)
