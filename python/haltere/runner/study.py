"""A study that runs: `haltere.Study`. What studies are stands in `haltere.study`, which knows nothing of campaigns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from haltere import study
from haltere.results import Results
from haltere.runner.campaign import Campaign
from haltere.runner.dask import engine
from haltere.runner.estimate import Estimate, estimate


class Study(study.Study):
    """A study file, checked whole: if this object exists, every one of its runs can be run.

    >>> study = Study.load("studies/quic-dumbbell")
    >>> len(study.treatments), study.factors("base")
    >>> study.run(replications=2)
    """

    def run(
        self,
        *,
        out: str | Path | None = None,
        replications: int | None = None,
        experiments: Sequence[str] | None = None,
        workers: int | None = None,
        dask: str | None = None,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> Results:
        """Run what has not been run yet and return the results.

        Args:
            out: the results' folder (default `results/NAME`). What finished there earlier is kept, not run again.
            replications: how many of each treatment (default: what the study says).
            experiments: only these (default: all).
            workers: how many runs at once (default: one a CPU). It changes the time taken, nothing else.
            dask: the address of a Dask scheduler, to run on its workers. It changes nothing else either.
            on_progress: called with (finished, all) as runs finish.
        """
        campaign = Campaign(self, out=out, replications=replications, experiments=experiments)
        with engine(dask, None) as cluster:
            return campaign.run(workers=workers, engine=cluster, on_progress=on_progress)

    def estimate(
        self, *, replications: int | None = None, experiments: Sequence[str] | None = None, workers: int | None = None
    ) -> Estimate:
        """Say how many runs there are and about how long they take, from running a small sample of them."""
        return estimate(list(self.runs(replications=replications, experiments=experiments)), workers=workers)
