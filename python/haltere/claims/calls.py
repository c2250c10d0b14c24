"""Evidence about calls: what the claims of several studies ask of real-time media, with one rule for each word.

The test cases for congestion controls of interactive media (RFC 8867, RFC 8869) give no bounds. Those here were fixed
before there were results. *Used* means that calls get at least two thirds of what they could: the capacity without
their audio, or 1.5 Mbit/s each if that is less. A delay is *low* if 95 % of the frames are shown within 400 ms, the
limit that ITU-T G.114 gives for conversations. Rates are *fair* if Jain's index is at least 0.9, and a call is *alive*
if it has nine tenths of its least rate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from haltere.claims import Claim, Evidence, MissingDataError, Verdict, all_of, below, claim, exceeds, few
from haltere.metrics.tables import Tables
from haltere.stats import mean

Numbers = NDArray[np.float64]

MOST: Final = 1.5
LEAST: Final = 0.15
"""Mbit/s that the encoder of a call writes at most and at least (RFC 8867 section 4.3)."""
USED: Final = 2 / 3
LATE_MS: Final = 400.0
NO_PICTURE_MS: Final = 10e3
"""The latency that a call without a frame counts as."""
FAIR: Final = 0.9
ALIVE: Final = 0.9 * LEAST


@dataclass(frozen=True)
class Calls:
    """The calls of one congestion control in an experiment whose factor `control` names it.

    Attributes:
        control: the contender, such as `rtp/gcc`.
        audio: Mbit/s that stand beside each call as a load, with headers.
    """

    tables: Tables
    experiment: str
    control: str
    audio: float = 0.0

    def flows(self, column: str, which: pl.Expr | None = None, **at: str) -> Numbers:
        """Return a column of the table of flows: a row a replication, a column a flow.

        Args:
            column: its name, such as `goodput_bps`.
            which: the flows, as an expression over the table's columns; those of the control if left out.
            at: the levels of the other factors.

        Raises:
            haltere.claims.MissingDataError: with fewer than two replications.
        """
        which = pl.col("contender") == self.control if which is None else which
        levels = {"control": self.control, **at}
        runs = self.tables.experiment_runs(self.experiment).filter(
            pl.col("status") == "ok", *(pl.col(name) == level for name, level in levels.items())
        )
        if runs.height < 2:
            raise MissingDataError(f"{few(runs.height)} of {self.control} in {self.experiment}")
        flows = self.tables.flows.filter(which).select("run_id", "flow", pl.col(column).cast(pl.Float64).alias("value"))
        wide = (
            runs.select("run_id", "replication")
            .join(flows, on="run_id")
            .sort("flow")
            .pivot(on="flow", index="replication", values="value")
            .sort("replication")
        )
        return wide.drop("replication").to_numpy().astype(np.float64)

    def rates(self, which: pl.Expr | None = None, **at: str) -> Numbers:
        """Return the goodput of each flow, Mbit/s, as `flows` does."""
        return self.flows("goodput_bps", which, **at) / 1e6

    def late(self, which: pl.Expr | None = None, **at: str) -> Numbers:
        """Return within how many ms 95 % of the frames of each call are shown, as `flows` does."""
        return np.nan_to_num(1e3 * self.flows("glass_to_glass_p95_s", which, **at), nan=NO_PICTURE_MS)

    def used(self, name: str, capacity: float, which: pl.Expr | None = None, **at: str) -> Evidence:
        """The part "the calls use what they could", of a capacity in Mbit/s."""
        rates = self.rates(which, **at)
        count = rates.shape[1]
        share = rates.sum(axis=1) / min(capacity - count * self.audio, count * MOST)
        return exceeds(f"Used, {name}", mean(share), USED, "%")

    def low(self, name: str, which: pl.Expr | None = None, **at: str) -> Evidence:
        """The part "the delay is low": the mean over the calls."""
        return below(f"95 % of frames within, {name}", mean(self.late(which, **at).mean(axis=1)), LATE_MS, "ms")

    def fair(self, name: str, which: pl.Expr | None = None, **at: str) -> Evidence:
        """The part "the rates are fair"."""
        rates = self.rates(which, **at)
        index = rates.sum(axis=1) ** 2 / (rates.shape[1] * (rates**2).sum(axis=1))
        return exceeds(f"Jain's index, {name}", mean(index), FAIR)

    def alive(self, name: str, which: pl.Expr | None = None, **at: str) -> Evidence:
        """The part "no call starves": the least of them."""
        least = mean(1e3 * self.rates(which, **at).min(axis=1))
        return exceeds(f"Least goodput of a call, {name}", least, 1e3 * ALIVE, "kbit/s")


@dataclass(frozen=True)
class Case:
    """A test case: its experiment, what its document expects, and how that is judged.

    Attributes:
        whose: the document, such as `RFC 8867`.
        section: of that document.
        experiment: of the study.
        expected: a sentence, without the control and in lower case.
        parts: the evidence for one control; its docstring says how it is judged.
        audio: Mbit/s that stand beside each call.
    """

    whose: str
    section: str
    experiment: str
    expected: str
    parts: Callable[[Calls], Iterator[Evidence]]
    audio: float = 0.0

    def claim(self, name: str, control: str) -> Claim[Tables]:
        """Return the claim for one control, by its name for readers and as a contender."""

        def judged(tables: Tables) -> Verdict:
            return all_of(*self.parts(Calls(tables, self.experiment, control, self.audio)))

        judged.__name__ = f"{self.parts.__name__}_{name.lower()}".replace(" ", "_")
        judged.__doc__ = self.parts.__doc__
        return claim(f"{name}: {self.expected}", source=f"section {self.section}", whose=self.whose)(judged)


def outcomes(cases: Sequence[Case], controls: Mapping[str, str], tables: Tables) -> list[dict[str, str]]:
    """Return the verdict of each case for each control: a row a case."""
    rows = []
    for case in cases:
        row = {"case": f"{case.whose}, {case.section}: {case.expected.rstrip('.')}"}
        found = {name: case.claim(name, control).verdict(tables) for name, control in controls.items()}
        rows.append(row | {name: verdict.outcome.value for name, verdict in found.items()})
    return rows


def in_short(rows: Sequence[Mapping[str, str]], controls: Mapping[str, str]) -> str:
    """Say of how many cases each control behaves as expected, from the rows of `outcomes`."""
    said = []
    for name in controls:
        found = [row[name] for row in rows]
        said.append(f"{name} {found.count('confirmed')} (and not {found.count('contradicted')})")
    return f"Of the {len(rows)} cases, these behave as expected: {', '.join(said)}; the others are undecided."
