"""Compares model and kernel: the same contenders on the same link, with the same losses."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from haltere import core
from haltere import fidelity as fidelities
from haltere.adhoc.conditions import Conditions
from haltere.adhoc.single import sample_ns
from haltere.errors import ArgumentError, HaltereError, InputError, refuse_below
from haltere.executor import Task
from haltere.stats import Interval, median

LOSSLESS_BOUND, LOSSY_BOUND = 0.01, 0.05
"""Within which |log ratio| of median completion times model and kernel are said to agree."""


@dataclass(frozen=True)
class Quantity:
    """One quantity of one flow at both fidelities; `log_ratio` is ln(model ÷ kernel) of medians, if both are there."""

    flow: int
    name: str
    model: Interval | None
    kernel: Interval | None

    @property
    def log_ratio(self) -> float | None:
        """The natural logarithm of model ÷ kernel."""
        if self.model is None or self.kernel is None or self.model.value <= 0 or self.kernel.value <= 0:
            return None
        return math.log(self.model.value / self.kernel.value)


@dataclass(frozen=True)
class Validation:
    """The outcome of a validation."""

    contenders: tuple[str, ...]
    quantities: tuple[Quantity, ...]
    trace: dict[str, Any]
    """The first replication at both fidelities, as `haltere.figures.trace_figure` draws it."""
    bound: float
    kernel: dict[str, Any]

    @property
    def worst(self) -> float | None:
        """The largest |log ratio| of completion times, or of goodput where there is no end."""
        ratios = [q.log_ratio for q in self.quantities if q.name in ("completion_s", "goodput_bps")]
        return max((abs(r) for r in ratios if r is not None), default=None)

    @property
    def agrees(self) -> bool | None:
        """Whether model and kernel agree; None if there is nothing to compare."""
        return None if self.worst is None else self.worst <= self.bound


FLOW_QUANTITIES = ("handshake_s", "first_byte_s", "completion_s", "goodput_bps", "retransmitted_packets", "mean_rtt_s")


def validate(
    contenders: Sequence[str],
    conditions: Conditions,
    *,
    replications: int = 5,
    seed: int = 1,
    workers: int | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Validation:
    """Run contenders at fidelity `model` and `linux`, each replication with the same losses at both.

    Raises:
        InputError: if something given is wrong, or no kernel has been built.
        HaltereError: if a run fails at either fidelity.
    """
    if not contenders:
        raise InputError("no contender was given", field="contender", right="such as tcp/cubic")
    refuse_below(1, replications=replications)
    if conditions.video is not None:
        right = "`size`, the object that both fetch"
        raise ArgumentError("is a film, and real hosts have none", field="video", given=conditions.video, right=right)
    scenario = replace(conditions, fidelity="linux").scenario(list(contenders)).concrete()
    answers: dict[str, list[dict[str, Any]]] = {"model": [], "linux": []}
    done, everything = 0, 2 * replications
    for name in ("linux", "model"):
        extra = None if fidelities.of(name).simulated else {"sample_ns": sample_ns(scenario)}
        tasks = [Task(str(n), scenario, seed, n) for n in range(replications)]
        found: dict[str, dict[str, Any]] = {}
        for outcome in fidelities.executor(name, workers, extra).execute(tasks):
            found[outcome.key] = json.loads(outcome.result_json)
            done += 1
            if on_progress:
                on_progress(done, everything)
        answers[name] = [found[str(n)] for n in range(replications)]
        for result in answers[name]:
            if result["status"] != "ok":
                raise HaltereError(f"a run at fidelity {name} failed: {result['error']}")
    quantities = [
        Quantity(i, quantity, _median(answers["model"], i, quantity), _median(answers["linux"], i, quantity))
        for i in range(len(contenders))
        for quantity in FLOW_QUANTITIES
    ]
    queueing = [_queueing(answers[name]) for name in ("model", "linux")]
    quantities.append(Quantity(-1, "mean_queueing_delay_s", *queueing))
    lossy = any(float((path.loss or "").rstrip("% ") or 0) > 0 for path in conditions.each_path)
    return Validation(
        tuple(contenders),
        tuple(quantities),
        _both(core.trace(scenario, seed, 0), answers["linux"][0], len(contenders)),
        LOSSY_BOUND if lossy else LOSSLESS_BOUND,
        fidelities.about("linux"),
    )


def _median(results: list[dict[str, Any]], flow: int, quantity: str) -> Interval | None:
    values = [result["flows"][flow][quantity] for result in results]
    known = [float(value) for value in values if value is not None]
    return median(known) if known else None


def _queueing(results: list[dict[str, Any]]) -> Interval | None:
    values = [
        link["mean_queueing_delay_s"] for result in results for link in result["links"] if link["direction"] == "down"
    ]
    return median([float(value) for value in values]) if values else None


def _both(model: dict[str, Any], kernel: dict[str, Any], flows: int) -> dict[str, Any]:
    """Join two traces on one time axis: the kernel's flows are numbered after the model's."""
    names = ("cwnd", "ssthresh", "rtt", "delivery_rate")

    def renamed(series: dict[str, Any], shift: int) -> dict[str, Any]:
        return {**series, "who": f"flow {int(series['who'].removeprefix('flow ')) + shift}"}

    drawn = [
        renamed(one, shift)
        for trace, shift in ((model["series"], 0), (kernel.get("series", []), flows))
        for one in trace
        if one["who"].startswith("flow ") and one["name"] in names
    ]
    flows_of_both = [
        {**flow, "flow": flow["flow"] + shift, "contender": _as(flow["contender"], implementation)}
        for result, shift, implementation in ((model["result"], 0, "model"), (kernel, flows, "linux"))
        for flow in result["flows"]
    ]
    return {"series": drawn, "result": {"flows": flows_of_both}}


def _as(contender: str, implementation: str) -> str:
    transport, _, rest = contender.partition("/")
    return f"{transport.partition('@')[0]}@{implementation}/{rest}"
