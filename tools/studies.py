"""Runs the campaigns that the shipped studies keep, keeps what they found, and says which verdicts and numbers changed.

`tools/studies.py [STUDY ...] [--minutes M] [--fidelity model ...]`, from the repository's folder. A campaign whose
estimated time is longer than what is left is not started; what had finished of an earlier one goes on where it stopped.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from haltere import fidelity, kept, report
from haltere.cli import show
from haltere.errors import InputError
from haltere.evolution.study import PathsStudy
from haltere.explanation.asked import explain_all
from haltere.explanation.runs import How
from haltere.kept import campaign
from haltere.runner.study import Study
from haltere.study import is_of_paths

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Wanted:
    """A campaign to run: its study, the name under which it is kept, its variant and its fidelities."""

    folder: Path
    name: str
    variant: str | None
    fidelities: tuple[str, ...]

    @property
    def out(self) -> Path:
        """The folder of its results."""
        return (
            ROOT / "results" / (self.folder.name if self.name == campaign.MAIN else f"{self.folder.name}-{self.name}")
        )


def wanted(names: Sequence[str], fidelities: Sequence[str]) -> list[Wanted]:
    """Return the campaigns that studies keep and whose fidelities are all among these."""
    found = []
    for folder in sorted(file.parent for file in (ROOT / "studies").glob("*/study.toml")):
        if names and folder.name not in names:
            continue
        for name in campaign.names(folder):
            kept_now = campaign.read(folder, name)
            if kept_now is not None and set(kept_now.fidelities) <= set(fidelities):
                found.append(Wanted(folder, name, kept_now.variant, kept_now.fidelities))
    return found


def run(one: Wanted, left_s: float) -> str | None:
    """Run, report and keep a campaign; return why not, if it would take longer than the seconds that are left."""
    if is_of_paths(one.folder):
        command = f"haltere run studies/{one.folder.name}"
        with show.stages() as on_progress:
            PathsStudy.load(one.folder).run(one.out, command=command, on_progress=on_progress)
        _keep(one)
        return None
    study = Study.load(one.folder, variant=one.variant, fidelity=list(one.fidelities))
    guess = study.estimate()
    if guess.seconds is not None and guess.seconds > left_s:
        return f"would take {show.duration(guess.seconds)}"
    with show.progress(one.out.name) as advance:
        study.run(out=one.out, on_progress=advance)
    if study.file.why:
        with show.progress("explaining") as advance:
            explain_all(study, one.out, How(on_progress=advance))
    _keep(one)
    return None


def _keep(one: Wanted) -> None:
    report.build(one.out, one.folder)
    done = kept.keep(one.out, one.folder)
    for change in (*done.verdicts, *done.numbers):
        show.say(f"  {change}")
    for page in done.pages:
        show.say(f"  written anew: {page.relative_to(ROOT)}")


def main() -> int:
    """Run what the command line asks for; return how many campaigns and folders of pages were left out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("studies", nargs="*")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--fidelity", action="append", choices=fidelity.NAMES)
    given = parser.parse_args()
    ends = time.monotonic() + 60 * given.minutes
    left_out = 0
    for one in wanted(given.studies, given.fidelity or fidelity.simulated()):
        show.say(f"{one.folder.name}, campaign {one.name}", style="bold")
        try:
            why = run(one, ends - time.monotonic())
        except InputError as wrong:  # the others run all the same
            why = str(wrong)
        if why is not None:
            show.say(f"  left out: {why}", style="yellow")
            left_out += 1
    for place in ("README.md", "docs", "studies"):
        try:
            kept.render(ROOT / place)
        except InputError as wrong:
            show.say(f"{place}: {wrong}", style="red")
            left_out += 1
    return left_out


if __name__ == "__main__":
    sys.exit(main())
