"""Writes files completely or not at all, and says which one cannot be read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from haltere.errors import InputError, Place


def write_whole(file: Path, content: bytes | str) -> None:
    """Write a file, text as UTF-8, so that, whatever happens, either the old file or the complete new one is there.

    Raises:
        OSError: if it cannot be written, such as on a full disk; it names the file.
    """
    temporary = file.with_name(f".{file.name}")
    try:
        with temporary.open("wb") as stream:
            stream.write(content.encode() if isinstance(content, str) else content)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(file)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        error.filename = str(file)
        raise


@contextmanager
def reading(file: Path, command: str) -> Iterator[None]:
    """Read a file that a command wrote beside results, and that may be damaged.

    Raises:
        InputError: if what is inside fails as damaged files do.
    """
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        right = f"a file written by `{command}`; remove this one"
        raise InputError(f"cannot be read: {error}", place=Place(str(file)), right=right) from None
