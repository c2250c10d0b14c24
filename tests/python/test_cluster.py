"""Campaigns on clusters of processes: the same bytes as here, whatever happens to workers."""

from __future__ import annotations

import json
import os
import signal
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import Haltere
from haltere import Study, cluster
from haltere.errors import HaltereError, InputError
from haltere.executor import Task
from haltere.runner.campaign import Campaign
from haltere.runner.dask import DaskExecutor, identity_of
from rigs import needs_kernel

distributed = pytest.importorskip("distributed")
TABLES = ("runs.parquet", "flows.parquet", "links.parquet")


def tables(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in TABLES}


@pytest.fixture(scope="module")
def processes() -> Iterator[Any]:
    """A scheduler with two workers that are processes; a nanny replaces one that dies."""
    options: dict[str, Any] = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options, host="127.0.0.1", protocol="tcp") as made:
        yield made


@pytest.fixture
def client(processes: Any) -> Iterator[Any]:
    with cluster.connect(processes.scheduler_address) as connected:
        yield connected


def test_tables_are_the_same_bytes_though_workers_are_killed(client: Any, small_study: Path, tmp_path: Path) -> None:
    study = Study.load(small_study)
    Campaign(study, out=tmp_path / "here", replications=20).run()
    killed: list[int] = []

    def kill(finished: int, everything: int) -> None:
        if finished >= everything // 4 and not killed:
            killed.extend(client.run(os.getpid).values())
            for worker in killed:
                os.kill(worker, signal.SIGKILL)

    campaign = Campaign(study, out=tmp_path / "there", replications=20)
    campaign.run(engine=lambda where: DaskExecutor(client, where, batch_s=0.05), on_progress=kill)
    assert len(killed) == 2
    assert tables(tmp_path / "there") == tables(tmp_path / "here")


def test_a_campaign_that_is_stopped_goes_on_elsewhere(client: Any, small_study: Path, tmp_path: Path) -> None:
    study = Study.load(small_study)
    Campaign(study, out=tmp_path / "here", replications=3).run()

    class Enough(Exception):
        pass

    def stop(finished: int, _everything: int) -> None:
        if finished >= 10:
            raise Enough

    campaign = Campaign(study, out=tmp_path / "there", replications=3)
    with pytest.raises(Enough):
        campaign.run(engine=lambda where: DaskExecutor(client, where), on_progress=stop)
    assert len(campaign.unfinished()) <= 20, "what had finished is kept"
    campaign.run()
    assert tables(tmp_path / "there") == tables(tmp_path / "here")


def test_production_stacks_run_there_too(client: Any, tmp_path: Path) -> None:
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(
        '[topology]\nkind = "point-to-point"\nlink = { rate = "10Mbit/s", delay = "5ms" }\n'
        '[[flows]]\ncontender = "quic@quinn/cubic"\nsize = "50kB"\n'
    )
    study = Study.load(scenario, fidelity=["stack"])
    Campaign(study, out=tmp_path / "here", replications=3).run()
    Campaign(study, out=tmp_path / "there", replications=3).run(engine=lambda where: DaskExecutor(client, where))
    assert tables(tmp_path / "there") == tables(tmp_path / "here")


def test_runs_that_had_come_back_are_kept_when_the_scheduler_ends(small_study: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}
    study = Study.load(small_study)
    with distributed.LocalCluster(**options, host="127.0.0.1", protocol="tcp") as made:
        distant = cluster.connect(made.scheduler_address)

        def end(finished: int, everything: int) -> None:
            if finished >= everything // 4:
                made.close()

        campaign = Campaign(study, out=tmp_path / "there", replications=20)
        with pytest.raises(HaltereError, match="the scheduler of the cluster is gone"):
            campaign.run(engine=lambda where: DaskExecutor(distant, where, batch_s=0.05), on_progress=end)
        distant.close()
    assert len(campaign.unfinished()) < 200
    campaign.run()
    Campaign(study, out=tmp_path / "here", replications=20).run()
    assert tables(tmp_path / "there") == tables(tmp_path / "here")


def test_a_scheduler_that_ends_before_it_is_asked_for_its_workers_is_named() -> None:
    class Ending:
        status = "running"

        def nthreads(self) -> dict[str, int]:
            raise OSError("Timed out trying to connect")

    with pytest.raises(HaltereError, match="the scheduler of the cluster is gone"):
        next(DaskExecutor(Ending()).execute([Task("a", "{}", 1, 0)]))


@needs_kernel
def test_real_linux_runs_there_too(client: Any, tmp_path: Path) -> None:
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(
        '[topology]\nkind = "point-to-point"\nlink = { rate = "10Mbit/s", delay = "5ms", queue = "100p" }\n'
        '[[flows]]\ncontender = "tcp/cubic"\napp = "raw"\nsize = "50kB"\n'
    )
    study = Study.load(scenario, fidelity=["linux"])
    here = Campaign(study, out=tmp_path / "here", replications=2).run()
    there = Campaign(study, out=tmp_path / "there", replications=2).run(
        engine=lambda where: DaskExecutor(client, where)
    )
    assert set(there.runs["status"]) == {"ok"}
    # Two runs of one seed differ by the resolution of the kernel's clock, on one machine too: docs/how-to/real-linux.md
    assert there.flows["sent_packets"].equals(here.flows["sent_packets"])
    for mine, theirs in zip(here.flows["completion_s"], there.flows["completion_s"], strict=True):
        assert abs(mine - theirs) < 5e-6


def test_batches_grow_to_their_time(client: Any, small_study: Path) -> None:
    tasks = [Task(run.id, run.scenario, run.seed, run.replication) for run in Study.load(small_study).runs()]
    executor = DaskExecutor(client, batch_s=0.5)
    assert executor._size() == 4
    assert sorted(one.key for one in executor.execute(tasks)) == sorted(task.key for task in tasks)
    mean = executor._timed_s / executor._timed_runs
    assert executor._size() == max(1, min(5000, round(0.5 / mean)))


def test_a_worker_with_another_version_is_refused(client: Any, small_study: Path) -> None:
    tasks = [Task(run.id, run.scenario, run.seed, run.replication) for run in Study.load(small_study).runs()]
    executor = DaskExecutor(client)
    executor._identity = identity_of("model") + "x"
    with pytest.raises(HaltereError, match="a worker has haltere"):
        list(executor.execute(tasks))


class Killed:
    """A future whose batch ended every worker that it was given to."""

    status = "error"

    def exception(self) -> Exception:
        return distributed.scheduler.KilledWorker("work", None, 3)  # type: ignore[no-any-return]


def test_a_batch_that_ends_workers_is_taken_apart_and_its_run_named(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor = DaskExecutor(client)
    again: list[tuple[Task, ...]] = []
    monkeypatch.setattr(executor, "_submit", lambda batch, _running, _done: again.append(batch))
    tasks = (Task("one", "{}", 1, 0), Task("two", "{}", 1, 1))
    executor._again(Killed(), tasks, {}, None)
    assert again == [(tasks[0],), (tasks[1],)]
    with pytest.raises(HaltereError, match="was given run one ended"):
        executor._again(Killed(), tasks[:1], {}, None)


def test_the_command_line_runs_on_a_cluster_and_tells_how_far_it_is(
    processes: Any, small_study: Path, haltere: Haltere
) -> None:
    done = haltere("run", str(small_study), "--out", "r", "--dask", processes.scheduler_address)
    assert done.returncode == 0, done.stderr
    found = json.loads(haltere("status", "r", "--json").stdout)
    assert (found["state"], found["runs"], found["finished"], found["left_s"]) == ("finished", 30, 30, None)
    assert "30 of 30 runs done" in haltere("status", "r").stdout


def test_status_of_a_campaign_that_runs_and_of_one_that_was_stopped(
    small_study: Path, tmp_path: Path, haltere: Haltere
) -> None:
    campaign = Campaign(Study.load(small_study), out=tmp_path / "r")
    seen: list[dict[str, Any]] = []

    class Enough(Exception):
        pass

    def look(finished: int, _everything: int) -> None:
        if finished == 20:
            seen.append(json.loads(haltere("status", "r", "--json").stdout))
            raise Enough

    with pytest.raises(Enough):
        campaign.run(on_progress=look)
    assert seen[0]["state"] == "running"
    assert seen[0]["finished"] <= 20
    stopped = json.loads(haltere("status", "r", "--json").stdout)
    assert (stopped["state"], stopped["finished"]) == ("stopped", 30 - len(campaign.unfinished()))
    assert stopped["command"] in haltere("status", "r").stdout


def test_a_folder_without_a_campaign_has_no_status(haltere: Haltere, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = haltere("status", "empty")
    assert done.returncode == 2
    assert "no campaign has been run into this folder" in done.stderr


@pytest.mark.parametrize("text", ["jobs=0", "cores=two", "colour=red", "jobs", "jobs="])
def test_what_is_no_option_of_jobs_is_refused(text: str) -> None:
    with pytest.raises(InputError) as raised:
        cluster.options(text)
    assert raised.value.field == "slurm"


def test_a_scheduler_and_jobs_exclude_each_other(haltere: Haltere, small_study: Path) -> None:
    done = haltere("run", str(small_study), "--dask", "tcp://127.0.0.1:1", "--slurm", "jobs=1")
    assert done.returncode == 2
    assert "is given beside --slurm" in done.stderr


SBATCH = """#!{python}
# Submits as Slurm does: prints a number, and runs the job's script apart.
import subprocess, sys
apart = {{"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}}
job = subprocess.Popen(["bash", sys.argv[-1]], **apart)
print(f"Submitted batch job {{job.pid}}")
"""
SCANCEL = """#!{python}
import os, signal, sys
for job in sys.argv[1:]:
    os.killpg(int(job), signal.SIGTERM)
"""


def test_jobs_of_slurm_run_a_study(
    small_study: Path, tmp_path: Path, haltere: Haltere, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slurm's two commands are replaced by ones that start the job on this machine."""
    pytest.importorskip("dask_jobqueue")
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, text in (("sbatch", SBATCH), ("scancel", SCANCEL)):
        (folder / name).write_text(text.format(python=sys.executable))
        (folder / name).chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    import dask

    with dask.config.set({"jobqueue.slurm.interface": "lo"}):
        done = haltere("run", str(small_study), "--out", "r", "--slurm", "jobs=2,cores=1,memory=1GB")
    assert done.returncode == 0, done.stderr
    Campaign(Study.load(small_study), out=tmp_path / "here").run()
    assert tables(tmp_path / "r") == tables(tmp_path / "here")
