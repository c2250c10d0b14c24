"""The numbers that the paper states, beside those of the model."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import polars as pl

from haltere.claims import Evidence
from haltere.stats import mean

from .ground import (
    DROPPED,
    LOST,
    MPQUIC,
    MPTCP,
    RETRANSMITTED,
    SECONDS,
    Numbers,
    Side,
    Statistic,
    as_stated,
    average,
    longest,
    median,
    of_the_paper,
)


class Published(NamedTuple):
    """A number that the paper states: where, of what, and how the model's is taken."""

    figure: str
    what: str
    said: float
    unit: str
    taken: Callable[[Side], Numbers]


def _of(protocol: str, size: str, what: pl.Expr, statistic: Statistic, scale: float = 1) -> Callable[[Side], Numbers]:
    return lambda side: side.each(protocol, size, what, statistic) * scale


def _more_of(first: str, second: str, size: str, what: pl.Expr, statistic: Statistic) -> Callable[[Side], Numbers]:
    """By how many percent the first has more of it than the second."""

    def taken(side: Side) -> Numbers:
        one, other = (side.each(who, size, what, statistic) for who in (first, second))
        return 100 * (one / other - 1)

    return taken


PUBLISHED = (
    Published("9 (a)", "300 kB: median rate of retransmission, MPQUIC", 0.76, "%",
              _of(MPQUIC, "300kB", RETRANSMITTED, median, 100)),
    Published("9 (a)", "300 kB: median rate of retransmission, MPTCP", 0.88, "%",
              _of(MPTCP, "300kB", RETRANSMITTED, median, 100)),
    Published("9 (a)", "300 kB: largest rate, MPQUIC", 11, "%", _of(MPQUIC, "300kB", RETRANSMITTED, longest, 100)),
    Published("9 (b)", "1 MB: the outlier, MPTCP", 6, "%", _of(MPTCP, "1MB", RETRANSMITTED, longest, 100)),
    Published("10 (a)", "300 kB: median loss, MPQUIC", 1.31, "%", _of(MPQUIC, "300kB", LOST, median, 100)),
    Published("10 (a)", "300 kB: median loss, MPTCP", 2.26, "%", _of(MPTCP, "300kB", LOST, median, 100)),
    Published("10 (a)", "300 kB: mean loss, MPQUIC", 1.51, "%", _of(MPQUIC, "300kB", LOST, average, 100)),
    Published("10 (a)", "300 kB: mean loss, MPTCP", 1.72, "%", _of(MPTCP, "300kB", LOST, average, 100)),
    Published("10 (b)", "1 MB: packets that MPQUIC loses less than MPTCP, on average", 80, "%",
              lambda side: -_more_of(MPQUIC, MPTCP, "1MB", DROPPED, average)(side)),
    Published("10 (c)", "20 MB: packets that MPTCP loses more than MPQUIC, on average", 65.6, "%",
              _more_of(MPTCP, MPQUIC, "20MB", DROPPED, average)),
    Published("11 (a)", "300 kB: longest, MPTCP", 9.78, "s", _of(MPTCP, "300kB", SECONDS, longest)),
    Published("11 (b)", "1 MB: mean, MPQUIC", 2.42, "s", _of(MPQUIC, "1MB", SECONDS, average)),
    Published("11 (b)", "1 MB: median, MPQUIC", 1.66, "s", _of(MPQUIC, "1MB", SECONDS, median)),
    Published("11 (b)", "1 MB: longest, MPTCP", 30.8, "s", _of(MPTCP, "1MB", SECONDS, longest)),
    Published("11 (c)", "20 MB: mean, MPQUIC", 69, "s", _of(MPQUIC, "20MB", SECONDS, average)),
    Published("11 (c)", "20 MB: median, MPQUIC", 32, "s", _of(MPQUIC, "20MB", SECONDS, median)),
    Published("11 (c)", "20 MB: mean, MPTCP", 74.4, "s", _of(MPTCP, "20MB", SECONDS, average)),
    Published("11 (c)", "20 MB: by how much MPTCP's longest is longer than MPQUIC's", 44.32, "%",
              _more_of(MPTCP, MPQUIC, "20MB", SECONDS, longest)),
)  # fmt: skip
"""The numbers of the paper's section 3."""


def stated(side: Side, figure: str) -> list[Evidence]:
    """The parts "this number is as stated", to 15 %, of a figure's numbers."""
    return [
        as_stated(f"{one.what}, {side.scenarios}", mean(one.taken(side)), one.said, one.unit)
        for one in PUBLISHED
        if one.figure.split()[0] == figure
    ]


@of_the_paper("The rates of retransmission are as stated.", source="section 3, figure 9", paper="0.76, 0.88, 11, 6 %")
def numbers_of_retransmissions(side: Side) -> Iterable[Evidence]:
    """Each number that the text states on figure 9 must be met to 15 %, in the mean over replications."""
    return stated(side, "9")


@of_the_paper(
    "The losses are as stated.",
    source="section 3, figure 10",
    paper="1.31, 2.26, 1.51, 1.72 %; 80 % fewer, 65.6 % more",
)
def numbers_of_losses(side: Side) -> Iterable[Evidence]:
    """Each number that the text states on figure 10 must be met to 15 %, in the mean over replications."""
    return stated(side, "10")


@of_the_paper(
    "The times are as stated.",
    source="section 3, figure 11",
    paper="9.78 s; 2.42, 1.66, 30.8 s; 69, 32, 74.4 s, 44.32 % longer",
)
def numbers_of_times(side: Side) -> Iterable[Evidence]:
    """Each number that the text states on figure 11 must be met to 15 %, in the mean over replications."""
    return stated(side, "11")
