"""Lays congestion controls of the model beside the kernel's modules: `algorithms.py [NAME…] [--kernel FILE] [--all]`.

Prints a table of all of them, or of those named (switches may follow, as in `hybla+nodelack`), on each path, with the
same losses at both fidelities: the log ratio of median completion times and, kernel / model, retransmissions; with
`--all` the times and the mean queueing delays too. The kernel's results are kept in FILE, if given, and taken from it
the next time.

DCTCP goes over links that mark, which are the emulator's at both fidelities; its table has the marked packets and the
mean queueing delays as well.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from haltere import core, fidelity
from haltere.adhoc.conditions import Conditions
from haltere.adhoc.single import sample_ns
from haltere.executor import Task
from haltere.fidelity import Fidelity

NAMES = (
    "newreno",
    "cubic",
    "bic",
    "highspeed",
    "scalable",
    "htcp",
    "hybla",
    "illinois",
    "westwood",
    "veno",
    "yeah",
    "vegas",
    "nv",
    "lp",
    "cdg",
    "dctcp",
)
RANDOM = ("cdg", "lp")
"""Algorithms that draw random numbers: the kernel's draws are not the model's."""
SEED = 1
LONG = {"rate": "100Mbit/s", "rtt": "100ms", "size": "64MB"}
SHORT = {"rate": "20Mbit/s", "rtt": "50ms", "size": "8MB"}
RESULTS = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Way:
    """A path, and how often it is gone."""

    name: str
    conditions: Conditions
    replications: int
    mark: str | None = None

    def scenario(self, name: str, at: Fidelity) -> core.Scenario:
        """Return the scenario of an algorithm; links that mark are the emulator's."""
        own = replace(self.conditions, fidelity=at).scenario([f"tcp/{name}"])
        if self.mark is None:
            return own.concrete()
        scenario = json.loads(own.json)
        scenario["links"] = "haltere"
        scenario["topology"]["link"]["down"]["mark"] = self.mark
        return core.parse(scenario)


def way(name: str, replications: int, mark: str | None = None, **given: str) -> Way:
    """Return a path over which one raw object is fetched."""
    return Way(name, Conditions(app="raw", **given), replications, mark)  # type: ignore[arg-type]


WAYS = (
    way("20 Mbit/s, 50 ms, queue 1 BDP", 1, queue="1bdp", **SHORT),
    way("20 Mbit/s, 50 ms, queue 0.2 BDP", 1, queue="0.2bdp", **SHORT),
    way("100 Mbit/s, 100 ms, queue 1 BDP", 1, queue="1bdp", **LONG),
    way("100 Mbit/s, 100 ms, queue 0.2 BDP", 1, queue="0.2bdp", **LONG),
    way("20 Mbit/s, 50 ms, 1 % loss", 10, queue="1bdp", loss="1%", **SHORT),
)
MARKING = (
    way("20 Mbit/s, 10 ms, mark from 20", 1, "20p", rate="20Mbit/s", rtt="10ms", size="8MB", queue="100p"),
    way("20 Mbit/s, 50 ms, mark from 20", 1, "20p", rate="20Mbit/s", rtt="50ms", size="8MB", queue="200p"),
    way("100 Mbit/s, 10 ms, mark from 65", 1, "65p", rate="100Mbit/s", rtt="10ms", size="32MB", queue="300p"),
    way("100 Mbit/s, 2 ms, mark from 10", 1, "10p", rate="100Mbit/s", rtt="2ms", size="32MB", queue="100p"),
    way("20 Mbit/s, 10 ms, mark from 20, 1 % loss", 10, "20p", loss="1%", **{**SHORT, "rtt": "10ms"}, queue="100p"),
)


def ways(name: str) -> tuple[Way, ...]:
    """Return the paths of an algorithm. One that draws is gone more often."""
    if name.startswith("dctcp"):
        return MARKING
    if name.startswith(RANDOM):
        return tuple(replace(one, replications=20) for one in WAYS)
    return WAYS


def tasks(names: list[str], at: Fidelity) -> list[Task]:
    """Return every run at a fidelity."""
    answer = []
    for name in names:
        for one in ways(name):
            scenario = one.scenario(name, at)
            answer += [Task(f"{one.name}|{name}|{n}", scenario, SEED, n) for n in range(one.replications)]
    return answer


def run(names: list[str], at: Fidelity) -> RESULTS:
    """Run everything at a fidelity; return the flow and the link of each run."""
    wanted = tasks(names, at)
    extra = {"sample_ns": sample_ns(WAYS[0].scenario(names[0], at))} if at == "linux" else None
    found = {}
    for outcome in fidelity.executor(at, None, extra).execute(wanted):
        result = json.loads(outcome.result_json)
        if result["status"] != "ok":
            raise SystemExit(f"{outcome.key} at fidelity {at} failed: {result['error']}")
        down = next(link for link in result["links"] if link["direction"] == "down")
        flow = result["flows"][0]
        found[outcome.key] = {
            "completion_s": flow["completion_s"],
            "retransmissions": flow["retransmitted_packets"],
            "queueing_s": down["mean_queueing_delay_s"],
            "marked": down.get("marked_packets") or 0,
        }
    return found


def medians(results: RESULTS, one: Way, name: str) -> dict[str, float]:
    """Return the median of each quantity over replications."""
    runs = [results[f"{one.name}|{name}|{n}"] for n in range(one.replications)]
    return {quantity: statistics.median(r[quantity] for r in runs) for quantity in runs[0]}


def table(names: list[str], kernel: RESULTS, model: RESULTS, *, everything: bool) -> str:
    """Return a row an algorithm in Markdown: the log ratio of completion times, and what else is asked for."""
    columns = ways(names[0])
    marking = columns is MARKING
    lines = [
        "| algorithm | " + " | ".join(one.name for one in columns) + " |",
        "| --- |" + " --: |" * len(columns),
    ]
    for name in names:
        cells = []
        for one in columns:
            k, m = medians(kernel, one, name), medians(model, one, name)
            cell = f"{math.log(m['completion_s'] / k['completion_s']):+.4f}"
            cell += f" ({k['retransmissions']:.0f} / {m['retransmissions']:.0f})"
            if marking:
                cell += f" {k['marked']:.0f} / {m['marked']:.0f} marks"
            if everything:
                cell += f" {k['completion_s']:.3f} / {m['completion_s']:.3f} s"
            if everything or marking:
                cell += f" {1e3 * k['queueing_s']:.2f} / {1e3 * m['queueing_s']:.2f} ms"
            cells.append(cell)
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Measure what is missing and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", default=NAMES)
    parser.add_argument("--kernel", type=Path)
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    names = list(options.names)
    kernel: RESULTS = {}
    if options.kernel and options.kernel.exists():
        kernel = json.loads(options.kernel.read_text())
    missing = [n for n in names if any(task.key not in kernel for task in tasks([n], "linux"))]
    if missing:
        kernel |= run(missing, "linux")
    if options.kernel:
        options.kernel.write_text(json.dumps(kernel, indent=1))
    model = run(names, "model")
    for marking in (False, True):
        if some := [name for name in names if (ways(name) is MARKING) == marking]:
            sys.stdout.write(table(some, kernel, model, everything=options.all) + "\n\n")


if __name__ == "__main__":
    main()
