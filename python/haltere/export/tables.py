"""Tables of results as files for other programs: CSV or Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import polars as pl

from haltere.errors import ArgumentError, among, as_written
from haltere.metrics import METRICS
from haltere.metrics.tables import Tables, summarise
from haltere.results import TABLES, Results
from haltere.results.tables import EXTRA

Format = Literal["csv", "parquet"]
FORMATS: tuple[Format, ...] = ("csv", "parquet")
TREATMENTS = "treatments"
"""The table of means: a row a treatment and metric."""
NAMES = (*TABLES, *EXTRA, TREATMENTS)


def export(results: Results, out: Path, form: Format, *, names: tuple[str, ...] = ()) -> list[Path]:
    """Write tables into a folder, `NAME.csv` or `NAME.parquet`, and return the files.

    In CSV a list is its values with `;` between them, and what is missing is empty. Tables without rows are left out.

    Args:
        results: the results.
        out: the folder.
        form: `csv` or `parquet`.
        names: which tables (default: all).

    Raises:
        InputError: if there is no such format or table.
    """
    if form not in FORMATS:
        raise ArgumentError("is no format", field="form", given=as_written(form), right=" or ".join(FORMATS))
    for name in names:
        if name not in NAMES:
            raise ArgumentError(
                "there is no such table", field="names", given=as_written(name), right=among(name, NAMES)
            )
    out.mkdir(parents=True, exist_ok=True)
    written = []
    for name in names or NAMES:
        frame = means(results) if name == TREATMENTS else getattr(results, name)
        if frame.is_empty():
            continue
        file = out / f"{name}.{form}"
        if form == "csv":
            flat(frame).write_csv(file)
        else:
            frame.write_parquet(file, compression="zstd")
        written.append(file)
    return written


def means(results: Results) -> pl.DataFrame:
    """Return the mean of each metric in each treatment over its replications, with Student's 95 % interval.

    The columns are `experiment`, every factor (null in experiments that lack it), `metric`, `flow` (the label, where
    flows of a run differ), `unit`, `n`, `mean`, `low` and `high`; the last two are null with fewer than three
    replications.
    """
    tables = Tables.of(results)
    factors = list(dict.fromkeys(factor for one in tables.factors.values() for factor in one))
    rows = []
    for experiment, own in tables.factors.items():
        for metric in (part for one in METRICS.values() for part in tables.parted(one, experiment)):
            for levels, found in summarise(tables.values(experiment, metric), list(own), metric).items():
                placed = dict(zip(own, levels, strict=True))
                numbers = (found.n, found.value, found.low, found.high)
                rows.append(
                    (
                        experiment,
                        *(placed.get(name) for name in factors),
                        metric.name,
                        metric.flow,
                        metric.unit,
                        *numbers,
                    )
                )
    schema: dict[str, pl.DataType] = {"experiment": pl.String(), **dict.fromkeys(factors, pl.String())}
    schema |= {"metric": pl.String(), "flow": pl.String(), "unit": pl.String(), "n": pl.Int64()}
    schema |= {"mean": pl.Float64(), "low": pl.Float64(), "high": pl.Float64()}
    return pl.DataFrame(rows, schema=schema, orient="row")


def flat(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame without lists, as CSV has none."""
    lists = [name for name, kind in frame.schema.items() if isinstance(kind, pl.List)]
    return frame.with_columns(pl.col(name).cast(pl.List(pl.String)).list.join(";") for name in lists)
