"""Counts the packets that agree before model and kernel differ: `first_differences.py [--only TEXT] [--each]`.

Runs a grid of bare transfers over congestion controls, loss rates, round trips, queues and sizes, each with the same
losses in the model and on kernels that are nodes of the simulator. Prints a table of medians for
`docs/explanation/validation.md`, and with `--each` a line for each transfer.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from haltere.adhoc.conditions import Conditions
from haltere.adhoc.packets import Difference, first_difference

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

    def difference(self) -> Difference:
        """Run it in the model and on kernels. All hosts tick together."""
        conditions = Conditions(
            app="raw",
            rate="20Mbit/s",
            rtt=self.rtt,
            loss=self.loss,
            queue=self.queue,
            size=self.size,
        )
        (found,) = first_difference([f"tcp/{self.control}"], conditions, seed=SEED, replication=self.replication)
        return found


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


def table(found: dict[Cell, Difference]) -> Iterator[str]:
    """Yield the lines of the table: a row for each control and loss rate, a column for each round trip and size."""
    columns = [(size, rtt) for size in SIZES for rtt in RTTS]
    heads = [f"{size.replace('kB', ' kB').replace('MB', ' MB')}, {rtt.replace('ms', ' ms')}" for size, rtt in columns]
    yield "| control, loss | " + " | ".join(heads) + " | transfers without a difference |"
    yield "| --- |" + " --: |" * (len(columns) + 1)
    for control in CONTROLS:
        for loss in LOSSES:
            row = {cell: one for cell, one in found.items() if (cell.control, cell.loss) == (control, loss)}
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
    parser.add_argument("--only", default="", help="only transfers whose name begins so, such as bbr-1%%-40ms")
    parser.add_argument("--each", action="store_true", help="a line for each transfer as well")
    given = parser.parse_args()
    cells = [cell for cell in grid() if cell.key.startswith(given.only)]
    found = {cell: cell.difference() for cell in cells}
    if given.each:
        for cell, one in found.items():
            sys.stdout.write(f"{cell.key:32} {one.compared:5}  {'' if one.agrees else one.sentence}\n")
        sys.stdout.write("\n")
    sys.stdout.write("\n".join([*table(found), ""]))


if __name__ == "__main__":
    main()
