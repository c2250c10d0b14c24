"""`haltere trace`: records one run in detail."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from haltere.adhoc.conditions import Conditions
from haltere.adhoc.first_difference import between
from haltere.adhoc.single import Trace, refuse_files, refuse_shadows, trace
from haltere.cli import exits, show
from haltere.cli.first_difference import tell, tolerance_s
from haltere.documents import shown
from haltere.errors import InputError
from haltere.fidelity import named
from haltere.results import load
from haltere.scenario import Scenario
from haltere.study import Run
from haltere.study.origin import run_of


def command(
    what: list[str],
    conditions: Conditions,
    *,
    seed: int,
    replication: int,
    out: Path | None,
    qlog: bool = False,
    pcap: bool = False,
    links: list[str] | None = None,
    flent: bool = False,
    run: str | None = None,
    shadows: list[str] | None = None,
    beside: str | None = None,
    tolerance: str = "100us",
    as_json: bool = False,
) -> None:
    """Trace a scenario file, contenders on one link, or a run of some results; write the series and their figure."""
    for name, value in (("--seed", seed), ("--replication", replication)):
        if value < 0:
            raise InputError("is negative", field=name, given=str(value), right="a whole number from 0")
    named(conditions.fidelity)
    chosen = None if run is None else run_of(load(what[0]), run)
    if chosen is not None:
        seed, replication = chosen.seed, chosen.replication
    folder = out or Path("traces") / _named(what, chosen)
    wanted = {"qlog": folder / "qlog" if qlog else None, "pcap": folder / "pcap" if pcap or links else None}
    # Checked first: the fidelity may not support the scenario either, but this error helps more.
    refuse_files(conditions.fidelity, **wanted, flent=folder if flent else None)
    near = tolerance_s(tolerance)
    other = None if beside is None else _other(what, beside, conditions, chosen)
    refuse_shadows(conditions.fidelity, shadows or ())
    scenario = _scenario(what, conditions, chosen)
    _clear(folder)
    with show.err().status("running"):
        traced = trace(scenario, seed=seed, replication=replication, links=links or (), shadow=shadows or (), **wanted)
    with show.err().status("drawing"):
        drawn = _write(folder, scenario, traced, seed, replication)
    found = None if other is None else between(scenario, other, seed=seed, replication=replication, tolerance_s=near)
    data = traced.flent(folder / folder.name, title=folder.name) if flent else None
    if as_json:
        said = {"folder": str(folder), "result": traced.result.data, "shadows": traced.data.get("shadows", [])}
        differences = {} if found is None else {"first_difference": [one.json() for one in found]}
        print(json.dumps(said | differences))
    else:
        _tell(traced, folder, drawn=drawn)
        if data is not None:
            show.out().print(f"flent file {shown(data)}", markup=False)
        _tell_files(wanted)
        if found is not None:
            tell(found, as_json=False)
    flows = traced.result.flows
    failed = flows.filter(flows["error"].is_not_null()).height
    exits.end(failed or (traced.result.status != "ok") * max(1, flows.height), flows.height)


def _other(what: list[str], beside: str, conditions: Conditions, chosen: Run | None) -> Scenario:
    """Return the scenario of the contender with which the one that is traced is compared."""
    if chosen is not None or _is_file(what) or len(what) != 1:
        raise InputError(
            "compares one contender with another",
            field="--first-difference",
            given=f"{len(what)} contenders" if len(what) > 1 else "a file",
            right="one contender, such as haltere trace tcp/cubic --first-difference tcp/cubic-hystart",
        )
    return conditions.scenario([beside])


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


def _named(what: list[str], chosen: Run | None) -> str:
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
