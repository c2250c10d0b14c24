"""`haltere trace` and `shadow`: record one run in detail; `haltere first-difference`: where two runs part."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.markup import escape
from rich.table import Table

from haltere.adhoc.conditions import Conditions
from haltere.adhoc.packets import Difference, Packet, between, first_difference
from haltere.adhoc.single import Trace, refuse_files, refuse_shadows, trace
from haltere.cli import exits, show
from haltere.cli.commands.trace import Chosen, Files
from haltere.documents import shown
from haltere.errors import InputError, grouped, refuse_below
from haltere.fidelity import named
from haltere.files import write_whole
from haltere.metrics import quantities
from haltere.results import load
from haltere.scenario import Scenario
from haltere.study import Run
from haltere.study.origin import run_of


def record(
    what: list[str], conditions: Conditions, chosen: Chosen, files: Files, controls: Sequence[str], *, as_json: bool
) -> None:
    """Trace a scenario file, contenders on one link, or a run of some results; write the series and their figure.

    Args:
        what: the file, the contenders, or the results' folder.
        conditions: of contenders.
        chosen: which run it is, and where its trace goes.
        files: what is written besides.
        controls: the congestion controls in the shadow of those in command.
        as_json: whether the answer is for programs.
    """
    seed, replication = chosen.seed, chosen.replication
    refuse_below(0, seed=seed, replication=replication)
    named(conditions.fidelity)
    run = None if chosen.run is None else run_of(load(what[0]), chosen.run)
    if run is not None:
        seed, replication = run.seed, run.replication
    folder = chosen.out or Path("traces") / _folder(what, run)
    packets = files.pcap or files.pcap_link
    wanted = {"qlog": folder / "qlog" if files.qlog else None, "pcap": folder / "pcap" if packets else None}
    # Checked first: the fidelity may not support the scenario either, but this error helps more.
    refuse_files(conditions.fidelity, **wanted, flent=folder if files.flent else None)
    refuse_shadows(conditions.fidelity, controls)
    scenario = _scenario(what, conditions, run)
    _clear(folder)
    with show.err().status("running"):
        traced = trace(
            scenario, seed=seed, replication=replication, links=files.pcap_link or (), shadow=controls, **wanted
        )
    with show.err().status("drawing"):
        drawn = _write(folder, scenario, traced, seed, replication)
    data = traced.flent(folder / folder.name, title=folder.name) if files.flent else None
    if as_json:
        shadows = traced.data.get("shadows", [])
        show.data({"folder": str(folder), "result": traced.result.data, "shadows": shadows})
    else:
        _tell_trace(traced, folder, drawn=drawn)
        if data is not None:
            show.say(f"flent file {shown(data)}")
        _tell_files(wanted)
    flows = traced.result.flows
    failed = flows.filter(flows["error"].is_not_null()).height
    exits.end(failed or (traced.result.status != "ok") * max(1, flows.height), flows.height)


def _tell_trace(traced: Trace, folder: Path, *, drawn: bool) -> None:
    for flow in traced.result.flows.iter_rows(named=True):
        again = flow["retransmitted_packets"]
        counted = "retransmissions unknown" if again is None else f"{again} retransmissions"
        show.say(f"flow {flow['flow']} {flow['contender']}: {_said(flow)}, {counted}")
    for shadow in traced.shadows:
        show.say(shadow.sentence(traced.result.flows["contender"][shadow.flow]))
    what_is_there = "figure and tables" if drawn else "tables, but nothing to draw,"
    show.say(f"{traced.series.height} samples, {what_is_there} in {shown(folder)}")
    if traced.result.status != "ok" and traced.result.error:
        show.note(f"the run failed: {traced.result.error}")


def _tell_files(wanted: Mapping[str, Path | None]) -> None:
    for kind, place in wanted.items():
        if place is not None:
            count = len([one for one in place.iterdir() if one.suffix in (".sqlog", ".pcapng")])
            show.say(f"{count} {kind} file{'s' if count > 1 else ''} in {shown(place)}")


def _said(flow: dict[str, Any]) -> str:
    """Return how a flow went."""
    if flow["error"] is not None:
        return f"failed: {flow['error']}"
    goodput = f"{show.number(flow['goodput_bps'] / 1e6)} Mbit/s"
    return goodput if flow["completion_s"] is None else f"{show.number(flow['completion_s'])} s, {goodput}"


def _is_file(what: list[str]) -> bool:
    return len(what) == 1 and (what[0].endswith(".toml") or Path(what[0]).exists())


def _scenario(what: list[str], conditions: Conditions, chosen: Run | None) -> Scenario:
    if chosen is not None:
        return Scenario(json.loads(chosen.scenario_json), fidelity=chosen.fidelity)
    if _is_file(what):
        return Scenario.load(Path(what[0]), fidelity=conditions.fidelity)
    return conditions.scenario(what)


def _folder(what: list[str], chosen: Run | None) -> str:
    """Return the name of the folder: that of the results and the run, of the file, or of the contenders."""
    if chosen is not None:
        return f"{Path(what[0]).name}-{chosen.id}"
    if _is_file(what):
        return Path(what[0]).stem
    return "-".join(contender.replace("/", "-") for contender in what)


FILES = ("run.json", "series.parquet", "series.csv", "schedule.parquet", "schedule.csv", "trace.svg", "trace.pdf")
"""The files of a trace, besides the folders `qlog` and `pcap` and a flent file."""


def _clear(folder: Path) -> None:
    """Remove what an earlier trace left in the folder, and nothing else."""
    old = [folder / name for name in FILES]
    for pattern in ("*.flent.gz", "qlog/*.sqlog", "pcap/*.pcapng"):
        old += folder.glob(pattern)
    for path in old:
        path.unlink(missing_ok=True)
    for name in ("qlog", "pcap"):
        with contextlib.suppress(OSError):  # there is none, or it holds something else
            (folder / name).rmdir()


def _write(folder: Path, scenario: Scenario, traced: Trace, seed: int, replication: int) -> bool:
    """Write the run, its tables and its figure; return whether there was anything to draw."""
    folder.mkdir(parents=True, exist_ok=True)
    run = {"seed": seed, "replication": replication, "scenario": scenario.data, "result": traced.result.data}
    if traced.data.get("shadows"):
        run["shadows"] = traced.data["shadows"]
    if traced.data.get("reordering"):
        run["reordering"] = traced.data["reordering"]
    if scenario.measured is not None:
        run["path"] = scenario.measured.path(seed, replication).model_dump()
    write_whole(folder / "run.json", json.dumps(run, indent=2, ensure_ascii=False) + "\n")
    traced.series.write_parquet(folder / "series.parquet")
    traced.series.write_csv(folder / "series.csv")
    if traced.schedule.height:
        traced.schedule.write_parquet(folder / "schedule.parquet")
        traced.schedule.write_csv(folder / "schedule.csv")
    try:
        for kind in ("svg", "pdf"):
            traced.figure(folder / f"trace.{kind}")
    except ValueError:  # a run that failed at once has no series that the figure shows
        return False
    return True


_STATE = (
    ("window, B", "cwnd"),
    ("slow-start threshold, B", "ssthresh"),
    ("bytes in flight, B", "bytes_in_flight"),
    ("smoothed RTT, ms", "srtt_s"),
    ("state", "state"),
)


def compare_packets(
    contenders: list[str],
    conditions: Conditions,
    against: str | None,
    tolerance: str,
    run: tuple[int, int],
    *,
    as_json: bool,
) -> None:
    """Compare model and kernel, or one contender of the model with another; print the comparison of each flow.

    Args:
        contenders: what shares the link.
        conditions: of the link.
        against: the other contender, if it is not the kernel.
        tolerance: how far apart the times of a packet may be.
        run: seed and replication.
        as_json: whether the answer is for programs.
    """
    seed, replication = run
    refuse_below(0, seed=seed, replication=replication)
    near = _tolerance_s(tolerance)
    if against is not None and len(contenders) != 1:
        right = "one contender, such as haltere first-difference tcp/cubic --against tcp/cubic-hystart"
        raise InputError("compares one contender with another", field="--against", given=against, right=right)
    with show.err().status("running"):
        if against is None:
            found = first_difference(contenders, conditions, seed=seed, replication=replication, tolerance_s=near)
        else:
            both = (conditions.scenario(contenders), conditions.scenario([against]))
            found = between(*both, seed=seed, replication=replication, tolerance_s=near)
    if as_json:
        show.data([one.json() for one in found])
    else:
        _tell_differences(found)


def _tolerance_s(text: str) -> float:
    """Read a tolerance such as `1ms`."""
    value = quantities.value(text)
    if value is None or value < 0 or quantities.dimension(text) != "time":
        raise InputError("is not a time", field="--tolerance", given=text, right="such as 1ms or 50us")
    return value


def _tell_differences(found: Sequence[Difference]) -> None:
    console = show.out()
    for one in found:
        if len(found) > 1:
            show.say(f"flow {one.flow}")
        if not one.agrees:
            console.print(_packets(one))
            console.print(_states(one))
        show.say(f"{one.sentence}.")
        if not one.agrees:
            compared = f"{one.compared} packets before it agree; times may differ by {1e3 * one.tolerance_s:g} ms."
            show.say(compared)


def _packets(found: Difference) -> Table:
    first, second = found.names
    titles = ("", *(f"{escape(name)}, ms" for name in (first, second)), "", escape(first), escape(second))
    caption = "at the sender; ms since the SYN arrived; → sent, ← received"
    table = show.table(*titles, left=6, caption=caption, box=box.SIMPLE_HEAD)
    for column in table.columns[1:3]:
        column.justify = "right"
    for place, pair in enumerate(found.near):
        a, b = pair.first, pair.second
        marked = place == found.place
        times = ["–" if packet is None else f"{1e3 * packet.t_s:.3f}" for packet in (a, b)]
        same = a is not None and b is not None and a.fields == b.fields
        texts = ["–" if a is None else str(a), "the same" if same else "–" if b is None else str(b)]
        way = "→" if pair.known.way == "sent" else "←"
        cells = [">" if marked else "", *times, way, *(escape(text) for text in texts)]
        table.add_row(*cells, style="bold" if marked else None)
    return table


def _states(found: Difference) -> Table:
    """The state of both senders at the packet before the one that differs, and at that one."""
    before = found.near[found.place - 1] if found.place else None
    known = [*((None, None) if before is None else (before.first, before.second))]
    known += [found.near[found.place].first, found.near[found.place].second]
    rows = [
        (label, *(_value(packet, name) for packet in known))
        for label, name in _STATE
        if any(packet is not None and getattr(packet.state, name) is not None for packet in known)
    ]
    heads = (f"{escape(name)}, {moment}" for moment in ("before", "at the packet") for name in found.names)
    return show.table("", *heads, rows=rows, caption="the senders' state", box=box.SIMPLE_HEAD)


def _value(packet: Packet | None, name: str) -> str:
    value = None if packet is None else getattr(packet.state, name)
    if value is None:
        return "–"
    if isinstance(value, str):
        return value.replace("_", " ")
    return f"{1e3 * value:.3f}" if name.endswith("_s") else grouped(round(value))
