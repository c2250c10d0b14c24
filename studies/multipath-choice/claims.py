"""The values that the study's page shows.

It makes no claim: its maps name in each cell what is surely better than a reference.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from haltere.claims import answer, value
from haltere.claims.comparison import Comparison, compare
from haltere.metrics import quantities
from haltere.metrics.tables import Tables

PROTOCOLS = ["MPTCP", "MPQUIC"]
SIZES = ["300kB", "3MB"]
PAIR = ["rtt_ratio", "capacity_ratio"]
REFERENCE = {"scheduler": "lowest-rtt", "control": "olia"}


def ratios(tables: Tables, factor: str, level: str, protocol: str, size: str) -> Comparison:
    """Completion times with a level of a factor over those with its reference, over all else."""
    over = {
        name: tables.levels("map", name) for name in tables.factors["map"] if name not in (factor, "protocol", "size")
    }
    over |= {"protocol": [protocol], "size": [size]}
    return compare(tables, "map", "completion_time", factor, level, REFERENCE[factor], over=over)


def by_pair(found: Comparison) -> list[float]:
    """The mean ratio of each pair of paths, a geometric mean over all else."""
    logs: dict[tuple[str, ...], list[float]] = {}
    for cell, row in zip(found.cells, found.matrix, strict=True):
        logs.setdefault(tuple(cell[name] for name in PAIR), []).append(float(row.mean()))
    return [float(np.exp(np.mean(values))) for values in logs.values()]


def others(tables: Tables, factor: str) -> list[str]:
    """The levels of a factor but for its reference."""
    return [level for level in tables.levels("map", factor) if level != REFERENCE[factor]]


def against_reference(tables: Tables, factor: str) -> pl.DataFrame:
    """A row a level, a column a protocol and size: the mean ratio [the smallest and the largest of a pair of paths]."""
    rows = []
    for level in others(tables, factor):
        row = {factor: f"`{level}`"}
        for protocol in PROTOCOLS:
            for size in SIZES:
                found = by_pair(ratios(tables, factor, level, protocol, size))
                middle = np.exp(np.mean(np.log(found)))
                row[f"{protocol}, {quantities.text(size)}"] = f"{middle:.2f} [{min(found):.2f}, {max(found):.2f}]"
        rows.append(row)
    return pl.DataFrame(rows)


@value
def schedulers(tables: Tables) -> pl.DataFrame:
    """Completion times over those with `lowest-rtt`, over pairs of paths and congestion controls."""
    return against_reference(tables, "scheduler")


@value
def controls(tables: Tables) -> pl.DataFrame:
    """Completion times over those with `olia`, over pairs of paths and schedulers."""
    return against_reference(tables, "control")


@value
def best_by_rtt(tables: Tables) -> pl.DataFrame:
    """The scheduler with the shortest completion times of 3 MB for each ratio of RTTs, over all else, and its time over
    that with `lowest-rtt`."""
    rows = []
    found = {
        (protocol, level): ratios(tables, "scheduler", level, protocol, "3MB")
        for protocol in PROTOCOLS
        for level in others(tables, "scheduler")
    }
    for rtt in tables.levels("map", "rtt_ratio"):
        row = {"RTT, far ÷ near": rtt}
        for protocol in PROTOCOLS:
            means = {
                level: float(np.exp(one.within({"rtt_ratio": [rtt]}).matrix.mean()))
                for (whose, level), one in found.items()
                if whose == protocol
            }
            best = min(means, key=means.__getitem__)
            row[protocol] = f"`{best}`, {means[best]:.2f}" if means[best] < 1 else "`lowest-rtt`"
        rows.append(row)
    return pl.DataFrame(rows)


@answer
def conclusion(tables: Tables) -> list[str]:
    """The time of an object of 3 MB with the best and the worst scheduler, and what coupling costs it."""
    sentences = []
    for protocol in PROTOCOLS:
        times = {
            level: float(np.exp(ratios(tables, "scheduler", level, protocol, "3MB").matrix.mean()))
            for level in others(tables, "scheduler")
        }
        best, worst = min(times, key=times.__getitem__), max(times, key=times.__getitem__)
        uncoupled = float(np.exp(ratios(tables, "control", "cubic", protocol, "3MB").matrix.mean()))
        sentences.append(
            f"3 MB over {protocol}, over all pairs of paths and congestion controls: of the schedulers beside "
            f"lowest-rtt {best} takes least, {times[best]:.2f} times lowest-rtt's time, and {worst} most, "
            f"{times[worst]:.2f} times; CUBIC without coupling takes {uncoupled:.2f} times OLIA's."
        )
    return sentences
