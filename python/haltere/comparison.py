"""Contenders compared on one link or over several paths, without a file: each alone, or sharing the link."""

from __future__ import annotations

import functools
import inspect
import json
import re
import textwrap
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar, get_type_hints

import polars as pl

from haltere import fidelity as fidelities
from haltere.conditions import Comparison, Conditions, stated
from haltere.errors import InputError, as_written
from haltere.fidelity import NAMES
from haltere.runner.executor import Executor, Task

P = ParamSpec("P")
R = TypeVar("R")
ENTRY: dict[str, pl.DataType] = {
    "contender": pl.String(),
    "replication": pl.Int64(),
    "seed": pl.Int64(),
    "completion_s": pl.Float64(),
    "bytes": pl.Int64(),
    "goodput_bps": pl.Float64(),
    "wire_bytes": pl.Int64(),
    "retransmitted_packets": pl.Int64(),
    "lost_packets": pl.Int64(),
    "error": pl.String(),
}


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
    """Run a comparison and return an entry (see `ENTRY`) for each contender and replication.

    Losses are the same for all contenders of one replication. `seed` in an entry is the seed plus the replication, by
    which the entries of a replication are recognised. When sharing, an entry is a flow, in the order given,
    and goodput counts from 10 s on; on odd replications the flows start in reverse order.

    Raises:
        InputError: if something given cannot be run; nothing has been run by then.
    """
    if not contenders:
        raise InputError("no contender was given", field="contender", right="one or more, such as tcp/cubic quic/bbr")
    if replications < 1:
        raise InputError(
            "is not a number of replications",
            field="--replications",
            given=as_written(replications),
            right="a whole number from 1",
        )
    if not 0 <= seed < 2**63:
        raise InputError("is not a seed", field="--seed", given=as_written(seed), right="a whole number from 0")
    if conditions.fidelity not in NAMES:
        raise InputError(
            "is not a fidelity", field="--fidelity", given=as_written(conditions.fidelity), right=", ".join(NAMES)
        )
    groups = [list(contenders)] if conditions.share else [[contender] for contender in contenders]
    tasks = list(_tasks(groups, conditions, replications, seed))
    results: dict[str, dict[str, Any]] = {}
    executor = executor or fidelities.executor(conditions.fidelity, workers)
    for outcome in executor.execute(tasks, stop):
        results[outcome.key] = json.loads(outcome.result_json)
        if on_progress:
            on_progress(len(results), len(tasks))
    return [
        entry
        for replication in range(replications)
        for index, group in enumerate(groups)
        for entry in _entries(group, results[f"{replication} {index}"], replication, seed + replication)
    ]


def _tasks(groups: list[list[str]], conditions: Conditions, replications: int, seed: int) -> Iterator[Task]:
    texts = {odd: [conditions.scenario(group, reverse_starts=odd).json for group in groups] for odd in (False, True)}
    for replication in range(replications):
        for index, text in enumerate(texts[replication % 2 == 1]):
            yield Task(f"{replication} {index}", text, seed, replication)


def _entries(group: list[str], result: dict[str, Any], replication: int, seed: int) -> Iterator[dict[str, Any]]:
    flows = {flow["flow"]: flow for flow in result["flows"]}
    for index, contender in enumerate(group):
        flow = flows.get(index, {})
        entry = {name: flow.get(name) for name in ENTRY}
        reason = flow.get("error") or (result["error"] if result["status"] != "ok" else None)
        yield entry | {"contender": contender, "replication": replication, "seed": seed, "error": reason}


def _by_keywords(
    make: Callable[P, Comparison],
) -> Callable[[Callable[[Sequence[str], Comparison], R]], Callable[Concatenate[Sequence[str], P], R]]:
    """Let a function of contenders and a comparison take the comparison's fields as keywords, and document them."""

    def decorate(function: Callable[[Sequence[str], Comparison], R]) -> Callable[Concatenate[Sequence[str], P], R]:
        def called(contenders: Sequence[str], *args: P.args, **kwargs: P.kwargs) -> R:
            return function(contenders, make(*args, **kwargs))

        functools.update_wrapper(called, function)
        own, kinds = inspect.signature(function), get_type_hints(Comparison)
        keywords = inspect.signature(make).parameters.values()
        parameters = [keyword.replace(annotation=kinds[keyword.name]) for keyword in keywords]
        called.__signature__ = own.replace(  # type: ignore[attr-defined]
            parameters=[own.parameters["contenders"], *parameters]
        )
        lines = "".join(_documented(field.name, about.help) for field, about in stated(Comparison))
        head, raises, tail = (function.__doc__ or "").partition("    Raises:\n")
        called.__doc__ = f"{head}    Args:\n        contenders: What competes.\n{lines}\n{raises}{tail}"
        # Python takes `contenders` by its name as well, which the type cannot say.
        return called  # type: ignore[return-value]

    return decorate


def _documented(name: str, help_text: str) -> str:
    words = re.sub(r"--([a-z-]+)", lambda option: f"`{option[1].replace('-', '_')}`", help_text)
    return textwrap.fill(f"{name}: {words}", 118, initial_indent=" " * 8, subsequent_indent=" " * 12) + "\n"


@_by_keywords(Comparison)
def compare(contenders: Sequence[str], what: Comparison) -> pl.DataFrame:
    """Compare contenders on one link, or over several paths, and return a row for each contender and replication.

    Contenders are words such as `["tcp/cubic", "quic/bbr"]` (see `haltere algorithms`). Several paths are given as
    `paths=[PathConditions(rate="20Mbit/s", rtt="10ms"), PathConditions(rate="5Mbit/s", loss="1%")]`.

    Raises:
        InputError: if something given cannot be run.
    """
    entries = measure(contenders, what, replications=what.replications, seed=what.seed, workers=what.workers)
    return pl.DataFrame(entries, schema=ENTRY)
