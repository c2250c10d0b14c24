"""The harms that a trace can do: what each measures of a run, and how a contender's is set against another's.

A harm is the difference between the contender and another one in the same place with the same dice, so that a trace
that hurts everybody harms nobody. More is always worse.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from haltere.attack.events import PACKET_BYTES, Base
from haltere.attack.scenario import ALONE, Place
from haltere.errors import ArgumentError, as_written
from haltere.stats import Interval
from haltere.stats.ranking import ALIKE

Result = Mapping[str, Any]
"""A run's result, as the core returns it."""
EVERYTHING = ("rate", "delay", "jitter", "reordering", "outage", "loss", "load")
OF_DELAY = ("delay", "jitter")
"""Kinds of events that lose nothing and change no rate."""
TO_THE_END = Place(from_share=2 / 3)
"""Alone, where the last third of the run tells whether a flow stands still for good."""
BESIDE = Place(flows=2, from_share=1 / 3)
"""Beside its like, without the time in which the two begin."""


@dataclass(frozen=True)
class Harm:
    """One way in which a contender may be hurt.

    Attributes:
        name: its word on the command line.
        measures: the quantity in words, without an article.
        unit: the unit of the quantity as it is shown.
        place: where the contender meets the trace.
        kinds: the kinds of events that a trace may have.
        margin: the harm that makes no practical difference: of the logarithm, or of the quantity.
        of: the quantity of a run; None if the run has none.
        scale: by which the quantity is multiplied to be shown.
        ratio: whether two contenders are set against each other by the logarithm of their ratio.
        higher_is_better: whether the harm is in having less of it.
    """

    name: str
    measures: str
    unit: str
    place: Place
    kinds: tuple[str, ...]
    margin: float
    of: Callable[[Result, Base], float | None]
    scale: float = 1.0
    ratio: bool = False
    higher_is_better: bool = False

    def harm(self, mine: float, other: float) -> float:
        """Return by how much the contender is hurt more than the other, from the quantity of both."""
        by = math.log(mine / other) if self.ratio else mine - other
        return -by if self.higher_is_better else by

    def shown(self, quantity: float) -> str:
        """Return a quantity as people read it."""
        return f"{self.scale * quantity:.3g} {self.unit}".strip()

    def effect(self, harm: float) -> str:
        """Return a harm as people read it, beside the other: `0.42 times`, `+1.2 s`."""
        if not self.ratio:
            return f"{self.scale * harm:+.3g} {self.unit}"
        return f"{math.exp(-harm if self.higher_is_better else harm):.3g} times"

    def between(self, found: Interval) -> str:
        """Return a harm beside the other with its interval: `0.42 times [0.38, 0.47]`."""
        if found.low is None or found.high is None:
            return self.effect(found.value)
        ends = [
            self.effect(end).removesuffix("times").removesuffix(self.unit).strip() for end in (found.low, found.high)
        ]
        return f"{self.effect(found.value)} [{', '.join(sorted(ends, key=float))}]"


def _flows(result: Result) -> list[Mapping[str, Any]]:
    return list(result["flows"]) if result.get("status") == "ok" else []


def _down(result: Result) -> Mapping[str, Any] | None:
    """The bottleneck's data direction: that of the only link, or of the one of that name."""
    links = [one for one in result["links"] if one["direction"] == "down"]
    return next((one for one in links if len(links) == 1 or one["link"] == "bottleneck"), None)


def _stall(result: Result, base: Base) -> float | None:
    """The longest time between two reads of the client, or what is measured of the run if nothing was read there."""
    flows = _flows(result)
    if not flows:
        return None
    gap = float(flows[0]["longest_gap_s"] or 0)
    return gap if flows[0]["bytes"] else max(gap, base.seconds * (1 - TO_THE_END.from_share))


def _goodput(flow: Mapping[str, Any], base: Base) -> float:
    """The goodput in bit/s; a flow without any counts as one packet, as ratios need a number above 0."""
    return max(float(flow["goodput_bps"] or 0), 8 * PACKET_BYTES / base.seconds)


def _first_goodput(result: Result, base: Base) -> float | None:
    flows = _flows(result)
    return _goodput(flows[0], base) if flows else None


def _unfairness(result: Result, base: Base) -> float | None:
    rates = [_goodput(flow, base) for flow in _flows(result)]
    return max(rates) / min(rates) if rates else None


def _queue(result: Result, base: Base) -> float | None:  # noqa: ARG001 (all harms take the same)
    link = _down(result) if _flows(result) else None
    return None if link is None else float(link["mean_queueing_delay_s"] or 0)


def _drops(result: Result, base: Base) -> float | None:  # noqa: ARG001 (all harms take the same)
    link = _down(result) if _flows(result) else None
    return None if link is None or not link["offered_packets"] else link["dropped_queue"] / link["offered_packets"]


_ALL = (
    Harm(
        "stall",
        measures="longest time without data",
        unit="s",
        place=TO_THE_END,
        kinds=EVERYTHING,
        margin=0.2,
        of=_stall,
    ),
    Harm(
        "goodput",
        measures="goodput",
        unit="Mbit/s",
        scale=1e-6,
        place=ALONE,
        kinds=EVERYTHING,
        ratio=True,
        higher_is_better=True,
        margin=math.log(1 + ALIKE),
        of=_first_goodput,
    ),
    Harm(
        "starvation",
        measures="ratio of the larger goodput of two flows to the smaller one",
        unit="",
        place=BESIDE,
        kinds=OF_DELAY,
        ratio=True,
        margin=math.log(2),
        of=_unfairness,
    ),
    Harm(
        "queue",
        measures="mean queueing delay",
        unit="ms",
        scale=1e3,
        place=ALONE,
        kinds=EVERYTHING,
        margin=5e-3,
        of=_queue,
    ),
    Harm(
        "loss",
        measures="share of packets that the queue drops",
        unit="%",
        scale=1e2,
        place=ALONE,
        kinds=EVERYTHING,
        margin=5e-3,
        of=_drops,
    ),
)
HARMS: dict[str, Harm] = {one.name: one for one in _ALL}
"""All harms by their names. Margins: the least retransmission timeout of Linux for a stall, practical equivalence as
`haltere compare` has it for goodput, a factor of two for starvation, and the margins of the metrics `queueing_delay`
times 5 and `loss_rate` for the last two."""


def named(names: Collection[str]) -> tuple[Harm, ...]:
    """Return harms by their names, each once; all if there are none.

    Raises:
        InputError: if there is no such harm.
    """
    for name in names:
        if name not in HARMS:
            raise ArgumentError("is no harm", field="hurt", given=as_written(name), right=", ".join(HARMS))
    return tuple(HARMS[name] for name in dict.fromkeys(names or HARMS))
