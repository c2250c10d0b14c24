"""Files of code, kept by the digest of what they hold, so that what ran can run again whatever became of the file.

They lie in `$XDG_CACHE_HOME/haltere/code`, or below `~/.cache`: libraries that are built of sources, and the text of
sources in C, of which the module of a kernel is built too (`haltere.rig.modules`). A name in a scenario is that of the
file and the digest of what it held: `./mine.py#3fa94c1b2d5e6f70`.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from haltere.files import write_whole
from haltere.plugins import building

DIGEST = "#"
"""The sign between the name of a file and the digest."""
SOURCES = (".c", ".rs")
"""How names of sources end that are built into libraries."""
POLICY = ".onnx"
"""How the name of a trained policy ends."""
_DIGITS = 16
MAIN = "main.c"
"""In the folder of a source that is kept, the file itself."""
BESIDE = "beside"
"""In the folder of a source that is kept, the folder of what may be included and linked."""

ALLOW = "HALTERE_ALLOW_CODE"
"""The variable of the environment that allows all code that study and scenario files name: `1`."""

_WITH_DIGEST = re.compile(rf"(\.(?:py|so|c|rs|onnx)){DIGEST}[0-9a-f]{{{_DIGITS}}}")

_FILE = re.compile(rf"(?P<file>\.{{0,2}}/.*?\.(?:py|so|c|rs|onnx))(?P<digest>{DIGEST}[0-9a-f]*)?(?=$|[+\-])")
"""The file at the start of what follows the transport in a contender."""
_SCHEDULER = re.compile(rf"\+scheduler={_FILE.pattern}")
_FILE_ALONE = re.compile(r"(?P<file>\.{0,2}/[^:#]*\.(?:py|so|c|rs|onnx))(?=$|:)")
"""The file at the start of a queue."""

_asked: set[Path] = set()
"""The files that the user asked for in this process."""


def folder() -> Path:
    """Return where files of code are kept."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "haltere" / "code"


def files_of(contender: str) -> list[str]:
    """Return the files that a contender names, without those that have a digest.

    >>> files_of("tcp/./mine.py+gain=2"), files_of("./mine.py"), files_of("mptcp/./a.c+scheduler=./b.py")
    """
    return [found["file"] for found in _found(contender)]


def _found(contender: str) -> list[re.Match[str]]:
    """Return where a contender names files without digests: its congestion control, and its scheduler."""
    start = 0 if contender.startswith(("./", "../", "/")) else contender.find("/") + 1
    control = _FILE.match(contender, start)
    scheduler = _SCHEDULER.search(contender, control.end() if control else start)
    return [found for found in (control, scheduler) if found and not found["digest"]]


def with_digest(contender: str, base: Path) -> str:
    """Return a contender whose files, below `base`, are kept and have digests behind their names; others as they are.

    Raises:
        ValueError: if nobody asked for a file, or it cannot be read or built; the message says what to do.
    """
    for found in reversed(_found(contender)):
        end = found.end("file")
        contender = f"{contender[:end]}{DIGEST}{keep(base / found['file'])}{contender[end:]}"
    return contender


def queue_file(queue: Any) -> str | None:
    """Return the file that a queue of a scenario names, a word or a table; None if it names none, or one with a digest.

    >>> queue_file("./mine.py:limit=9p"), queue_file({"discipline": "./mine.c"}), queue_file("1000p")
    """
    name = queue.get("discipline") if isinstance(queue, Mapping) else queue
    found = _FILE_ALONE.match(name.strip()) if isinstance(name, str) else None
    return found["file"] if found else None


def queue_with_digest(queue: Any, base: Path) -> Any:
    """Return a queue whose file, below `base`, is kept and has its digest behind its name; others as they are.

    Raises:
        ValueError: if nobody asked for the file, or it cannot be read or built; the message says what to do.
    """
    file = queue_file(queue)
    if file is None:
        return queue
    named = f"{file}{DIGEST}{keep(base / file)}"
    if isinstance(queue, Mapping):
        return {**queue, "discipline": named}
    return queue.replace(file, named, 1)


def shown(text: str) -> str:
    """Return a text without the digests of files in it, as people read it."""
    return _WITH_DIGEST.sub(r"\1", text)


def ask(*contenders: str, queues: Iterable[Any] = ()) -> None:
    """Note that the user asked for the files that contenders and queues name, below the working directory."""
    files = [file for contender in contenders for file in files_of(contender)]
    _asked.update(Path(file).resolve() for file in [*files, *filter(None, map(queue_file, queues))])


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
    if file.suffix == ".c":
        _keep_sources(file, folder() / digest)
    return digest


def _keep_sources(file: Path, into: Path) -> None:
    if into.exists():
        return
    with tempfile.TemporaryDirectory(dir=into.parent) as temporary:
        (beside := Path(temporary) / "kept" / BESIDE).mkdir(parents=True)
        shutil.copyfile(file, beside.with_name(MAIN))
        for one in building.beside(file):
            shutil.copyfile(one, beside / one.name)
        with contextlib.suppress(OSError):  # another process was as quick
            beside.parent.rename(into)


def sources(file: str, digest: str) -> Path:
    """Return the folder with the text of a source in C (`MAIN`, `BESIDE`); raise `ValueError` if it is not kept."""
    kept = folder() / digest
    if not kept.is_dir():
        raise ValueError(
            f"the text of {file}{DIGEST}{digest} is not on this machine: run what named it here, or copy the folder "
            f"{digest} from {folder()} of the machine that ran it"
        )
    return kept


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
