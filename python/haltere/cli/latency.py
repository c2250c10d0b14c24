"""Latency under load in the tables of `haltere compare`: columns, a sentence, and who has the lowest."""

from __future__ import annotations

from typing import Any

from haltere.cli import show
from haltere.stats import Paired, holm, mean, median, paired

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
    others: list[str] = []
    comparisons: list[Paired] = []
    for g, entries in enumerate(groups):
        both = [pair for pair in zip(groups[first], entries, strict=True) if all(map(_answered, pair))]
        if g != first and both:
            others.append(str(entries[0]["contender"]))
            mine, theirs = ([_means([entry])[0] for entry in side] for side in zip(*both, strict=True))
            comparisons.append(paired(mine, theirs))
    name = groups[first][0]["contender"]
    adjusted = holm([comparison.p for comparison in comparisons])
    lines = [_sentence(o, c, p) for o, c, p in zip(others, comparisons, adjusted, strict=True)]
    return [f"{name} has the lowest mean RTT under load:", *lines] if lines else []


def _sentence(other: str, comparison: Paired, p: float | None) -> str:
    text = f"  {show.interval(comparison.ratio, digits=3)} of {other}'s"
    real = comparison.verdict_at(p)
    if comparison.exact:
        if comparison.n == 1:
            return f"{text}; one replication cannot tell whether the difference is real"
        return f"{text}; exactly: every replication was the same"
    tested = f"paired over {comparison.n} replications, p = {show.number(p or 0.0, 2)}"
    if real is None:
        return f"{text}; undecided: {tested}, and fewer than 6 replications cannot tell"
    return f"{text}; the difference is {'real' if real else 'not shown to be real'} ({tested})"
