"""How objects of this package look in a notebook: a sentence, and a table below it."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

ROWS = 20
"""So many rows of a table are shown."""


def notebook(sentence: str, table: pl.DataFrame | None = None) -> str:
    """Return HTML of a sentence and the first rows of a table."""
    shown = "" if table is None else _table(table.head(ROWS), table.height)
    return f"<p><strong>{escape(sentence)}</strong></p>{shown}"


def _table(table: pl.DataFrame, rows: int) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in table.columns)
    body = "".join(f"<tr>{''.join(f'<td>{escape(_text(value))}</td>' for value in row)}</tr>" for row in table.rows())
    more = f"<p>and {rows - table.height} rows more</p>" if rows > table.height else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _text(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
