"""The numbers of a flow that a judge sees, those that the literature on the identification of congestion controls uses.

All are read from the packets at the sender's interface. The bytes in flight are the highest byte sent less the highest
acknowledged, in segments. Rounds are counted as a sender does: one ends when what was sent at its beginning is
acknowledged.

- A *reduction* begins with the first retransmission and ends when all that was sent by then is acknowledged. Its factor
  is the window after it by the window before it (P. Yang et al., CAAI, IEEE/ACM ToN 22(4), 2014), and stands beside
  what the path alone would give: the smallest RTT by the one at the loss, and the bandwidth-delay product by the
  window.
- *Growth* is in segments a round, since the last reduction: by the time since it, by the queueing delay, and by the
  window as a share of the last one before a loss (CAAI; A. Mishra et al., Gordon, SIGMETRICS 2020; Nebby, SIGCOMM
  2024).
- The end of the first slow start, the delay in the queue, and the distances of packets tell delay-based and paced
  controls.

A number that a flow cannot tell, as it had no round of this kind, is missing (NaN).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from haltere.adhoc.packets import Side

Numbers = npt.NDArray[np.float64]

SEGMENT = 1448.0
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
POINTS = 20
"""At which the segments in flight are read over a flow's time."""
AGES_S = (0.0, 0.5, 1.0, 1.5, 2.5, np.inf)
"""Time since a reduction; H-TCP's growth begins to rise after a second."""
QUEUES = (0.0, 0.1, 0.3, 0.6, 1.01)
"""Queueing delay, as a share of the largest of the flow."""
QUEUED = (-1.0, 2.0, 4.0, 8.0, np.inf)
"""Segments in the queue; Vegas has 2 to 4."""
LEVELS = (0.0, 0.7, 0.85, 0.95, 1.05, np.inf)
"""The window, as a share of that before the last reduction."""


@dataclass(frozen=True)
class Wire:
    """The packets at a sender's interface: positions in segments, times in whole microseconds."""

    sent_s: Numbers
    start: Numbers
    highest: Numbers
    acked_s: Numbers
    acked: Numbers
    sack: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, side: Side) -> Wire:
        """Read them from a run's packets."""
        data, acks = [packet for packet in side.of("sent") if packet.len], side.of("received")
        ends = np.array([packet.seq + packet.len for packet in data], dtype=float)
        return cls(
            np.array([round(packet.t_s, 6) for packet in data]),
            np.array([packet.seq for packet in data], dtype=float) / SEGMENT,
            np.maximum.accumulate(ends) / SEGMENT,
            np.array([round(packet.t_s, 6) for packet in acks]),
            np.maximum.accumulate(np.array([packet.ack for packet in acks], dtype=float)) / SEGMENT,
            np.array([bool(packet.sack) for packet in acks]),
        )

    @property
    def again(self) -> npt.NDArray[np.bool_]:
        """Which packets are retransmissions."""
        return self.start < np.concatenate(([0.0], self.highest[:-1]))

    def acked_by(self, times: Numbers) -> Numbers:
        """The position up to which all was acknowledged at some times."""
        return np.concatenate(([0.0], self.acked))[np.searchsorted(self.acked_s, times, side="right")]

    def done(self, position: float) -> float:
        """When all up to a position was acknowledged; the last acknowledgement's time if never."""
        return float(self.acked_s[min(int(np.searchsorted(self.acked, position)), len(self.acked) - 1)])

    @property
    def flight(self) -> Numbers:
        """The segments in flight as each packet has left."""
        return np.asarray(self.highest - self.acked_by(self.sent_s))

    def round_trips(self) -> Numbers:
        """The RTT that each acknowledgement tells; NaN where it tells none, and in a reduction."""
        first = np.searchsorted(self.highest, self.acked - 1e-9)
        new = np.diff(self.acked, prepend=0.0) > 0
        rtt = self.acked_s - self.sent_s[np.minimum(first, len(self.sent_s) - 1)]
        rtt[~new | self.sack] = np.nan
        for begin, end in self.reductions():
            rtt[(self.acked_s >= begin) & (self.acked_s <= end)] = np.nan
        return rtt

    def reductions(self) -> list[tuple[float, float]]:
        """When each recovery began and ended."""
        found: list[tuple[float, float]] = []
        for i in np.flatnonzero(self.again):
            if not found or self.sent_s[i] > found[-1][1]:
                found.append((float(self.sent_s[i]), self.done(self.highest[i])))
        return found


@dataclass(frozen=True)
class Rounds:
    """Rounds outside of reductions: when, the largest window and RTT in each, and how much it grew to the next one.

    `age_s` counts from the end of the last reduction, `level` is the window as a share of that before it, and `epoch`
    counts the reductions before.
    """

    at_s: Numbers
    window: Numbers
    rtt_s: Numbers
    growth: Numbers
    age_s: Numbers
    level: Numbers
    epoch: Numbers


def _round_ends(wire: Wire, begin: float, end: float) -> list[float]:
    ends = [begin]
    while True:
        i = int(np.searchsorted(wire.sent_s, ends[-1]))
        after = wire.done(wire.highest[i]) if i < len(wire.sent_s) else np.inf
        if after > end or after <= ends[-1]:
            return ends
        ends.append(after)


def rounds(wire: Wire, rtt: Numbers) -> Rounds:
    """Find the rounds of a flow."""
    cuts, flight, rows = wire.reductions(), wire.flight, []
    last = float(wire.sent_s[-1])
    epochs = zip([float(wire.sent_s[0])] + [end for _, end in cuts], [begin for begin, _ in cuts] + [last], strict=True)
    before = np.nan
    for number, (begin, end) in enumerate(epochs):
        ends = _round_ends(wire, begin, end)
        windows = []
        for a, b in pairwise(ends):
            sent = flight[(wire.sent_s >= a) & (wire.sent_s < b)]
            seen = rtt[(wire.acked_s > a) & (wire.acked_s <= b)]
            seen = seen[~np.isnan(seen)]
            windows.append((a, sent.max() if len(sent) else np.nan, seen.max() if len(seen) else np.nan))
        for (a, window, delay), (_, following, _) in pairwise(windows):
            rows.append((a, window, delay, following - window, a - begin, window / before, number))
        if windows:
            before = windows[-1][1]
    return Rounds(*np.array(rows, dtype=float).reshape(-1, 7).T)


def _flat(parts: Sequence[Iterable[float]]) -> list[float]:
    return [float(x) for part in parts for x in part]


def _quantiles(values: Numbers) -> Numbers:
    values = values[~np.isnan(values)]
    return np.quantile(values, QUANTILES) if len(values) else np.full(len(QUANTILES), np.nan)


def _means(values: Numbers, by: Numbers, edges: tuple[float, ...]) -> list[float]:
    kept = ~np.isnan(values)
    chosen = [values[kept & (by >= low) & (by < high)] for low, high in pairwise(edges)]
    return [float(one.mean()) if len(one) >= 3 else np.nan for one in chosen]


def factors(wire: Wire, rtt: Numbers, rate: float, shortest: float) -> Numbers:
    """Of each reduction: its factor, the windows before and after it, and the RTT without queueing by that before it.

    Windows are in bandwidth-delay products.
    """
    flight, found = wire.flight, []
    for begin, end in wire.reductions():
        near = (wire.acked_s < begin) & (wire.acked_s > begin - 0.5) & ~np.isnan(rtt)
        if not near.any():
            continue
        delay = rtt[near][-1]
        before = flight[(wire.sent_s < begin) & (wire.sent_s >= begin - delay)]
        after = flight[(wire.sent_s > end) & (wire.sent_s <= end + shortest)]
        if not len(before) or not len(after):
            continue
        old, new = before.max(), np.median(after)
        found.append((new / old, old / (rate * shortest), new / (rate * shortest), shortest / delay))
    return np.array(found, dtype=float).reshape(-1, 4)


def _share(values: Numbers, *, near: float = 0.04) -> float:
    return float(np.mean(np.abs(values) < near)) if len(values) else np.nan


def _of_reductions(wire: Wire, rtt: Numbers, rate: float, shortest: float) -> list[float]:
    """Factors of reductions. The one that ends the first slow start, where recoveries follow one another, is apart."""
    found = factors(wire, rtt, rate, shortest)
    factor, before, after, ratio = found[1:].T
    rests = [factor - ratio, after - 1, factor - np.clip(ratio, 0.5, 0.8)]
    parts: list[Iterable[float]] = [
        _quantiles(factor),
        _quantiles(after),
        [_share(factor - 0.5), _share(factor - 0.7), _share(factor - 0.875)],
        [x for rest in rests for x in (*_quantiles(rest)[1:4], _share(rest))],
        found[0] if len(found) else np.full(4, np.nan),
        [len(found), float(np.max(before, initial=0.0))],
    ]
    return _flat(parts)


def _fell(growth: Numbers) -> float:
    return float(np.mean(growth < -0.5)) if len(growth) else np.nan


def _of_growth(wire: Wire, rtt: Numbers, rate: float, shortest: float) -> list[float]:
    """Growth a round, and the windows and the segments in the queue over the rounds."""
    all_rounds = rounds(wire, rtt)
    kept = all_rounds.epoch > 0
    growth, window, delay = all_rounds.growth[kept], all_rounds.window[kept], all_rounds.rtt_s[kept]
    queueing = (delay - shortest) / (np.nanmax(rtt) - shortest)
    queued = window * (1 - shortest / delay)
    parts: list[Iterable[float]] = [
        _means(growth, all_rounds.age_s[kept], AGES_S),
        _means(growth, queueing, QUEUES),
        _means(growth, queued, QUEUED),
        _means(growth, all_rounds.level[kept], LEVELS),
        _quantiles(growth),
        _quantiles(np.asarray(growth / window)),
        _quantiles(queued),
        _quantiles(np.asarray(window / (rate * shortest))),
        [_share(growth - 1, near=0.5), _share(growth, near=0.5), _fell(growth)],
        [float(np.max(all_rounds.window[~kept], initial=0.0)) / (rate * shortest), float(np.sum(~kept))],
    ]
    return _flat(parts)


def _of_times(wire: Wire, rate: float) -> list[float]:
    """Distances of packets and of acknowledgements in packets' times at the bottleneck, bursts, and their numbers."""
    gaps, spaces = np.diff(wire.sent_s) * rate, np.diff(wire.acked_s) * rate
    bursts = np.diff(np.concatenate(([0], np.flatnonzero(gaps > 0.5) + 1, [len(wire.sent_s)])))
    delivered = np.diff(wire.acked)
    lasted = float(wire.sent_s[-1] - wire.sent_s[0])
    parts: list[Iterable[float]] = [
        np.log1p(_quantiles(gaps)),
        np.log1p(_quantiles(spaces)),
        _quantiles(bursts),
        _quantiles(delivered[delivered > 0]),
        [wire.again.mean(), wire.sack.mean(), len(wire.acked_s) / len(wire.sent_s), len(wire.sent_s) / (lasted * rate)],
    ]
    return _flat(parts)


def _of_shape(wire: Wire, rate: float, shortest: float) -> list[float]:
    """The bandwidth-delay products in flight in the middle of equal parts of a flow, and how long it is."""
    lasted = wire.sent_s[-1] - wire.sent_s[0]
    times = wire.sent_s[0] + (np.arange(POINTS) + 0.5) / POINTS * lasted
    out = wire.highest[np.searchsorted(wire.sent_s, times, side="right") - 1]
    flight = (out - wire.acked_by(times)) / (rate * shortest)
    parts: list[Iterable[float]] = [flight, _quantiles(flight), _quantiles(np.diff(flight)), [lasted / shortest]]
    return _flat(parts)


def features(wire: Wire, rate: float) -> Numbers:
    """All numbers of a flow over a bottleneck of a rate, in segments a second."""
    rtt = wire.round_trips()
    shortest = float(np.nanmin(rtt))
    of_control = _of_reductions(wire, rtt, rate, shortest) + _of_growth(wire, rtt, rate, shortest)
    return np.array(of_control + _of_times(wire, rate) + _of_shape(wire, rate, shortest))
