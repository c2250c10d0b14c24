"""`haltere compare`: run, then a table and a verdict, or JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich import box
from rich.markup import escape

from haltere.adhoc import probes
from haltere.adhoc.comparison import measure
from haltere.adhoc.conditions import Comparison
from haltere.cli import exits, show
from haltere.errors import Interrupted
from haltere.metrics import METRICS
from haltere.runner.interrupt import stop_on_interrupt
from haltere.stats import Interval, Lead, jain, leads, mean, median

Entries = list[dict[str, Any]]
CAPTION = "median [95 % interval]"
NAME_WIDTH = 12
"""On a narrow terminal cells are folded, never cut; a contender's name keeps some width."""
TITLES = (
    *("contender", "completion time\ns", "goodput\nMbit/s", "overhead\n% of object", "retransmissions\npackets"),
    *("RTT\nms", "queueing delay\nms"),
)


def command(contenders: list[str], what: Comparison, *, as_json: bool) -> None:
    """Run the comparison and print it."""
    with show.progress("comparing") as advance, stop_on_interrupt() as stop:
        entries = measure(
            contenders,
            what,
            replications=what.replications,
            seed=what.seed,
            workers=what.workers,
            stop=stop,
            on_progress=advance,
        )
    # Entries come replication by replication, in each of them contender by contender, or flow by flow.
    count = len(what.each_flow(contenders)) if what.share else len(contenders)
    done = len(entries) // count
    if as_json:
        show.data(entries)
    elif entries:
        _print(what, [entries[position::count] for position in range(count)], done)
    if stop.is_set() and done < what.replications:
        raise Interrupted(f"stopped: {done} of {what.replications} replications are complete")
    exits.end(sum(entry["error"] is not None for entry in entries), len(entries))


def _print(what: Comparison, groups: list[Entries], replications: int) -> None:
    show.say(_headline(what, replications), style="dim")
    for line in _shares(groups) if what.share else _alone(groups):
        show.say(line)


def _headline(conditions: Comparison, replications: int) -> str:
    sent = f"sharing for {conditions.duration}, goodput from 10 s" if conditions.share else conditions.size
    times = f"{replications} replication{'s' if replications > 1 else ''}"
    paths = [path.described() for path in conditions.each_path]
    if conditions.paths:
        paths = [f"path {number}: {path}" for number, path in enumerate(paths)]
    if conditions.flows > 1:
        sent = f"{conditions.flows} flows of each, {sent}"
    probe = "" if conditions.probe is None else f"; {probes.described(conditions.probe)}"
    return f"{'; '.join(paths)}; {sent} over {conditions.app}{probe}; {times}"


def _column(entries: Entries, name: str) -> list[float]:
    return [float(entry[name]) for entry in entries if entry[name] is not None and entry["error"] is None]


def _cell(values: list[float], scale: float = 1.0, digits: int = 4) -> str:
    return show.interval(median(values), scale, digits, between="\n") if values else "–"


def _overhead(entries: Entries) -> list[float]:
    return [100 * (e["wire_bytes"] - e["bytes"]) / e["bytes"] for e in entries if e["error"] is None and e["bytes"]]


def _failures(groups: list[Entries]) -> list[str]:
    lines = []
    for entries in groups:
        reasons = [str(entry["error"]) for entry in entries if entry["error"] is not None]
        if reasons:
            lines.append(f"{entries[0]['contender']}: {len(reasons)} of {len(entries)} failed: {reasons[0]}")
    return lines


def _alone(groups: list[Entries]) -> list[str]:
    times = [_column(entries, "completion_s") for entries in groups]
    winner = min((g for g in range(len(groups)) if times[g]), key=lambda g: median(times[g]).value, default=None)
    probed = measured(groups)
    table = show.table(*TITLES, *(LATENCY_TITLES if probed else ()), caption=CAPTION, box=box.SIMPLE_HEAD)
    table.columns[0].min_width = NAME_WIDTH
    for g, entries in enumerate(groups):
        table.add_row(
            escape(str(entries[0]["contender"])),
            _cell(times[g]),
            _cell(_column(entries, "goodput_bps"), 1e-6),
            _cell(_overhead(entries), digits=3),
            _cell(_column(entries, "retransmitted_packets")),
            _cell(_column(entries, "mean_rtt_s"), 1e3),
            _cell(_column(entries, "bottleneck_mean_queueing_delay_s"), 1e3, 3),
            *(cells(entries) if probed else ()),
            style="bold" if g == winner and len(groups) > 1 else "",
        )
    show.out().print(table)
    lines = _failures(groups)
    if len(groups) > 1:
        lines += _verdicts(groups, winner) if winner is not None else []
        lines += latency_verdicts(groups) if probed else []
    return lines


def _verdicts(groups: list[Entries], first: int) -> list[str]:
    """Compare the first with each of the others, in the replications in which both succeeded."""
    metric = METRICS["completion_time"]
    names = [str(entries[0]["contender"]) for entries in groups]
    times = [[None if e["error"] is not None else e["completion_s"] for e in entries] for entries in groups]
    found = leads(times, first, alike=metric.alike)
    if not found:
        return [f"only {names[first]} completed"]
    return verdicts(names, first, found, metric.alike, "the lowest median time", "time")


def _shares(groups: list[Entries]) -> list[str]:
    titles = ("flow", "contender", "goodput\nMbit/s", "share\n%", "retransmissions\npackets")
    table = show.table(*titles, left=2, caption=CAPTION, box=box.SIMPLE_HEAD)
    table.columns[1].min_width = NAME_WIDTH
    together = [[entries[r] for entries in groups] for r in range(len(groups[0]))]
    whole = [
        flows
        for flows in together
        if all(flow["error"] is None for flow in flows) and sum(flow["goodput_bps"] for flow in flows)
    ]
    for g, entries in enumerate(groups):
        shares = [100 * flows[g]["goodput_bps"] / sum(flow["goodput_bps"] for flow in flows) for flows in whole]
        retransmissions = _cell(_column(entries, "retransmitted_packets"))
        table.add_row(
            str(g),
            escape(str(entries[0]["contender"])),
            _cell(_column(entries, "goodput_bps"), 1e-6),
            _cell(shares, digits=3),
            retransmissions,
        )
    show.out().print(table)
    # The flows share one queue, so there is one latency.
    seen = [*([sentence(groups[0])] if measured(groups) else []), *waiting(groups[0])]
    if not whole or len(groups) < 2:
        return _failures(groups) + seen
    index: Interval = mean([jain([flow["goodput_bps"] for flow in flows]) for flows in whole])
    return [
        *_failures(groups),
        *seen,
        f"Jain's index (1 = equal shares): {show.interval(index, digits=3)}",
        *_share_verdict(groups, whole),
    ]


def _share_verdict(groups: list[Entries], whole: list[Entries]) -> list[str]:
    """Compare the flow with the largest share with the one with the smallest; both are picked after the fact."""
    metric = METRICS["goodput"]
    values = [[float(flows[g]["goodput_bps"]) for flows in whole] for g in range(len(groups))]
    names = [f"flow {g} ({entries[0]['contender']})" for g, entries in enumerate(groups)]
    starved = [g for g, one in enumerate(values) if min(one) <= 0]
    if starved:
        return [f"{names[g]} starved in {sum(v <= 0 for v in values[g])} of {len(whole)} replications" for g in starved]
    ranked = sorted(range(len(groups)), key=lambda g: -median(values[g]).value)
    first, last = ranked[0], ranked[-1]
    lead = next(one for one in leads(values, first, alike=metric.alike) if one.other == last)
    ratio = show.interval(lead.ratio, digits=3)
    return [f"{names[first]} gets {ratio} times the goodput of {names[last]}: {judged(lead, metric.alike)}"]


LATENCY_TITLES = ("RTT under load\nmean, ms", "RTT under load\n95th pct., ms", "probes lost\n%")


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


def _latency_cell(values: list[float], between: str = "\n") -> str:
    return show.interval(median(values), between=between) if values else "–"


def cells(entries: Entries) -> tuple[str, str, str]:
    """Return the cells under `LATENCY_TITLES` of one contender's entries."""
    return _latency_cell(_means(entries)), _latency_cell(_high(entries)), _latency_cell(_lost(entries))


def sentence(entries: Entries) -> str:
    """Return what the probe saw of a link that all flows share."""
    means, high, lost = _means(entries), _high(entries), mean(_lost(entries)) if _lost(entries) else None
    if not means:
        return "RTT under load: no probe was answered"
    share = "" if lost is None else f"; {show.interval(lost, digits=3)} % of the probes lost"
    return (
        f"RTT under load: mean {_latency_cell(means, ' ')} ms, 95th percentile {_latency_cell(high, ' ')} ms "
        f"(median of the replications){share}"
    )


def waiting(entries: Entries) -> list[str]:
    """Return how long packets waited in the queue that all flows share; nothing where there are several."""
    waited = [
        [1e3 * entry[name] for entry in entries if entry[name] is not None]
        for name in ("bottleneck_mean_queueing_delay_s", "bottleneck_max_queueing_delay_s")
    ]
    if not all(waited):
        return []
    mean_ms, most_ms = (show.interval(median(values), digits=3) for values in waited)
    return [f"queueing delay: mean {mean_ms} ms, longest {most_ms} ms (median of the replications)"]


def latency_verdicts(groups: list[Entries]) -> list[str]:
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
    return verdicts(names, first, found, metric.alike, what, "RTT under load") if found else []


def verdicts(names: Sequence[str], first: int, leads: Sequence[Lead], alike: float, what: str, of: str) -> list[str]:
    """Return a headline about the first, and a line about each of the others.

    Args:
        names: the contenders.
        first: the place of the one that was picked as the first.
        leads: how it stands against the others.
        alike: the margin within which two are alike.
        what: what it has, such as `the lowest median time`.
        of: what the ratios are of, such as `time`.
    """
    if all(lead.ahead for lead in leads):
        head = f"{names[first]} wins: it has {what}, and is ahead of every other"
    elif any(lead.ahead for lead in leads):
        head = f"{names[first]} has {what}, but is not shown to be ahead of every other"
    elif all(lead.stands == "alike" for lead in leads):
        head = f"no winner: all are within {100 * alike:g} % of {names[first]}, which has {what}"
    else:
        head = f"no winner is shown; {names[first]} has {what}"
    ratio = [show.interval(lead.ratio, digits=3) for lead in leads]
    lines = [
        f"  {text} of {names[lead.other]}'s {of}: {judged(lead, alike)}"
        for text, lead in zip(ratio, leads, strict=True)
    ]
    return [f"{head}:", *lines]


def judged(lead: Lead, alike: float) -> str:
    """Return whether a lead is real, with its test, or how many replications could tell."""
    tested = f"paired over {lead.n} replications, {_p(lead)}"
    if lead.n == 1:
        return f"one replication cannot tell; {lead.needed} could"
    if lead.stands == "alike":
        return f"alike, as the margin is {100 * alike:g} %" + (
            "; the same in every replication" if lead.exact else f" ({tested})"
        )
    if lead.exact:
        return "exact, as nothing random happened and every replication was the same"
    if lead.ahead:
        return f"a real difference ({tested})"
    if lead.needed is not None:
        return f"undecided: {lead.n} replications cannot tell, {lead.needed} could ({tested})"
    return f"not shown to be a real difference ({tested})"


def _p(lead: Lead) -> str:
    p = f"p = {show.number(lead.p or 0.0, 2)}"
    return p if lead.pairs == 1 else f"{p} corrected for all {lead.pairs} pairs"
