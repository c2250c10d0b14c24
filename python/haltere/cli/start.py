"""`haltere new` and `haltere list`: a study to begin with, and what there is to work with."""

from __future__ import annotations

import json
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

from rich.markup import escape

from haltere import core, shipped
from haltere.cli import show
from haltere.documents import shown
from haltere.errors import HaltereError, InputError, as_written
from haltere.results import read_manifest
from haltere.study.model import name_problem

STARTER = ("study.toml", "figures.toml", "claims.py")
"""The files of a new study."""


def new(folder: Path) -> None:
    """Write a small commented study that runs as it is.

    Raises:
        InputError: if the folder's name cannot name a study, or the folder is there already.
    """
    problem = name_problem("study", folder.name)
    if problem:
        raise InputError(problem[0], field="name", given=as_written(folder.name), right=problem[1])
    if folder.exists():
        raise InputError("is there already", field="name", given=shown(folder), right="a folder that is not there yet")
    folder.mkdir(parents=True)
    for name in STARTER:
        text = files("haltere").joinpath("starter", name).read_text(encoding="utf-8")
        (folder / name).write_text(text.replace("NAME", folder.name), encoding="utf-8")
    console = show.out()
    console.print(escape(f"{shown(folder)} has {', '.join(STARTER)}"), soft_wrap=True)
    console.print(escape(f"next: haltere run {shown(folder)}"), soft_wrap=True)


def studies_here(folder: Path) -> list[dict[str, Any]]:
    """Return the studies in a folder, and in `studies` below it: name, title, and the path that `haltere run` takes."""
    found = sorted([*folder.glob("*/study.toml"), *folder.glob("studies/*/study.toml")])
    return [{"study": shown(file.parent), **described(file)} for file in found]


def described(file: Path) -> dict[str, Any]:
    """Return the title of a study file, or what is wrong with it."""
    try:
        header = tomllib.loads(file.read_text(encoding="utf-8-sig")).get("study", {})
    except (OSError, ValueError) as error:
        return {"title": f"cannot be read: {error}"}
    return {"title": str(header.get("title") or header.get("name", "")) if isinstance(header, dict) else ""}


def results_here(folder: Path) -> list[dict[str, Any]]:
    """Return the results folders below a folder: its path, the study's title, counts of runs, and when it finished."""
    rows = []
    for place in sorted([folder, *(one for one in folder.glob("*") if one.is_dir()), *folder.glob("results/*")]):
        try:
            manifest = read_manifest(place)
        except HaltereError:
            continue
        if manifest and "study" in manifest:
            rows.append(
                {
                    "results": shown(place),
                    "title": manifest["study"].get("title") or manifest["study"].get("name", ""),
                    "runs": manifest["counts"]["runs"],
                    "failed": manifest["counts"]["failed"],
                    "finished": manifest["finished"],
                    "report": (place / "report.html").exists(),
                }
            )
    return rows


def everything(*, as_json: bool) -> None:
    """Print the shipped studies, those here, the presets, and the results here."""
    presets = [{"preset": one["name"], "also": one["also"], "summary": one["summary"]} for one in core.presets()]
    listed: dict[str, list[dict[str, Any]]] = {
        "shipped studies": [{"study": one.name, "title": one.title} for one in shipped.studies()],
        "studies here": studies_here(Path()),
        "presets": presets,
        "results here": results_here(Path()),
    }
    if as_json:
        print(json.dumps({name.replace(" ", "_"): rows for name, rows in listed.items()}, indent=1, ensure_ascii=False))
        return
    console = show.out()
    for name, rows in listed.items():
        if not rows:
            console.print(f"{name}: none", markup=False)
            continue
        table = show.table(title=name)
        for heading in rows[0]:
            table.add_column(heading, overflow="fold")
        for row in rows:
            table.add_row(*(escape(_words(value)) for value in row.values()))
        console.print(table)
    console.print(
        "next: haltere run STUDY; haltere new NAME writes one to begin with; haltere compare ... --path PRESET",
        markup=False,
    )


def _words(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
