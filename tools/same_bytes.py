"""Says whether two builds of the simulator give the same bytes: for changes that must not change a result.

    .venv/bin/python tools/same_bytes.py write before.jsonl.gz  # with the build before: scenarios and hashes
    .venv/bin/python tools/same_bytes.py check before.jsonl.gz  # with the build after: names what differs

The scenarios are spread evenly over all experiments of the shipped studies and their variants, at fidelities `model`
and `stack`; those of the documentation's pages and some others come besides. The file holds them as JSON, so `check`
needs the extension module alone. It exits with 1 if a scenario differs. Runs that take long are left out.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import itertools
import json
import re
import sys
import time
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

LONGEST_S = 2.0
"""Runs that take longer are not kept."""


def studies() -> Iterator[Any]:
    """Yield the shipped studies and their variants at each fidelity of the simulator that they can run at."""
    from haltere import shipped
    from haltere.documents import Document
    from haltere.errors import HaltereError
    from haltere.study import Study

    for one in shipped.studies():
        variants = Document.read(one.folder / "study.toml").data.get("variants", {})
        for variant in (None, *variants):
            for fidelity in ("model", "stack"):
                try:
                    yield Study.load(one.folder, variant=variant, fidelity=(fidelity,))
                except HaltereError:  # its programs are no contenders of the simulator, or its stacks not of the model
                    continue


def scenarios(most: int) -> list[tuple[str, str]]:
    """Return fidelity and scenario of about `most` runs, as many of each experiment as of any other."""
    from haltere import core

    groups: dict[str, list[tuple[str, str]]] = {}
    for study in studies():
        (fidelity,) = study.fidelities
        for treatment in study.treatments:
            measured = treatment.measured
            text = treatment.scenario_json if measured is None else core.canonical(measured.over(measured.path(1, 0)))
            groups.setdefault(f"{study.name}/{treatment.experiment}", []).append((fidelity, text))
    share = max(2, most // max(1, len(groups)))
    chosen: dict[tuple[str, str], None] = {}
    for group in groups.values():
        step = max(1, len(group) // share)
        chosen.update(dict.fromkeys(group[::step][:share]))
    return list(chosen)


def pages() -> Iterator[tuple[str, str]]:
    """Yield the scenarios of the documentation; what a page leaves out is a dumbbell and a flow."""
    from haltere.errors import HaltereError
    from haltere.scenario import Scenario

    link = {"rate": "8Mbit/s", "delay": "20ms", "queue": "1bdp"}
    common = {"topology": {"kind": "dumbbell", "pairs": 2, "bottleneck": link}, "duration": "6s"}
    flows = [{"contender": "tcp/cubic", "size": "300kB"}]
    for page in sorted((Path(__file__).parents[1] / "docs").rglob("*.md")):
        for block in re.findall(r"^ *```toml\n(.*?)^ *```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
            try:
                given = tomllib.loads(block)
                whole = given if "topology" in given else {**common, **given}
                scenario = Scenario({"flows": flows, **whole} if {"probes", "loads"} & given.keys() else whole)
                yield "model", scenario.concrete(7, 0).json
            except (tomllib.TOMLDecodeError, HaltereError, TypeError):  # a part of a scenario, or of a study
                continue


def others() -> Iterator[tuple[str, str]]:
    """Yield scenarios of what neither studies nor pages show whole: each kind of load, and bridges between brokers."""
    link = {"rate": "10Mbit/s", "delay": "5ms", "queue": "1bdp"}
    flow = {"contender": "tcp/cubic", "app": "raw", "size": "2MB"}
    recorded = {
        "at_ns": [0, 1000, 2_000_000],
        "len": [1000, 500, 1500],
        "flow": [0, 0, 1],
        "back": [0, 1, 0],
    }
    loads: list[dict[str, Any]] = [
        {"kind": "trains", "packets": 40, "count": 3, "start_spread": "100ms"},
        {"kind": "constant", "size": "973B", "rate": "7Mbit/s", "from": "client", "duration": "2s"},
        {"kind": "on-off", "rate": "5Mbit/s", "on": "300ms", "off": "200ms"},
        {"kind": "on-off", "rate": "5Mbit/s", "on": "300ms", "off": "200ms", "periods": "constant"},
        {"kind": "replay", "capture": {**recorded, "span_ns": 2_000_000}, "ways": "two", "gap": "10ms"},
    ]
    for load in loads:
        pair = {"kind": "point-to-point", "link": link}
        probe = {"kind": "icmp", "interval": "100ms"}
        yield (
            "model",
            json.dumps({"topology": pair, "duration": "4s", "flows": [flow], "loads": [load], "probes": [probe]}),
        )
    yield "model", json.dumps({"topology": {"kind": "point-to-point", "link": link}, "duration": "4s", "loads": loads})
    for contender in ("tcp/cubic", "quic/bbr"):
        for qos in range(3):
            bridge = {"to": "cloud", "contender": contender, "topics": [{"qos": qos}]}
            about = {"subscriber": "subscriber", "subscriber_broker": "cloud", "messages": 50, "qos": qos}
            nodes = ["publisher", "edge", "cloud", "subscriber"]
            hops = [{"from": a, "to": b, "link": link} for a, b in itertools.pairwise(nodes)]
            mqtt = {"contender": contender, "server": "edge", "client": "publisher", "mqtt": about}
            brokers = [{"node": "edge", "bridges": [bridge]}]
            topology = {"kind": "graph", "links": hops}
            yield "model", json.dumps({"topology": topology, "flows": [mqtt, mqtt], "brokers": brokers})


def hashes(fidelity: str, scenario: str, number: int, without: Sequence[str] = ()) -> dict[str, str]:
    """Return hashes of the network and of the result of one run, without some columns; its error, if it cannot run."""
    columns = re.compile(rf'"(?:{"|".join(without)})":(?:"(?:[^"\\]|\\.)*"|[^,}}"]+),')
    from haltere import _core

    def told(make: Any) -> str:
        try:
            text = columns.sub("", make()) if without else make()
            return hashlib.sha256(text.encode()).hexdigest()[:16]
        except _core.ScenarioError as error:
            return f"error: {error.args}"

    seed, replication = 7, number % 5
    return {
        "network": told(lambda: _core.Scenario(scenario).network(seed, replication)),
        "result": told(lambda: _core.Scenario(scenario).run(seed, replication, fidelity)),
    }


def write(file: Path, most: int) -> int:
    """Keep scenarios and the hashes of their results in a file."""
    kept = 0
    with gzip.open(file, "wt", encoding="utf-8") as out:
        for number, (fidelity, scenario) in enumerate([*scenarios(most), *pages(), *others()]):
            start = time.monotonic()
            found = hashes(fidelity, scenario, number)
            if time.monotonic() - start <= LONGEST_S:
                row = {"number": number, "fidelity": fidelity, "scenario": scenario, **found}
                out.write(json.dumps(row) + "\n")
                kept += 1
    print(f"{kept} scenarios written to {file}")
    return 0


def check(file: Path, without: Sequence[str] = ()) -> int:
    """Run the scenarios of a file again and say which differ."""
    differing = total = 0
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            total += 1
            found = hashes(row["fidelity"], row["scenario"], row["number"], without)
            wrong = [name for name, value in found.items() if row[name] != value]
            if wrong:
                differing += 1
                print(f"{', '.join(wrong)} of number {row['number']} at {row['fidelity']}: {row['scenario'][:400]}")
    print(f"{differing} of {total} scenarios differ")
    return 1 if differing else 0


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["write", "check"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--most", type=int, default=500, help="about how many scenarios to write")
    parser.add_argument(
        "--without", nargs="*", default=(), help="columns of results that are new, so that `check` leaves them out"
    )
    given = parser.parse_args()
    return write(given.file, given.most) if given.what == "write" else check(given.file, given.without)


if __name__ == "__main__":
    sys.exit(main())
