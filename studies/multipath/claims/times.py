"""The paper's statements on completion times (figure 11)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from haltere.claims import Evidence, exceeds
from haltere.claims.comparison import geometric
from haltere.metrics import quantities

from .ground import (
    MPQUIC,
    MPTCP,
    SECONDS,
    SIZES,
    Side,
    as_stated,
    average,
    longest,
    of_the_paper,
    outliers,
    spread,
)


@of_the_paper(
    "300 kB: times have more outliers over MPQUIC, but MPTCP has the longest.",
    source="section 3, figure 11 (a)",
    paper="longest 9.78 s (MPTCP)",
)
def times_of_mice(side: Side) -> Iterable[Evidence]:
    """The number of outliers must be larger with MPQUIC, and MPQUIC's longest time shorter than MPTCP's."""
    return [
        *side.more("300kB", SECONDS, outliers, "Outliers among 100", of=MPQUIC, scale=1),
        *side.sooner("300kB", longest, "Longest, 300 kB"),
    ]


@of_the_paper(
    "1 MB: both protocols are much alike in time, but MPTCP has the longest.",
    source="section 3, figure 11 (b)",
    paper="mean 2.42 s, median 1.66 s (MPQUIC); longest 30.8 s (MPTCP)",
)
def times_of_1mb(side: Side) -> Iterable[Evidence]:
    """The mean times over scenarios must be within 15 % of each other, and MPQUIC's longest shorter than MPTCP's."""
    quic, tcp = (side.each(who, "1MB", SECONDS, average) for who in (MPQUIC, MPTCP))
    return [
        as_stated(f"Mean, 1 MB, {side.scenarios}, MPQUIC ÷ MPTCP", geometric(np.log(quic / tcp)), 1.0),
        *side.sooner("1MB", longest, "Longest, 1 MB"),
    ]


@of_the_paper(
    "20 MB: MPQUIC is sooner on average and varies less, and MPTCP's longest time is the longer one.",
    source="section 3, figure 11 (c)",
    paper="mean 69 s, median 32 s (MPQUIC), mean 74.4 s (MPTCP); longest 44.32 % longer",
)
def times(side: Side) -> Iterable[Evidence]:
    """The ratio of the mean completion times over scenarios and that of the longest must favour MPQUIC, and the
    interquartile range must be larger with MPTCP."""
    return [
        *side.sooner("20MB", average, "Mean, 20 MB"),
        *side.sooner("20MB", longest, "Longest, 20 MB"),
        *side.more("20MB", SECONDS, spread, "Interquartile range, s", of=MPTCP, scale=1),
    ]


@of_the_paper(
    "MPQUIC delivers sooner on average, a little with small loads and more with large ones.",
    source="section 3 on figure 11, section 5",
)
def sooner(side: Side) -> Iterable[Evidence]:
    """With each size the ratio of the mean times must favour MPQUIC, and with 20 MB more than with 300 kB."""
    ratios = {size: [side.each(who, size, SECONDS, average) for who in (MPQUIC, MPTCP)] for size in ("300kB", "20MB")}
    few, many = (quic / tcp for quic, tcp in ratios.values())
    gain = geometric(np.log(few / many))
    return [
        *(part for size in SIZES for part in side.sooner(size, average, f"Mean, {quantities.text(size)}")),
        exceeds(f"MPQUIC ÷ MPTCP, {side.scenarios}, with 300 kB ÷ with 20 MB", gain, 1.0),
    ]
