"""Counts the packets that agree before model and kernel differ.

Usage: `first_differences.py [--wide N | --disturbed N | --loaded N] [--only TEXT] [--each]`.

Runs a grid of bare transfers over congestion controls, loss rates, round trips, queues and sizes, each with the same
losses in the model and on kernels that are nodes of the simulator. Prints a table of medians for
`docs/explanation/validation.md`, and with `--each` a line for each transfer. With `--wide N` it draws N transfers at
random instead, over 1 to 1000 Mbit/s, 1 to 300 ms and queues that mark, and counts those without a difference. With
`--disturbed N` the network disturbs each of them as well: packets overtake each other, the link fails, its rate or
delay changes. With `--loaded N` the load is another: a second flow shares the bottleneck, the data come slowly, or many
small objects are asked for one after another.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from haltere.adhoc.conditions import Conditions
from haltere.adhoc.packets import Difference, first_difference

SEED = 1
CONTROLS = ("cubic", "newreno", "bbr")
LOSSES = ("0%", "0.1%", "1%")
RTTS = ("10ms", "40ms", "200ms")
QUEUES = ("0.5bdp", "2bdp")
SIZES = ("100kB", "2MB")
LOSSY_REPLICATIONS = 2
WIDE_CONTROLS = ("cubic", "newreno", "bbr", "cubic+ecn=rfc3168", "dctcp")
WIDE_RATES = ("1Mbit/s", "5Mbit/s", "20Mbit/s", "100Mbit/s", "300Mbit/s", "1Gbit/s")
WIDE_RTTS = ("1ms", "3ms", "10ms", "40ms", "100ms", "300ms")
WIDE_SIZES = ("20kB", "100kB", "500kB", "2MB", "8MB")
WIDE_QUEUES = ("0.25bdp", "0.5bdp", "1bdp", "2bdp", "4bdp", "fq_codel", "codel:ecn=true", "red:ecn=true")
MARKING = ("codel:ecn=true", "red:ecn=true", "fq_codel")
WIDE_LOSSES = ("0%", "0.1%", "0.5%", "2%")
REORDERING = ("500us", "2ms", "10ms")
OUTAGES = ("100ms", "400ms", "2s")
DISTURBANCES = ("reordering", "outage", "rate", "delay")
"""The network's disturbances. Changes of rate and delay, and outages, come when half of the transfer is over."""
LOADS = ("share", "supply", "requests")
"""A second flow of another control; data that come at a rate; small objects after pauses."""
SHARING = ("cubic", "newreno", "bbr")
OBJECTS = 20


@dataclass(frozen=True)
class Cell:
    """One transfer of the grid."""

    control: str
    loss: str
    rtt: str
    queue: str
    size: str
    replication: int
    rate: str = "20Mbit/s"
    disturbance: str = ""
    amount: str = ""

    @property
    def key(self) -> str:
        """Its name in files and lines."""
        rate = "" if self.rate == Cell.rate else f"{self.rate}-"
        disturbance = f"{self.disturbance}={self.amount}-" if self.disturbance else ""
        place = f"{rate}{self.rtt}-{self.queue}-{self.size}-{self.replication}"
        return f"{self.control}-{self.loss}-{disturbance}{place}"

    @property
    def down(self) -> dict[str, Any]:
        """The fields of the link from the server by which it is disturbed."""
        half = _ms(self.rtt) * 2 + _ms(self.rtt) / 2 + _bits(self.size) / _bits(self.rate) * 500
        at = f"{half:.0f}ms"
        match self.disturbance:
            case "reordering":
                return {"jitter": {"spread": self.amount, "distribution": "normal", "reorder": True}}
            case "outage":
                return {"outage": [{"from": at, "to": f"{half + _ms(self.amount):.0f}ms"}]}
            case "rate" | "delay":
                before = self.rate if self.disturbance == "rate" else f"{_ms(self.rtt) / 2:g}ms"
                return {self.disturbance: {"at": ["0s", at], "value": [before, self.amount]}}
        return {}

    @property
    def task(self) -> dict[str, Any]:
        """The fields of the flow by which its load is another."""
        match self.disturbance:
            case "supply":
                return {"supply": self.amount}
            case "requests":
                dice = random.Random(f"objects {self.replication}")
                objects: list[dict[str, Any]] = [
                    {
                        "size": f"{dice.choice((200, 1000, 5000, 20_000, 60_000))}B",
                        "after": [i - 1],
                        "delay": self.amount,
                    }
                    for i in range(OBJECTS)
                ]
                objects[0] |= {"after": [], "delay": "0s"}
                return {"app": "http1", "size": None, "page": {"objects": objects}}
        return {}

    def difference(self) -> Difference:
        """Run it in the model and on kernels. All hosts tick together."""
        conditions = Conditions(
            app="raw",
            rate=self.rate,
            rtt=self.rtt,
            loss=self.loss,
            queue=self.queue,
            size=self.size,
        )
        over = {"topology": {"link": {"down": self.down}}} if self.down else {}
        controls = [self.control, *([self.amount] if self.disturbance == "share" else [])]
        found = first_difference(
            [f"tcp/{control}" for control in controls],
            conditions,
            seed=SEED,
            replication=self.replication,
            over=over,
            of_flows=self.task,
        )
        return next((one for one in found if not one.agrees), found[0])


def _ms(time: str) -> float:
    """A time such as 10ms, milliseconds."""
    for unit, factor in (("us", 1e-3), ("ms", 1.0), ("s", 1e3)):
        if time.endswith(unit):
            return float(time.removesuffix(unit)) * factor
    raise ValueError(time)


def _bits(amount: str) -> float:
    """The bits of a size, or the bits a second of a rate."""
    units = (("kB", 8e3), ("MB", 8e6), ("Mbit/s", 1e6), ("Gbit/s", 1e9))
    return next(float(amount.removesuffix(unit)) * factor for unit, factor in units if amount.endswith(unit))


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


def wide(count: int) -> list[Cell]:
    """Return so many transfers drawn at random; those whose packets can be marked cross a queue that marks."""
    cells = []
    for i in range(count):
        dice = random.Random(i)
        control = dice.choice(WIDE_CONTROLS)
        rate, rtt, size, queue, loss = (
            dice.choice(values) for values in (WIDE_RATES, WIDE_RTTS, WIDE_SIZES, WIDE_QUEUES, WIDE_LOSSES)
        )
        if control in ("dctcp", "cubic+ecn=rfc3168") and queue not in MARKING:
            queue = MARKING[(i + 1) % 2]
        if rate == "1Mbit/s" and size in ("2MB", "8MB"):
            size = "500kB"
        cells.append(Cell(control, loss, rtt, queue, size, i % 5, rate))
    return cells


def disturbed(count: int) -> list[Cell]:
    """Return so many transfers drawn at random that the network disturbs."""
    cells = []
    for i, cell in enumerate(wide(count)):
        dice = random.Random(f"disturbed {i}")
        disturbance = DISTURBANCES[i % len(DISTURBANCES)]
        amount = {
            "reordering": dice.choice(REORDERING),
            "outage": dice.choice(OUTAGES),
            "rate": f"{_bits(cell.rate) / 1e6 * dice.choice((0.25, 0.5, 2)):g}Mbit/s",
            "delay": f"{_ms(cell.rtt) * dice.choice((0.25, 1, 2)):g}ms",
        }[disturbance]
        cells.append(replace(cell, disturbance=disturbance, amount=amount))
    return cells


def loaded(count: int) -> list[Cell]:
    """Return so many transfers drawn at random whose load is another."""
    cells = []
    for i, cell in enumerate(wide(count)):
        dice = random.Random(f"loaded {i}")
        load = LOADS[i % len(LOADS)]
        amount = {
            # Flows between the same hosts use ECN together.
            "share": WIDE_CONTROLS[3] if cell.control in WIDE_CONTROLS[3:] else dice.choice(SHARING),
            "supply": f"{_bits(cell.rate) / 1e6 * dice.choice((0.1, 0.5, 0.9)):g}Mbit/s",
            "requests": dice.choice(("0s", "20ms", "300ms")),
        }[load]
        cells.append(replace(cell, disturbance=load, amount=amount))
    return cells


def disturbed_table(found: dict[Cell, Difference]) -> Iterator[str]:
    """Yield the lines of the table of disturbed transfers and of other loads: a row for each kind."""
    kinds = list(dict.fromkeys(cell.disturbance for cell in found))
    yield "| kind | " + " | ".join(WIDE_CONTROLS) + " | all |"
    yield "| --- |" + " --: |" * (len(WIDE_CONTROLS) + 1)
    for disturbance in [*kinds, None]:
        parts = []
        for control in [*WIDE_CONTROLS, None]:
            here = [
                one.agrees
                for c, one in found.items()
                if control in (None, c.control) and disturbance in (None, c.disturbance)
            ]
            parts.append(f"{sum(here)} of {len(here)}")
        yield f"| {disturbance or 'all'} | " + " | ".join(parts) + " |"


def wide_table(found: dict[Cell, Difference]) -> Iterator[str]:
    """Yield the lines of the table of transfers drawn at random: a row for each control."""
    yield "| control | without loss | with loss |"
    yield "| --- | --: | --: |"
    for control in [*WIDE_CONTROLS, None]:
        parts = []
        for lossy in (False, True):
            here = [
                one.agrees for c, one in found.items() if control in (None, c.control) and lossy == (c.loss != "0%")
            ]
            parts.append(f"{sum(here)} of {len(here)}")
        yield f"| {control or 'all'} | " + " | ".join(parts) + " |"


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
    parser.add_argument("--wide", type=int, metavar="N", help="so many transfers drawn at random instead of the grid")
    parser.add_argument("--disturbed", type=int, metavar="N", help="so many that the network disturbs as well")
    parser.add_argument("--loaded", type=int, metavar="N", help="so many with another load")
    given = parser.parse_args()
    if given.loaded:
        drawn, show = loaded(given.loaded), disturbed_table
    elif given.disturbed:
        drawn, show = disturbed(given.disturbed), disturbed_table
    elif given.wide:
        drawn, show = wide(given.wide), wide_table
    else:
        drawn, show = grid(), table
    cells = [cell for cell in drawn if cell.key.startswith(given.only)]
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        found = dict(zip(cells, pool.map(Cell.difference, cells), strict=True))
    if given.each:
        for cell, one in found.items():
            sys.stdout.write(f"{cell.key:44} {one.compared:5}  {'' if one.agrees else one.sentence}\n")
        sys.stdout.write("\n")
    sys.stdout.write("\n".join([*show(found), ""]))


if __name__ == "__main__":
    main()
