"""Contenders compared on one link, without a file: each alone, or sharing the link."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import polars as pl

from haltere import fidelity as fidelities
from haltere.errors import InputError, Place, as_written
from haltere.fidelity import NAMES, Fidelity
from haltere.runner.executor import Executor, Task
from haltere.scenario import Scenario

SHARE_MEASURED_FROM = "10s"
STAGGER_MS = 100
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
_NANOSECONDS = {"ns": 1, "us": 1_000, "µs": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
_DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(ns|us|µs|ms|s)\s*")
# Where each option of `compare` stands in the scenario, so that the core's errors can name the option.
_OPTIONS = {
    "topology.link.rate": "--rate",
    "topology.link.queue": "--queue",
    "topology.link.mtu": "--mtu",
    "topology.link.down.loss": "--loss",
    "topology.link.down.delay": "--down-delay",
    "topology.link.up.delay": "--up-delay",
    "duration": "--duration",
    "measure_from": "--duration",
}


@dataclass(frozen=True)
class Conditions:
    """The one link of a comparison and what is sent over it; quantities as in scenario files."""

    rate: str = "40Mbit/s"
    rtt: str | None = None
    down_delay: str | None = None
    up_delay: str | None = None
    loss: str = "0%"
    size: str = "32MiB"
    queue: str = "1000p"
    mtu: str = "1500B"
    app: str = "https"
    share: bool = False
    duration: str = "60s"
    fidelity: Fidelity = "model"

    def delays(self) -> tuple[str, str]:
        """Return the delays down (server to client) and up; `rtt` is split evenly, the default is an RTT of 50 ms."""
        if self.down_delay is not None or self.up_delay is not None:
            if self.rtt is not None:
                raise InputError(
                    "stands beside a delay for one direction",
                    field="--rtt",
                    given=self.rtt,
                    right="--rtt, or --down-delay and --up-delay",
                )
            return self.down_delay or "0ms", self.up_delay or "0ms"
        rtt = self.rtt or "50ms"
        found = _DURATION.fullmatch(rtt)
        if not found:
            raise InputError(
                "is not a time",
                field="--rtt",
                given=as_written(rtt),
                right="a number and a unit (ns, us, ms, s), such as 50ms",
            )
        nanoseconds = int(Fraction(found[1]) * _NANOSECONDS[found[2]])
        return f"{nanoseconds - nanoseconds // 2}ns", f"{nanoseconds // 2}ns"

    def scenario(self, contenders: Sequence[str], *, reverse_starts: bool = False) -> Scenario:
        """Return the scenario in which these contenders run at once.

        Raises:
            InputError: naming the option (or argument) that is wrong.
        """
        down, up = self.delays()
        if self.share:
            order = range(len(contenders))
            starts = [f"{STAGGER_MS * position}ms" for position in (reversed(order) if reverse_starts else order)]
            what: dict[str, Any] = {"starts": starts, "duration": self.duration, "measure_from": SHARE_MEASURED_FROM}
        else:
            what = {"size": self.size}
        try:
            return Scenario.point_to_point(
                contenders,
                rate=self.rate,
                down_delay=down,
                up_delay=up,
                loss=self.loss,
                queue=self.queue,
                mtu=self.mtu,
                app=self.app,
                fidelity=self.fidelity,
                **what,
            )
        except InputError as error:
            raise self._in_words_of_options(error) from None

    def _in_words_of_options(self, error: InputError) -> InputError:
        field = error.field or ""
        if self.rtt is not None and field.endswith(".delay"):
            option = "--rtt"
        elif field.startswith("flows"):
            option = {"app": "--app", "size": "--size", "contender": "contender"}.get(field.rpartition(".")[2], field)
        else:
            option = next((option for path, option in _OPTIONS.items() if field.startswith(path)), field)
        place = None if option.startswith("-") or option == "contender" else Place("scenario")
        return InputError(
            error.problem, place=place, field=option or None, given=error.given, right=error.right, notes=error.notes
        )


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
    which the entries of one replication are told from others. When sharing, an entry is a flow, in the order given,
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


def compare(
    contenders: Sequence[str],
    *,
    rate: str = "40Mbit/s",
    rtt: str | None = None,
    down_delay: str | None = None,
    up_delay: str | None = None,
    loss: str = "0%",
    size: str = "32MiB",
    queue: str = "1000p",
    mtu: str = "1500B",
    app: str = "https",
    share: bool = False,
    duration: str = "60s",
    replications: int = 10,
    seed: int = 1,
    workers: int | None = None,
    fidelity: Fidelity = "model",
) -> pl.DataFrame:
    """Compare contenders on one link and return a row for each contender and replication.

    Args:
        contenders: such as `["tcp/cubic", "quic/bbr"]` (see `haltere algorithms`).
        rate: of the link, both directions.
        rtt: split evenly over the directions; or give `down_delay` (server to client) and `up_delay`. Default 50 ms.
        down_delay: one-way delay of the data direction.
        up_delay: one-way delay of the other direction.
        loss: in the data direction.
        size: of the object each contender fetches.
        queue: in packets (`1000p`), bytes (`64kB`) or `1bdp`.
        mtu: of the link.
        app: `https` (TLS 1.3 with HTTP/2, or HTTP/3) or `raw`.
        share: let them compete for the link for `duration` instead, without end of data.
        duration: of the sharing, more than 10 s, from which on goodput counts.
        replications: how often, each with other losses.
        seed: names the losses.
        workers: how many runs at once (default: one a CPU).
        fidelity: `model`, `stack`, `linux` or `testbed`: where it runs.

    Raises:
        InputError: if something given cannot be run.
    """
    conditions = Conditions(rate, rtt, down_delay, up_delay, loss, size, queue, mtu, app, share, duration, fidelity)
    entries = measure(contenders, conditions, replications=replications, seed=seed, workers=workers)
    return pl.DataFrame(entries, schema=ENTRY)
