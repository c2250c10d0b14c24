"""Searches the smallest sets of changes that turn the verdicts of a study's claims, and judges them on fresh seeds.

The search runs few replications on a seed of its own, and of many conditions a share that shows the claim as all of
them do. What turns a verdict there is a candidate. Candidates are judged
again with the study's replications on a third seed, beside the study without changes (`judging.turned`). Intervals are
widened so that all candidates of a claim together turn a verdict by chance in at most one of twenty cases (Bonferroni).
"""

from __future__ import annotations

import hashlib
import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from haltere import core
from haltere import fidelity as fidelities
from haltere.claims import Outcome, Verdict
from haltere.claims.code import Code
from haltere.claims.findings import tables_of
from haltere.claims.loading import load
from haltere.errors import ArgumentError, InputError
from haltere.results import Results
from haltere.results import load as load_results
from haltere.runner.interrupt import stop_at
from haltere.runner.parts import Parts
from haltere.study import Study, Treatment
from haltere.when.changes import Change, changes
from haltere.when.judging import Judge, Judged, alone, closeness, deciding, needed, screen, turned
from haltere.when.results import Found, Search, Tried, read
from haltere.when.runs import Ground, OutOfTimeError, seed_of
from haltere.when.variants import Key, Variant, key_of

REPLICATIONS = 2
"""Replications of the search."""
CANDIDATES = 5
"""So many single changes of a claim, and so many pairs, are judged on fresh seeds at most."""
MOVERS = 6
"""The number of single changes of which pairs are made: those that moved the claim most."""
MOVED = 0.05
"""A change that went this much of the way moved the claim towards the outcome; others moved it little, or away."""
ENOUGH = 0.9
"""A set that went this much of the way in the search is a candidate."""
FALSE_ALARMS = 0.05
SINGLES, JUDGED, PAIRS = 0.4, 0.85, 0.92
"""The shares of a claim's time after which single changes, their judgement, and pairs end at the latest."""
Progress = Callable[[str, float], None]
"""Called with what is being done and the seconds left."""


@dataclass
class Plan:
    """How to search.

    Attributes:
        minutes: how long.
        claims: numbers of the claims (default: all).
        workers: how many runs at once (default: one a CPU).
        stop: set to stop; what was found until then is kept.
        on_progress: told of the progress.
    """

    minutes: float = 10.0
    claims: Sequence[int] = ()
    workers: int | None = None
    stop: threading.Event = field(default_factory=threading.Event)
    on_progress: Progress = lambda _what, _left: None


@dataclass
class _Open:
    """A claim in the search: what it needs, the outcomes that would turn it, and what was found.

    Attributes:
        needs: the treatments by which it is judged.
        screen: those of them that the search runs.
    """

    claim: Judged
    found: Found
    targets: tuple[Outcome, ...]
    needs: set[Key]
    screen: set[Key]

    def tried(self, names: Sequence[str]) -> Tried | None:
        return next((one for one in self.found.tried if one.changes == list(names)), None)


def search(study: Study, folder: Path, plan: Plan) -> Search:
    """Search, and write what was found into the results folder of the study.

    Raises:
        InputError: if there are no results of this study, no claims, or no claim of a number that the plan names.
        HaltereError: if a campaign or another search is writing into the folder.
    """
    results = _results_of(study, folder)
    with Parts(folder).locked():
        return _Searching(study, folder, results, plan).run()


class _Searching:
    def __init__(self, study: Study, folder: Path, results: Results, plan: Plan) -> None:
        self.study, self.folder, self.plan = study, folder, plan
        self.ends = time.monotonic() + 60 * plan.minutes
        where = study.directory or Path()
        every = load(where).claims
        chosen = _chosen(every, plan.claims, study)
        found = tables_of(results, study.directory)
        manifest = results.manifest["experiments"]
        self.judge = Judge(
            Code.of(where),
            {name: list(study.factors(name)) for name in manifest},
            {name: one["factors"] for name, one in manifest.items()},
            found.known,
        )
        self.changes = changes(study)
        self.treatments = [one for one in study.treatments if one.experiment in manifest]
        replications = int(results.manifest["replications"])
        self.grounds = {
            name: Ground(study, self.judge, seed_of(study.header.seed, name), count, plan.workers)
            for name, count in (("search", REPLICATIONS), ("fresh", replications))
        }
        self.search = Search(study.name, self._key(where), self._about(), [])
        before = read(folder)
        kept = {one.name: one for one in before.claims} if before and before.key == self.search.key else {}
        levels = [(key_of(one), one.levels) for one in self.treatments]
        self.open: list[_Open] = []
        for number, claim in chosen:
            self._tell(f"claim {number}: what it needs")
            today = self.judge.verdict(claim, found).outcome
            old = kept.pop(claim.name, None)
            one = old or Found(number, claim.name, claim.sentence, today.value, singles=len(self.changes))
            self.search.claims.append(one)
            if _targets(today):
                needs = needed(self.judge, claim, found, levels)
                some = screen(self.judge, claim, found, self._conditions(needs), REPLICATIONS)
                one.screened, one.treatments = len(some), len(needs)
                self.open.append(_Open(claim, one, _targets(today), needs, some))
        self.search.claims = sorted([*self.search.claims, *kept.values()], key=lambda one: one.number)

    def _key(self, where: Path) -> str:
        parts = [core.VERSION, core.fingerprint(), self.study.name, self.study.document.text]
        parts += [Code.of(where).text(), *(one.name for one in self.changes)]
        parts += [f"{REPLICATIONS} {self.grounds['fresh'].replications} {CANDIDATES} {MOVERS} {MOVED} {ENOUGH}"]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:20]

    def _conditions(self, keys: set[Key]) -> dict[str, list[Key]]:
        """Return treatments by their conditions, all of the scenario but its flows; in an order drawn by the seed."""
        found: dict[str, list[Key]] = {}
        for one in self.treatments:
            if key_of(one) in keys:
                found.setdefault(_condition(one), []).append(key_of(one))
        seed = self.study.header.seed
        return dict(sorted(found.items(), key=lambda each: seed_of(seed, each[0])))

    def _about(self) -> dict[str, int]:
        search, fresh = self.grounds["search"], self.grounds["fresh"]
        return {
            "search_seed": search.seed,
            "search_replications": search.replications,
            "fresh_seed": fresh.seed,
            "fresh_replications": fresh.replications,
        }

    def run(self) -> Search:
        """Search for the contradicted claims first, then for the undecided ones, then for the confirmed ones.

        Of claims with the same verdict those come first that are judged by few treatments. Each gets the same share of
        the time that is left to them.
        """
        for outcome in (Outcome.CONTRADICTED, Outcome.UNDECIDED, Outcome.CONFIRMED):
            group = sorted((one for one in self.open if one.found.today == outcome), key=lambda one: len(one.needs))
            for place, one in enumerate(group):
                now = time.monotonic()
                if not self.plan.stop.is_set() and now < self.ends:
                    self._claim(one, now + (self.ends - now) / (len(group) - place))
        self.search.write(self.folder)
        return self.search

    def _claim(self, one: _Open, ends: float) -> None:
        """Try single changes, judge the best of them on fresh seeds, and do the same with pairs if none turned it."""
        started = time.monotonic()
        time_left = ends - started
        with self._until(started + SINGLES * time_left) as stop:
            self._try([(change,) for change in self.changes], one, stop)
        if self.plan.stop.is_set():
            return
        with self._until(started + JUDGED * time_left) as stop:
            self._confirm(one, 1, stop)
        if one.found.turned or self.plan.stop.is_set():
            return
        with self._until(started + PAIRS * time_left) as stop:
            pairs = list(self._pairs(one))
            one.found.pairs = len(pairs)
            self._try(pairs, one, stop)
        if self.plan.stop.is_set():
            return
        with self._until(ends) as stop:
            self._confirm(one, 2, stop)

    @contextmanager
    def _until(self, end: float) -> Iterator[threading.Event]:
        """Yield an event that is set at this time or when the plan is to stop; write the findings afterwards."""
        try:
            with stop_at(end, self.plan.stop) as mine:
                yield mine
        except OutOfTimeError:
            pass
        finally:
            self.search.write(self.folder)

    def _try(self, sets: Sequence[tuple[Change, ...]], one: _Open, stop: threading.Event) -> None:
        """Run sets of changes on the seed of the search, and note how far each moves the claim."""
        before: list[Verdict] | None = None
        for number, some in enumerate(sets, 1):
            names = [change.name for change in some]
            if one.tried(names) is not None:
                continue
            if stop.is_set() or self.plan.stop.is_set():
                raise OutOfTimeError
            self._tell(f"claim {one.found.number}: {' and '.join(names)}, {number} of {len(sets)}")
            variant = self._variant(some, one.screen)
            refused = variant.refused(one.screen)
            tried = Tried(names, one.targets[0].value, refused=refused)
            if refused is None:
                before = before or self._screened(one, None, stop)
                now = self._screened(one, variant, stop)
                ways = [(closeness(now, before, target), target.value) for target in one.targets]
                way, tried.target = max(ways)
                tried.closeness = round(way, 4)
            one.found.tried.append(tried)

    def _variant(self, some: Sequence[Change], keys: set[Key]) -> Variant:
        return Variant(self.study, [each for each in self.treatments if key_of(each) in keys], some)

    def _screened(self, one: _Open, variant: Variant | None, stop: threading.Event) -> list[Verdict]:
        """Judge the treatments that the search runs, each replication alone."""
        share = len(one.screen) < len(one.needs)
        found = self.grounds["search"].tables(variant, one.screen, stop, share=share)
        return [self.judge.verdict(one.claim, each) for each in alone(found, REPLICATIONS)]

    def _pairs(self, one: _Open) -> Iterator[tuple[Change, Change]]:
        by_name = {change.name: change for change in self.changes}
        moved = [t for t in one.found.tried if len(t.changes) == 1 and t.refused is None and t.closeness != 0]
        moved.sort(key=lambda t: -abs(t.closeness))
        # Only the best value of each field: with a second value there would be fewer fields among the pairs.
        towards: dict[tuple[str, str], Change] = {}
        away: dict[tuple[str, str], Change] = {}
        for tried in moved:
            change = by_name[tried.changes[0]]
            (towards if tried.closeness >= MOVED else away).setdefault((change.varies, tried.target), change)
        # Half of them from those that moved it away, too: two changes may do together what neither does alone.
        first, second = list(dict.fromkeys(towards.values())), list(dict.fromkeys(away.values()))
        half = MOVERS // 2
        chosen = list(dict.fromkeys([*first[:half], *second[:half], *first[half:], *second[half:]]))[:MOVERS]
        yield from (pair for pair in itertools.combinations(chosen, 2) if pair[0].varies != pair[1].varies)

    def _confirm(self, one: _Open, size: int, stop: threading.Event) -> None:
        """Judge the candidates of this size again, with the study's replications on the fresh seed."""
        by_name = {change.name: change for change in self.changes}
        ranked = sorted(
            (t for t in one.found.tried if len(t.changes) == size and not t.refused and t.closeness >= ENOUGH),
            key=lambda t: -t.closeness,
        )[:CANDIDATES]
        todo = [tried for tried in ranked if tried.turned is None]
        if not todo:
            return
        ground = self.grounds["fresh"]
        self._tell(f"claim {one.found.number}: fresh seeds, without changes")
        control = self.judge.verdict(one.claim, ground.tables(None, one.needs, stop))
        one.found.fresh = control.outcome.value
        for tried in todo:
            self._tell(f"claim {one.found.number}: fresh seeds, {' and '.join(tried.changes)}")
            variant = self._variant([by_name[name] for name in tried.changes], one.needs)
            tried.refused = variant.refused(one.needs)
            if tried.refused is not None:
                continue
            verdict = self.judge.verdict(one.claim, ground.tables(variant, one.needs, stop))
            target = Outcome(tried.target)
            tried.outcome = verdict.outcome.value
            widened = 1 - FALSE_ALARMS / (2 * CANDIDATES)
            tried.turned = turned(verdict, control, target, widened)
            tried.evidence = [f"{part.what}: {part.said}" for part in deciding(verdict)]

    def _tell(self, what: str) -> None:
        self.plan.on_progress(what, max(0.0, self.ends - time.monotonic()))


def _condition(treatment: Treatment) -> str:
    return json.dumps({name: part for name, part in treatment.scenario.items() if name != "flows"}, sort_keys=True)


def _targets(today: Outcome) -> tuple[Outcome, ...]:
    return {
        Outcome.CONTRADICTED: (Outcome.CONFIRMED,),
        Outcome.CONFIRMED: (Outcome.CONTRADICTED,),
        Outcome.UNDECIDED: (Outcome.CONFIRMED, Outcome.CONTRADICTED),
    }.get(today, ())


def _results_of(study: Study, folder: Path) -> Results:
    for name in study.fidelities:
        if not fidelities.of(name).simulated:
            raise ArgumentError(
                "changes are tried in simulations only",
                field="fidelity",
                given=name,
                right=" or ".join(fidelities.simulated()),
            )
    results = load_results(folder)
    if results.manifest.get("study_text") != study.document.text or results.manifest.get("variant") != study.variant:
        raise ArgumentError(
            "these results are not of this study as it is now",
            field="results",
            given=str(folder),
            right="`haltere run` of the study first, or the folder of its results",
        )
    return results


def _chosen(every: Sequence[Judged], numbers: Sequence[int], study: Study) -> list[tuple[int, Judged]]:
    if not every:
        raise InputError(
            "the study has no claims",
            given=study.name,
            right="a study with a claims.py or a folder claims (see docs/reference/figures-and-claims.md)",
        )
    for number in numbers:
        if not 1 <= number <= len(every):
            raise ArgumentError(
                "the study has no such claim",
                field="claims",
                given=str(number),
                right=f"a number from 1 to {len(every)}",
            )
    return [(number, one) for number, one in enumerate(every, 1) if not numbers or number in numbers]
