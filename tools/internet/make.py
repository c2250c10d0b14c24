"""Makes the fixture anew: `make fixture-paths`, or `python -m internet.make [FOLDER]`.

Real scamper traces two small Internets in user-mode Linuxes, whose clock stands at the days of each period and whose
cables take the time that light takes. Needs Debian's packages scamper, traceroute and mtr-tiny, and a kernel
(`haltere kernel build`).
"""

from __future__ import annotations

import base64
import gzip
import json
import random
import sys
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from internet import others, said, systems
from internet.cities import CITIES, places, write_database, write_systems
from internet.machine import measure
from internet.periods import PERIODS, Period, plans
from internet.plan import Internet, Prefix

Json = dict[str, Any]
FIXTURE = Path(__file__).resolve().parents[2] / "tests" / "data" / "paths"
LIST_ID = 7
RATE_PPS = 200
FATES = {"hosts": 69, "far": 3, "hidden": 2, "silent": 10, "blackhole": 5, "unreachable": 4, "prohibited": 2, "loop": 5}
"""How many of a hundred targets are what."""
METHODS = {
    4: {
        "-P icmp-paris": 80,
        "-P udp-paris": 9,
        "-P udp -q 3 -Q": 5,  # classic: flows differ, and so may the answers to one TTL
        "-P tcp-ack": 3,
        "-P udp-paris -M": 3,  # with path MTU discovery
    },
    6: {"-P icmp-paris": 85, "-P udp-paris": 15},
}
LAST_DITCH = "-P icmp-paris -G 2"
"""The method for hosts behind too many silent routers: one last probe with the highest TTL."""
V6 = 0.15


def commands(net: Internet, period: Period, monitor: str, day: datetime) -> list[str]:
    """Return the traces that a monitor makes on a day: a host of a network each, at random."""
    dice = random.Random(f"{period.name} {monitor} {day:%Y%m%d}")
    groups: dict[str, list[Prefix]] = {}
    for prefix in net.prefixes:
        special = {"syd-far": "far", "sea-hidden": "hidden"}.get(prefix.at[0])
        groups.setdefault(special or prefix.fate, []).append(prefix)
    found = []
    for fate in dice.choices(list(FATES), list(FATES.values()), k=period.traces):
        version = 6 if dice.random() < V6 else 4
        (method,) = dice.choices(list(METHODS[version]), list(METHODS[version].values()))
        target = dice.choice(groups[fate]).host(version, dice.randint(1, 254))
        found.append(f"trace {LAST_DITCH if fate == 'hidden' else method} {target}")
    return found


def runs(net: Internet, period: Period) -> list[tuple[str, Json]]:
    """Return scamper's runs, each with the name of the file that it makes."""
    made = []
    for cycle, day in enumerate(period.days, 1):
        for monitor, _ in period.monitors:
            words = (
                f"scamper -O warts -O cmdfile -O rawtcp -p {RATE_PPS} -M {monitor} -l cities -L {LIST_ID} -C {cycle}"
            )
            run = {
                "at": monitor,
                "words": [*words.split(), "-o", "{output}", "-f", "{input}"],
                "input": "\n".join(commands(net, period, monitor, day)) + "\n",
                "since": day.timestamp(),
            }
            made.append((f"{day:%Y%m%d}.{monitor}.warts.gz", run))
    return made


def main(folder: Path = FIXTURE) -> None:
    """Write the whole fixture."""
    nets = plans()
    wanted = {name: runs(nets[name], period) for name, period in PERIODS.items()}
    wanted["text"] = others.runs(nets["2006"])
    jobs = [(nets.get(name, nets["2006"]), [run for _, run in named]) for name, named in wanted.items()]
    answers = dict(zip(wanted, measure(jobs, virtually=True), strict=True))
    others.write(wanted.pop("text"), answers.pop("text"), folder / "text")
    counted: Json = {}
    located: dict[str, str] = {}
    for name, named in wanted.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        for old in (folder / name).glob("*.warts.gz"):
            old.unlink()
        for (file, _), got in zip(named, answers[name], strict=True):
            warts = base64.b64decode(got["output"])
            if got["code"] or not warts:
                raise RuntimeError(f"scamper at {file} ended with {got['code']}: {got['stderr']}")
            # Without a name and a time the packed bytes depend on the content alone.
            (folder / name / file).write_bytes(gzip.compress(warts, 9, mtime=0))
            counted[f"{name}/{file}"] = said.counts(warts)
        located |= places(nets[name])
    write_database(located, folder / "cities.mmdb")
    write_systems(located, folder / "cities.pfx2as")
    systems.write(nets.values(), folder)
    _write(folder / "counts.json", counted)
    _write(folder / "cities.json", {"cities": [asdict(city) for city in CITIES.values()], "places": located})


def _write(file: Path, data: Json) -> None:
    file.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
