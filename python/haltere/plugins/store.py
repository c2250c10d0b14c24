"""Files of code, kept by the digest of what they hold, so that what ran can run again whatever became of the file.

They lie in `$XDG_CACHE_HOME/haltere/code`, or below `~/.cache`. A name in a scenario is that of the file and the digest
of what it held: `./mine.py#3fa94c1b2d5e6f70`.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from haltere.files import write_whole
from haltere.plugins import building

DIGEST = "#"
"""The sign between the name of a file and the digest."""
SOURCES = (".c", ".rs")
"""How names of sources end that are built into libraries."""
POLICY = ".onnx"
"""How the name of a trained policy ends."""
SUFFIXES = (".py", ".so", *SOURCES, POLICY)
"""How names of files of code end."""
_DIGITS = 16

ALLOW = "HALTERE_ALLOW_CODE"
"""The variable of the environment that allows all code that study and scenario files name: `1`."""

_WITH_DIGEST = re.compile(rf"(\.(?:py|so|c|rs|onnx)){DIGEST}[0-9a-f]{{{_DIGITS}}}")

_asked: set[Path] = set()
"""The files that the user asked for in this process."""


def folder() -> Path:
    """Return where files of code are kept."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "haltere" / "code"


def file_of(contender: str) -> str | None:
    """Return the file that a contender names; None if it names none, or one with a digest.

    >>> file_of("tcp/./mine.py+gain=2"), file_of("./mine.py"), file_of("tcp/cubic")
    """
    alone = contender.startswith(("./", "../", "/"))
    _, slash, rest = ("", "/", contender) if alone else contender.partition("/")
    if not slash or not rest.startswith(("./", "../", "/")) or DIGEST in rest:
        return None
    ends = [m.end() for suffix in SUFFIXES for m in re.finditer(re.escape(suffix) + r"(?=$|[+\-])", rest)]
    return rest[: min(ends)] if ends else None


def with_digest(contender: str, base: Path) -> str:
    """Return a contender whose file, below `base`, is kept and has its digest behind its name; others as they are.

    Raises:
        ValueError: if nobody asked for the file, or it cannot be read or built; the message says what to do.
    """
    file = file_of(contender)
    if file is None:
        return contender
    return contender.replace(file, f"{file}{DIGEST}{keep(base / file)}", 1)


def shown(text: str) -> str:
    """Return a text without the digests of files in it, as people read it."""
    return _WITH_DIGEST.sub(r"\1", text)


def ask(*contenders: str) -> None:
    """Note that the user asked for the files that contenders name, which are below the working directory."""
    _asked.update(Path(file).resolve() for contender in contenders if (file := file_of(contender)))


def keep(file: Path) -> str:
    """Keep what a file holds, built if it is a source in C or Rust; return its digest.

    Raises:
        ValueError: if nobody asked for it, or it cannot be read or built; the message says why, and what to do.
    """
    if file.resolve() not in _asked and os.environ.get(ALLOW, "0") in {"", "0"}:
        what = f"the code {file.name}, which would run with all your rights: read it"
        if file.suffix == POLICY:
            what = f"the trained policy {file.name}, which onnxruntime would compute: see whom it is from"
        raise ValueError(
            f"the file names {what}, then allow it by `haltere --allow-code run`, or in Python by "
            "haltere.plugins.allow()"
        )
    try:
        held = file.read_bytes()
    except OSError as error:
        raise ValueError(
            f"the file of code {file} cannot be read ({error.strerror}): give the path of a file"
        ) from None
    if file.suffix in SOURCES:
        held = building.inputs(file)
    digest = hashlib.sha256(held).hexdigest()[:_DIGITS]
    kept = path(file.name, digest)
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix in SOURCES:
            building.build(file, kept)
        else:
            write_whole(kept, held)
    return digest


def path(file: str, digest: str) -> Path:
    """Return where what a file held is kept. Sources are kept as the libraries built of them."""
    suffix = Path(file).suffix
    return folder() / f"{digest}{'.so' if suffix in SOURCES else suffix}"


def find(file: str, digest: str) -> Path:
    """Return what a file held when it had this digest; raise `ValueError` if it is not kept here."""
    kept = path(file, digest)
    if not kept.exists():
        raise ValueError(
            f"the code {file}{DIGEST}{digest} is not on this machine: run what named it here, or copy {kept.name} from "
            f"{folder()} of the machine that ran it"
        )
    return kept
