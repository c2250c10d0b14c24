"""Typed access to the extension module: converts its JSON to Python values and its errors to those of this package."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from haltere.errors import HaltereError, of_types

try:
    from haltere import _core
except ImportError as error:  # a source tree in which nothing has been built yet
    raise HaltereError(
        f"the extension module haltere._core cannot be loaded ({error})\n"
        "  right: build it with `make build`, or install the wheel with pip"
    ) from error

T = TypeVar("T")
OF_CALLS = frozenset({"rtp", "roq"})
"""The transports that carry calls, and nothing else."""

VERSION: str = _core.__version__
Scenario = _core.Scenario
"""A concrete scenario, parsed. It never changes, and equals another if their texts do."""

# The worker programs that `make worker-NAME` builds stand beside the package; HALTERE_WORKER_NAME names each.
for _program in sorted(Path(__file__).parent.glob("haltere-worker-*")):
    os.environ.setdefault(_program.name.upper().replace("-", "_"), str(_program))
# The program inside kernels that are nodes.
if (_node := Path(__file__).with_name("haltere-node")).exists():
    os.environ.setdefault("HALTERE_NODE", str(_node))


class ScenarioProblem(Exception):
    """Why the core refuses a scenario: a sentence, and the path of the field inside the scenario."""

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
        raise ScenarioProblem(of_types(str(message)), str(path)) from None


def parse(scenario: str | Mapping[str, Any]) -> Scenario:
    """Return a concrete scenario, given as its canonical JSON or as tables, parsed; raise `ScenarioProblem`."""
    with _problems():
        return Scenario(scenario if isinstance(scenario, str) else canonical(scenario))


def check_at(scenario: Scenario, fidelity: str) -> None:
    """Raise `ScenarioProblem` if a scenario cannot run at a fidelity; what rigs lack is checked by `haltere.rig`."""
    with _problems():
        scenario.check_at(fidelity)


def network(scenario: Scenario, seed: int = 0, replication: int = 0) -> dict[str, Any]:
    """Return the scenario's nodes, links with all defaults filled in, routes and flows (see `_core.pyi`).

    Seed and replication matter to flows that spread their start alone.
    """
    with _problems():
        answer: dict[str, Any] = json.loads(scenario.network(seed, replication))
    return answer


def network_of_nodes(scenario: Scenario, seed: int = 0, replication: int = 0) -> dict[str, Any]:
    """Return as `network` does what nodes of the simulator are told, which have more than a rig can build."""
    with _problems():
        answer: dict[str, Any] = json.loads(scenario.network_of_nodes(seed, replication))
    return answer


def links_in_words(scenario: Scenario) -> list[dict[str, str]]:
    """Return the links and cells of a scenario with the values of presets and defaults filled in.

    Each has its `name` in results, its `path` in the scenario (`topology.link`), and a text for `down` and for `up`:
    `50Mbit/s, delay 10ms, queue drop-tail (limit 1000p)`.
    """
    answer: list[dict[str, str]] = json.loads(scenario.links_in_words())
    return answer


def columns() -> list[dict[str, Any]]:
    """Return the declarations of all columns of results, with their metrics."""
    answer: list[dict[str, Any]] = json.loads(_core.columns())
    return answer


def losses(scenario: Scenario, seed: int, replication: int, direction: int, packets: int) -> bytes:
    """Return which of the first packets of a link direction a run loses: bit n % 8 of byte n // 8."""
    with _problems():
        return bytes(scenario.losses(seed, replication, direction, packets))


def placed(scenario: Scenario, seed: int, replication: int, fidelity: str) -> list[dict[str, Any]]:
    """Return the flows of a run that programs carry, and where these are to run (see `_core.pyi`).

    Raises:
        ScenarioProblem: if a contender cannot run at the fidelity.
    """
    with _problems():
        answer: list[dict[str, Any]] = json.loads(scenario.programs(seed, replication, fidelity))
    return answer


def run(scenario: Scenario | str, seed: int, replication: int, fidelity: str = "model", *, programs: str = "{}") -> str:
    """Run one scenario; always return a RunResult, of status `failed` if the core itself broke down.

    The answer depends on the arguments alone. The interpreter's lock is released while the core works.
    """
    try:
        return (Scenario(scenario) if isinstance(scenario, str) else scenario).run(
            seed, replication, fidelity, programs
        )
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic in the core is a BaseException: it must become a row, not end the campaign
        if isinstance(error, _core.ScenarioError):
            reason = ": ".join(str(part) for part in reversed(error.args) if part)
        else:
            reason = f"{type(error).__name__}: {error}".strip()
        return json.dumps(failed(reason))


def failed(reason: str) -> dict[str, Any]:
    """Return the result of a run that could not be made."""
    nothing = dict.fromkeys(("virtual_s", "events", "data_packets"))
    return {"status": "failed", "error": reason, **nothing, "flows": [], "links": []}


def trace(
    scenario: Scenario,
    seed: int,
    replication: int,
    fidelity: str = "model",
    *,
    qlog: Path | None = None,
    pcap: Path | None = None,
    links: Sequence[str] = (),
    shadows: Sequence[str] = (),
    metrics: bool = True,
    programs: str = "{}",
) -> dict[str, Any]:
    """Run one scenario and return `{"result": ..., "series": [...]}` (see `_core.pyi`).

    Write qlog files, and captures of `links` (of all if there are none), into the folders that are given. `shadows` are
    congestion controls in the shadow of each flow's. Without `metrics` there are packets alone: a kernel that is asked
    for its state moves them by some hundred nanoseconds. Raise `ScenarioProblem`, whose path is `qlog`, `pcap` or
    `shadow` if it is these that cannot be had.
    """
    beside: dict[str, Any] = {"qlog": qlog, "pcap": pcap, "links": list(links), "shadows": list(shadows)}
    beside |= {"metrics": metrics, "programs": programs}
    with _problems():
        answer: dict[str, Any] = json.loads(scenario.trace(seed, replication, fidelity, **beside))
    return answer


def environments(scenarios: Sequence[Scenario], settings: Mapping[str, Any]) -> _core.Environments:
    """Return environments in which agents decide (see `_core.pyi`); raise `ScenarioProblem`."""
    with _problems():
        return _core.Environments(list(scenarios), json.dumps(settings))


def interval_fields() -> dict[str, str]:
    """Return the numbers that such an environment knows of an interval, and their meanings."""
    return dict(_core.interval_fields())


def changed(scenario: Mapping[str, Any], kind: str, given: Any, fidelity: str) -> dict[str, Any] | None:
    """Return the same scenario with one thing done differently; None if it would be the same.

    Args:
        scenario: the tables of a scenario, which may be one over measured paths; they are not changed.
        kind: `queue`, `loss`, `interface`, `mark`, `size` or `switch`.
        given: what is put in the place, or the factor by which it is multiplied (`scenario/changes.rs`).
        fidelity: where switches are to make a difference.
    """
    text = _core.changed(canonical(scenario), canonical({"kind": kind, "given": given}), fidelity)
    answer: dict[str, Any] | None = None if text is None else json.loads(text)
    return answer


def contender(text: str) -> dict[str, Any]:
    """Return `transport`, `implementation`, `congestion` and `switches` of a contender; raise `ScenarioProblem`."""
    answer: dict[str, Any] = _checked(lambda: _core.contender(text))
    return answer


def quantity(text: str) -> tuple[float, str] | None:
    """Return the number and the unit of a quantity such as `40Mbit/s`; None of other texts."""
    return _core.quantity(text)


def nanoseconds(text: str) -> int:
    """Return a time such as `50ms` in ns; raise `ValueError`."""
    return _core.nanoseconds(text)


class LinkProblem(Exception):
    """Why the core refuses to emulate a link: a sentence, and the path of the field in its specification."""

    def __init__(self, message: str, path: str) -> None:
        super().__init__(message)
        self.message, self.path = message, path


class LinkShell:
    """A link of which one end lies in a namespace of its own, for a command (see `_core.pyi`)."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        self._shell = _linked(lambda: _core.LinkShell(canonical(spec)))
        self.base, self.address, self.apart = self._shell.base, self._shell.address, self._shell.apart

    def run(self, command: list[str]) -> tuple[int, str]:
        """Run a command behind the link; its exit code and the report as JSON."""
        return _linked(lambda: self._shell.run(command))


def _linked(what: Callable[[], T]) -> T:
    try:
        return what()
    except _core.LinkError as error:
        message, path = (*error.args, "")[:2]
        raise LinkProblem(str(message), str(path)) from None


def link_shell(spec: Mapping[str, Any]) -> LinkShell:
    """Make a link for a command; raise `LinkProblem` if the kernel or the system refuses."""
    if not hasattr(_core, "LinkShell"):
        raise LinkProblem("links are emulated by Linux: run this on a Linux machine", "")
    return LinkShell(spec)


def _checked(what: Callable[[], str]) -> Any:
    try:
        return json.loads(what())
    except _core.ScenarioError as error:
        message, path = (*error.args, "")[:2]
        raise ScenarioProblem(str(message), str(path)) from None


def link_config(link: Mapping[str, Any]) -> dict[str, Any]:
    """Return both directions, `down` and `up`, of a link given as a scenario's table; raise `ScenarioProblem`."""
    answer: dict[str, Any] = _checked(lambda: _core.link_config(canonical(link)))
    return answer


def measured_topology(topology: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a topology that is drawn from measured paths: `paths`, `quantile` (None: random) and `kind`.

    Raises:
        ScenarioProblem: if it is wrong, but for whether its paths are there.
    """
    answer: dict[str, Any] = _checked(lambda: _core.measured_topology(canonical(topology)))
    return answer


def uniform(seed: int, replication: int, stream: str) -> float:
    """Return the first number, uniform in [0, 1), of the random stream of that name."""
    return _core.uniform(seed, replication, stream)


def rate_trace(text: str) -> list[int]:
    """Return the milliseconds of a mahimahi trace; raise `ScenarioProblem`, whose path is the line."""
    answer: list[int] = _checked(lambda: _core.rate_trace(text))
    return answer


def capture(file: bytes) -> dict[str, Any]:
    """Return the packets of a pcap or pcapng file, as a scenario has them; raise `ScenarioProblem`."""
    answer: dict[str, Any] = _checked(lambda: _core.capture(file))
    return answer


def locate(toml_text: str, path: str) -> tuple[int, int]:
    """Return line and column of the value at `path`, or of its nearest parent."""
    return _core.locate(toml_text, path)


def effective(contender: str, fidelity: str = "model") -> dict[str, Any]:
    """Return what a contender runs with at `model` or `stack` (see `_core.pyi`).

    Raises:
        ScenarioProblem: if the contender cannot run there.
    """
    with _problems():
        answer: dict[str, Any] = json.loads(_core.effective(contender, fidelity))
    return answer


def algorithms() -> dict[str, list[dict[str, Any]]]:
    """Return what contenders consist of.

    The lists are `transports`, `congestion`, `media` (congestion controls of calls), `adaptations` (rate adaptations
    of films), `schedulers`, `stacks`, `switches`, `settings` and `bundles`.
    """
    answer: dict[str, list[dict[str, Any]]] = json.loads(_core.algorithms())
    return answer


@cache
def _congestion() -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in algorithms()["congestion"]}


@cache
def _media() -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in algorithms()["media"]}


def congestion(name: str) -> Mapping[str, Any]:
    """Return what is registered of a congestion control, such as its `label` and its `shade`; nothing of others."""
    return _congestion().get(name) or _media().get(name, {})


def kernel_congestion() -> tuple[str, ...]:
    """Return Linux's names of the congestion controls that it has, too."""
    return tuple(dict.fromkeys(one["linux"] for one in _congestion().values() if one["linux"]))


def in_kernel(name: str) -> str:
    """Return Linux's name of a congestion control."""
    return congestion(name).get("linux") or name


def queues() -> list[dict[str, Any]]:
    """Return the queue disciplines: `name`, `summary`, `reference`, `parameters` (`name`, `default`, `example`, …)."""
    answer: list[dict[str, Any]] = json.loads(_core.queues())
    return answer


def presets() -> list[dict[str, Any]]:
    """Return the presets.

    Each has `name`, `also` (other names), `of` (`link` or `cell`), `summary`, and `settings` with `field`, `value` and
    `source`.
    """
    answer: list[dict[str, Any]] = json.loads(_core.presets())
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
    """Return a hash of the extension module's file, by which results of another build are recognised."""
    file = _core.__file__
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()[:16] if file else VERSION
