"""Explains the difference between treatments of a study, as a table `[[why]]` of its file asks for it.

A treatment may be one of many that differ in the same way, such as TCP and QUIC at each rate and loss. Then the metric,
or its logarithm, is averaged over all of them within each replication, and the effects of the parts are those on this
mean. The runs have the seed of the study, so that both ends are the runs of its results.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, product

import numpy as np
import polars as pl
from numpy.typing import NDArray

from haltere import core
from haltere import fidelity as fidelities
from haltere.errors import HaltereError, InputError, Interrupted, nearest
from haltere.executor import Task
from haltere.explanation.answer import Explanation, Interaction, strongest
from haltere.explanation.attribution import Effect, attributed, effects, interacting
from haltere.explanation.explaining import EXACT
from haltere.explanation.game import Orders, along, coalitions, draw
from haltere.explanation.mixtures import Part
from haltere.explanation.runs import How
from haltere.explanation.scenarios import Between, after_of, merged, names_of
from haltere.metrics import METRICS, Metric
from haltere.metrics.tables import Tables
from haltere.results import tables
from haltere.study import Run, Study, Treatment
from haltere.study.model import Why
from haltere.when.changes import with_switches

MOST_RUNS = 12_000
"""Up to so many runs all mixtures are run; beyond, some orders."""
ORDERS = 64
"""Orders for each replication where they are sampled, shared by the treatments that are pooled."""
BATCH = 50
"""Results of so many runs are held at a time."""


def explain_why(study: Study, number: int, replications: int, how: How | None = None) -> Explanation:
    """Explain the difference that a table `[[why]]` of a study asks for.

    Args:
        study: the study.
        number: the place of the table, from 0.
        replications: as many as the study's results have; the table may say fewer.
        how: how runs are made.

    Raises:
        InputError: if the table names what there is not, or if its two ends do not differ.
        HaltereError: if runs failed so that no order of the parts is left.
    """
    return _Explaining(study, number, replications, how or How()).run()


@dataclass
class _Explaining:
    study: Study
    number: int
    replications: int
    how: How
    places: list[Between] = field(init=False)
    parts: tuple[Part, ...] = field(init=False)
    metric: Metric = field(init=False)
    values: dict[tuple[int, int, int], float] = field(default_factory=dict)
    """The metric by place, mixture and replication; missing if the run failed."""
    refused: dict[int, str] = field(default_factory=dict)
    failures: dict[int, str] = field(default_factory=dict)
    _scenarios: dict[tuple[int, int], core.Scenario] = field(default_factory=dict)

    def __post_init__(self) -> None:
        why = self.why
        if why.metric not in METRICS:
            right = nearest(why.metric, METRICS) or ", ".join(METRICS)
            raise self._error("is not a metric", "metric", given=why.metric, right=right)
        self.metric = METRICS[why.metric]
        if why.flow is not None and self.metric.table != "flows":
            raise self._error(
                "is no metric of a flow", "metric", given=why.metric, right="a metric of flows, or no flow"
            )
        where = self.study.fidelities[0]
        if not fidelities.of(where).simulated:
            right = " or ".join(fidelities.simulated())
            raise InputError("has no mixtures", field="fidelity", given=where, right=right)
        self.replications = min(self.replications, why.replications or self.replications)
        self.places = [Between.of(a, b, where) for a, b in self._pairs()]
        self.parts = merged([part for place in self.places for part in place.parts])
        if not self.parts:
            raise self._error("there is nothing to explain: both ends run the same scenarios")

    @property
    def why(self) -> Why:
        """The table of the study's file."""
        return self.study.file.why[self.number]

    def _error(
        self, problem: str, name: str | None = None, *, given: str | None = None, right: str | None = None
    ) -> InputError:
        path = f"why[{self.number}]" + (f".{name}" if name else "")
        return InputError(problem, place=self.study.document.place(path), field=path, given=given, right=right)

    def _pairs(self) -> Iterator[tuple[dict[str, object], dict[str, object]]]:
        """Yield the scenarios of both ends, for each combination of the levels that are not compared."""
        why, found = self.why, 0
        every = self.study.select([why.experiment])
        by_levels = {tuple(one.levels.items()): one for one in every}
        for before in every:
            if any(before.levels[name] != level for name, level in why.start.items()):
                continue
            if any(before.levels[name] not in levels for name, levels in why.at.items()):
                continue
            after = by_levels.get(tuple({**before.levels, **why.to}.items()))
            if after is None:
                continue
            if before.measured or after.measured:
                raise self._error("has measured paths, of which each replication has another", "experiment")
            end = with_switches(after.scenario, why.switches, self.study.fidelities[0])
            if isinstance(end, str):
                raise self._error("is no switch that a contender of these treatments can have", "switches", given=end)
            found += 1
            yield before.scenario, end
        if not found:
            raise self._error(
                "the experiment has no treatments with these levels", None, right="other levels in from or at"
            )

    def run(self) -> Explanation:
        """Run the mixtures, and put the answer together."""
        whole = (1 << len(self.parts)) - 1
        for mask in (0, whole):
            if not self._allowed(mask):
                raise self._error(f"one end cannot run: {self.refused[mask]}")
        everything = self._all()
        if everything is None:
            return self._by_sample()
        return self._by_all(everything)

    def _all(self) -> list[int] | None:
        """Return all mixtures that precedence allows, or None if they are too many to run."""
        after = after_of(self.parts)
        free = sum(1 for number in range(len(self.parts)) if not after[number])
        if self.why.orders is not None or 2**free > EXACT * 16:
            return None
        found = coalitions(len(self.parts), after)
        runs = len(found) * len(self.places) * self.replications
        return found if len(found) <= EXACT and runs <= MOST_RUNS else None

    def _allowed(self, mask: int) -> bool:
        """Whether a mixture can run at all places, as far as that can be told before."""
        names = names_of(self.parts, mask)
        for place, between in enumerate(self.places):
            if mask in self.refused:
                return False
            if (place, mask) not in self._scenarios:
                try:
                    self._scenarios[place, mask] = between.scenario(names)
                except InputError as error:
                    self.refused[mask] = error.problem
        return mask not in self.refused

    def _by_all(self, everything: Sequence[int]) -> Explanation:
        orders = Orders.through(len(self.parts), [mask for mask in everything if self._allowed(mask)])
        if not orders.count:
            raise self._stuck(self.refused)
        self._make(set(product(range(len(self.places)), orders.masks, range(self.replications))))
        used = self._used()
        broken = {mask for mask in orders.masks if np.isnan(self._worth(mask, used)).any()}
        if broken:
            orders = Orders.through(len(self.parts), [mask for mask in orders.masks if mask not in broken])
            if not orders.count:
                raise self._stuck(self.failures)
        worths = np.array([self._worth(mask, used) for mask in orders.masks])
        pairs = strongest(interacting(orders, worths), tuple(part.name for part in self.parts))
        found = attributed(orders, worths)
        return self._answer(found, used, len(orders.masks), pairs, broken, None)

    def _by_sample(self) -> Explanation:
        count = self.why.orders or max(1, ORDERS // len(self.places))
        chosen = {
            (place, r): self._drawn(place, r, count)
            for place in range(len(self.places))
            for r in range(self.replications)
        }
        self._make({(p, mask, r) for (p, r), some in chosen.items() for order in some for mask in along(order)})
        used = self._used()
        values = np.zeros((len(self.parts), len(used)))
        broken: set[int] = set()
        for (place, r), some in chosen.items():
            if r not in used:
                continue
            each = []
            for order in some:
                worths = np.array([self._at(place, mask, r) for mask in along(order)])
                missing = [mask for mask, worth in zip(along(order), worths, strict=True) if np.isnan(worth)]
                broken.update(missing)
                if not missing:
                    step = np.zeros(len(self.parts))
                    step[list(order)] = np.diff(worths)
                    each.append(step)
            if not each:
                raise self._stuck(self.failures)
            values[:, used.index(r)] += np.mean(each, axis=0) / len(self.places)
        mixtures = len({mask for _, mask, _ in self.values})
        return self._answer(effects(values), used, mixtures, (), broken, count)

    def _drawn(self, place: int, replication: int, count: int) -> list[tuple[int, ...]]:
        seed = [self.study.header.seed, len(self.parts), self.number, place, replication]
        source = draw(len(self.parts), after_of(self.parts), np.random.default_rng(seed))
        some = [order for order in islice(source, 1000 * count) if all(self._allowed(mask) for mask in along(order))]
        if len(some) < count:
            raise self._stuck(self.refused)
        return some[:count]

    def _make(self, cells: set[tuple[int, int, int]]) -> None:
        """Run these cells, and keep the metric of each."""
        why, where = self.why, self.study.fidelities[0]
        wanted: dict[str, list[tuple[int, int, int]]] = {}
        runs: dict[str, Run] = {}
        for place, mask, r in sorted(cells):
            scenario = self._scenarios[place, mask]
            treatment = Treatment(why.experiment, place, {}, {}, scenario.json, None, scenario)
            run = Run(treatment, self.study.header.seed, r, where)
            wanted.setdefault(run.id, []).append((place, mask, r))
            runs[run.id] = run
        tasks = (Task(run.id, run.scenario, run.seed, run.replication) for run in runs.values())
        executor = self.how.executor or fidelities.executor(where, self.how.workers)
        done, outcomes = 0, iter(executor.execute(tasks, self.how.stop))
        while some := list(islice(outcomes, BATCH)):
            finished = {one.key: one.result_json for one in some}
            for key, value in self._metric([runs[key] for key in finished], finished).items():
                for cell in wanted[key]:
                    if value is not None:
                        self.values[cell] = value
                    else:
                        self.failures.setdefault(cell[1], f"it failed, or has no {self.metric.spoken}")
            done += len(some)
            if self.how.on_progress:
                self.how.on_progress(done, len(runs))
        if done < len(runs):
            raise Interrupted(f"stopped after {done} of {len(runs)} runs: an explanation needs all of them")

    def _metric(self, runs: Sequence[Run], finished: Mapping[str, str]) -> dict[str, float | None]:
        """Return the metric of some runs by their ids; None where a run failed or has none, or 0 under a logarithm."""
        frames = tables.build(runs, finished, {self.why.experiment: []})
        flows = frames["flows"]
        if self.why.flow is not None:
            flows = flows.filter(pl.col("flow") == self.why.flow)
        found = Tables(frames["runs"], flows, {}, frames["latency"], frames["links"]).by_run(self.metric)
        values = dict(zip(found["run_id"], found["value"], strict=True))
        fits = {key: value for key, value in values.items() if not self.ratio or value > 0}
        return {run.id: fits.get(run.id) for run in runs}

    @property
    def ratio(self) -> bool:
        """Whether effects are factors."""
        return self.metric.ratio

    def _at(self, place: int, mask: int, replication: int) -> float:
        value = self.values.get((place, mask, replication), np.nan)
        return float(np.log(value)) if self.ratio else value

    def _worth(self, mask: int, used: Sequence[int]) -> NDArray[np.float64]:
        """Return the mean over places of the metric or of its logarithm, by replication."""
        each = [[self._at(place, mask, r) for r in used] for place in range(len(self.places))]
        mean: NDArray[np.float64] = np.mean(each, axis=0)
        return mean

    def _used(self) -> list[int]:
        """Return the replications in which both ends ran at all places."""
        ends = (0, (1 << len(self.parts)) - 1)
        every = np.arange(self.replications)
        ran = [r for r in every.tolist() if not any(np.isnan(self._worth(mask, [r])).any() for mask in ends)]
        if not ran:
            reason = next(iter(self.failures.values()))
            message = f"there is nothing to explain: in no replication did both ends finish everywhere ({reason})"
            raise HaltereError(message)
        return ran

    def _answer(
        self,
        found: Sequence[Effect],
        used: Sequence[int],
        mixtures: int,
        pairs: tuple[Interaction, ...],
        broken: Collection[int],
        orders: int | None,
    ) -> Explanation:
        ends = np.array([self._worth(mask, used) for mask in (0, (1 << len(self.parts)) - 1)])
        levels = np.exp(ends.mean(axis=1)) if self.ratio else ends.mean(axis=1)
        names = self._ends()
        whose = "" if self.why.flow is None else f" of flow {self.why.flow}"
        return Explanation(
            *names,
            self._conditions(),
            dataclasses.replace(self.metric, label=self.metric.label + whose),
            self.parts,
            tuple(found),
            effects(np.diff(ends, axis=0))[0],
            (float(levels[0]), float(levels[1])),
            pairs,
            len(used),
            mixtures,
            orders,
            self._notes(broken, self.replications - len(used)),
        )

    def _ends(self) -> tuple[str, str]:
        """Return how both ends are called."""
        why = self.why
        first, last = (", ".join(side.values()) or "the study" for side in (why.start, why.to or why.start))
        return first, f"{last} with {' and '.join(why.switches)}" if why.switches else last

    def _conditions(self) -> str:
        why = self.why
        said = [f"{why.experiment}: {', '.join(why.start.values())}" if not why.to and why.start else why.experiment]
        said += [f"{name} {' or '.join(levels)}" for name, levels in why.at.items()]
        if len(self.places) > 1:
            said.append(f"mean over {len(self.places)} treatments")
        return "; ".join(said)

    def _notes(self, broken: Collection[int], lost: int) -> tuple[str, ...]:
        notes = []
        for some, what in ((self.refused, "cannot be"), ({mask: self.failures[mask] for mask in broken}, "failed")):
            if some:
                mask, reason = next(iter(some.items()))
                names = ", ".join(sorted(names_of(self.parts, mask))) or "no part"
                count = f"{len(some)} mixture{'s' if len(some) > 1 else ''}"
                notes.append(
                    f"{count} {what}, such as that with {names} switched ({reason}). The values are means over the "
                    "orders that avoid them"
                )
        if lost:
            notes.append(f"in {lost} replications one end failed; they are left out")
        return tuple(notes)

    def _stuck(self, reasons: Mapping[int, str]) -> HaltereError:
        first, last = self._ends()
        reason = next(iter(reasons.values()), "no reason is known")
        message = f"no order of switching leads from {first} to {last}: a mixture in the way cannot run ({reason})"
        return HaltereError(message)
