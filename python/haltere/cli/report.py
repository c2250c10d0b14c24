"""`haltere report`: the report of some results."""

from __future__ import annotations

from pathlib import Path

from haltere.cli import show
from haltere.documents import shown
from haltere.errors import InputError, Place
from haltere.results import load


def command(results: Path, study: Path | None) -> None:
    """Write the report and say where it is."""
    manifest = load(results).manifest
    folder = study or Path(str(manifest["study_file"])).parent
    if not folder.is_dir():
        raise InputError(
            "the study's folder is not here",
            place=Place(shown(folder)),
            field="--study",
            right="the folder of the study that these results came from",
        )
    from haltere.report import build

    console = show.out()
    with console.status("writing the report"):
        file = build(results, folder)
    console.print((results / "verdicts.md").read_text(encoding="utf-8").partition("\n\n")[0], soft_wrap=True)
    console.print(f"report: {shown(file)}", soft_wrap=True)
