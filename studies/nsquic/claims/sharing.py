"""QUIC beside TCP."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import polars as pl

from haltere.claims import (
    Evidence,
    MissingDataError,
    Verdict,
    all_of,
    cells,
    claim,
    exceeds,
    few,
    reading_of,
    remark,
    standings,
)
from haltere.metrics import quantities
from haltere.metrics.tables import Tables
from haltere.stats import Interval, mean
from haltere.stats.intervals import together

from .contenders import (
    CUBIC,
    GOOGLE,
    LOSSES,
    OLD_CUBIC,
    PAPER,
    QUICS,
    SUMMARY,
    SWEEPS,
    UNSET_CUBIC,
    counted,
    lines,
)
from .dumbbell import jain_of_two


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


def of_100_kb(tables: Tables, mix: str) -> Interval:
    """QUIC's goodput over that of TCP CUBIC beside it with 100 kB, at the centre."""
    where = {"mix": mix, "rate": "100Mbit/s", "delay": "50ms", "queue": "1bdp"}
    return advantage(tables, "beside", where, "QUIC", "TCP")


def share_of_100_kb(tables: Tables, mix: str) -> list[Evidence]:
    """QUIC's goodput over that of TCP beside it with 100 kB: at the centre, which decides, and over rates, delays and
    queues."""
    found = {}
    treatments = list(itertools.product(*BESIDE.values()))
    for levels in treatments:
        where = {"mix": mix, **dict(zip(BESIDE, levels, strict=True))}
        found[levels] = advantage(tables, "beside", where, "QUIC", "TCP", among=len(treatments))
    parts = [
        exceeds(f"Goodput, {mix}, 100 kB", of_100_kb(tables, mix), 2.4),
        counted(f"Treatments with more than 2.4 times, {mix}", list(found.values()), 2.4),
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
        parts.append(exceeds(f"Jain's index, two endless flows, {quic}", jain_of_two(tables, quic), 0.95))
        share = advantage(tables, "long", {"mix": f"{quic} beside {CUBIC}"}, quic, CUBIC)
        parts.append(exceeds(f"Goodput of endless flows, {quic} ÷ {CUBIC} beside it", share, 2.0))
        for queue in ("0.5bdp", "4bdp"):
            part = advantage(tables, "long", {"mix": f"{quic} beside {CUBIC}", "queue": queue}, quic, CUBIC)
            parts.append(remark(f"With a queue of {queue}, {quic}", exceeds("", part, 2.0).numbers))
    return all_of(*parts)
