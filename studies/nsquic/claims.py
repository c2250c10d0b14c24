"""The claims of the nsQUIC study, each judged from the results by a rule that was fixed before there were any.

The rules of claims that were added later were written after trials of a few replications, before their campaign.

The dissertation had one QUIC, a production stack. Here there are three: the model, quinn and noq, all with CUBIC. A
sentence about QUIC holds if it holds for each of them. Claims whose name ends with `_2017` are judged again with the
stacks of the dissertation's time, as far as switches say them (experiment `era`); those with `_defaults` with the
segments and buffers that ns-3 has unless a script sets them. Ratios are geometric means over
treatments, compared within each replication; intervals are at 95 % over replications; ratios within ±5 % are alike
(Jain's index: ±0.01).

Of the dissertation the text at hand is a summary by another author. `SUMMARY` says where in it a claim stands.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import NamedTuple

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
    between,
    cells,
    claim,
    exceeds,
    few,
    reading,
    reading_of,
    remark,
    standings,
    value,
)
from haltere.claims.comparison import Comparison, compare, complete
from haltere.metrics import quantities
from haltere.metrics.tables import Tables
from haltere.stats import Interval, mean
from haltere.stats.intervals import together

PAPER = "Camarinha 2018"
SUMMARY = "the dissertation, as in Cardozo's summary"
QUICS = ["quic@model/cubic", "quic@quinn/cubic", "quic@noq/cubic"]
CUBIC = "tcp/cubic"
TCPS = [
    "tcp/newreno", CUBIC, "tcp/bic", "tcp/vegas", "tcp/westwood", "tcp/veno", "tcp/highspeed", "tcp/hybla",
    "tcp/illinois", "tcp/htcp", "tcp/scalable", "tcp/yeah", "tcp/ledbat", "tcp/bbr",
]  # fmt: skip
GOOGLE = "Google QUIC 2017"
OLD_TCPS = [
    "NewReno 2017", "CUBIC 2017", "BIC 2017", "Vegas 2017", "Westwood+ 2017", "Veno 2017", "HighSpeed 2017",
    "Hybla 2017", "Illinois 2017", "H-TCP 2017", "Scalable 2017", "YeAH 2017", "LEDBAT 2017",
]  # fmt: skip
OLD_CUBIC = "CUBIC 2017"
UNSET_NEWRENO, UNSET_CUBIC = (f"{name}, ns-3's defaults" for name in ("NewReno 2017", OLD_CUBIC))
CENTRE = {"rate": ["100Mbit/s"], "delay": ["50ms"], "loss": ["0%"], "size": ["1000kB"]}
RATES = ["5Mbit/s", "10Mbit/s", "50Mbit/s", "100Mbit/s", "500Mbit/s", "1Gbit/s"]
DELAYS = ["10ms", "50ms", "100ms", "150ms", "200ms"]
LOSSES = ["0%", "0.01%", "0.1%", "1%", "10%"]
SIZES = ["10kB", "100kB", "200kB", "500kB", "1000kB", "10000kB", "210000kB"]
PAIRS = ["2", "5", "10", "25", "50"]
SWEEPS = {"rate": RATES, "delay": DELAYS, "size": SIZES}
"""The factors that vary without random loss, with their levels."""
SHORT = ["10kB", "100kB", "200kB", "500kB"]
LONG = ["10000kB", "210000kB"]
QUEUES = ["100p", "0.25bdp", "4bdp"]


class Family(NamedTuple):
    """The contenders of one time, the experiment in which they meet, and the sizes of objects there."""

    experiment: str
    quics: list[str]
    tcps: list[str]
    cubic: str
    newreno: str
    sizes: list[str]

    @property
    def long(self) -> list[str]:
        """The sizes of long objects."""
        return [size for size in LONG if size in self.sizes]


TODAY = Family("point-to-point", QUICS, TCPS, CUBIC, "tcp/newreno", SIZES)
OF_2017 = Family("era", [GOOGLE], OLD_TCPS, OLD_CUBIC, "NewReno 2017", SIZES[:-1])


def lines(tables: Tables, experiment: str, factor: str, levels: list[str], of: str, to: str) -> Comparison:
    """Completion times of two protocols along one factor, the others at the centre."""
    over = {**CENTRE, factor: levels}
    if experiment == "dumbbell":
        over = {**CENTRE, "pairs": ["2"], factor: levels}
    return compare(tables, experiment, "completion_time", "protocol", of, to, over=over)


def lossless(tables: Tables, of: str, to: str, family: Family = TODAY) -> Comparison:
    """Completion times point to point over all treatments without random loss."""
    sweeps = {**SWEEPS, "size": family.sizes}
    parts = [lines(tables, family.experiment, factor, levels, of, to) for factor, levels in sweeps.items()]
    # The centre lies on every line and counts once.
    seen: dict[tuple[str, ...], NDArray[np.float64]] = {}
    for part in parts:
        for cell, row in zip(part.cells, part.matrix, strict=True):
            seen.setdefault(tuple(cell[name] for name in CENTRE), row)
    first = parts[0]
    treatments = tuple(dict(zip(CENTRE, key, strict=True)) for key in seen)
    return Comparison(first.metric, first.of, first.to, treatments, np.array(list(seen.values())))


def leads(tables: Tables, family: Family) -> list[Evidence]:
    """QUIC against the fastest TCP without loss, and whether its lead over TCP CUBIC grows with the size."""
    parts = []
    for quic in family.quics:
        found = {tcp: lossless(tables, quic, tcp, family).pooled() for tcp in family.tcps}
        fastest = max(found, key=lambda tcp: found[tcp].value)
        metric = lossless(tables, quic, fastest, family).metric
        parts.append(ahead(f"{quic} ÷ {fastest}, the fastest of {len(family.tcps)} TCPs", found[fastest], metric))
        sizes = lines(tables, family.experiment, "size", family.sizes, quic, family.cubic)
        small = sizes.within({"size": ["10kB"]})
        for size in family.long:
            change = small.minus(sizes.within({"size": [size]}))
            name = f"{quic} ÷ {family.cubic}: the ratio at 10 kB ÷ that at {quantities.text(size)}"
            parts.append(exceeds(name, change, 1.0))
    return parts


@claim(
    "Point to point and without loss QUIC finishes before every TCP variant, and its lead grows with the bytes moved.",
    source=f"{SUMMARY}, section 10, paragraph 1",
    whose=PAPER,
)
def before_every_tcp(tables: Tables) -> Verdict:
    """For each QUIC and every TCP variant, QUIC's completion time must be ahead in the geometric mean over all
    treatments without random loss. The lead grows if, against TCP CUBIC, the ratio QUIC ÷ TCP at 10 000 and at
    210 000 kB is smaller than at 10 kB. Other queues than the one of the centre are remarks."""
    parts = leads(tables, TODAY)
    for quic in QUICS:
        for queue in QUEUES:
            over = {"queue": [queue]}
            found = compare(tables, "queues", "completion_time", "protocol", quic, CUBIC, over=over)
            told = reading(found.pooled(), found.metric)
            parts.append(remark(f"{quic} ÷ {CUBIC}, 10 000 kB, a queue of {queue}", told))
    return all_of(*parts)


@claim(
    "With the stacks of 2017: without loss QUIC finishes before every TCP variant, and its lead grows.",
    source=f"{SUMMARY}, section 10, paragraph 1",
    whose=PAPER,
)
def before_every_tcp_2017(tables: Tables) -> Verdict:
    """As for today's stacks, with Google's QUIC of 2017 and the TCPs of ns-3 of 2017, up to 10 000 kB. Other
    queues, and TCP with the segments and buffers that ns-3 has unless a script sets them, are remarks."""
    parts = leads(tables, OF_2017)
    for queue in QUEUES:
        found = compare(tables, "queues", "completion_time", "protocol", GOOGLE, OLD_CUBIC, over={"queue": [queue]})
        told = reading(found.pooled(), found.metric)
        parts.append(remark(f"{GOOGLE} ÷ {OLD_CUBIC}, 10 000 kB, a queue of {queue}", told))
    for tcp in (UNSET_NEWRENO, UNSET_CUBIC):
        sizes = lines(tables, "era", "size", OF_2017.sizes, GOOGLE, tcp)
        for size in ("10kB", "1000kB", "10000kB"):
            told = reading(sizes.within({"size": [size]}).pooled(), sizes.metric)
            parts.append(remark(f"{GOOGLE} ÷ {tcp}, {quantities.text(size)}", told))
    return all_of(*parts)


@claim(
    "QUIC's curve has the shape of TCP CUBIC's, the algorithm being the same.",
    source=f"{SUMMARY}, section 10, paragraph 1",
    whose=PAPER,
)
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


def nearer_the_limit(tables: Tables, family: Family) -> list[Evidence]:
    """Long objects: TCP CUBIC's completion time over QUIC's, and what share of the link's rate QUIC's goodput is."""
    parts = []
    for quic in family.quics:
        found = lines(tables, family.experiment, "size", family.long, quic, family.cubic)
        sizes = " and ".join(quantities.text(size) for size in family.long)
        parts.append(ahead(f"Completion time, {quic} ÷ {family.cubic}, {sizes}", found.pooled(), found.metric))
        over = {**CENTRE, "size": family.long}
        for name in (quic, family.cubic):
            values = tables.values(family.experiment, "goodput", {**over, "protocol": [name]})
            _, matrix = complete(tables, family.experiment, values, over)
            parts.append(remark(f"Goodput of {name}, {sizes}", f"{matrix.mean():.1f} of 100 Mbit/s"))
    return parts


@claim(
    "QUIC opens its window more aggressively than TCP CUBIC and runs closer to the link's limit.",
    source=f"{SUMMARY}, section 10, paragraph 1",
    whose=PAPER,
)
def closer_to_the_limit(tables: Tables) -> Verdict:
    """Objects of 10 000 and 210 000 kB at the centre, which are long enough to meet the limit: the completion time of
    each QUIC must be ahead of TCP CUBIC's."""
    return all_of(*nearer_the_limit(tables, TODAY))


@claim(
    "With the stacks of 2017: QUIC runs closer to the link's limit than TCP CUBIC.",
    source=f"{SUMMARY}, section 10, paragraph 1",
    whose=PAPER,
)
def closer_to_the_limit_2017(tables: Tables) -> Verdict:
    """As for today's stacks, with Google's QUIC of 2017 and the TCP CUBIC of ns-3 of 2017, at 10 000 kB."""
    return all_of(*nearer_the_limit(tables, OF_2017))


def sooner_when_short(tables: Tables, family: Family) -> list[Evidence]:
    """Objects of 10 to 500 kB at the centre: QUIC's completion time over those of NewReno and CUBIC."""
    parts = []
    for quic in family.quics:
        for tcp in (family.newreno, family.cubic):
            found = lines(tables, family.experiment, "size", SHORT, quic, tcp)
            parts.append(ahead(f"Completion time, {quic} ÷ {tcp}, 10 to 500 kB", found.pooled(), found.metric))
    return parts


@claim(
    "In shorter transfers QUIC uses the link better than traditional TCP, as it gets to higher rates sooner.",
    source=f"{SUMMARY}, section 10, paragraph 2",
    whose=PAPER,
)
def short_transfers(tables: Tables) -> Verdict:
    """Shorter transfers have 10 to 500 kB, traditional TCP is NewReno and CUBIC: at the centre the completion time of
    each QUIC must be ahead of each of both in the geometric mean over these sizes."""
    return all_of(*sooner_when_short(tables, TODAY))


@claim(
    "With the stacks of 2017: in shorter transfers QUIC uses the link better than traditional TCP.",
    source=f"{SUMMARY}, section 10, paragraph 2",
    whose=PAPER,
)
def short_transfers_2017(tables: Tables) -> Verdict:
    """As for today's stacks, with Google's QUIC of 2017 and the TCPs of ns-3 of 2017."""
    return all_of(*sooner_when_short(tables, OF_2017))


LOSSY = {"rate": ["10Mbit/s", "100Mbit/s"], "delay": ["10ms", "50ms", "200ms"], "size": ["100kB", "1000kB", "10000kB"]}


def under_loss(tables: Tables, tcp: str, quic: str) -> list[Evidence]:
    """TCP's completion times over QUIC's at 1 % loss: at the centre, which decides, and over what may vary."""
    found = compare(tables, "lossy", "completion_time", "protocol", tcp, quic, over=LOSSY)
    centre = found.within({"rate": CENTRE["rate"], "delay": CENTRE["delay"], "size": CENTRE["size"]})
    each = found.each()
    yes = sum(one.low is not None and one.low > 5 for one in each)
    no = sum(one.high is not None and one.high < 5 for one in each)
    most = max(range(len(each)), key=lambda at: each[at].value)
    where = ", ".join(quantities.text(level) for level in found.cells[most].values())
    counted = cells(f"Treatments with 1 % loss where {tcp} takes 5 times the time of {quic}", yes, no, len(each), 1.0)
    return [
        exceeds(f"{tcp} ÷ {quic} at 1 % loss", centre.pooled(), 5.0),
        remark(counted.what, counted.numbers),
        remark(f"{tcp} ÷ {quic}, geometric mean over these treatments", reading(found.pooled(), found.metric)),
        remark(f"{tcp} ÷ {quic}, at most, at {where}", reading(each[most], found.metric)),
    ]


@claim(
    "At about 1 % loss QUIC's transfer time is about 10 times shorter than TCP's.",
    source=f"{SUMMARY}, section 10, paragraph 2",
    whose=PAPER,
    paper="10 times",
)
def ten_times_shorter(tables: Tables) -> Verdict:
    """At the centre with 1 % loss, TCP CUBIC's completion time must be at least 5 times that of each QUIC: ten times,
    to a factor of two. The summary does not say at which rate, delay and size: over two, three and three of these it
    is counted where the same holds."""
    parts = []
    for quic in QUICS:
        parts += under_loss(tables, CUBIC, quic)
        others = {tcp: lines(tables, "point-to-point", "loss", ["1%"], tcp, quic).pooled().value for tcp in TCPS}
        slowest, fastest = max(others, key=others.__getitem__), min(others, key=others.__getitem__)
        told = f"from {others[fastest]:.2f} ({fastest}) to {others[slowest]:.2f} ({slowest})"
        parts.append(remark(f"TCP variants ÷ {quic} at 1 % loss", told))
    return all_of(*parts)


@claim(
    "With the stacks of 2017: at about 1 % loss QUIC's transfer time is about 10 times shorter than TCP's.",
    source=f"{SUMMARY}, section 10, paragraph 2",
    whose=PAPER,
    paper="10 times",
)
def ten_times_shorter_2017(tables: Tables) -> Verdict:
    """As for today's stacks, with Google's QUIC of 2017 and the CUBIC and NewReno of ns-3 of 2017."""
    parts = [*under_loss(tables, OLD_CUBIC, GOOGLE), *under_loss(tables, OF_2017.newreno, GOOGLE)]
    others = {tcp: lines(tables, "era", "loss", ["1%"], tcp, GOOGLE).pooled().value for tcp in OLD_TCPS}
    slowest, fastest = max(others, key=others.__getitem__), min(others, key=others.__getitem__)
    told = f"from {others[fastest]:.2f} ({fastest}) to {others[slowest]:.2f} ({slowest})"
    return all_of(*parts, remark(f"TCP variants ÷ {GOOGLE} at the centre with 1 % loss", told))


@claim(
    "With the stacks of 2017 and ns-3's defaults: at about 1 % loss QUIC's transfer time is about 10 times shorter.",
    source=f"{SUMMARY}, section 10, paragraph 2",
    whose=PAPER,
    paper="10 times",
)
def ten_times_shorter_defaults(tables: Tables) -> Verdict:
    """As with the stacks of 2017, TCP with segments of 536 bytes and buffers of 128 KiB."""
    return all_of(*under_loss(tables, UNSET_CUBIC, GOOGLE), *under_loss(tables, UNSET_NEWRENO, GOOGLE))


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
    for name in [*QUICS, CUBIC]:
        long = {"mix": [f"{name} beside itself"], "rate": ["5Mbit/s", "50Mbit/s"], "queue": ["0.5bdp", "1bdp", "4bdp"]}
        parts.append(exceeds(f"Jain's index, two endless flows, {name}", jain(tables, "long", long), 0.95))
    return all_of(*parts)


def advantage(
    tables: Tables, experiment: str, where: dict[str, str], first: str, second: str, *, among: int = 1
) -> Interval:
    """The mean goodput of one protocol's flows over that of the other's in the same run: a geometric mean.

    Its interval holds together with those of `among` others.
    """
    runs = tables.experiment_runs(experiment).filter(pl.col("status") == "ok")
    for factor, level in where.items():
        runs = runs.filter(pl.col(factor) == level)
    name = "label" if experiment == "beside" else "contender"
    flows = tables.flows.join(runs.select("run_id"), on="run_id")
    wide = flows.group_by("run_id", "replication").agg(
        of=pl.col("goodput_bps").filter(pl.col(name) == first).mean(),
        to=pl.col("goodput_bps").filter(pl.col(name) == second).mean(),
    )
    ratios = wide.drop_nulls().with_columns(log=(pl.col("of") / pl.col("to")).log())
    by_replication = ratios.group_by("replication", maintain_order=True).agg(pl.col("log").mean()).sort("replication")
    if by_replication.height < 2:
        raise MissingDataError(f"{few(by_replication.height)} of {first} beside {second} in {experiment}")
    found = mean(by_replication["log"].to_numpy(), together(among))
    low, high = (None if end is None else float(np.exp(end)) for end in (found.low, found.high))
    return replace(found, value=float(np.exp(found.value)), low=low, high=high)


BESIDE = {
    "rate": ["5Mbit/s", "10Mbit/s", "100Mbit/s", "1Gbit/s"],
    "delay": ["10ms", "50ms", "200ms"],
    "queue": ["100p", "1bdp"],
}


def share_of_100_kb(tables: Tables, mix: str) -> list[Evidence]:
    """QUIC's goodput over that of TCP beside it with 100 kB: at the centre, which decides, and over rates, delays and
    queues."""
    found = {}
    treatments = list(itertools.product(*BESIDE.values()))
    for levels in treatments:
        where = {"mix": mix, **dict(zip(BESIDE, levels, strict=True))}
        found[levels] = advantage(tables, "beside", where, "QUIC", "TCP", among=len(treatments))
    centre = {"mix": mix, "rate": "100Mbit/s", "delay": "50ms", "queue": "1bdp"}
    yes = sum(one.low is not None and one.low > 2.4 for one in found.values())
    no = sum(one.high is not None and one.high <= 2.4 for one in found.values())
    counted = cells(f"Treatments with more than 2.4 times, {mix}", yes, no, len(found), 1.0)
    parts = [
        exceeds(f"Goodput, {mix}, 100 kB", advantage(tables, "beside", centre, "QUIC", "TCP"), 2.4),
        remark(counted.what, counted.numbers),
    ]
    for word, best in (("least", min), ("most", max)):
        at = best(found, key=lambda levels: found[levels].value)
        where_text = ", ".join([*(quantities.text(level) for level in at[:2]), f"queue {at[2]}"])
        parts.append(remark(f"The {word}, {mix}, at {where_text}", reading_of(found[at])))
    return parts


@claim(
    "QUIC against TCP CUBIC is unfair: QUIC's mean receive rate is 3.6 times TCP's for 100 KB.",
    source=f"{SUMMARY}, section 10, paragraph 5",
    whose=PAPER,
    paper="3.6 times",
)
def unfair_between(tables: Tables) -> Verdict:
    """On the dumbbell with 4 hosts and 100 kB objects, each QUIC's mean goodput must be more than 2.4 times that of the
    TCP CUBIC flow beside it: 3.6 times, to a factor of 1.5. The summary does not say at which rate, delay and queue:
    over four, three and two of these it is counted where the same holds."""
    parts = []
    for quic in QUICS:
        parts += share_of_100_kb(tables, f"{quic} beside {CUBIC}")
        for size in ("1000kB", "10000kB"):
            found = advantage(tables, "sharing", {"first": quic, "size": size, "pairs": "2"}, quic, CUBIC)
            parts.append(remark(f"Goodput, {quic} beside {CUBIC}, {quantities.text(size)}", reading_of(found)))
    return all_of(*parts)


@claim(
    "With the stacks of 2017: beside TCP CUBIC QUIC's mean receive rate is 3.6 times TCP's for 100 KB.",
    source=f"{SUMMARY}, section 10, paragraph 5",
    whose=PAPER,
    paper="3.6 times",
)
def unfair_between_2017(tables: Tables) -> Verdict:
    """As for today's stacks, with Google's QUIC of 2017 beside the TCP CUBIC of ns-3 of 2017."""
    return all_of(*share_of_100_kb(tables, f"{GOOGLE} beside {OLD_CUBIC}"))


@claim(
    "With the stacks of 2017 and ns-3's defaults: QUIC's mean receive rate is 3.6 times TCP CUBIC's for 100 KB.",
    source=f"{SUMMARY}, section 10, paragraph 5",
    whose=PAPER,
    paper="3.6 times",
)
def unfair_between_defaults(tables: Tables) -> Verdict:
    """As with the stacks of 2017, TCP with segments of 536 bytes and buffers of 128 KiB."""
    return all_of(*share_of_100_kb(tables, f"{GOOGLE} beside {UNSET_CUBIC}"))


@claim(
    "External check: QUIC beats TCP CUBIC in nearly every setting, is fair to itself, and takes more than twice its "
    "share against TCP CUBIC.",
    source="Taking a long look at QUIC, IMC 2017, as in Cardozo's summary, section 10, paragraph 6",
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
            parts.append(remark(f"With a queue of {queue}, {quic}", exceeds("", part, 2.0).numbers))
    return all_of(*parts)


@claim(
    "Without 0-RTT, which the module lacks, QUIC's lead over TCP may be underestimated.",
    source=f"{SUMMARY}, section 11",
    whose=PAPER,
)
def zero_rtt_would_help(tables: Tables) -> Verdict:
    """At the centre without loss the completion time of each QUIC with 0-RTT must be ahead of that without it, in the
    geometric mean over six sizes from 10 to 10 000 kB."""
    sizes = SIZES[:-1]
    parts = []
    for quic in QUICS:
        early = f"{quic}+0rtt"
        found = compare(tables, "resumed", "completion_time", "protocol", early, quic, over={"size": sizes})
        parts.append(ahead(f"Completion time, {early} ÷ {quic}, 10 to 10 000 kB", found.pooled(), found.metric))
        for rival in (CUBIC, f"{CUBIC}+tfo"):
            found = compare(tables, "resumed", "completion_time", "protocol", early, rival, over={"size": sizes})
            parts.append(remark(f"{early} ÷ {rival}, 10 to 10 000 kB", reading(found.pooled(), found.metric)))
    return all_of(*parts)


STEPS = {
    "TLS 1.2 after TCP's handshake": ("tcp, TLS 1.2", "tcp", 2),
    "A ticket, TLS 1.2": ("tcp, TLS 1.2 with a ticket", "tcp, TLS 1.2", -1),
    "TCP Fast Open": ("tcp, TLS 1.2 with a ticket, Fast Open", "tcp, TLS 1.2 with a ticket", -1),
}
"""Openings against others, and by how many round trips they differ."""


@claim(
    "TLS takes two round trips after TCP's handshake; a ticket saves one, TCP Fast Open another.",
    source=f"{SUMMARY}, section 4.1",
    whose=PAPER,
    paper="2 RTTs, 1 RTT less",
)
def round_trips_of_handshakes(tables: Tables) -> Verdict:
    """Over five delays, the change of the set-up time in round trips must be the stated one to 0.1. TLS is
    that of the summary's time, version 1.2."""
    trips = {delay: 2 * float(delay.removesuffix("ms")) for delay in DELAYS}
    found = {}
    for name in dict.fromkeys(name for of, to, _ in STEPS.values() for name in (of, to)):
        values = tables.values("handshakes", "setup_time", {"opening": [name], "delay": DELAYS})
        _, matrix = complete(tables, "handshakes", values, {"delay": DELAYS})
        found[name] = matrix / np.array(list(trips.values()))[:, None]
    parts = [
        between(f"{what}: round trips", mean((found[of] - found[to]).mean(axis=0)), trip - 0.1, trip + 0.1, "±")
        for what, (of, to, trip) in STEPS.items()
    ]
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


LABELS = {"model": QUICS[0], "quinn": QUICS[1], "noq": QUICS[2]}


def at_loss(tables: Tables, tcp: str, quic: str) -> Interval:
    """TCP's completion time over QUIC's at the centre with 1 % loss."""
    over = {name: CENTRE[name] for name in ("rate", "delay", "size")}
    return compare(tables, "lossy", "completion_time", "protocol", tcp, quic, over=over).pooled()


def of_100_kb(tables: Tables, mix: str) -> Interval:
    """QUIC's goodput over that of TCP CUBIC beside it with 100 kB, at the centre."""
    where = {"mix": mix, "rate": "100Mbit/s", "delay": "50ms", "queue": "1bdp"}
    return advantage(tables, "beside", where, "QUIC", "TCP")


def each(found: dict[str, Interval]) -> str:
    """The numbers of all QUICs, in one cell."""
    return "; ".join(f"{reading_of(one)} ({name})" for name, one in found.items())


@value
def beside_the_paper(tables: Tables) -> pl.DataFrame:
    """The numbers that the summary states, and ours: today, with the stacks of 2017, and with ns-3's defaults."""
    long = {"rate": ["5Mbit/s", "50Mbit/s"], "queue": ["0.5bdp", "1bdp", "4bdp"]}
    hosts = {**CENTRE, "pairs": PAIRS}
    names = {**LABELS, "TCP CUBIC": CUBIC}
    rows = [
        (
            "TCP CUBIC's transfer time ÷ QUIC's, 1 % loss", "10, paragraph 2", "10",
            each({name: at_loss(tables, CUBIC, quic) for name, quic in LABELS.items()}),
            reading_of(at_loss(tables, OLD_CUBIC, GOOGLE)), reading_of(at_loss(tables, UNSET_CUBIC, GOOGLE)),
        ),
        (
            "QUIC's receive rate ÷ TCP CUBIC's beside it, 100 kB", "10, paragraph 5", "3.6",
            each({name: of_100_kb(tables, f"{quic} beside {CUBIC}") for name, quic in LABELS.items()}),
            reading_of(of_100_kb(tables, f"{GOOGLE} beside {OLD_CUBIC}")),
            reading_of(of_100_kb(tables, f"{GOOGLE} beside {UNSET_CUBIC}")),
        ),
        (
            "Jain's index, flows of one protocol, 4 to 100 hosts", "10, paragraph 5", "near 1",
            each({name: jain(tables, "dumbbell", {"protocol": [one], **hosts}) for name, one in names.items()}),
            "–", "–",
        ),
        (
            "Jain's index of two endless flows of QUIC", "10, paragraph 6", "fair",
            each({
                name: jain(tables, "long", {"mix": [f"{one} beside itself"], **long}) for name, one in LABELS.items()
            }),
            "–", "–",
        ),
        (
            "QUIC's goodput ÷ TCP CUBIC's beside it, endless flows", "10, paragraph 6", "more than 2",
            each({
                name: advantage(tables, "long", {"mix": f"{one} beside {CUBIC}"}, one, CUBIC)
                for name, one in LABELS.items()
            }),
            "–", "–",
        ),
    ]  # fmt: skip
    columns = ["quantity", "section", "the paper", "here, today", "stacks of 2017", "and ns-3's defaults"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def spread(found: list[Interval]) -> str:
    """The least and the largest of some ratios: `0.72 to 0.77`."""
    values = [one.value for one in found]
    return f"{min(values):.2f} to {max(values):.2f}"


@value
def where_it_holds(tables: Tables) -> dict[str, Interval | str]:
    """The numbers of the stacks of 2017, and of queues: QUIC's completion time over TCP CUBIC's for 10 000 kB."""

    def by_queue(queue: str) -> str:
        over = {"queue": [queue]}
        pairs = [compare(tables, "queues", "completion_time", "protocol", quic, CUBIC, over=over) for quic in QUICS]
        return spread([pair.pooled() for pair in pairs])

    return {
        "loss_2017": at_loss(tables, OLD_CUBIC, GOOGLE),
        "loss_defaults": at_loss(tables, UNSET_CUBIC, GOOGLE),
        "share_2017": of_100_kb(tables, f"{GOOGLE} beside {OLD_CUBIC}"),
        "share_defaults": of_100_kb(tables, f"{GOOGLE} beside {UNSET_CUBIC}"),
        "short_queue": by_queue("100p"),
        "long_queue": by_queue("4bdp"),
    }


@value
def early_data(tables: Tables) -> pl.DataFrame:
    """Completion times with 0-RTT over those without, and of TCP CUBIC with Fast Open over those without, by size."""
    pairs = {**{name: (f"{quic}+0rtt", quic) for name, quic in LABELS.items()}, "Fast Open": (f"{CUBIC}+tfo", CUBIC)}
    rows = []
    for size in SIZES[:-1]:
        over = {"size": [size]}
        found = [compare(tables, "resumed", "completion_time", "protocol", *pair, over=over) for pair in pairs.values()]
        rows.append((quantities.text(size), *(reading(one.pooled(), one.metric) for one in found)))
    return pl.DataFrame(rows, schema=["object", *pairs], orient="row")


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
