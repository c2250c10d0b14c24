"""`haltere paths compare`, and `haltere run` of a study of measured paths."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.markup import escape
from rich.table import Table
from rich.text import Text

from haltere import shipped
from haltere.claims.findings import Findings
from haltere.cli import show
from haltere.cli.paths import Compared
from haltere.documents import shown
from haltere.evolution.measuring import Options
from haltere.evolution.study import PathsStudy
from haltere.paths.periods import Evolution
from haltere.paths.turnover import KINDS
from haltere.report import evolution
from haltere.results import load

MARKS = {
    "confirmed": "[green]confirmed[/]",
    "contradicted": "[red]contradicted[/]",
    "undecided": "[yellow]undecided[/]",
}


def compare(first: Path, second: Path, wanted: Compared) -> None:
    """Measure two lakes, print what changed and the claims' verdicts, and write the report."""
    options = Options(
        traces=wanted.traces,
        sources=wanted.sources,
        destinations=wanted.destinations,
        k=wanted.k,
        draws=wanted.draws,
        resample=wanted.resample,
        level=wanted.nodes.at(),
        policy=wanted.routing.policy(),
        seed=wanted.seed,
        mmdb=wanted.mmdb,
        regions=wanted.regions,
        keep=tuple(wanted.keep or ()),
        threads=wanted.threads,
    )
    study, header = None, None
    if wanted.study is not None:
        study = shipped.locate(wanted.study)
        header = PathsStudy.load(study).header
    periods = ((first.name, first), (second.name, second))
    asked = PathsStudy(periods, options, wanted.part.selection(), header, study)
    with show.stages() as on_progress:
        command = shlex.join(["haltere", *sys.argv[1:]])
        asked.run(wanted.out, command=command, dask=wanted.dask, on_progress=on_progress)
    _tell(wanted.out, *evolution.build(wanted.out, study))


def run(path: Path, out: Path | None, draws: int | None, dask: str | None) -> None:
    """Run a study of measured paths, and say where its results are."""
    study = PathsStudy.load(path)
    folder = out or Path("results") / study.name
    words = ["haltere", "run", str(path), *(["--replications", str(draws)] if draws else []), "--out", str(folder)]
    with show.stages() as on_progress:
        study.run(folder, command=shlex.join(words), draws=draws, dask=dask, on_progress=on_progress)
    views = load(folder).manifest["counts"]["runs"]
    show.say(f"{views} partial views of {study.name} in {shown(folder)}")
    show.say(f"next: haltere report {shown(folder)}")


def _tell(out: Path, report: Path, said: Findings, found: Evolution) -> None:
    console = show.out()
    names = found.first.name, found.second.name
    console.print(_table("Data", ("", *names), evolution.data_rows(found), ("label", "first", "second")))
    titles = ("Measure", *names, "change", "monitors of both", "equal mix")
    keys = ("label", "first", "second", "change", "paired", "reweighted")
    console.print(_table("What changed", titles, evolution.effect_rows(found), keys))
    if said.judged:
        console.print(_verdicts(said))
    for sentence in said.answer:
        show.say(sentence)
    if found.turnover is not None:
        for what in KINDS:
            show.say(f"{found.turnover.sentence(what)}: {out / what}.csv")
    for caution in evolution.cautions(found):
        console.print(f"[yellow]Caution.[/] {escape(caution)}", soft_wrap=True)
    show.say(f"report: {report}")


def _table(title: str, titles: Sequence[str], rows: list[dict[str, str]], keys: Sequence[str]) -> Table:
    return show.table(*map(escape, titles), rows=[[row[key] for key in keys] for row in rows], title=title)


def _verdicts(said: Findings) -> Table:
    rows = []
    for number, one in enumerate(said.judged, 1):
        reason = f"\n{one.verdict.reason}" if one.verdict.reason else ""
        rows.append((f"{number}. {one.claim.sentence}{reason}", Text.from_markup(MARKS[one.verdict.outcome.value])))
    return show.table("claim", "verdict", rows=rows, left=2, title="Claims")
