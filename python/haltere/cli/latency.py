"""Latency under load in the tables of `haltere compare`: columns, a sentence, and who has the lowest."""

from __future__ import annotations

from typing import Any

from haltere.cli import show
from haltere.cli.verdicts import verdicts as in_words
from haltere.metrics import METRICS
from haltere.stats import leads, mean, median

Entries = list[dict[str, Any]]

TITLES = ("RTT under load\nmean, ms", "RTT under load\n95th pct., ms", "probes lost\n%")


def measured(groups: list[Entries]) -> bool:
    """Whether there was a probe."""
    return "probe_rtt_ms" in groups[0][0]


def _answered(entry: dict[str, Any]) -> list[float]:
    return sorted(rtt for rtt in entry["probe_rtt_ms"] if rtt is not None)


def _means(entries: Entries) -> list[float]:
    """Return the mean RTT of each replication, ms; lost probes have none."""
    return [sum(rtts) / len(rtts) for rtts in map(_answered, entries) if rtts]


def _high(entries: Entries) -> list[float]:
    """Return the 95th percentile of each replication, ms, interpolated between the two nearest RTTs."""
    values = []
    for rtts in filter(None, map(_answered, entries)):
        below, part = divmod(0.95 * (len(rtts) - 1), 1)
        low, high = rtts[int(below)], rtts[min(int(below) + 1, len(rtts) - 1)]
        values.append(low + (high - low) * part)
    return values


def _lost(entries: Entries) -> list[float]:
    """Return the share of lost probes of each replication, %."""
    samples = [entry["probe_rtt_ms"] for entry in entries if entry["probe_rtt_ms"]]
    return [100 * rtts.count(None) / len(rtts) for rtts in samples]


def _cell(values: list[float], between: str = "\n") -> str:
    return show.interval(median(values), between=between) if values else "–"


def cells(entries: Entries) -> tuple[str, str, str]:
    """Return the cells under `TITLES` of one contender's entries."""
    return _cell(_means(entries)), _cell(_high(entries)), _cell(_lost(entries))


def sentence(entries: Entries) -> str:
    """Return what the probe saw of a link that all flows share."""
    means, high, lost = _means(entries), _high(entries), mean(_lost(entries)) if _lost(entries) else None
    if not means:
        return "RTT under load: no probe was answered"
    share = "" if lost is None else f"; {show.interval(lost, digits=3)} % of the probes lost"
    return (
        f"RTT under load: mean {_cell(means, ' ')} ms, 95th percentile {_cell(high, ' ')} ms "
        f"(median of the replications){share}"
    )


def waiting(entries: Entries) -> list[str]:
    """Return how long packets waited in the queue that all flows share; nothing where there are several."""
    waited = [
        [1e3 * entry[name] for entry in entries if entry[name] is not None]
        for name in ("queueing_delay_s", "max_queueing_delay_s")
    ]
    if not all(waited):
        return []
    mean_ms, most_ms = (show.interval(median(values), digits=3) for values in waited)
    return [f"queueing delay: mean {mean_ms} ms, longest {most_ms} ms (median of the replications)"]


def verdicts(groups: list[Entries]) -> list[str]:
    """Compare the contender of the lowest mean RTT with each of the others, where both have RTTs."""
    means = [_means(entries) for entries in groups]
    first = min((g for g in range(len(groups)) if means[g]), key=lambda g: median(means[g]).value, default=None)
    if first is None:
        return ["no probe was answered"]
    metric = METRICS["latency"]
    values = [[next(iter(_means([entry])), None) for entry in entries] for entries in groups]
    found = leads(values, first, alike=metric.alike)
    names = [str(entries[0]["contender"]) for entries in groups]
    what = "the lowest mean RTT under load"
    return in_words(names, first, found, metric.alike, what, "RTT under load") if found else []
