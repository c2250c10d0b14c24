"""`haltere trace`: one run, closely."""

from __future__ import annotations

import json
from pathlib import Path

from haltere.cli import show
from haltere.comparison import Conditions
from haltere.documents import shown
from haltere.errors import InputError
from haltere.fidelity import NAMES
from haltere.runner.single import Trace, trace
from haltere.scenario import Scenario


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
) -> None:
    """Trace a scenario file, or contenders on one link, and write the series and their figure."""
    for name, value in (("--seed", seed), ("--replication", replication)):
        if value < 0:
            raise InputError("is negative", field=name, given=str(value), right="a whole number from 0")
    if conditions.fidelity not in NAMES:
        raise InputError("is not a fidelity", field="--fidelity", given=conditions.fidelity, right=", ".join(NAMES))
    file = Path(what[0])
    if len(what) == 1 and (file.suffix == ".toml" or file.exists()):
        scenario, name = Scenario.load(file, fidelity=conditions.fidelity), file.stem
    else:
        scenario, name = conditions.scenario(what), "-".join(contender.replace("/", "-") for contender in what)
    folder = out or Path("traces") / name
    with show.err().status("running"):
        traced = trace(
            scenario,
            seed=seed,
            replication=replication,
            qlog=folder / "qlog" if qlog else None,
            pcap=folder / "pcap" if pcap or links else None,
            links=links or (),
        )
    with show.err().status("drawing"):
        _write(folder, scenario, traced, seed, replication)
    console = show.out()
    for flow in traced.result.flows.iter_rows(named=True):
        if flow["error"] is not None:
            said = f"failed: {flow['error']}"
        elif flow["completion_s"] is None:
            said = f"{show.number(flow['goodput_bps'] / 1e6)} Mbit/s"
        else:
            said = f"{show.number(flow['completion_s'])} s, {show.number(flow['goodput_bps'] / 1e6)} Mbit/s"
        console.print(
            f"flow {flow['flow']} {flow['contender']}: {said}, {flow['retransmitted_packets']} retransmissions",
            markup=False,
        )
    console.print(f"{traced.series.height} samples, figure and tables in {shown(folder)}", markup=False)
    for wanted, kind, files in ((qlog, "qlog", "*.sqlog"), (bool(pcap or links), "pcap", "*.pcapng")):
        if wanted:
            count = len(list((folder / kind).glob(files)))
            console.print(f"{count} {kind} file{'s' if count > 1 else ''} in {shown(folder / kind)}", markup=False)


def _write(folder: Path, scenario: Scenario, traced: Trace, seed: int, replication: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    run = {"seed": seed, "replication": replication, "scenario": scenario.data, "result": traced.result.data}
    (folder / "run.json").write_text(json.dumps(run, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    traced.series.write_parquet(folder / "series.parquet")
    traced.series.write_csv(folder / "series.csv")
    for kind in ("svg", "pdf"):
        traced.figure(folder / f"trace.{kind}")
