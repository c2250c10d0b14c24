"""The ground on which the paper's statements are judged: scenarios, stacks, and statistics over them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from haltere.claims import (
    Claim,
    Evidence,
    MissingDataError,
    Outcome,
    Verdict,
    ahead,
    all_of,
    claim,
    exceeds,
    few,
    near,
    remark,
)
from haltere.claims.comparison import geometric
from haltere.metrics import METRICS, quantities
from haltere.metrics.tables import Tables
from haltere.metrics.text import significant
from haltere.stats import Interval, mean

Numbers = NDArray[np.float64]
Statistic = Callable[[Numbers], float]
Judge = Callable[["Side"], Iterable[Evidence]]
"""The parts of a verdict in one reading of the scenarios."""

MPTCP, MPQUIC, TCP, QUIC = "MPTCP", "MPQUIC", "TCP", "QUIC"
PAPER = "Lenz et al. 2019"
STACKS = ("2017", "today")
CLASSES = {"low": "lower", "high": "higher"}
READINGS: dict[str, tuple[str, ...]] = {"lower": ("low",), "higher": ("high",), "both": ("low", "high")}
"""Which scenarios the paper's numbers may be of, and the experiments that hold them."""

SIZES = ["300kB", "1MB", "20MB"]
TIME = METRICS["completion_time"]
TO = 0.15
"""How near a stated number must be met, as a share of it."""
SCENARIO = [f"{factor}_{path}" for factor in ("rate", "delay", "queuing", "loss") for path in (0, 1)]
RETRANSMITTED = pl.col("retransmitted_packets") / pl.col("sent_packets")
LOST = pl.col("dropped") / pl.col("offered")
DROPPED = pl.col("dropped")
SECONDS = pl.col("completion_s")


def label(protocol: str, stack: str) -> str:
    """The level of the factor `protocol` that stands for a protocol's stack of 2017, or of today."""
    return f"{protocol} {stack}" if stack == "2017" else protocol


class Side(NamedTuple):
    """The ground of one judgement: some of the scenarios, and the stacks of one time."""

    tables: Tables
    scenarios: str
    stack: str

    def each(self, protocol: str, size: str, what: pl.Expr, statistic: Statistic) -> Numbers:
        """A statistic over the scenarios, replication by replication."""
        found = values(self.tables, READINGS[self.scenarios], label(protocol, self.stack), size, what)
        return np.array([statistic(column) for column in found.T])

    def more(
        self, size: str, what: pl.Expr, statistic: Statistic, said: str, *, of: str, scale: float
    ) -> list[Evidence]:
        """The part "this protocol has more of it than the other"; numbers are shown times `scale`."""
        other = MPQUIC if of == MPTCP else MPTCP
        first, second = (self.each(who, size, what, statistic) * scale for who in (of, other))
        shown = f"{significant(float(first.mean()))} and {significant(float(second.mean()))}"
        return [
            exceeds(f"{said}, {self.scenarios}, {of} − {other}", mean(first - second), 0.0, "±"),
            remark(f"{of} and {other}", shown),
        ]

    def sooner(self, size: str, statistic: Statistic, said: str) -> list[Evidence]:
        """The part "MPQUIC is ahead by this statistic of the completion times"."""
        quic, tcp = (self.each(who, size, SECONDS, statistic) for who in (MPQUIC, MPTCP))
        shown = f"{significant(float(quic.mean()))} and {significant(float(tcp.mean()))}"
        return [
            ahead(f"{said}, {self.scenarios}, MPQUIC ÷ MPTCP", geometric(np.log(quic / tcp)), TIME),
            remark("MPQUIC and MPTCP, s", shown),
        ]


def values(tables: Tables, experiments: Sequence[str], protocol: str, size: str, what: pl.Expr) -> Numbers:
    """A number of every flow: a row a scenario and first path, a column a replication."""
    ended = tables.flows.filter(
        pl.col("experiment").is_in(list(experiments)),
        pl.col("protocol") == protocol,
        pl.col("size") == size,
        pl.col("status") == "ok",
    )
    if ended.is_empty():
        raise MissingDataError(f"these results hold no run of {protocol} with {quantities.text(size)}")
    if {"dropped", "missing"} & set(what.meta.root_names()):
        ended = ended.join(dropped(tables, protocol, size), on="run_id", how="left")
    keys = ["experiment", *SCENARIO, "start"]
    wide = (
        ended.with_columns(value=what.cast(pl.Float64))
        .sort(*keys, "replication")
        .pivot(on="replication", index=keys, values="value", aggregate_function="first")
        .drop(*keys)
    )
    found = wide.to_numpy().astype(np.float64)
    if found.shape[1] < 2 or not np.isfinite(found).all():
        complete = int(np.isfinite(found).all(axis=0).sum())
        raise MissingDataError(f"{few(complete)} that is whole, of {protocol} with {quantities.text(size)}")
    return found


def dropped(tables: Tables, protocol: str, size: str) -> pl.DataFrame:
    """Packets that the server sent and the client did not receive, a row a run: the paper's L = s − a.

    Packets that are still under way when the last byte arrives are no losses; `missing` counts them, too.
    """
    if tables.links.is_empty():
        raise MissingDataError("the results hold no links")
    down = tables.links.filter(pl.col("direction") == "down", pl.col("protocol") == protocol, pl.col("size") == size)
    lost = pl.sum_horizontal("dropped_queue", "dropped_loss", "dropped_early", "dropped_mtu")
    return down.group_by("run_id").agg(
        offered=pl.col("offered_packets").sum(),
        dropped=lost.sum(),
        missing=pl.col("offered_packets").sum() - pl.col("delivered_packets").sum(),
    )


def average(column: Numbers) -> float:
    return float(column.mean())


def median(column: Numbers) -> float:
    return float(np.median(column))


def longest(column: Numbers) -> float:
    return float(column.max())


def spread(column: Numbers) -> float:
    """The height of a box plot's box: from the first to the third quartile."""
    first, third = np.quantile(column, [0.25, 0.75])
    return float(third - first)


def outliers(column: Numbers) -> float:
    """How many values of a hundred lie beyond the upper whisker of a box plot: 1.5 boxes above the third quartile."""
    first, third = np.quantile(column, [0.25, 0.75])
    return 100 * float(np.count_nonzero(column > third + 1.5 * (third - first))) / column.size


def over_readings(tables: Tables, stack: str, parts: Judge) -> Verdict:
    """Judge a claim in each reading of which scenarios it is about, and say where it holds."""
    verdicts = {name: all_of(*parts(Side(tables, name, stack))) for name in READINGS}
    outcomes = {verdict.outcome for verdict in verdicts.values()}
    outcome = outcomes.pop() if len(outcomes) == 1 else Outcome.UNDECIDED
    where = {
        one: [name for name, verdict in verdicts.items() if verdict.outcome is one]
        for one in (Outcome.CONFIRMED, Outcome.CONTRADICTED, Outcome.UNDECIDED)
    }
    holds = ", ".join(where[Outcome.CONFIRMED]) or "nowhere"
    rest = [f"{one.value}: {', '.join(where[one])}" for one in list(where)[1:] if where[one]]
    first = Evidence("Holds in", "; ".join([holds, *rest]), outcome)
    # Of today's stacks, which the paper could not know, the outcome suffices: figures have their numbers.
    shown = verdicts.values() if stack == "2017" else ()
    return Verdict(outcome, (first, *(part for verdict in shown for part in verdict.evidence)))


@dataclass(frozen=True)
class Statement:
    """A sentence of the paper, and the function that judges it in one reading of the scenarios."""

    sentence: str
    source: str
    paper: str
    parts: Judge

    def claim(self, stack: str) -> Claim[Tables]:
        """Return the statement as a claim on the stacks of one time; its name ends with the time."""

        @functools.wraps(self.parts)
        def judged(tables: Tables) -> Verdict:
            return over_readings(tables, stack, self.parts)

        judged.__name__ = f"{self.parts.__name__}_{stack}"
        said = self.sentence if stack == "2017" else f"Today: {self.sentence}"
        return claim(said, source=self.source, whose=PAPER, paper=self.paper)(judged)


def of_the_paper(sentence: str, *, source: str, paper: str = "") -> Callable[[Judge], Statement]:
    """Make a statement of Lenz et al. of the function that judges it."""
    return lambda parts: Statement(sentence, source, paper, parts)


def as_stated(what: str, found: Interval, target: float, unit: str = "") -> Evidence:
    """The part "this number is within 15 % of the target"; percentages are written as they are."""
    return near(f"{what}, %", found, target, by=TO) if unit == "%" else near(what, found, target, unit, by=TO)


def ratio_of_means(of: Numbers, to: Numbers) -> Interval:
    """The ratio of two means over replications, with an interval by the delta method."""
    ratio = float(of.mean() / to.mean())
    return mean(ratio + (of - ratio * to) / float(to.mean()))


def stacks(tables: Tables) -> list[str]:
    """The stacks that these results have."""
    there = set(tables.flows["protocol"].unique())
    return [stack for stack in STACKS if label(MPQUIC, stack) in there]
