"""Recorded rates in scenarios: `rate = { trace = "LTE.down" }` of a link names a file of mahimahi's form."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from haltere import core
from haltere.core import ScenarioProblem

TRACE = "a packet-delivery trace of mahimahi: a whole number of milliseconds on each line"
LINKS = ("link", "bottleneck", "access")
PARTS = ("link", "down", "up")
"""Parts of a link that may have a rate of its own: in a graph the link itself, and either direction."""


def inline(scenario: Any, folder: Path) -> Any:
    """Return the scenario with each trace that is the name of a file replaced by its milliseconds.

    Args:
        scenario: a scenario; it is not changed.
        folder: where names of files begin.

    Raises:
        ScenarioProblem: if a file cannot be read, or is no trace.
    """
    topology = scenario.get("topology") if isinstance(scenario, Mapping) else None
    if not isinstance(topology, Mapping):
        return scenario
    changed = {name: _link(topology[name], f"topology.{name}", folder) for name in LINKS if name in topology}
    for name in ("links", "paths"):
        several = topology.get(name)
        if isinstance(several, list):
            changed[name] = [_link(link, f"topology.{name}[{i}]", folder) for i, link in enumerate(several)]
    return {**scenario, "topology": {**topology, **changed}}


def _link(link: Any, path: str, folder: Path) -> Any:
    """Return a link, or a direction of one, without names of files."""
    if not isinstance(link, Mapping):
        return link
    changed = {name: _link(link[name], f"{path}.{name}", folder) for name in PARTS if name in link}
    rate = link.get("rate")
    if isinstance(rate, Mapping) and isinstance(rate.get("trace"), str):
        try:
            changed["rate"] = {**rate, "trace": milliseconds(folder / rate["trace"])}
        except ValueError as error:
            raise ScenarioProblem(f"{rate['trace']} {error}", f"{path}.rate.trace") from None
    return {**link, **changed} if changed else link


def milliseconds(file: Path) -> list[int]:
    """Return a trace's times.

    Raises:
        ValueError: if it cannot be read, or is no trace; the message says what would be right.
    """
    try:
        return core.rate_trace(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"cannot be read ({error.strerror}): give {TRACE}, relative to the study") from None
    except UnicodeDecodeError:
        raise ValueError(f"is no text: give {TRACE}") from None
    except ScenarioProblem as problem:
        raise ValueError(f"has a wrong line {problem.path} ({problem.message}): give {TRACE}") from None
