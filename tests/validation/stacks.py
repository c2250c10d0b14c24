"""Lays the model of QUIC with a bundle beside a production stack, over a grid of transfers that meet the same losses.

`stacks.py [CONTENDER ...] [--stack CONTENDER] [--replications N] [--only TEXT] [--each]`. Both sides lose the packets
of the same ordinals. A pair of runs therefore differs by the mechanisms, and by chance as soon as the packets of one
side are others than those of the other. The median |log ratio| of pairs holds both; that of cells, whose ratio is of
geometric means over the replications, holds less chance; the signed median holds hardly any. `equal` counts pairs of
runs whose completion times are 0.1 % apart at most, as they lost the same packets. Tables for
`docs/reference/stacks.md`.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import haltere
from haltere.adhoc.conditions import Conditions

SEED = 1
LOSSES = ("0%", "0.1%", "1%", "5%")
RATES = ("5Mbit/s", "20Mbit/s", "100Mbit/s")
RTTS = ("10ms", "40ms", "100ms")
QUEUES = ("0.5bdp", "2bdp")
SIZES = ("100kB", "2MB", "10MB")
NEAR, EQUAL = 0.01, 0.001


@dataclass(frozen=True)
class Cell:
    """The conditions of one transfer of the grid."""

    loss: str
    rate: str
    rtt: str
    queue: str
    size: str

    @property
    def key(self) -> str:
        """Its name in lines."""
        return f"{self.loss}-{self.rate}-{self.rtt}-{self.queue}-{self.size}"

    def took(self, contender: str, replication: int, app: str) -> float:
        """Return the completion time in seconds."""
        conditions = Conditions(
            app=app,
            rate=self.rate,
            rtt=self.rtt,
            loss=self.loss,
            queue=self.queue,
            size=self.size,
            fidelity="stack",
        )
        result = haltere.run(conditions.scenario([contender]), seed=SEED, replication=replication)
        return float(result.raise_if_failed().data["flows"][0]["completion_s"])


def grid() -> list[Cell]:
    """Return all conditions."""
    return [
        Cell(loss, rate, rtt, queue, size)
        for loss in LOSSES
        for rate in RATES
        for rtt in RTTS
        for queue in QUEUES
        for size in SIZES
    ]


def count(cell: Cell, replications: int) -> int:
    """Return how often a transfer is repeated: without losses all replications are alike."""
    return 1 if cell.loss == "0%" else replications


def row(name: str, pairs: Sequence[Sequence[float]]) -> str:
    """Return a row of the table from the log ratios of cells and replications."""
    single = [one for cell in pairs for one in cell]
    means = [statistics.fmean(cell) for cell in pairs]
    figures = [
        f"{statistics.median(map(abs, single)):.2%}",
        f"{statistics.median(map(abs, means)):.2%}",
        f"{statistics.median(means):+.2%}",
        f"{sum(abs(one) <= NEAR for one in single) / len(single):.0%}",
        f"{sum(abs(one) <= EQUAL for one in single) / len(single):.0%}",
        str(len(single)),
    ]
    return " | ".join([f"| {name}", *figures]) + " |"


def table(found: dict[Cell, list[float]]) -> Iterator[str]:
    """Yield the lines of the table: a row for each loss rate, one for all losses, and one for each kind of cell."""
    yield "| | pairs, median | cells, median | signed | within 1 % | equal | pairs |"
    yield "|---|" + "--:|" * 6
    for loss in LOSSES:
        here = [one for cell, one in found.items() if cell.loss == loss]
        if here:
            yield row(f"loss {loss.replace('%', ' %')}", here)
    lossy = {cell: one for cell, one in found.items() if cell.loss != "0%"}
    if lossy:
        yield row("all losses", list(lossy.values()))
    for values, field in ((SIZES, "size"), (RATES, "rate"), (RTTS, "rtt"), (QUEUES, "queue")):
        for value in values:
            here = [one for cell, one in lossy.items() if getattr(cell, field) == value]
            if here:
                yield row(f"with losses, {value}", here)


def main() -> None:
    """Run the grid and print a table for each contender."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("contenders", nargs="*", default=["quic@model/cubic", "quic@model/cubic+as=quinn-0.11"])
    parser.add_argument("--stack", default="quic@quinn/cubic+nullcipher", help="the contender that they stand beside")
    parser.add_argument("--replications", type=int, default=5)
    parser.add_argument("--only", default="", help="only transfers whose name has this, such as 1%%-20Mbit/s")
    parser.add_argument("--app", default="raw")
    parser.add_argument("--each", action="store_true", help="a line for each transfer as well")
    given = parser.parse_args()
    cells = [cell for cell in grid() if given.only in cell.key]
    stack = {
        cell: [cell.took(given.stack, i, given.app) for i in range(count(cell, given.replications))] for cell in cells
    }
    for contender in given.contenders:
        found = {
            cell: [math.log(cell.took(contender, i, given.app) / took) for i, took in enumerate(stack[cell])]
            for cell in cells
        }
        sys.stdout.write(f"{contender} beside {given.stack}\n\n")
        if given.each:
            for cell, ratios in found.items():
                took = statistics.median(stack[cell])
                ratios_text = " ".join(f"{ratio:+.2%}" for ratio in ratios)
                sys.stdout.write(f"{cell.key:32} {took:9.4f} s  {ratios_text}\n")
        sys.stdout.write("\n".join([*table(found), "", ""]))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
