"""Validate the RO-Crate in a folder by rocrate-validator, without a network.

usage: python tools/crate.py FOLDER

It needs an environment of its own (`requirements/crate.txt`, `make crate`): rocrate-validator wants an older rich than
haltere. The one document that it reads from the Web, the context of RO-Crate 1.3, is the copy that `rocrate` has.

rocrate-validator 0.13 knows the Workflow Run profile by the terms of RO-Crate 1.1, in which those of bioschemas have
other addresses. A copy of the crate that says 1.1 is therefore held against that profile, and the crate itself against
RO-Crate 1.3.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import requests
import rocrate
from rocrate_validator import models, services
from rocrate_validator.utils import http

OWN, OLD = "https://w3id.org/ro/crate/1.3", "https://w3id.org/ro/crate/1.1"
METADATA = "ro-crate-metadata.json"


def answer(url: str, *_: Any, **__: Any) -> requests.Response:
    """Answer a request as the Web would: with a context, or with nothing."""
    response = requests.Response()
    response.url, response.status_code = url, 404
    if url in (f"{OWN}/context", f"{OLD}/context"):
        text = (Path(rocrate.__file__).parent / "data" / "ro-crate.jsonld").read_text(encoding="utf-8")
        if url.startswith(OLD):
            text = text.replace("https://bioschemas.org/terms/", "https://bioschemas.org/")
        response.status_code, response._content = 200, text.encode()
        response.headers["Content-Type"] = "application/ld+json"
    return response


def issues(folder: Path, profile: str) -> tuple[int, list[str]]:
    """Return how many checks a profile has for what a crate must have, and what it says of this one."""
    settings = services.ValidationSettings(
        rocrate_uri=models.URI(str(folder)),
        profile_identifier=profile,
        requirement_severity=models.Severity.REQUIRED,
        offline=True,
    )
    http.HttpRequester().session.get = answer
    found = services.validate(settings)
    return len(found.executed_checks), [f"{one.check.identifier}: {one.message}" for one in found.get_issues()]


def main(folder: Path) -> int:
    """Print what a crate lacks of what RO-Crate 1.3 and the Workflow Run profile demand; return the exit code."""
    own = issues(folder, "ro-crate-1.3")
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(shutil.copytree(folder, Path(scratch) / "copy"))
        text = (copy / METADATA).read_text(encoding="utf-8")
        (copy / METADATA).write_text(text.replace(OWN, OLD), encoding="utf-8")
        profile = issues(copy, "workflow-run-crate")
    sys.stdout.write(f"RO-Crate 1.3: {own}\nWorkflow Run Crate 0.5: {profile}\n")
    return 1 if own[1] or profile[1] or min(own[0], profile[0]) < 30 else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
