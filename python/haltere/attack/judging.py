"""Judges what a search selected, in replications that the search never saw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from haltere.attack.arena import Arena, Events, Pair
from haltere.attack.harms import Harm
from haltere.stats import Interval, p_of_shift, trimmed_mean
from haltere.stats.trimmed import trimmed_middle

FALSE_ALARMS = 0.05
"""The share of searches in which chance alone may be taken for harm: of all harms of a command together."""
REPLICATIONS = 12
"""Fresh replications; fewer than eight could show nothing where all five harms are judged."""


@dataclass(frozen=True)
class Judged:
    """A trace in fresh replications.

    Attributes:
        harm: the harm that was looked for.
        pairs: an evaluation a replication; those in which a run failed are left out.
        interval: the trimmed mean of the harms, with an interval that allows for all harms of the command.
    """

    harm: Harm
    pairs: tuple[Pair, ...]
    interval: Interval

    @property
    def holds(self) -> bool:
        """Whether the whole interval lies beyond the margin: the trace is a finding."""
        return beyond([pair.harm for pair in self.pairs], self.harm.margin, self.interval.confidence)


def judge(arena: Arena, events: Events, *, replications: int = REPLICATIONS, together: int = 1) -> Judged | None:
    """Evaluate a trace in the arena's replications from 0 on; None if all of them failed.

    Args:
        arena: one with a seed of its own.
        events: the trace.
        replications: how many.
        together: how many harms the command judges; intervals are widened for them (Bonferroni).

    Raises:
        OutOfTimeError: if the arena stops.
    """
    pairs = [pair for pair in arena.evaluate([(events, at) for at in range(replications)]) if pair is not None]
    if not pairs:
        return None
    interval = trimmed_mean([pair.harm for pair in pairs], 1 - FALSE_ALARMS / together)
    return Judged(arena.harm, tuple(pairs), interval)


def beyond(harms: Sequence[float], margin: float, confidence: float) -> bool:
    """Whether the interval of the trimmed mean of harms lies beyond a margin, by the test that it rests on."""
    return trimmed_middle(harms) > margin and p_of_shift(harms, margin) <= 1 - confidence + 1e-12
