"""`haltere explore`: the explorer of some results, and an index of several."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from haltere import explorer
from haltere.cli import show
from haltere.documents import shown


def command(given: Sequence[Path]) -> None:
    """Write the page of each results folder; with several, or for a folder of them, an index beside them."""
    folders = list(dict.fromkeys(folder for one in given for folder in explorer.results_below(one)))
    console = show.out()
    for folder in folders:
        with show.err().status(f"writing {shown(folder)}"):
            file = explorer.write(folder)
        console.print(f"page: {shown(file)}", markup=False, soft_wrap=True)
    if len(folders) > 1 or folders[0] != given[0]:
        common = given[0] if len(given) == 1 else _common([folder.resolve().parent for folder in folders])
        file = explorer.index(folders, common / "index.html")
        console.print(f"index: {shown(file)}", markup=False, soft_wrap=True)


def _common(folders: Sequence[Path]) -> Path:
    """Return the deepest folder that holds all of these."""
    first = folders[0]
    return next(one for one in (first, *first.parents) if all(folder.is_relative_to(one) for folder in folders))
