"""Counts the packets that agree before model and kernel differ: `first_differences.py [--kernel FOLDER] [--only TEXT]`.

Runs a grid of bare transfers over congestion controls, loss rates, round trips, queues and sizes, each with the same
losses in the model and on the kernel of fidelity `linux`. Prints a table of medians for
`docs/explanation/validation.md`, and with `--each` a line for each transfer. The kernel's
packets are kept in FOLDER, if given, and taken from it the next time.
"""

from __future__ import annotations

import argparse
import gzip
import json
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from haltere import core, fidelity
from haltere.adhoc.conditions import Conditions
from haltere.adhoc.packets import TOLERANCE_S, Difference, Side, compare, in_model, of_kernel
from haltere.adhoc.single import sample_ns
from haltere.executor import Task

SEED = 1
CONTROLS = ("cubic", "newreno", "bbr")
LOSSES = ("0%", "0.1%", "1%")
RTTS = ("10ms", "40ms", "200ms")
QUEUES = ("0.5bdp", "2bdp")
SIZES = ("100kB", "2MB")
LOSSY_REPLICATIONS = 2


@dataclass(frozen=True)
class Cell:
    """One transfer of the grid."""

    control: str
    loss: str
    rtt: str
    queue: str
    size: str
    replication: int

    @property
    def key(self) -> str:
        """Its name in files and lines."""
        return f"{self.control}-{self.loss}-{self.rtt}-{self.queue}-{self.size}-{self.replication}"

    def scenario(self) -> core.Scenario:
        """Return its scenario. Its hosts tick together at both fidelities."""
        conditions = Conditions(
            app="raw",
            rate="20Mbit/s",
            rtt=self.rtt,
            loss=self.loss,
            queue=self.queue,
            size=self.size,
            fidelity="linux",
        )
        return conditions.scenario([f"tcp/{self.control}"]).concrete()


def grid() -> list[Cell]:
    """Return all transfers."""
    return [
        Cell(control, loss, rtt, queue, size, replication)
        for control in CONTROLS
        for loss in LOSSES
        for rtt in RTTS
        for queue in QUEUES
        for size in SIZES
        for replication in range(1 if loss == "0%" else LOSSY_REPLICATIONS)
    ]


def of_linux(cells: list[Cell], folder: Path | None) -> Iterator[tuple[Cell, dict[str, Any]]]:
    """Yield each transfer with the kernel's result, from the folder where it is there."""
    missing = []
    for cell in cells:
        file = folder and folder / f"{cell.key}.json.gz"
        if file and file.exists():
            yield cell, json.loads(gzip.decompress(file.read_bytes()))
        else:
            missing.append(cell)
    if not missing:
        return
    named = {cell.key: cell for cell in missing}
    extra = {"packets": True, "sample_ns": sample_ns(missing[0].scenario())}
    tasks = [Task(cell.key, cell.scenario(), SEED, cell.replication) for cell in missing]
    for outcome in fidelity.executor("linux", 1, extra).execute(tasks):
        if folder:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{outcome.key}.json.gz").write_bytes(gzip.compress(outcome.result_json.encode(), 3))
        yield named[outcome.key], json.loads(outcome.result_json)


def differences(cells: list[Cell], folder: Path | None) -> dict[Cell, tuple[Difference, Side, Side]]:
    """Compare the packets of each transfer."""
    found = {}
    for cell, result in of_linux(cells, folder):
        if result["status"] != "ok":
            raise SystemExit(f"{cell.key}: the run at fidelity linux failed: {result['error']}")
        (ours,) = in_model(cell.scenario(), SEED, cell.replication, name="the model")
        theirs = of_kernel(f"Linux {result['kernel']}", result, 0)
        found[cell] = (compare(0, ours, theirs, TOLERANCE_S), ours, theirs)
    return {cell: found[cell] for cell in cells}


def table(found: dict[Cell, tuple[Difference, Side, Side]]) -> Iterator[str]:
    """Yield the lines of the table: a row for each control and loss rate, a column for each round trip and size."""
    columns = [(size, rtt) for size in SIZES for rtt in RTTS]
    heads = [f"{size.replace('kB', ' kB').replace('MB', ' MB')}, {rtt.replace('ms', ' ms')}" for size, rtt in columns]
    yield "| control, loss | " + " | ".join(heads) + " | transfers without a difference |"
    yield "| --- |" + " --: |" * (len(columns) + 1)
    for control in CONTROLS:
        for loss in LOSSES:
            row = {cell: one for cell, (one, _, _) in found.items() if (cell.control, cell.loss) == (control, loss)}
            if not row:
                continue
            cells = []
            for size, rtt in columns:
                here = [(one.compared, one.agrees) for c, one in row.items() if (c.size, c.rtt) == (size, rtt)]
                all_agree = here and all(agrees for _, agrees in here)
                median = statistics.median(count for count, _ in here) if here else 0
                cells.append("all" if all_agree else f"{median:.0f}")
            agree = sum(one.agrees for one in row.values())
            yield f"| {control}, {loss.replace('%', ' %')} | " + " | ".join(cells) + f" | {agree} of {len(row)} |"


def main() -> None:
    """Run the grid and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernel", type=Path, help="folder of the kernel's packets")
    parser.add_argument("--only", default="", help="only transfers whose name begins so, such as bbr-1%%-40ms")
    parser.add_argument("--each", action="store_true", help="a line for each transfer as well")
    given = parser.parse_args()
    cells = [cell for cell in grid() if cell.key.startswith(given.only)]
    found = differences(cells, given.kernel)
    if given.each:
        for cell, (one, ours, _) in found.items():
            sys.stdout.write(
                f"{cell.key:32} {one.compared:5} of {len(ours.packets):5}  {'' if one.agrees else one.sentence}\n"
            )
        sys.stdout.write("\n")
    sys.stdout.write("\n".join([*table(found), ""]))


if __name__ == "__main__":
    main()
