"""One page over the results of a study, in which any metric is put against any factor: `haltere explore`.

The page holds the data and the charting library (Vega-Lite), and loads nothing from a network or from other files.
"""

from __future__ import annotations

import base64
import gzip
import json
import os
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from haltere.documents import shown
from haltere.errors import InputError, Place
from haltere.explorer.columns import gather
from haltere.figures import kinds, pages
from haltere.figures.spec import FigureList
from haltere.files import write_whole
from haltere.results import Results, load, read_manifest

__all__ = ["PAGE", "index", "write"]

PAGE = "explore.html"
"""The page's name in the folder of the results."""
REPORT = "report.html"
LIBRARY = "charts.js"
"""The charting library, which `tools/charts.py` writes when the package is built."""


def write(folder: Path) -> Path:
    """Write the page of a results folder into it, and return its path.

    Raises:
        haltere.errors.InputError: if the folder holds no results.
    """
    results = load(folder)
    out = folder / PAGE
    write_whole(out, page(results))
    return out


def page(results: Results) -> str:
    """Return the page as text. The same results give the same bytes."""
    study = results.manifest["study"]
    title = str(study.get("title") or study["name"])
    data = {
        "title": title,
        "question": study.get("question") or "",
        "trace": f"haltere trace {shown(results.path)} --run ",
        "report": REPORT if (results.path / REPORT).exists() else "",
        **gather(results, _words(results)),
    }
    packed = gzip.compress(json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode(), mtime=0)
    return (
        _asset("page.html")
        .replace("{{title}}", escape(title))
        .replace("{{style}}", _asset("page.css"))
        .replace("{{data}}", base64.b64encode(packed).decode())
        .replace("{{library}}", _library())
        .replace("{{script}}", _asset("page.js"))
    )


def _words(results: Results) -> FigureList:
    """The words of the study's `figures.toml`; none if the study is not there any more, or its file is refused."""
    try:
        return kinds.read(Path(str(results.manifest.get("study_file", ""))).parent / "figures.toml")
    except (InputError, OSError):
        return FigureList()


def index(folders: Sequence[Path], out: Path) -> Path:
    """Write a page that lists results folders, with links to the report and the explorer of each.

    Raises:
        haltere.errors.InputError: if a folder holds no results.
    """
    rows = [_row(load(folder).manifest, folder, out.parent) for folder in folders]
    text = pages.page("index.html.j2", rows=rows, css=_asset("page.css"))
    out.parent.mkdir(parents=True, exist_ok=True)
    write_whole(out, text)
    return out


def results_below(folder: Path) -> list[Path]:
    """Return the folder if it holds results, else those folders in it that do; raise `InputError` if there are none."""
    if read_manifest(folder) is not None or (folder / "parts").is_dir():
        return [folder]
    found = [one for one in sorted(folder.glob("*")) if one.is_dir() and read_manifest(one) is not None]
    if not found:
        raise InputError(
            "no results here",
            place=Place(shown(folder)),
            right="a folder written by `haltere run`, such as results/quic-dumbbell, or one that holds such folders",
        )
    return found


def _row(manifest: dict[str, Any], folder: Path, base: Path) -> dict[str, Any]:
    links = [
        (_relative(folder / name, base), words)
        for name, words in ((PAGE, "explore"), (REPORT, "report"))
        if (folder / name).exists()
    ]
    return {**{name: manifest[name] for name in ("study", "counts", "finished")}, "links": links}


def _relative(file: Path, base: Path) -> str:
    return Path(os.path.relpath(file, base)).as_posix()


def _asset(name: str) -> str:
    return (files("haltere.explorer") / name).read_text(encoding="utf-8")


@cache
def _library() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script, fit for a script element.

    Raises:
        haltere.errors.InputError: if the package was not built by `make build`, which writes it.
    """
    try:
        return _asset(LIBRARY)
    except FileNotFoundError:
        raise InputError(
            "the charting library of the page is not in this package",
            place=Place(f"haltere/explorer/{LIBRARY}"),
            right="a wheel, or a clone after `make build`, which writes it",
        ) from None
