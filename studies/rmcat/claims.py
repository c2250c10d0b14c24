"""Claims on what RFC 8867 and RFC 8869 expect of a congestion control of calls, case by case and control by control.

The RFC gives no bounds. Those here were fixed before there were results. *Used* means that calls get at least two
thirds of what they could: the capacity without audio, or 1.5 Mbit/s each if that is less. A delay is *low* if 95 %
of the frames are shown within 400 ms, which ITU-T G.114 gives as the limit for conversations. Rates are *fair* if
Jain's index is at least 0.9, and a call is not *starved* if it has nine tenths of its least rate. Intervals are at
95 % over replications.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from haltere.claims import (
    Claim,
    Evidence,
    MissingDataError,
    Verdict,
    all_of,
    answer,
    below,
    claim,
    exceeds,
    few,
    value,
)
from haltere.claims.comparison import geometric
from haltere.metrics.tables import Tables
from haltere.stats import mean

Numbers = NDArray[np.float64]

CONTROLS = {
    "GCC": "rtp/gcc",
    "NADA": "rtp/nada",
    "SCReAM": "rtp/scream",
    "SCReAM v1": "rtp/scream_v1",
    "str0m": "rtp@str0m/gcc",
}
WHOSE = "RFC 8867"
WIRELESS = "RFC 8869"

AUDIO = 0.036
"""Mbit/s of the audio beside each call, with headers."""
MOST = 1.5
LEAST = 0.15
"""Mbit/s that a call's encoder writes at most and at least."""

USED = 2 / 3
LATE_MS = 400.0
NO_PICTURE_MS = 10e3
"""The latency that a call without a frame in a window counts as."""
FAIR = 0.9
ALIVE = 0.9 * LEAST
STEADY = 0.2
"""The largest variation of the rate over seconds: that of the encoder itself is about 5 %."""
KEPT = 0.8
"""The least part of a rate that is kept where the RFC compares with another case."""


@dataclass(frozen=True)
class Seen:
    """The results of the calls of one control in one window of a case: a row a replication, a column a call."""

    tables: Tables
    experiment: str
    control: str

    def calls(self, column: str, **at: str) -> Numbers:
        """Return a column of each call."""
        return self.flows(column, pl.col("contender") == self.control, **at)

    def flows(self, column: str, which: pl.Expr, **at: str) -> Numbers:
        """Return a column of some flows."""
        levels = {"control": self.control, **at}
        runs = self.tables.experiment_runs(self.experiment).filter(
            pl.col("status") == "ok", *(pl.col(name) == level for name, level in levels.items())
        )
        if runs.height < 2:
            raise MissingDataError(f"{few(runs.height)} of {self.control} in {self.experiment}")
        flows = self.tables.flows.filter(which).select("run_id", "flow", pl.col(column).cast(pl.Float64).alias("value"))
        wide = (
            runs.select("run_id", "replication")
            .join(flows, on="run_id")
            .sort("flow")
            .pivot(on="flow", index="replication", values="value")
            .sort("replication")
        )
        return wide.drop("replication").to_numpy().astype(np.float64)

    def rates(self, **at: str) -> Numbers:
        """Return the goodput of each call, Mbit/s."""
        return self.calls("goodput_bps", **at) / 1e6

    def used(self, name: str, capacity: float, **at: str) -> Evidence:
        """The part "the calls use what they could", of a capacity in Mbit/s."""
        rates = self.rates(**at)
        count = rates.shape[1]
        share = rates.sum(axis=1) / min(capacity - count * AUDIO, count * MOST)
        return exceeds(f"Used, {name}", mean(share), USED, "%")

    def low(self, name: str, **at: str) -> Evidence:
        """The part "the delay is low": the mean over the calls."""
        return self.low_of(pl.col("contender") == self.control, name, **at)

    def low_of(self, which: pl.Expr, name: str, **at: str) -> Evidence:
        """The part "the delay is low" of some flows."""
        late = np.nan_to_num(1e3 * self.flows("glass_to_glass_p95_s", which, **at), nan=NO_PICTURE_MS)
        return below(f"95 % of frames are shown within, {name}", mean(late.mean(axis=1)), LATE_MS, "ms")

    def fair(self, name: str, **at: str) -> Evidence:
        """The part "the rates are fair"."""
        rates = self.rates(**at)
        index = rates.sum(axis=1) ** 2 / (rates.shape[1] * (rates**2).sum(axis=1))
        return exceeds(f"Jain's index, {name}", mean(index), FAIR)

    def alive(self, name: str, **at: str) -> Evidence:
        """The part "no call starves": the least of them."""
        return exceeds(
            f"Least goodput of a call, {name}", mean(1e3 * self.rates(**at).min(axis=1)), 1e3 * ALIVE, "kbit/s"
        )


Parts = Callable[[Seen], Iterator[Evidence]]


@dataclass(frozen=True)
class Case:
    """A section of the RFC: its experiment, what is expected, and how it is judged."""

    section: str
    experiment: str
    expected: str
    parts: Parts
    whose: str = WHOSE

    def claim(self, name: str) -> Claim[Tables]:
        """Return the claim for one control."""

        def judged(tables: Tables) -> Verdict:
            return all_of(*self.parts(Seen(tables, self.experiment, CONTROLS[name])))

        judged.__name__ = f"{self.parts.__name__}_{name.lower()}".replace(" ", "_")
        judged.__doc__ = self.parts.__doc__
        return claim(f"{name}: {self.expected}", source=f"section {self.section}", whose=self.whose)(judged)


def one_flow(seen: Seen) -> Iterator[Evidence]:
    """For each capacity, with one-way delays of 50 and 100 ms: the call uses what it could, its delay is low,
    and at the first capacity its rate varies by at most 20 %."""
    for delay in ("50ms", "100ms"):
        for window, capacity in (("1 Mbit/s", 1.0), ("2.5 Mbit/s", 2.5), ("0.6 Mbit/s", 0.6), ("1 Mbit/s again", 1.0)):
            at = {"window": window, "delay": delay}
            yield seen.used(f"{window}, {delay}", capacity, **at)
            yield seen.low(f"{window}, {delay}", **at)
        varied = seen.calls("rate_variation", window="1 Mbit/s", delay=delay)
        yield below(f"Variation of the rate, 1 Mbit/s, {delay}", mean(varied.mean(axis=1)), STEADY, "%")


def two_flows(seen: Seen) -> Iterator[Evidence]:
    """For each capacity: the calls use what they could, and their delay is low."""
    for window, capacity in (
        ("4 Mbit/s", 4.0), ("2 Mbit/s", 2.0), ("3.5 Mbit/s", 3.5), ("1 Mbit/s", 1.0), ("2 Mbit/s again", 2.0),
    ):  # fmt: skip
        yield seen.used(window, capacity, window=window)
        yield seen.low(window, window=window)


def feedback(seen: Seen) -> Iterator[Evidence]:
    """For each capacity forward: the call forward has at least 0.8 times the goodput that it has where the
    path backward is free, and its delay is low."""
    forward = pl.col("label") == "forward"
    for window in ("2 Mbit/s", "1 Mbit/s", "0.5 Mbit/s", "2 Mbit/s again"):
        rates = [seen.flows("goodput_bps", forward, window=window, backward=one) for one in ("congested", "free")]
        kept = geometric(np.log(rates[0] / rates[1]).mean(axis=1))
        yield exceeds(f"Goodput with a congested path backward ÷ with a free one, {window}", kept, KEPT)
        yield seen.low_of(forward, window, window=window, backward="congested")


def sharing(seen: Seen) -> Iterator[Evidence]:
    """From 60 s on, when all three are there: their rates are fair, they use what they could, and their delay
    is low."""
    at = {"window": "all three"}
    yield seen.fair("three calls", **at)
    yield seen.used("three calls", 3.5, **at)
    yield seen.low("three calls", **at)


def rtts(seen: Seen) -> Iterator[Evidence]:
    """From 100 s on: the rates of five calls with one-way delays of 10 to 150 ms are fair, they use what they
    could, and their delay is low."""
    at = {"window": "all five"}
    yield seen.fair("five calls", **at)
    yield seen.used("five calls", 4.0, **at)
    yield seen.low("five calls", **at)


def long_tcp(seen: Seen) -> Iterator[Evidence]:
    """With queues of 300 and 1000 ms, beside NewReno and CUBIC: the call is not starved, and call and TCP use
    two thirds of the capacity together."""
    for queue in ("300 ms", "1000 ms"):
        for tcp in ("newreno", "cubic"):
            at = {"window": "both", "queue": queue, "tcp": tcp}
            every = seen.flows("goodput_bps", pl.col("run_id").is_not_null(), **at).sum(axis=1) / 1e6
            yield seen.alive(f"{queue}, {tcp}", **at)
            yield exceeds(f"Used together, {queue}, {tcp}", mean(every / (2.0 - AUDIO)), USED, "%")


def short_tcp(seen: Seen) -> Iterator[Evidence]:
    """Beside the short flows no call is starved; after them the calls have nine tenths of their goodput
    before, or more."""
    before, after = (seen.rates(window=window).sum(axis=1) for window in ("before", "after"))
    yield seen.alive("beside short flows", window="beside short flows")
    yield exceeds("Goodput after ÷ before", geometric(np.log(after / before)), 0.9)


def pause(seen: Seen) -> Iterator[Evidence]:
    """In the pause the two others have nine tenths of the largest rate each; after it rates are fair, and the
    sum is at least nine tenths of that before."""
    others = pl.col("label").is_in(["first", "third"])
    rates = seen.flows("goodput_bps", others, window="pause").min(axis=1) / 1e6
    before, after = (seen.rates(window=window).sum(axis=1) for window in ("before the pause", "after the pause"))
    yield exceeds("Least goodput of the others in the pause", mean(rates), 0.9 * MOST, "Mbit/s")
    yield seen.fair("after the pause", window="after the pause")
    yield exceeds("Goodput after ÷ before", geometric(np.log(after / before)), 0.9)


def home(seen: Seen) -> Iterator[Evidence]:
    """Each of the two calls has at least two thirds of the line's 1 Mbit/s in its direction, and its delay is low."""
    for way in ("up", "down"):
        which = pl.col("label") == way
        rates = seen.flows("goodput_bps", which).mean(axis=1) / 1e6
        yield exceeds(f"Used, {way}", mean(rates), USED, "%")
        yield seen.low_of(which, way)


def home_tcp(seen: Seen) -> Iterator[Evidence]:
    """The call has at least half of an equal share of 1 Mbit/s, and call and TCP use two thirds of it together."""
    rates = [seen.flows("goodput_bps", pl.col("label") == label).mean(axis=1) / 1e3 for label in ("call", "TCP")]
    yield exceeds("Goodput of the call", mean(rates[0]), 250, "kbit/s")
    yield exceeds("Used together", mean((rates[0] + rates[1]) / 1e3), USED, "%")


def office(seen: Seen) -> Iterator[Evidence]:
    """Of 16 calls, all down or all up: their goodput is at least 0.8 times that of 16 TCP flows, or of all at the
    largest rate, their rates are fair, and their delay is low. Of 4, each has nine tenths of the largest
    rate on average."""
    for way in ("down", "up"):
        at = {"calls": "16", "way": way}
        together = seen.rates(**at).sum(axis=1)
        tcp = Seen(seen.tables, seen.experiment, "tcp/newreno").rates(**at).sum(axis=1)
        kept = geometric(np.log(together / np.minimum(tcp, 16 * MOST)))
        yield exceeds(f"Goodput of 16 calls ÷ of 16 TCP flows, {way}", kept, KEPT)
        yield seen.fair(f"16 calls, {way}", **at)
        yield seen.low(f"16 calls, {way}", **at)
        few_calls = seen.rates(calls="4", way=way).mean(axis=1)
        yield exceeds(f"Goodput of one of 4 calls, {way}", mean(few_calls), 0.9 * MOST, "Mbit/s")


CASES = (
    Case("5.1", "one-flow", "a single call follows a capacity that changes, steadily and with a low delay.", one_flow),
    Case("5.2", "two-flows", "two calls follow a capacity that changes.", two_flows),
    Case("5.3", "feedback", "a congested path backward does little harm forward.", feedback),
    Case("5.4", "sharing", "three calls converge to equal rates with a low delay.", sharing),
    Case("5.5", "rtts", "calls of different delays converge to equal rates.", rtts),
    Case("5.6", "long-tcp", "a call beside a long TCP flow keeps its least rate.", long_tcp),
    Case("5.7", "short-tcp", "calls survive short TCP flows and recover.", short_tcp),
    Case("5.8", "pause", "others take the rate of a call that pauses, and share again after it.", pause),
    Case("3.1", "home", "a call each way fills a line behind Wi-Fi with a low delay.", home, WIRELESS),
    Case("3.1", "home-tcp", "a call behind Wi-Fi gets a share beside TCP.", home_tcp, WIRELESS),
    Case("3.2", "office", "calls share a cell of Wi-Fi fairly and as fast as TCP.", office, WIRELESS),
)

CLAIMS = [case.claim(name) for case in CASES for name in CONTROLS]


@answer
def in_short(tables: Tables) -> list[str]:
    """How many of the cases each control passes."""
    found = outcomes(tables)
    passed = {name: sum(row[name] == "confirmed" for row in found) for name in CONTROLS}
    failed = {name: sum(row[name] == "contradicted" for row in found) for name in CONTROLS}
    said = ", ".join(f"{name} {passed[name]} (and not {failed[name]})" for name in CONTROLS)
    return [f"Of the {len(CASES)} cases, these behave as expected: {said}; the others are undecided."]


def outcomes(tables: Tables) -> list[dict[str, str]]:
    """Return the verdict of each case for each control."""
    rows = []
    for case in CASES:
        row = {"case": f"{case.whose}, {case.section}: {case.expected.rstrip('.')}"}
        rows.append(row | {name: case.claim(name).verdict(tables).outcome.value for name in CONTROLS})
    return rows


@value
def verdicts(tables: Tables) -> pl.DataFrame:
    """The verdicts of all cases and controls."""
    return pl.DataFrame(outcomes(tables))


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
            sums = [Seen(tables, experiment, CONTROLS[name]).rates(**at).sum(axis=1) for name in ("GCC", "str0m")]
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


def bottleneck(seen: Seen, **at: str) -> tuple[float, float]:
    """Return the mean wait at the bottleneck, ms, and the share of packets that its queue dropped, forward."""
    levels = {"control": seen.control, **at}
    found = (
        seen.tables.experiment_runs(seen.experiment)
        .filter(pl.col("status") == "ok", *(pl.col(name) == level for name, level in levels.items()))
        .select("run_id")
        .join(seen.tables.links.filter(pl.col("link") == "bottleneck", pl.col("direction") == "down"), on="run_id")
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
                seen = Seen(tables, experiment, control)
                waits, dropped = bottleneck(seen, **at)
                late = np.nan_to_num(1e3 * seen.calls("glass_to_glass_p95_s", **at)[:, 0], nan=NO_PICTURE_MS)
                sent, shown = (seen.calls(name, **at)[:, 0] for name in ("frames_sent", "frames_shown"))
                rows.append(
                    {
                        "case": SECTIONS[experiment],
                        "window": window,
                        "contender": f"`{control}`",
                        "goodput, Mbit/s": " + ".join(f"{one:.2f}" for one in seen.rates(**at).mean(axis=0)),
                        "queueing, ms": round(waits),
                        "dropped, %": round(100 * dropped, 1),
                        "95 % of frames within, ms": round(float(late.mean())),
                        "shown, %": round(100 * float((shown / np.maximum(sent, 1)).mean())),
                        "freezes": round(float(seen.calls("freezes", **at)[:, 0].mean()), 1),
                    }
                )
    return pl.DataFrame(rows)
