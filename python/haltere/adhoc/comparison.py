"""Contenders compared on one link or over several paths, without a file: each alone, or sharing the link."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from haltere import fidelity as fidelities
from haltere.adhoc.conditions import Comparison, Conditions, is_call
from haltere.errors import ArgumentError, InputError, as_written, refuse_below
from haltere.executor import Executor, Task
from haltere.results import columns
from haltere.results.tables import bottleneck_of

_FLOW = {name: column for name, column in columns.of("flow").items() if column.whole != "unknown"}
_BOTTLENECK = {
    name: column for name, column in columns.of("run").items() if name.startswith("bottleneck_") and column.metrics
}
FIELDS = (
    *("contender", "replication", "seed", "queue", "direction"),
    *(_FLOW | _BOTTLENECK),
    "error",
)
"""The fields of entries: the queue if it was given, the direction of the data, the columns of flows that several flows
have together, and those metrics of the bottleneck in this direction, the same for all flows that run at once; null for
contenders that use several paths. With a probe there is `probe_rtt_ms`, too: the RTTs of its requests in the order of
sending, null for a lost one. All flows that run at once have the same."""


def is_film(entry: Mapping[str, Any]) -> bool:
    """Whether an entry is a film's."""
    return entry.get("chunks_played") is not None


def measure(
    contenders: Sequence[str],
    conditions: Conditions,
    *,
    replications: int = 10,
    seed: int = 1,
    workers: int | None = None,
    executor: Executor | None = None,
    stop: threading.Event | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> list[dict[str, Any]]:
    """Run a comparison and return an entry (see `FIELDS`) for each contender and replication.

    Losses are the same for all contenders of one replication. `seed` in an entry is the seed plus the replication, by
    which the entries of a replication are recognised. When sharing, an entry is a flow, in the order given,
    and goodput counts from 10 s on; on odd replications the flows start in reverse order. Otherwise the entry of a
    contender with several flows has their sums, and the time until the last of them is complete. Once `stop` is set,
    no more runs are started; the entries are then those of the replications that are complete.

    Raises:
        InputError: if something given cannot be run; nothing has been run by then.
    """
    if not contenders:
        raise InputError("no contender was given", field="contender", right="one or more, such as tcp/cubic quic/bbr")
    refuse_below(1, replications=replications)
    if not 0 <= seed < 2**63:
        raise ArgumentError("is not a seed", field="seed", given=as_written(seed), right="a whole number from 0")
    fidelities.named(conditions.fidelity)
    if not conditions.share and 0 < sum(map(is_call, contenders)) < len(contenders):
        right = "calls alone, objects alone, or `share`, by which they share the link"
        raise ArgumentError("are calls and objects, which have no metric in common", field="contenders", right=right)
    sets = [list(contenders)] if conditions.share else [[contender] for contender in contenders]
    each = conditions.each if isinstance(conditions, Comparison) else (conditions,)
    groups = [(own, group) for own in each for group in sets]
    tasks = list(_tasks(groups, replications, seed))
    results: dict[str, dict[str, Any]] = {}
    executor = executor or fidelities.executor(conditions.fidelity, workers)
    for outcome in executor.execute(tasks, stop):
        results[outcome.key] = json.loads(outcome.result_json)
        if on_progress:
            on_progress(len(results), len(tasks))
    complete = [r for r in range(replications) if all(f"{r} {index}" in results for index in range(len(groups)))]
    return [
        entry
        for replication in complete
        for index, (own, group) in enumerate(groups)
        for entry in _entries(group, results[f"{replication} {index}"], own, replication, seed + replication)
    ]


def _tasks(groups: list[tuple[Conditions, list[str]]], replications: int, seed: int) -> Iterator[Task]:
    both = [[own.scenario(group, reverse_starts=odd).concrete() for own, group in groups] for odd in (False, True)]
    for replication in range(replications):
        for index, scenario in enumerate(both[replication % 2]):
            yield Task(f"{replication} {index}", scenario, seed, replication)


def _entries(
    group: list[str], result: dict[str, Any], conditions: Conditions, replication: int, seed: int
) -> Iterator[dict[str, Any]]:
    """Yield the entries of a run: one a flow when sharing, else one of all the contender's flows of a direction."""
    flows = {flow["flow"]: flow for flow in result["flows"]}
    ways, names = conditions.each_way() * len(group), conditions.each_flow(group)
    numbers = range(len(names))
    by_way = [[number for number in numbers if ways[number] == way] for way in conditions.ways]
    sets = [[number] for number in numbers] if conditions.share else by_way
    queue = conditions.queue if not conditions.paths else None
    probed = {"probe_rtt_ms": _rtts_ms(result)} if conditions.probe is not None else {}
    for together in sets:
        way = ways[together[0]]
        waited = _waited(group, result, conditions, way) | {"queue": queue, "direction": way}
        flow = whole_of([flows.get(number, {}) for number in together])
        entry = {name: flow.get(name) for name in FIELDS}
        reason = flow.get("error") or (result["error"] if result["status"] != "ok" else None)
        named = {"contender": names[together[0]], "replication": replication, "seed": seed}
        yield entry | waited | named | {"error": reason} | probed


def entry_of(
    group: list[str], result: dict[str, Any], conditions: Conditions, replication: int, seed: int
) -> dict[str, Any]:
    """Return the one entry of a run in which a contender runs alone, of all its flows together."""
    (entry,) = _entries(group, result, conditions, replication, seed)
    return entry


def _waited(
    group: list[str], result: dict[str, Any], conditions: Conditions, way: str
) -> dict[str, float | str | None]:
    """Return what the bottleneck counted: the only link, or the only one of several that is used."""
    links = result["links"]
    if len(conditions.paths) > 1 and not conditions.migrate and not any(name.startswith("mp") for name in group):
        links = [link for link in links if link["link"] == f"path {int(conditions.swap)}"]
    return bottleneck_entry(links, way)


def bottleneck_entry(links: list[dict[str, Any]], way: str = "down") -> dict[str, float | str | None]:
    """Return what an entry has of the bottleneck in a direction."""
    found = bottleneck_of(links, way)
    return {name: found.get(name.removeprefix("bottleneck_")) for name in _BOTTLENECK}


_TOGETHER: dict[str, Callable[[list[float]], float]] = {
    "sum": sum,
    "mean": lambda values: sum(values) / len(values),
    "least": min,
    "largest": max,
}


def whole_of(flows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return several flows as one: from the first start until the last is complete."""
    if len(flows) == 1:
        return flows[0]
    whole: dict[str, Any] = {"error": next((flow["error"] for flow in flows if flow.get("error")), None)}
    for name, column in _FLOW.items():
        values = [flow[name] for flow in flows if flow.get(name) is not None]
        if len(values) == len(flows) and isinstance(column.whole, str) and column.whole in _TOGETHER:
            whole[name] = _TOGETHER[column.whole](values)
    if all(flow.get("completion_s") is not None for flow in flows):
        start = min(flow["start_s"] for flow in flows)
        lasted = max(flow["start_s"] + flow["completion_s"] for flow in flows) - start
        whole |= {name: lasted for name, column in _FLOW.items() if column.whole == "span"}
        rates = {name: column.whole["rate"] for name, column in _FLOW.items() if isinstance(column.whole, dict)}
        whole |= {name: 8 * whole[of] / lasted if lasted else None for name, of in rates.items()}
    return whole


def _rtts_ms(result: dict[str, Any]) -> list[float | None]:
    samples = [rtt for probe in result.get("probes", []) for rtt in probe["rtt_s"]]
    return [None if rtt is None else 1e3 * rtt for rtt in samples]
