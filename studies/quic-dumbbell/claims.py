"""The claims of A. T. de Oliveira Filho, each judged from the results by a rule.

The source is "Uma análise experimental de desempenho do protocolo QUIC", Master's thesis, UFPE, Recife, 2020. The first
eight rules were fixed before there were results, the last four when those of the first campaign were known. The thesis
states no measured number in its text: the values stand as bars in its figures. `paper` therefore quotes in English how
far the text says that a finding reaches.

Throughout: QUIC and TCP are compared within each replication, since both meet the same losses there; a ratio is a
geometric mean over treatments; intervals are at 95 % over replications; two contenders whose interval lies within ±5 %
of each other (Jain's index: ±0.01, what a
split of 55 : 45 instead of 50 : 50 costs) are alike, which is neither a gain nor a loss. Where a rule counts single
treatments, their intervals are widened so that all of them hold together at 95 %.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from haltere.claims import (
    Evidence,
    MissingDataError,
    Verdict,
    ahead,
    alike,
    all_of,
    answer,
    beyond,
    cells,
    claim,
    exceeds,
    not_ahead,
    reading,
    remark,
    standings,
    value,
)
from haltere.claims.comparison import Comparison, compare, complete
from haltere.metrics import METRICS, quantities
from haltere.metrics.tables import Tables, margins, standing
from haltere.stats import Interval, mean

PAPER = "Oliveira Filho 2020"
CONGESTION = ["cubic", "bbr"]
RATES = ["5Mbit/s", "40Mbit/s", "100Mbit/s"]
DELAYS = ["10ms", "50ms", "100ms"]
LOSSES = ["0%", "1%", "5%"]
SIZES = ["2MB", "32MB"]
MIXES = ["bbr/bbr", "bbr/cubic", "cubic/bbr", "cubic/cubic"]

EVERYTHING = {"congestion": CONGESTION, "rate": RATES, "delay": DELAYS, "loss": LOSSES, "size": SIZES}
LONG = {**EVERYTHING, "size": ["32MB"]}
# "With delay and loss", "high", "expressive": the two upper levels of each, as the dissertation's discussion (5.2)
# names them: "com certa quantidade de atraso (50 e 100) e perda de pacotes (1% e 5%)".
IMPAIRED = {"delay": ["50ms", "100ms"], "loss": ["1%", "5%"]}


def quic_to_tcp(tables: Tables, metric: str, over: dict[str, list[str]], experiment: str = "base") -> Comparison:
    """QUIC against TCP, all else equal."""
    return compare(tables, experiment, metric, "transport", "quic", "tcp", over=over)


def _share(found: Comparison, so: str) -> str:
    """The name of a share of treatments: of how many, and in which it holds."""
    return f"Share of the {len(found.cells)} treatments in which {so}"


@claim(
    "QUIC has the better throughput in long transfers (32 MB) with delay and loss.",
    source="sections 5.1.1.1 and 5.2, figure 25",
    whose=PAPER,
    paper="“in a good part of the scenarios”",
)
def long_transfers(tables: Tables) -> Verdict:
    """Over the 32 MB treatments with 50 or 100 ms and 1 or 5 % loss, QUIC's throughput must be ahead of TCP's in the
    geometric mean, and higher in more than half of the treatments."""
    found = quic_to_tcp(tables, "throughput", {**LONG, **IMPAIRED})
    example = found.within({"rate": ["40Mbit/s"], "delay": ["100ms"], "congestion": ["cubic"]})
    return all_of(
        ahead("Throughput, QUIC ÷ TCP, geometric mean", found.pooled(), found.metric),
        exceeds(_share(found, "QUIC's throughput is the higher"), found.share_above(), 0.5, "%"),
        remark("The authors' example, 40 Mbit/s, 100 ms, CUBIC, 1 and 5 %", reading(example.pooled(), found.metric)),
    )


@claim(
    "For 2 MB objects the two are much alike under either congestion control.",
    source="section 5.1.1.1, figures 28 and 29",
    whose=PAPER,
    paper="“much alike”",
)
def small_objects(tables: Tables) -> Verdict:
    """For each congestion control, the geometric mean of the throughput ratio over all 2 MB treatments must lie within
    ±5 %, and so must the ratio in at least three quarters of the single treatments. A treatment counts against the
    claim only where its whole interval lies outside ±5 %."""
    found = quic_to_tcp(tables, "throughput", {**EVERYTHING, "size": ["2MB"]})
    singles = standings(found)
    unlike = sum(beyond(each, found.metric) for each in found.each())
    shown = found.within({"rate": ["40Mbit/s"], "delay": ["10ms"]})
    return all_of(
        *(
            alike(f"Throughput, QUIC ÷ TCP, {name}", found.within({"congestion": [level]}).pooled(), found.metric)
            for level, name in (("cubic", "CUBIC"), ("bbr", "BBR"))
        ),
        cells("Treatments in which the two are alike", singles.count("alike"), unlike, len(singles), 0.75),
        remark("At 40 Mbit/s and 10 ms, which the authors show", reading(shown.pooled(), found.metric)),
    )


@claim(
    "At 100 Mbit/s, 10 ms and no loss, TCP (CUBIC or BBR) beats QUIC.",
    source="sections 5.1.1.1 and 6.1 (third point), figure 30",
    whose=PAPER,
    paper="“a better performance”",
)
def fast_clean_path(tables: Tables) -> Verdict:
    """With 32 MB on that path, TCP's throughput must be ahead of QUIC's under CUBIC and under BBR. (The authors' QUIC
    was bound by its CPU, which a simulation has not.)"""
    over = {**LONG, "rate": ["100Mbit/s"], "delay": ["10ms"], "loss": ["0%"]}
    found = quic_to_tcp(tables, "throughput", over)
    time = quic_to_tcp(tables, "completion_time", over)
    return all_of(
        *(
            ahead(f"Throughput, QUIC ÷ TCP, {name}", found.within({"congestion": [level]}).pooled(), found.metric, "to")
            for level, name in (("cubic", "CUBIC"), ("bbr", "BBR"))
        ),
        remark("Completion time, QUIC ÷ TCP", reading(time.pooled(), time.metric)),
    )


@claim(
    "With 100 Mbit/s and 50 ms, QUIC wins as loss grows.",
    source="section 5.1.1.1, figure 31",
    whose=PAPER,
    paper="“in some cases winning”",
)
def loss_grows(tables: Tables) -> Verdict:
    """With 32 MB and CUBIC, as in the figure, QUIC's throughput must be ahead of TCP's at 5 % loss, and its advantage
    at 5 % must be larger than without loss."""
    found = quic_to_tcp(tables, "throughput", {**LONG, "rate": ["100Mbit/s"], "delay": ["50ms"]})
    cubic, bbr = (found.within({"congestion": [level]}) for level in CONGESTION)
    none, some, most = (cubic.within({"loss": [level]}) for level in LOSSES)
    return all_of(
        ahead("Throughput, QUIC ÷ TCP, at 5 % loss", most.pooled(), found.metric),
        ahead("The ratio at 5 % ÷ the ratio without loss", most.minus(none), found.metric),
        remark("The ratio without loss", reading(none.pooled(), found.metric)),
        remark("The ratio at 1 %", reading(some.pooled(), found.metric)),
        remark("With BBR, the ratio at 5 %", reading(bbr.within({"loss": ["5%"]}).pooled(), found.metric)),
    )


@claim(
    "QUIC's overhead in bytes is larger than TCP's in most cells, and rate, delay and loss hardly change it.",
    source="section 5.1.1.2, figures 32 to 35",
    whose=PAPER,
    paper="“in the great majority of the scenarios”",
)
def overhead(tables: Tables) -> Verdict:
    """QUIC's overhead must be ahead of TCP's in the geometric mean over all treatments, and larger in more than half of
    them. Rate, delay and loss hardly change it if, for each transport and factor, the mean overhead at every level is
    alike (±5 %) to that at the factor's first level, object and congestion control held equal."""
    found = quic_to_tcp(tables, "overhead", EVERYTHING)
    changes = []
    for transport, name in (("tcp", "TCP"), ("quic", "QUIC")):
        changes += [_largest_change(tables, transport, name, factor) for factor in ("rate", "delay", "loss")]
    return all_of(
        ahead("Overhead, QUIC ÷ TCP, geometric mean", found.pooled(), found.metric, "to"),
        exceeds(_share(found, "QUIC's overhead is the larger"), found.share_above(), 0.5, "%"),
        *changes,
    )


def _largest_change(tables: Tables, transport: str, name: str, factor: str) -> Evidence:
    """The overhead of one transport at the level of a factor that differs most from its first level, against that."""
    first, *others = EVERYTHING[factor]
    over = {other: levels for other, levels in EVERYTHING.items() if other != factor}
    found = [
        (level, compare(tables, "base", "overhead", factor, level, first, over={"transport": [transport], **over}))
        for level in others
    ]
    level, largest = max(found, key=lambda one: abs(float(np.log(one[1].pooled().value))))
    return alike(
        f"{name}'s overhead by {factor}: {quantities.text(level)} ÷ {quantities.text(first)}",
        largest.pooled(),
        largest.metric,
    )


@claim(
    "In total time QUIC gains only where delay and loss are high, whatever the rate.",
    source="sections 5.1.1.3 and 6.1 (fifth point), figures 36 to 38",
    whose=PAPER,
    paper="“only with marked delay and loss”",
)
def total_time(tables: Tables) -> Verdict:
    """With 32 MB objects. Where the delay is 50 or 100 ms and the loss 1 or 5 %, QUIC's completion time must be ahead
    of TCP's at each of the three rates. Everywhere else it must not be ahead in the geometric mean, and in no single
    treatment may it be clearly shorter by more than 5 %."""
    found = quic_to_tcp(tables, "completion_time", LONG)
    high, rest = found.within(IMPAIRED), found.without(IMPAIRED)
    gains = sum(
        beyond(each, found.metric) and side == "of" for each, side in zip(rest.each(), standings(rest), strict=True)
    )
    return all_of(
        *(
            ahead(
                f"Completion time, QUIC ÷ TCP, high delay and loss, {quantities.text(rate)}",
                high.within({"rate": [rate]}).pooled(),
                found.metric,
            )
            for rate in RATES
        ),
        not_ahead("Everywhere else", rest.pooled(), found.metric),
        cells("Treatments elsewhere without a clear gain", len(rest.cells) - gains, gains, len(rest.cells), 1.0),
    )


@claim(
    "Jain's index is better and steadier with QUIC than with TCP in every cell, most of all where delay and loss are "
    "both large; BBR or CUBIC makes little difference to it within QUIC.",
    source="sections 5.1.2.1 and 6.1 (second point), figures 39 to 42",
    whose=PAPER,
    paper="“in all scenarios”",
)
def fairness(tables: Tables) -> Verdict:
    """Better: the mean difference in Jain's index must favour QUIC, and no treatment may be clearly in TCP's favour.
    Steadier: the index's mean distance from the median of its treatment must be smaller with QUIC (the statistic of
    Brown and Forsythe, 1974). Most of all: the difference must be larger with 50 or 100 ms and 1 or 5 % loss than
    elsewhere. Little difference: within QUIC, BBR against BBR and CUBIC against CUBIC must have alike indices."""
    over = {"congestion": MIXES, "rate": RATES, "delay": DELAYS, "loss": LOSSES}
    found = quic_to_tcp(tables, "fairness", over, "pairs")
    worse = standings(found).count("to")
    high, rest = found.within(IMPAIRED), found.without(IMPAIRED)
    return all_of(
        ahead("Jain's index, QUIC − TCP, mean", found.pooled(), found.metric),
        cells("Treatments not clearly in TCP's favour", len(found.cells) - worse, worse, len(found.cells), 1.0),
        _steadier(tables, over),
        exceeds("The difference where delay and loss are large, beyond that elsewhere", high.minus(rest), 0.0, "±"),
        _within_quic(tables),
    )


def _steadier(tables: Tables, over: dict[str, list[str]]) -> Evidence:
    """How much farther TCP's index strays from its median than QUIC's, replication by replication."""
    treatments, matrix = complete(
        tables, "pairs", tables.values("pairs", "fairness"), {"transport": ["tcp", "quic"], **over}
    )
    strays = np.abs(matrix - np.median(matrix, axis=1, keepdims=True))
    tcp = np.array([cell["transport"] == "tcp" for cell in treatments])
    excess = mean(strays[tcp].mean(axis=0) - strays[~tcp].mean(axis=0))
    return exceeds("How much farther TCP's index strays from its median than QUIC's", excess, 0.0, "±")


def _within_quic(tables: Tables) -> Evidence:
    over = {"transport": ["quic"], "rate": RATES, "delay": DELAYS, "loss": LOSSES}
    found = compare(tables, "pairs", "fairness", "congestion", "bbr/bbr", "cubic/cubic", over=over)
    return alike("Within QUIC, Jain's index, BBR/BBR − CUBIC/CUBIC", found.pooled(), found.metric)


@claim(
    "BBR does not improve QUIC's performance noticeably over CUBIC (a slight loss).",
    source="sections 5.2 and 6.1 (first point)",
    whose=PAPER,
    paper="“a small disadvantage”",
)
def bbr_in_quic(tables: Tables) -> Verdict:
    """Over all treatments of the base experiment, QUIC's completion time with BBR must not be ahead of that with CUBIC
    in the geometric mean: alike, or longer."""
    over = {"transport": ["quic"], **{factor: EVERYTHING[factor] for factor in ("rate", "delay", "loss", "size")}}
    found = compare(tables, "base", "completion_time", "congestion", "bbr", "cubic", over=over)
    by_loss = [(level, found.within({"loss": [level]}).pooled()) for level in LOSSES]
    return all_of(
        not_ahead("QUIC's completion time, BBR ÷ CUBIC, geometric mean", found.pooled(), found.metric),
        *(
            remark(f"The ratio at {quantities.text(level)} loss", reading(ratio, found.metric))
            for level, ratio in by_loss
        ),
    )


@claim(
    "QUIC's better throughput almost never means a shorter time than TCP's, because of its overhead.",
    source="sections 5.2 and 6.1 (fourth point)",
    whose=PAPER,
    paper="“almost always”",
)
def overhead_eats_the_gain(tables: Tables) -> Verdict:
    """Of the 32 MB treatments in which QUIC's throughput is the higher, QUIC's completion time must be no shorter than
    TCP's in more than three quarters, replication by replication. No margin counts here: the time is longer exactly if
    QUIC receives more additional bytes than its throughput makes up for."""
    faster = quic_to_tcp(tables, "throughput", LONG)
    sooner = quic_to_tcp(tables, "completion_time", LONG)
    extra = quic_to_tcp(tables, "overhead", LONG)
    better, longer = faster.matrix > 0, sooner.matrix >= 0
    counts = better.sum(axis=0)
    if (counts == 0).any():
        raise MissingDataError("in a replication QUIC's throughput is the higher in no treatment")
    gains = standings(faster).count("of"), standings(sooner).count("of")
    return all_of(
        exceeds(
            "Share of the treatments with the higher throughput in which the time is no shorter",
            mean((better & longer).sum(axis=0) / counts),
            0.75,
            "%",
        ),
        remark(
            "Treatments with the higher throughput, mean of the replications", f"{counts.mean():.1f} of {len(better)}"
        ),
        remark("Treatments clearly ahead in throughput; in time", f"{gains[0]}; {gains[1]}"),
        remark("Overhead, QUIC ÷ TCP", reading(extra.pooled(), extra.metric)),
    )


@claim(
    "Most scenarios are alike in total time, but for those with high delay and loss.",
    source="section 5.2",
    whose=PAPER,
    paper="“a good part of the scenarios”",
)
def mostly_alike(tables: Tables) -> Verdict:
    """Completion times must be alike (within ±5 %) in more than half of all single treatments. So must be the geometric
    mean over the treatments that are not of 50 or 100 ms with 1 or 5 % loss."""
    found = quic_to_tcp(tables, "completion_time", EVERYTHING)
    singles, total = standings(found), len(found.cells)
    unlike = sum(beyond(each, found.metric) for each in found.each())
    long = standings(found.within({"size": ["32MB"]}))
    return all_of(
        cells("Treatments in which the two are alike", singles.count("alike"), unlike, total, (total // 2 + 1) / total),
        alike(
            "Completion time, QUIC ÷ TCP, without high delay and loss", found.without(IMPAIRED).pooled(), found.metric
        ),
        remark("Of the 32 MB treatments are alike", f"{long.count('alike')} of {len(long)}"),
        remark("QUIC ahead; TCP ahead; unclear", "; ".join(str(singles.count(of)) for of in ("of", "to", "unclear"))),
    )


@claim(
    "At 100 Mbit/s and 10 ms the two perform alike once packets are lost.",
    source="section 5.1.1.1, figure 30",
    whose=PAPER,
    paper="“similar”",
)
def alike_once_lost(tables: Tables) -> Verdict:
    """With 32 MB and CUBIC, as in the figure, throughputs must be alike (within ±5 %) at 1 % and at 5 % loss."""
    found = quic_to_tcp(tables, "throughput", {**LONG, "rate": ["100Mbit/s"], "delay": ["10ms"]})
    cubic, bbr = (found.within({"congestion": [level]}) for level in CONGESTION)
    return all_of(
        *(
            alike(f"Throughput, QUIC ÷ TCP, at {quantities.text(loss)} loss", _at(cubic, loss).pooled(), found.metric)
            for loss in LOSSES[1:]
        ),
        remark("With BBR, 1 and 5 %", reading(bbr.within({"loss": LOSSES[1:]}).pooled(), found.metric)),
    )


@claim(
    "At 5 Mbit/s and 50 ms BBR and CUBIC differ in QUIC's throughput.",
    source="section 5.1.1.1, figures 26 and 27",
    whose=PAPER,
    paper="“the difference in performance”",
)
def bbr_differs(tables: Tables) -> Verdict:
    """With 32 MB, BBR's throughput over CUBIC's, both in QUIC, must lie beyond ±5 % at one loss or more. The text does
    not say which of the two is ahead."""
    over = {"transport": ["quic"], "rate": ["5Mbit/s"], "delay": ["50ms"], "loss": LOSSES, "size": ["32MB"]}
    found = compare(tables, "base", "throughput", "congestion", "bbr", "cubic", over=over)
    differ, same = sum(beyond(each, found.metric) for each in found.each()), standings(found).count("alike")
    return all_of(
        cells("Losses at which BBR and CUBIC differ", differ, same, len(LOSSES), 1 / len(LOSSES)),
        *(
            remark(f"BBR ÷ CUBIC at {quantities.text(loss)} loss", reading(_at(found, loss).pooled(), found.metric))
            for loss in LOSSES
        ),
    )


def _at(found: Comparison, loss: str) -> Comparison:
    return found.within({"loss": [loss]})


@answer
def short_answer(tables: Tables) -> list[str]:
    """Where QUIC beats TCP, and what the congestion control does to it."""
    time = quic_to_tcp(tables, "completion_time", EVERYTHING)
    sides = standings(time)
    high, rest = time.within(IMPAIRED).pooled(), time.without(IMPAIRED).pooled()
    long, small = (time.within({"size": [size]}).pooled() for size in ("32MB", "2MB"))
    over = {factor: EVERYTHING[factor] for factor in ("rate", "delay", "loss", "size")}
    bbr = compare(tables, "base", "completion_time", "congestion", "bbr", "cubic", over={"transport": ["quic"], **over})
    clean, lossy = bbr.within({"loss": ["0%"]}).pooled(), bbr.without({"loss": ["0%"]}).pooled()
    return [
        f"{_STANDING[standing(time.pooled(), time.metric)]}, over all {len(sides)} treatments of one client and one "
        f"server: its completion time is {_times(time.pooled())} TCP's.",
        f"With intervals that hold for all treatments together, QUIC is ahead in {sides.count('of')} and TCP in "
        f"{sides.count('to')}; in {sides.count('alike')} the two are alike (within ±5 %), in "
        f"{sides.count('unclear')} the runs cannot tell.",
        f"With a delay of 50 ms or more and loss, QUIC takes {_times(high)} TCP's time, elsewhere {_times(rest)}; for "
        f"32 MB objects {_times(long)}, for 2 MB {_times(small)}.",
        f"CUBIC or BBR matters {_weight(lossy.value)} under loss and {_weight(clean.value)} without it: QUIC with BBR "
        f"takes {_times(lossy)} the time of QUIC with CUBIC where packets are lost, {_times(clean)} where none are.",
    ]


_STANDING = {
    "of": "QUIC beats TCP",
    "to": "TCP beats QUIC",
    "alike": "QUIC is as fast as TCP",
    "unclear": "QUIC is not shown to be faster or slower than TCP",
}


def _times(ratio: Interval) -> str:
    """A ratio of times in a sentence."""
    return f"{reading(ratio, METRICS['completion_time'])} times".replace(" (exact)", "")


def _weight(ratio: float) -> str:
    """How much a ratio of times matters: little within the margin of practical equivalence, much beyond a quarter."""
    least, most = margins(METRICS["completion_time"])
    if least <= ratio <= most:
        return "little"
    return "somewhat" if 0.8 <= ratio <= 1.25 else "much"


@value
def congestion_control_at_worst(tables: Tables) -> dict[str, str | float]:
    """The treatment in which QUIC's mean completion times with CUBIC and with BBR are farthest apart."""
    over = {factor: EVERYTHING[factor] for factor in ("rate", "delay", "loss", "size")}
    found = compare(
        tables, "base", "completion_time", "congestion", "cubic", "bbr", over={"transport": ["quic"], **over}
    )
    worst = max(range(len(found.cells)), key=lambda at: float(found.matrix[at].mean()))
    where = dict(found.cells[worst])
    times = {
        level: f"{_mean_time(tables, {'transport': 'quic', **where, 'congestion': level}):.3g} s"
        for level in CONGESTION
    }
    shown = ", ".join(quantities.text(where[factor], factor) for factor in ("rate", "delay", "loss", "size"))
    return {"where": shown, "factor": f"{float(np.exp(found.matrix[worst].mean())):.0f}", **times}


def _mean_time(tables: Tables, where: dict[str, str]) -> float:
    return float(tables.values("base", "completion_time", where)["value"].to_numpy().mean())


@value
def short_objects_on_clean_paths(tables: Tables) -> str:
    """The range of QUIC's completion time over TCP's for 2 MB without loss, at 50 ms or more and 40 Mbit/s or more."""
    over = {**EVERYTHING, "size": ["2MB"], "loss": ["0%"], "delay": ["50ms", "100ms"], "rate": RATES[1:]}
    ratios = [each.value for each in quic_to_tcp(tables, "completion_time", over).each()]
    return f"{min(ratios):.2f} to {max(ratios):.2f}"


@value
def slowest_bbr(tables: Tables) -> float:
    """The longest of QUIC's completion times with BBR at 100 Mbit/s, 100 ms and 5 % loss, over the median."""
    where = {
        "transport": "quic",
        "congestion": "bbr",
        "rate": "100Mbit/s",
        "delay": "100ms",
        "loss": "5%",
        "size": "32MB",
    }
    times = tables.values("base", "completion_time", where)["value"].to_numpy()
    return float(f"{times.max() / np.median(times):.2g}")


@value
def fairness_of_mixed_pairs(tables: Tables) -> dict[str, str]:
    """The mean index of BBR beside CUBIC under loss, by transport, and the largest difference of a treatment."""
    over = {"congestion": MIXES, "rate": RATES, "delay": DELAYS, "loss": LOSSES}
    apart = [abs(each.value) for each in quic_to_tcp(tables, "fairness", over, "pairs").each()]
    mixed = {"congestion": ["bbr/cubic", "cubic/bbr"], "loss": ["1%", "5%"]}
    of = {name: tables.values("pairs", "fairness", {"transport": name, **mixed}) for name in ("tcp", "quic")}
    means = {name: f"{values['value'].to_numpy().mean():.2f}" for name, values in of.items()}
    return {**means, "most": f"{max(apart):.2f}"}


@value
def held_behind_holes(tables: Tables) -> dict[str, str]:
    """The share of the time for which the client holds data behind missing data, under loss, for 32 MB.

    Nothing of clients that do not tell, which are programs.
    """
    flows = tables.flows.filter((pl.col("experiment") == "base") & pl.col("blocked_s").is_not_null())
    flows = flows.filter(pl.col("status") == "ok")
    flows = flows.filter((pl.col("size") == "32MB") & (pl.col("loss") != "0%"))
    share = (pl.col("blocked_s") / pl.col("completion_s")).mean() * 100
    means = flows.group_by("transport", "congestion").agg(share.alias("share"))
    return {
        f"{row['transport']}_{row['congestion']}": f"{row['share']:.0f} %"
        for row in means.sort("transport", "congestion").to_dicts()
    }


@value
def bytes_for_more_throughput(tables: Tables) -> str:
    """How much more QUIC's client receives than TCP's of the same object, and so how much throughput costs no time."""
    flows = tables.flows.filter((pl.col("experiment") == "base") & (pl.col("size") == "32MB"))
    means = dict(flows.group_by("transport").agg(pl.col("wire_bytes").mean()).iter_rows())
    return f"{100 * (means['quic'] / means['tcp'] - 1):.2g} %"
