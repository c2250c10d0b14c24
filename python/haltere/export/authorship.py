"""The authors of a study, and the licence under which others may use it: `artifact.toml`, and what is made of it.

The file lies beside the study and has what no campaign knows. Title, question, source and dates come from the study and
its manifest.
"""

from __future__ import annotations

import json
import re
from importlib.metadata import metadata
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictStr, ValidationError, model_validator

from haltere import shipped
from haltere.documents import Document, shown
from haltere.errors import InputError, Place, in_words

FILE = "artifact.toml"
EXAMPLE = """license = "CC-BY-4.0"
[[authors]]
given = "Grace"
family = "Hopper"
orcid = "0000-0002-1825-0097"
affiliation = "Some university"
"""
"""An example of the file; ORCID and affiliation may be left out, and a group has `name` alone."""
_SPDX = r"[A-Za-z0-9][A-Za-z0-9.+-]*"
_ORCID = re.compile(r"\d{4}-\d{4}-\d{4}-\d{3}[\dX]")


class Author(BaseModel):
    """A person, with given and family name, or a group, with a name."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    given: StrictStr = ""
    family: StrictStr = ""
    name: StrictStr = ""
    orcid: StrictStr = ""
    affiliation: StrictStr = ""

    @model_validator(mode="after")
    def _has_one_name(self) -> Author:
        person = bool(self.given.strip() and self.family.strip())
        if person == bool(self.name.strip()) or (self.name and (self.given or self.family)):
            raise ValueError("an author has `given` and `family`, or is a group and has `name` alone")
        if self.orcid and not _is_orcid(self.orcid):
            raise ValueError(f"{self.orcid} is no ORCID: it has 16 digits, of which the last checks the others")
        return self

    @property
    def full(self) -> str:
        """The name as a sentence has it."""
        return self.name or f"{self.given} {self.family}"

    @property
    def sorted_by(self) -> str:
        """The name as lists have it, the family's name first."""
        return self.name or f"{self.family}, {self.given}"


def _is_orcid(text: str) -> bool:
    """Whether the last digit is that of ISO 7064 (mod 11-2), as https://support.orcid.org says."""
    if not _ORCID.fullmatch(text):
        return False
    digits = text.replace("-", "")
    total = 0
    for digit in digits[:-1]:
        total = 2 * (total + int(digit))
    return "0123456789X"[(12 - total % 11) % 11] == digits[-1]


class Credits(BaseModel):
    """The file `artifact.toml`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    license: Annotated[StrictStr, Field(pattern=rf"^{_SPDX}( OR {_SPDX})*$")]
    authors: Annotated[tuple[Author, ...], Field(min_length=1)]
    keywords: tuple[StrictStr, ...] = ()

    @property
    def licenses(self) -> list[str]:
        """The SPDX identifiers of the licences between which users may choose."""
        return self.license.split(" OR ")


def read(folder: Path, files: dict[str, bytes]) -> Credits:
    """Return what the file says; of a shipped study without one, the authors and the licence of haltere.

    Args:
        folder: the study's folder, for the error.
        files: the study's files by their paths in that folder.

    Raises:
        InputError: if it is missing, or lacks something; it says everything that is to be written, and where.
    """
    place = shown(folder / FILE)
    if FILE not in files and shipped.called(folder) is not None:
        own = metadata("haltere")
        return Credits(license=own["License-Expression"], authors=(Author(name=own["Author"]),))
    if FILE not in files:
        raise InputError(
            "an archive names its authors and its licence, which haltere cannot know: write them into this file",
            place=Place(place),
            right="lines such as these (orcid and affiliation may be left out; a group has `name` alone)",
            notes=tuple(f"  {line}" for line in EXAMPLE.splitlines()),
        )
    document = Document.parse(place, files[FILE].decode("utf-8", errors="replace"))
    try:
        return Credits.model_validate(document.data)
    except ValidationError as error:
        faults = [_fault(one) for one in error.errors()]
        raise InputError("; ".join(faults), place=Place(place), right="lines such as these",
                         notes=tuple(f"  {line}" for line in EXAMPLE.splitlines())) from None  # fmt: skip


def _fault(fault: Any) -> str:
    where = ".".join(str(part) for part in fault["loc"])
    if fault["type"] == "missing":
        return f"{where} is missing"
    if where == "license":
        return "license is no SPDX identifier, such as CC-BY-4.0 or Apache-2.0 OR MIT"
    if where == "authors" and fault["type"] == "too_short":
        return "authors is empty"
    return f"{where}: {in_words(fault)}" if where else in_words(fault)


def citation(one: Credits, about: dict[str, Any]) -> bytes:
    """Return `CITATION.cff` (Citation File Format 1.2.0) of a study.

    Args:
        one: authors and licence.
        about: `title`, `abstract`, `date`, and the `version` of haltere that made it.
    """
    own: dict[str, Any] = {
        "cff-version": "1.2.0",
        "message": "If you use this study or its results, please cite it as below.",
        "type": "dataset",
        "title": about["title"],
    }
    if about["abstract"]:
        own["abstract"] = about["abstract"]
    own["authors"] = [_cff_author(author) for author in one.authors]
    own["date-released"] = about["date"]
    own["license"] = one.licenses if len(one.licenses) > 1 else one.license
    if one.keywords:
        own["keywords"] = list(one.keywords)
    own["references"] = [
        {
            "type": "software",
            "title": "haltere: a laboratory for transport protocols",
            "version": about["version"],
            "authors": [{"name": "The haltere developers"}],
        }
    ]
    return ("\n".join(_yaml(own)) + "\n").encode()


def _cff_author(author: Author) -> dict[str, str]:
    named = {"name": author.name} if author.name else {"family-names": author.family, "given-names": author.given}
    orcid = {"orcid": f"https://orcid.org/{author.orcid}"} if author.orcid else {}
    return named | orcid | ({"affiliation": author.affiliation} if author.affiliation else {})


def _yaml(value: dict[str, Any], indent: str = "") -> list[str]:
    """Return a table as lines of YAML; texts are in double quotes, as JSON has them, which YAML has too."""
    lines = []
    for key, item in value.items():
        if not isinstance(item, list):
            lines.append(f"{indent}{key}: {json.dumps(item, ensure_ascii=False)}")
            continue
        lines.append(f"{indent}{key}:")
        for one in item:
            if isinstance(one, dict):
                first, *others = _yaml(one, indent + "    ")
                lines += [f"{indent}  - {first.strip()}", *others]
            else:
                lines.append(f"{indent}  - {json.dumps(one, ensure_ascii=False)}")
    return lines


def zenodo(one: Credits, about: dict[str, Any]) -> bytes:
    """Return `.zenodo.json`, from which Zenodo fills in the form of an upload; `about` is that of `citation`."""
    creators = [
        {"name": author.sorted_by}
        | ({"orcid": author.orcid} if author.orcid else {})
        | ({"affiliation": author.affiliation} if author.affiliation else {})
        for author in one.authors
    ]
    kind: Literal["dataset"] = "dataset"
    own = {
        "upload_type": kind,
        "title": about["title"],
        "description": about["abstract"] or about["title"],
        "creators": creators,
        "license": one.licenses[0].lower(),  # Zenodo's form takes one, by its identifier in small letters
        "publication_date": about["date"],
        "notes": f"Made with haltere {about['version']}.",
    }
    if one.keywords:
        own["keywords"] = list(one.keywords)
    return (json.dumps(own, indent=2, ensure_ascii=False) + "\n").encode()
