"""The aggregation benefit of De Coninck and Bonaventure."""

from __future__ import annotations

import numpy as np
import polars as pl

from haltere.claims import Evidence, Verdict, all_of, claim, exceeds, remark
from haltere.metrics.tables import Tables
from haltere.stats import aggregation_benefit, mean

from .ground import CLASSES, MPQUIC, MPTCP, QUIC, TCP, Numbers, label, median, values

CONEXT = "De Coninck and Bonaventure 2017"


def _benefit(tables: Tables, stack: str) -> Verdict:
    parts: list[Evidence] = []
    for experiment, name in CLASSES.items():
        quic, tcp = (benefits(tables, experiment, *pair, stack) for pair in ((MPQUIC, QUIC), (MPTCP, TCP)))
        shares = [np.array([float((column > 0).mean()) for column in found.T]) for found in (quic, tcp)]
        middles = [float(np.mean([median(column) for column in found.T])) for found in (quic, tcp)]
        parts += [
            exceeds(f"Share with a benefit, {name}, MPQUIC − MPTCP", mean(shares[0] - shares[1]), 0.0, "±"),
            remark("MPQUIC and MPTCP", f"{shares[0].mean():.0%} and {shares[1].mean():.0%}"),
            remark(f"Median benefit, {name}, MPQUIC and MPTCP", f"{middles[0]:+.2f} and {middles[1]:+.2f}"),
        ]
    return all_of(*parts)


@claim(
    "20 MB: several paths are beneficial in more scenarios over MPQUIC than over MPTCP.",
    source="section 4.1, without loss",
    whose=CONEXT,
    paper="77 % (MPQUIC), 45 % (MPTCP); higher class 58 %, 20 %",
)
def benefit_2017(tables: Tables) -> Verdict:
    """The share of scenarios whose experimental aggregation benefit is above 0, that of each protocol against the same
    transport with CUBIC over each path alone, must be larger with MPQUIC in both classes. The shares of that paper are
    from scenarios without loss, as the variant source-lossless has them."""
    return _benefit(tables, "2017")


@claim(
    "Today: 20 MB: several paths are beneficial in more scenarios over MPQUIC than over MPTCP.",
    source="section 4.1, without loss",
    whose=CONEXT,
    paper="77 % (MPQUIC), 45 % (MPTCP); higher class 58 %, 20 %",
)
def benefit_today(tables: Tables) -> Verdict:
    """As for the stacks of 2017."""
    return _benefit(tables, "today")


def benefits(tables: Tables, experiment: str, multipath: str, single: str, stack: str) -> Numbers:
    """The experimental aggregation benefit: a row a scenario and first path, a column a replication."""
    goodput = pl.col("goodput_bps")
    together, alone = (values(tables, [experiment], label(who, stack), "20MB", goodput) for who in (multipath, single))
    found = np.empty_like(together)
    for (row, column), rate in np.ndenumerate(together):
        pair = row - row % 2  # a scenario's two first paths are neighbours
        found[row, column] = aggregation_benefit(float(rate), [float(x) for x in alone[pair : pair + 2, column]])
    return found
