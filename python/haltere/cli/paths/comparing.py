"""`haltere paths compare`: compares two lakes."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from rich.markup import escape
from rich.table import Table

from haltere.claims.findings import Findings
from haltere.cli import show
from haltere.cli.paths.options import day
from haltere.paths.engine import Dask
from haltere.paths.evolution import Options, measure
from haltere.paths.lake import Lake, Selection
from haltere.paths.turnover import KINDS
from haltere.report import evolution

MARKS = {
    "confirmed": "[green]confirmed[/]",
    "contradicted": "[red]contradicted[/]",
    "undecided": "[yellow]undecided[/]",
}


def selection(
    sources: list[str], first_day: str | None, last_day: str | None, family: int | None, *, repeats: bool = False
) -> Selection:
    """Return the part of a lake that options select."""
    return Selection(
        sources=tuple(sources) or None,
        first_day=day("--from", first_day),
        last_day=day("--to", last_day),
        family=family,
        repeats=repeats,
    )


def compare(first: Path, second: Path, options: Options, chosen: Selection, out: Path, dask: str | None) -> None:
    """Measure two lakes, print what changed and the claims' verdicts, and write the report."""
    lakes = Lake(first, chosen), Lake(second, chosen)
    engine = Dask(dask) if dask else None
    try:
        with show.stages() as on_progress:
            measured = measure(*lakes, options, engine=engine, on_progress=on_progress)
    finally:
        if engine is not None:
            engine.close()
    command = shlex.join(["haltere", *sys.argv[1:]])
    report = evolution.build(measured, out, command=command, seed=options.seed)
    found = measured.evolution
    said = evolution.findings(found)
    console = show.out()
    console.print(_data(evolution.data_rows(found), found.first.name, found.second.name))
    console.print(_changes(evolution.effect_rows(found), found.first.name, found.second.name))
    console.print(_verdicts(said))
    for sentence in said.answer:
        console.print(escape(sentence), soft_wrap=True)
    if found.turnover is not None:
        for what in KINDS:
            console.print(f"{found.turnover.sentence(what)}: {escape(str(out / what))}.csv", soft_wrap=True)
    for caution in evolution.cautions(found):
        console.print(f"[yellow]Caution.[/] {escape(caution)}", soft_wrap=True)
    console.print(f"report: {escape(str(report))}", soft_wrap=True)


def _data(rows: list[dict[str, str]], first: str, second: str) -> Table:
    return _table("Data", ["", first, second], rows, ("label", "first", "second"))


def _changes(rows: list[dict[str, str]], first: str, second: str) -> Table:
    titles = ["Measure", first, second, "change", "monitors of both", "equal mix"]
    return _table("What changed", titles, rows, ("label", "first", "second", "change", "paired", "reweighted"))


def _table(title: str, titles: list[str], rows: list[dict[str, str]], keys: tuple[str, ...]) -> Table:
    table = show.table(title=title)
    for place, name in enumerate(titles):
        table.add_column(escape(name), justify="right" if place else "left")
    for row in rows:
        table.add_row(*(escape(row[key]) for key in keys))
    return table


def _verdicts(said: Findings) -> Table:
    table = show.table(title="Claims")
    table.add_column("claim")
    table.add_column("verdict")
    for number, one in enumerate(said.judged, 1):
        reason = f"\n{one.verdict.reason}" if one.verdict.reason else ""
        table.add_row(escape(f"{number}. {one.claim.sentence}{reason}"), MARKS[one.verdict.outcome.value])
    return table
