"""Lays calls of the model beside those of str0m in the cases of RFC 8867, sections 5.1 to 5.6.

`calls.py [CONTENDER ...] [--replications N] [--case C]`. Each case has tail drop of 300 ms and the media source of
section 4.3, without audio. In a window of a case the capacity is constant, and the first seconds after a change are
left out. The table has the goodput of each flow as a share of the capacity, the queueing delay of the bottleneck, the
packets that its queue dropped, and what the viewer of the first flow had: means over the replications. It is the table
of `docs/explanation/calls-of-str0m.md`.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import haltere

SEED = 8867
QUEUE_S = 0.3
"""RFC 8867 section 4.2."""
COLUMNS = (
    "case",
    "window",
    "Mbit/s",
    "contender",
    "goodput, % of it",
    "queueing, ms",
    "dropped, %",
    "glass to glass, ms",
    "p95",
    "shown, %",
    "freezes",
)
Json = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A case: capacities forward and backward (Mbit/s from so many seconds on), flows, and the windows that count."""

    name: str
    forward: tuple[tuple[int, float], ...]
    flows: tuple[Json, ...]
    windows: tuple[tuple[int, int], ...]
    backward: tuple[tuple[int, float], ...] = ()
    reference: float = 1.0
    delays_ms: tuple[int, ...] = ()

    def capacity(self, at: int) -> float:
        """Return the capacity forward at a time, Mbit/s."""
        return next(value for start, value in reversed(self.forward) if start <= at)

    def scenario(self, contender: str, window: tuple[int, int]) -> haltere.Scenario:
        """Return the case with a contender in all calls, until the window's end."""
        start, end = window
        flows = [{"contender": contender, **flow} for flow in self.flows]
        data: Json = {"topology": self.topology(), "flows": flows, "duration": f"{end}s", "measure_from": f"{start}s"}
        return haltere.Scenario(data, fidelity="stack")

    def topology(self) -> Json:
        """Return the bottleneck, with a host a flow on each side."""
        queue = f"{int(self.reference * 1e6 * QUEUE_S / 8)}B"
        bottleneck: Json = {"delay": "50ms", "queue": queue, "down": {"rate": rate(self.forward)}}
        bottleneck["up"] = {"rate": rate(self.backward) if self.backward else "100Mbit/s"}
        if not self.delays_ms:
            access = {"rate": "1Gbit/s", "delay": "0ms"}
            return {"kind": "dumbbell", "pairs": len(self.flows), "bottleneck": bottleneck, "access": access}
        bottleneck["delay"] = "0ms"
        links = [{"from": "left", "to": "right", "name": "bottleneck", "link": bottleneck}]
        for k, delay in enumerate(self.delays_ms):
            links.append({"from": f"server {k}", "to": "left", "link": {"rate": "1Gbit/s", "delay": f"{delay}ms"}})
            links.append({"from": "right", "to": f"client {k}", "link": {"rate": "1Gbit/s", "delay": "0ms"}})
        return {"kind": "graph", "links": links}


def rate(steps: Sequence[tuple[int, float]]) -> Json | str:
    """Return a rate that changes in steps."""
    if len(steps) == 1:
        return f"{steps[0][1]}Mbit/s"
    return {"at": [f"{at}s" for at, _ in steps], "value": [f"{value}Mbit/s" for _, value in steps], "between": "step"}


def pairs(count: int, apart: int = 0) -> tuple[Json, ...]:
    """Return flows that start so many seconds after each other, each between hosts of its own."""
    return tuple({"pair": k, "start": f"{apart * k}s"} for k in range(count))


def between(count: int, apart: int) -> tuple[Json, ...]:
    """Return the same in a graph."""
    return tuple({"server": f"server {k}", "client": f"client {k}", "start": f"{apart * k}s"} for k in range(count))


CASES = (
    Case("5.1", ((0, 1.0), (40, 2.5), (60, 0.6), (80, 1.0)), pairs(1), ((10, 40), (45, 60), (65, 80), (85, 100))),
    Case(
        "5.2",
        ((0, 4.0), (25, 2.0), (50, 3.5), (75, 1.0), (100, 2.0)),
        pairs(2),
        ((10, 25), (30, 50), (55, 75), (80, 100), (105, 125)),
        reference=2.0,
    ),
    Case(
        "5.3",
        ((0, 2.0), (20, 1.0), (40, 0.5), (60, 2.0)),
        ({"pair": 0}, {"pair": 1, "direction": "up"}),
        ((10, 20), (25, 40), (45, 60), (65, 100)),
        backward=((0, 2.0), (35, 0.8), (70, 2.0)),
    ),
    Case("5.4", ((0, 3.5),), pairs(3, 20), ((60, 120),), reference=3.5),
    Case("5.5", ((0, 4.0),), between(5, 10), ((100, 300),), reference=4.0, delays_ms=(10, 25, 50, 100, 150)),
    Case(
        "5.6",
        ((0, 2.0),),
        ({"pair": 0, "start": "5s"}, {"pair": 1, "contender": "tcp/newreno", "app": "raw"}),
        ((30, 120),),
        reference=2.0,
    ),
)


def mean(values: Iterator[float | None]) -> float:
    """Return the mean of those that there are."""
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else float("nan")


def row(case: Case, contender: str, window: tuple[int, int], replications: int) -> str:
    """Return a line of the table."""
    scenario = case.scenario(contender, window)
    results = [haltere.run(scenario, seed=SEED, replication=k).raise_if_failed().data for k in range(replications)]
    first = [result["flows"][0] for result in results]
    bottleneck = [next(link for link in result["links"] if "bottleneck" in link["link"]) for result in results]
    capacity = case.capacity(window[0]) * 1e6
    shares = [
        f"{100 * mean(result['flows'][k]['goodput_bps'] / capacity for result in results):.0f}"
        for k in range(len(case.flows))
    ]
    lost = mean(100 * link["dropped_queue"] / max(link["offered_packets"], 1) for link in bottleneck)
    delay = mean(1e3 * link["mean_queueing_delay_s"] for link in bottleneck)
    seen = [
        f"{1e3 * mean(flow['glass_to_glass_mean_s'] for flow in first):.0f}",
        f"{1e3 * mean(flow['glass_to_glass_p95_s'] for flow in first):.0f}",
        f"{100 * mean(flow['frames_shown'] / max(flow['frames_sent'], 1) for flow in first):.0f}",
        f"{mean(flow['freezes'] for flow in first):.1f}",
    ]
    cells = [case.name, f"{window[0]}-{window[1]} s", f"{capacity / 1e6:g}", f"`{contender}`", " + ".join(shares)]
    return f"| {' | '.join([*cells, f'{delay:.0f}', f'{lost:.1f}', *seen])} |"


def say(line: str) -> None:
    """Write a line."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("contenders", nargs="*", default=["rtp/gcc", "rtp@str0m/gcc"])
    parser.add_argument("--replications", type=int, default=10)
    parser.add_argument("--case", help="only this one, such as 5.1")
    options = parser.parse_args()
    say(f"| {' | '.join(COLUMNS)} |")
    say("|---|---|--:|---|---|--:|--:|--:|--:|--:|--:|")
    for case in CASES:
        if options.case in (None, case.name):
            for window in case.windows:
                for contender in options.contenders:
                    say(row(case, contender, window, options.replications))


if __name__ == "__main__":
    main()
