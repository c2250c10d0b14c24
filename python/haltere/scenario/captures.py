"""Captures in scenarios: `capture = "office.pcap"` of a load names a file whose packets are replayed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from haltere import core
from haltere.core import ScenarioProblem

_RIGHT = "a pcap or pcapng file"


def inline(scenario: Any, folder: Path) -> Any:
    """Return the scenario with each capture that is the name of a file replaced by its packets.

    Args:
        scenario: a scenario; it is not changed.
        folder: where names of files begin.

    Raises:
        ScenarioProblem: if a file cannot be read, or is no capture.
    """
    loads = scenario.get("loads") if isinstance(scenario, Mapping) else None
    if not isinstance(loads, list):
        return scenario
    changed = [_load(load, f"loads[{i}].capture", folder) for i, load in enumerate(loads)]
    return {**scenario, "loads": changed}


def _load(load: Any, path: str, folder: Path) -> Any:
    if not isinstance(load, Mapping) or not isinstance(load.get("capture"), str):
        return load
    file = folder / load["capture"]
    try:
        stat = file.stat()
        return {**load, "capture": _packets(file, stat.st_mtime_ns, stat.st_size)}
    except OSError as error:
        message = f"{load['capture']} cannot be read ({error.strerror}): give {_RIGHT}, relative to the study"
        raise ScenarioProblem(message, path) from None
    except ScenarioProblem as problem:
        message = f"{load['capture']} is no capture that can be replayed: {problem.message}: give {_RIGHT}"
        raise ScenarioProblem(message, path) from None


@lru_cache(maxsize=8)
def _packets(file: Path, _changed: int, _size: int) -> dict[str, Any]:
    """Return a file's packets. A study names one file in many scenarios, so the last few are kept."""
    return core.capture(file.read_bytes())
