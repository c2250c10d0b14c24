"""Runs random scenarios with Linux kernels twice and compares the results to the byte: `kernels_repeat.py [NUMBER]`.

The first time they run one after the other, the second time two at once. Prints the scenarios whose results differ.
"""

from __future__ import annotations

import json
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from haltere import core
from haltere.rig import nodes

CONTENDERS = (
    "tcp@linux/cubic",
    "tcp@linux/bbr",
    "tcp@linux/newreno-sack",
    "tcp@linux/cubic+ecn",
    "tcp@linux/dctcp",
    "tcp@linux/vegas+initial-window=32",
    "mptcp@linux/cubic",
    "quic@quinn/cubic",
    "tcp/bbr3",
    "quic/cubic",
)
QUEUES = ("0.5bdp", "2bdp", "fq_codel", "codel:ecn=true", "dualpi2", "red", "cake")


def scenario(dice: random.Random) -> dict[str, Any]:
    """Return a random scenario, of which at least the first flow is a kernel's."""
    link: dict[str, Any] = {
        "rate": f"{dice.randint(1, 200)}Mbit/s",
        "queue": dice.choice(QUEUES),
        "down": {"delay": f"{dice.randint(1, 100)}ms", "loss": dice.choice(["0%", "0.1%", "2%"])},
        "up": {"delay": f"{dice.randint(1, 100)}ms"},
    }
    if dice.random() < 0.2:
        link["down"]["jitter"] = f"{dice.randint(1, 5)}ms"
    names = [dice.choice(CONTENDERS[:7]), *dice.choices(CONTENDERS, k=dice.randint(0, 3))]
    hosts = [
        {"contender": name, "app": "raw", "pair": i, "size": f"{dice.randint(10, 3000)}kB"}
        for i, name in enumerate(names)
    ]
    if dice.random() < 0.2:
        ways = [link, {"rate": f"{dice.randint(1, 50)}Mbit/s", "delay": f"{dice.randint(1, 50)}ms"}]
        one = hosts[0] | {"contender": "mptcp@linux/cubic"}
        del one["pair"]
        return {"topology": {"kind": "multipath", "paths": ways}, "flows": [one]}
    topology = {"kind": "dumbbell", "bottleneck": link, "pairs": len(names)}
    return {"topology": topology, "flows": hosts, "time_limit": "300s"}


def main() -> None:
    """Run and compare."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    made = [json.dumps(scenario(random.Random(seed))) for seed in range(number)]

    def run(seed: int) -> str:
        return nodes.run(core.parse(json.loads(made[seed])), seed, 0, "stack")

    first = [run(seed) for seed in range(number)]
    with ThreadPoolExecutor(2) as pool:
        again = list(pool.map(run, range(number)))
    failed = [seed for seed in range(number) if json.loads(first[seed])["status"] != "ok"]
    for seed in failed:
        sys.stdout.write(f"{seed}: {json.loads(first[seed])['error']}\n")
    differ = [seed for seed in range(number) if first[seed] != again[seed]]
    sys.stdout.write(f"{number} scenarios, {len(failed)} failed, {len(differ)} differ: {differ}\n")
    sys.exit(bool(differ))


if __name__ == "__main__":
    main()
