"""`haltere evaluate --suite`: test cases with their progress, a table of verdicts, the page, JUnit XML."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import typer
from rich.markup import escape

from haltere.cli import exits, show
from haltere.documents import shown
from haltere.errors import ArgumentError
from haltere.evaluation.suites.running import Result, Suited, run_suite
from haltere.evaluation.suites.writing import junit, summary, write
from haltere.files import write_whole


def command(
    contender: str,
    suite: str,
    *,
    cases: Collection[int],
    workers: int | None,
    out: Path | None,
    qlog: bool,
    report: Path | None,
    as_json: bool,
) -> None:
    """Run the cases, print their verdicts, and write the page."""
    if qlog and out is None:
        raise ArgumentError("needs a folder", field="qlog", right="add --out FOLDER")
    logs = out / "qlog" if qlog and out is not None else None
    with show.progress(escape(f"test cases of {suite}")) as advance:
        found = run_suite(contender, suite, cases=cases, workers=workers, qlog=logs, on_progress=advance)
    if report is not None:
        write_whole(report, junit(found))
    page = None if out is None else write(found, out)
    if as_json:
        show.data(_data(found))
    else:
        _print(found)
        if page is not None:
            show.say(f"report: {shown(page)}")
    if found.count("failed"):
        raise typer.Exit(exits.SOME_FAILED)


def _print(found: Suited) -> None:
    rows = [(str(one.case.number), one.case.title, one.verdict, _words(one)) for one in found.results]
    table = show.table("case", "title", "verdict", "what says most", rows=rows, left=4, title=escape(found.suite.title))
    show.out().print(table)
    for sentence in summary(found):
        show.sentence(f"- {sentence}", indent=2)


def _words(one: Result) -> str:
    bad = next((look for look in one.looked if look.shown is not None and not look.shown.good), None)
    if bad is not None and bad.shown is not None:
        return f"not so: {bad.check.says} ({bad.shown.words})"
    seen = next((look for look in one.looked if look.shown is not None), None)
    return one.reason if seen is None or seen.shown is None else f"{seen.check.says}: {seen.shown.words}"


def _data(found: Suited) -> dict[str, Any]:
    return {
        "suite": found.suite.name,
        "source": found.suite.source,
        "contender": found.contender,
        "seed": found.seed,
        "cases": [
            {
                "number": one.case.number,
                "title": one.case.title,
                "verdict": one.verdict,
                "reason": one.reason,
                "event_s": one.at,
                "checks": [
                    {
                        "says": each.check.says,
                        "inside": each.check.inside,
                        "verdict": None if each.shown is None else "passed" if each.shown.good else "failed",
                        "seen": None if each.shown is None else each.shown.words,
                    }
                    for each in one.looked
                ],
                "scenario": one.scenario,
            }
            for one in found.results
        ],
    }
