"""`haltere report`: the report of some results."""

from __future__ import annotations

from pathlib import Path

from rich.markup import escape

from haltere.cli import exits, show
from haltere.documents import shown
from haltere.errors import InputError, Place
from haltere.results import load


def command(results: Path, study: Path | None) -> None:
    """Write the report and say where it is."""
    manifest = load(results).manifest
    file = manifest["study_file"]  # a comparison of two lakes has none
    folder = study or (None if file is None else Path(str(file)).parent)
    if folder is not None and not folder.is_dir():
        raise InputError(
            "the study's folder is not here",
            place=Place(shown(folder)),
            field="--study",
            right="the folder of the study that these results came from",
        )
    from haltere.report import written

    console = show.out()
    with console.status("writing the report"):
        page, findings = written(results, folder)
    console.print(escape((results / "verdicts.md").read_text(encoding="utf-8").partition("\n\n")[0]), soft_wrap=True)
    console.print(f"report: {shown(page)}", soft_wrap=True)
    broken = findings.broken()
    for reason in broken:
        show.err().print(f"claims: {reason}", markup=False, soft_wrap=True)
    exits.end(bool(broken), 2)
