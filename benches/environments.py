#!/usr/bin/env python3
"""Steps a second of `haltere.gym` on Aurora's workload: an agent on a link that each episode draws anew.

The links are those of Aurora's published simulator: 100 to 500 packets of 1500 bytes a second, 50 to 500 ms there and
as much back, a queue of 1 to 2981 packets, 0 to 5 % of the packets lost, first rates of 0.3 to 1.5 times the link's.
An episode has 400 steps of one mean RTT, or of half of one. The agent's actions are random, normal with a standard
deviation of 1. CPU time is that of the process, Python's part included.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from haltere import Study, gym

SPACE = """
[study]
name = "aurora"
seed = 1
replications = 1

[experiments.links]
design = "space-filling"
sampling = "sobol"
points = 1024

[experiments.links.factors]
rate = { from = "1.2Mbit/s", to = "6Mbit/s", scale = "linear" }
delay = { from = "50ms", to = "500ms", scale = "linear" }
loss = { from = "0%", to = "5%", scale = "linear" }
queue = { from = "1500B", to = "4471500B" }

[experiments.links.scenario]
duration = "100h"

[experiments.links.scenario.topology]
kind = "point-to-point"

[experiments.links.scenario.topology.link]
rate = "{rate}"
queue = "{queue}"
down = { delay = "{delay}", loss = "{loss}" }
up = { delay = "{delay}" }

[[experiments.links.scenario.flows]]
contender = "tcp/cubic"
app = "raw"
"""


def measure(count: int, threads: int, interval: str, seconds: float, study: Study) -> dict[str, float]:
    """Step `count` environments for some seconds."""
    environments = gym.VectorEnvironment(study, num_envs=count, threads=threads, interval=interval, start=(0.3, 1.5))
    environments.reset(seed=1)
    dice = np.random.default_rng(1)
    steps, sent, resets = 0, 0.0, 0
    wall, cpu = time.perf_counter(), time.process_time()
    while time.perf_counter() - wall < seconds:
        *_, truncated, info = environments.step(dice.normal(size=(count, 1)))
        steps += count
        sent += float((info["interval"]["sent_bytes"] / info["interval"]["packet_bytes"]).sum())
        resets += int(truncated.sum())
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return {
        "steps a second": steps / wall,
        "steps a CPU-second": steps / cpu,
        "packets a step": sent / steps,
        "packets a CPU-second": sent / cpu,
        "episodes": resets,
    }


def main() -> None:
    """Print a line for each number of environments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0, help="how long each case is stepped")
    options = parser.parse_args()
    study = Study.parse(SPACE)
    for interval in ("1rtt", "0.5rtt"):
        for count, threads in ((1, 1), (8, 1), (64, 1), (256, 1), (256, 2)):
            found = measure(count, threads, interval, options.seconds, study)
            line = ", ".join(f"{name} {value:,.0f}" for name, value in found.items())
            print(f"interval {interval}, {count} environments, {threads} threads: {line}")


if __name__ == "__main__":
    main()
