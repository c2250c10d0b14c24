"""Counts of files of traceroutes, in every format that is read."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from haltere import _core
from haltere.errors import InputError

STDIN = "-"


def check(files: Sequence[str]) -> None:
    """Refuse paths that cannot be files of traces, before any file is read."""
    if not files:
        raise InputError("no file is given", field="FILE", right="files of traceroutes, or - for standard input")
    for name in files:
        path = Path(name)
        if name == STDIN or path.is_file() or path.is_fifo() or path.is_char_device():
            continue
        right = "the files in it, such as " + str(path / "*") if path.is_dir() else "the path of a file that exists"
        raise InputError("is a folder" if path.is_dir() else "there is no such file", field=name, right=right)
    if list(files).count(STDIN) > 1:
        raise InputError("standard input can be read once", field="FILE", given="- twice", right="one -")


def stored_bytes(files: Sequence[str]) -> int:
    """Return how many bytes the files have on disk; 0 if that is not known of one."""
    sizes = [0 if name == STDIN else Path(name).stat().st_size for name in files]
    return sum(sizes) if all(sizes) else 0


def count(
    files: Sequence[str], *, threads: int | None = None, on_progress: Callable[[int], None] | None = None
) -> dict[str, Any]:
    """Return `{"files": [...], "total": {...}}`: traces, classes and damaged records, a file and in all.

    Args:
        files: paths, or `-` for standard input.
        threads: files read at once, or threads that read one; one a CPU if not given.
        on_progress: called now and then with the bytes read so far, as they are stored.
    """
    check(files)
    answer: dict[str, Any] = json.loads(_core.count_paths(list(files), threads or os.cpu_count() or 1, on_progress))
    return answer


def texts(file: str, limit: int | None = None) -> Iterator[str]:
    """Yield the traces of a file as text, many at once; at most `limit` traces."""
    check([file])
    try:
        yield from _core.PathTexts(file, limit)
    except OSError as error:
        raise InputError(str(error), field=file, right="a file in one of the formats of docs/paths.md") from None
