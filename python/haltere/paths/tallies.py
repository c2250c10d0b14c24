"""Counts of a lake's traces by monitor, class, path length and delay: small, exact, and enough for every quantile.

Delays fall into bins of integers as in an HDR histogram: exact to the microsecond below 512 µs, above that no wider
than 1/256 of their value. Whatever a lake's size, its counts are some hundred thousand numbers that can be added.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from zlib import crc32

import numpy as np
import polars as pl
from numpy.typing import NDArray

from haltere.paths.copies import once
from haltere.paths.engine import Engine, Here
from haltere.paths.lake import Lake, Selection, reading, scan

CLASSES = ("clean", "repeat", "loop", "toolong", "incomplete")
"""Every trace is in one of these classes (`docs/reference/traces.md`)."""
MAX_GROUPS = 512
"""A lake of more monitors is counted by groups of them."""
_FINE = 256  # bins an octave, from 512 µs on
_KEYS = ("group", "class", "hops", "bin")
_CELL = {"group": pl.String, "class": pl.String, "hops": pl.UInt8, "bin": pl.UInt32, "traces": pl.UInt64}

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Distribution:
    """How often each value occurs, the values in rising order.

    Attributes:
        low: where the values of each bin begin, shape (bins,).
        width: how wide each bin is; 0 where all of a bin have the same value.
        weight: how many values, or their weight, shape (bins,).
    """

    low: Floats
    width: Floats
    weight: Floats

    @property
    def total(self) -> float:
        """The sum of all weights."""
        return float(self.weight.sum())

    def quantile(self, share: float) -> float:
        """Return the least value that at least `share` of all do not exceed; within a bin, in proportion."""
        return float(quantiles(self.low, self.width, self.weight[None, :], share)[0])

    def share_up_to(self, value: float) -> float:
        """Return the share of values that are at most `value`, which must be where a bin ends or of width 0."""
        return float(self.weight[self.low + np.maximum(self.width - 1, 0) <= value].sum() / self.total)

    def mean(self) -> float:
        """Return the mean, with bins at their middles."""
        return float((self.weight * (self.low + self.width / 2)).sum() / self.total)

    def cdf(self) -> tuple[Floats, Floats]:
        """Return values and the shares of all that are at most as large, for drawing."""
        used = np.flatnonzero(self.weight)
        return (self.low + self.width)[used], np.cumsum(self.weight[used]) / self.total


def quantiles(low: Floats, width: Floats, weights: Floats, share: float) -> Floats:
    """Return the quantile of each of several distributions over the same bins, shape (rows,)."""
    total = np.cumsum(weights, axis=1)
    wanted = share * total[:, -1]
    # Rounding may leave the sum of many weights slightly too low; the last used bin is then taken.
    place = np.minimum((total < wanted[:, None] * (1 - 1e-12)).sum(axis=1), weights.shape[1] - 1)
    rows = np.arange(len(weights))
    inside = weights[rows, place]
    before = total[rows, place] - inside
    part = np.divide(wanted - before, inside, out=np.zeros_like(inside), where=inside > 0)
    answer: Floats = low[place] + width[place] * np.clip(part, 0.0, 1.0)
    return answer


class Tallies:
    """The counts of a lake.

    Args:
        table: a row a cell: group (a monitor, or a group of them), class, hops and bin (both null but for clean
            traces; bin null also where no delay is known), traces.
        copies: how many rows were copies of counted ones, and were not counted.
    """

    def __init__(self, table: pl.DataFrame, copies: int = 0) -> None:
        self.table = table.sort(_KEYS)
        self.copies = copies

    @cached_property
    def groups(self) -> list[str]:
        """The monitors (or groups of them) of clean traces, sorted: the rows of the matrices."""
        return self._clean["group"].unique().sort().to_list()

    def classes(self) -> dict[str, int]:
        """Return how many traces each class has."""
        found = dict(self.table.group_by("class").agg(pl.col("traces").sum()).iter_rows())
        return {name: int(found.get(name, 0)) for name in CLASSES}

    def traces(self) -> int:
        """Return how many traces there are, of any class."""
        return int(self.table["traces"].sum())

    def monitors(self) -> dict[str, int]:
        """Return how many clean traces each monitor has."""
        counted = self._clean.group_by("group").agg(pl.col("traces").sum()).sort("group")
        return {str(name): int(n) for name, n in counted.iter_rows()}

    def hops(self, weights: Floats | None = None) -> Distribution:
        """Return the lengths of clean traces, hops. `weights`: of each of `groups`; 1 if not given."""
        return _distribution(self._hops, np.arange(256.0), np.zeros(256), weights)

    def delays(self, weights: Floats | None = None) -> Distribution:
        """Return the delays of clean traces, µs. `weights`: of each of `groups`; 1 if not given."""
        low, width = self._delay_bins
        return _distribution(self._delays, low, width, weights)

    def hops_matrix(self) -> Floats:
        """Return how many clean traces of each group have each length, shape (groups, 256)."""
        return self._hops

    def delays_matrix(self) -> Floats:
        """Return how many clean traces of each group have a delay in each bin, shape (groups, bins)."""
        return self._delays

    def joint(self, weights: Floats | None = None) -> pl.DataFrame:
        """Return hops, delay (the middle of its bin, µs) and weight of clean traces of known delay."""
        rows = self._clean.drop_nulls("bin").join(self._weights(weights), on="group", how="left")
        cells = rows.group_by("hops", "bin").agg((pl.col("traces") * pl.col("weight")).sum().alias("weight"))
        cells = cells.sort("hops", "bin")
        low, width = bin_bounds(cells["bin"].to_numpy())
        return cells.select("hops", pl.Series("delay_us", low + np.maximum(width - 1, 0) / 2), "weight")

    @cached_property
    def _clean(self) -> pl.DataFrame:
        return self.table.filter(pl.col("class") == "clean")

    @cached_property
    def _hops(self) -> Floats:
        return self._matrix("hops", 256, np.arange(256))

    @cached_property
    def _bins(self) -> NDArray[np.int64]:
        used = self._clean["bin"].drop_nulls().unique().sort().to_numpy().astype(np.int64)
        return used if used.size else np.zeros(1, dtype=np.int64)

    @cached_property
    def _delay_bins(self) -> tuple[Floats, Floats]:
        low, width = bin_bounds(self._bins)
        return low, np.where(width > 1, width, 0.0)

    @cached_property
    def _delays(self) -> Floats:
        return self._matrix("bin", len(self._bins), self._bins)

    def _matrix(self, column: str, size: int, values: NDArray[np.int64]) -> Floats:
        cells = self._clean.drop_nulls(column).group_by("group", column).agg(pl.col("traces").sum())
        rows = np.searchsorted(np.array(self.groups), cells["group"].to_numpy())
        matrix = np.zeros((len(self.groups), size))
        matrix[rows, np.searchsorted(values, cells[column].to_numpy())] = cells["traces"].to_numpy()
        return matrix

    def _weights(self, weights: Floats | None) -> pl.DataFrame:
        given = np.ones(len(self.groups)) if weights is None else weights
        return pl.DataFrame({"group": self.groups, "weight": given}, schema={"group": pl.String, "weight": pl.Float64})


def _distribution(matrix: Floats, low: Floats, width: Floats, weights: Floats | None) -> Distribution:
    return Distribution(low, width, matrix.sum(axis=0) if weights is None else weights @ matrix)


def delay_bin(delay_us: pl.Expr) -> pl.Expr:
    """Return the bin of a delay in whole microseconds (UInt32)."""
    # Values of at most nine bits are their own bins; of longer ones the first nine bits count.
    lost = _u32(23) - pl.min_horizontal(delay_us.bitwise_leading_zeros(), _u32(23))
    return lost * _FINE + delay_us // _u32(2).pow(lost)


def bin_bounds(bins: NDArray[np.integer]) -> tuple[Floats, Floats]:
    """Return where bins begin and how wide they are, µs: bin b holds the whole numbers from low to low + width − 1."""
    lost = np.maximum(bins.astype(np.int64) // _FINE - 1, 0)
    width = np.exp2(lost)
    return (bins.astype(np.int64) - lost * _FINE) * width, width


def _u32(value: int) -> pl.Expr:
    return pl.lit(value, dtype=pl.UInt32)


@dataclass(frozen=True)
class _Batch:
    """The input of a worker, which reads everything else from the files."""

    files: tuple[str, ...]
    selection: Selection


def tally(
    lake: Lake,
    engine: Engine | None = None,
    *,
    groups: Mapping[str, str] | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Tallies:
    """Count a lake's traces, each once: copies of a trace are left out (`haltere.paths.copies`).

    Args:
        lake: what is counted.
        engine: where; this machine if not given.
        groups: the group in which each monitor is counted; those that it lacks are counted by themselves. If not given,
            `folded` says.
        on_progress: called with the files counted so far, and how many there are.
    """
    where = engine or Here()
    parts = [_Batch(tuple(batch), lake.selection) for batch in lake.batches()]
    fold = folded({name: "" for names in where.map(_monitors, parts) for name in names}) if groups is None else groups
    merged: pl.DataFrame | None = None
    done, copies, everything = 0, 0, len(lake.files())
    for counted, some, left in where.map(partial(_count, groups=fold), parts):
        merged = counted if merged is None else _sum(pl.concat([merged, counted]))
        done += some
        copies += left
        if on_progress:
            on_progress(done, everything)
    return Tallies(merged if merged is not None else pl.DataFrame(schema=_CELL), copies)


def folded(kinds: Mapping[str, str]) -> dict[str, str]:
    """Return the group of each monitor, or nothing if they are few enough to be counted one by one.

    Args:
        kinds: what the monitors of a group have in common, such as a region.
    """
    if len(kinds) <= MAX_GROUPS:
        return {}
    each = max(1, MAX_GROUPS // len(set(kinds.values())))
    return {
        name: f"{kind + ', ' if kind else ''}group {crc32(name.encode()) % each:03}" for name, kind in kinds.items()
    }


def _monitors(batch: _Batch) -> list[str]:
    with reading(batch.files):
        rows = scan(batch.files, batch.selection).select("monitor").unique().collect(engine="streaming")
    return rows["monitor"].to_list()


def _count(batch: _Batch, groups: Mapping[str, str]) -> tuple[pl.DataFrame, int, int]:
    """Count the traces of some files; also, how many files they were, and how many rows were copies."""
    with reading(batch.files):
        counted, copies = _cells(batch)
    if groups:
        counted = _sum(counted.with_columns(pl.col("group").replace(dict(groups))))
    return counted, len(batch.files), copies


def _cells(batch: _Batch) -> tuple[pl.DataFrame, int]:
    clean = pl.col("class") == "clean"
    every = scan(batch.files, batch.selection)
    rows, repeated = once(every.select("key", "monitor", "class", "hops", "rtt_us"), batch.files)
    cells = rows.select(
        pl.col("monitor").alias("group"),
        "class",
        pl.when(clean).then(pl.col("hops")).alias("hops"),
        pl.when(clean).then(delay_bin(pl.col("rtt_us"))).alias("bin"),
    )
    counted = cells.group_by(_KEYS).agg(pl.len().cast(pl.UInt64).alias("traces")).collect(engine="streaming")
    if not repeated:
        return counted, 0
    return counted, every.select(pl.len()).collect(engine="streaming").item() - int(counted["traces"].sum())


def _sum(table: pl.DataFrame) -> pl.DataFrame:
    return table.group_by(_KEYS).agg(pl.col("traces").sum())
