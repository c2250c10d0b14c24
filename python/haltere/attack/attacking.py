"""Attacks a contender: searches the worst trace for each harm, makes it small, and judges it on fresh dice."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from haltere import fidelity
from haltere.attack.arena import Arena, Events, Rivals
from haltere.attack.drawing import Draw
from haltere.attack.events import Base, Limits, Load, refuse_kinds
from haltere.attack.harms import HARMS, Harm, named
from haltere.attack.judging import REPLICATIONS, Judged, judge
from haltere.attack.mechanism import mechanism
from haltere.attack.replay import replay
from haltere.attack.results import Answer, Attack, Ended, Toll, sent_bps
from haltere.attack.search import Evolution, Scored, chosen, smaller
from haltere.errors import ArgumentError, refuse_below
from haltere.fidelity import Fidelity
from haltere.plugins import store
from haltere.runner.interrupt import stop_at
from haltere.when.runs import OutOfTimeError, seed_of

AGAINST = "tcp/cubic"
EVALUATIONS = 3000
"""Evaluations of the search for a harm: with them a search ends after a minute or less where nothing else runs."""
MINUTES = 10.0
SEARCHED = 0.7
"""The share of a harm's time after which its search ends at the latest; the rest is for making the trace small."""
Progress = Callable[[str, float], None]
"""Called with what is being done and the seconds left."""


@dataclass
class Plan:
    """How to attack.

    Attributes:
        hurt: the names of the harms (default: all).
        only: the kinds of events (default: all that the harm takes).
        limits: the bounds of a whole trace.
        evaluations: of the search for each harm.
        minutes: after which all searches end at the latest.
        replications: fresh ones, in which traces are judged.
        seed: names all dice.
        workers: how many runs at once (default: one a CPU).
        linux: whether findings are replayed on a kernel.
        stop: set to stop; what was found until then is kept.
        on_progress: told of the progress.
    """

    hurt: Sequence[str] = ()
    only: Sequence[str] = ()
    limits: Limits = field(default_factory=Limits)
    evaluations: int = EVALUATIONS
    minutes: float = MINUTES
    replications: int = REPLICATIONS
    seed: int = 1
    workers: int | None = None
    linux: bool = False
    stop: threading.Event = field(default_factory=threading.Event)
    on_progress: Progress = lambda _what, _left: None

    def __post_init__(self) -> None:
        refuse_kinds(self.only)
        refuse_below(1, evaluations=self.evaluations, replications=self.replications)
        refuse_below(0, seed=self.seed)
        if not 0 < self.minutes < float("inf"):
            raise ArgumentError("is not a time", field="minutes", given=str(self.minutes), right="minutes above 0")

    @property
    def harms(self) -> tuple[Harm, ...]:
        """The harms that are looked for, without those of which no trace can be made of the kinds of events.

        Raises:
            InputError: if there is no such harm, or none is left.
        """
        found = [one for one in named(self.hurt) if self.kinds(one)]
        if not found:
            right = ", ".join(sorted({kind for one in named(self.hurt) for kind in one.kinds}))
            raise ArgumentError("no such event does this harm", field="only", given=", ".join(self.only), right=right)
        return tuple(found)

    def kinds(self, harm: Harm) -> tuple[str, ...]:
        """Return the kinds of events of traces that do a harm."""
        return tuple(kind for kind in harm.kinds if not self.only or kind in self.only)


def attack(
    contender: str,
    *,
    against: str = AGAINST,
    base: Base | None = None,
    plan: Plan | None = None,
    where: Fidelity = "model",
) -> Attack:
    """Search small traces of events that hurt a contender more than another one in the same place.

    Args:
        contender: who is attacked, such as `tcp/bbr` or `tcp/./mine.py`.
        against: the other, with the same events and dice.
        base: the path without events.
        plan: how to search.
        where: a fidelity of the simulator.

    Raises:
        InputError: if something given cannot be run, or if a replay is asked for and there is no kernel.
    """
    return _Attacking(contender, against, base or Base(), plan or Plan(), where).run()


class _Attacking:
    def __init__(self, contender: str, against: str, base: Base, plan: Plan, where: Fidelity) -> None:
        store.ask(contender, against)
        self.plan, self.harms = plan, plan.harms
        self.rivals = Rivals.of(contender, against, base, where)
        self.executor = fidelity.executor(where, plan.workers)
        if plan.linux:
            fidelity.about("linux")  # refuses before the search if there is no kernel
        purposes = ("search", "fresh", "mechanism", "linux")
        self.seeds = {one: seed_of(plan.seed, f"attack {one}") for one in purposes}
        self.ends = time.monotonic() + 60 * plan.minutes

    def run(self) -> Attack:
        """Take one harm after the other, each with the same share of the time that is left."""
        found = Attack(self.rivals, self.plan.seed, self.seeds)
        started = time.monotonic()
        for place, harm in enumerate(self.harms):
            now = time.monotonic()
            if self.plan.stop.is_set() or now >= self.ends:
                break
            found.answers.append(self._harm(harm, (self.ends - now) / (len(self.harms) - place)))
        found.wall_s = time.monotonic() - started
        return found

    def _arena(self, harm: Harm, purpose: str, stop: threading.Event | None = None) -> Arena:
        return Arena(self.rivals, harm, self.seeds[purpose], self.executor, stop or threading.Event())

    def _harm(self, harm: Harm, seconds: float) -> Answer:
        """Search, make small, judge; of a finding, look for the mechanism and replay it."""
        started = time.monotonic()
        best, evaluations, ended = self._searched(harm, started, seconds)
        events = () if best is None else best.events
        judged = self._judged(harm, events) if events else None
        answer = Answer(harm, events, judged, evaluations, ended)
        if not answer.holds or self.plan.stop.is_set():
            return answer
        try:
            with stop_at(started + max(seconds, 1.2 * (time.monotonic() - started)), self.plan.stop) as stop:
                self._tell(harm, "the mechanism")
                answer.mechanism = mechanism(self._arena(harm, "mechanism", stop), events, "the trace")
                answer.toll = self._toll(harm, events, stop)
        except OutOfTimeError:
            answer.ended = "time"
        if self.plan.linux and not self.plan.stop.is_set():
            self._tell(harm, "on Linux")
            answer.replayed = replay(self.rivals, harm, events, self.seeds["linux"], workers=self.plan.workers)
        return answer

    def _searched(self, harm: Harm, started: float, seconds: float) -> tuple[Scored | None, int, Ended]:
        """Return the worst trace, made small, the evaluations of the search, and why it ended."""
        draw = Draw(self.rivals.base, self.plan.kinds(harm), self.plan.limits)
        with stop_at(started + SEARCHED * seconds, self.plan.stop) as stop:
            arena = self._arena(harm, "search", stop)

            def tell(done: int, worst: float) -> None:
                so_far = f", so far {harm.effect(worst)}" if worst > 0 else ""
                self._tell(harm, f"evaluation {done} of {self.plan.evaluations}{so_far}")

            ranked = Evolution(arena, draw, self.plan.evaluations, tell).run()
            ended: Ended = "time" if stop.is_set() else "budget"
        ended = "stopped" if self.plan.stop.is_set() else ended
        with stop_at(started + seconds, self.plan.stop) as stop:
            self._tell(harm, "making the trace small")
            arena = replace(arena, stop=threading.Event())
            best = chosen(arena, ranked)
            best = best and smaller(replace(arena, stop=stop), best, draw)
            ended = "time" if ended == "budget" and stop.is_set() else ended
        return best, arena.evaluations, ended

    def _judged(self, harm: Harm, events: Events) -> Judged | None:
        """Judge a trace on fresh dice; quick enough to be done whatever the time."""
        self._tell(harm, "fresh dice")
        return judge(self._arena(harm, "fresh"), events, replications=self.plan.replications, together=len(self.harms))

    def _toll(self, harm: Harm, events: Events, stop: threading.Event) -> Toll | None:
        """Return what cross traffic takes and what it sends, if the trace is nothing else and goodput is hurt."""
        if harm is not HARMS["goodput"] or not all(isinstance(one, Load) for one in events):
            return None
        base, arena, own = self.rivals.base, self._arena(harm, "mechanism", stop), [(self.rivals.contender, 0)]
        both: list[float] = []
        untouched: Events = ()
        for trace in (untouched, events):
            (values,) = arena.quantities([(trace, at) for at in range(self.plan.replications)], own)
            if any(value is None for value in values):
                return None
            both.append(sum(value or 0 for value in values) / len(values))
        return Toll(both[0] - both[1], sent_bps(events, base.seconds, base.bps))

    def _tell(self, harm: Harm, what: str) -> None:
        self.plan.on_progress(f"{harm.name}: {what}", max(0.0, self.ends - time.monotonic()))
