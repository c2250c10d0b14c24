"""Claims on what RFC 8867 expects of a congestion control of calls, case by case and control by control.

`haltere.claims.calls` says what *used*, *low*, *fair* and *alive* mean. Intervals are at 95 % over replications.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import polars as pl

from haltere.claims import Evidence, answer, below, exceeds, value
from haltere.claims.calls import MOST, USED, Calls, Case, in_short, outcomes
from haltere.claims.comparison import geometric
from haltere.metrics.tables import Tables
from haltere.stats import mean

CONTROLS = {
    "GCC": "rtp/gcc",
    "NADA": "rtp/nada",
    "SCReAM": "rtp/scream",
    "SCReAM v1": "rtp/scream_v1",
    "str0m": "rtp@str0m/gcc",
}
WHOSE = "RFC 8867"

AUDIO = 0.036
"""Mbit/s of the audio beside each call, with headers."""
STEADY = 0.2
"""The largest variation of the rate over seconds: that of the encoder itself is about 5 %."""
KEPT = 0.8
"""The least part of a rate that is kept where the RFC compares with another case."""


def one_flow(calls: Calls) -> Iterator[Evidence]:
    """For each capacity, with one-way delays of 50 and 100 ms: the call uses what it could, its delay is low,
    and at the first capacity its rate varies by at most 20 %."""
    for delay in ("50ms", "100ms"):
        for window, capacity in (("1 Mbit/s", 1.0), ("2.5 Mbit/s", 2.5), ("0.6 Mbit/s", 0.6), ("1 Mbit/s again", 1.0)):
            at = {"window": window, "delay": delay}
            yield calls.used(f"{window}, {delay}", capacity, **at)
            yield calls.low(f"{window}, {delay}", **at)
        varied = calls.flows("rate_variation", window="1 Mbit/s", delay=delay)
        yield below(f"Variation of the rate, 1 Mbit/s, {delay}", mean(varied.mean(axis=1)), STEADY, "%")


def two_flows(calls: Calls) -> Iterator[Evidence]:
    """For each capacity: the calls use what they could, and their delay is low."""
    for window, capacity in (
        ("4 Mbit/s", 4.0), ("2 Mbit/s", 2.0), ("3.5 Mbit/s", 3.5), ("1 Mbit/s", 1.0), ("2 Mbit/s again", 2.0),
    ):  # fmt: skip
        yield calls.used(window, capacity, window=window)
        yield calls.low(window, window=window)


def feedback(calls: Calls) -> Iterator[Evidence]:
    """For each capacity forward: the call forward has at least 0.8 times the goodput that it has where the
    path backward is free, and its delay is low."""
    forward = pl.col("label") == "forward"
    for window in ("2 Mbit/s", "1 Mbit/s", "0.5 Mbit/s", "2 Mbit/s again"):
        rates = [calls.rates(forward, window=window, backward=one) for one in ("congested", "free")]
        kept = geometric(np.log(rates[0] / rates[1]).mean(axis=1))
        yield exceeds(f"Goodput ÷ with a free path backward, {window}", kept, KEPT)
        yield calls.low(window, forward, window=window, backward="congested")


def sharing(calls: Calls) -> Iterator[Evidence]:
    """From 60 s on, when all three are there: their rates are fair, they use what they could, and their delay
    is low."""
    at = {"window": "all three"}
    yield calls.fair("three calls", **at)
    yield calls.used("three calls", 3.5, **at)
    yield calls.low("three calls", **at)


def rtts(calls: Calls) -> Iterator[Evidence]:
    """From 100 s on: the rates of five calls with one-way delays of 10 to 150 ms are fair, they use what they
    could, and their delay is low."""
    at = {"window": "all five"}
    yield calls.fair("five calls", **at)
    yield calls.used("five calls", 4.0, **at)
    yield calls.low("five calls", **at)


def long_tcp(calls: Calls) -> Iterator[Evidence]:
    """With queues of 300 and 1000 ms, beside NewReno and CUBIC: the call is not starved, and call and TCP use
    two thirds of the capacity together."""
    for queue in ("300 ms", "1000 ms"):
        for tcp in ("newreno", "cubic"):
            at = {"window": "both", "queue": queue, "tcp": tcp}
            every = calls.rates(pl.col("run_id").is_not_null(), **at).sum(axis=1)
            yield calls.alive(f"{queue}, {tcp}", **at)
            yield exceeds(f"Used together, {queue}, {tcp}", mean(every / (2.0 - AUDIO)), USED, "%")


def short_tcp(calls: Calls) -> Iterator[Evidence]:
    """Beside the short flows no call is starved; after them the calls have nine tenths of their goodput
    before, or more."""
    before, after = (calls.rates(window=window).sum(axis=1) for window in ("before", "after"))
    yield calls.alive("beside short flows", window="beside short flows")
    yield exceeds("Goodput after ÷ before", geometric(np.log(after / before)), 0.9)


def pause(calls: Calls) -> Iterator[Evidence]:
    """In the pause the two others have nine tenths of the largest rate each; after it rates are fair, and the
    sum is at least nine tenths of that before."""
    others = pl.col("label").is_in(["first", "third"])
    rates = calls.rates(others, window="pause").min(axis=1)
    before, after = (calls.rates(window=window).sum(axis=1) for window in ("before the pause", "after the pause"))
    yield exceeds("Least goodput of the others in the pause", mean(rates), 0.9 * MOST, "Mbit/s")
    yield calls.fair("after the pause", window="after the pause")
    yield exceeds("Goodput after ÷ before", geometric(np.log(after / before)), 0.9)


def _case(section: str, experiment: str, expected: str, parts: Callable[[Calls], Iterator[Evidence]]) -> Case:
    return Case(WHOSE, section, experiment, expected, parts, AUDIO)


CASES = (
    _case("5.1", "one-flow", "a single call follows a capacity that changes, steadily and with a low delay.", one_flow),
    _case("5.2", "two-flows", "two calls follow a capacity that changes.", two_flows),
    _case("5.3", "feedback", "a congested path backward does little harm forward.", feedback),
    _case("5.4", "sharing", "three calls converge to equal rates with a low delay.", sharing),
    _case("5.5", "rtts", "calls of different delays converge to equal rates.", rtts),
    _case("5.6", "long-tcp", "a call beside a long TCP flow keeps its least rate.", long_tcp),
    _case("5.7", "short-tcp", "calls survive short TCP flows and recover.", short_tcp),
    _case("5.8", "pause", "others take the rate of a call that pauses, and share again after it.", pause),
)

CLAIMS = [case.claim(name, control) for case in CASES for name, control in CONTROLS.items()]


@answer
def passed(tables: Tables) -> list[str]:
    """How many of the cases each control passes."""
    return [in_short(outcomes(CASES, CONTROLS, tables), CONTROLS)]


@value
def verdicts(tables: Tables) -> pl.DataFrame:
    """The verdicts of all cases and controls."""
    return pl.DataFrame(outcomes(CASES, CONTROLS, tables))


WINDOWS = {
    "one-flow": ("1 Mbit/s", "2.5 Mbit/s", "0.6 Mbit/s", "1 Mbit/s again"),
    "two-flows": ("4 Mbit/s", "2 Mbit/s", "3.5 Mbit/s", "1 Mbit/s", "2 Mbit/s again"),
    "feedback": ("2 Mbit/s", "1 Mbit/s", "0.5 Mbit/s", "2 Mbit/s again"),
    "sharing": ("all three",),
    "rtts": ("all five",),
}
"""The windows of the sections 5.1 to 5.5, which have no TCP."""
ALSO = {"one-flow": {"delay": "50ms"}, "feedback": {"backward": "congested"}}


@value
def beside_str0m(tables: Tables) -> dict[str, object]:
    """The goodput of all calls of the model's GCC over that of str0m's, in the windows of 5.1 to 5.5."""
    ratios = []
    for experiment, names in WINDOWS.items():
        for window in names:
            at = {"window": window, **ALSO.get(experiment, {})}
            sums = [Calls(tables, experiment, CONTROLS[name]).rates(**at).sum(axis=1) for name in ("GCC", "str0m")]
            ratios.append(np.log(sums[0] / sums[1]))
    each = np.exp(np.mean(ratios, axis=1))
    apart = np.sort(np.abs(each - 1))
    return {
        "median": geometric(np.median(np.array(ratios), axis=0)),
        "apart": f"{np.median(apart):.1%}".replace("%", " %"),
        "within": f"{int((apart <= 0.05).sum())} of {len(apart)}",
        "range": f"{each.min():.2f} to {each.max():.2f}",
    }


@value
def queues(tables: Tables) -> pl.DataFrame:
    """The time that packets waited at the bottleneck of 5.1 on average, ms."""
    names = [name for name in WINDOWS["one-flow"] if not name.endswith("again")]
    rows = []
    for name, control in CONTROLS.items():
        found = (
            tables.experiment_runs("one-flow")
            .filter(pl.col("control") == control, pl.col("delay") == "50ms", pl.col("window").is_in(names))
            .select("run_id")
            .join(tables.links.filter(pl.col("link") == "bottleneck", pl.col("direction") == "down"), on="run_id")
        )
        means = {
            window: found.filter(pl.col("window") == window)["mean_queueing_delay_s"].to_numpy() * 1e3
            for window in names
        }
        rows.append({"control": name} | {window: mean(delays).value for window, delays in means.items()})
    return pl.DataFrame(rows).with_columns(pl.exclude("control").round(1))


BESIDE = ("rtp/gcc", "rtp@str0m/gcc", "rtp@str0m/gcc+rawestimate")
SECTIONS = {
    "one-flow": "5.1",
    "two-flows": "5.2",
    "feedback": "5.3",
    "sharing": "5.4",
    "rtts": "5.5",
    "long-tcp": "5.6",
}


def bottleneck(calls: Calls, **at: str) -> tuple[float, float]:
    """Return the mean wait at the bottleneck, ms, and the share of packets that its queue dropped, forward."""
    levels = {"control": calls.control, **at}
    found = (
        calls.tables.experiment_runs(calls.experiment)
        .filter(pl.col("status") == "ok", *(pl.col(name) == level for name, level in levels.items()))
        .select("run_id")
        .join(calls.tables.links.filter(pl.col("link") == "bottleneck", pl.col("direction") == "down"), on="run_id")
    )
    dropped = found["dropped_queue"].to_numpy() / np.maximum(found["offered_packets"].to_numpy(), 1)
    return float(1e3 * found["mean_queueing_delay_s"].to_numpy().mean()), float(dropped.mean())


@value
def windows(tables: Tables) -> pl.DataFrame:
    """The model's GCC and str0m's in the windows of 5.1 to 5.6: means over replications."""
    rows = []
    for experiment, names in (WINDOWS | {"long-tcp": ("both",)}).items():
        also = ALSO.get(experiment, {"queue": "300 ms", "tcp": "newreno"} if experiment == "long-tcp" else {})
        for window in names:
            for control in BESIDE:
                at = {"window": window, **also}
                calls = Calls(tables, experiment, control)
                waits, dropped = bottleneck(calls, **at)
                late = calls.late(**at)[:, 0]
                sent, shown = (calls.flows(name, **at)[:, 0] for name in ("frames_sent", "frames_shown"))
                rows.append(
                    {
                        "case": SECTIONS[experiment],
                        "window": window,
                        "contender": f"`{control}`",
                        "goodput, Mbit/s": " + ".join(f"{one:.2f}" for one in calls.rates(**at).mean(axis=0)),
                        "queueing, ms": round(waits),
                        "dropped, %": round(100 * dropped, 1),
                        "95 % of frames within, ms": round(float(late.mean())),
                        "shown, %": round(100 * float((shown / np.maximum(sent, 1)).mean())),
                        "freezes": round(float(calls.flows("freezes", **at)[:, 0].mean()), 1),
                    }
                )
    return pl.DataFrame(rows)
