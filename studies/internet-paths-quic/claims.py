"""The gain of QUIC over the paths of two years: claims of our own, whose rules were fixed before there were results.

TCP with TLS 1.3 needs two round trips before the request, QUIC one (RFC 8446 section 2, RFC 9001 section 4). If that is
all there is between them, the gain is a round trip whatever the path, and all else follows from the paths' delays.
Treatments of one replication meet paths of the same rank, and are compared within it; intervals are at 95 % over
replications; what lies within ±5 % is alike.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from haltere.claims import (
    OURS,
    Evidence,
    MissingDataError,
    Verdict,
    ahead,
    alike,
    all_of,
    answer,
    claim,
    exceeds,
    few,
    reading,
    remark,
    value,
)
from haltere.claims.comparison import compare, geometric
from haltere.metrics import METRICS, quantities
from haltere.metrics.tables import Tables
from haltere.stats import mean

PERIODS = ["skitter-2006", "ark-2011"]
EARLY, LATE = PERIODS
YEARS = {EARLY: "2006", LATE: "2011"}
SIZES = ["10kB", "100kB", "1MB"]
SMALL = "10kB"
TCP, QUIC, ZERO = "tcp/cubic", "quic/cubic", "quic/cubic+0rtt"
TIME = METRICS["completion_time"]
OWN = "our own; rule fixed beforehand"

Numbers = NDArray[np.float64]


def times(tables: Tables, experiment: str, protocol: str, **where: str) -> Numbers:
    """Completion time and path's round-trip time, s, a column a replication: array of shape (2, replications)."""
    runs = tables.experiment_runs(experiment).filter(pl.col("status") == "ok", pl.col("protocol") == protocol)
    for factor, level in where.items():
        runs = runs.filter(pl.col(factor) == level)
    flows = tables.flows.select("run_id", "completion_s")
    found = runs.join(flows, on="run_id").sort("replication").select("completion_s", "path_rtt_s")
    if found.height < 2:
        levels = ", ".join(map(str, where.values()))
        raise MissingDataError(f"{few(found.height)} of {protocol} with {levels} in {experiment}")
    return found.to_numpy().T.astype(np.float64)


def gain(tables: Tables, experiment: str, of: str = QUIC, **where: str) -> tuple[Numbers, Numbers]:
    """By how many seconds a protocol is sooner than TCP, and the path's round-trip time, replication by replication."""
    (slow, rtt), (fast, _) = (times(tables, experiment, name, **where) for name in (TCP, of))
    return slow - fast, rtt


def between(what: str, values: Numbers, low: float, high: float) -> list[Evidence]:
    """The parts "the mean is above `low`" and "the mean is below `high`"."""
    found = mean(values)
    above, below = exceeds(what, found, low), exceeds(what, mean(-values), -high)
    return [
        Evidence(f"{what}, above {low:g}", above.numbers, above.outcome, found),
        Evidence(f"{what}, below {high:g}", above.numbers, below.outcome, found),
    ]


@claim("On a small object QUIC gains one round trip, whatever the path.", source=OWN, whose=OURS)
def one_round_trip(tables: Tables) -> Verdict:
    """For 10 kB without loss, the mean of (TCP's completion time − QUIC's) ÷ the path's round-trip time must lie
    between 0.9 and 1.1 in each period."""
    parts: list[Evidence] = []
    for period, year in YEARS.items():
        saved, rtt = gain(tables, "drawn", period=period, size=SMALL, loss="0%")
        parts += between(f"Gain on 10 kB in round trips, {year}", saved / rtt, 0.9, 1.1)
        parts.append(remark(f"The same, least and greatest, {year}", _spread(saved / rtt)))
    return all_of(*parts)


def _spread(values: Numbers) -> str:
    return f"{values.min():.3f} to {values.max():.3f}"


@claim(
    "The gain grew with the delays from 2006 to 2011, and in relative terms it stayed what it was.",
    source=OWN,
    whose=OURS,
)
def grew_with_delays(tables: Tables) -> Verdict:
    """For 10 kB without loss and at equal ranks: the gain in seconds must be larger in 2011; its growth must be that of
    the round-trip times, to ±5 %; and the ratio QUIC ÷ TCP must be alike in both periods."""
    early, late = (gain(tables, "drawn", period=period, size=SMALL, loss="0%") for period in PERIODS)
    grown = np.log(late[0] / early[0]) - np.log(late[1] / early[1])
    shares = [
        np.log(times(tables, "drawn", QUIC, period=period, size=SMALL, loss="0%")[0])
        - np.log(times(tables, "drawn", TCP, period=period, size=SMALL, loss="0%")[0])
        for period in PERIODS
    ]
    return all_of(
        exceeds("Gain in 2011 − gain in 2006, s", mean(late[0] - early[0]), 0.0, "±"),
        alike("Growth of the gain ÷ growth of the round-trip time", geometric(grown), TIME),
        alike("QUIC ÷ TCP in 2011, over that in 2006", geometric(shares[1] - shares[0]), TIME),
        remark("Growth of the round-trip time at equal ranks", reading(geometric(np.log(late[1] / early[1])), TIME)),
        *(remark(f"Gain in {year}, s", f"{saved.mean():.3f}") for year, (saved, _) in
          zip(YEARS.values(), (early, late), strict=True)),
    )  # fmt: skip


@claim("The gain is a round trip for larger objects too.", source=OWN, whose=OURS)
def one_round_trip_for_all(tables: Tables) -> Verdict:
    """As the first claim, for 100 kB and 1 MB."""
    parts: list[Evidence] = []
    for period, year in YEARS.items():
        for size in SIZES[1:]:
            saved, rtt = gain(tables, "drawn", period=period, size=size, loss="0%")
            parts += between(f"Gain on {quantities.text(size)} in round trips, {year}", saved / rtt, 0.9, 1.1)
    return all_of(*parts)


@claim("QUIC is ahead for every size in either year, the less the larger the object.", source=OWN, whose=OURS)
def less_for_larger(tables: Tables) -> Verdict:
    """Without loss, QUIC's completion time must be ahead of TCP's for each size in each period, and the ratio QUIC ÷
    TCP must be larger at 100 kB than at 10 kB, and at 1 MB than at 100 kB."""
    parts: list[Evidence] = []
    for period, year in YEARS.items():
        over = {"period": [period], "size": SIZES, "loss": ["0%"]}
        found = compare(tables, "drawn", TIME.name, "protocol", QUIC, TCP, over=over)
        by_size = [found.within({"size": [size]}) for size in SIZES]
        for size, one in zip(SIZES, by_size, strict=True):
            parts.append(ahead(f"QUIC ÷ TCP, {quantities.text(size)}, {year}", one.pooled(), TIME))
        for less, more in ((0, 1), (1, 2)):
            change = by_size[more].minus(by_size[less])
            sizes = f"{quantities.text(SIZES[more])} ÷ that at {quantities.text(SIZES[less])}"
            parts.append(exceeds(f"The ratio at {sizes}, {year}", change, 1.0))
    return all_of(*parts)


@claim("Those with the worst paths gain most: in proportion to their delay.", source=OWN, whose=OURS)
def worst_gain_most(tables: Tables) -> Verdict:
    """For 10 kB, the gain at the 95th percentile of the delay over that at the median must be the ratio of the two
    round-trip times, to ±5 %, in each period."""
    parts: list[Evidence] = []
    for period, year in YEARS.items():
        saved, rtt = (
            np.log(high / low)
            for high, low in zip(
                gain(tables, "ladder", period=period, size=SMALL, quantile="p95"),
                gain(tables, "ladder", period=period, size=SMALL, quantile="median"),
                strict=True,
            )
        )
        parts.append(alike(f"Growth of the gain ÷ growth of the round-trip time, {year}", geometric(saved - rtt), TIME))
        parts.append(remark(f"Gain at the 95th percentile ÷ gain at the median, {year}", f"{np.exp(saved.mean()):.2f}"))
    return all_of(*parts)


@claim("For small objects QUIC makes up for five years of growing delays.", source=OWN, whose=OURS)
def makes_up(tables: Tables) -> Verdict:
    """For 10 kB without loss and at equal ranks, QUIC over the paths of 2011 must be ahead of TCP over those of
    2006."""
    ratios = {}
    for name, size in ((QUIC, SMALL), (ZERO, SMALL), (QUIC, "1MB"), (TCP, SMALL)):
        late = times(tables, "drawn", name, period=LATE, size=size, loss="0%")[0]
        early = times(tables, "drawn", TCP, period=EARLY, size=size, loss="0%")[0]
        ratios[name, size] = geometric(np.log(late / early))
    told = {(ZERO, SMALL): "QUIC with 0-RTT, 10 kB", (QUIC, "1MB"): "QUIC, 1 MB", (TCP, SMALL): "TCP itself, 10 kB"}
    return all_of(
        ahead("QUIC in 2011 ÷ TCP in 2006, 10 kB", ratios[QUIC, SMALL], TIME),
        *(remark(f"{what}, 2011 ÷ TCP in 2006", reading(ratios[key], TIME)) for key, what in told.items()),
    )


@claim("A loss of 1 % does not turn it: QUIC stays ahead for every size in either year.", source=OWN, whose=OURS)
def despite_loss(tables: Tables) -> Verdict:
    """At 1 % random loss, which is not drawn from the paths, QUIC's completion time must be ahead of TCP's for each
    size in each period."""
    parts: list[Evidence] = []
    for period, year in YEARS.items():
        over = {"period": [period], "size": SIZES, "loss": ["1%"]}
        found = compare(tables, "drawn", TIME.name, "protocol", QUIC, TCP, over=over)
        for size in SIZES:
            one = found.within({"size": [size]}).pooled()
            parts.append(ahead(f"QUIC ÷ TCP at 1 % loss, {quantities.text(size)}, {year}", one, TIME))
    return all_of(*parts)


@answer
def short_answer(tables: Tables) -> list[str]:
    """The worth of a round trip."""
    (early, early_rtt), (late, late_rtt) = (
        gain(tables, "drawn", period=period, size=SMALL, loss="0%") for period in PERIODS
    )
    zero = [gain(tables, "drawn", ZERO, period=period, size=SMALL, loss="0%")[0].mean() for period in PERIODS]
    large = [gain(tables, "drawn", period=period, size="1MB", loss="0%")[0].mean() for period in PERIODS]
    return [
        f"Over the paths of 2006 (mean round-trip time {1e3 * early_rtt.mean():.0f} ms) QUIC delivers 10 kB "
        f"{1e3 * early.mean():.0f} ms sooner than TCP with TLS 1.3, over those of 2011 "
        f"({1e3 * late_rtt.mean():.0f} ms) "
        f"{1e3 * late.mean():.0f} ms; with 0-RTT {1e3 * zero[0]:.0f} and {1e3 * zero[1]:.0f} ms.",
        f"On 1 MB at 10 Mbit/s it is {1e3 * large[0]:+.0f} ms in 2006 and {1e3 * large[1]:+.0f} ms in 2011.",
        "The paths are those named under Design; the ones that are shipped are reconstructed from published numbers, "
        "not measured.",
    ]


@value
def round_trips(tables: Tables) -> pl.DataFrame:
    """Completion times over the median path of 2011, in round trips, of each protocol with each size."""
    rows = []
    for protocol in tables.levels("ladder", "protocol"):
        row = {"protocol": f"`{protocol}`"}
        for size in tables.levels("ladder", "size"):
            taken, rtt = times(tables, "ladder", protocol, period=LATE, size=size, quantile="median")
            row[quantities.text(size)] = f"{(taken / rtt).mean():.2f}"
        rows.append(row)
    return pl.DataFrame(rows)
