"""`haltere run`, a study's campaign with a progress bar, or a dry run; and `haltere status`: how far it is."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.markup import escape

from haltere.cli import exits, show
from haltere.documents import shown
from haltere.errors import InputError, Interrupted, Place, counted
from haltere.executor import ThreadExecutor
from haltere.results import Results
from haltere.runner.campaign import Campaign
from haltere.runner.dask import engine
from haltere.runner.estimate import estimate
from haltere.runner.parts import Parts
from haltere.study import Study, is_of_paths


def run(
    path: Path,
    *,
    replications: int | None,
    variant: str | None,
    experiments: Sequence[str] | None,
    fidelity: Sequence[str] | None,
    workers: int | None,
    out: Path | None,
    dask: str | None,
    slurm: str | None,
    dry_run: bool,
) -> None:
    """Run the campaign, or say how big it is."""
    if is_of_paths(path):
        from haltere.cli.paths.comparing import run as compared

        given = {"--variant": variant, "--experiment": experiments, "--fidelity": fidelity, "--slurm": slurm}
        beside = next((name for name, value in given.items() if value), "--dry-run" if dry_run else None)
        if beside is not None:
            right = "--replications, --dask and --out"
            raise InputError("is not for a study of measured paths", field=beside, right=right)
        compared(path, out, replications, dask)
        return
    ThreadExecutor(workers)  # refuses a wrong number of workers before anything is read
    study = Study.load(path, variant=variant, fidelity=fidelity or None)
    campaign = Campaign(study, out=out, replications=replications, experiments=experiments)
    _tell_unlimited(campaign)
    if dry_run:
        _dry_run(campaign, workers)
        return
    ran = len(campaign.unfinished())
    if campaign.parts.ignored:
        show.say(
            f"left aside, as another build of haltere wrote them: {counted(campaign.parts.ignored, 'part file')}",
            style="yellow",
        )
    try:
        with engine(dask, slurm) as cluster, show.progress(escape(study.name)) as advance:
            results = campaign.run(workers=workers, engine=cluster, on_progress=advance)
    except Interrupted as stopped:
        raise Interrupted(f"{stopped}; go on with:\n  {campaign.command()}") from None
    for name, paths in campaign.summaries().items():
        if paths.origin != "measured":
            show.say(f"the paths of {name} are {paths.origin}, not measured: `haltere paths summaries`")
    counts = results.manifest["counts"]
    session = results.manifest["sessions"][-1]
    took = f"({ran} of them now, in {show.duration(session['wall_s'])})" if ran else "(all of them were there already)"
    show.say(f"{counted(counts['runs'], 'run')} of {study.name} in {shown(campaign.out)} {took}")
    tell_failed(results)
    show.say(f"next: haltere report {shown(campaign.out)}")
    exits.end(counts["failed"], counts["runs"])


def tell_failed(results: Results) -> None:
    """Say how many runs failed, if any did, and why the first of them."""
    failed = results.runs.filter(results.runs["status"] != "ok")
    if not failed.is_empty():
        show.say(f"{failed.height} failed, such as {failed['run_id'][0]}: {failed['error'][0]}", style="yellow")


def _tell_unlimited(campaign: Campaign) -> None:
    """Say which links have no rate, which may have been forgotten."""
    found: dict[str, None] = {}
    for treatment in campaign.study.select(campaign.experiments):
        for path in treatment.parsed.unlimited if treatment.parsed else ():
            found.setdefault(f"experiments.{treatment.experiment}.scenario.{path}")
    for path in found:
        show.note(f"note: {path} has no rate: it is unlimited")


def _dry_run(campaign: Campaign, workers: int | None) -> None:
    show.out()
    unfinished = campaign.unfinished()
    rows = []
    for name in campaign.experiments:
        treatments = len(campaign.study.select([name]))
        factors = " × ".join(f"{len(levels)} {factor}" for factor, levels in campaign.study.factors(name).items())
        runs = treatments * campaign.replications * len(campaign.study.fidelities)
        rows.append((name, campaign.study.file.experiments[name].design, factors, str(treatments), str(runs)))
    title = escape(campaign.study.header.title or campaign.study.name)
    titles = ("experiment", "design", "factors", "treatments", "runs")
    show.out().print(show.table(*titles, rows=rows, left=3, title=title))
    done = len(campaign.plan) - len(unfinished)
    show.say(
        f"{counted(len(campaign.plan), 'run')} ({counted(campaign.replications, 'replication')} of each treatment)"
        + (f", {done} of them done already" if done else "")
    )
    if not unfinished:
        show.say("nothing is left to run")
        return
    guess = estimate(unfinished, workers=workers)
    if guess.seconds is None:
        show.say("how long they take is not estimated: none of them could be tried")
        return
    least = ": one more had not ended when time was up" if guess.at_least else ""
    workers_used = counted(guess.workers, "worker")
    show.say(
        f"{'at least' if guess.at_least else 'about'} {show.duration(guess.seconds)} on {workers_used} "
        f"(an estimate, from running {guess.sampled} of them{least})"
    )


def tell_status(results: Path, *, as_json: bool) -> None:
    """Print what is finished, what is left, and whether a campaign is at work."""
    found = status(results)
    if as_json:
        show.data(found)
        return
    show.say(f"{found['study']}: {found['finished']} of {counted(found['runs'], 'run')} done, {_state(found)}")
    if found["left_s"] is not None:
        show.say(f"about {show.duration(found['left_s'])} left, at the pace so far")
    if found["state"] == "stopped":
        show.say(f"go on with:\n  {found['command']}")


def status(results: Path) -> dict[str, Any]:
    """Return how far a campaign is.

    `state` is `running`, `stopped` or `finished`; `left_s` the seconds that are left at the pace since the campaign was
    started last, if it runs and has finished something; `last_s` the seconds since runs were written last.

    Raises:
        InputError: if no campaign has written into the folder.
    """
    parts = Parts(results)
    noted = parts.status()
    if noted is None:
        raise InputError(
            "no campaign has been run into this folder",
            place=Place(shown(results)),
            right="a folder that `haltere run` writes into, such as results/NAME",
        )
    finished = noted["runs"] - noted["todo"] + noted["written"]
    left = noted["runs"] - finished
    elapsed = (datetime.now(UTC) - datetime.fromisoformat(noted["at"])).total_seconds()
    state = "running" if parts.busy() else "finished" if not left else "stopped"
    pace = noted["written"] / elapsed if elapsed > 0 else 0.0
    return {
        "study": noted["study"],
        "state": state,
        "runs": noted["runs"],
        "finished": finished,
        "started": noted["at"],
        "left_s": round(left / pace, 1) if pace and state == "running" else None,
        "last_s": None if noted["last_s"] is None else round(noted["last_s"], 1),
        "command": noted["command"],
    }


def _state(found: dict[str, Any]) -> str:
    if found["state"] != "running" or found["last_s"] is None:
        return str(found["state"])
    return f"running, the last were written {show.duration(found['last_s'])} ago"
