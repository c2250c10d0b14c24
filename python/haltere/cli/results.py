"""The commands around results: `haltere explore`, `diff`, `export`, `pack` and `unpack`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

from haltere import explorer, plugins
from haltere.claims.difference import Difference, compare, place
from haltere.cli import exits, show
from haltere.documents import shown
from haltere.errors import counted
from haltere.export import archive
from haltere.export.tables import Format, export
from haltere.results import Results, load, made_elsewhere


def explore(given: Sequence[Path]) -> None:
    """Write the page of each results folder; with several, or for a folder of them, an index beside them."""
    folders = list(dict.fromkeys(folder for one in given for folder in explorer.results_below(one)))
    for folder in folders:
        with show.err().status(f"writing {shown(folder)}"):
            file = explorer.write(folder)
        show.say(f"page: {shown(file)}")
        _note_elsewhere(load(folder))
    if len(folders) > 1 or folders[0] != given[0]:
        common = given[0] if len(given) == 1 else _common([folder.resolve().parent for folder in folders])
        file = explorer.index(folders, common / "index.html")
        show.say(f"index: {shown(file)}")


def _common(folders: Sequence[Path]) -> Path:
    """Return the deepest folder that holds all of these."""
    first = folders[0]
    return next(one for one in (first, *first.parents) if all(folder.is_relative_to(one) for folder in folders))


def _note_elsewhere(results: Results, name: str = "") -> None:
    """Note that another version, or another build of this one, made some results."""
    if said := made_elsewhere(results.manifest):
        show.note(f"{name}{said}")


SHOWN = 40
"""Real changes that the table shows at most."""


def diff(a: Path, b: Path, metrics: Sequence[str] | None, *, as_json: bool) -> int:
    """Print what changed and return the exit code: 0 if nothing is real, else that of a difference."""
    first, second = load(a), load(b)
    _note_elsewhere(first, "A: ")
    _note_elsewhere(second, "B: ")
    found = compare(first, second, metrics=metrics)
    if as_json:
        show.data(found.data())
    else:
        _print_difference(found, first, second)
    return exits.DIFFERENT if found.real or any(after > before for _, before, after in found.failures) else 0


def _print_difference(found: Difference, a: Results, b: Results) -> None:
    show.out()
    for letter, results in (("A", a), ("B", b)):
        manifest = results.manifest
        show.sentence(
            f"{letter}: {shown(results.path)}, haltere {manifest['haltere']}, seed {manifest['seed']}, "
            f"{counted(manifest['replications'], 'replication')}, {manifest['counts']['failed']} failed",
            style="dim",
        )
    for letter, alone in (("A", found.only_a), ("B", found.only_b)):
        if alone:
            show.sentence(f"only in {letter}: {len(alone)} treatments, such as {place(alone[0])}")
    for levels, before, after in found.failures[:SHOWN]:
        show.sentence(f"failed runs: {before} in A, {after} in B: {place(levels)}")
    real = found.real
    if real:
        rows = [
            (
                place({"experiment": one.experiment, **one.levels}), one.metric.axis, show.number(one.a),
                show.number(one.b), one.said, "exact" if one.p is None else show.number(one.p, 2),
            )
            for one in real[:SHOWN]
        ]  # fmt: skip
        show.out().print(show.table("treatment", "metric", "A", "B", "B against A", "p", rows=rows, left=2))
        if len(real) > SHOWN:
            show.sentence(f"and {len(real) - SHOWN} more real changes: --json has all")
    how = "in pairs" if found.paired else "as independent sets, as the seeds differ"
    show.sentence(found.answer)
    show.sentence(f"compared {how}; p is corrected for {found.tests} tests (Holm)", style="dim")


def export_tables(folder: Path, form: str, tables: list[str] | None, out: Path | None) -> None:
    """Write tables as files and say which."""
    results = load(folder)
    _note_elsewhere(results)
    written = export(results, out or folder / form, cast("Format", form), names=tuple(tables or ()))
    for file in written:
        show.say(shown(file))


def pack(folder: Path, out: Path | None, study: Path | None, made_with: Path | None, playground: Path | None) -> None:
    """Write the archive, say how large it is, and what it lacks."""
    packed = archive.pack(folder, out, study=study, made_with=made_with, playground=playground)
    show.say(f"{shown(packed.file)}: {show.number(packed.file.stat().st_size / 1e6, 3)} MB")
    for note in packed.notes:
        show.say(note)


def unpack(file: Path, out: Path | None, workers: int | None, *, run: bool) -> int:
    """Unpack, run again, compare; return 0 if all that was compared is the same, else that of a difference."""
    name = file.name.removesuffix(".gz").removesuffix(".tar")
    folder = archive.unpack(file, out or Path(f"{name}-unpacked"))
    show.say(f"study, results and versions are in {shown(folder)}; ARTIFACT.md there is to be read first")
    code = archive.code(folder)
    if code and not plugins.allowed():
        show.say(f"it holds code, which does not run without --allow-code: {', '.join(code)}")
    if not run:
        return 0
    with show.progress(name) as advance:
        found = archive.again(folder, workers=workers, on_progress=advance)
    show.say(_agreed(found))
    if not found.same:
        show.say(
            f"packed by haltere {found.packed_by}, run by {found.run_by}, "
            f"{'the same build' if found.same_core else 'another build'} of its core; what differs: "
            f"haltere diff {shown(folder / 'results')} {shown(folder / 'again')}"
        )
    return 0 if found.same else exits.DIFFERENT


_WORDS = {
    "same": "the same to the byte",
    "equal": "the same numbers in other bytes",
    "different": "DIFFERENT",
    "missing": "MISSING",
}


def _agreed(found: archive.Verified) -> str:
    """Return in one line what agreed: the tables, each kind of sameness with its tables, and the claims."""
    kinds: dict[str, list[str]] = {}
    for table, sameness in sorted(found.tables.items()):
        kinds.setdefault(_WORDS[sameness], []).append(table)
    said = [f"{', '.join(tables)} {words}" for words, tables in kinds.items()]
    if found.claims is None:
        said.append("claims not judged, as they are code")
    elif found.claims:
        other = [name for name, same in found.claims.items() if not same]
        alike = len(found.claims) - len(other)
        said.append(f"{alike} of {counted(len(found.claims), 'claim')} with the same verdict and numbers")
        said += [f"DIFFERENT claims: {', '.join(other)}"] if other else []
    return f"{'agreed' if found.same else 'NOT agreed'}: {'; '.join(said)}"
