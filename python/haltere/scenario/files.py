"""Files that scenarios name: each name is replaced by what the file holds, before the scenario is parsed.

`rate = { trace = "LTE.down" }` of a link names a recorded rate of mahimahi's form, `capture = "office.pcap"` of a load
packets that are replayed, `trace = "sensor.csv"` of a flow's `mqtt` the times and sizes of messages, and `page` of a
flow a HAR file (`har`). Contenders and queues that name files of code are given the digests of what they hold
(`plugins.store`).
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from haltere import core
from haltere.core import ScenarioProblem
from haltere.plugins import store
from haltere.scenario import har

TRACE = "a packet-delivery trace of mahimahi: a whole number of milliseconds on each line"
MESSAGES = "a CSV file with a line for each message: its time in seconds and its payload in bytes"
CAPTURE = "a pcap or pcapng file"
LINKS = ("link", "bottleneck", "access")
PARTS = ("link", "down", "up")
"""Parts of a link that may have a rate of its own: in a graph the link itself, and either direction."""


def inline(scenario: Any, folder: Path) -> Any:
    """Return the scenario with the content of each file in the place of its name.

    Args:
        scenario: a scenario; it is not changed.
        folder: where names of files begin.

    Raises:
        ScenarioProblem: if a file cannot be read, or does not hold what it should.
    """
    if not isinstance(scenario, Mapping):
        return scenario
    changed: dict[str, Any] = {}
    if isinstance(flows := scenario.get("flows"), list):
        changed["flows"] = [_flow(flow, f"flows[{i}]", folder) for i, flow in enumerate(flows)]
        changed["flows"] = [_code(flow, f"flows[{i}].contender", folder) for i, flow in enumerate(changed["flows"])]
    if isinstance(topology := scenario.get("topology"), Mapping):
        changed["topology"] = _queues(_topology(topology, folder), "topology", folder)
    if isinstance(loads := scenario.get("loads"), list):
        read = partial(_read, at="capture", folder=folder, reader=packets)
        changed["loads"] = [read(load, path=f"loads[{i}].capture") for i, load in enumerate(loads)]
    return {**scenario, **changed}


def _read(table: Any, at: str, path: str, folder: Path, reader: Callable[[Path], Any]) -> Any:
    """Return a table whose field `at` has what the file of this name holds; the table itself if it names none."""
    name = table.get(at) if isinstance(table, Mapping) else None
    if not isinstance(name, str):
        return table
    try:
        return {**table, at: reader(folder / name)}
    except ValueError as error:
        raise ScenarioProblem(f"{name} {error}", path) from None


def _code(flow: Any, path: str, folder: Path) -> Any:
    """Return a flow whose contender has the digest of its file, if it names one."""
    contender = flow.get("contender") if isinstance(flow, Mapping) else None
    if not isinstance(contender, str):
        return flow
    try:
        found = store.with_digest(contender, folder)
    except ValueError as error:
        raise ScenarioProblem(str(error), path) from None
    return flow if found == contender else {**flow, "contender": found}


def queues(topology: Any) -> Iterator[Any]:
    """Return the queues of all links and cells of a topology."""
    if isinstance(topology, Mapping):
        for name, value in topology.items():
            yield from [value] if name == "queue" else queues(value)
    elif isinstance(topology, list):
        for value in topology:
            yield from queues(value)


def _queues(value: Any, path: str, folder: Path) -> Any:
    """Return a part of a topology in which queues that name files have their digests."""
    if isinstance(value, list):
        return [_queues(one, f"{path}[{i}]", folder) for i, one in enumerate(value)]
    if not isinstance(value, Mapping):
        return value
    changed = {name: _queues(one, f"{path}.{name}", folder) for name, one in value.items() if name != "queue"}
    if "queue" in value:
        try:
            changed["queue"] = store.queue_with_digest(value["queue"], folder)
        except ValueError as error:
            raise ScenarioProblem(str(error), f"{path}.queue") from None
    return changed


def _flow(flow: Any, path: str, folder: Path) -> Any:
    flow = _read(flow, "page", f"{path}.page", folder, lambda file: {"objects": har.objects(file)})
    mqtt = flow.get("mqtt") if isinstance(flow, Mapping) else None
    found = _read(mqtt, "trace", f"{path}.mqtt.trace", folder, messages)
    return flow if found is mqtt else {**flow, "mqtt": found}


def _topology(topology: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    changed = {name: _link(topology[name], f"topology.{name}", folder) for name in LINKS if name in topology}
    for name in ("links", "paths"):
        several = topology.get(name)
        if isinstance(several, list):
            changed[name] = [_link(link, f"topology.{name}[{i}]", folder) for i, link in enumerate(several)]
    return {**topology, **changed}


def _link(link: Any, path: str, folder: Path) -> Any:
    """Return a link, or a direction of one, without names of files."""
    if not isinstance(link, Mapping):
        return link
    changed = {name: _link(link[name], f"{path}.{name}", folder) for name in PARTS if name in link}
    rate = link.get("rate")
    found = _read(rate, "trace", f"{path}.rate.trace", folder, milliseconds)
    if found is not rate:
        changed["rate"] = found
    return {**link, **changed} if changed else link


def milliseconds(file: Path) -> list[int]:
    """Return a trace's times; raise `ValueError` that says what would be right."""
    try:
        return core.rate_trace(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise _unreadable(error, TRACE) from None
    except UnicodeDecodeError:
        raise ValueError(f"is no text: give {TRACE}") from None
    except ScenarioProblem as problem:
        raise ValueError(f"has a wrong line {problem.path} ({problem.message}): give {TRACE}") from None


def messages(file: Path) -> list[list[str]]:
    """Return a trace's messages as a scenario has them. A first line without numbers is a heading.

    Raises:
        ValueError: if it cannot be read, or is no trace; the message says what would be right.
    """
    try:
        lines = list(csv.reader(file.read_text(encoding="utf-8").splitlines()))
    except OSError as error:
        raise _unreadable(error, MESSAGES) from None
    except (UnicodeDecodeError, csv.Error):
        raise ValueError(f"is no CSV file: give {MESSAGES}") from None
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
            raise ValueError(f"has a wrong line {number} ({','.join(line)}): give {MESSAGES}") from None
        found.append([f"{round(seconds * 1e9)}ns", f"{size}B"])
    if not found:
        raise ValueError(f"has no message: give {MESSAGES}")
    return found


def packets(file: Path) -> dict[str, Any]:
    """Return a capture's packets; raise `ValueError` that says what would be right."""
    try:
        stat = file.stat()
        return _packets(file, stat.st_mtime_ns, stat.st_size)
    except OSError as error:
        raise _unreadable(error, CAPTURE) from None
    except ScenarioProblem as problem:
        raise ValueError(f"is no capture that can be replayed: {problem.message}: give {CAPTURE}") from None


@lru_cache(maxsize=8)
def _packets(file: Path, _changed: int, _size: int) -> dict[str, Any]:
    """Return a file's packets. A study names one file in many scenarios, so the last few are kept."""
    return core.capture(file.read_bytes())


def _unreadable(error: OSError, right: str) -> ValueError:
    return ValueError(f"cannot be read ({error.strerror}): give {right}, relative to the study")
