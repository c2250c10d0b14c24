"""The trace of a run as a test case looks at it: values over time, and the states of BBR."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

FLOW, LINK = "flow 0", "link down"


@dataclass(frozen=True)
class Stay:
    """A time in one state: from its beginning to its end, seconds; `after` is the state that follows, if one does."""

    state: str
    start: float
    end: float
    after: str | None

    @property
    def lasts(self) -> float:
        """Seconds."""
        return self.end - self.start


@dataclass(frozen=True)
class Series:
    """One metric: each value holds from its time until the next. Times are seconds of virtual time."""

    t: list[float]
    v: list[float]

    def at(self, t: float) -> float | None:
        """Return the value at a time; None before the first, or where it was not set."""
        i = bisect_right(self.t, t) - 1
        return None if i < 0 or _unset(self.v[i]) else self.v[i]

    def between(self, start: float, end: float) -> list[float]:
        """Return the values that held at some time between two, without those that were not set."""
        first = max(bisect_right(self.t, start) - 1, 0)
        return [v for t, v in zip(self.t[first:], self.v[first:], strict=True) if t <= end and not _unset(v)]

    def most(self, start: float, end: float) -> float | None:
        """Return the largest value between two times."""
        return max(self.between(start, end), default=None)

    def least(self, start: float, end: float) -> float | None:
        """Return the smallest value between two times."""
        return min(self.between(start, end), default=None)

    def first(self, start: float, *, below: float | None = None, above: float | None = None) -> float | None:
        """Return the first time from `start` on at which the value is at most `below`, or at least `above`."""
        i = max(bisect_right(self.t, start) - 1, 0)
        for t, v in zip(self.t[i:], self.v[i:], strict=True):
            if not _unset(v) and ((below is not None and v <= below) or (above is not None and v >= above)):
                return max(t, start)
        return None


def _unset(value: float | None) -> bool:
    return value is None or value != value


class Seen:
    """A trace, of which the first flow and the bottleneck are looked at.

    Args:
        trace: as `haltere.core.trace` returns it.
        rate_bps: the link's rate at the beginning.
        rtt_s: the base RTT at the beginning.
        disturbed: when the first packet is lost by intent, seconds.
    """

    def __init__(self, trace: Mapping[str, Any], *, rate_bps: float, rtt_s: float, disturbed: float = 0.0) -> None:
        self.trace = trace
        self.rate_bps, self.rtt_s, self.disturbed = rate_bps, rtt_s, disturbed
        self.flow: Mapping[str, Any] = trace["result"]["flows"][0]
        self.links: list[Mapping[str, Any]] = trace["result"]["links"]
        self._series = {(one["who"], one["name"]): one for one in trace["series"]}

    @property
    def bdp(self) -> float:
        """The link's bandwidth-delay product, bytes."""
        return self.rate_bps * self.rtt_s / 8

    @property
    def end(self) -> float:
        """The length of the run, seconds."""
        return float(self.trace["result"]["virtual_s"])

    @property
    def tells(self) -> bool:
        """Whether the congestion control tells its state."""
        return (FLOW, "bbr_state") in self._series

    def __getitem__(self, name: str) -> Series:
        """Return a metric of the flow, or the `queue` of the bottleneck; empty if it was not recorded."""
        one = self._series.get((LINK if name == "queue" else FLOW, name), {"t_s": [], "v": []})
        return Series(one["t_s"], one["v"])

    def cut(self, t: float) -> list[tuple[Any, ...]]:
        """Return all that was recorded before a time, without the capacity of a link, which is the scenario's own."""
        return [
            (*key, [(at, v) for at, v in zip(one["t_s"], one["v"], strict=True) if at < t])
            for key, one in sorted(self._series.items())
            if key[1] != "capacity" and one["t_s"] and one["t_s"][0] < t
        ]

    @cached_property
    def stays(self) -> list[Stay]:
        """The states in turn; none if the congestion control does not tell them."""
        if not self.tells:
            return []
        one = self._series[FLOW, "bbr_state"]
        entered = [(t, one["values"][int(v)]) for t, v in zip(one["t_s"], one["v"], strict=True)]
        changes = [at for i, at in enumerate(entered) if i == 0 or entered[i - 1][1] != at[1]]
        ends = [*changes[1:], (self.end, None)]
        return [Stay(state, t, end, after) for (t, state), (end, after) in zip(changes, ends, strict=True)]

    def of(self, *states: str, start: float = 0.0, end: float = float("inf")) -> Iterator[Stay]:
        """Yield the stays in these states that begin between two times."""
        return (stay for stay in self.stays if stay.state in states and start <= stay.start <= end)

    def state(self, t: float) -> str | None:
        """Return the state at a time."""
        return next((stay.state for stay in self.stays if stay.start <= t < stay.end), None)

    def goodput(self, start: float, end: float) -> float:
        """Return what the application received between two times, bit/s."""
        received = self["received"]
        before, after = received.at(start) or 0.0, received.at(end) or 0.0
        return (after - before) * 8 / (end - start)

    def bandwidth(self, t: float) -> float | None:
        """Return BBR's estimate at a time: the largest bandwidth, or the short-term bound if that is less; bit/s."""
        largest, bound = self["max_bw"].at(t), self["bw_shortterm"].at(t)
        return largest if bound is None or largest is None else min(largest, bound)

    def estimated_bdp(self, t: float) -> float | None:
        """Return the bandwidth-delay product of BBR's estimates at a time, bytes."""
        bandwidth, rtt = self.bandwidth(t), self["min_rtt"].at(t)
        return None if bandwidth is None or rtt is None else bandwidth * rtt / 8
