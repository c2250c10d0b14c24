"""Finished runs on disk, in part files that are written completely or not at all.

A part is gzipped JSON lines: a header with the version and fingerprint of the core, then a line a run. It is written
under another name, synced, and renamed, so a campaign that is killed at any moment leaves only whole parts behind.
"""

from __future__ import annotations

import fcntl
import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from haltere import core
from haltere.errors import HaltereError
from haltere.files import write_whole
from haltere.runner.executor import Outcome


class Parts:
    """The part files of one results folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "parts"
        self.ignored = 0
        """Parts that were left aside when reading: written by another build of the core, or damaged."""

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder, so that two campaigns never write into it at once."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / ".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise HaltereError(
                    f"another campaign is writing into {self.folder.parent}\n"
                    "  right: wait for it, or choose another folder with --out"
                ) from None
            for left_over in self.folder.glob(".part-*"):
                left_over.unlink()
            yield

    def read(self) -> dict[str, str]:
        """Return every finished run: key to RunResult JSON."""
        finished: dict[str, str] = {}
        self.ignored = 0
        for file in sorted(self.folder.glob("part-*.jsonl.gz")):
            try:
                header, *lines = gzip.decompress(file.read_bytes()).decode().splitlines()
                if json.loads(header) != _header():
                    self.ignored += 1
                    continue
                for line in lines:
                    key, _, result = line.partition("\t")
                    finished[key] = result
            except (OSError, EOFError, ValueError):
                self.ignored += 1
        return finished

    def write(self, outcomes: list[Outcome]) -> None:
        """Write one more part."""
        if not outcomes:
            return
        numbers = [int(file.name[5:11]) for file in self.folder.glob("part-*.jsonl.gz")]
        name = f"part-{max(numbers, default=-1) + 1:06d}.jsonl.gz"
        lines = [json.dumps(_header()), *(f"{outcome.key}\t{outcome.result_json}" for outcome in outcomes)]
        write_whole(self.folder / name, gzip.compress("\n".join(lines).encode(), compresslevel=3, mtime=0))


def _header() -> dict[str, Any]:
    return {"haltere": core.VERSION, "core": core.fingerprint()}
