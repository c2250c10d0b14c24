"""Claims on what RFC 8869 expects over Wi-Fi of a congestion control of calls, case by case and control by control.

`haltere.claims.calls` says what *used*, *low*, *fair* and *alive* mean. Where the document compares with TCP, calls
keep at least 0.8 times its goodput, or their largest rate if that is less. A rate comes *back* if it is at least nine
tenths of what it was, or is without the background. Intervals are at 95 % over replications.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np
import polars as pl

from haltere.claims import Evidence, answer, below, exceeds, value
from haltere.claims.calls import ALIVE, MOST, USED, Calls, Case, Numbers, in_short, outcomes
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
WHOSE = "RFC 8869"
TCP = "tcp/newreno"

LINE = 1.0
"""Mbit/s of the line behind the access point."""
UDP = 0.5
"""Mbit/s of the background on that line."""
STEADY = 0.2
"""The largest variation of the rate over seconds: that of the encoder itself is about 5 %."""
KEPT = 0.8
BACK = 0.9

WAYS = {"up": pl.col("direction") == "up", "down": pl.col("direction") == "down"}


def beside_tcp(calls: Calls, name: str, which: pl.Expr, **at: str) -> Evidence:
    """The part "not less than as many TCP flows": of the sums of these flows."""
    together = calls.rates(which, **at)
    tcp = Calls(calls.tables, calls.experiment, TCP).rates(which, **at).sum(axis=1)
    kept = geometric(np.log(together.sum(axis=1) / np.minimum(tcp, together.shape[1] * MOST)))
    return exceeds(f"Goodput ÷ of TCP, {name}", kept, KEPT)


def back(name: str, now: Numbers, before: Numbers) -> Evidence:
    """The part "the rate comes back": of sums over flows."""
    return exceeds(f"Goodput after ÷ {name}", geometric(np.log(now.sum(axis=1) / before.sum(axis=1))), BACK)


def home_one(calls: Calls) -> Iterator[Evidence]:
    """The call uses what it could of the line, its delay is low, and its rate varies by at most 20 %."""
    yield calls.used("up", LINE)
    yield calls.low("up")
    yield below("Variation of the rate", mean(calls.flows("rate_variation").mean(axis=1)), STEADY, "%")


def home_pair(calls: Calls) -> Iterator[Evidence]:
    """Each of the two calls uses what it could of the line in its direction, and its delay is low."""
    for way, which in WAYS.items():
        yield calls.used(way, LINE, which)
        yield calls.low(way, which)


def home_cbr(calls: Calls) -> Iterator[Evidence]:
    """Whether the background ends or begins, and in both halves of the time: the call beside it uses what is left
    of the line, and its delay is low; the call the other way uses what it could."""
    for background, (busy, free) in {
        "ends": ("first half", "second half"), "begins": ("second half", "first half"),
    }.items():  # fmt: skip
        for window, capacity in ((busy, LINE - UDP), (free, LINE)):
            at = {"background": background, "window": window}
            name = f"background {background}, {window}"
            yield calls.used(f"up, {name}", capacity, WAYS["up"], **at)
            yield calls.low(f"up, {name}", WAYS["up"], **at)
            yield calls.used(f"down, {name}", LINE, WAYS["down"], **at)


def home_tcp(calls: Calls) -> Iterator[Evidence]:
    """The call has at least half of an equal share of the line, and call and TCP use two thirds of it together."""
    call, tcp = (calls.rates(pl.col("label") == label).mean(axis=1) for label in ("call", "TCP"))
    yield exceeds("Goodput of the call", mean(1e3 * call), 1e3 * LINE / 4, "kbit/s")
    yield exceeds("Used together", mean((call + tcp) / LINE), USED, "%")


def _office(way: str, calls: Calls) -> Iterator[Evidence]:
    every = pl.col("run_id").is_not_null()
    yield beside_tcp(calls, way, every, way=way)
    yield calls.fair(way, way=way)
    yield calls.low(way, way=way)


def office_down(calls: Calls) -> Iterator[Evidence]:
    """Of 16 calls down: their goodput is at least 0.8 times that of 16 TCP flows, or of all at the largest rate,
    their rates are fair, and their delay is low."""
    yield from _office("down", calls)


def office_up(calls: Calls) -> Iterator[Evidence]:
    """Of 16 calls up: their goodput is at least 0.8 times that of 16 TCP flows, or of all at the largest rate,
    their rates are fair, and their delay is low."""
    yield from _office("up", calls)


def office_both(calls: Calls) -> Iterator[Evidence]:
    """Of eight calls up and eight down: the rates of all are fair, and their delay is low."""
    yield calls.fair("8 up and 8 down", way="both")
    yield calls.low("8 up and 8 down", way="both")


def office_cbr(calls: Calls) -> Iterator[Evidence]:
    """Beside the background no call starves; without it the calls have nine tenths of the goodput of 16 such calls
    that never met one, and from 15 s after it has ended too. The delay is low in both halves."""
    alone = Calls(calls.tables, "office", calls.control).rates(way="both")
    for background, busy, free in (("ends", "first half", "second half"), ("begins", "second half", "first half")):
        yield calls.alive(f"background {background}", background=background, window=busy)
        now = calls.rates(background=background, window=free)
        yield back(f"without background, background {background}", now, alone)
        for window in (busy, free):
            at = {"background": background, "window": window}
            yield calls.low(f"background {background}, {window}", **at)


def office_tcp(calls: Calls) -> Iterator[Evidence]:
    """Beside five TCP flows the goodput of the calls is at least 0.8 times that of as many TCP flows in their place,
    no call starves, and the rates of those down are fair; after them the goodput comes back, and the delay is low."""
    ours, down = pl.col("label").is_in(["up", "down"]), pl.col("label") == "down"
    yield beside_tcp(calls, "beside TCP", ours, window="beside TCP")
    yield calls.alive("beside TCP", window="beside TCP")
    yield calls.fair("down, beside TCP", down, window="beside TCP")
    before, after = (calls.rates(ours, window=window) for window in ("before", "after"))
    yield back("before", after, before)
    yield calls.low("after", window="after")


def number(calls: Calls) -> Iterator[Evidence]:
    """With four calls each has nine tenths of the largest rate; of 4, 8, 12, 16 and 20 calls none starves, and the
    mean goodput of a call never rises by more than a tenth as calls are added."""
    of = {count: calls.rates(calls=count) for count in ("4", "8", "12", "20")}
    of["16"] = Calls(calls.tables, "office", calls.control).rates(way="both")
    yield exceeds("Goodput of one of 4 calls", mean(of["4"].mean(axis=1)), BACK * MOST, "Mbit/s")
    counts = ("4", "8", "12", "16", "20")
    for few, more in itertools.pairwise(counts):
        rise = geometric(np.log(of[more].mean(axis=1) / of[few].mean(axis=1)))
        yield below(f"Goodput of one of {more} calls ÷ of one of {few}", rise, 1.1)
    least = mean(1e3 * of["20"].min(axis=1))
    yield exceeds("Least goodput of one of 20 calls", least, 1e3 * ALIVE, "kbit/s")


def _case(section: str, experiment: str, expected: str, parts: Callable[[Calls], Iterator[Evidence]]) -> Case:
    return Case(WHOSE, section, experiment, expected, parts)


CASES = (
    _case("3.1", "home-one", "a single call fills a line behind Wi-Fi, steadily and with a low delay.", home_one),
    _case("3.1", "home-pair", "a call each way fills a line behind Wi-Fi with a low delay.", home_pair),
    _case("3.1", "home-cbr", "a call each way adapts to UDP that ends or begins.", home_cbr),
    _case("3.1", "home-tcp", "a call behind Wi-Fi gets a share beside TCP.", home_tcp),
    _case("3.2", "office", "calls down share a cell of Wi-Fi fairly and as fast as TCP.", office_down),
    _case("3.2", "office", "calls up share a cell of Wi-Fi fairly and as fast as TCP.", office_up),
    _case("3.2", "office", "calls up and down share a cell of Wi-Fi fairly.", office_both),
    _case("3.2", "office-cbr", "calls in a cell adapt to UDP that ends or begins.", office_cbr),
    _case("3.2", "office-tcp", "calls in a cell give way to TCP as TCP would, and recover.", office_tcp),
    _case("3.2", "number", "calls get less as there are more of them, and none starves.", number),
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
