"""Which paths changed between two periods: those of each monitor to each destination, at any level.

A pair's path in a period is the one that most of its traces show. Whether a path changed is only known where no silent
hop, and none without a label, hides a part of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args

import polars as pl
from scipy import special

from haltere.errors import InputError, as_written
from haltere.paths.graph import text_of
from haltere.paths.levels import Labels
from haltere.stats import Interval

Destination = Literal["address", "prefix", "label"]
"""The kind of a destination: the address, its /24 or /48, or its label at the level, such as its AS."""
COLUMNS = ("monitor", "src", "dst", "hop_ttl", "hop_addr", "hop_rtt_us")
"""The columns of a lake that are needed."""

_PREFIX = {4: 3, 16: 6}


@dataclass(frozen=True)
class Changed:
    """The paths of the pairs that two periods have in common.

    Attributes:
        pairs: a row a pair: `monitor`, `destination`, `traces_first`, `traces_second`, `paths_first`, `paths_second`
            (how many different ones its traces show), `path_first`, `path_second` (labels from the monitor on),
            `became`: `same`; `changed`; `unclear`, where they differ and one has a gap.
        first: pairs that the first period alone has.
        second: pairs that the second period alone has.
    """

    pairs: pl.DataFrame
    first: int
    second: int

    def shares(self) -> pl.DataFrame:
        """Return how many pairs changed, of all monitors together (null) and of each.

        Returns:
            `monitor`, `pairs`, `same`, `changed`, `unclear`, `share` (changed of those that are clear; null if none
            is), `low` and `high` (Wilson's interval, 95 %), `unsteady`: the share of pairs with two traces or more in a
            period whose traces of that period show several paths; null if there is none.
        """
        every = self.pairs.with_columns(pl.lit(None, pl.String).alias("monitor"))
        rows = []
        for (monitor,), of in (
            *every.group_by("monitor"),
            *self.pairs.sort("monitor").group_by("monitor", maintain_order=True),
        ):
            counts = dict(of.group_by("became").len().iter_rows())
            same, changed = counts.get("same", 0), counts.get("changed", 0)
            found = wilson(changed, same + changed) if same + changed else None
            rows.append(
                {
                    "monitor": monitor,
                    "pairs": of.height,
                    "same": same,
                    "changed": changed,
                    "unclear": counts.get("unclear", 0),
                    "share": None if found is None else found.value,
                    "low": None if found is None else found.low,
                    "high": None if found is None else found.high,
                    "unsteady": _unsteady(of),
                }
            )
        return pl.DataFrame(rows, schema_overrides=dict.fromkeys(("share", "low", "high", "unsteady"), pl.Float64))


def _unsteady(pairs: pl.DataFrame) -> float | None:
    several = [
        pairs.filter(pl.col(f"traces_{period}") > 1).select((pl.col(f"paths_{period}") > 1).alias("unsteady"))
        for period in ("first", "second")
    ]
    both = pl.concat(several)["unsteady"]
    return None if both.is_empty() else float(both.sum()) / both.len()


def wilson(successes: int, trials: int, confidence: float = 0.95) -> Interval:
    """Return a share and Wilson's score interval of it, which takes trials as independent.

    (E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22(158), 1927.)
    """
    z = float(special.ndtri((1 + confidence) / 2))
    share = successes / trials
    middle = (share + z * z / (2 * trials)) / (1 + z * z / trials)
    half = z / (1 + z * z / trials) * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    low, high = max(0.0, middle - half), min(1.0, middle + half)
    return Interval(
        share, 0.0 if successes == 0 else low, 1.0 if successes == trials else high, trials, confidence, "Wilson"
    )


def changed_paths(
    first: pl.DataFrame, second: pl.DataFrame, labels: Labels | None = None, *, destination: Destination = "address"
) -> Changed:
    """Compare the paths of the pairs of monitor and destination that two periods have in common.

    Args:
        first: rows of the earlier lake, with the columns of `COLUMNS`.
        second: rows of the later lake.
        labels: of a level; addresses if not given.
        destination: what a destination is. Platforms that probe a random address of each prefix have few in common by
            address.

    Raises:
        InputError: if `destination` is none of these.
    """
    if destination not in get_args(Destination):
        right = ", ".join(get_args(Destination))
        raise InputError("is no kind of destination", field="destination", given=as_written(destination), right=right)
    known = labels or Labels()
    periods = [_pairs(rows, known, destination) for rows in (first, second)]
    keys = ["monitor", "destination"]
    both = periods[0].join(periods[1], on=keys, suffix="_second", how="inner")
    same = pl.col("path") == pl.col("path_second")
    clear = (pl.col("gaps") == 0) & (pl.col("gaps_second") == 0)
    became = pl.when(same).then(pl.lit("same")).when(clear).then(pl.lit("changed")).otherwise(pl.lit("unclear"))
    pairs = both.with_columns(became.alias("became")).select(
        *keys,
        pl.col("traces").alias("traces_first"),
        "traces_second",
        pl.col("paths").alias("paths_first"),
        "paths_second",
        pl.col("path").alias("path_first"),
        "path_second",
        "became",
    )
    return Changed(pairs.sort(*keys), periods[0].height - both.height, periods[1].height - both.height)


def _pairs(rows: pl.DataFrame, labels: Labels, destination: Destination) -> pl.DataFrame:
    """A row a pair: its traces, its different paths, the most frequent of them, and how many gaps that has."""
    ends = _destinations(rows, labels, destination)
    paths = labels.paths(rows)
    names = cache(bytes.decode if paths is not rows else text_of)
    table = []
    columns = paths.select("monitor", "src", "hop_ttl", "hop_addr")
    for end, (monitor, source, ttls, addresses) in zip(ends, columns.iter_rows(), strict=True):
        if end is None:
            continue
        path, gaps, last = ([] if source is None else [names(source)]), 0, 0
        for ttl, address in sorted(zip(ttls or (), addresses or (), strict=True), key=lambda one: one[0]):
            if ttl == last:
                continue  # further answers of a TTL
            gaps += ttl > last + 1
            path.append(names(address))
            last = ttl
        table.append((monitor, end, path, gaps))
    schema: dict[str, Any] = {
        "monitor": pl.String,
        "destination": pl.String,
        "path": pl.List(pl.String),
        "gaps": pl.Int64,
    }
    each = (
        pl.DataFrame(table, schema=schema, orient="row")
        .group_by("monitor", "destination", "path")
        .agg(pl.len().alias("traces"), pl.col("gaps").min())
    )
    order = each.with_columns(pl.col("path").list.join("|").alias("text"))
    # Of paths that are as frequent the least gaps count, then the order of their names, so that it is always the same.
    first = order.sort("traces", "gaps", "text", descending=[True, False, False]).group_by(
        "monitor", "destination", maintain_order=True
    )
    return first.agg(pl.col("traces").sum(), pl.len().alias("paths"), pl.col("path").first(), pl.col("gaps").first())


def _destinations(rows: pl.DataFrame, labels: Labels, destination: Destination) -> list[str | None]:
    found: list[str | None] = []
    for address in rows["dst"]:
        if address is None:
            found.append(None)
        elif destination == "label":
            found.append(text_of(address) if labels.label is None else labels.label(address))
        elif destination == "prefix":
            kept = _PREFIX[len(address)]
            found.append(f"{text_of(address[:kept] + bytes(len(address) - kept))}/{8 * kept}")
        else:
            found.append(text_of(address))
    return found
