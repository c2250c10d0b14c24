"""The columns of the result tables, as the core declares them (`crates/sim/src/result/`)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from haltere import core, extras

if TYPE_CHECKING:
    import polars as pl
else:
    pl = extras.module("polars")  # a comparison needs none of it

_TYPES = {"integer": "Int64", "number": "Float64", "text": "String", "flag": "Boolean"}
"""The type of polars for each kind."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column.

    Attributes:
        name: its name.
        of: what its rows are about: `run`, `flow`, `link`, `cell`, `probe`, `request` (of a probe) or `load`.
        kind: `integer`, `number`, `text` or `flag`; with `list` a value is a list of them.
        unit: its unit; empty for what has none.
        meaning: what it means.
        better: `lower`, `higher` or `neither`.
        whole: what several flows that are taken as one have: `sum`, `mean`, `least`, `largest`, `span` (from the first
            start to the last end), `{"rate": COLUMN}` (the bits of that column over that span), or `unknown`.
        at: the fidelities at which it is known.
        metrics: what figures, tables and claims show of it (`haltere.metrics.Metric`).
    """

    name: str
    of: str
    kind: str
    list: bool
    unit: str
    meaning: str
    better: str
    whole: Any
    at: tuple[str, ...]
    metrics: tuple[dict[str, Any], ...]

    @property
    def type(self) -> pl.DataType:
        """The type of the column in tables."""
        single: pl.DataType = getattr(pl, _TYPES[self.kind])()
        return pl.List(single) if self.list else single


@cache
def declared() -> tuple[Column, ...]:
    """Return all columns."""
    return tuple(Column(**{**one, "at": tuple(one["at"]), "metrics": tuple(one["metrics"])}) for one in core.columns())


@cache
def of(rows: str) -> dict[str, Column]:
    """Return the columns of rows about runs, flows and so on (`Column.of`), by name."""
    return {column.name: column for column in declared() if column.of == rows}


def schema(rows: str) -> dict[str, pl.DataType]:
    """Return names and types of these columns."""
    return {name: column.type for name, column in of(rows).items()}
