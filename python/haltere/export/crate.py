"""`ro-crate-metadata.json`: the archive as a Workflow Run RO-Crate.

The study file is the workflow, the campaign the action that ran it, the result tables what came of it. Files that are
inside are described one by one, each with its size and SHA-256.

Sources: RO-Crate 1.3, https://w3id.org/ro/crate/1.3; Workflow Run Crate 0.5, https://w3id.org/ro/wfrun/workflow/0.5.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from rocrate.model.computerlanguage import ComputerLanguage
from rocrate.rocrate import ROCrate

from haltere.export.authorship import Credits

NAME = "ro-crate-metadata.json"
_PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": ("Process Run Crate", "0.5"),
    "https://w3id.org/ro/wfrun/workflow/0.5": ("Workflow Run Crate", "0.5"),
}
_HALTERE = "https://github.com/haltere/haltere"
_FORMS = {
    "cff": "text/yaml", "css": "text/css", "csv": "text/csv", "html": "text/html", "json": "application/json",
    "md": "text/markdown", "parquet": "application/vnd.apache.parquet", "pdf": "application/pdf",
    "py": "text/x-python", "sha256": "text/plain", "svg": "image/svg+xml", "toml": "application/toml",
    "txt": "text/plain", "whl": "application/zip",
}  # fmt: skip
_SAID = {
    "ARTIFACT.md": "What the study claims, how to check each claim, and how long that takes",
    "CITATION.cff": "How to cite the study",
    "install/requirements.txt": "The packages that haltere needs, with their versions",
    "pack.json": "The campaign, the versions, and the claims with their verdicts",
    "playground.html": "The simulator as a page: a treatment without an installation",
    "results/manifest.json": "The campaign's manifest",
    "results/report.html": "The report of the study",
}


def metadata(members: dict[str, bytes], one: Credits, about: dict[str, Any], manifest: dict[str, Any]) -> bytes:
    """Return the metadata of an archive.

    Args:
        members: all other files of the archive, by their names.
        one: authors and licence.
        about: `title`, `abstract`, `date`, `workflow` (the name of the study file) and `commit`.
        manifest: the campaign's manifest.
    """
    crate = ROCrate(version="1.3")
    crate.name = about["title"]
    crate.description = about["abstract"] or about["title"]
    crate.root_dataset["datePublished"] = about["date"]
    crate.license = [crate.add_jsonld(_license(name)) for name in one.licenses]
    persons = [crate.add_jsonld(author) for author in _authors(one)]
    crate.root_dataset["author"] = persons
    if one.keywords:
        crate.keywords = ", ".join(one.keywords)
    for identity, (name, version) in _PROFILES.items():
        about_it = {"@id": identity, "@type": ["CreativeWork", "Profile"], "name": name, "version": version}
        profile = crate.add_jsonld(about_it)
        crate.root_dataset.append_to("conformsTo", profile)
    form = {"name": "haltere study file", "version": manifest["haltere"], "url": {"@id": _HALTERE}}
    language = crate.add(ComputerLanguage(crate, "#study-file", form))
    workflow = crate.add_workflow(
        dest_path=f"study/{about['workflow']}",
        properties=_file(f"study/{about['workflow']}", members)
        | {"name": about["title"], "license": {"@id": _license(one.licenses[0])["@id"]}, "version": about["commit"]},
        main=True,
        lang=language,
    )
    workflow["creator"] = persons
    for name in sorted(members):
        if name != f"study/{about['workflow']}":
            crate.add_file(dest_path=name, properties=_file(name, members))
    _ran(crate, workflow, persons, members, manifest)
    return (json.dumps(crate.metadata.generate(), indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()


def _ran(crate: Any, workflow: Any, persons: list[Any], members: dict[str, bytes], manifest: dict[str, Any]) -> None:
    """Add the campaign: what ran, by which version, with which parameters, and what came of it."""
    engine = crate.add_jsonld(
        {
            "@id": f"#haltere-{manifest['haltere']}", "@type": "SoftwareApplication", "name": "haltere",
            "version": manifest["haltere"], "softwareVersion": manifest["haltere"], "url": {"@id": _HALTERE},
            "identifier": f"core {manifest['core']}",
        }
    )  # fmt: skip
    inputs, values = [], []
    asked = {"seed": "Integer", "replications": "Integer", "fidelities": "Text"}
    for name, kind in asked.items():
        value = ", ".join(manifest[name]) if kind == "Text" else manifest[name]
        own = crate.add_jsonld({"@id": f"#{name}-value", "@type": "PropertyValue", "name": name, "value": str(value)})
        parameter = crate.add_formal_parameter(name, kind, identifier=f"#{name}", valueRequired=True)
        parameter["workExample"] = own
        own["exampleOfWork"] = parameter
        inputs.append(parameter)
        values.append(own)
    tables = [crate.get(name) for name in sorted(members) if name.startswith("results/") and name.endswith(".parquet")]
    outputs = []
    for table in tables:
        stem = table.id.removeprefix("results/").removesuffix(".parquet")
        parameter = crate.add_formal_parameter(stem, "File", identifier=f"#table-{stem}")
        parameter["workExample"] = table
        table["exampleOfWork"] = parameter
        outputs.append(parameter)
    workflow["input"], workflow["output"] = inputs, outputs
    files = [crate.get(name) for name in sorted(members) if name.startswith("study/") and name != workflow.id]
    action = crate.add_action(
        workflow, "#campaign", object=[*values, *files], result=[*tables, crate.get("results/manifest.json")],
        properties={
            "@type": "CreateAction", "name": f"The campaign of {manifest['study']['name']}",
            "description": f"{manifest['counts']['runs']} runs, {manifest['counts']['failed']} failed",
            "startTime": manifest["started"], "endTime": manifest["finished"],
            "actionStatus": "http://schema.org/CompletedActionStatus",
        },
    )  # fmt: skip
    action["agent"] = persons
    crate.root_dataset["mentions"] = [action]
    workflow["softwareRequirements"] = engine
    crate.root_dataset.append_to("mentions", engine)


def _license(name: str) -> dict[str, Any]:
    return {"@id": f"https://spdx.org/licenses/{name}", "@type": "CreativeWork", "name": name, "identifier": name}


def _authors(one: Credits) -> list[dict[str, Any]]:
    found = []
    for number, author in enumerate(one.authors, 1):
        kind = "Organization" if author.name else "Person"
        identity = f"https://orcid.org/{author.orcid}" if author.orcid else f"#author-{number}"
        entity: dict[str, Any] = {"@id": identity, "@type": kind, "name": author.full}
        if not author.name:
            entity |= {"givenName": author.given, "familyName": author.family}
        if author.affiliation:
            entity["affiliation"] = author.affiliation
        found.append(entity)
    return found


def _file(name: str, members: dict[str, bytes]) -> dict[str, Any]:
    content = members[name]
    form = _FORMS.get(name.rpartition(".")[2], "application/octet-stream")
    said = _SAID.get(name) or ("The wheel of haltere that made the results" if name.endswith(".whl") else "")
    return {
        "name": name, "encodingFormat": form, "contentSize": str(len(content)),
        "sha256": hashlib.sha256(content).hexdigest(),
    } | ({"description": said} if said else {})  # fmt: skip
