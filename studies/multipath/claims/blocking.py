"""Head-of-line blocking: a statement of the paper, and our own claim."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from haltere.claims import Evidence, MissingDataError, Verdict, all_of, claim, exceeds, remark
from haltere.metrics.tables import Tables
from haltere.stats import mean, mean_of_amounts

from .ground import MPQUIC, MPTCP, QUIC, SECONDS, Numbers, Side, average, of_the_paper


@of_the_paper("MPQUIC is not immune to out-of-order delivery.", source="abstract, section 1")
def out_of_order(side: Side) -> Iterable[Evidence]:
    """20 MB: the receiver must hold data behind missing data for more than 1 % of a transfer's time over MPQUIC, in the
    mean over scenarios. That of MPTCP stands beside."""
    shares = {who: _blocked(side, who) for who in (MPQUIC, MPTCP)}
    return [
        exceeds(f"Share of time blocked, MPQUIC, {side.scenarios}", mean_of_amounts(shares[MPQUIC], 1.0), 0.01, "%"),
        remark("MPQUIC and MPTCP", " and ".join(f"{share.mean():.0%}" for share in shares.values())),
    ]


def _blocked(side: Side, who: str) -> Numbers:
    """The share of the time of 20 MB for which the receiver held data behind missing data: mean over scenarios."""
    if "blocked_s" not in side.tables.flows.columns:
        raise MissingDataError("the results hold no measure of head-of-line blocking: run the study again")
    return side.each(who, "20MB", pl.col("blocked_s") / SECONDS, average)


def _blocked_for_longer(tables: Tables, stack: str) -> Verdict:
    parts: list[Evidence] = []
    for scenarios in ("lower", "higher"):
        side = Side(tables, scenarios, stack)
        shares = [_blocked(side, who) for who in (MPQUIC, QUIC)]
        found = mean(shares[0] - shares[1])
        parts += [
            exceeds(f"Share of time blocked, {scenarios}, MPQUIC − QUIC", found, 0.0, "±"),
            remark("MPQUIC and QUIC", " and ".join(f"{share.mean():.0%}" for share in shares)),
        ]
    return all_of(*parts)


@claim("Two unlike paths block a receiver for longer than one of them does (2017).", source="our expectation")
def blocked_for_longer_2017(tables: Tables) -> Verdict:
    """20 MB: the share of a transfer's time for which the receiver held data behind missing data, in the mean over
    scenarios, must be larger over MPQUIC than over QUIC on the first path alone, which meets losses too, in both
    classes."""
    return _blocked_for_longer(tables, "2017")


@claim("Two unlike paths block a receiver for longer than one of them does (today).", source="our expectation")
def blocked_for_longer_today(tables: Tables) -> Verdict:
    """As for the stacks of 2017."""
    return _blocked_for_longer(tables, "today")
