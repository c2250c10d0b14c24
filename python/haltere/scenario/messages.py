"""Traces of MQTT's messages in scenarios: `trace = "sensor.csv"` of a flow's `mqtt` names a file of times and sizes."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from haltere.core import ScenarioProblem

RIGHT = "a CSV file with a line for each message: its time in seconds and its payload in bytes"


def inline(scenario: Any, folder: Path) -> Any:
    """Return the scenario with each trace of messages that is the name of a file replaced by its messages.

    Args:
        scenario: a scenario; it is not changed.
        folder: where names of files begin.

    Raises:
        ScenarioProblem: if a file cannot be read, or is no such trace.
    """
    flows = scenario.get("flows") if isinstance(scenario, Mapping) else None
    if not isinstance(flows, list) or not any(_name(flow) for flow in flows):
        return scenario
    return {**scenario, "flows": [_flow(flow, f"flows[{i}].mqtt.trace", folder) for i, flow in enumerate(flows)]}


def _name(flow: Any) -> str | None:
    mqtt = flow.get("mqtt") if isinstance(flow, Mapping) else None
    trace = mqtt.get("trace") if isinstance(mqtt, Mapping) else None
    return trace if isinstance(trace, str) else None


def _flow(flow: Any, path: str, folder: Path) -> Any:
    name = _name(flow)
    if name is None:
        return flow
    try:
        found = read(folder / name)
    except ValueError as error:
        raise ScenarioProblem(f"{name} {error}", path) from None
    return {**flow, "mqtt": {**flow["mqtt"], "trace": found}}


def read(file: Path) -> list[list[str]]:
    """Return a trace's messages as a scenario has them. A first line without numbers is a heading.

    Raises:
        ValueError: if it cannot be read, or is no trace; the message says what would be right.
    """
    try:
        lines = list(csv.reader(file.read_text(encoding="utf-8").splitlines()))
    except OSError as error:
        raise ValueError(f"cannot be read ({error.strerror}): give {RIGHT}, relative to the study") from None
    except (UnicodeDecodeError, csv.Error):
        raise ValueError(f"is no CSV file: give {RIGHT}") from None
    found: list[list[str]] = []
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        try:
            seconds, size = float(line[0]), int(line[1])
            if len(line) != 2 or not 0 <= seconds < 1e9 or size < 0:
                raise ValueError
        except (ValueError, IndexError):
            if number == 1 and not found:
                continue
            raise ValueError(f"has a wrong line {number} ({','.join(line)}): give {RIGHT}") from None
        found.append([f"{round(seconds * 1e9)}ns", f"{size}B"])
    if not found:
        raise ValueError(f"has no message: give {RIGHT}")
    return found
