"""Clusters: a Dask scheduler that runs somewhere, or one of our own whose workers are jobs of Slurm."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from haltere.errors import ArgumentError, as_written
from haltere.extras import remedy

SLURM_KEYS = {
    "jobs": "how many jobs, a worker each",
    "cores": "CPUs of a job",
    "memory": "memory of a job, such as 8GB",
    "walltime": "how long a job may run, such as 02:00:00",
    "queue": "the partition",
    "account": "the account that is charged",
}
"""Keys of `slurm`, beside the configuration of dask-jobqueue."""


def connect(address: str) -> Any:
    """Return a client of a Dask scheduler.

    Args:
        address: what the scheduler printed when it started, such as `tcp://10.0.0.1:8786`.

    Raises:
        InputError: if Dask is not installed, or the scheduler does not answer.
    """
    distributed = _module("distributed", "dask", address)
    try:
        return distributed.Client(address, timeout="10s")
    except (OSError, ValueError) as error:
        raise ArgumentError(
            f"no scheduler answers: {type(error).__name__}: {error}",
            field="dask",
            given=address,
            right="the address that `dask scheduler` printed, such as tcp://10.0.0.1:8786",
        ) from None


@contextmanager
def slurm(text: str) -> Iterator[Any]:
    """Submit jobs to Slurm that work for this process, yield a client of them, and end them.

    Args:
        text: `jobs=20,cores=8,memory=16GB,walltime=02:00:00,queue=short`; what is left out stands in the configuration
            of dask-jobqueue (`~/.config/dask/jobqueue.yaml`).

    Raises:
        InputError: if dask-jobqueue is not installed, or Slurm cannot be used so.
    """
    given: dict[str, Any] = dict(options(text))
    jobs = int(given.pop("jobs"))
    jobqueue = _module("dask_jobqueue", "slurm", text)
    distributed = _module("distributed", "slurm", text)
    if "cores" in given:
        given["cores"] = int(given["cores"])
    try:
        # One process a job: the core releases the interpreter's lock, so that its threads use all CPUs.
        cluster = jobqueue.SLURMCluster(processes=1, scheduler_options={"dashboard_address": ":0"}, **given)
    except (OSError, ValueError) as error:
        raise ArgumentError(
            f"no jobs can be submitted: {error}",
            field="slurm",
            given=text,
            right="jobs=20,cores=8,memory=16GB,walltime=02:00:00, or the rest in ~/.config/dask/jobqueue.yaml",
        ) from None
    with cluster:
        cluster.scale(jobs=jobs)
        with distributed.Client(cluster, set_as_default=False) as client:
            yield client


def options(text: str) -> dict[str, str]:
    """Return what `slurm` says, by its keys; raise `InputError` if a key is unknown, or a number is none."""
    found: dict[str, str] = {}
    for part in text.split(","):
        key, equals, value = part.partition("=")
        if key not in SLURM_KEYS or not equals or not value:
            known = "; ".join(f"{name}: {means}" for name, means in SLURM_KEYS.items())
            raise ArgumentError("is not an option of jobs", field="slurm", given=as_written(part), right=known)
        found[key] = value
    for key in ("jobs", "cores"):
        if key in found and not (found[key].isdigit() and int(found[key]) > 0):
            raise ArgumentError(
                "is not a number of " + ("jobs" if key == "jobs" else "CPUs"),
                field="slurm",
                given=as_written(f"{key}={found[key]}"),
                right="a whole number from 1",
            )
    return {"jobs": "1", **found}


def _module(name: str, field: str, given: str) -> Any:
    if importlib.util.find_spec(name) is None:
        raise ArgumentError("needs Dask, which is not installed", field=field, given=given, right=remedy("cluster"))
    return importlib.import_module(name)
