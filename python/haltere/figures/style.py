"""How figures for paper look, and how they are written so that the same numbers give the same bytes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path

import matplotlib as mpl
from matplotlib import font_manager
from matplotlib import style as mpl_style
from matplotlib.figure import Figure

COLUMN_IN = 3.45
"""Width of a single column of a two-column paper, in inches."""
PAGE_IN = 7.1
"""Width of both columns."""
INK = "#1a1a1a"
QUIET = "#6b6b6b"


@contextmanager
def paper(font: str = "") -> Iterator[None]:
    """A context in which figures have the style for paper, whatever the user's own settings are.

    Args:
        font: the family of all text, in the place of the style's own.
    """
    with mpl.rc_context():
        mpl.rcdefaults()
        with as_file(files("haltere.figures") / "paper.mplstyle") as sheet:
            mpl_style.use(sheet)
        if font:
            mpl.rcParams["font.family"] = font
        yield


GENERIC = ("serif", "sans-serif", "monospace")
"""Families that name a kind of font: CSS and Matplotlib choose one."""


def has_font(family: str) -> bool:
    """Whether Matplotlib finds a font of this family on this machine."""
    try:
        font_manager.findfont(family, fallback_to_default=family in GENERIC)
    except ValueError:
        return False
    return True


def css_family(family: str) -> str:
    """The family as CSS writes it."""
    return family if family in GENERIC else f'"{family}"'


def save(figure: Figure, stem: Path, formats: tuple[str, ...] = ("svg", "pdf")) -> list[Path]:
    """Write the figure as `stem.svg` and `stem.pdf`, without dates or versions, and return the paths."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    written = []
    for form in formats:
        path = stem.with_name(f"{stem.name}.{form}")
        metadata: dict[str, str | None] = {}
        if form == "svg":
            metadata = {"Date": None, "Creator": None}
        elif form == "pdf":
            metadata = {"CreationDate": None, "Creator": None, "Producer": None}
        elif form == "png":
            metadata = {"Software": None}
        figure.savefig(path, format=form, metadata=metadata)
        written.append(path)
    return written
