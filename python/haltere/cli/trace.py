"""`haltere trace`: records one run in detail."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from haltere.cli import show
from haltere.conditions import Conditions
from haltere.documents import shown
from haltere.errors import InputError
from haltere.fidelity import NAMES
from haltere.origin import run_of
from haltere.results import load
from haltere.runner.single import Trace, refuse_files, trace
from haltere.scenario import Scenario
from haltere.study import Run


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
) -> None:
    """Trace a scenario file, contenders on one link, or a run of some results; write the series and their figure."""
    for name, value in (("--seed", seed), ("--replication", replication)):
        if value < 0:
            raise InputError("is negative", field=name, given=str(value), right="a whole number from 0")
    if conditions.fidelity not in NAMES:
        raise InputError("is not a fidelity", field="--fidelity", given=conditions.fidelity, right=", ".join(NAMES))
    chosen = None if run is None else run_of(load(what[0]), run)
    if chosen is not None:
        seed, replication = chosen.seed, chosen.replication
    folder = out or Path("traces") / _named(what, chosen)
    wanted = {"qlog": folder / "qlog" if qlog else None, "pcap": folder / "pcap" if pcap or links else None}
    # Checked first: the fidelity may not support the scenario either, but this error helps more.
    refuse_files(conditions.fidelity, **wanted, flent=folder if flent else None)
    scenario = _scenario(what, conditions, chosen)
    with show.err().status("running"):
        traced = trace(scenario, seed=seed, replication=replication, links=links or (), **wanted)
    with show.err().status("drawing"):
        _write(folder, scenario, traced, seed, replication)
    data = traced.flent(folder / folder.name, title=folder.name) if flent else None
    console = show.out()
    for flow in traced.result.flows.iter_rows(named=True):
        console.print(
            f"flow {flow['flow']} {flow['contender']}: {_said(flow)}, {flow['retransmitted_packets']} retransmissions",
            markup=False,
        )
    console.print(f"{traced.series.height} samples, figure and tables in {shown(folder)}", markup=False)
    if data is not None:
        console.print(f"flent file {shown(data)}", markup=False)
    for kind, place in wanted.items():
        if place is not None:
            count = len([one for one in place.iterdir() if one.suffix in (".sqlog", ".pcapng")])
            console.print(f"{count} {kind} file{'s' if count > 1 else ''} in {shown(place)}", markup=False)


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


def _write(folder: Path, scenario: Scenario, traced: Trace, seed: int, replication: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    run = {"seed": seed, "replication": replication, "scenario": scenario.data, "result": traced.result.data}
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
    for kind in ("svg", "pdf"):
        traced.figure(folder / f"trace.{kind}")
