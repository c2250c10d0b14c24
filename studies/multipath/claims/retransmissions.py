"""The paper's statements on retransmissions (figure 9), and on paths that carry everything."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from haltere.claims import Evidence, MissingDataError, exceeds, few, remark
from haltere.metrics import quantities
from haltere.metrics.text import significant
from haltere.stats import mean, mean_of_amounts

from .ground import (
    MPQUIC,
    MPTCP,
    READINGS,
    RETRANSMITTED,
    SIZES,
    Side,
    as_stated,
    average,
    label,
    longest,
    median,
    of_the_paper,
    outliers,
    ratio_of_means,
    spread,
)


@of_the_paper(
    "300 kB: the median rate of retransmissions is lower over MPQUIC.",
    source="section 3, figure 9 (a)",
    paper="0.76 % (MPQUIC), 0.88 % (MPTCP)",
)
def median_of_mice(side: Side) -> Iterable[Evidence]:
    """Retransmitted ÷ sent packets, %: the median over scenarios must be larger with MPTCP."""
    return side.more("300kB", RETRANSMITTED, median, "Median rate, %", of=MPTCP, scale=100)


@of_the_paper(
    "300 kB: rates of retransmission vary more over MPQUIC, with more outliers.",
    source="section 3, figure 9 (a)",
    paper="at most about 11 % (MPQUIC)",
)
def outliers_of_mice(side: Side) -> Iterable[Evidence]:
    """The interquartile range and the number of outliers (beyond 1.5 such ranges) must be larger with MPQUIC."""
    top = side.each(MPQUIC, "300kB", RETRANSMITTED, longest)
    return [
        *side.more("300kB", RETRANSMITTED, spread, "Interquartile range, %", of=MPQUIC, scale=100),
        *side.more("300kB", RETRANSMITTED, outliers, "Outliers among 100", of=MPQUIC, scale=1),
        remark("Largest rate of MPQUIC, %", significant(100 * float(top.mean()))),
    ]


@of_the_paper(
    "1 MB: rates of retransmission vary less over MPQUIC than with 300 kB, over MPTCP as much, but for one outlier.",
    source="section 3, figure 9 (b)",
    paper="one outlier of 6 % (MPTCP)",
)
def retransmissions_of_1mb(side: Side) -> Iterable[Evidence]:
    """The interquartile range must be smaller than with 300 kB over MPQUIC, and within 15 % of it over MPTCP."""
    quic, tcp = (
        [side.each(who, size, RETRANSMITTED, spread) * 100 for size in ("300kB", "1MB")] for who in (MPQUIC, MPTCP)
    )
    top = side.each(MPTCP, "1MB", RETRANSMITTED, longest)
    return [
        exceeds(f"Interquartile range, %, {side.scenarios}, MPQUIC, 300 kB − 1 MB", mean(quic[0] - quic[1]), 0.0, "±"),
        as_stated(f"Interquartile range, {side.scenarios}, MPTCP, 1 MB ÷ 300 kB", ratio_of_means(tcp[1], tcp[0]), 1.0),
        remark("Largest rate of MPTCP, 1 MB, %", significant(100 * float(top.mean()))),
    ]


@of_the_paper("20 MB: MPTCP retransmits more than MPQUIC and has more outliers.", source="section 3, figure 9 (c)")
def retransmissions_of_elephants(side: Side) -> Iterable[Evidence]:
    """The mean rate over scenarios and the number of outliers must both be larger with MPTCP."""
    return [
        *side.more("20MB", RETRANSMITTED, average, "Mean rate, %", of=MPTCP, scale=100),
        *side.more("20MB", RETRANSMITTED, outliers, "Outliers among 100", of=MPTCP, scale=1),
    ]


@of_the_paper("The number of retransmissions is much alike in both protocols.", source="section 1")
def retransmissions_alike(side: Side) -> Iterable[Evidence]:
    """With each size the mean number of retransmitted packets over scenarios must be within 15 % of the other's."""
    count = pl.col("retransmitted_packets")
    parts = []
    for size in SIZES:
        quic, tcp = (side.each(who, size, count, average) for who in (MPQUIC, MPTCP))
        what = f"Retransmissions, {quantities.text(size)}, {side.scenarios}, MPQUIC ÷ MPTCP"
        parts.append(as_stated(what, ratio_of_means(quic, tcp), 1.0))
    return parts


@of_the_paper(
    "300 kB: at times one path alone carries everything, in both protocols.", source="section 3, figure 9 (a)"
)
def one_path_for_mice(side: Side) -> Iterable[Evidence]:
    """300 kB: one path must deliver at least 99 % of all bytes towards the client in more than 1 % of the runs. 1 % of
    the bytes is 3 kB, which the handshake of a second path needs. Until the paper was read again ("por vezes"), the
    rule asked for half of the runs."""
    if side.tables.links.is_empty():
        raise MissingDataError("the results hold no links")
    down = side.tables.links.filter(
        pl.col("direction") == "down",
        pl.col("size") == "300kB",
        pl.col("experiment").is_in(list(READINGS[side.scenarios])),
    )
    alone = down.group_by("protocol", "replication", "run_id").agg(
        alone=pl.col("delivered_bytes").max() >= 0.99 * pl.col("delivered_bytes").sum()
    )
    shares = alone.group_by("protocol", "replication").agg(pl.col("alone").mean()).sort("replication")
    parts = []
    for protocol in (MPTCP, MPQUIC):
        rows = shares.filter(pl.col("protocol") == label(protocol, side.stack))
        if rows.height < 2:
            raise MissingDataError(f"{few(rows.height)} of {label(protocol, side.stack)}")
        found = mean_of_amounts(rows["alone"], 1.0)
        parts.append(exceeds(f"Runs over one path, {protocol}, {side.scenarios}", found, 0.01, "%"))
    return parts
