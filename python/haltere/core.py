"""The door to the extension module: JSON in and out becomes Python values, its errors become ours."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from haltere.errors import HaltereError

try:
    from haltere import _core
except ImportError as error:  # a source tree in which nothing has been built yet
    raise HaltereError(
        f"the extension module haltere._core cannot be loaded ({error})\n"
        "  right: build it with `make build`, or install the wheel with pip"
    ) from error

VERSION: str = _core.__version__


class ScenarioProblem(Exception):
    """What the core says against a scenario: a sentence, and the path of the field inside the scenario."""

    def __init__(self, message: str, path: str) -> None:
        super().__init__(message)
        self.message, self.path = message, path


def canonical(scenario: Any) -> str:
    """Return the one JSON text of a scenario: keys sorted, no spaces. Equal scenarios give equal texts."""
    return json.dumps(scenario, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


@contextlib.contextmanager
def _problems() -> Iterator[None]:
    try:
        yield
    except _core.ScenarioError as error:
        message, path = (*error.args, "")[:2]
        raise ScenarioProblem(str(message), str(path)) from None


def validate(scenario_json: str, *, modelled: bool = True) -> None:
    """Raise `ScenarioProblem` if the scenario is wrong; with `modelled`, also if the model lacks a contender."""
    with _problems():
        _core.validate(scenario_json, modelled)


def network(scenario_json: str) -> dict[str, Any]:
    """Return the scenario's nodes, links with all defaults filled in, routes and flows (see `_core.pyi`)."""
    with _problems():
        answer: dict[str, Any] = json.loads(_core.network(scenario_json))
    return answer


def losses(scenario_json: str, seed: int, replication: int, direction: int, packets: int) -> bytes:
    """Return which of the first packets of a link direction a run loses: bit n % 8 of byte n // 8."""
    with _problems():
        return bytes(_core.losses(scenario_json, seed, replication, direction, packets))


def run(scenario_json: str, seed: int, replication: int) -> str:
    """Run one scenario; always return a RunResult, of status `failed` if the core itself broke down.

    The answer depends on the arguments alone. The interpreter's lock is released while the core works.
    """
    try:
        return _core.run(scenario_json, seed, replication)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic in the core is a BaseException: it must become a row, not end the campaign
        reason = f"{type(error).__name__}: {error}".strip()
        return json.dumps(
            {
                "status": "failed",
                "error": reason,
                "virtual_s": None,
                "events": None,
                "data_packets": None,
                "flows": [],
                "links": [],
            }
        )


def trace(scenario_json: str, seed: int, replication: int) -> dict[str, Any]:
    """Run one scenario and return `{"result": ..., "series": [...]}` (see `_core.pyi`)."""
    answer: dict[str, Any] = json.loads(_core.trace(scenario_json, seed, replication))
    return answer


def locate(toml_text: str, path: str) -> tuple[int, int]:
    """Return line and column of the value at `path`, or of its nearest parent."""
    return _core.locate(toml_text, path)


def algorithms() -> dict[str, list[dict[str, Any]]]:
    """Return what a contender can be made of: `transports`, `congestion`, `switches`."""
    answer: dict[str, list[dict[str, Any]]] = json.loads(_core.algorithms())
    return answer


def bench() -> list[dict[str, Any]]:
    """Run the benchmark cases; packets a CPU-second and bytes a packet in flight."""
    answer: list[dict[str, Any]] = json.loads(_core.bench())
    return answer


def scenario_schema() -> dict[str, Any]:
    """Return the JSON Schema of a scenario."""
    answer: dict[str, Any] = json.loads(_core.scenario_schema())
    return answer


@cache
def fingerprint() -> str:
    """Return a hash of the extension module's file: a rebuilt core does not pass for the one that wrote a result."""
    file = _core.__file__
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()[:16] if file else VERSION
