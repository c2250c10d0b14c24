"""The verdict of a comparison: who is first, against whom it was tested, and whether the difference is real.

The table's values, the one that is first and the ratios are of one kind: trimmed means, geometric where all values are
positive (`haltere.stats.trimmed`). Order, tests and sentences are made in `crates/stats/src/verdict.rs`, as
the playground's page has the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from haltere import _core
from haltere.adhoc.comparison import FIELDS, is_film
from haltere.adhoc.conditions import is_call
from haltere.adhoc.noticed import CALL, FILM, noticed
from haltere.errors import ArgumentError, among, as_written
from haltere.metrics import METRICS, Metric
from haltere.stats import Interval, Lead, typical
from haltere.stats.ranking import ALIKE, lead

Entries = Sequence[dict[str, Any]]
"""The entries of a contender, or of a flow that shares the link: one a replication."""
LATENCY = "glass_to_glass_p95"
"""The metric by which calls are judged."""
QUALITY = "qoe_lin"
"""The metric by which films are judged."""
ALL_PAIRS = 4
"""Up to so many flows that share a link, each is compared with each."""


def named(groups: Sequence[Entries]) -> list[str]:
    """Return what each group is called: its contender, and its queue and direction where groups differ in these."""
    firsts = [group[0] for group in groups]
    others = [name for name in ("queue", "direction") if len({one[name] for one in firsts}) > 1]
    return [", ".join(str(one[name]) for name in ("contender", *others)) for one in firsts]


@dataclass(frozen=True)
class Verdict:
    """How those that were compared stand by one metric.

    Attributes:
        metric: the metric; its margin says what makes no practical difference.
        names: what each is called.
        values: of each, one a replication; None where it failed.
        has: the words for the best value, such as `the lowest mean time`.
        of: the words for the metric in a ratio, such as `time`.
        places: where each stands among all groups of entries.
        every: whether each is compared with each, or only the first with the others.
    """

    metric: Metric
    names: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    has: str
    of: str
    places: tuple[int, ...]
    every: bool = False

    @property
    def alike(self) -> float:
        """The margin of practical equivalence of a ratio."""
        return self.metric.alike if self.metric.ratio else ALIKE

    @cached_property
    def typical(self) -> list[Interval | None]:
        """The trimmed mean of each with its interval; None where all failed."""
        there = [[value for value in own if value is not None] for own in self.values]
        return [typical(own) if own else None for own in there]

    @cached_property
    def _judged(self) -> tuple[list[int], list[tuple[int, _core.Standing]], list[str]]:
        if any(value is not None and value <= 0 for own in self.values for value in own):
            order = self._by_means()
            return order, [], self._without_ratios(order)
        return _core.verdict(
            list(self.names),
            [list(own) for own in self.values],
            better=self.metric.better,
            alike=self.alike,
            has=self.has,
            of=self.of,
            every=self.every,
        )

    def _by_means(self) -> list[int]:
        """Return the places of those that have values, the best first, and after these those that failed once."""
        sign = -1 if self.metric.better == "higher" else 1
        means = {at: sign * one.value for at, one in enumerate(self.typical) if one is not None}
        return sorted(means, key=lambda at: (any(value is None for value in self.values[at]), means[at]))

    def _without_ratios(self, order: Sequence[int]) -> list[str]:
        """Return the verdict where some values are 0, to which there is no ratio and so no test."""
        unit = f" {self.metric.unit}" if self.metric.unit else ""
        means = [(self.names[at], one.value) for at in order if (one := self.typical[at]) is not None]
        said = ", ".join(f"{name} {value:.3g}{unit}" for name, value in means)
        if len(means) < 2:
            return []
        if len({value for _, value in means}) == 1:
            return [f"no winner: all have the same {self.of} ({said})"]
        return [f"{means[0][0]} has {self.has}: {said}; not tested, as there is no ratio to a value of 0"]

    @property
    def order(self) -> list[int]:
        """The places of those that have values, the best first, and after these those that failed in a replication.

        A mean over the runs that did not fail says nothing beside means over all.
        """
        return self._judged[0]

    @property
    def first(self) -> int | None:
        """The place of the best; None where there is none."""
        return self.order[0] if self.order else None

    @cached_property
    def leads(self) -> list[tuple[int, Lead]]:
        """Who was compared with whom, each with the place of the better one; all corrected together."""
        return [(better, lead(found)) for better, found in self._judged[1]]

    def rows(self) -> list[dict[str, Any]]:
        """Return each comparison as data: ratio, ends of its interval, p-value, margin, and how the two stand."""
        return [
            {
                "metric": self.metric.name,
                "of": self.names[better],
                "to": self.names[lead.other],
                "ratio": lead.ratio.value,
                "low": lead.ratio.low,
                "high": lead.ratio.high,
                "p": lead.p,
                "pairs": lead.pairs,
                "replications": lead.n,
                "alike": self.alike,
                "real": self._ahead(lead),
                "stands": lead.stands,
            }
            for better, lead in self.leads
        ]

    def _ahead(self, lead: Lead) -> bool:
        return lead.stands == ("above" if self.metric.better == "higher" else "below")

    def lines(self) -> list[str]:
        """Return the verdict in sentences: a headline, and a line about each comparison."""
        return self._judged[2]


def decides(name: str) -> Metric:
    """Return the metric of flows by which a comparison is to be judged.

    Raises:
        InputError: if there is none of this name.
    """
    known = {
        one.name: one
        for one in METRICS.values()
        if one.table == "flows" and one.better != "neither" and one.column in FIELDS
    }
    if name not in known:
        raise ArgumentError(
            "is no metric of flows", field="metric", given=as_written(name), right=among(name, list(known))
        )
    return known[name]


def verdicts(groups: Sequence[Entries], *, share: bool, metric: str | None = None) -> list[Verdict]:
    """Return the verdicts of a comparison: of completion times by direction, or of goodputs where flows share a link.

    Calls are judged by their latency from glass to glass and films by their quality, where they share a link by both.
    `metric` is another metric that decides. Where there was a probe, and nothing shared the link, there is one of its
    mean RTT, too.
    """
    calls, films = _calls(groups), _films(groups)
    if metric is not None:
        return _of_metric(groups, range(len(groups)), decides(metric), flow_names(groups) if share else named(groups))
    if share:
        others = [
            one
            for places, name in ((calls, LATENCY), (films, QUALITY))
            if len(places) > 1
            for one in _of_metric(groups, places, METRICS[name], flow_names(groups))
        ]
        return _of_shares(groups) + others
    if calls:
        return _of_metric(groups, calls, METRICS[LATENCY], named(groups))
    if films:
        return _of_metric(groups, films, METRICS[QUALITY], named(groups))
    ways: dict[str, list[int]] = {}
    for at, group in enumerate(groups):
        ways.setdefault(group[0]["direction"], []).append(at)
    names, found = named(groups), []
    for way, own in ways.items():
        has = "the lowest mean time" + (f" {way}" if len(ways) > 1 else "")
        times = tuple(tuple(_time(one) for one in groups[at]) for at in own)
        found.append(
            Verdict(METRICS["completion_time"], tuple(names[at] for at in own), times, has, "time", tuple(own))
        )
    if "probe_rtt_ms" in groups[0][0]:
        # The flows of both directions meet the same probe.
        own = next(iter(ways.values()))
        called = tuple(named([groups[at] for at in own]))
        means = tuple(tuple(mean_rtt(one) for one in groups[at]) for at in own)
        has = "the lowest mean RTT under load"
        found.append(Verdict(METRICS["latency"], called, means, has, "RTT under load", tuple(own)))
    return found


def _calls(groups: Sequence[Entries]) -> list[int]:
    """Return the places of the calls."""
    return [at for at, group in enumerate(groups) if is_call(group[0]["contender"])]


def _films(groups: Sequence[Entries]) -> list[int]:
    """Return the places of the films."""
    return [at for at, group in enumerate(groups) if any(map(is_film, group))]


def sentences(groups: Sequence[Entries], *, share: bool, metric: str | None = None) -> list[str]:
    """Return the verdicts in sentences; with calls and films, the first say what a person would notice of them."""
    names = flow_names(groups) if share else named(groups)
    first = [
        noticed([names[at] for at in places], [groups[at] for at in places], kind)
        for kind, places in ((CALL, _calls(groups)), (FILM, _films(groups)))
        if places
    ]
    return [*first, *(line for one in verdicts(groups, share=share, metric=metric) for line in one.lines())]


def _of_metric(groups: Sequence[Entries], places: Sequence[int], metric: Metric, names: Sequence[str]) -> list[Verdict]:
    ways: dict[str, list[int]] = {}
    for at in places:
        ways.setdefault(groups[at][0]["direction"], []).append(at)
    found = []
    for way, own in ways.items():
        which = "lowest" if metric.better == "lower" else "highest"
        has = f"the {which} mean {metric.spoken}" + (f" {way}" if len(ways) > 1 else "")
        values = tuple(tuple(_value(one, metric) for one in groups[at]) for at in own)
        found.append(Verdict(metric, tuple(names[at] for at in own), values, has, metric.spoken, tuple(own)))
    return found


def _value(entry: dict[str, Any], metric: Metric) -> float | None:
    value = entry[metric.column]
    if entry["error"] is not None or value is None:
        return None
    if metric.share_of is not None:
        whole_of = entry[metric.share_of]
        return value / whole_of / metric.divisor if whole_of else None
    return float(value) / metric.divisor


def _time(entry: dict[str, Any]) -> float | None:
    return None if entry["error"] is not None else entry["completion_s"]


def mean_rtt(entry: dict[str, Any]) -> float | None:
    """Return the mean RTT of the probe's requests that were answered, ms."""
    rtts = [rtt for rtt in entry["probe_rtt_ms"] if rtt is not None]
    return sum(rtts) / len(rtts) if rtts else None


def whole(groups: Sequence[Entries]) -> list[int]:
    """Return the replications in which every flow that shares the link did well and something arrived."""
    together = [[group[r] for group in groups] for r in range(len(groups[0]))]
    return [
        r
        for r, flows in enumerate(together)
        if all(one["error"] is None for one in flows) and sum(one["goodput_bps"] for one in flows)
    ]


def starved(groups: Sequence[Entries]) -> dict[int, int]:
    """Return the flows that got nothing in some replications, each with how many these are."""
    used = whole(groups)
    counts = {at: sum(group[r]["goodput_bps"] <= 0 for r in used) for at, group in enumerate(groups)}
    return {at: count for at, count in counts.items() if count}


def flow_names(groups: Sequence[Entries]) -> list[str]:
    """Return what each flow that shares the link is called."""
    return [f"flow {at} ({name})" for at, name in enumerate(named(groups))]


def _of_shares(groups: Sequence[Entries]) -> list[Verdict]:
    """Compare the flows of each queue and direction with each other; flows that starved have no ratio."""
    found, names, hungry = [], flow_names(groups), starved(groups)
    for key in dict.fromkeys((group[0]["queue"], group[0]["direction"]) for group in groups):
        own = [
            at
            for at, group in enumerate(groups)
            if (group[0]["queue"], group[0]["direction"]) == key and at not in hungry
        ]
        used = whole([groups[at] for at in own]) if own else []
        if not used:
            continue
        metric, which = METRICS["goodput"], tuple(names[at] for at in own)
        values = tuple(tuple(groups[at][r]["goodput_bps"] / metric.divisor for r in used) for at in own)
        every = len(own) <= ALL_PAIRS
        found.append(Verdict(metric, which, values, "the highest mean goodput", "goodput", tuple(own), every))
    return found
