"""`haltere keep`: what a campaign found, beside its study; and `haltere pages`: pages written from what is kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer

from haltere import kept
from haltere.cli import exits, show
from haltere.cli.studies import study_folder
from haltere.documents import shown
from haltere.errors import InputError, counted
from haltere.kept.changes import Change
from haltere.results import load


def keep(results: Path, study: Path | None) -> None:
    """Keep what a campaign found, and say what changed."""
    folder = study_folder(load(results), study)
    if folder is None:
        raise InputError(
            "is of no study", field="results", given=shown(results), right="what `haltere run STUDY` wrote"
        )
    with show.out().status("judging the claims, and running a few runs for the canary"):
        done = kept.keep(results, folder)
    said = counted(len(done.kept.claims), "claim"), counted(len(done.kept.values), "value")
    counts = f"{' and '.join(said)} of {counted(done.kept.runs, 'run')}"
    show.say(f"{shown(done.file)} keeps {counts}")
    _tell("verdicts that changed", done.verdicts)
    _tell("numbers that changed beyond chance", done.numbers)
    for page in done.pages:
        show.say(f"written anew: {shown(page)}")


def _tell(what: str, found: Sequence[Change]) -> None:
    if found:
        show.say(f"{what}:", style="bold")
    for one in found:
        show.say(f"  {one}")


def pages(places: Sequence[Path], *, check: bool, canary: bool) -> None:
    """Write pages anew, or say which of them differ from what is kept."""
    for place in places:
        if not place.is_dir() and (place.suffix != ".md" or not place.is_file()):
            right = "a Markdown page, the folder of a study, or one with studies and pages"
            raise InputError("is no page and no folder", field="PLACE", given=shown(place), right=right)
    stale = [line for place in places if place.is_dir() for line in _stale(place)] if canary else []
    for line in stale:
        show.say(line, style="yellow")
    if not check:
        for place in places:
            for file in kept.render(place):
                show.say(f"written anew: {shown(file)}")
        return
    wrong = [found for place in places for found in kept.check(place)]
    for file, lines in wrong:
        show.note(f"{shown(file)}: line {', '.join(map(str, lines))}: is not what is kept")
    if wrong:
        show.note("`haltere pages` writes them anew")
        raise typer.Exit(exits.DIFFERENT)


def _stale(folder: Path) -> list[str]:
    studies = sorted({file.parent.parent for file in folder.rglob(f"{kept.FOLDER}/*.json")})
    return [
        f"stale: {shown(one)}, campaign {name}: {why} since it was run"
        for one in studies
        for name, why in kept.mark_stale(one).items()
    ]
