"""Whether `haltere attack` finds known attacks again, how fast it is, and how often chance alone is a finding.

`tests/validation/attack.py known [SEEDS]` searches the attacks of `KNOWN`, each with so many seeds, and prints for each
the answer, the evaluations of its search and how long they took. `tests/validation/attack.py chance [SEEDS]` attacks
CUBIC beside CUBIC with dice of its own, where every finding is a false alarm, and prints the share so far. From the
repository's folder.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, replace

from haltere import fidelity
from haltere.attack import Attack, Base, Plan, Rivals, attack
from haltere.attack.arena import Arena
from haltere.attack.drawing import Draw
from haltere.attack.events import Limits
from haltere.attack.harms import HARMS
from haltere.attack.judging import judge
from haltere.attack.search import Evolution, chosen
from haltere.when.runs import seed_of

CUBIC = "tcp/cubic"
CHANCE_EVALUATIONS = 200
"""Evaluations of a search that can find nothing but chance."""


@dataclass(frozen=True)
class Known:
    """An attack that others have described, and the search that should find it.

    Attributes:
        name: what it is.
        source: who described it.
        contender, against: who is attacked, and beside whom.
        plan: how it is searched.
    """

    name: str
    source: str
    contender: str
    plan: Plan
    against: str = CUBIC


def _starved(contender: str) -> Known:
    source = "Arun, Alizadeh, Balakrishnan, SIGCOMM 2022"
    return Known(f"starvation of {contender} by jitter", source, contender, Plan(hurt=["starvation"], only=["jitter"]))


KNOWN = (
    Known(
        "BBR stops after losses",
        "CC-Fuzz: Ray, Seshan, HotNets 2022",
        "tcp/bbr",
        Plan(hurt=["stall", "goodput"], only=["loss"]),
    ),
    Known(
        "low-rate attack on TCP",
        "Kuzmanovic, Knightly, SIGCOMM 2003",
        CUBIC,
        Plan(hurt=["goodput"], only=["load"], limits=Limits(events=2, cross=0.15)),
        against="tcp/bbr",
    ),
    _starved("tcp/bbr"),
    _starved("tcp/bbr3"),
    _starved("tcp/copa"),
)


def known(seeds: int, only: str = "") -> None:
    """Search the known attacks whose names hold a text, and print what was found."""
    for one in KNOWN:
        for seed in range(1, seeds + 1):
            if only in one.name:
                started = time.monotonic()
                found = attack(one.contender, against=one.against, plan=replace(one.plan, seed=seed))
                _tell(one, seed, found, time.monotonic() - started)


def _tell(one: Known, seed: int, found: Attack, wall_s: float) -> None:
    lines = [f"{one.name} ({one.source}), seed {seed}: {found.evaluations} evaluations, {wall_s:.0f} s in all"]
    for answer in found.answers:
        lines.append(f"  {answer.harm.name}: {'FOUND' if answer.holds else 'not found'}")
        lines += [f"    {sentence}" for sentence in answer.sentences(found.rivals)]
        lines += [f"    - {event.words}" for event in answer.events]
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


def chance(seeds: int) -> None:
    """Print the share of searches in which chance alone is a finding: one for each harm and seed, and one in all."""
    base = Base(seconds=6)
    rivals = replace(Rivals.of(CUBIC, CUBIC, base), apart=1000)
    executor = fidelity.executor("model")
    alarms = commands = 0
    for seed in range(seeds):
        raised = 0
        for harm in HARMS.values():
            search = Arena(rivals, harm, seed_of(seed, "attack search"), executor)
            ranked = Evolution(search, Draw(base, harm.kinds, Limits()), CHANCE_EVALUATIONS).run()
            best = chosen(search, ranked)
            fresh = Arena(rivals, harm, seed_of(seed, "attack fresh"), executor)
            judged = None if best is None else judge(fresh, best.events, together=len(HARMS))
            raised += judged is not None and judged.holds
        alarms += raised
        commands += raised > 0
        done = seed + 1
        share = f"{100 * commands / done:.1f} %"
        sys.stdout.write(f"{alarms} of {done * len(HARMS)} harms and {commands} of {done} commands, {share}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    what, *numbers = sys.argv[1:] or ["known"]
    if what == "chance":
        chance(int(numbers[0]) if numbers else 40)
    else:
        known(int(numbers[0]) if numbers else 1, numbers[1] if len(numbers) > 1 else "")
