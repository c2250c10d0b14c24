"""Finished runs on disk, in part files that are written completely or not at all.

A part is gzipped JSON lines: a header with the version and fingerprint of the core, then a line a run. It is written
under another name, synced, and renamed, so a campaign that is killed at any moment leaves only whole parts behind.
"""

from __future__ import annotations

import fcntl
import gzip
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from haltere import core
from haltere.errors import HaltereError
from haltere.executor import Outcome
from haltere.files import write_whole


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
            if not _taken(lock, fcntl.LOCK_EX, tries=5):
                raise HaltereError(
                    f"another campaign is writing into {self.folder.parent}\n"
                    "  right: wait for it, or choose another folder (`out`)"
                )
            for left_over in self.folder.glob(".part-*"):
                left_over.unlink()
            yield

    def busy(self) -> bool:
        """Say whether a campaign is writing into the folder."""
        try:
            with (self.folder / ".lock").open("r") as lock:
                return not _taken(lock, fcntl.LOCK_SH)
        except FileNotFoundError:
            return False

    def begin(self, **about: Any) -> None:
        """Note what a campaign sets out to do, for `haltere status`."""
        note = {**about, **_header(), "first_part": self._next()}
        write_whole(self.folder / "campaign.json", json.dumps(note, indent=1).encode())

    def status(self) -> dict[str, Any] | None:
        """Return what `begin` noted, with `written` (runs since then) and `last_s` (seconds since the last of them)."""
        try:
            note: dict[str, Any] = json.loads((self.folder / "campaign.json").read_bytes())
        except (FileNotFoundError, ValueError):
            return None
        files = [file for file in self._files() if _number(file) >= note["first_part"]]
        note["written"] = sum(gzip.decompress(file.read_bytes()).count(b"\n") for file in files)
        note["last_s"] = time.time() - files[-1].stat().st_mtime if files else None
        return note

    def read(self) -> dict[str, str]:
        """Return every finished run: key to RunResult JSON."""
        finished: dict[str, str] = {}
        self.ignored = 0
        for file in self._files():
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
        name = f"part-{self._next():06d}.jsonl.gz"
        lines = [json.dumps(_header()), *(f"{outcome.key}\t{outcome.result_json}" for outcome in outcomes)]
        write_whole(self.folder / name, gzip.compress("\n".join(lines).encode(), compresslevel=3, mtime=0))

    def _files(self) -> list[Path]:
        return sorted(self.folder.glob("part-*.jsonl.gz"))

    def _next(self) -> int:
        return max(map(_number, self._files()), default=-1) + 1


def _number(part: Path) -> int:
    return int(part.name[5:11])


def _taken(lock: IO[str], kind: int, *, tries: int = 1) -> bool:
    """Try to take a lock; several times, as `busy` holds it for a moment."""
    for attempt in range(tries):
        try:
            fcntl.flock(lock, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if attempt + 1 < tries:
                time.sleep(0.02)
        else:
            return True
    return False


def _header() -> dict[str, Any]:
    return {"haltere": core.VERSION, "core": core.fingerprint()}
