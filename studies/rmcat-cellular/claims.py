"""Claims on what RFC 8869 expects in cells of LTE of a congestion control of calls, case by case, control by control.

The document asks for the largest utilisation that is possible, stable rates and the lowest latency at different loads,
and gives no bounds. Those here were fixed before there were results. The delay is *low* as `haltere.claims.calls` says:
the mean over the calls that were there for 10 s of the evaluated time. The cell is *used* if the goodput of all calls
is at least 0.8 times that of the control that has most at this load. Rates are *stable* if they vary by at most 20 %
from second to second at the lowest load. Intervals are at 95 % over replications.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from haltere.claims import Evidence, answer, below, exceeds, value
from haltere.claims.calls import LATE_MS, NO_PICTURE_MS, Calls, Case, Numbers, in_short, outcomes
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
CALL = pl.col("label") == "call"

FROM_S, UNTIL_S, LENGTH_S = 30.0, 60.0, 30.0
"""The evaluated time, and how long a call lasts."""
LONG_S = 10.0
"""Calls that were there for less of the evaluated time say nothing of latency."""
KEPT = 0.8
STEADY = 0.2

LOADS = {
    "load-down": ("2", "5", "7.5", "10.5"),
    "load-up": ("2", "5", "7"),
    "coverage-down": ("2", "5", "7"),
    "coverage-up": ("2", "5", "7"),
}
"""The user intensities of each experiment, the least first."""
SPEEDS = {"load-down": ("3km/h", "30km/h"), "load-up": ("3km/h", "30km/h")}


def lasted(calls: Calls, **at: str) -> Numbers:
    """Return for how many seconds of the evaluated time each call was there."""
    starts = calls.flows("start_s", CALL, **at)
    return np.clip(np.minimum(starts + LENGTH_S, UNTIL_S) - np.maximum(starts, FROM_S), 0.0, None)


def over_calls(calls: Calls, column: str, missing: float, **at: str) -> Numbers:
    """Return the mean of a column over the calls that were there for long, a value a replication."""
    values = np.nan_to_num(calls.flows(column, CALL, **at), nan=missing)
    long = lasted(calls, **at) >= LONG_S
    return (values * long).sum(axis=1) / np.maximum(long.sum(axis=1), 1)


def goodput(calls: Calls, **at: str) -> Numbers:
    """Return the mean goodput of a call, Mbit/s, a value a replication: all bytes over all of their times."""
    return 8e-6 * calls.flows("bytes", CALL, **at).sum(axis=1) / lasted(calls, **at).sum(axis=1)


def judged(calls: Calls) -> Iterator[Evidence]:
    """At each user intensity, and each speed of the users: the delay of the calls is low, and they use the cell. At
    the lowest intensity their rates are stable."""
    loads, speeds = LOADS[calls.experiment], SPEEDS.get(calls.experiment, ("3km/h",))
    for speed in speeds:
        for load in loads:
            at, name = {"users": load, "speed": speed}, f"{load} users, {speed}"
            late = 1e3 * over_calls(calls, "glass_to_glass_p95_s", NO_PICTURE_MS / 1e3, **at)
            yield below(f"95 % of frames within, {name}", mean(late), LATE_MS, "ms")
            every = [goodput(Calls(calls.tables, calls.experiment, one), **at) for one in CONTROLS.values()]
            most = max(every, key=lambda one: float(one.mean()))
            kept = geometric(np.log(goodput(calls, **at) / most))
            yield exceeds(f"Goodput ÷ of the highest, {name}", kept, KEPT)
        varied = over_calls(calls, "rate_variation", 0.0, users=loads[0], speed=speed)
        yield below(f"Variation of the rate, {loads[0]} users, {speed}", mean(varied), STEADY, "%")


def _case(section: str, experiment: str, expected: str) -> Case:
    def parts(calls: Calls) -> Iterator[Evidence]:
        return judged(calls)

    parts.__name__, parts.__doc__ = experiment.replace("-", "_"), judged.__doc__
    return Case(WHOSE, section, experiment, expected, parts)


CASES = (
    _case("2.1", "load-down", "calls down use a cell, stably and with a low delay, whatever its load."),
    _case("2.1", "load-up", "calls up use a cell, stably and with a low delay, whatever its load."),
    _case("2.2", "coverage-down", "calls down use a cell with bad coverage, stably and with a low delay."),
    _case("2.2", "coverage-up", "calls up use a cell with bad coverage, stably and with a low delay."),
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


@value
def calls_by_load(tables: Tables) -> pl.DataFrame:
    """Goodput and latency of calls at 3 km/h by user intensity."""
    rows = []
    for experiment, loads in LOADS.items():
        for load in loads:
            row: dict[str, object] = {"case": experiment.replace("-", ", "), "users": load}
            for name, control in CONTROLS.items():
                calls, at = Calls(tables, experiment, control), {"users": load, "speed": "3km/h"}
                late = 1e3 * over_calls(calls, "glass_to_glass_p95_s", NO_PICTURE_MS / 1e3, **at)
                row[name] = f"{goodput(calls, **at).mean():.2f} Mbit/s, {late.mean():.0f} ms"
            rows.append(row)
    return pl.DataFrame(rows)
