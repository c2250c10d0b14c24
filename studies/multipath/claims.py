"""The findings of Lenz et al. (2019) on MPTCP and MPQUIC, and the aggregation benefit of De Coninck and Bonaventure.

P. Lenz Jr., M. D. M. da Silva, A. Santos, M. Nogueira: "Avaliação do Problema de Reordenamento de Pacotes e das
Políticas de Escalonamento em Protocolos Multicaminhos", UFPR, 2019. Q. De Coninck,
O. Bonaventure: "Multipath QUIC: Design and Evaluation", CoNEXT 2017.

All scenarios of a replication meet the same losses by ordinal, so the independent unit is the replication: a statistic
is taken over the scenarios and both first paths within each replication, and intervals are at 95 % over replications.

Lenz et al. give one number for 50 scenarios and do not say how these are shared between the two classes of their table.
So each of their claims is judged three times: in the lower class, in the higher one, and over both together. It is
confirmed if it holds in all three, contradicted if it is contradicted in all three, and undecided otherwise; the first
number of each verdict says where it holds. Each is judged for the stacks of 2017, about which it was made, and for
today's, of which it says what has changed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from haltere.claims import (
    Evidence,
    MissingDataError,
    Outcome,
    Verdict,
    ahead,
    all_of,
    answer,
    between,
    claim,
    exceeds,
    few,
    reading,
    remark,
    value,
)
from haltere.metrics import METRICS, quantities
from haltere.metrics.tables import Tables, from_scale
from haltere.metrics.text import significant
from haltere.stats import Interval, aggregation_benefit, mean, mean_of_amounts

Numbers = NDArray[np.float64]
Statistic = Callable[[Numbers], float]

MPTCP, MPQUIC, TCP, QUIC = "MPTCP", "MPQUIC", "TCP", "QUIC"
PAPER = "Lenz et al. 2019"
CONEXT = "De Coninck and Bonaventure 2017"
STACKS = ("2017", "today")
CLASSES = {"low": "lower", "high": "higher"}
READINGS: dict[str, tuple[str, ...]] = {"lower": ("low",), "higher": ("high",), "both": ("low", "high")}
"""Which scenarios the paper's numbers may be of, and the experiments that hold them."""

SIZES = ["300kB", "1MB", "20MB"]
TIME = METRICS["completion_time"]
TO = 0.15
"""How near a stated number must be met."""

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
            ahead(f"{said}, {self.scenarios}, MPQUIC ÷ MPTCP", geometric(quic, tcp), TIME),
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


def geometric(of: Numbers, to: Numbers) -> Interval:
    """The geometric mean of the ratios with its interval."""
    return from_scale(mean(np.log(of / to)), TIME)


def over_readings(tables: Tables, stack: str, parts: Callable[[Side], Iterable[Evidence]]) -> Verdict:
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


Judge = Callable[[Side], Iterable[Evidence]]
_JUDGES: list[tuple[str, str, str, Judge]] = []


def of_the_paper(sentence: str, *, source: str, paper: str = "") -> Callable[[Judge], Judge]:
    """Note a claim of Lenz et al. by the function that judges it in one reading; `_register` makes claims of it."""

    def decorate(parts: Judge) -> Judge:
        _JUDGES.append((sentence, source, paper, parts))
        return parts

    return decorate


def _register() -> None:
    """Make claims of the noted functions: `NAME_2017` of all, then `NAME_today`."""
    for stack in STACKS:
        for sentence, source, paper, parts in _JUDGES:

            def judged(tables: Tables, stack: str = stack, parts: Judge = parts) -> Verdict:
                return over_readings(tables, stack, parts)

            judged.__name__, judged.__doc__ = f"{parts.__name__}_{stack}", parts.__doc__
            said = sentence if stack == "2017" else f"Today: {sentence}"
            globals()[judged.__name__] = claim(said, source=source, whose=PAPER, paper=paper)(judged)


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
        _near(f"Interquartile range, {side.scenarios}, MPTCP, 1 MB ÷ 300 kB", _ratio_of_means(tcp[1], tcp[0]), 1.0),
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
        parts.append(_near(what, _ratio_of_means(quic, tcp), 1.0))
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


@of_the_paper(
    "300 kB: MPTCP loses a larger share of its packets, in the median and on average; MPQUIC's shares vary more.",
    source="section 3, figure 10 (a)",
    paper="median 1.31 % (MPQUIC), 2.26 % (MPTCP); mean 1.51 and 1.72 %",
)
def losses_of_mice(side: Side) -> Iterable[Evidence]:
    """Packets that the server sent and the client did not receive, as a share of those sent: median and mean over
    scenarios must be larger with MPTCP, the interquartile range with MPQUIC."""
    return [
        *side.more("300kB", LOST, median, "Median loss, %", of=MPTCP, scale=100),
        *side.more("300kB", LOST, average, "Mean loss, %", of=MPTCP, scale=100),
        *side.more("300kB", LOST, spread, "Interquartile range, %", of=MPQUIC, scale=100),
    ]


@of_the_paper(
    "1 MB: MPQUIC loses fewer packets on average.",
    source="section 3, figure 10 (b)",
    paper="80 % fewer",
)
def losses_of_1mb(side: Side) -> Iterable[Evidence]:
    """Packets sent by the server and not received by the client: the mean over scenarios must be larger with MPTCP."""
    return side.more("1MB", DROPPED, average, "Mean packets lost, 1 MB", of=MPTCP, scale=1)


@of_the_paper(
    "20 MB: MPTCP loses more packets on average.",
    source="section 3, figure 10 (c)",
    paper="65.6 % more",
)
def losses_of_elephants(side: Side) -> Iterable[Evidence]:
    """As with 1 MB: the mean over scenarios must be larger with MPTCP."""
    return side.more("20MB", DROPPED, average, "Mean packets lost, 20 MB", of=MPTCP, scale=1)


@of_the_paper(
    "1 MB and 20 MB: losses are more uniform over MPQUIC, with fewer outliers.", source="section 3, figure 10 (b), (c)"
)
def steadier_losses(side: Side) -> Iterable[Evidence]:
    """The interquartile range of the share of packets lost and the number of its outliers must be larger with MPTCP."""
    parts: list[Evidence] = []
    for size in ("1MB", "20MB"):
        shown = quantities.text(size)
        parts += side.more(size, LOST, spread, f"Interquartile range, %, {shown}", of=MPTCP, scale=100)
        parts += side.more(size, LOST, outliers, f"Outliers among 100, {shown}", of=MPTCP, scale=1)
    return parts


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
        _near(f"Mean, 1 MB, {side.scenarios}, MPQUIC ÷ MPTCP", geometric(quic, tcp), 1.0),
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
    gain = geometric(ratios["300kB"][0] / ratios["300kB"][1], ratios["20MB"][0] / ratios["20MB"][1])
    return [
        *(part for size in SIZES for part in side.sooner(size, average, f"Mean, {quantities.text(size)}")),
        exceeds(f"MPQUIC ÷ MPTCP, {side.scenarios}, with 300 kB ÷ with 20 MB", gain, 1.0),
    ]


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
        _near(f"{one.what}, {side.scenarios}", mean(one.taken(side)), one.said, one.unit)
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


def _near(what: str, found: Interval, target: float, unit: str = "") -> Evidence:
    """The part "this number is within 15 % of the target"; percentages are written as they are."""
    shown = "" if unit == "%" else unit
    said = f"{what}, %" if unit == "%" else what
    return between(said, found, target * (1 - TO), target * (1 + TO), shown)


def _ratio_of_means(of: Numbers, to: Numbers) -> Interval:
    """The ratio of two means over replications, with an interval by the delta method."""
    ratio = float(of.mean() / to.mean())
    return mean(ratio + (of - ratio * to) / float(to.mean()))


_register()


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


def benefits(tables: Tables, experiment: str, multipath: str, single: str, stack: str) -> Numbers:
    """The experimental aggregation benefit: a row a scenario and first path, a column a replication."""
    goodput = pl.col("goodput_bps")
    together, alone = (values(tables, [experiment], label(who, stack), "20MB", goodput) for who in (multipath, single))
    found = np.empty_like(together)
    for (row, column), rate in np.ndenumerate(together):
        pair = row - row % 2  # a scenario's two first paths are neighbours
        found[row, column] = aggregation_benefit(float(rate), [float(x) for x in alone[pair : pair + 2, column]])
    return found


def _stacks(tables: Tables) -> list[str]:
    """The stacks that these results have."""
    there = set(tables.flows["protocol"].unique())
    return [stack for stack in STACKS if label(MPQUIC, stack) in there]


@answer
def conclusion(tables: Tables) -> list[str]:
    """Completion times of MPQUIC against MPTCP, scenario by scenario."""
    sentences = []
    for stack in _stacks(tables):
        whose = "With the stacks of 2017" if stack == "2017" else "With today's stacks"
        for experiment, name in CLASSES.items():
            ratios = []
            for size in (size for size in SIZES if size in tables.levels(experiment, "size")):
                quic, tcp = (values(tables, [experiment], label(who, stack), size, SECONDS) for who in (MPQUIC, MPTCP))
                ratio = from_scale(mean(np.log(quic / tcp).mean(axis=0)), TIME)
                ratios.append(f"{reading(ratio, TIME)} with {quantities.text(size)}")
            sentences.append(
                f"{whose}, in the {name} class, MPQUIC takes in the geometric mean over scenarios these shares of "
                f"MPTCP's time: {', '.join(ratios)}."
            )
    return sentences


Given = TypeVar("Given")


def where_it_was_run(given: Callable[[Tables], Given]) -> Callable[[Tables], Given | str]:
    """Let a value say what is missing where a variant lacks the runs that it is of."""

    @functools.wraps(given)
    def found(tables: Tables) -> Given | str:
        try:
            return given(tables)
        except MissingDataError as missing:
            return f"{missing}."

    return found


@value
@where_it_was_run
def published(tables: Tables) -> pl.DataFrame:
    """The numbers of the paper's section 3 beside those of the stacks of 2017: means over replications."""
    return _published(tables, "2017")


@value
@where_it_was_run
def published_today(tables: Tables) -> pl.DataFrame:
    """The numbers of the paper's section 3 beside those of today's stacks."""
    return _published(tables, "today")


def _published(tables: Tables, stack: str) -> pl.DataFrame:
    rows = []
    for one in PUBLISHED:
        found = {name: float(one.taken(Side(tables, name, stack)).mean()) for name in READINGS}
        near = [name for name, number in found.items() if abs(number / one.said - 1) <= TO]
        rows.append(
            {
                "figure": one.figure,
                "number": one.what,
                "the paper": f"{one.said:g} {one.unit}",
                **{name: f"{significant(number)} {one.unit}" for name, number in found.items()},
                "to 15 %": ", ".join(near) or "–",
            }
        )
    return pl.DataFrame(rows)


@value
@where_it_was_run
def spreads(tables: Tables) -> dict[str, str]:
    """Mean, median and longest time of 20 MB, s, by reading and protocol; mean and median of 1 MB over MPQUIC, and the
    longest of MPTCP with 300 kB and 1 MB."""
    found = {}
    for name in READINGS:
        side = Side(tables, name, "2017")

        def shown(who: str, size: str, *statistics: Statistic, side: Side = side) -> str:
            return " / ".join(significant(float(side.each(who, size, SECONDS, one).mean())) for one in statistics)

        found[f"{name}_mpquic"] = shown(MPQUIC, "20MB", average, median, longest)
        found[f"{name}_mptcp"] = shown(MPTCP, "20MB", average, median, longest)
        found[f"{name}_1mb"] = shown(MPQUIC, "1MB", average, median)
        found[f"{name}_longest"] = f"{shown(MPTCP, '300kB', longest)} / {shown(MPTCP, '1MB', longest)}"
    return found


@value
@where_it_was_run
def losses_by_definition(tables: Tables) -> dict[str, str]:
    """The share of packets lost with 300 kB, both classes: its median without those under way at the end, with them,
    and over the runs that lost any; the share of runs that lost none; the least loss."""
    found = {}
    experiments = READINGS["both"]
    for who in (MPQUIC, MPTCP):
        lost, missing = (
            100 * values(tables, experiments, label(who, "2017"), "300kB", what)
            for what in (LOST, pl.col("missing") / pl.col("offered"))
        )
        found[f"{who}_lost"] = f"{np.median(lost):.2f} %"
        found[f"{who}_missing"] = f"{np.median(missing):.2f} %"
        found[f"{who}_some"] = f"{np.median(lost[lost > 0]):.2f} %"
        found[f"{who}_none"] = f"{100 * (lost == 0).mean():.0f} %"
        found[f"{who}_least"] = f"{lost[lost > 0].min():.2f} %"
    return found


@value
@where_it_was_run
def by_class(tables: Tables) -> pl.DataFrame:
    """MPQUIC's completion time over MPTCP's by size, the geometric mean over scenarios, and the share of runs with
    20 MB and an aggregation benefit: a row a class and stack."""
    rows = []
    for stack in _stacks(tables):
        for experiment, name in CLASSES.items():
            row = {"stacks": stack, "class": name}
            for size in (size for size in SIZES if size in tables.levels(experiment, "size")):
                quic, tcp = (values(tables, [experiment], label(who, stack), size, SECONDS) for who in (MPQUIC, MPTCP))
                row[quantities.text(size)] = f"{np.exp(np.log(quic / tcp).mean()):.3f}"
            for multipath, single in ((MPQUIC, QUIC), (MPTCP, TCP)):
                share = (benefits(tables, experiment, multipath, single, stack) > 0).mean()
                row[f"with a benefit, {multipath}"] = f"{100 * share:.0f} %"
            rows.append(row)
    return pl.DataFrame(rows)


@value
@where_it_was_run
def first_three(tables: Tables) -> dict[str, str]:
    """How far the ratio of the protocols' median times from three replications is from that of all: the median, the
    95th percentile and the largest over all treatments."""
    off = []
    for experiment in CLASSES:
        for size in tables.levels(experiment, "size"):
            quic, tcp = (values(tables, [experiment], label(who, "2017"), size, SECONDS) for who in (MPQUIC, MPTCP))
            three, whole = (np.median(quic[:, :n], 1) / np.median(tcp[:, :n], 1) for n in (3, quic.shape[1]))
            off.append(np.exp(np.abs(np.log(three / whole))))
    ratio = np.concatenate(off)
    middle, twentieth = (f"{100 * (np.quantile(ratio, share) - 1):.0f} %" for share in (0.5, 0.95))
    return {"median": middle, "twentieth": twentieth, "worst": f"{ratio.max():.1f}"}
