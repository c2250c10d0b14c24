"""`haltere trace` and `haltere shadow`: record one run in detail."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from haltere.adhoc.conditions import Conditions
from haltere.adhoc.single import Trace, refuse_files, refuse_shadows, trace
from haltere.cli import exits, show
from haltere.cli.commands.trace import Chosen, Files
from haltere.cli.first_difference import refuse_negative
from haltere.documents import shown
from haltere.fidelity import named
from haltere.results import load
from haltere.scenario import Scenario
from haltere.study import Run
from haltere.study.origin import run_of


def command(
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
    refuse_negative(seed, replication)
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
        print(json.dumps({"folder": str(folder), "result": traced.result.data, "shadows": shadows}))
    else:
        _tell(traced, folder, drawn=drawn)
        if data is not None:
            show.out().print(f"flent file {shown(data)}", markup=False)
        _tell_files(wanted)
    flows = traced.result.flows
    failed = flows.filter(flows["error"].is_not_null()).height
    exits.end(failed or (traced.result.status != "ok") * max(1, flows.height), flows.height)


def _tell(traced: Trace, folder: Path, *, drawn: bool) -> None:
    console = show.out()
    for flow in traced.result.flows.iter_rows(named=True):
        again = flow["retransmitted_packets"]
        counted = "retransmissions unknown" if again is None else f"{again} retransmissions"
        console.print(f"flow {flow['flow']} {flow['contender']}: {_said(flow)}, {counted}", markup=False)
    for shadow in traced.shadows:
        console.print(
            shadow.sentence(traced.result.flows["contender"][shadow.flow]),
            markup=False,
            highlight=False,
            soft_wrap=True,
        )
    what_is_there = "figure and tables" if drawn else "tables, but nothing to draw,"
    console.print(f"{traced.series.height} samples, {what_is_there} in {shown(folder)}", markup=False)
    if traced.result.status != "ok" and traced.result.error:
        show.err().print(f"the run failed: {traced.result.error}", markup=False)


def _tell_files(wanted: Mapping[str, Path | None]) -> None:
    for kind, place in wanted.items():
        if place is not None:
            count = len([one for one in place.iterdir() if one.suffix in (".sqlog", ".pcapng")])
            show.out().print(f"{count} {kind} file{'s' if count > 1 else ''} in {shown(place)}", markup=False)


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
    (folder / "run.json").write_text(json.dumps(run, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
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
