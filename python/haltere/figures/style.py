"""How figures for paper look, and how they are written so that the same numbers give the same bytes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

COLUMN_IN = 3.45
"""Width of a single column of a two-column paper, in inches."""
PAGE_IN = 7.1
"""Width of both columns."""
INK = "#1a1a1a"
QUIET = "#6b6b6b"

_RC = {
    "font.family": "DejaVu Sans",
    "font.size": 7.5,
    "axes.titlesize": 7.5,
    "axes.titleweight": "normal",
    "axes.labelsize": 7.5,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "legend.handlelength": 1.4,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.edgecolor": QUIET,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "axes.grid": False,
    "axes.axisbelow": True,
    "grid.linewidth": 0.4,
    "grid.color": "#dddddd",
    "hatch.linewidth": 0.5,
    "lines.linewidth": 1.0,
    "figure.constrained_layout.use": True,
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "haltere",
    "savefig.dpi": 300,
    "path.simplify": True,
}


@contextmanager
def paper() -> Iterator[None]:
    """A context in which figures have the style for paper, whatever the user's own settings are."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_RC)
        yield


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
