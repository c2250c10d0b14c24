"""The studies that come with the package: which they are, and where they lie.

They are package data: `python/haltere/studies` is a link to `studies` in a clone and a folder in an installed wheel
(`include` in `pyproject.toml`).
"""

from __future__ import annotations

import difflib
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from haltere.errors import InputError, as_written

FOLDER = (Path(__file__).parent / "studies").resolve()
"""The folder of the shipped studies, one folder a study."""


@dataclass(frozen=True)
class Shipped:
    """A shipped study. `name` is what `haltere run` takes, `folder` where its files lie."""

    name: str
    folder: Path
    title: str
    question: str


@cache
def studies() -> tuple[Shipped, ...]:
    """Return the shipped studies by name; empty if the package was installed without them."""
    return tuple(_read(file.parent) for file in sorted(FOLDER.glob("*/study.toml")))


def _read(folder: Path) -> Shipped:
    header = tomllib.loads((folder / "study.toml").read_text(encoding="utf-8"))["study"]
    return Shipped(folder.name, folder, header.get("title", folder.name), header.get("question", ""))


def locate(path: str | Path) -> Path:
    """Return where a study lies: a path that is there as it is, the name of a shipped study as its folder.

    A folder without a study, such as one of results, does not hide the shipped study of its name. A path that is
    neither is returned as it is, for the reader's own error, unless it can only be a name.

    Raises:
        InputError: if it is a bare name (no folder, no ending) that stands for no study.
    """
    path = Path(path)
    names = {study.name: study.folder for study in studies()}
    hidden = path.is_dir() and path.name in names and not (path / "study.toml").exists()
    if (path.exists() and not hidden) or len(path.parts) != 1 or path.suffix:
        return path
    if path.name not in names:
        near = difflib.get_close_matches(path.name, names, n=3) or list(names)
        raise InputError(
            "is neither here nor shipped with haltere",
            field="study",
            given=as_written(path.name),
            right="a study's folder or file" + (f", or a shipped study: {', '.join(near)}" if near else ""),
        )
    return names[path.name]


def called(folder: Path) -> str | None:
    """Return the name of the shipped study that lies in a folder, or None if another study does."""
    folder = folder.resolve()
    return folder.name if folder.parent == FOLDER else None
