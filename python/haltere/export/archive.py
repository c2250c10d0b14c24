"""Reproduction archives: a study and its results in one file, and the check that a run of it gives the same bytes.

An archive is a gzipped tar of one folder: `study/` (the study's files, its text as it was run), `results/` (tables,
manifest, report, figures), `install/` (the wheel that made them, the versions of all packages), `pack.json` (the
campaign and the verdicts of its claims), and the files that reviewers and repositories read: `ARTIFACT.md`,
`CITATION.cff`, `.zenodo.json`, `ro-crate-metadata.json`, `checksums.sha256`. The same results give the same archive.
"""

from __future__ import annotations

import json
import platform
import shlex
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any, Literal

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr, ValidationError

from haltere import core, plugins
from haltere.claims.findings import judged, tables_of
from haltere.documents import Document, shown
from haltere.errors import ArgumentError, InputError, Place
from haltere.export import authorship, guide, members, wheel
from haltere.files import write_whole
from haltere.results import Results, load
from haltere.runner.campaign import Campaign
from haltere.study import Study
from haltere.study.origin import study_of

PACK = "pack.json"
FORMAT = 2
_LARGEST = 200_000_000
"""Bytes of a study's files that an archive takes at most."""
_PACKAGES = ("polars", "numpy", "scipy", "matplotlib", "pydantic")
_LEFT_OUT = ("parts", "__pycache__")
_PLAYGROUND = Path(__file__).parents[3] / "target" / "playground" / "playground.html"
"""Where a clone builds the page."""
_CODE = (".py", ".c", ".h", ".rs", ".so", ".onnx")
_WORD = r"^[\w.+-]+$"
"""A name or version of an archive that is printed: no control characters."""

Sameness = Literal["same", "equal", "different", "missing"]
"""Equal bytes; the same content in other bytes (of another version of polars); other content; not there."""


class _Claim(BaseModel):
    model_config = ConfigDict(frozen=True)

    name: Annotated[StrictStr, Field(pattern=_WORD)]
    sentence: StrictStr
    verdict: StrictStr
    numbers: tuple[StrictStr, ...]


class _Pack(BaseModel):
    """The fields that `pack.json` must have; others are for readers."""

    model_config = ConfigDict(frozen=True)

    study_file: Annotated[StrictStr, Field(pattern=r"^[^/\\]+$")]
    haltere: Annotated[StrictStr, Field(pattern=_WORD)]
    core: Annotated[StrictStr, Field(pattern=_WORD)]
    variant: StrictStr | None
    replications: Annotated[StrictInt, Field(ge=1)]
    experiments: tuple[StrictStr, ...]
    fidelities: tuple[StrictStr, ...]
    claims: tuple[_Claim, ...]


@dataclass(frozen=True)
class Packed:
    """An archive that was written, and what is to be known of it, in sentences."""

    file: Path
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Verified:
    """The outcome of running an archive again.

    Attributes:
        folder: where it was unpacked.
        tables: each table's sameness.
        claims: whether each claim has the same verdict by the same numbers; None where its code was not run.
        packed_by: the version of haltere that made it.
        run_by: the version that ran it again.
        same_core: whether both are one build.
    """

    folder: Path
    tables: dict[str, Sameness]
    claims: dict[str, bool] | None
    packed_by: str
    run_by: str
    same_core: bool

    @property
    def same(self) -> bool:
        """Whether every table is the same, in its bytes or at least in its content, and every claim that was judged."""
        tables = all(found in ("same", "equal") for found in self.tables.values())
        return tables and all((self.claims or {}).values())


def pack(
    folder: Path,
    out: Path | None = None,
    *,
    study: Path | None = None,
    made_with: Path | None = None,
    playground: Path | None = None,
) -> Packed:
    """Write an archive of a results folder.

    Args:
        folder: the results.
        out: the archive's file (default `NAME.tar.gz` here).
        study: the study's folder, if it is no longer where it was.
        made_with: the wheel that made the results (default: put together from this installation, if it made them).
        playground: the playground's page (default: that of this clone, if it was built).

    Raises:
        InputError: if the study's files are missing, or are not those that these results came from, or authors and
            licence are nowhere stated.
    """
    from haltere.export import crate  # noqa: PLC0415 (it needs haltere[archive], which nobody needs to unpack)

    results = load(folder)
    files = study_files(results, study)
    home = study or Path(str(results.manifest["study_file"])).parent
    credit = authorship.read(home, files)
    _check(results, files)
    found = {f"study/{name}": content for name, content in files.items()}
    found |= {f"results/{file.relative_to(folder).as_posix()}": file.read_bytes() for file in _files(folder)}
    made, why = _wheel(results, made_with)
    versions, hashed = wheel.lock()
    found["install/requirements.txt"] = versions.encode()
    if made is not None:
        found[f"install/{made.name}"] = made.content
    page = playground or _PLAYGROUND
    if playground is not None or page.exists():
        found["playground.html"] = page.read_bytes()
    claims = guide.told(results, home)
    facts = _facts(results, credit, found) | {"wheel": made and made.name, "no_wheel": why, "hashed": hashed}
    facts["needs"] = made and made.needs
    found["CITATION.cff"] = authorship.citation(credit, facts)
    found[".zenodo.json"] = authorship.zenodo(credit, facts)
    found[PACK] = _json(_described(results) | {"wheel": _about(made, why), "claims": [one.data() for one in claims]})
    found["ARTIFACT.md"] = guide.write(results, facts, claims)
    found[crate.NAME] = crate.metadata(found, credit, facts, results.manifest)
    file = out or Path(f"{facts['name']}.tar.gz")
    members.write(file, facts["name"], found)
    return Packed(file, tuple(_notes(facts)))


def _json(value: object) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


def _facts(results: Results, credit: authorship.Credits, found: dict[str, bytes]) -> dict[str, Any]:
    """Return what the pages of an archive say of the study."""
    manifest, header = results.manifest, results.manifest["study"]
    file = Path(str(manifest["study_file"])).name
    words = ["haltere", "run", "study" if file == "study.toml" else f"study/{file}"]
    words += ["--replications", str(manifest["replications"])]
    words += ["--variant", manifest["variant"]] if manifest.get("variant") else []
    words += [word for name in manifest["fidelities"] for word in ("--fidelity", name)]
    code = sorted(name for name in found if name.startswith("study/") and name.endswith(_CODE))
    if any(not _of_claims(name) for name in code):
        words.insert(1, "--allow-code")
    return {
        "name": header["name"],
        "title": header.get("title") or header["name"],
        "abstract": header.get("question", ""),
        "date": str(manifest["finished"])[:10],
        "version": manifest["haltere"],
        "commit": manifest["git_commit"] or f"core {manifest['core']}",
        "workflow": file,
        "authors": [author.full for author in credit.authors],
        "license": credit.license,
        "code": code,
        "run": shlex.join(words),
        "playground": "playground.html" in found,
        "report": "results/report.html" in found,
    }


def _of_claims(name: str) -> bool:
    return name == "study/claims.py" or name.startswith("study/claims/")


def _wheel(results: Results, file: Path | None) -> tuple[wheel.Wheel | None, str]:
    """Return the wheel that made the results, or None and the reason."""
    made_by = str(results.manifest["core"])
    if file is not None:
        return wheel.given(file, made_by), ""
    build = f"the results were made by haltere {results.manifest['haltere']}, core {made_by}"
    if made_by != core.fingerprint():
        return None, f"{build}, and this is another build ({core.fingerprint()})"
    made = wheel.installed()
    return made, "" if made else f"{build}, whose installation has no description of a wheel"


def _about(made: wheel.Wheel | None, why: str) -> dict[str, str]:
    return {"missing": why} if made is None else {"name": made.name, "sha256": made.digest}


def _notes(facts: dict[str, Any]) -> list[str]:
    """Return what an archive lacks."""
    notes = []
    if not facts["report"]:
        notes.append("there is no report in it: `haltere report` writes one")
    if not facts["wheel"]:
        notes.append(f"there is no wheel in it: {facts['no_wheel']}; --wheel takes the file")
    if not facts["playground"]:
        notes.append("there is no playground in it: `make playground` builds the page, and --playground takes the file")
    if not facts["hashed"]:
        notes.append("the packages in it have no hashes, as these are not the versions that haltere was tested with")
    return notes


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
            if name in files or (not whole and name not in text and name != authorship.FILE):
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
        "variant": manifest.get("variant"),
        "replications": manifest["replications"],
        "experiments": list(manifest["experiments"]),
        "fidelities": manifest["fidelities"],
        "git_commit": manifest["git_commit"],
        "packages": {name: metadata.version(name) for name in _PACKAGES},
        "python": platform.python_version(),
    }


def _tables(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.parquet"))


def unpack(archive: Path, out: Path) -> Path:
    """Unpack an archive into a new folder and return it. Nothing that it holds is run.

    Raises:
        InputError: if it is no such archive, or damaged, or the folder is there already.
    """
    if out.exists():
        raise ArgumentError(
            "is there already", place=Place(shown(out)), field="out", right="a folder that is not there"
        )
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}-", dir=out.parent) as scratch:
        whole = Path(scratch) / "whole"
        whole.mkdir()
        members.extract(archive, whole)
        _read(whole, Place(shown(archive)))
        shutil.move(whole, out)
    return out


def _read(folder: Path, place: Place | None = None) -> _Pack:
    """Read `pack.json` of an unpacked archive."""
    place = place or Place(shown(folder / PACK))
    right = f"format {FORMAT}, of this version of haltere"
    try:
        found = json.loads((folder / PACK).read_text(encoding="utf-8"))
        if found.get("format") != FORMAT:
            raise InputError("has another format", place=place, given=str(found.get("format")), right=right)
        return _Pack.model_validate(found)
    except ValidationError as error:
        fault = error.errors()[0]
        field = ".".join(map(str, fault["loc"]))
        raise InputError(f"{PACK} has no {field} that can be used", place=place, right=right) from None
    except (OSError, ValueError, AttributeError) as error:
        raise InputError(
            f"is no archive of results: {PACK}: {error}", place=place, right="a file that `haltere pack` wrote"
        ) from None


def code(folder: Path) -> list[str]:
    """Return the files of code in an unpacked archive's study."""
    return sorted(one.relative_to(folder).as_posix() for one in (folder / "study").rglob("*") if one.suffix in _CODE)


def again(
    folder: Path, *, workers: int | None = None, on_progress: Callable[[int, int], None] | None = None
) -> Verified:
    """Run the study of an unpacked archive into `again/` and compare the tables with those that were packed.

    Its claims are judged again, and compared, only where code may run (`haltere.plugins.allow`); without, runs that
    need code are refused.

    Raises:
        InputError: if the study cannot be run here.
    """
    packed = _read(folder)
    allowed = plugins.allowed()
    document = Document.read(folder / "study" / packed.study_file)
    study = Study.of_document(document, folder / "study", variant=packed.variant, fidelity=packed.fidelities)
    campaign = Campaign(
        study, out=folder / "again", replications=packed.replications, experiments=list(packed.experiments)
    )
    fresh = campaign.run(workers=workers, on_progress=on_progress)
    known = _tables(folder / "results")
    tables = {file.name: _sameness(file, fresh.path / file.name) for file in known}
    tables |= {file.name: "different" for file in _tables(fresh.path) if file.name not in tables}
    claims = _judged_again(packed, fresh, folder / "study") if allowed else None
    return Verified(folder, tables, claims, packed.haltere, core.VERSION, packed.core == core.fingerprint())


def _judged_again(packed: _Pack, fresh: Results, study: Path) -> dict[str, bool]:
    """Return which claims have the verdict and the numbers that were packed."""
    before = {one.name: (one.verdict, list(one.numbers)) for one in packed.claims}
    now = {
        one.claim.name: (one.verdict.outcome.value, guide.numbers(one.verdict))
        for one in judged(study, tables_of(fresh, study)).judged
    }
    return {name: before.get(name) == now.get(name) for name in before | now}


def _sameness(one: Path, other: Path) -> Sameness:
    if not other.exists():
        return "missing"
    if one.read_bytes() == other.read_bytes():
        return "same"
    try:
        return "equal" if pl.read_parquet(one).equals(pl.read_parquet(other)) else "different"
    except pl.exceptions.PolarsError:
        return "different"
