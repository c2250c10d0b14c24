"""How figures for paper look, and how they are written so that the same numbers give the same bytes."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path
from typing import Literal

import matplotlib as mpl
import numpy as np
from matplotlib import font_manager
from matplotlib import style as mpl_style
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import Patch
from matplotlib.textpath import TextPath

from haltere.figures.on_screen import GENERIC

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


def has_font(family: str) -> bool:
    """Whether Matplotlib finds a font of this family on this machine."""
    try:
        font_manager.findfont(family, fallback_to_default=family in GENERIC)
    except ValueError:
        return False
    return True


Place = Literal["outside upper right", "outside upper left", "outside lower center"]
"""Where legends stand, in Matplotlib's words."""
_LINE = 18
"""Characters of a line of a slanted label. Longer ones leave no room for the axes."""


def slant(axes: Axes, labels: Sequence[str], degrees: float = 35) -> None:
    """Slant the labels under an axis, so that they do not run into each other; long ones take several lines."""
    axes.set_xticks(axes.get_xticks(), [textwrap.fill(label, _LINE) for label in labels])
    for label in axes.get_xticklabels():
        label.set(rotation=degrees, ha="right", rotation_mode="anchor")


def wrapped(text: str, width_in: float, size: float) -> str:
    """The text in lines that are no wider than that, in letters of this size in points."""
    # A letter is about 0.56 of its size wide on average, in the default font.
    return textwrap.fill(text, max(12, int(72 * width_in / (0.56 * size))))


def legend(
    figure: Figure,
    handles: Sequence[Artist],
    *,
    place: Place = "outside upper right",
    most: int = 4,
    head: str = "",
    beside: str = "",
) -> None:
    """Set a legend outside the axes of a figure, in as many columns as its width has room for.

    Args:
        figure: its width must be final; where the legend takes more than two rows, it grows by these.
        handles: what the legend shows, with their labels.
        place: where it stands.
        most: the largest number of columns.
        head: the words for what the handles are: in front of them if all stand in one row, else above them.
        beside: a title at its left. A legend that has no room beside it stands below the axes.
    """
    if not handles:
        return
    width = figure.get_figwidth()
    labels = [str(one.get_label()) for one in handles]
    before = [Patch(alpha=0.0, label=head)] if head else []
    if beside and _fitting([beside, *([head] if head else []), *labels], width, len(labels) + 2) < len(labels) + 2:
        place = "outside lower center"
    if before and _fitting([head, *labels], width, most + 1) == len(labels) + 1:
        figure.legend(handles=[*before, *handles], loc=place, ncols=len(labels) + 1)
        return
    columns = _fitting(labels, width, most)
    rows = math.ceil(len(handles) / columns) + len(before)
    size_in = mpl.rcParams["legend.fontsize"] / 72
    if rows > 2:
        figure.set_figheight(figure.get_figheight() + 1.5 * size_in * (rows - 2))
    figure.legend(handles=list(handles), loc=place, ncols=columns, title=head or None, alignment="left")


def _fitting(labels: Sequence[str], width_in: float, most: int) -> int:
    size = mpl.rcParams["legend.fontsize"]
    font = FontProperties(family=mpl.rcParams["font.family"])
    beside = mpl.rcParams["legend.handlelength"] + mpl.rcParams["legend.handletextpad"]
    # Renderers round the widths of letters up, each in its own way.
    texts = [1.1 * TextPath((0, 0), label, size=size, prop=font).get_extents().width for label in labels]
    widths = [text + beside * size for text in texts]
    between = mpl.rcParams["legend.columnspacing"] * size
    border = 2 * (mpl.rcParams["legend.borderpad"] + mpl.rcParams["legend.borderaxespad"]) * size
    for columns in range(min(most, len(labels)), 1, -1):
        # Matplotlib fills the first columns with one entry more than the last.
        filled = [part.max() for part in np.array_split(np.array(widths), columns)]
        if sum(filled) + between * (columns - 1) + border <= 72 * width_in:
            return columns
    return 1


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
