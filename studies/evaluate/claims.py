"""The values that the page of this study shows: every sender of the results as a newcomer beside CUBIC."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from haltere.claims import value
from haltere.evaluation.judging import judge, senders
from haltere.evaluation.sheet import required
from haltere.figures import kinds
from haltere.metrics.tables import Tables

HERE = Path(__file__).parent
CUBIC = "tcp/cubic"
SIGNS = {"worse": "✗", "no worse": "=", "better": "✓", "undecided": "?"}


@value
def controls(tables: Tables) -> pl.DataFrame:
    """How each row of the sheet stands for each sender beside CUBIC; rows that were not run are left out."""
    sheet, words = required(HERE), kinds.read(HERE / "figures.toml")
    sheet = sheet.model_copy(update={"rows": tuple(row for row in sheet.rows if row.parts)})
    table = []
    for newcomer in senders(sheet, tables):
        if newcomer == CUBIC:
            continue
        found = judge(sheet, words, tables, newcomer=newcomer, against=[CUBIC])
        named = newcomer.removeprefix("tcp/")
        seen: dict[str, int] = {}
        cells = {}
        for one in found.rows:
            again = seen[one.row.section] = seen.get(one.row.section, 0) + 1
            cells[one.row.section + ("" if again == 1 else " " + "ab"[again - 1])] = SIGNS.get(one.standing, "–")
        table.append({"control": named, **cells})
    return pl.DataFrame(table)
