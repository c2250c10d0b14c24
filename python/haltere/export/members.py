"""The file of an archive: a gzipped tar with one folder in it, written the same for the same members, read with care.

Whoever opens an archive need not trust who made it. It is refused if a member would lie outside the folder, is a link
or a device, or is there twice, if it unpacks to far more than it takes, or if a checksum is missing or wrong.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import tarfile
import zlib
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from haltere.documents import shown
from haltere.errors import InputError, Place
from haltere.files import write_whole

CHECKSUMS = "checksums.sha256"
"""SHA-256 of all other files, as `sha256sum --check` reads them."""
MOST_FILES = 20_000
MOST_BYTES = 2_000_000_000
"""Files, and bytes, that an archive unpacks to at most."""
_GROWTH, _FREE = 100, 50_000_000
"""An archive may unpack to so many times its size, and to so many bytes in any case. Gzip packs zeros 1000 times."""
_PIECE = 1 << 20
_LINE = re.compile(r"([0-9a-f]{64})  (.+)")


def write(out: Path, name: str, members: dict[str, bytes]) -> None:
    """Write an archive of a folder with this name, and the checksums of its members among them.

    Raises:
        InputError: if it would be larger than an archive may be.
    """
    lines = [f"{hashlib.sha256(content).hexdigest()}  {member}\n" for member, content in sorted(members.items())]
    every = members | {CHECKSUMS: "".join(lines).encode()}
    if len(every) > MOST_FILES or sum(map(len, every.values())) > MOST_BYTES:
        raise InputError(
            "would be too large for an archive",
            place=Place(shown(out)),
            right=f"at most {MOST_FILES} files and {MOST_BYTES // 1_000_000} MB of study and results",
        )
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for member in sorted(every):
            entry = tarfile.TarInfo(f"{name}/{member}")
            entry.size, entry.mode = len(every[member]), 0o644
            archive.addfile(entry, io.BytesIO(every[member]))
    out.parent.mkdir(parents=True, exist_ok=True)
    write_whole(out, gzip.compress(buffer.getvalue(), mtime=0))


class _Limited(io.RawIOBase):
    """The unpacked bytes of an archive; raises `TarError` once there are more than it may unpack to."""

    def __init__(self, packed: BinaryIO, most: int) -> None:
        self._opened, self._left = gzip.GzipFile(fileobj=packed), most

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if size < 0 or size > self._left:
            size = self._left + 1
        got = self._opened.read(size)
        self._left -= len(got)
        if self._left < 0:
            raise tarfile.TarError("it unpacks to far more than an archive of results")
        return got


def extract(archive: Path, out: Path) -> None:
    """Write the members of an archive into a folder that is there and empty, and check them.

    Raises:
        InputError: if it is no archive of results, or it holds what it must not.
    """
    try:
        most = min(MOST_BYTES, _FREE + _GROWTH * archive.stat().st_size)
        with archive.open("rb") as packed, tarfile.open(fileobj=_Limited(packed, most), mode="r|") as opened:
            _extract(opened, out, most)
        _verify(out)
    except (OSError, EOFError, ValueError, zlib.error, tarfile.TarError) as error:
        raise InputError(
            f"is no archive of results: {error}", place=Place(shown(archive)), right="a file that `haltere pack` wrote"
        ) from None


def _extract(opened: tarfile.TarFile, out: Path, most: int) -> None:
    seen: set[str] = set()
    size = 0
    for entry in opened:
        if entry.isdir():
            continue
        path = _inside(entry)
        size += entry.size
        if str(path).casefold() in seen:
            raise tarfile.TarError(f"it holds {path} twice")
        seen.add(str(path).casefold())
        if len(seen) > MOST_FILES or size > most:
            raise tarfile.TarError("it unpacks to far more than an archive of results")
        content = opened.extractfile(entry)
        if content is None:
            raise tarfile.TarError(f"it holds {entry.name}, which is no file inside it")
        file = out / path
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("xb") as written:
            while piece := content.read(_PIECE):
                written.write(piece)


def _inside(entry: tarfile.TarInfo) -> PurePosixPath:
    """Return a member's path without the archive's one folder. Raises `TarError` for all but plain files in it."""
    path = PurePosixPath(entry.name)
    plain = entry.isreg() and not entry.issparse() and entry.name.isprintable()
    if not plain or path.is_absolute() or ".." in path.parts or "\\" in entry.name or len(path.parts) < 2:
        raise tarfile.TarError(f"it holds {entry.name!r}, which is no file inside its folder")
    return path.relative_to(path.parts[0])


def _verify(folder: Path) -> None:
    """Raise `TarError` unless the checksums are those of exactly the files that are there."""
    file = folder / CHECKSUMS
    if not file.is_file():
        raise tarfile.TarError(f"it has no {CHECKSUMS}")
    wanted = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        match = _LINE.fullmatch(line)
        if match is None:
            raise tarfile.TarError(f"its {CHECKSUMS} has a line that is no checksum")
        wanted[match[2]] = match[1]
    there = {one.relative_to(folder).as_posix(): one for one in folder.rglob("*") if one.is_file()} | {CHECKSUMS: file}
    del there[CHECKSUMS]
    for name in sorted(wanted.keys() | there.keys()):
        if name not in wanted:
            raise tarfile.TarError(f"{name} has no checksum")
        if name not in there:
            raise tarfile.TarError(f"it lacks {name}")
        with there[name].open("rb") as opened:
            if hashlib.file_digest(opened, "sha256").hexdigest() != wanted[name]:
                raise tarfile.TarError(f"{name} is damaged: its checksum is another")
