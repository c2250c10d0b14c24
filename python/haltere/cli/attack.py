"""`haltere attack`: the search with its progress, the findings in words, and their files; or JSON."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from haltere.attack import Answer, Attack, Base, Plan, Rivals, attack
from haltere.attack.events import Limits
from haltere.cli import show
from haltere.cli.commands.attack import BasePath, Searching, Traces
from haltere.documents import shown
from haltere.errors import Interrupted, counted
from haltere.executor import ThreadExecutor
from haltere.plugins import store
from haltere.runner.interrupt import stop_on_interrupt


def command(
    contender: str,
    path: BasePath,
    traces: Traces,
    searching: Searching,
    *,
    against: str,
    hurt: Sequence[str] | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Search, print what was found, and write its files."""
    ThreadExecutor(searching.workers)  # refuses a wrong number of workers before anything is read
    base = Base(path.rate, path.rtt, path.queue, path.seconds)
    with show.searching() as advance, stop_on_interrupt() as stop:
        plan = Plan(
            hurt=tuple(hurt or ()),
            only=tuple(traces.only or ()),
            limits=Limits(traces.events, cross=traces.cross),
            evaluations=searching.evaluations,
            minutes=searching.minutes,
            replications=searching.replications,
            seed=searching.seed,
            workers=searching.workers,
            linux=searching.replay,
            stop=stop,
            on_progress=advance,
        )
        found = attack(contender, against=against, base=base, plan=plan, where=searching.fidelity)
    written = () if out is None else _write(found, out)
    if as_json:
        show.data(found.data())
    else:
        _print(found)
    for file in written:
        show.note(f"wrote {shown(file)}")
    if stop.is_set():
        raise Interrupted("stopped: above is what was found until then")


def _write(found: Attack, folder: Path) -> list[Path]:
    from haltere.attack.files import write

    return write(found, folder, "haltere " + shlex.join(sys.argv[1:]))


def _print(found: Attack) -> None:
    rivals, base = found.rivals, found.rivals.base
    path = f"{base.rate}, RTT {base.rtt}, queue {base.queue}, {base.seconds} s"
    names = f"{store.shown(rivals.contender)} beside {store.shown(rivals.against)}"
    rate = found.evaluations / found.wall_s if found.wall_s else 0
    show.say(f"{names}; {path}", style="dim")
    for answer in found.answers:
        _tell(answer, rivals)
    show.say(
        f"{counted(len(found.findings), 'finding')} of {counted(len(found.answers), 'harm')}; "
        f"{counted(found.evaluations, 'evaluation')} in {show.duration(found.wall_s)}, {rate:.0f} a second",
        style="dim",
    )


def _tell(answer: Answer, rivals: Rivals) -> None:
    head, *rest = answer.sentences(rivals)
    show.sentence(f"{answer.harm.name}: {head}.", style="bold" if answer.holds else "")
    if answer.holds:
        for event in answer.events:
            show.sentence(f"- {event.words}", indent=2)
    for sentence in rest:
        show.sentence(f"{sentence.rstrip('.')}.", indent=2)
