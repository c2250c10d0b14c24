"""The findings of the UFPR study (2019) on MPTCP and MPQUIC, and the aggregation benefit of De Coninck and Bonaventure.

All scenarios of a replication meet the same losses by ordinal, so the independent unit is the replication: a statistic
is taken over the scenarios of a class and both first paths within each replication, and intervals are at 95 % over
replications. Each claim must hold in both classes, the lower and the higher capacity-delay products.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from haltere.claims import (
    Evidence,
    MissingDataError,
    Verdict,
    ahead,
    all_of,
    answer,
    claim,
    exceeds,
    few,
    reading,
    remark,
    value,
)
from haltere.metrics import METRICS, quantities
from haltere.metrics.tables import Tables, from_scale
from haltere.stats import Interval, aggregation_benefit, mean, mean_of_amounts

CLASSES = {"low": "lower", "high": "higher"}
MPTCP, MPQUIC, TCP, QUIC = "MPTCP", "MPQUIC", "TCP", "QUIC"
SIZES = ["300kB", "1MB", "20MB"]
TIME = METRICS["completion_time"]
UFPR = "Lenz et al. 2019"
SCENARIO = [f"{factor}_{path}" for factor in ("rate", "delay", "queuing", "loss") for path in (0, 1)]

Numbers = NDArray[np.float64]
Statistic = Callable[[Numbers], float]
RETRANSMITTED = pl.col("retransmitted_packets") / pl.col("sent_packets")
LOST = pl.col("lost_packets") / pl.col("sent_packets")


def values(tables: Tables, experiment: str, protocol: str, size: str, what: pl.Expr) -> Numbers:
    """A number of every flow: a row a scenario and first path, a column a replication."""
    ended = tables.flows.filter(
        pl.col("experiment") == experiment,
        pl.col("protocol") == protocol,
        pl.col("size") == size,
        pl.col("status") == "ok",
    )
    if ended.is_empty():
        raise MissingDataError(f"experiment {experiment} holds no run of {protocol} with {size}")
    wide = (
        ended.with_columns(value=what.cast(pl.Float64))
        .sort(*SCENARIO, "start", "replication")
        .pivot(on="replication", index=[*SCENARIO, "start"], values="value", aggregate_function="first")
        .drop(*SCENARIO, "start")
    )
    found = wide.to_numpy().astype(np.float64)
    if found.shape[1] < 2 or not np.isfinite(found).all():
        complete = int(np.isfinite(found).all(axis=0).sum())
        raise MissingDataError(f"{few(complete)} that is whole, of {protocol} with {size} in {experiment}")
    return found


def each(found: Numbers, statistic: Statistic) -> Numbers:
    """The statistic over the scenarios, replication by replication."""
    return np.array([statistic(column) for column in found.T])


def mean_of(column: Numbers) -> float:
    return float(column.mean())


def median_of(column: Numbers) -> float:
    return float(np.median(column))


def outliers(column: Numbers) -> float:
    """How many values lie beyond the upper whisker of a box plot: 1.5 interquartile ranges above the third quartile."""
    first, third = np.quantile(column, [0.25, 0.75])
    return float(np.count_nonzero(column > third + 1.5 * (third - first)))


def more(
    tables: Tables, size: str, what: pl.Expr, statistic: Statistic, label: str, *, of: str, scale: float = 100.0
) -> Iterator[Evidence]:
    """The part "this protocol has more of it than the other", in each class; values are shown times `scale`."""
    other = MPQUIC if of == MPTCP else MPTCP
    for experiment, name in CLASSES.items():
        first, second = (each(values(tables, experiment, who, size, what), statistic) * scale for who in (of, other))
        found = exceeds(f"{label}, {size}, {name}, {of} − {other}", mean(first - second), 0.0, "±")
        yield found
        yield remark(f"{of} and {other}", f"{first.mean():.3g} and {second.mean():.3g}")


def sooner(tables: Tables, size: str, statistic: Statistic, label: str) -> Iterator[Evidence]:
    """The part "MPQUIC is ahead by this statistic of the completion times", in each class."""
    for experiment, name in CLASSES.items():
        quic, tcp = (
            each(values(tables, experiment, who, size, pl.col("completion_s")), statistic) for who in (MPQUIC, MPTCP)
        )
        yield ahead(f"{label}, {size}, {name}, MPQUIC ÷ MPTCP", geometric(quic, tcp), TIME)
        yield remark("MPQUIC and MPTCP, s", f"{quic.mean():.3g} and {tcp.mean():.3g}")


def geometric(of: Numbers, to: Numbers) -> Interval:
    """The geometric mean of the ratios with its interval."""
    return from_scale(mean(np.log(of / to)), TIME)


@claim(
    "300 kB: MPQUIC retransmits less in the median, but has more outliers.",
    source="finding 1",
    whose=UFPR,
    paper="median 0.88 % (MPTCP), 0.76 % (MPQUIC)",
)
def retransmissions_of_mice(tables: Tables) -> Verdict:
    """Retransmitted ÷ sent packets, %: the median over scenarios must be larger with MPTCP, and the number of outliers
    (beyond 1.5 interquartile ranges) larger with MPQUIC."""
    top = [
        f"{100 * values(tables, e, MPQUIC, '300kB', RETRANSMITTED).max():.1f} % ({name})" for e, name in CLASSES.items()
    ]
    return all_of(
        *more(tables, "300kB", RETRANSMITTED, median_of, "Median rate, %", of=MPTCP),
        *more(tables, "300kB", RETRANSMITTED, outliers, "Outliers among 100", of=MPQUIC, scale=1.0),
        remark("Largest rate of MPQUIC", ", ".join(top)),
    )


@claim("20 MB: MPTCP retransmits more than MPQUIC and has more outliers.", source="finding 2", whose=UFPR)
def retransmissions_of_elephants(tables: Tables) -> Verdict:
    """As the first claim: mean rate and number of outliers must both be larger with MPTCP."""
    return all_of(
        *more(tables, "20MB", RETRANSMITTED, mean_of, "Mean rate, %", of=MPTCP),
        *more(tables, "20MB", RETRANSMITTED, outliers, "Outliers among 100", of=MPTCP, scale=1.0),
    )


@claim(
    "MPTCP loses more: in the median with 300 kB, on average with 1 MB and 20 MB.",
    source="finding 3",
    whose=UFPR,
    paper="300 kB, median: 2.26 % (MPTCP), 1.31 % (MPQUIC); 20 MB: 65.6 % more",
)
def losses(tables: Tables) -> Verdict:
    """Lost packets: as a share of those sent, the median over scenarios with 300 kB; as a number, the mean over
    scenarios with 1 MB and 20 MB. Each must be larger with MPTCP. Lost is what the sender declared lost."""
    lost = pl.col("lost_packets")
    return all_of(
        *more(tables, "300kB", LOST, median_of, "Median loss, %", of=MPTCP),
        *more(tables, "1MB", lost, mean_of, "Mean packets lost", of=MPTCP, scale=1.0),
        *more(tables, "20MB", lost, mean_of, "Mean packets lost", of=MPTCP, scale=1.0),
    )


@claim(
    "20 MB: MPQUIC is sooner on average, and MPTCP's worst time is the longer one.",
    source="finding 4",
    whose=UFPR,
    paper="mean 74.4 s (MPTCP), 69 s (MPQUIC); longest 44.3 % longer",
)
def times(tables: Tables) -> Verdict:
    """The ratio of the mean completion times over scenarios, and that of the longest, must favour MPQUIC. The paper's
    numbers for 1 MB compare nothing but the extremes; ours stand beside as remarks."""
    small = []
    if "1MB" in tables.levels("low", "size"):
        small = [
            remark(one.what, one.numbers)
            for statistic, label in ((mean_of, "Mean"), (np.max, "Longest"))
            for one in sooner(tables, "1MB", statistic, label)
        ]
    return all_of(*sooner(tables, "20MB", mean_of, "Mean"), *sooner(tables, "20MB", np.max, "Longest"), *small)


@claim("With small objects a single path often carries everything, in both protocols.", source="finding 5", whose=UFPR)
def one_path_for_mice(tables: Tables) -> Verdict:
    """300 kB: one path must deliver at least 99 % of all bytes towards the client in more than half of the runs. 1 % is
    3 kB, which the handshake of a second path needs."""
    if tables.links.is_empty():
        raise MissingDataError("the results hold no links")
    down = tables.links.filter(pl.col("direction") == "down", pl.col("size") == "300kB")
    share = down.group_by("experiment", "protocol", "replication", "run_id").agg(
        alone=pl.col("delivered_bytes").max() >= 0.99 * pl.col("delivered_bytes").sum()
    )
    shares = share.group_by("experiment", "protocol", "replication").agg(pl.col("alone").mean()).sort("replication")
    parts = []
    for experiment, name in CLASSES.items():
        for protocol in (MPTCP, MPQUIC):
            rows = shares.filter(pl.col("experiment") == experiment, pl.col("protocol") == protocol)
            if rows.height < 2:
                raise MissingDataError(f"{few(rows.height)} of {protocol} in {experiment}")
            parts.append(
                exceeds(f"Runs over one path, {protocol}, {name}", mean_of_amounts(rows["alone"], 1.0), 0.5, "%")
            )
    return all_of(*parts)


@claim("MPQUIC is not immune to out-of-order delivery.", source="finding 6", whose=UFPR)
def out_of_order(tables: Tables) -> Verdict:
    """20 MB: the share of a transfer's time for which the receiver held data behind missing data, in the mean over
    scenarios, must be larger than over QUIC on the first path alone, which meets losses too. The paper says that it is
    not zero; that of MPTCP stands beside."""
    if "blocked_s" not in tables.flows.columns:
        raise MissingDataError("the results hold no measure of head-of-line blocking: run the study again")
    waited = pl.col("blocked_s") / pl.col("completion_s")
    parts: list[Evidence] = []
    for experiment, name in CLASSES.items():
        shares = {
            protocol: each(values(tables, experiment, protocol, "20MB", waited), mean_of)
            for protocol in (MPQUIC, QUIC, MPTCP)
        }
        parts += [
            exceeds(f"Share of time blocked, {name}, MPQUIC − QUIC", mean(shares[MPQUIC] - shares[QUIC]), 0.0, "±"),
            remark("MPQUIC, QUIC and MPTCP", ", ".join(f"{share.mean():.0%}" for share in shares.values())),
        ]
    return all_of(*parts)


@claim(
    "20 MB: several paths are beneficial in more scenarios over MPQUIC than over MPTCP.",
    source="CoNEXT 2017, section 4.1",
    whose="De Coninck and Bonaventure 2017",
    paper="77 % (MPQUIC), 45 % (MPTCP); higher class 58 %, 20 %",
)
def benefit(tables: Tables) -> Verdict:
    """The share of scenarios whose experimental aggregation benefit is above 0, that of each protocol against the same
    transport with CUBIC over each path alone, must be larger with MPQUIC. The paper's shares (77 % against 45 % in the
    lower class, 58 % against 20 % in the higher) are from scenarios without loss; these have loss."""
    parts: list[Evidence] = []
    for experiment, name in CLASSES.items():
        quic, tcp = (benefits(tables, experiment, *pair) for pair in ((MPQUIC, QUIC), (MPTCP, TCP)))
        shares = [each(found, lambda column: float((column > 0).mean())) for found in (quic, tcp)]
        parts += [
            exceeds(f"Share with a benefit, {name}, MPQUIC − MPTCP", mean(shares[0] - shares[1]), 0.0, "±"),
            remark("MPQUIC and MPTCP", f"{shares[0].mean():.0%} and {shares[1].mean():.0%}"),
            remark(
                f"Median benefit, {name}, MPQUIC and MPTCP",
                f"{each(quic, median_of).mean():+.2f} and {each(tcp, median_of).mean():+.2f}",
            ),
        ]
    return all_of(*parts)


def benefits(tables: Tables, experiment: str, multipath: str, single: str) -> Numbers:
    """The experimental aggregation benefit: a row a scenario and first path, a column a replication."""
    goodput = pl.col("goodput_bps")
    together, alone = (values(tables, experiment, who, "20MB", goodput) for who in (multipath, single))
    found = np.empty_like(together)
    for (row, column), rate in np.ndenumerate(together):
        pair = row - row % 2  # a scenario's two first paths are neighbours
        found[row, column] = aggregation_benefit(float(rate), [float(x) for x in alone[pair : pair + 2, column]])
    return found


@answer
def conclusion(tables: Tables) -> list[str]:
    """Completion times of MPQUIC against MPTCP, scenario by scenario."""
    told = {
        name: np.log(
            values(tables, experiment, MPQUIC, "20MB", pl.col("completion_s"))
            / values(tables, experiment, MPTCP, "20MB", pl.col("completion_s"))
        ).mean(axis=0)
        for experiment, name in CLASSES.items()
    }
    shown = ", ".join(f"{reading(from_scale(mean(one), TIME), TIME)} ({name} class)" for name, one in told.items())
    sentences = [f"20 MB over two unlike paths take MPQUIC these shares of MPTCP's time: {shown}."]
    for experiment, name in CLASSES.items():
        ratios = []
        for size in (size for size in SIZES if size in tables.levels(experiment, "size")):
            quic, tcp = (values(tables, experiment, who, size, pl.col("completion_s")) for who in (MPQUIC, MPTCP))
            ratios.append(
                f"{reading(from_scale(mean(np.log(quic / tcp).mean(axis=0)), TIME), TIME)} with {quantities.text(size)}"
            )
        sentences.append(
            f"In the {name} class MPQUIC takes, in the geometric mean over scenarios, these shares of MPTCP's time: "
            f"{', '.join(ratios)}."
        )
    return sentences


@value
def by_class(tables: Tables) -> pl.DataFrame:
    """MPQUIC's completion time over MPTCP's by size, the geometric mean over scenarios, and the share of runs with
    20 MB and an aggregation benefit: a row a class."""
    rows = []
    for experiment, name in CLASSES.items():
        sizes = [size for size in SIZES if size in tables.levels(experiment, "size")]
        row = {"class": name}
        for size in sizes:
            quic, tcp = (values(tables, experiment, who, size, pl.col("completion_s")) for who in (MPQUIC, MPTCP))
            row[quantities.text(size)] = f"{np.exp(np.log(quic / tcp).mean()):.3f}"
        for multipath, single in ((MPQUIC, QUIC), (MPTCP, TCP)):
            share = (benefits(tables, experiment, multipath, single) > 0).mean()
            row[f"with a benefit, {multipath}"] = f"{100 * share:.0f} %"
        rows.append(row)
    return pl.DataFrame(rows)


@value
def first_three(tables: Tables) -> dict[str, str]:
    """How far the ratio of the protocols' median times from three replications is from that of all: the median, the
    95th percentile and the largest over all treatments."""
    off = []
    for experiment in CLASSES:
        for size in tables.levels(experiment, "size"):
            quic, tcp = (values(tables, experiment, who, size, pl.col("completion_s")) for who in (MPQUIC, MPTCP))
            few, all_of_them = (np.median(quic[:, :n], 1) / np.median(tcp[:, :n], 1) for n in (3, quic.shape[1]))
            off.append(np.exp(np.abs(np.log(few / all_of_them))))
    ratio = np.concatenate(off)
    middle, twentieth = (f"{100 * (np.quantile(ratio, share) - 1):.0f} %" for share in (0.5, 0.95))
    return {"median": middle, "twentieth": twentieth, "worst": f"{ratio.max():.1f}"}
