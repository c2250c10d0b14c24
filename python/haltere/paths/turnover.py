"""Nodes and links that came and went between two periods, and how long paths are: from a sample of traces of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from haltere.errors import grouped
from haltere.paths.levels import Labels
from haltere.paths.tallies import Tallies, delay_bin
from haltere.paths.topology import Topology, adjusted, changes, estimated, topology

KINDS = ("nodes", "links")


@dataclass(frozen=True)
class Turnover:
    """Nodes and links of two periods, as traces of the monitors of both show them.

    Attributes:
        tables: of `nodes` and of `links` what became of each (`haltere.paths.topology.changes`), with `p_holm`.
        traces: how many traces of each period were read.
        seen: of `nodes` and of `links` how many each period shows.
        there: of both how many there are at least, those included that no trace showed (Chao's estimate).
    """

    tables: Mapping[str, pl.DataFrame]
    traces: tuple[int, int]
    seen: Mapping[str, tuple[int, int]]
    there: Mapping[str, tuple[float, float]]

    def counts(self, what: str) -> dict[str, int]:
        """Return how many `nodes` or `links` stayed, came and went."""
        became = dict(self.tables[what].group_by("became").len().iter_rows())
        return {how: int(became.get(how, 0)) for how in ("stayed", "came", "went")}

    def sentence(self, what: str) -> str:
        """Return these counts as people read them."""
        return f"{what}: " + ", ".join(f"{grouped(number)} {how}" for how, number in self.counts(what).items())

    def write(self, folder: Path) -> list[Path]:
        """Write `nodes.csv` and `links.csv` into a folder that is there, and return their paths."""
        files = [folder / f"{what}.csv" for what in KINDS]
        for what, file in zip(KINDS, files, strict=True):
            self.tables[what].write_csv(file)
        return files


def turnover(first: pl.DataFrame, second: pl.DataFrame, labels: Labels) -> Turnover | None:
    """Return what came and went between the traces of two periods, by the monitors of both; None if there is none.

    Args:
        first: traces of the earlier period: `monitor` and the columns of a graph.
        second: those of the later one.
        labels: of the level whose nodes and links are meant.
    """
    shared = set(first["monitor"]) & set(second["monitor"])
    if not shared:
        return None
    rows = [period.filter(pl.col("monitor").is_in(sorted(shared))) for period in (first, second)]
    return between(topology(rows[0], labels=labels), topology(rows[1], labels=labels))


def between(first: Topology, second: Topology) -> Turnover:
    """Return what came and went between two topologies."""
    tables, seen, there = {}, {}, {}
    for what in KINDS:
        found = changes(first, second, what)
        tables[what] = found.with_columns(adjusted(found["p"]))
        times = [(one.nodes if what == "nodes" else one.links)["traces"] for one in (first, second)]
        seen[what] = (len(times[0]), len(times[1]))
        there[what] = (estimated(times[0]), estimated(times[1]))
    return Turnover(tables, (first.traces, second.traces), seen, there)


def lengths(traces: pl.DataFrame, labels: Labels, groups: Mapping[str, str]) -> Tallies:
    """Return the counts of paths at a level: their lengths are hops from node to node of that level.

    Args:
        traces: clean traces with `monitor`, `rtt_us` and the columns of a graph.
        labels: of the level.
        groups: the group of each monitor that is counted with others.
    """
    rows = labels.paths(traces).select(
        pl.col("monitor").replace(groups).alias("group"),
        pl.lit("clean").alias("class"),
        pl.col("hop_ttl").list.max().fill_null(0).cast(pl.UInt8).alias("hops"),
        delay_bin(pl.col("rtt_us")).cast(pl.UInt32).alias("bin"),
    )
    return Tallies(rows.group_by("group", "class", "hops", "bin").agg(pl.len().cast(pl.UInt64).alias("traces")))
