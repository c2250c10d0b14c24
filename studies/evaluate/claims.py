"""The values that the page of this study shows: every sender of the results as a newcomer beside CUBIC."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from haltere.claims import value
from haltere.evaluation.judging import Judged, judge, senders
from haltere.evaluation.sheet import required
from haltere.evaluation.words import margin, place
from haltere.figures import kinds
from haltere.metrics.tables import Tables

HERE = Path(__file__).parent
CUBIC = "tcp/cubic"
MOST = 9.0
"""Larger excesses are kept as this one."""
SIGNS = {"worse": "✗", "no worse": "=", "better": "✓", "undecided": "?"}


@value
def controls(tables: Tables) -> pl.DataFrame:
    """How each row of the sheet stands for each sender beside CUBIC; rows that were not run are left out."""
    table: dict[str, dict[str, str]] = {}
    for control, section, one in _judged(tables):
        table.setdefault(control, {"control": control})[section] = SIGNS.get(one.standing, "–")
    return pl.DataFrame(list(table.values()))


@value
def effects(tables: Tables) -> pl.DataFrame:
    """The effects behind each of these: a row a place, for each control the excess in margins with its interval."""
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    for control, section, one in _judged(tables):
        for each in one.effects:
            where = (section, one.row.title, each.metric.spoken, place(each), margin(each).removeprefix("margin "))
            row = rows.setdefault(where, dict(zip(("section", "title", "what", "place", "margin"), where, strict=True)))
            row[control] = " ".join(f"{min(max(end, -MOST), MOST):.1f}".removesuffix(".0") for end in each.excesses)
    return pl.DataFrame(list(rows.values()))


def _judged(tables: Tables) -> Iterator[tuple[str, str, Judged]]:
    """Each control beside CUBIC in each row that was run, with its section; a second row of one has the letter b."""
    sheet, words = required(HERE), kinds.read(HERE / "figures.toml")
    sheet = sheet.model_copy(update={"rows": tuple(row for row in sheet.rows if row.parts)})
    for newcomer in senders(sheet, tables):
        if newcomer == CUBIC:
            continue
        seen: Counter[str] = Counter()
        for one in judge(sheet, words, tables, newcomer=newcomer, against=[CUBIC]).rows:
            letter = ("", "b", "c", "d")[seen[one.row.section]]
            seen[one.row.section] += 1
            yield newcomer.removeprefix("tcp/"), f"{one.row.section} {letter}".strip(), one
