"""Runs the mixtures of two contenders and puts the answer together."""

from __future__ import annotations

import threading
from dataclasses import fields
from typing import Any

import numpy as np

from haltere.adhoc.conditions import Comparison, Conditions
from haltere.errors import ArgumentError, HaltereError, InputError, Interrupted, counted, refuse_below
from haltere.executor import Executor
from haltere.explanation.answer import Explanation, Interaction, strongest
from haltere.explanation.attribution import Effect, attributed, effects, interacting, sampled
from haltere.explanation.game import Orders, along, coalitions, draw
from haltere.explanation.mixtures import Space
from haltere.explanation.runs import Alone, How, Progress, Runs, measure_named
from haltere.plugins import store

EXACT = 1024
"""The most mixtures of which all are run: those of ten parts that can be switched freely."""
SIZE = "2MB"
"""The object that contenders fetch, unless something else is given."""
ORDERS = 16
"""Orders for each replication where they are sampled."""


def explain(
    a: str,
    b: str,
    *,
    metric: str = "completion_time",
    orders: int = ORDERS,
    on_progress: Progress | None = None,
    **conditions: Any,
) -> Explanation:
    """Explain which mechanisms make the difference between two contenders, and how much each.

    >>> why = haltere.explain("tcp/cubic", "quic/cubic", rate="40Mbit/s", rtt="50ms", loss="1%")
    >>> why.answer, why.table, why.figure("why.svg")

    Args:
        a: the contender to start from.
        b: the contender to arrive at.
        metric: what is explained, such as `goodput` (see `haltere.explanation.MEASURES`).
        orders: orders of switching for each replication, where there are too many mixtures to run all.
        on_progress: called with (finished, all) as runs finish.
        conditions: those of `haltere.compare`, but for `share` and `duration`; the object is 2 MB unless `size` says
            something else.

    Raises:
        InputError: if something given cannot be run, or if the contenders do not differ.
    """
    known = {field.name for field in fields(Comparison)} - {"share", "duration"}
    wrong = next((name for name in conditions if name not in known), None)
    if wrong is not None:
        raise InputError("is no condition", field=wrong, right=", ".join(sorted(known)))
    what = Comparison(**{"size": SIZE, **conditions})
    return explained(a, b, what, metric=metric, orders=orders, on_progress=on_progress)


def explained(
    a: str,
    b: str,
    what: Comparison,
    *,
    metric: str = "completion_time",
    orders: int = ORDERS,
    executor: Executor | None = None,
    stop: threading.Event | None = None,
    on_progress: Progress | None = None,
) -> Explanation:
    """Explain the difference between two contenders under some conditions. Files of code that they name are asked for.

    Raises:
        InputError: if something given cannot be run, or if the contenders do not differ.
        HaltereError: if runs failed so that no order of the parts is left.
    """
    store.ask(a, b)
    if what.share:
        raise ArgumentError("cannot be explained", field="share", right="contenders that run one after the other")
    refuse_below(1, replications=what.replications, orders=orders)
    measure = measure_named(metric)
    space = Space.between(a, b, what.fidelity, what.app)
    runs = Runs(space, Alone(what), measure, what.seed)
    how = How(what.workers, executor, stop, on_progress)
    return explained_by(runs, what.replications, described(what), orders=orders, how=how)


def explained_by(
    runs: Runs,
    replications: int,
    conditions: str,
    *,
    orders: int = ORDERS,
    how: How = How(),  # noqa: B008 (frozen)
) -> Explanation:
    """Explain the difference between the two contenders of some runs, on their ground and in their metric.

    Args:
        runs: runs of the space between the two.
        replications: how many.
        conditions: the ground in a line.
        orders: orders of switching for each replication, where there are too many mixtures to run all.
        how: how runs are made.

    Raises:
        HaltereError: if runs failed so that no order of the parts is left.
    """
    everything = coalitions_up_to(runs.space, EXACT)
    if everything is None:
        return _by_sample(runs, replications, conditions, orders, how)
    return _by_all(runs, everything, replications, conditions, how)


def coalitions_up_to(space: Space, most: int) -> list[int] | None:
    """Return the mixtures that precedence allows, or None if there are more than `most`."""
    count = len(space.parts)
    free = sum(1 for number in range(count) if not space.after[number])
    if 2 ** min(free, 60) > most * 16:
        return None
    found = coalitions(count, space.after)
    return None if len(found) > most else found


def _by_all(runs: Runs, everything: list[int], replications: int, conditions: str, how: How) -> Explanation:
    space = runs.space
    feasible = [mask for mask in everything if runs.allowed(mask)]
    orders = Orders.through(len(space.parts), feasible)
    if not orders.count:
        raise _stuck(runs, runs.refused)
    cells = [(mask, replication) for replication in range(replications) for mask in orders.masks]
    runs.run(cells, how)
    used, lost = _complete(runs, replications, how)
    failed = {mask for mask in orders.masks if any(runs.values.get((mask, r)) is None for r in used)}
    if failed:
        orders = Orders.through(len(space.parts), [mask for mask in orders.masks if mask not in failed])
        if not orders.count:
            raise _stuck(runs, runs.failures)
    worths = np.array([[runs.values[mask, r] for r in used] for mask in orders.masks], dtype=np.float64)
    worths = np.log(worths) if runs.measure.ratio else worths
    found = attributed(orders, worths)
    pairs = strongest(interacting(orders, worths), space.names)
    notes = _notes(runs, failed, lost)
    return _answer(runs, found, used, len(orders.masks), conditions, pairs=pairs, notes=notes)


def _by_sample(runs: Runs, replications: int, conditions: str, count: int, how: How) -> Explanation:
    space = runs.space
    parts = len(space.parts)
    chosen = drawn(runs, replications, count)
    cells = [(mask, r) for r, some in enumerate(chosen) for order in some for mask in along(order)]
    runs.run(cells, how)
    used, lost = _complete(runs, replications, how)
    failed = {mask for (mask, r), value in runs.values.items() if value is None and r in used}
    worth = {
        (mask, used.index(r)): float(np.log(value)) if runs.measure.ratio else value
        for (mask, r), value in runs.values.items()
        if r in used and value is not None
    }
    kept = [
        [order for order in chosen[r] if not any((mask, place) not in worth for mask in along(order))]
        for place, r in enumerate(used)
    ]
    if not all(kept):
        raise _stuck(runs, runs.failures)
    found = sampled(parts, kept, worth)
    notes, mixtures = _notes(runs, failed, lost), len({cell[0] for cell in cells})
    return _answer(runs, found, used, mixtures, conditions, orders=count, notes=notes)


def drawn(runs: Runs, replications: int, count: int, place: int = 0) -> list[list[tuple[int, ...]]]:
    """Return random orders for each replication, of which every mixture can run as far as that can be told before.

    Another `place` has other orders.

    Raises:
        HaltereError: if hardly any order has only such mixtures.
    """
    space = runs.space
    source = draw(len(space.parts), space.after, np.random.default_rng([runs.seed, len(space.parts), count, place]))
    chosen: list[list[tuple[int, ...]]] = []
    tries = 0
    for _ in range(replications):
        some: list[tuple[int, ...]] = []
        while len(some) < count:
            order, tries = next(source), tries + 1
            if all(runs.allowed(mask) for mask in along(order)):
                some.append(order)
            elif tries > 1000 * (count * len(chosen) + len(some) + 1):
                raise _stuck(runs, runs.refused)
        chosen.append(some)
    return chosen


def _complete(runs: Runs, replications: int, how: How) -> tuple[list[int], list[int]]:
    """Return the replications in which both contenders ran, and those in which one of them failed."""
    if how.stop is not None and how.stop.is_set():
        raise Interrupted(f"stopped after {counted(len(runs.values), 'run')}: an explanation needs all of them")
    whole = (0, (1 << len(runs.space.parts)) - 1)
    used = [r for r in range(replications) if all(runs.values[mask, r] is not None for mask in whole)]
    if not used:
        reason = next(runs.failures[mask] for mask in whole if mask in runs.failures)
        raise HaltereError(f"there is nothing to explain: in no replication did both contenders finish ({reason})")
    return used, [r for r in range(replications) if r not in used]


def _answer(
    runs: Runs,
    found: list[Effect],
    used: list[int],
    mixtures: int,
    conditions: str,
    *,
    notes: tuple[str, ...],
    pairs: tuple[Interaction, ...] = (),
    orders: int | None = None,
) -> Explanation:
    space = runs.space
    ends = np.array(
        [[runs.values[mask, r] for r in used] for mask in (0, (1 << len(space.parts)) - 1)], dtype=np.float64
    )
    worths = np.log(ends) if runs.measure.ratio else ends
    levels = np.exp(worths.mean(axis=1)) if runs.measure.ratio else worths.mean(axis=1)
    return Explanation(
        space.a.text,
        space.b.text,
        conditions,
        runs.measure,
        space.parts,
        tuple(found),
        effects(np.diff(worths, axis=0))[0],
        (float(levels[0]), float(levels[1])),
        pairs,
        len(used),
        mixtures,
        orders,
        notes,
    )


def described(conditions: Conditions) -> str:
    """Return the conditions in a line."""
    paths = "; ".join(path.described() for path in conditions.each_path)
    flows = f"{conditions.flows} flows of each, " if conditions.flows > 1 else ""
    return f"{paths}; {flows}{conditions.size} over {conditions.app}"


def _notes(runs: Runs, failed: set[int], lost: list[int]) -> tuple[str, ...]:
    notes = []
    if runs.refused:
        mask, why = next(iter(runs.refused.items()))
        notes.append(
            f"{_mixtures(len(runs.refused))} cannot be: {store.shown(runs.space.text(mask))} ({why}). The values are "
            "means over the orders that avoid them"
        )
    if failed:
        mask = min(failed)
        notes.append(
            f"{_mixtures(len(failed))} failed: {store.shown(runs.space.text(mask))} ({runs.failures[mask]}). The "
            "values are means over the orders that avoid them"
        )
    if lost:
        notes.append(f"in {len(lost)} replications a contender itself failed; they are left out")
    return tuple(notes)


def _mixtures(count: int) -> str:
    return "1 mixture" if count == 1 else f"{count} mixtures"


def _stuck(runs: Runs, reasons: dict[int, str]) -> HaltereError:
    mask, why = next(iter(reasons.items()))
    return HaltereError(
        f"no order of switching leads from {runs.space.a.text} to {runs.space.b.text}: among the mixtures in the way "
        f"is {store.shown(runs.space.text(mask))} ({why})"
    )
