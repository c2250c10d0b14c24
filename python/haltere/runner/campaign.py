"""A campaign: every run of a study, in parallel, into a results folder; it continues where it stopped."""

from __future__ import annotations

import contextlib
import os
import platform
import shlex
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from haltere import core, fidelity, shipped
from haltere.documents import Document, shown
from haltere.errors import ArgumentError, InputError, Interrupted, Place, grouped, refuse_below
from haltere.executor import Executor, Outcome, Task
from haltere.results import FORMAT, Results, load, read_manifest, tables, write
from haltere.runner import links
from haltere.runner.interrupt import stop_on_interrupt
from haltere.runner.parts import Parts
from haltere.study import Run, Study

if TYPE_CHECKING:
    from haltere.paths.summary import Summary

Executors = Mapping[fidelity.Fidelity, Executor]
MAX_RUNS = 2_000_000
SO_FAR = "so-far"
"""The folder, within that of a campaign that has not finished, of the results so far."""
FIRST_FLUSH_S, FLUSH_EVERY_S = 0.1, 1.0
"""How long finished runs wait to be written: shorter at first, so that even a short campaign can be resumed."""


class Campaign:
    """A study, how much of it to run, and the folder of its results."""

    def __init__(
        self,
        study: Study,
        *,
        out: str | Path | None = None,
        replications: int | None = None,
        experiments: Sequence[str] | None = None,
    ) -> None:
        refuse_below(1, replications=replications)
        self.study = study
        self.out = Path(out) if out is not None else Path("results") / study.name
        if self.out.exists() and not self.out.is_dir():
            raise ArgumentError(
                "is a file; results go into a folder", field="out", given=str(out), right=f"results/{study.name}"
            )
        self.replications = study.header.replications if replications is None else replications
        self.experiments = list(dict.fromkeys(experiments or study.file.experiments))
        runs = self.replications * len(study.select(experiments)) * len(study.fidelities)
        if runs > MAX_RUNS:
            raise ArgumentError(
                f"the campaign has {grouped(runs)} runs",
                field="replications",
                given=str(self.replications),
                right=f"at most {grouped(MAX_RUNS)} runs at once; `experiments` takes one experiment at a time",
            )
        self.plan: list[Run] = list(study.runs(replications=self.replications, experiments=experiments))
        self.parts = Parts(self.out)

    def unfinished(self) -> list[Run]:
        """Return the runs that no part holds yet."""
        finished = self.parts.read()
        return [run for run in self.plan if run.id not in finished]

    def run(
        self,
        *,
        workers: int | None = None,
        engine: Callable[[fidelity.Fidelity], Executor] | None = None,
        on_progress: Callable[[int, int], None] | None = None,
        command: str | None = None,
    ) -> Results:
        """Run what is missing, write the tables and the manifest, and return the results.

        Args:
            workers: how many runs at once (default: one a CPU).
            engine: what makes the executor of a fidelity, such as one of a cluster (default: this machine).
            on_progress: called with (finished, all) as runs finish.
            command: the command line that the manifest names (default: the one of these arguments).

        Raises:
            Interrupted: after Ctrl-C, when all runs that had finished are written.
        """
        made = engine or (lambda name: fidelity.executor(name, workers))
        executors = {name: made(name) for name in self.study.fidelities}
        with self.parts.locked():
            started, clock = _now(), time.monotonic()
            todo = self.unfinished()
            self.parts.begin(
                study=self.study.name,
                command=command or self.command(),
                runs=len(self.plan),
                todo=len(todo),
                at=started,
                campaign=self._as_asked(),
            )
            with stop_on_interrupt() as stop:
                ran = self._execute(executors, todo, stop, on_progress)
                if ran < len(todo):
                    written = len(self.plan) - len(todo) + ran
                    raise Interrupted(f"stopped: {written} of {len(self.plan)} runs are written in {shown(self.out)}")
            finished = self.parts.read()
            self._write(
                finished,
                {"started": started, "finished": _now(), "wall_s": round(time.monotonic() - clock, 3), "runs": ran},
                command,
            )
        return load(self.out)

    def _execute(
        self,
        executors: Executors,
        todo: list[Run],
        stop: threading.Event,
        on_progress: Callable[[int, int], None] | None,
    ) -> int:
        """Run, write the results, and return how many were written."""
        done, everything = len(self.plan) - len(todo), len(self.plan)
        ran, batch, flushed, patience = 0, list[Outcome](), time.monotonic(), FIRST_FLUSH_S
        progress = on_progress or (lambda _finished, _all: None)
        progress(done, everything)
        try:
            for outcome in _outcomes(executors, todo, stop):
                batch.append(outcome)
                ran += 1
                progress(done + ran, everything)
                if time.monotonic() - flushed >= patience:
                    self.parts.write(batch)
                    batch, flushed, patience = [], time.monotonic(), min(2 * patience, FLUSH_EVERY_S)
        finally:  # what had finished when an executor failed is kept too
            self.parts.write(batch)
        return ran

    def _write(self, finished: dict[str, str], session: dict[str, Any], command: str | None) -> None:
        frames, manifest = self._tables(finished)
        earlier = read_manifest(self.out) or {}
        sessions = [s for s in earlier.get("sessions", []) if earlier.get("core") == core.fingerprint()]
        if session["runs"] or not sessions:
            sessions.append(session)
        manifest |= {
            "started": sessions[0]["started"],
            "finished": sessions[-1]["finished"],
            "sessions": sessions,
            "command": command or self.command(),
        }
        write(self.out, frames, manifest)

    def so_far(self) -> Results:
        """Write the tables of the runs that have finished into `so-far` in the folder, and return them.

        The manifest has `partial`: how many runs are there, and of how many.

        Raises:
            InputError: if no run has finished.
        """
        finished = self.parts.read()
        if not any(run.id in finished for run in self.plan):
            raise InputError(
                "no run has finished yet", place=Place(shown(self.out)), right="a campaign that has run for a while"
            )
        frames, manifest = self._tables(finished)
        noted = self.parts.status() or {}
        manifest |= {
            "partial": {"runs": manifest["counts"]["runs"], "of": len(self.plan)},
            "started": noted.get("at", ""),
            "finished": "not yet",
            "sessions": [],
            "command": noted.get("command", self.command()),
        }
        folder = self.out / SO_FAR
        write(folder, frames, manifest)
        return load(folder)

    def _as_asked(self) -> dict[str, Any]:
        """Return what it takes to make this campaign again."""
        return {
            "study_file": self.study.document.name,
            "study_text": self.study.document.text,
            "variant": self.study.variant,
            "fidelities": list(self.study.fidelities),
            "replications": self.replications,
            "experiments": self.experiments,
        }

    def _tables(self, finished: dict[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the tables of the finished runs, and the part of the manifest that does not depend on the clock."""
        ordered = sorted(
            (run for run in self.plan if run.id in finished),
            key=lambda run: (
                self.experiments.index(run.treatment.experiment),
                run.treatment.index,
                self.study.fidelities.index(run.fidelity),
                run.replication,
            ),
        )
        frames = tables.build(ordered, finished, {name: list(self.study.factors(name)) for name in self.experiments})
        failed = frames["runs"].filter(frames["runs"]["status"] != "ok").height
        return frames, {
            "format": FORMAT,
            "haltere": core.VERSION,
            "core": core.fingerprint(),
            "study": self.study.header.model_dump(mode="json"),
            "variant": self.study.variant,
            "experiments": {
                name: {
                    "title": self.study.file.experiments[name].title,
                    "design": self.study.file.experiments[name].design,
                    "factors": self._factors(name),
                    "treatments": len(self.study.select([name])),
                    "links": links.in_words(self.study.select([name])),
                }
                for name in self.experiments
            },
            "fidelities": list(self.study.fidelities),
            "paths": {key: summary.described() for key, summary in self.summaries().items()},
            "kernels": {name: about for name in self.study.fidelities if (about := self._kernel(name))},
            "replications": self.replications,
            "seed": self.study.header.seed,
            "counts": {"runs": len(ordered), "ok": len(ordered) - failed, "failed": failed},
            "study_file": self.study.document.name,
            "study_text": self.study.document.text,
            "git_commit": _git_commit(self.study.directory),
            "machine": _machine(),
        }

    def _kernel(self, name: fidelity.Fidelity) -> dict[str, Any]:
        """Return what the manifest records of the kernel on which runs of a fidelity depend, if any does."""
        scenarios = (run.scenario for run in self.plan if run.fidelity == name and run.replication == 0)
        return next(filter(None, (fidelity.about(name, scenario) for scenario in scenarios)), {})

    def summaries(self) -> dict[str, Summary]:
        """Return the measured paths that the campaign's scenarios draw from, as the study names them."""
        measured = [run.treatment.measured for run in self.plan if run.replication == 0]
        return {str(one.scenario["topology"]["paths"]): one.summary for one in measured if one is not None}

    def _factors(self, experiment: str) -> dict[str, list[str]]:
        """Return the factors that distinguish rows: with several fidelities, the fidelity is one of them."""
        several: dict[str, list[str]] = {"fidelity": [*self.study.fidelities]} if len(self.study.fidelities) > 1 else {}
        return several | {factor: list(levels) for factor, levels in self.study.factors(experiment).items()}

    def command(self) -> str:
        """Return the command line that runs this campaign, or goes on with it."""
        words = ["haltere", "run", self._study(), "--replications", str(self.replications)]
        if self.study.variant:
            words += ["--variant", self.study.variant]
        if self.study.fidelities != self.study.header.fidelity:
            words += [word for name in self.study.fidelities for word in ("--fidelity", name)]
        if len(self.experiments) < len(self.study.file.experiments):
            words += [word for name in self.experiments for word in ("--experiment", name)]
        return shlex.join([*words, "--out", shown(self.out)])

    def _study(self) -> str:
        """Return the study as `haltere run` takes it: a shipped one that does not lie below this folder by its name."""
        folder = self.study.directory
        if folder is not None and not folder.resolve().is_relative_to(Path.cwd()):
            name = shipped.called(folder)
            if name is not None and self.study.document.name.endswith("study.toml"):
                return name
        return self.study.document.name.removesuffix("/study.toml")


def so_far(folder: Path) -> Results | None:
    """Return the results so far of a campaign that has not finished; None if the folder holds none.

    Raises:
        InputError: if no run has finished yet, or this version cannot make the campaign again.
    """
    noted = Parts(folder).status()
    if noted is None or "campaign" not in noted:
        return None
    asked = noted["campaign"]
    file = Path(str(asked["study_file"]))
    document = Document.parse(str(file), str(asked["study_text"]))
    study = Study.of_document(document, file.parent, variant=asked["variant"], fidelity=asked["fidelities"])
    again = Campaign(study, out=folder, replications=asked["replications"], experiments=asked["experiments"])
    return again.so_far()


def _outcomes(executors: Executors, todo: list[Run], stop: threading.Event) -> Iterator[Outcome]:
    for name, executor in executors.items():
        runs = (run for run in todo if run.fidelity == name)
        yield from executor.execute((Task(run.id, run.scenario, run.seed, run.replication) for run in runs), stop)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _git_commit(directory: Path | None) -> str | None:
    """Return the commit that has the study, with `+changes` if files differ from it."""
    if directory is None:
        return None

    def git(*arguments: str) -> str | None:
        try:
            answer = subprocess.run(
                ["git", "-C", str(directory), *arguments], capture_output=True, text=True, timeout=10, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return answer.stdout.strip() if answer.returncode == 0 else None

    if not git("ls-files"):  # an environment in somebody's repository is not part of it
        return None
    commit = git("rev-parse", "HEAD")
    return f"{commit}+changes" if commit and git("status", "--porcelain", "--untracked-files=no") else commit


def _machine() -> dict[str, Any]:
    model = None
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), None)
    return {
        "system": platform.system(),
        "architecture": platform.machine(),
        "cpu": model,
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
    }
