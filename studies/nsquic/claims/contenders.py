"""The contenders, the levels of the factors, and the comparisons that claims of several themes make."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from haltere.claims import Evidence, cells, remark
from haltere.claims.comparison import Comparison, compare
from haltere.metrics.tables import Tables
from haltere.stats import Interval

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
ENDLESS = {"rate": ["5Mbit/s", "50Mbit/s"], "queue": ["0.5bdp", "1bdp", "4bdp"]}
"""The conditions of two endless flows."""


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


def by_queue(tables: Tables, of: str, to: str, queue: str) -> Comparison:
    """Completion times of 10 000 kB of two protocols with one queue."""
    return compare(tables, "queues", "completion_time", "protocol", of, to, over={"queue": [queue]})


def counted(what: str, found: list[Interval], bound: float) -> Evidence:
    """How many of some treatments are above a bound, as a remark."""
    yes = sum(one.low is not None and one.low > bound for one in found)
    no = sum(one.high is not None and one.high <= bound for one in found)
    part = cells(what, yes, no, len(found), 1.0)
    return remark(part.what, part.numbers)
