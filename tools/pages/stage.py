"""Lays out what Sphinx reads: the repository's pages where they lie in the repository, so that their links hold."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from haltere import core, playground
from haltere.study.model import study_schema
from pages import commands, controls, gallery, interface, lists, metrics, runnable
from pages.schema import Page

PAGES = (
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "benches/README.md",
    "tests/data/paths/README.md",
    "docs/**/*",
    "studies/*/*.*",
    "LICENSE-*",
)
"""Which files of the repository are pages of the site, or are shown in them."""

GENERATED: dict[str, Callable[[], str]] = {
    "scenario": lambda: Page(core.scenario_schema(), "scenario").markdown(),
    "study": lambda: Page(study_schema(), "study").markdown(),
    "commands": commands.markdown,
    "contenders": lists.contenders,
    "metrics": metrics.markdown,
    "columns": metrics.of_columns,
    "plugins": interface.markdown,
}
"""The texts that replace the line `<!-- generated: NAME -->` of a page."""


def stage(root: Path, source: Path) -> None:
    """Write everything that Sphinx reads into an empty folder.

    Args:
        root: the repository.
        source: the folder, which is removed first if it is there.
    """
    shutil.rmtree(source, ignore_errors=True)
    for pattern in PAGES:
        for file in root.glob(pattern):
            if file.is_file():
                place = source / file.relative_to(root)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, place)
    here = Path(__file__).parent
    for name in ("index.md", "gallery.md", "controls.md"):
        shutil.copyfile(here / name, source / name)
    (source / "static").mkdir()
    (source / "extra").mkdir()
    # The README shows these by HTML, for which Sphinx looks for no file.
    shutil.copytree(root / "docs" / "figures", source / "extra" / "docs" / "figures", ignore=_others)
    gallery.place(root, source)
    controls.place(root, source)
    answers = put_playground(root, source)
    for page in source.rglob("*.md"):
        text = filled(page.read_text(encoding="utf-8"))
        if answers:
            text = runnable.with_runs(text, PurePosixPath(page.relative_to(source).as_posix()))
        page.write_text(text, encoding="utf-8")


def _others(_: str, names: list[str]) -> list[str]:
    return [name for name in names if not name.startswith("playground-")]


def put_playground(root: Path, source: Path) -> bool:
    """Put the playground's page on the site if its module is built, and say on its how-to page where it is.

    Returns:
        Whether the module is built.
    """
    module = root / "target" / "playground" / "playground.wasm"
    said = "`make playground` builds it."
    if module.exists():
        playground.write(module, source / "extra" / playground.PAGE)
        said = f'<a href="../../{playground.PAGE}">Open the playground</a>'
    page = source / "docs" / "how-to" / "playground.md"
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace("<!-- generated: playground -->", said), encoding="utf-8")
    return module.exists()


def filled(text: str) -> str:
    """Return a page's text with what is generated in the place of its markers."""
    for name, make in GENERATED.items():
        marker = f"<!-- generated: {name} -->"
        if marker in text:
            text = text.replace(marker, make())
    return text
