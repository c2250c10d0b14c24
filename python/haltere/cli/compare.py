"""`haltere compare`: run, then a table and a verdict, or JSON."""

from __future__ import annotations

import json
from typing import Any

from rich import box
from rich.markup import escape

from haltere.adhoc import probes
from haltere.adhoc.comparison import measure
from haltere.adhoc.conditions import Comparison
from haltere.cli import exits, latency, show
from haltere.cli.verdicts import judged, verdicts
from haltere.errors import Interrupted
from haltere.metrics import METRICS
from haltere.runner.interrupt import stop_on_interrupt
from haltere.stats import Interval, jain, leads, mean, median

Entries = list[dict[str, Any]]


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
        print(json.dumps(entries, indent=1, allow_nan=False))
    elif entries:
        _print(what, [entries[position::count] for position in range(count)], done)
    if stop.is_set() and done < what.replications:
        raise Interrupted(f"stopped: {done} of {what.replications} replications are complete")
    exits.end(sum(entry["error"] is not None for entry in entries), len(entries))


def _print(what: Comparison, groups: list[Entries], replications: int) -> None:
    console = show.out()
    console.print(escape(_headline(what, replications)), style="dim")
    for line in _shares(console.print, groups) if what.share else _alone(console.print, groups):
        console.print(escape(line))


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


def _whole(title: str) -> dict[str, Any]:
    """On a narrow terminal cells are folded, never cut; a contender's name keeps some width."""
    return {"overflow": "fold", "min_width": 12 if title == "contender" else None}


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
        table.add_column(title, justify="left" if title == "contender" else "right", **_whole(title))
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


def _verdicts(groups: list[Entries], first: int) -> list[str]:
    """Compare the first with each of the others, in the replications in which both succeeded."""
    metric = METRICS["completion_time"]
    names = [str(entries[0]["contender"]) for entries in groups]
    times = [[None if e["error"] is not None else e["completion_s"] for e in entries] for entries in groups]
    found = leads(times, first, alike=metric.alike)
    if not found:
        return [f"only {names[first]} completed"]
    return verdicts(names, first, found, metric.alike, "the lowest median time", "time")


def _shares(print_: Any, groups: list[Entries]) -> list[str]:
    table = show.table(caption="median [95 % interval]", box=box.SIMPLE_HEAD, show_lines=False)
    for title in ("flow", "contender", "goodput\nMbit/s", "share\n%", "retransmissions\npackets"):
        table.add_column(title, justify="left" if title in ("flow", "contender") else "right", **_whole(title))
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
