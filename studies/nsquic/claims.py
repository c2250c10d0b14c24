"""The seven claims of the nsQUIC study, each judged from the results by a rule that was fixed before there were any.

The thesis had one QUIC, a production stack. Here there are three: the model, quinn and noq, all with CUBIC. A sentence
about QUIC holds if it holds for each of them. Ratios are geometric means over treatments, compared within each
replication; intervals are at 95 % over replications; ratios within ±5 % are alike (Jain's index: ±0.01).
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import spearmanr

from haltere.claims import (
    Evidence,
    MissingDataError,
    Verdict,
    ahead,
    all_of,
    answer,
    cells,
    claim,
    exceeds,
    few,
    reading,
    remark,
    standings,
    value,
)
from haltere.claims.comparison import Comparison, compare, complete
from haltere.metrics import quantities
from haltere.metrics.tables import Tables
from haltere.stats import Interval, mean

PAPER = "Camarinha 2018"
QUICS = ["quic@model/cubic", "quic@quinn/cubic", "quic@noq/cubic"]
CUBIC = "tcp/cubic"
TCPS = [
    "tcp/newreno", CUBIC, "tcp/bic", "tcp/vegas", "tcp/westwood", "tcp/veno", "tcp/highspeed", "tcp/hybla",
    "tcp/illinois", "tcp/htcp", "tcp/scalable", "tcp/yeah", "tcp/ledbat", "tcp/bbr",
]  # fmt: skip
CENTRE = {"rate": ["100Mbit/s"], "delay": ["50ms"], "loss": ["0%"], "size": ["1000kB"]}
RATES = ["5Mbit/s", "10Mbit/s", "50Mbit/s", "100Mbit/s", "500Mbit/s", "1Gbit/s"]
DELAYS = ["10ms", "50ms", "100ms", "150ms", "200ms"]
LOSSES = ["0%", "0.01%", "0.1%", "1%", "10%"]
SIZES = ["10kB", "100kB", "200kB", "500kB", "1000kB", "10000kB", "210000kB"]
PAIRS = ["2", "5", "10", "25", "50"]
SWEEPS = {"rate": RATES, "delay": DELAYS, "size": SIZES}
"""The factors that vary without random loss, with their levels."""


def lines(tables: Tables, experiment: str, factor: str, levels: list[str], of: str, to: str) -> Comparison:
    """Completion times of two protocols along one factor, the others at the centre."""
    over = {**CENTRE, factor: levels}
    if experiment == "dumbbell":
        over = {**CENTRE, "pairs": ["2"], factor: levels}
    return compare(tables, experiment, "completion_time", "protocol", of, to, over=over)


def lossless(tables: Tables, of: str, to: str) -> Comparison:
    """Completion times point to point over all treatments without random loss."""
    parts = [lines(tables, "point-to-point", factor, levels, of, to) for factor, levels in SWEEPS.items()]
    # The centre lies on every line and counts once.
    seen: dict[tuple[str, ...], NDArray[np.float64]] = {}
    for part in parts:
        for cell, row in zip(part.cells, part.matrix, strict=True):
            seen.setdefault(tuple(cell[name] for name in CENTRE), row)
    first = parts[0]
    treatments = tuple(dict(zip(CENTRE, key, strict=True)) for key in seen)
    return Comparison(first.metric, first.of, first.to, treatments, np.array(list(seen.values())))


@claim(
    "Point to point and without loss QUIC finishes before every TCP variant, and its lead grows with the bytes moved.",
    source="section 10",
    whose=PAPER,
)
def before_every_tcp(tables: Tables) -> Verdict:
    """For each QUIC and every TCP variant, QUIC's completion time must be ahead in the geometric mean over all
    treatments without random loss. The lead grows if, against TCP CUBIC, the ratio QUIC ÷ TCP at 10 000 and at
    210 000 kB is smaller than at 10 kB."""
    parts = []
    for quic in QUICS:
        found = {tcp: lossless(tables, quic, tcp).pooled() for tcp in TCPS}
        fastest = max(found, key=lambda tcp: found[tcp].value)
        metric = lossless(tables, quic, fastest).metric
        parts.append(ahead(f"{quic} ÷ {fastest}, the fastest of {len(TCPS)} TCPs", found[fastest], metric))
        sizes = lines(tables, "point-to-point", "size", SIZES, quic, CUBIC)
        small = sizes.within({"size": ["10kB"]})
        for size in ("10000kB", "210000kB"):
            change = small.minus(sizes.within({"size": [size]}))
            name = f"{quic} ÷ {CUBIC}: the ratio at 10 kB ÷ that at {quantities.text(size)}"
            parts.append(exceeds(name, change, 1.0))
    return all_of(*parts)


@claim("QUIC's curve has the shape of TCP CUBIC's, the algorithm being the same.", source="section 10", whose=PAPER)
def shape_of_cubic(tables: Tables) -> Verdict:
    """How unlike the shapes of two curves are, the standard deviation of the log ratio over the treatments without
    random loss tells, whatever their distance. It must be smaller against TCP CUBIC than against each other variant,
    or alike to the smallest: no variant's may be smaller by more than 0.02."""
    parts = []
    for quic in QUICS:
        spread = {tcp: lossless(tables, quic, tcp).matrix.std(axis=0) for tcp in TCPS}
        others = {tcp: mean(values - spread[CUBIC] + 0.02) for tcp, values in spread.items() if tcp != CUBIC}
        nearest = min(others, key=lambda tcp: others[tcp].value)
        what = f"{quic}: how much farther the shape of {nearest} is than CUBIC's, 0.02 added"
        parts.append(exceeds(what, others[nearest], 0.0, "±"))
        parts.append(remark(f"{quic}: standard deviation against {CUBIC}", f"{spread[CUBIC].mean():.3f}"))
    return all_of(*parts)


@claim(
    "At about 1 % loss QUIC's transfer time is about 10 times shorter than TCP's.",
    source="section 10",
    whose=PAPER,
    paper="about 10 times",
)
def ten_times_shorter(tables: Tables) -> Verdict:
    """At the centre with 1 % loss, TCP CUBIC's completion time must be at least 5 times that of each QUIC: ten times,
    to a factor of two."""
    parts = []
    for quic in QUICS:
        found = lines(tables, "point-to-point", "loss", ["1%"], CUBIC, quic)
        parts.append(exceeds(f"{CUBIC} ÷ {quic} at 1 % loss", found.pooled(), 5.0))
        others = {tcp: lines(tables, "point-to-point", "loss", ["1%"], tcp, quic).pooled().value for tcp in TCPS}
        slowest, fastest = max(others, key=others.__getitem__), min(others, key=others.__getitem__)
        told = f"from {others[fastest]:.2f} ({fastest}) to {others[slowest]:.2f} ({slowest})"
        parts.append(remark(f"TCP variants ÷ {quic} at 1 % loss", told))
    return all_of(*parts)


def order(tables: Tables, experiment: str, over: dict[str, list[str]]) -> list[float]:
    """Mean completion times of all protocols at one treatment."""
    values = tables.values(experiment, "completion_time", {**over, "protocol": [*QUICS, *TCPS]})
    _, matrix = complete(tables, experiment, values, {"protocol": [*QUICS, *TCPS], **over})
    means: list[float] = matrix.mean(axis=1).tolist()
    return means


@claim("The orderings found point to point hold on the dumbbell, for 4 to 100 hosts.", source="section 10", whose=PAPER)
def orderings_hold(tables: Tables) -> Verdict:
    """At the centre and for each number of hosts, the protocols' order by completion time must be that found point to
    point, to a rank correlation (Spearman) of 0.8, and each QUIC's completion time must be ahead of TCP CUBIC's."""
    alone = order(tables, "point-to-point", CENTRE)
    parts = []
    ranks = {}
    for pairs in PAIRS:
        found = order(tables, "dumbbell", {**CENTRE, "pairs": [pairs]})
        ranks[f"{2 * int(pairs)} hosts"] = float(spearmanr(alone, found).statistic)
    told = ", ".join(f"{value:.2f} ({hosts})" for hosts, value in ranks.items())
    high = sum(value >= 0.8 for value in ranks.values())
    parts.append(
        cells(f"Numbers of hosts with a rank correlation of 0.8: {told}", high, len(ranks) - high, len(ranks), 1)
    )
    for quic in QUICS:
        found_hosts = lines(tables, "dumbbell", "pairs", PAIRS, quic, CUBIC)
        sides = standings(found_hosts)
        yes, no = sides.count("of"), sides.count("to") + sides.count("alike")
        parts.append(cells(f"Numbers of hosts with {quic} ahead of {CUBIC}", yes, no, len(sides), 1.0))
        parts.append(remark(f"{quic} ÷ {CUBIC}, geometric mean", reading(found_hosts.pooled(), found_hosts.metric)))
    return all_of(*parts)


def jain(tables: Tables, experiment: str, over: dict[str, list[str]]) -> Interval:
    """Jain's index, the mean over treatments; its interval over replications."""
    _, matrix = complete(tables, experiment, tables.values(experiment, "fairness", over), over)
    return mean(matrix.mean(axis=0))


@claim(
    "Flows of the same protocol share fairly: Jain's index near 1.", source="section 10", whose=PAPER, paper="near 1"
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
    for name in [*QUICS, CUBIC]:
        long = {"mix": [f"{name} beside itself"], "rate": ["5Mbit/s", "50Mbit/s"], "queue": ["0.5bdp", "1bdp", "4bdp"]}
        parts.append(exceeds(f"Jain's index, two endless flows, {name}", jain(tables, "long", long), 0.95))
    return all_of(*parts)


def advantage(tables: Tables, experiment: str, where: dict[str, str], first: str, second: str) -> Interval:
    """The mean goodput of one protocol's flows over that of the other's in the same run: a geometric mean."""
    runs = tables.experiment_runs(experiment).filter(pl.col("status") == "ok")
    for factor, level in where.items():
        runs = runs.filter(pl.col(factor) == level)
    flows = tables.flows.join(runs.select("run_id"), on="run_id")
    wide = flows.group_by("run_id", "replication").agg(
        of=pl.col("goodput_bps").filter(pl.col("contender") == first).mean(),
        to=pl.col("goodput_bps").filter(pl.col("contender") == second).mean(),
    )
    ratios = wide.drop_nulls().with_columns(log=(pl.col("of") / pl.col("to")).log())
    by_replication = ratios.group_by("replication", maintain_order=True).agg(pl.col("log").mean()).sort("replication")
    if by_replication.height < 2:
        raise MissingDataError(f"{few(by_replication.height)} of {first} beside {second} in {experiment}")
    found = mean(by_replication["log"].to_numpy())
    low, high = (None if end is None else float(np.exp(end)) for end in (found.low, found.high))
    return replace(found, value=float(np.exp(found.value)), low=low, high=high)


@claim(
    "QUIC against TCP CUBIC is unfair: QUIC's mean receive rate is 3.6 times TCP's for 100 KB.",
    source="section 10",
    whose=PAPER,
    paper="3.6 times",
)
def unfair_between(tables: Tables) -> Verdict:
    """On the dumbbell with 4 hosts and 100 kB objects, each QUIC's mean goodput must be more than 2.4 times that of the
    TCP CUBIC flow beside it: 3.6 times, to a factor of 1.5."""
    parts = []
    for quic in QUICS:
        for size, decides in (("100kB", True), ("10000kB", False)):
            found = advantage(tables, "sharing", {"first": quic, "size": size, "pairs": "2"}, quic, CUBIC)
            part = exceeds(f"Goodput, {quic} ÷ {CUBIC} beside it, {quantities.text(size)}", found, 2.4)
            parts.append(part if decides else remark(part.what, part.numbers))
    return all_of(*parts)


@claim(
    "External check: QUIC beats TCP CUBIC in nearly every setting, is fair to itself, and takes more than twice its "
    "share against TCP CUBIC.",
    source="IMC 2017, as section 10 of Camarinha 2018 has it",
    whose="Kakhki et al. 2017",
    paper="more than twice its share",
)
def external_check(tables: Tables) -> Verdict:
    """For each QUIC: it must be ahead of TCP CUBIC in nine of ten treatments point to point; two endless flows of it
    must have a Jain's index above 0.95; and beside an endless flow of TCP CUBIC its goodput must be more than twice
    that flow's, in the geometric mean over rates and queues."""
    parts: list[Evidence] = []
    for quic in QUICS:
        sides = [
            side
            for factor, levels in {**SWEEPS, "loss": LOSSES}.items()
            for side in standings(lines(tables, "point-to-point", factor, levels, quic, CUBIC))
        ]
        yes, no = sides.count("of"), sides.count("to") + sides.count("alike")
        parts.append(cells(f"Treatments with {quic} ahead of {CUBIC}", yes, no, len(sides), 0.9))
        long = {"mix": [f"{quic} beside itself"], "rate": ["5Mbit/s", "50Mbit/s"], "queue": ["0.5bdp", "1bdp", "4bdp"]}
        parts.append(exceeds(f"Jain's index, two endless flows, {quic}", jain(tables, "long", long), 0.95))
        share = advantage(tables, "long", {"mix": f"{quic} beside {CUBIC}"}, quic, CUBIC)
        parts.append(exceeds(f"Goodput of endless flows, {quic} ÷ {CUBIC} beside it", share, 2.0))
        for queue in ("0.5bdp", "4bdp"):
            part = advantage(tables, "long", {"mix": f"{quic} beside {CUBIC}", "queue": queue}, quic, CUBIC)
            parts.append(remark(f"The same with a queue of {queue}", exceeds("", part, 2.0).numbers))
    return all_of(*parts)


@answer
def in_short(tables: Tables) -> list[str]:
    """Where QUIC stands in the family, and what a production stack adds to the model."""
    clean = [lossless(tables, quic, CUBIC).pooled().value for quic in QUICS]
    worse = [lines(tables, "point-to-point", "loss", ["1%"], quic, CUBIC).pooled().value for quic in QUICS]
    sentences = [
        f"Point to point and without loss the three QUICs take {min(clean):.2f} to {max(clean):.2f} times as long as "
        f"TCP CUBIC, at 1 % loss {min(worse):.2f} to {max(worse):.2f} times."
    ]
    for quic in QUICS:
        alone = lossless(tables, quic, CUBIC)
        lossy = lines(tables, "point-to-point", "loss", ["1%"], quic, CUBIC)
        sentences.append(
            f"Point to point and without loss {quic} takes {reading(alone.pooled(), alone.metric)} times as long as "
            f"TCP CUBIC, at 1 % loss {reading(lossy.pooled(), lossy.metric)} times."
        )
    pairs = [(of, to, lossless(tables, of, to).pooled().value) for of, to in itertools.combinations(QUICS, 2)]
    told = "; ".join(f"{of} ÷ {to}: {value:.3f}" for of, to, value in pairs)
    sentences.append(f"The three QUICs among themselves, completion times without loss: {told}.")
    return sentences


@value
def model_to_stack(tables: Tables) -> dict[str, Interval]:
    """The model's completion times over those of each stack: without loss, at 10 % loss, and of noq's with 10 kB to the
    model's."""
    model, quinn, noq = QUICS
    lossy = {
        f"{name}_lossy": lines(tables, "point-to-point", "loss", ["10%"], model, stack).pooled()
        for name, stack in (("quinn", quinn), ("noq", noq))
    }
    return {
        "quinn": lossless(tables, model, quinn).pooled(),
        "noq": lossless(tables, model, noq).without({"size": ["10kB"]}).pooled(),
        "noq_small": lines(tables, "point-to-point", "size", ["10kB"], noq, model).pooled(),
        **lossy,
    }


@value
def beside_cubic_with_a_long_queue(tables: Tables) -> dict[str, Interval]:
    """The goodput of an endless flow of each QUIC over that of TCP CUBIC beside it, with four BDPs of queue."""
    return {
        name: advantage(tables, "long", {"mix": f"{quic} beside {CUBIC}", "queue": "4bdp"}, quic, CUBIC)
        for name, quic in zip(("model", "quinn", "noq"), QUICS, strict=True)
    }
