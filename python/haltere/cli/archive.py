"""`haltere export`, `pack` and `unpack`: results for other programs, and for others to repeat."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from haltere.cli import exits, show
from haltere.documents import shown
from haltere.export import archive
from haltere.export.tables import Format, export
from haltere.results import load


def export_tables(folder: Path, form: str, tables: list[str] | None, out: Path | None) -> None:
    """Write tables as files and say which."""
    written = export(load(folder), out or folder / form, cast("Format", form), names=tuple(tables or ()))
    for file in written:
        show.out().print(shown(file), markup=False, soft_wrap=True)


def pack(folder: Path, out: Path | None, study: Path | None) -> None:
    """Write the archive and say how large it is."""
    file = archive.pack(folder, out or Path(f"{folder.resolve().name}.tar.gz"), study=study)
    console = show.out()
    console.print(f"{shown(file)}: {show.number(file.stat().st_size / 1e6, 3)} MB", markup=False, soft_wrap=True)
    if not (folder / "report.html").exists():
        console.print(
            f"there is no report in it: haltere report {shown(folder)} writes one", markup=False, soft_wrap=True
        )


def unpack(file: Path, out: Path | None, workers: int | None, *, run: bool) -> int:
    """Unpack, run again, compare; return 0 if the tables are the same, else that of a difference."""
    name = file.name.removesuffix(".gz").removesuffix(".tar")
    folder = archive.unpack(file, out or Path(f"{name}-unpacked"))
    console = show.out()
    console.print(f"study, results and versions are in {shown(folder)}", markup=False, soft_wrap=True)
    if not run:
        return 0
    with show.progress(name) as advance:
        found = archive.again(folder, workers=workers, on_progress=advance)
    words = {
        "same": "the same to the byte",
        "equal": "the same numbers, written in other bytes",
        "different": "DIFFERENT",
        "missing": "MISSING",
    }
    for table, same in found.tables.items():
        console.print(f"{table}: {words[same]}", markup=False)
    if not found.same:
        console.print(
            f"packed by haltere {found.packed_by}, run by {found.run_by}, "
            f"{'the same build' if found.same_core else 'another build'} of its core; what differs: "
            f"haltere diff {shown(folder / 'results')} {shown(folder / 'again')}",
            markup=False,
            soft_wrap=True,
        )
    return 0 if found.same else exits.DIFFERENT
