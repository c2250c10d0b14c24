"""Test cases of a suite: a run, perhaps another in which something happens as a state begins, and what is to be seen.

The first run finds the instant. The second is the same up to there, to the byte: a fork in time.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from haltere.evaluation.suites.seen import Seen

Document = dict[str, Any]
Verdict = Literal["passed", "failed", "not shown"]


@dataclass(frozen=True)
class Shown:
    """The outcome of one check: whether it is as the suite says, and the numbers, in words."""

    good: bool
    words: str


@dataclass(frozen=True)
class Check:
    """One sentence of a case.

    `inside` says that it needs the variables of the congestion control; the others can be seen on the wire. `look` gets
    the run and the instant of the event (0 without one), and answers None if the contender does not tell what it needs.
    """

    says: str
    inside: bool
    look: Callable[[Seen, float], Shown | None]


@dataclass(frozen=True)
class Cue:
    """The instant at which something happens: as the state begins for the first time after `after` seconds.

    Where the congestion control does not tell its state, it happens at `otherwise`, if that is given.
    """

    state: str
    after: float = 0.0
    otherwise: float | None = None

    def find(self, seen: Seen) -> float | None:
        """Return the instant; None if the state never begins."""
        if not seen.tells:
            return self.otherwise
        return next((stay.start for stay in seen.of(self.state, start=self.after)), None)


@dataclass(frozen=True)
class Path:
    """A path with one flow: bit/s, seconds, and what else a scenario says of its directions and of the flow."""

    rate_bps: float = 10e6
    rtt_s: float = 0.04
    seconds: float = 12.0
    down: Mapping[str, Any] | None = None
    up: Mapping[str, Any] | None = None
    supply: Any = None

    def document(self, contender: str) -> Document:
        """Return the scenario."""
        flow: Document = {"contender": contender, "app": "raw"}
        if self.supply is not None:
            flow["supply"] = self.supply
        delay = f"{self.rtt_s / 2 * 1e6:.0f}us"
        down: Document = {"rate": f"{self.rate_bps:.0f}bit/s", "delay": delay, "queue": "4bdp", **(self.down or {})}
        up: Document = {"delay": delay, **(self.up or {})}
        return {
            "duration": f"{self.seconds}s",
            "topology": {"kind": "point-to-point", "link": {"down": down, "up": up}},
            "flows": [flow],
        }


@dataclass(frozen=True)
class Case:
    """One test case: `number` and `title` are the suite's, `happens` says what is done and `note` what differs."""

    number: int
    title: str
    path: Path
    checks: tuple[Check, ...]
    cue: Cue | None = None
    event: Callable[[Document, float, Seen], None] | None = None
    happens: str = ""
    note: str = ""

    def forked(self, document: Document, t: float, seen: Seen) -> Document:
        """Return the scenario in which the event happens at an instant."""
        forked = copy.deepcopy(document)
        if self.event is not None:
            self.event(forked, t, seen)
        return forked


@dataclass(frozen=True)
class Suite:
    """Test cases with one source."""

    name: str
    title: str
    source: str
    cases: tuple[Case, ...]


def down(document: Document) -> Document:
    """Return the data direction of the link of a scenario."""
    direction: Document = document["topology"]["link"]["down"]
    return direction


def mbit(value: float | None) -> str:
    """Return a rate in words."""
    return "none" if value is None else f"{value / 1e6:.3g} Mbit/s"


def kilobytes(value: float | None) -> str:
    """Return a number of bytes in words."""
    return "none" if value is None else f"{value / 1e3:.3g} kB"


def seconds(value: float | None) -> str:
    """Return a time in words."""
    return "never" if value is None else f"{value:.3f} s"
