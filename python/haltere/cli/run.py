"""`haltere run`: a study's campaign with a progress bar, or a dry run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from rich.markup import escape

from haltere.cli import exits, show
from haltere.documents import shown
from haltere.errors import InputError, Interrupted
from haltere.executor import ThreadExecutor
from haltere.fidelity.links import without_rate
from haltere.runner.campaign import Campaign
from haltere.runner.dask import engine
from haltere.runner.estimate import estimate
from haltere.study import Study, is_of_paths


def command(
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
    console = show.out()
    _tell_unlimited(campaign)
    if dry_run:
        _dry_run(campaign, workers)
        return
    ran = len(campaign.unfinished())
    if campaign.parts.ignored:
        console.print(f"{campaign.parts.ignored} part files of another build of haltere are left aside", style="yellow")
    try:
        with engine(dask, slurm) as cluster, show.progress(escape(study.name)) as advance:
            results = campaign.run(workers=workers, engine=cluster, on_progress=advance)
    except Interrupted as stopped:
        raise Interrupted(f"{stopped}; go on with:\n  {campaign.command()}") from None
    for name, paths in campaign.summaries().items():
        if paths.origin != "measured":
            console.print(escape(f"the paths of {name} are {paths.origin}, not measured: `haltere paths summaries`"))
    counts = results.manifest["counts"]
    session = results.manifest["sessions"][-1]
    took = f"({ran} of them now, in {show.duration(session['wall_s'])})" if ran else "(all of them were there already)"
    console.print(escape(f"{counts['runs']} runs of {study.name} in {shown(campaign.out)} {took}"))
    if counts["failed"]:
        failed = results.runs.filter(results.runs["status"] != "ok")
        console.print(
            escape(f"{counts['failed']} failed, such as {failed['run_id'][0]}: {failed['error'][0]}"), style="yellow"
        )
    console.print(escape(f"next: haltere report {shown(campaign.out)}"))
    exits.end(counts["failed"], counts["runs"])


def _tell_unlimited(campaign: Campaign) -> None:
    """Say which links have no rate, which may have been forgotten."""
    found: dict[str, None] = {}
    for treatment in campaign.study.select(campaign.experiments):
        for path in without_rate(json.loads(treatment.scenario_json)):
            found.setdefault(f"experiments.{treatment.experiment}.scenario.{path}")
    for path in found:
        show.err().print(f"note: {path} has no rate: it is unlimited", markup=False)


def _dry_run(campaign: Campaign, workers: int | None) -> None:
    console = show.out()
    unfinished = campaign.unfinished()
    table = show.table(title=escape(campaign.study.header.title or campaign.study.name))
    for title in ("experiment", "design", "factors", "treatments", "runs"):
        table.add_column(title, justify="right" if title in ("treatments", "runs") else "left")
    for name in campaign.experiments:
        experiment = campaign.study.file.experiments[name]
        treatments = len(campaign.study.select([name]))
        factors = " × ".join(f"{len(levels)} {factor}" for factor, levels in campaign.study.factors(name).items())
        table.add_row(
            escape(name),
            experiment.design,
            escape(factors),
            str(treatments),
            str(treatments * campaign.replications * len(campaign.study.fidelities)),
        )
    console.print(table)
    done = len(campaign.plan) - len(unfinished)
    console.print(
        f"{len(campaign.plan)} runs ({campaign.replications} replications each)"
        + (f", {done} of them done already" if done else "")
    )
    if not unfinished:
        console.print("nothing is left to run")
        return
    guess = estimate(unfinished, workers=workers)
    if guess.seconds is None:
        console.print("how long they take is not estimated: none of them could be tried")
        return
    least = ": one more had not ended when time was up" if guess.at_least else ""
    console.print(
        f"{'at least' if guess.at_least else 'about'} {show.duration(guess.seconds)} on {guess.workers} workers "
        f"(an estimate, from running {guess.sampled} of them{least})"
    )
