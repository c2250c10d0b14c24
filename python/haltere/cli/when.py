"""`haltere when`: search under what changes a study's claims would be judged otherwise, then an answer for each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from rich.markup import escape

from haltere.cli import show
from haltere.documents import shown
from haltere.errors import InputError, Interrupted
from haltere.executor import ThreadExecutor
from haltere.runner.interrupt import stop_on_interrupt
from haltere.study import Study
from haltere.when import Found, Plan, search


def command(
    path: Path,
    *,
    results: Path | None,
    variant: str | None,
    claims: Sequence[int] | None,
    minutes: float,
    workers: int | None,
    as_json: bool,
) -> None:
    """Search, and print the answers."""
    ThreadExecutor(workers)  # refuses a wrong number of workers before anything is read
    if not 0 < minutes < float("inf"):
        raise InputError("is not a time", field="--minutes", given=str(minutes), right="a number of minutes above 0")
    study = Study.load(path, variant=variant)
    folder = results or Path("results") / study.name
    with show.searching() as advance, stop_on_interrupt() as stop:
        found = search(study, folder, Plan(minutes, tuple(claims or ()), workers, stop, advance))
    if as_json:
        print(json.dumps(found.data(), indent=1, ensure_ascii=False))
        return
    console = show.out()
    for one in found.claims:
        if not claims or one.number in claims:
            _print(one)
    if stop.is_set():
        raise Interrupted(f"stopped: what was found is written in {shown(folder)}; the same command goes on")
    console.print(escape(f"next: haltere report {shown(folder)}"))


def _print(one: Found) -> None:
    console = show.out()
    console.print(escape(f"{one.number}. {one.sentence}"), style="bold", soft_wrap=True)
    console.print(escape(f"   {one.answer()}."), soft_wrap=True)
    for line in one.lines():
        console.print(escape(f"   {line}"), style="dim", soft_wrap=True)
