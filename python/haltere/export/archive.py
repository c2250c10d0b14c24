"""Reproduction archives: a study and its results in one file, and the check that a run of it gives the same bytes.

An archive is a gzipped tar with `pack.json` (versions, the campaign, SHA-256 of the tables), `study/` (the study's
files, its text as it was run) and `results/` (tables, manifest, report, figures). The same results give the same
archive.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import platform
import tarfile
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path, PurePosixPath
from typing import Any, Literal

import polars as pl

from haltere import core
from haltere.documents import Document, shown
from haltere.errors import ArgumentError, InputError, Place
from haltere.files import write_whole
from haltere.results import Results, load
from haltere.runner.campaign import Campaign
from haltere.study import Study
from haltere.study.origin import study_of

PACK = "pack.json"
FORMAT = 1
_LARGEST = 200_000_000
"""Bytes of a study's files that an archive takes at most."""
_PACKAGES = ("polars", "numpy", "scipy", "matplotlib", "pydantic")
_LEFT_OUT = ("parts", "__pycache__")

Sameness = Literal["same", "equal", "different", "missing"]
"""Equal bytes; the same content in other bytes (of another version of polars); other content; not there."""


@dataclass(frozen=True)
class Verified:
    """The outcome of running an archive again: each table's sameness, and both versions of haltere."""

    folder: Path
    tables: dict[str, Sameness]
    packed_by: str
    run_by: str
    same_core: bool

    @property
    def same(self) -> bool:
        """Whether every table is the same, in its bytes or at least in its content."""
        return all(found in ("same", "equal") for found in self.tables.values())


def pack(folder: Path, out: Path, *, study: Path | None = None) -> Path:
    """Write an archive of a results folder and return its path.

    Args:
        folder: the results.
        out: the archive's file.
        study: the study's folder, if it is no longer where it was.

    Raises:
        InputError: if the study's files are missing, or are not those that these results came from.
    """
    results = load(folder)
    members = {f"study/{name}": content for name, content in study_files(results, study).items()}
    _check(results, {name.removeprefix("study/"): content for name, content in members.items()})
    members |= {f"results/{file.relative_to(folder).as_posix()}": file.read_bytes() for file in _files(folder)}
    members[PACK] = (json.dumps(_described(results), indent=2, ensure_ascii=False) + "\n").encode()
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in sorted(members):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(members[name]), 0o644
            archive.addfile(entry, io.BytesIO(members[name]))
    out.parent.mkdir(parents=True, exist_ok=True)
    write_whole(out, gzip.compress(buffer.getvalue(), mtime=0))
    return out


def study_files(results: Results, study: Path | None) -> dict[str, bytes]:
    """Return the files of a study by their paths in its folder: its text as it was run, and what lies beside it.

    Of a plain scenario's folder, only the files whose names stand in the scenario.
    """
    named = Path(str(results.manifest["study_file"]))
    folder = study or named.parent
    text = str(results.manifest["study_text"])
    files = {named.name: text.encode()}
    if folder.is_dir():
        whole = named.name == "study.toml" and (folder / named.name).exists()
        size = 0
        for file in _files(folder) if whole else sorted(one for one in folder.iterdir() if one.is_file()):
            name = file.relative_to(folder).as_posix()
            if name in files or (not whole and name not in text):
                continue
            size += file.stat().st_size
            if size > _LARGEST:
                right = f"at most {_LARGEST // 1_000_000} MB of files that belong to the study"
                raise InputError("holds too much for an archive", place=Place(shown(folder)), right=right)
            files[name] = file.read_bytes()
    return files


def _files(folder: Path) -> list[Path]:
    """Return the files below a folder, without hidden ones, parts, caches, and results folders inside it."""
    found = []
    for one in sorted(folder.iterdir()):
        if one.name.startswith(".") or one.name in _LEFT_OUT:
            continue
        if one.is_file():
            found.append(one)
        elif one.is_dir() and not (one / "manifest.json").exists() and one.name != "results":
            found += _files(one)
    return found


def _check(results: Results, files: dict[str, bytes]) -> None:
    """Raise `InputError` unless the files give exactly the runs of the results."""
    with tempfile.TemporaryDirectory() as scratch:
        _write(Path(scratch), files)
        try:
            study = study_of(results, Path(scratch))
        except InputError as error:
            raise ArgumentError(
                "the study cannot be packed: a file that it names is not in its folder",
                field="study",
                right="the folder of the study with all files that it names",
                notes=(str(error).replace(f"{scratch}/", ""),),
            ) from None
        planned = {run.id for run in _campaign(study, results.manifest, Path(scratch) / "again").plan}
    if results.manifest["haltere"] == core.VERSION and planned != set(results.runs["run_id"].to_list()):
        raise ArgumentError(
            "the study's files are no longer those that these results came from",
            field="study",
            right="the files as they were, or results that `haltere run` writes anew",
        )


def _write(folder: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_whole(folder / name, content)


def _campaign(study: Study, manifest: dict[str, Any], out: Path) -> Campaign:
    return Campaign(study, out=out, replications=manifest["replications"], experiments=list(manifest["experiments"]))


def _described(results: Results) -> dict[str, Any]:
    manifest = results.manifest
    return {
        "format": FORMAT,
        "study": manifest["study"],
        "study_file": Path(str(manifest["study_file"])).name,
        "haltere": manifest["haltere"],
        "core": manifest["core"],
        "seed": manifest["seed"],
        "replications": manifest["replications"],
        "fidelities": manifest["fidelities"],
        "git_commit": manifest["git_commit"],
        "packages": {name: metadata.version(name) for name in _PACKAGES},
        "python": platform.python_version(),
        "tables": {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in _tables(results.path)},
    }


def _tables(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.parquet"))


def unpack(archive: Path, out: Path) -> Path:
    """Unpack an archive into a new folder and return it.

    Raises:
        InputError: if it is no such archive, or damaged, or the folder is there already.
    """
    if out.exists():
        raise ArgumentError(
            "is there already", place=Place(shown(out)), field="out", right="a folder that is not there"
        )
    try:
        with tarfile.open(archive, "r:gz") as opened:
            files = {one.name: _content(opened, one) for one in opened.getmembers()}
        if PACK not in files:
            raise tarfile.TarError(f"it has no {PACK}")
    except (OSError, EOFError, tarfile.TarError) as error:
        raise InputError(
            f"is no archive of results: {error}", place=Place(shown(archive)), right="a file that `haltere pack` wrote"
        ) from None
    _write(out, files)
    packed = _read(out)
    for name, digest in packed["tables"].items():
        file = out / "results" / name
        if not file.exists() or hashlib.sha256(file.read_bytes()).hexdigest() != digest:
            raise InputError("is damaged", place=Place(shown(file)), right="the table as `haltere pack` found it")
    return out


def _content(archive: tarfile.TarFile, entry: tarfile.TarInfo) -> bytes:
    """Return the content of a file of an archive. Raises `TarError` for what would not lie inside the folder."""
    path = PurePosixPath(entry.name)
    content = archive.extractfile(entry) if entry.isfile() else None
    if content is None or path.is_absolute() or ".." in path.parts:
        raise tarfile.TarError(f"it holds {entry.name}, which is no file inside it")
    return content.read()


def _read(folder: Path) -> dict[str, Any]:
    packed: dict[str, Any] = json.loads((folder / PACK).read_text(encoding="utf-8"))
    if packed.get("format") != FORMAT:
        right = f"format {FORMAT}, of this version of haltere"
        raise InputError(
            "has another format", place=Place(shown(folder / PACK)), given=str(packed.get("format")), right=right
        )
    return packed


def again(
    folder: Path, *, workers: int | None = None, on_progress: Callable[[int, int], None] | None = None
) -> Verified:
    """Run the study of an unpacked archive into `again/` and compare the tables with those that were packed.

    Raises:
        InputError: if the study cannot be run here.
    """
    packed = _read(folder)
    results = load(folder / "results")
    document = Document.read(folder / "study" / packed["study_file"])
    study = Study.of_document(
        document, folder / "study", variant=results.manifest.get("variant"), fidelity=packed["fidelities"]
    )
    fresh = _campaign(study, results.manifest, folder / "again").run(workers=workers, on_progress=on_progress)
    tables = {file.name: _sameness(file, fresh.path / file.name) for file in _tables(results.path)}
    tables |= {file.name: "different" for file in _tables(fresh.path) if file.name not in tables}
    return Verified(folder, tables, packed["haltere"], core.VERSION, packed["core"] == core.fingerprint())


def _sameness(one: Path, other: Path) -> Sameness:
    if not other.exists():
        return "missing"
    if one.read_bytes() == other.read_bytes():
        return "same"
    return "equal" if pl.read_parquet(one).equals(pl.read_parquet(other)) else "different"
