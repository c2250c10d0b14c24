"""`haltere compare`: run, then a table and a verdict, or JSON."""

from __future__ import annotations

import json
from typing import Any

from rich import box
from rich.markup import escape

from haltere import probes
from haltere.cli import latency, show
from haltere.comparison import measure
from haltere.conditions import Comparison
from haltere.stats import Interval, Paired, holm, jain, mean, median, paired

Entries = list[dict[str, Any]]


def command(contenders: list[str], what: Comparison, *, as_json: bool) -> None:
    """Run the comparison and print it."""
    with show.progress("comparing") as advance:
        entries = measure(
            contenders,
            what,
            replications=what.replications,
            seed=what.seed,
            workers=what.workers,
            on_progress=advance,
        )
    console = show.out()
    if as_json:
        print(json.dumps(entries, indent=1, allow_nan=False))
        return
    console.print(escape(_headline(what)), style="dim")
    # Entries come replication by replication, in each of them contender by contender, or flow by flow.
    count = len(what.each_flow(contenders)) if what.share else len(contenders)
    groups = [entries[position::count] for position in range(count)]
    for line in _shares(console.print, groups) if what.share else _alone(console.print, groups):
        console.print(escape(line))


def _headline(conditions: Comparison) -> str:
    sent = f"sharing for {conditions.duration}, goodput from 10 s" if conditions.share else conditions.size
    times = f"{conditions.replications} replication{'s' if conditions.replications > 1 else ''}"
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


def _alone(print_: Any, groups: list[Entries]) -> list[str]:
    times = [_column(entries, "completion_s") for entries in groups]
    winner = min((g for g in range(len(groups)) if times[g]), key=lambda g: median(times[g]).value, default=None)
    table = show.table(caption="median [95 % interval]", box=box.SIMPLE_HEAD, show_lines=False)
    for title in (
        "contender",
        "completion time\ns",
        "goodput\nMbit/s",
        "overhead\n% of object",
        "retransmissions\npackets",
        "RTT\nms",
        "queueing delay\nms",
        *(latency.TITLES if latency.measured(groups) else ()),
    ):
        table.add_column(title, justify="left" if title == "contender" else "right")
    for g, entries in enumerate(groups):
        table.add_row(
            escape(str(entries[0]["contender"])),
            _cell(times[g]),
            _cell(_column(entries, "goodput_bps"), 1e-6),
            _cell(_overhead(entries), digits=3),
            _cell(_column(entries, "retransmitted_packets")),
            _cell(_column(entries, "mean_rtt_s"), 1e3),
            _cell(_column(entries, "queueing_delay_s"), 1e3, 3),
            *(latency.cells(entries) if latency.measured(groups) else ()),
            style="bold" if g == winner and len(groups) > 1 else "",
        )
    print_(table)
    lines = _failures(groups)
    if len(groups) > 1:
        lines += _verdicts(groups, winner) if winner is not None else []
        lines += latency.verdicts(groups) if latency.measured(groups) else []
    return lines


def _verdicts(groups: list[Entries], winner: int) -> list[str]:
    """Compare the winner with each of the others, in the replications in which both succeeded."""
    others, comparisons = [], []
    for g, entries in enumerate(groups):
        pairs = [
            (mine["completion_s"], other["completion_s"])
            for mine, other in zip(groups[winner], entries, strict=True)
            if mine["error"] is None and other["error"] is None
        ]
        if g != winner and pairs:
            others.append(entries[0]["contender"])
            comparisons.append(paired([mine for mine, _ in pairs], [other for _, other in pairs]))
    adjusted = holm([comparison.p for comparison in comparisons])
    name = groups[winner][0]["contender"]
    if not comparisons:
        return [f"only {name} completed"]
    facts = [comparison.verdict_at(p) for comparison, p in zip(comparisons, adjusted, strict=True)]
    head = f"{name} wins" if all(facts) else f"{name} is first"
    return [f"{head}:"] + [_sentence(o, c, p) for o, c, p in zip(others, comparisons, adjusted, strict=True)]


def _sentence(other: str, comparison: Paired, p: float | None) -> str:
    ratio = show.interval(comparison.ratio, digits=3)
    text = f"  {ratio} of {other}'s time"
    real = comparison.verdict_at(p)
    if comparison.exact and comparison.n > 1:
        return text + (
            "; exactly: nothing random happened, every replication was the same"
            if real
            else ": exactly the same in every replication"
        )
    if comparison.exact:
        return text + "; one replication cannot tell whether the difference is real"
    tested = f"paired over {comparison.n} replications, p = {show.number(p or 0.0, 2)}"
    if real is None:
        return f"{text}; undecided: {tested}, and fewer than 6 replications cannot tell"
    return f"{text}; the difference is {'real' if real else 'not shown to be real'} ({tested})"


def _shares(print_: Any, groups: list[Entries]) -> list[str]:
    table = show.table(caption="median [95 % interval]", box=box.SIMPLE_HEAD, show_lines=False)
    for title in ("flow", "contender", "goodput\nMbit/s", "share\n%", "retransmissions\npackets"):
        table.add_column(title, justify="left" if title in ("flow", "contender") else "right")
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
    print_(table)
    # The flows share one queue, so there is one latency.
    seen = [*([latency.sentence(groups[0])] if latency.measured(groups) else []), *latency.waiting(groups[0])]
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
    ranked = sorted(range(len(groups)), key=lambda g: -median([flows[g]["goodput_bps"] for flows in whole]).value)
    first, last = ranked[0], ranked[-1]
    if min(flows[last]["goodput_bps"] for flows in whole) <= 0:
        return [f"{groups[last][0]['contender']} (flow {last}) starved"]
    comparison = paired(
        [flows[first]["goodput_bps"] for flows in whole], [flows[last]["goodput_bps"] for flows in whole]
    )
    ratio = show.interval(comparison.ratio, digits=3)
    winner, loser = (f"flow {g} ({groups[g][0]['contender']})" for g in (first, last))
    said = {
        True: "a real difference",
        False: "not shown to be a real difference",
        None: "too few replications to tell whether that is real",
    }[comparison.real]
    tested = "" if comparison.p is None else f", paired p = {show.number(comparison.p, 2)}"
    return [f"{winner} gets {ratio} times the goodput of {loser}: {said}{tested}"]
