"""`haltere compare`: run, then a table and a verdict, or JSON."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.markup import escape

from haltere import fidelity as fidelities
from haltere.adhoc import probes
from haltere.adhoc.comparison import is_film, measure
from haltere.adhoc.conditions import Comparison, is_call
from haltere.adhoc.shown import ALONE, CALLS, CALLS_BESIDE, CAPTION, FILMS, FOOTNOTE, LATENCY, SHARED, Shown
from haltere.adhoc.verdict import decides, flow_names, mean_rtt, named, sentences, starved, verdicts, whole
from haltere.cli import exits, show
from haltere.documents import shown
from haltere.errors import Interrupted, counted
from haltere.runner.interrupt import stop_on_interrupt
from haltere.stats import Interval, jain, mean, typical

Entries = list[dict[str, Any]]
NAME_WIDTH = 12
"""On a narrow terminal cells are folded, never cut; a contender's name keeps some width."""


def command(contenders: list[str], what: Comparison, *, as_json: bool, out: Path | None = None) -> None:
    """Run the comparison, print it, and write its figure if a file is given."""
    if out is not None:
        from haltere.adhoc.picture import refuse_format

        refuse_format(out)
    if what.metric is not None:
        decides(what.metric)
    what = what.suited(contenders)
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
    # Entries come replication by replication, in each of them by queue and contender, and then by direction or flow.
    of_each = len(what.each_way()) if what.share else len(what.ways)
    count = len(contenders) * of_each * len(what.each)
    done = len(entries) // count
    groups = [entries[position::count] for position in range(count)]
    if entries:
        _tell(what, contenders, groups, as_json=as_json)
        if out is not None:
            from haltere.adhoc.picture import draw

            found = verdicts(groups, share=what.share, metric=what.metric)
            written = draw(found, out, _headline(what, contenders, done))
            (show.note if as_json else show.say)(f"figure: {shown(written)}")
    elif as_json:
        show.data(entries)
    if stop.is_set() and done < what.replications:
        raise Interrupted(f"stopped: {done} of {what.replications} replications are complete")
    exits.end(sum(entry["error"] is not None for entry in entries), len(entries))


def _tell(what: Comparison, contenders: list[str], groups: list[Entries], *, as_json: bool) -> None:
    replications = len(groups[0])
    if as_json:
        against = _against(groups, what)
        together = zip(*groups, strict=True)
        show.data([entry | {"against": against[at]} for flows in together for at, entry in enumerate(flows)])
        return
    show.say(_headline(what, contenders, replications), style="dim")
    for line in _shares(groups, what) if what.share else _alone(groups, what):
        show.say(line)
    if replications > 1:
        show.say(FOOTNOTE, style="dim")


def _against(groups: list[Entries], what: Comparison) -> list[list[dict[str, Any]]]:
    """Return, for the entries of each group, the comparisons in which it is the better one."""
    found: list[list[dict[str, Any]]] = [[] for _ in groups]
    for one in verdicts(groups, share=what.share, metric=what.metric):
        for (better, _), row in zip(one.leads, one.rows(), strict=True):
            found[one.places[better]].append(row)
    return found


def _headline(conditions: Comparison, contenders: Sequence[str], replications: int) -> str:
    calls = all(map(is_call, contenders))
    alone = f"calls of {conditions.duration}" if calls else conditions.size
    if conditions.video is not None:
        alone = f"films by {conditions.video}"
    sent = f"sharing for {conditions.duration}, goodput from 10 s" if conditions.share else alone
    paths = [path.described() for path in conditions.each_path]
    if conditions.paths:
        paths = [f"path {number}: {path}" for number, path in enumerate(paths)]
    if conditions.queues:
        paths = [f"{one.described()}" for one in conditions.each]
    if conditions.flows > 1:
        sent = f"{conditions.flows} flows of each, {sent}"
    if conditions.direction != "down":
        sent += {"up": " up", "both": " down and up at once"}[conditions.direction]
    probe = "" if conditions.probe is None else f"; {probes.described(conditions.probe)}"
    app = "" if calls else f" over {conditions.app}"
    where = "" if fidelities.of(conditions.fidelity).modelled else f"; fidelity {conditions.fidelity}"
    return f"{'; '.join(paths)}; {sent}{app}{probe}; {counted(replications, 'replication')}{where}"


def _column(entries: Entries, name: str) -> list[float]:
    return [float(entry[name]) for entry in entries if entry[name] is not None and entry["error"] is None]


def _cell(column: Shown, values: list[float]) -> str:
    return show.interval(typical(values), column.scale, column.digits, between="\n") if values else "–"


def _values(column: Shown, entries: Entries) -> list[float]:
    return _overhead(entries) if column.field == "overhead" else _column(entries, column.field)


def _overhead(entries: Entries) -> list[float]:
    return [100 * (e["wire_bytes"] - e["bytes"]) / e["bytes"] for e in entries if e["error"] is None and e["bytes"]]


def _failures(groups: list[Entries]) -> list[str]:
    lines = []
    for name, entries in zip(named(groups), groups, strict=True):
        reasons = [str(entry["error"]) for entry in entries if entry["error"] is not None]
        if reasons:
            lines.append(f"{name}: {len(reasons)} of {len(entries)} failed: {reasons[0]}")
    return lines


def _alone(groups: list[Entries], what: Comparison) -> list[str]:
    found, names = verdicts(groups, share=False, metric=what.metric), named(groups)
    best = {one.names[one.first] for one in found if one.first is not None and one.metric.name != "latency"}
    probed, columns = measured(groups), _columns(groups)
    titles = ("contender", *(column.title for column in columns), *(column.title for column in LATENCY if probed))
    table = show.table(*titles, caption=CAPTION, box=box.SIMPLE_HEAD)
    table.columns[0].min_width = NAME_WIDTH
    for name, entries in zip(names, groups, strict=True):
        table.add_row(
            escape(name),
            *(_cell(column, _values(column, entries)) for column in columns),
            *(cells(entries) if probed else ()),
            style="bold" if name in best and len(groups) > 1 else "",
        )
    show.out().print(table)
    unanswered = probed and not any(_means(entries) for entries in groups)
    return [
        *_failures(groups),
        *sentences(groups, share=False, metric=what.metric),
        *(["no probe was answered"] if unanswered else []),
    ]


def _columns(groups: list[Entries]) -> tuple[Shown, ...]:
    """Return the columns of those that ran one after the other."""
    if is_call(groups[0][0]["contender"]):
        return CALLS
    return FILMS if any(map(is_film, groups[0])) else ALONE


def _shares(groups: list[Entries], what: Comparison) -> list[str]:
    """Print a table of the flows, and return what is to be said of them, queue by queue."""
    called = any(is_call(group[0]["contender"]) for group in groups)
    films = any(is_film(entry) for group in groups for entry in group)
    columns = (*SHARED, *(CALLS_BESIDE if called else ()), *(FILMS[:-1] if films else ()))
    titles = ("flow", "contender", *(column.title for column in columns))
    table = show.table(*titles, left=2, caption=CAPTION, box=box.SIMPLE_HEAD)
    table.columns[1].min_width = NAME_WIDTH
    places: dict[tuple[str | None, str], list[int]] = {}
    for at, group in enumerate(groups):
        places.setdefault((group[0]["queue"], group[0]["direction"]), []).append(at)
    names, shares = named(groups), _shares_of(groups, list(places.values()))
    for at, entries in enumerate(groups):
        table.add_row(
            str(at),
            escape(names[at]),
            *(_cell(c, shares.get(at, []) if c.field == "share" else _values(c, entries)) for c in columns),
        )
    show.out().print(table)
    lines = _failures(groups)
    for key, own in places.items():
        head = _headed(key, places)
        lines += [f"{head}{line}" for line in _together([groups[at] for at in own])]
    if measured(groups):
        by_queue = {key[0]: groups[own[0]] for key, own in places.items()}
        lines += [f"{_headed((queue,), places)}{sentence(group)}" for queue, group in by_queue.items()]
    return lines + _judged(groups, what)


def _headed(key: Sequence[str | None], places: Collection[Sequence[str | None]]) -> str:
    """Return the queue and the direction of some flows, where there are several."""
    words = (word for at, word in enumerate(key) if word and len({other[at] for other in places}) > 1)
    head = ", ".join(words)
    return f"{head}: " if head else ""


def _shares_of(groups: list[Entries], places: list[list[int]]) -> dict[int, list[float]]:
    """Return the share of each flow in the goodput of those that go its way through its queue, %, by replication."""
    found: dict[int, list[float]] = {}
    for own in places:
        beside = [groups[at] for at in own]
        for r in whole(beside):
            total = sum(group[r]["goodput_bps"] for group in beside)
            for at in own:
                found.setdefault(at, []).append(100 * groups[at][r]["goodput_bps"] / total)
    return found


def _together(groups: list[Entries]) -> list[str]:
    """Return what flows that go one way through one queue have in common: how long packets waited, and fairness."""
    seen, used = waiting(groups[0]), whole(groups)
    if not used or len(groups) < 2:
        return seen
    index: Interval = mean([jain([group[r]["goodput_bps"] for group in groups]) for r in used])
    return [*seen, f"Jain's index (1 = equal shares): {show.interval(index, digits=3)}"]


def _judged(groups: list[Entries], what: Comparison) -> list[str]:
    """Return how the flows stand against each other, and which of them starved."""
    names, used = flow_names(groups), whole(groups)
    hungry = [
        f"{names[at]} starved in {count} of {counted(len(used), 'replication')}"
        for at, count in starved(groups).items()
    ]
    return [*hungry, *sentences(groups, share=True, metric=what.metric)]


def measured(groups: list[Entries]) -> bool:
    """Whether there was a probe."""
    return "probe_rtt_ms" in groups[0][0]


def _answered(entry: dict[str, Any]) -> list[float]:
    return sorted(rtt for rtt in entry["probe_rtt_ms"] if rtt is not None)


def _means(entries: Entries) -> list[float]:
    """Return the mean RTT of each replication, ms; lost probes have none."""
    return [found for found in map(mean_rtt, entries) if found is not None]


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
    return show.interval(typical(values), between=between) if values else "–"


def cells(entries: Entries) -> tuple[str, str, str]:
    """Return the cells under `LATENCY` of one contender's entries."""
    return _latency_cell(_means(entries)), _latency_cell(_high(entries)), _latency_cell(_lost(entries))


def sentence(entries: Entries) -> str:
    """Return what the probe saw of a link that all flows share."""
    means, high, lost = _means(entries), _high(entries), mean(_lost(entries)) if _lost(entries) else None
    if not means:
        return "RTT under load: no probe was answered"
    share = "" if lost is None else f"; {show.interval(lost, digits=3)} % of the probes lost"
    return (
        f"RTT under load: mean {_latency_cell(means, ' ')} ms, 95th percentile {_latency_cell(high, ' ')} ms "
        f"(trimmed means of the replications){share}"
    )


def waiting(entries: Entries) -> list[str]:
    """Return how long packets waited in the queue that all flows share; nothing where there are several."""
    waited = [
        [1e3 * entry[name] for entry in entries if entry[name] is not None]
        for name in ("bottleneck_mean_queueing_delay_s", "bottleneck_max_queueing_delay_s")
    ]
    if not all(waited):
        return []
    mean_ms, most_ms = (show.interval(typical(values), digits=3) for values in waited)
    return [f"queueing delay: mean {mean_ms} ms, longest {most_ms} ms"]
