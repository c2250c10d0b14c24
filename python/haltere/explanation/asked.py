"""What a study asks to explain, in its tables `[[why]]`, and the file `why.json`, from which its report shows it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from haltere import core
from haltere.errors import InputError, Place, nearest
from haltere.explanation.answer import Explanation
from haltere.explanation.runs import How
from haltere.explanation.treatments import explain_why
from haltere.files import write_whole
from haltere.report.claims import load as load_claims
from haltere.results import load as load_results
from haltere.study import Study

FILE = "why.json"
FORMAT = 1


@dataclass(frozen=True)
class Kept:
    """An explanation and the claims that it bears on, by the names of their functions."""

    number: int
    claims: tuple[str, ...]
    explanation: Explanation


def key_of(manifest: Mapping[str, Any]) -> str:
    """Return what the explanations of some results depend on: study, variant, replications, and the simulator."""
    names = ("haltere", "core", "study_text", "variant", "replications", "seed")
    return hashlib.sha256(json.dumps([manifest.get(name) for name in names]).encode()).hexdigest()[:20]


def explain_all(study: Study, folder: Path, how: How) -> list[Kept]:
    """Explain all differences that a study names, and write them beside its results. What is there is not done again.

    Raises:
        InputError: if there are no results of this study, if it names no differences, or if one cannot be explained.
        HaltereError: if runs failed so that no order of the parts is left.
    """
    manifest = load_results(folder).manifest
    if manifest.get("study_text") != study.document.text or manifest.get("core") != core.fingerprint():
        raise InputError(
            "these results are not of this study as it is now, or of another version of haltere",
            field="--results",
            given=str(folder),
            right="`haltere run` of the study first, or the folder of its results",
        )
    if not study.file.why:
        right = "a table [[why]] in its study.toml (see docs/explain.md), or two contenders"
        raise InputError("the study asks for no explanation", field="--study", given=study.name, right=right)
    _check_claims(study)
    found = read(folder, manifest)
    for number, why in enumerate(study.file.why):
        if number < len(found):
            continue
        one = explain_why(study, number, int(manifest["replications"]), how)
        found.append(Kept(number, why.claims, one))
        write(folder, manifest, found)
    return found


def _check_claims(study: Study) -> None:
    """Refuse names of claims that the study does not have."""
    claims, _ = load_claims((study.directory or Path()) / "claims.py")
    known = [one.name for one in claims]
    for number, why in enumerate(study.file.why):
        for place, name in enumerate(why.claims):
            if name not in known:
                path = f"why[{number}].claims[{place}]"
                raise InputError(
                    "the study has no claim of this name",
                    place=study.document.place(path),
                    field=path,
                    given=name,
                    right=nearest(name, known) or ", ".join(known) or "a function of claims.py",
                )


def write(folder: Path, manifest: Mapping[str, Any], found: list[Kept]) -> None:
    """Write `why.json` into a results folder."""
    each = [{"number": one.number, "claims": one.claims, "explanation": one.explanation.data()} for one in found]
    data = {"format": FORMAT, "key": key_of(manifest), "explanations": each}
    write_whole(folder / FILE, (json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode())


def read(folder: Path, manifest: Mapping[str, Any]) -> list[Kept]:
    """Return the explanations of some results: none if there are none, or if they are of other results.

    Raises:
        InputError: if the file is damaged.
    """
    file = folder / FILE
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        if data["format"] != FORMAT or data["key"] != key_of(manifest):
            return []
        return [
            Kept(one["number"], tuple(one["claims"]), Explanation.of(one["explanation"]))
            for one in data["explanations"]
        ]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"cannot be read: {error}",
            place=Place(str(file)),
            right="a file written by `haltere explain --study`; remove this one",
        ) from None
