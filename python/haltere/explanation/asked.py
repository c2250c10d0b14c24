"""The explanations that a study asks for by tables `[[why]]`, and the file `why.json`, which its report shows."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from haltere import core
from haltere.claims.loading import load as load_claims
from haltere.errors import ArgumentError, InputError, nearest
from haltere.explanation.answer import Explanation
from haltere.explanation.runs import How
from haltere.explanation.treatments import explain_why
from haltere.files import reading, write_whole
from haltere.results import load as load_results
from haltere.study import Study, with_variant

FILE = "why.json"
FORMAT = 1


@dataclass(frozen=True)
class Kept:
    """An explanation, what it depends on, and the claims that it bears on, by the names of their functions."""

    key: str
    claims: tuple[str, ...]
    explanation: Explanation


def keys_of(manifest: Mapping[str, Any]) -> list[str]:
    """Return, for each table `[[why]]` of a study that was run, what its explanation depends on.

    That is the table and its place, by which its orders are drawn, its experiment, the seed and the replications, and
    the version of the simulator.
    """
    data: dict[str, Any] = tomllib.loads(str(manifest.get("study_text", "")))
    data = with_variant(data, manifest.get("variant"))
    same = [manifest.get(name) for name in ("haltere", "core", "seed", "replications", "fidelities")]
    tables = enumerate(data.get("why", []))
    asked = [[*same, data["experiments"][why["experiment"]], number, why] for number, why in tables]
    return [hashlib.sha256(json.dumps(one, sort_keys=True).encode()).hexdigest()[:20] for one in asked]


def explain_all(study: Study, folder: Path, how: How) -> list[Kept]:
    """Explain all differences that a study names, and write them beside its results. What is there is not done again.

    Raises:
        InputError: if there are no results of this study, if it names no differences, or if one cannot be explained.
        HaltereError: if runs failed so that no order of the parts is left.
    """
    manifest = load_results(folder).manifest
    if manifest.get("study_text") != study.document.text or manifest.get("core") != core.fingerprint():
        raise ArgumentError(
            "these results are not of this study as it is now, or of another version of haltere",
            field="results",
            given=str(folder),
            right="`haltere run` of the study first, or the folder of its results",
        )
    if not study.file.why:
        right = "a table [[why]] in its study.toml (see docs/how-to/explain.md), or two contenders"
        raise ArgumentError("the study asks for no explanation", field="study", given=study.name, right=right)
    _check_claims(study)
    there = {one.key: one for one in read(folder, manifest)}
    keys = keys_of(manifest)
    for number, (key, why) in enumerate(zip(keys, study.file.why, strict=True)):
        if key not in there:
            there[key] = Kept(key, why.claims, explain_why(study, number, int(manifest["replications"]), how))
            write(folder, [there[key] for key in keys if key in there])
    return [there[key] for key in keys]


def _check_claims(study: Study) -> None:
    """Refuse names of claims that the study does not have."""
    known = [one.name for one in load_claims(study.directory or Path()).claims]
    for number, why in enumerate(study.file.why):
        for place, name in enumerate(why.claims):
            if name not in known:
                path = f"why[{number}].claims[{place}]"
                raise InputError(
                    "the study has no claim of this name",
                    place=study.document.place(path),
                    field=path,
                    given=name,
                    right=nearest(name, known) or ", ".join(known) or "a function of the study's claims",
                )


def write(folder: Path, found: list[Kept]) -> None:
    """Write `why.json` into a results folder."""
    each = [{"key": one.key, "claims": one.claims, "explanation": one.explanation.data()} for one in found]
    data = {"format": FORMAT, "explanations": each}
    write_whole(folder / FILE, (json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode())


def read(folder: Path, manifest: Mapping[str, Any]) -> list[Kept]:
    """Return the explanations of some results; those of other results, or that are not asked any more, are left out.

    Raises:
        InputError: if the file is damaged.
    """
    file = folder / FILE
    if not file.exists():
        return []
    with reading(file, "haltere why"):
        data = json.loads(file.read_text(encoding="utf-8"))
        keys = keys_of(manifest)
        return [
            Kept(one["key"], tuple(one["claims"]), Explanation.of(one["explanation"]))
            for one in data["explanations"]
            if one["key"] in keys
        ]
