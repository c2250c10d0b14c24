"""The findings of an attack, as data and in words."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import Any, Literal

from haltere.attack.arena import Events, Rivals
from haltere.attack.events import Load, written
from haltere.attack.harms import Harm
from haltere.attack.judging import Judged
from haltere.attack.mechanism import Mechanism
from haltere.attack.replay import Replayed
from haltere.plugins import store

FORMAT = 1
Ended = Literal["budget", "time", "stopped"]
"""How it ended: with all of its evaluations, as its time was over, or as it was stopped."""


@dataclass(frozen=True)
class Toll:
    """The capacity that cross traffic takes from the contender, beside what it sends itself: means in bit/s."""

    taken_bps: float
    sent_bps: float

    @property
    def times(self) -> float:
        """How many times what it sends it takes."""
        return self.taken_bps / self.sent_bps


@dataclass
class Answer:
    """The answer for one harm.

    Attributes:
        harm: the harm.
        events: the trace that hurts most, made small; none if nothing hurt at all.
        judged: the trace in fresh replications; None if there is no trace.
        evaluations: of the search, each a trace in one replication for both contenders.
        ended: how it ended; `budget` alone gives the same answer again.
        mechanism, toll, replayed: of a finding, where they were looked for.
    """

    harm: Harm
    events: Events
    judged: Judged | None
    evaluations: int
    ended: Ended
    mechanism: Mechanism | None = None
    toll: Toll | None = None
    replayed: Replayed | None = None

    @property
    def holds(self) -> bool:
        """Whether it is a finding."""
        return self.judged is not None and self.judged.holds

    def sentences(self, rivals: Rivals) -> list[str]:
        """Return the answer in sentences, without their full stops."""
        said = [self._head(rivals)]
        if self.toll is not None and self.toll.taken_bps > 0:
            said.append(
                f"The datagrams send {self.toll.sent_bps / 1e6:.2g} Mbit/s in the mean and take "
                f"{self.toll.taken_bps / 1e6:.2g} Mbit/s from the contender, {self.toll.times:.2g} times as much"
            )
        if self.mechanism is not None:
            said += self.mechanism.sentences(rivals.contender)
        if self.replayed is not None:
            said.append(self.replayed.sentence())
        if self.ended != "budget":
            how = {"time": "ended by its time", "stopped": "stopped"}[self.ended]
            said.append(f"It was {how}, after {self.evaluations} evaluations of the search")
        return said

    def _head(self, rivals: Rivals) -> str:
        judged, mine, other = self.judged, store.shown(rivals.contender), store.shown(rivals.against)
        if judged is None:
            return f"nothing that was tried hurts {mine} more than {other}"
        typical = [self.harm.shown(median(getattr(pair, one) for pair in judged.pairs)) for one in ("mine", "other")]
        head = f"{self.harm.measures} {typical[0]}, with {other} {typical[1]}: {self.harm.between(judged.interval)}"
        if judged.holds:
            return f"{head}, beyond their difference without events"
        return f"nothing that holds on fresh dice; the worst trace: {head}"

    def data(self) -> dict[str, Any]:
        """Return it for programs."""
        judged = self.judged
        return {
            "hurt": self.harm.name,
            "finding": self.holds,
            "events": written(self.events),
            "words": [event.words for event in self.events],
            "evaluations": self.evaluations,
            "ended": self.ended,
            "judged": None
            if judged is None
            else {
                "measures": self.harm.measures,
                "ratio": self.harm.ratio,
                "margin": self.harm.margin,
                "harm": judged.interval.value,
                "low": judged.interval.low,
                "high": judged.interval.high,
                "confidence": judged.interval.confidence,
                "contender": [pair.mine for pair in judged.pairs],
                "against": [pair.other for pair in judged.pairs],
            },
            "mechanism": None if self.mechanism is None else self.mechanism.data(),
            "toll": None if self.toll is None else {"taken_bps": self.toll.taken_bps, "sent_bps": self.toll.sent_bps},
            "replayed": None if self.replayed is None else self.replayed.data(),
        }


@dataclass
class Attack:
    """The answers of a command, in the order of its harms.

    Attributes:
        rivals: who was hurt, and beside whom.
        seed: the seed of the command.
        seeds: of the search's dice and of the fresh ones.
        answers: an answer a harm; those that were not searched are missing.
        wall_s: how long the searches took.
    """

    rivals: Rivals
    seed: int
    seeds: dict[str, int]
    answers: list[Answer] = field(default_factory=list)
    wall_s: float = 0.0

    @property
    def findings(self) -> list[Answer]:
        """The answers that are findings."""
        return [one for one in self.answers if one.holds]

    @property
    def evaluations(self) -> int:
        """The evaluations of all searches."""
        return sum(one.evaluations for one in self.answers)

    def data(self) -> dict[str, Any]:
        """Return it for programs; how long it took is no part of it."""
        base = self.rivals.base
        return {
            "format": FORMAT,
            "contender": store.shown(self.rivals.contender),
            "against": store.shown(self.rivals.against),
            "path": {"rate": base.rate, "rtt": base.rtt, "queue": base.queue, "seconds": base.seconds},
            "seed": self.seed,
            "seeds": self.seeds,
            "answers": [one.data() for one in self.answers],
        }


def sent_bps(events: Events, seconds: int, bps: int) -> float:
    """Return the mean rate of a trace's cross traffic over a run, bit/s."""
    return sum(bps * one.share * one.lasts_ms / (1000 * seconds) for one in events if isinstance(one, Load))
