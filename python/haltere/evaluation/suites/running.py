"""Runs the cases of a suite for a contender, and judges them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from haltere import core
from haltere.errors import ArgumentError, as_written
from haltere.evaluation.suites import bbr
from haltere.evaluation.suites.cases import Case, Check, Document, Shown, Suite, Verdict
from haltere.evaluation.suites.seen import Seen
from haltere.executor import ThreadExecutor
from haltere.fidelity import Fidelity
from haltere.plugins import store
from haltere.rig import nodes
from haltere.scenario import Scenario

SUITES = {suite.name: suite for suite in (bbr.SUITE,)}


@dataclass(frozen=True)
class Looked:
    """A check with what it saw; None if the contender does not tell what it needs."""

    check: Check
    shown: Shown | None


@dataclass(frozen=True)
class Result:
    """A judged case.

    `scenario` is the run that was judged, `at` when its event was (s), `reason` says why nothing was judged.
    """

    case: Case
    scenario: Document
    at: float | None
    looked: tuple[Looked, ...] = ()
    reason: str = ""
    trace: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def verdict(self) -> Verdict:
        """*failed* if a check failed, *not shown* if none could be made, otherwise *passed*."""
        shown = [looked.shown for looked in self.looked if looked.shown is not None]
        if any(not one.good for one in shown):
            return "failed"
        return "passed" if shown else "not shown"

    @property
    def unseen(self) -> int:
        """The number of checks that need variables which the contender does not tell."""
        return sum(looked.shown is None for looked in self.looked)


@dataclass(frozen=True)
class Suited:
    """A contender after all cases of a suite."""

    suite: Suite
    contender: str
    seed: int
    results: tuple[Result, ...]

    def count(self, verdict: Verdict) -> int:
        """Return the number of cases with a verdict."""
        return sum(result.verdict == verdict for result in self.results)


def run_suite(
    contender: str,
    suite: str = "bbr",
    *,
    cases: Collection[int] = (),
    seed: int = 1,
    workers: int | None = None,
    qlog: str | Path | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Suited:
    """Run the test cases of a suite for a contender, and judge them.

    Args:
        contender: such as `quic/bbr3`, or `quic@quiche/bbr2` at fidelity `stack`.
        suite: its name; there is `bbr`, the cases of draft-ietf-ccwg-bbr.
        cases: the numbers of some cases (default: all).
        seed: for the dice of the contender.
        workers: how many runs at once (default: one a CPU).
        qlog: a folder for the qlog files of the runs that are judged, in a folder for each case.
        on_progress: called with (finished, all) as cases finish.

    Raises:
        InputError: if there is no such suite or case, or the contender cannot be run.
    """
    if suite not in SUITES:
        raise ArgumentError("is no suite", field="suite", given=as_written(suite), right=" ".join(SUITES))
    whole = SUITES[suite]
    numbers = [case.number for case in whole.cases]
    strange = sorted(set(cases) - set(numbers))
    if strange:
        raise ArgumentError("is no case", field="case", given=str(strange[0]), right=f"{numbers[0]} to {numbers[-1]}")
    store.ask(contender)
    fidelity = _fidelity(contender)
    chosen = [case for case in whole.cases if not cases or case.number in cases]
    Scenario(chosen[0].path.document(contender), fidelity=fidelity)  # refuses the contender before anything runs
    results: dict[int, Result] = {}
    with ThreadPoolExecutor(ThreadExecutor(workers).workers) as pool:
        waiting = {pool.submit(_run, case, contender, fidelity, seed, _logs(qlog, case)): case for case in chosen}
        for done in as_completed(waiting):
            results[waiting[done].number] = done.result()
            if on_progress is not None:
                on_progress(len(results), len(chosen))
    return Suited(whole, contender, seed, tuple(results[case.number] for case in chosen))


def _fidelity(contender: str) -> Fidelity:
    try:
        return "stack" if core.contender(contender)["implementation"] else "model"
    except core.ScenarioProblem as problem:
        raise ArgumentError(problem.message, field="contender", given=as_written(contender)) from None


def _logs(folder: str | Path | None, case: Case) -> Path | None:
    return None if folder is None else Path(folder) / f"case-{case.number:02}"


def _run(case: Case, contender: str, fidelity: Fidelity, seed: int, qlog: Path | None = None) -> Result:
    document = case.path.document(contender)
    seen = _seen(case, document, fidelity, seed, None if case.cue else qlog)
    if case.cue is None:
        return _judged(case, document, None, seen)
    at = case.cue.find(seen)
    if at is None:
        if seen.tells:
            never = Looked(
                Check(f"{case.cue.state} begins", inside=True, look=lambda *_: Shown(good=False, words="never")),
                Shown(good=False, words="never"),
            )
            return Result(case, document, None, (never,), trace=dict(seen.trace))
        reason = f"it does not tell when {case.cue.state} begins"
        return Result(case, document, None, tuple(Looked(check, None) for check in case.checks), reason)
    forked = case.forked(document, at, seen)
    return _judged(case, forked, at, _seen(case, forked, fidelity, seed, qlog))


def _seen(case: Case, document: Document, fidelity: Fidelity, seed: int, qlog: Path | None = None) -> Seen:
    scenario = Scenario(document, fidelity=fidelity)
    trace = nodes.trace(scenario.concrete(seed, 0), seed, 0, fidelity, qlog=qlog)
    outages = document["topology"]["link"]["down"].get("outage", ())
    disturbed = float(outages[0]["from"].removesuffix("ns")) / 1e9 if outages else 0.0
    return Seen(trace, rate_bps=case.path.rate_bps, rtt_s=case.path.rtt_s, disturbed=disturbed)


def _judged(case: Case, document: Document, at: float | None, seen: Seen) -> Result:
    looked = tuple(
        Looked(check, check.look(seen, at or 0.0) if seen.tells or not check.inside else None) for check in case.checks
    )
    return Result(case, document, at, looked, trace=dict(seen.trace))
