"""Judges claims by some runs: what a claim needs, how its parts stand, and how near they are to another outcome."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import polars as pl

from haltere import claims
from haltere.claims import Evidence, Outcome, Verdict
from haltere.claims.code import Code
from haltere.metrics.levels import Known
from haltere.metrics.tables import Tables
from haltere.results import tables
from haltere.stats import Interval
from haltere.study import Run
from haltere.when.variants import Key

Judged = claims.Claim[Tables]
MOST_LEVELS = 12
"""A factor with more levels is needed whole: to try each of them would take too long."""
_READ = (Outcome.CONFIRMED, Outcome.CONTRADICTED, Outcome.UNDECIDED)
_SHARES = (16, 8, 4, 2)
_LEAST_CONDITIONS = 6
"""A screen has so many conditions at least."""
_STEPS = np.geomspace(1e-3, 10, 41)


@dataclass(frozen=True)
class Judge:
    """The data by which claims are judged: their code, the factors of each experiment, and the names of the study."""

    code: Code
    factors: Mapping[str, Sequence[str]]
    levels: Mapping[str, Mapping[str, Sequence[str]]]
    known: Known

    def tables(self, runs: Sequence[Run], finished: Mapping[str, str], *, share: bool = False) -> Tables:
        """Return the tables of some runs; `share` if these are not all by which a claim is judged."""
        frames = tables.build(runs, finished, self.factors)
        latency, links = frames["latency"], frames["links"]
        return Tables(frames["runs"], frames["flows"], self.levels, latency, links, self.known, share)

    def verdict(self, claim: Judged, found: Tables) -> Verdict:
        """Judge a claim; one whose code fails on these runs is broken."""
        return claims.judge(claim, found, self.code)


def needed(judge: Judge, claim: Judged, found: Tables, keys: Iterable[tuple[Key, Mapping[str, str]]]) -> set[Key]:
    """Return the treatments by which a claim is judged, of some with their levels.

    An experiment, or a level of a factor, is needed if the claim reads otherwise without its runs.
    """
    whole = _read(judge.verdict(claim, found))
    keys = list(keys)
    kept: dict[str, dict[str, set[str]]] = {}
    for experiment in dict.fromkeys(key[0] for key, _ in keys):
        without = _without(found, pl.col("experiment") == experiment)
        if _read(judge.verdict(claim, without)) == whole:
            found = without
        else:
            kept[experiment] = {}
    for experiment, chosen in kept.items():
        for factor, levels in judge.levels[experiment].items():
            chosen[factor] = set(levels)
            for level in levels if 1 < len(levels) <= MOST_LEVELS else ():
                without = _without(found, (pl.col("experiment") == experiment) & (pl.col(factor) == level))
                if len(chosen[factor]) > 1 and _read(judge.verdict(claim, without)) == whole:
                    found = without
                    chosen[factor].discard(level)
    return {
        key
        for key, levels in keys
        if key[0] in kept and all(name not in levels or levels[name] in some for name, some in kept[key[0]].items())
    }


def screen(
    judge: Judge, claim: Judged, found: Tables, conditions: Mapping[str, Collection[Key]], replications: int
) -> set[Key]:
    """Return treatments that suffice to see how a change moves a claim: those of few conditions, or all.

    Conditions are taken or left whole, with all that is compared in them. A share of them suffices if each part of the
    claim has the same outcome by its estimates as with all, and by each half of the share as well. So claims that name
    certain conditions need all.

    Args:
        judge: judges the claim.
        claim: the claim.
        found: the study's results.
        conditions: the treatments by which the claim is judged, by the conditions they have, in the order of choice.
        replications: how many replications the search has.
    """

    def stands(keys: Collection[Key]) -> list[list[bool]] | None:
        here = alone(_only(found, keys), replications)
        verdicts = [judge.verdict(claim, one) for one in here]
        if any(one.outcome not in _READ for one in verdicts):
            return None
        return [[held(part, outcome) > 0.5 for outcome in _READ[:2]] for part in _parts(verdicts)]

    groups = list(conditions.values())
    every = {key for some in groups for key in some}
    whole = stands(every)
    for share in _SHARES:
        count = len(groups) // share
        if count < _LEAST_CONDITIONS:
            continue
        some = groups[:count]
        halves = (some[::2], some[1::2], some)
        if all(stands([key for group in half for key in group]) == whole for half in halves):
            return {key for group in some for key in group}
    return every


def _only(found: Tables, keys: Collection[Key]) -> Tables:
    frame = pl.DataFrame(sorted(keys), schema={"experiment": pl.String, "treatment": pl.Int64}, orient="row")
    some = _each(found, lambda one: one.join(frame, on=["experiment", "treatment"], how="semi", maintain_order="left"))
    return replace(some, share=True)


def _without(found: Tables, drop: pl.Expr) -> Tables:
    return _each(found, lambda frame: frame.filter(~drop.fill_null(value=False)))


def alone(found: Tables, replications: int) -> list[Tables]:
    """Return the tables of each replication alone. It stands there twice, so that intervals have no width."""

    def twice(frame: pl.DataFrame, replication: int) -> pl.DataFrame:
        once = frame.filter(pl.col("replication") == replication)
        again = once.with_columns(pl.col("replication") + 1, run_id=pl.col("run_id") + " again")
        return pl.concat([once, again])

    return [_each(found, partial(twice, replication=one)) for one in range(replications)]


def _each(found: Tables, made: Callable[[pl.DataFrame], pl.DataFrame]) -> Tables:
    def of(frame: pl.DataFrame) -> pl.DataFrame:
        return made(frame) if frame.height else frame

    return replace(found, runs=of(found.runs), flows=of(found.flows), latency=of(found.latency), links=of(found.links))


def _read(verdict: Verdict) -> tuple[object, ...]:
    return (verdict.outcome, verdict.reason, *((one.what, one.said, one.outcome) for one in verdict.evidence))


def deciding(verdict: Verdict) -> list[Evidence]:
    """Return the parts of a verdict that decide something."""
    return [one for one in verdict.evidence if one.outcome is not None]


def reaches(verdict: Verdict, target: Outcome, confidence: float) -> bool:
    """Whether a verdict has an outcome, also if its intervals are widened to this confidence.

    It must be confirmed in all parts, or contradicted in one. Parts without an interval stay as they are.
    """
    if verdict.outcome is not target:
        return False
    outcomes = [_at(one, confidence) for one in deciding(verdict)]
    if target is Outcome.CONFIRMED:
        return all(one is Outcome.CONFIRMED for one in outcomes)
    return not outcomes or target in outcomes


def _at(one: Evidence, confidence: float) -> Outcome | None:
    if one.rule is None or one.interval is None or one.interval.confidence >= confidence:
        return one.outcome
    wide = one.rule(one.interval.at(confidence))
    return wide if wide is one.outcome else Outcome.UNDECIDED


def turned(verdict: Verdict, control: Verdict, target: Outcome, confidence: float) -> bool:
    """Whether changes gave a claim another outcome than it has without them on the same seeds.

    The claim must reach the outcome with wide intervals. Without changes it must have the opposite one. If it is
    undecided there, it may be that only chance decided it with the changes. So parts that have the outcome with the
    changes alone must have intervals that lie apart from those without them: all such parts to be confirmed, one of
    them to be contradicted. A part without an interval does not.
    """
    if not reaches(verdict, target, confidence):
        return False
    opposite = Outcome.CONTRADICTED if target is Outcome.CONFIRMED else Outcome.CONFIRMED
    if control.outcome is not Outcome.UNDECIDED:
        return control.outcome is opposite
    pairs = list(zip(deciding(verdict), deciding(control), strict=False))
    moved = [(now, then) for now, then in pairs if now.outcome is target and then.outcome is not target]
    apart = [_apart(now.interval, then.interval) for now, then in moved]
    return any(apart) if target is Outcome.CONTRADICTED else bool(apart) and all(apart)


def _apart(one: Interval | None, other: Interval | None) -> bool:
    if one is None or other is None or one.low is None or one.high is None or other.low is None or other.high is None:
        return False
    return one.low > other.high or one.high < other.low


def exact(value: float) -> Interval:
    """Return the interval of a number that is known exactly."""
    return Interval(value, value, value, 2, 0.95, "identical values")


def closeness(verdicts: Sequence[Verdict], before: Sequence[Verdict], target: Outcome) -> float:
    """Return how much of the way to an outcome a claim went: 1 has it by its estimates, 0 has not moved.

    Each verdict is of one replication alone, so that its numbers are exact. The way of a part is how far its number,
    the mean over replications, lies from the nearest one by which its rule gives the outcome, relative to how far it
    lay before. The way of a part without a rule is the share of replications that it gained. All parts confirm a claim,
    so their mean counts, from where it stood before: a part that held and still holds is no way gone. One part
    contradicts it, so the largest way counts of those parts that did not do so before.

    Args:
        verdicts: with the changes, one a replication.
        before: without changes, of the same replications.
        target: the outcome.
    """
    pairs = list(zip(_parts(verdicts), _parts(before), strict=False))
    open_ones = [held(then, target) < 1 for _, then in pairs]
    if not any(open_ones):
        return 0.0
    ways = [_way(now, then, target) for now, then in pairs]
    if target is Outcome.CONFIRMED:
        start = float(np.mean([held(then, target) for _, then in pairs]))
        return (float(np.mean(ways)) - start) / (1 - start)
    return max(way for way, is_open in zip(ways, open_ones, strict=True) if is_open)


def held(parts: Sequence[Evidence], target: Outcome) -> float:
    """Return the share of replications in which a part has an outcome, or whether its mean number has it: 0 or 1."""
    rule = parts[0].rule
    if rule is None or any(one.interval is None for one in parts):
        return float(np.mean([one.outcome is target for one in parts]))
    return float(rule(exact(_mean(parts))) is target)


def _parts(verdicts: Sequence[Verdict]) -> list[list[Evidence]]:
    each = [deciding(one) for one in verdicts]
    return [list(same) for same in zip(*each, strict=False)]


def _way(now: Sequence[Evidence], then: Sequence[Evidence], target: Outcome) -> float:
    rule, share = now[0].rule, held(now, target)
    if share == 1:
        return 1.0
    if rule is None or any(one.interval is None for one in (*now, *then)):
        before = held(then, target)
        return (share - before) / (1 - before) if before < 1 else share - 1
    near = _distance(_mean(then), rule, target)
    return max(-1.0, 1 - _distance(_mean(now), rule, target) / near) if near > 0 else -1.0


def _mean(parts: Sequence[Evidence]) -> float:
    values = [one.interval.value for one in parts if one.interval is not None]
    return float(np.exp(np.mean(np.log(values)))) if min(values) > 0 else float(np.mean(values))


def _distance(value: float, rule: Callable[[Interval], Outcome], target: Outcome) -> float:
    """Return how far a number lies from the nearest one with this outcome, on a logarithmic or a linear scale."""

    def reached(by: float) -> bool:
        near = (value * np.exp(by), value * np.exp(-by), value + by, value - by)
        return any(rule(exact(float(one))) is target for one in near)

    if rule(exact(value)) is target:
        return 0.0
    far = next((float(step) for step in _STEPS if reached(float(step))), None)
    if far is None:
        return 2 * float(_STEPS[-1])
    close = 0.0
    for _ in range(20):
        middle = (close + far) / 2
        close, far = (close, middle) if reached(middle) else (middle, far)
    return far
