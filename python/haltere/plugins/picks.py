"""The answers of a path scheduler to `pick`, and the choices that schedulers share.

`pick` returns one of the paths that it was given; a list of them, for the same data on each; None, to wait for an
acknowledgement; `WaitUntil(time)`; or `Ahead(path, skip)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from haltere._core import Path

NEVER = 2**63 - 1
"""In the place of a slow-start threshold: none is set. In the place of a time: never."""


@dataclass(frozen=True)
class WaitUntil:
    """Send nothing before this time, ns since the start of the run, or until an acknowledgement arrives."""

    until: int


@dataclass(frozen=True)
class Ahead:
    """Send on the path the data that follows after `skip` bytes of what no path was given yet: others send these."""

    path: Path
    skip: int


def candidates(paths: Sequence[Path]) -> list[Path]:
    """Return the paths to choose among: the active ones, or those on standby if no active path is left."""
    live = [
        path
        for path in paths
        if path.usable and path.paced_until != NEVER and (path.in_flight + path.queued > 0 or _fits(path))
    ]
    active = [path for path in live if not path.standby]
    return active or live


def is_ready(path: Path, now: int) -> bool:
    """Return whether a path sends a full packet now: window and buffer have room, and pacing does not block it.

    A path that holds nothing has room, whatever its window is: no acknowledgement would come to open it.
    """
    return path.paced_until <= now and path.usable and _is_open(path)


def wait(paths: Sequence[Path]) -> WaitUntil:
    """Return a wait for the first of the paths that pacing alone blocks, or for an acknowledgement if there is none."""
    return WaitUntil(min((path.paced_until for path in paths if _is_open(path)), default=NEVER))


def _fits(path: Path) -> bool:
    return path.in_flight + path.queued + path.overhead + path.mss <= path.capacity


def _is_open(path: Path) -> bool:
    held, mss = path.in_flight + path.queued, path.mss
    return held + path.overhead + mss <= path.capacity and (held == 0 or held + mss <= path.window)
