"""The file of a campaign that is kept beside its study, and the pages whose numbers are written from it.

`campaign` is the file in which verdicts and numbers are kept, `canary` a few runs that tell whether they are still what
the model gives, `changes` what differs between two such files beyond chance, `pages` the Markdown pages whose marks are
filled from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from haltere.files import write_whole
from haltere.kept import campaign, canary, changes
from haltere.kept.campaign import FOLDER, Kept
from haltere.kept.pages import Page, pages_of
from haltere.results import load

__all__ = ["FOLDER", "Keeping", "check", "keep", "mark_stale", "render"]


@dataclass(frozen=True)
class Keeping:
    """A campaign that was kept, its file, and all that differs from its former file, if there was one."""

    file: Path
    kept: Kept
    verdicts: tuple[changes.Change, ...] = ()
    numbers: tuple[changes.Change, ...] = ()
    pages: tuple[Path, ...] = ()


def keep(results_dir: Path, folder: Path) -> Keeping:
    """Keep what a campaign found in its study's folder, and write the pages there anew.

    Raises:
        InputError: if the folder holds no results, the study's code fails, or a mark of a page cannot be filled.
    """
    results = load(results_dir)
    manifest = results.manifest
    name = campaign.name_of(manifest)
    before = campaign.read(folder, name)
    found = campaign.keep(results, folder)
    chosen = canary.choose(found, folder, list(manifest["experiments"]))
    # A search costs many minutes: its findings stay until there are others.
    searched = {"when": before.values["when"]} if before is not None and "when" in before.values else {}
    kept = found.model_copy(update={"canary": chosen, "values": {**searched, **found.values}})
    campaign.write(folder, name, kept)
    file = campaign.file_of(folder, name)
    pages = tuple(render(folder))
    if before is None:
        return Keeping(file, kept, pages=pages)
    return Keeping(file, kept, tuple(changes.verdicts(before, kept)), tuple(changes.numbers(before, kept)), pages)


def render(place: Path) -> list[Path]:
    """Write the numbers of a page, or of all pages in a folder, anew; return the pages that changed."""
    written = []
    for file in pages_of(place):
        page = Page.read(file)
        text = page.rendered(place.parent)
        if text != page.source:
            write_whole(file, text.encode())
            written.append(file)
    return written


def check(place: Path) -> list[tuple[Path, list[int]]]:
    """Return the pages in a folder, or the page, whose numbers are not those that are kept, with the marks' lines."""
    pages = ((file, Page.read(file).changed(place.parent)) for file in pages_of(place))
    return [(file, lines) for file, lines in pages if lines]


def mark_stale(folder: Path) -> dict[str, str]:
    """Run the canaries of a study's campaigns, note in their files whether the numbers are stale; return why, by name.

    A campaign that ran on real Linux has no canary of its own: it is stale if the study has changed.
    """
    found = {}
    for name in campaign.names(folder):
        kept = campaign.read(folder, name)
        if kept is None:
            continue
        why = canary.why_stale(kept, folder)
        if why != kept.stale:
            campaign.write(folder, name, kept.model_copy(update={"stale": why}))
        if why:
            found[name] = why
    return found
