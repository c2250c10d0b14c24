"""How objects of this package look in a notebook: a sentence, and a table below it."""

from __future__ import annotations

from html import escape
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from haltere.errors import InputError
from haltere.extras import remedy

if TYPE_CHECKING:
    import polars as pl

ROWS = 20
"""So many rows of a table are shown."""


def notebook(sentence: str, table: pl.DataFrame | None = None) -> str:
    """Return HTML of a sentence and the first rows of a table."""
    shown = "" if table is None else _table(table.head(ROWS), table.height)
    return f"<p><strong>{escape(sentence)}</strong></p>{shown}"


def to_pandas(table: pl.DataFrame) -> Any:
    """Return a table as a data frame of pandas.

    Raises:
        InputError: if pandas is not installed.
    """
    if find_spec("pandas") is None:
        raise InputError("needs pandas, which is not installed", field="to_pandas", right=remedy("pandas"))
    return import_module("pandas").DataFrame(table.to_dict(as_series=False))


def _table(table: pl.DataFrame, rows: int) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in table.columns)
    body = "".join(f"<tr>{''.join(f'<td>{escape(_text(value))}</td>' for value in row)}</tr>" for row in table.rows())
    more = f"<p>and {rows - table.height} rows more</p>" if rows > table.height else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _text(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
