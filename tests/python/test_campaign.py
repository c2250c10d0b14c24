"""Campaigns: the same bytes with any number of workers and however often they were killed."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import polars as pl
import pytest

import haltere as package
from conftest import COMMAND, SMALL_STUDY, Haltere
from haltere import Study, core
from haltere.errors import HaltereError, InputError, Interrupted
from haltere.executor import Outcome, Task, ThreadExecutor
from haltere.runner import estimate
from haltere.runner.campaign import Campaign
from haltere.study import Run

TABLES = ("runs.parquet", "flows.parquet", "links.parquet")


def tables(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in TABLES}


def test_one_and_two_workers_write_the_same_bytes(small_study: Path, tmp_path: Path) -> None:
    study = Study.load(small_study)
    study.run(out=tmp_path / "one", workers=1)
    study.run(out=tmp_path / "two", workers=2)
    assert tables(tmp_path / "one") == tables(tmp_path / "two")


def test_the_tables_hold_every_run_flow_and_link(small_study: Path, tmp_path: Path) -> None:
    results = Study.load(small_study).run(out=tmp_path / "r")
    assert results.runs.height == 30
    assert results.flows.height == 8 * 3 + 2 * 2 * 3
    assert results.runs["status"].unique().to_list() == ["ok"]
    assert results.flows["bytes"].unique().to_list() == [300_000]
    assert (results.flows["wire_bytes"] - results.flows["bytes"] == results.flows["overhead_bytes"]).all()
    assert results.runs.select("experiment", "treatment", "replication").rows() == sorted(
        results.runs.select("experiment", "treatment", "replication").rows()
    )
    base = results.runs.filter(pl.col("experiment") == "base")
    assert base["jain"].null_count() == base.height
    assert base["transport"].unique().sort().to_list() == ["quic", "tcp"]
    pairs = results.runs.filter(pl.col("experiment") == "pairs")
    assert pairs["jain"].is_between(0.5, 1).all()
    assert pairs["transport"].null_count() == pairs.height
    assert results.links.filter(pl.col("link") == "bottleneck")["direction"].unique().sort().to_list() == ["down", "up"]
    again = package.load(tmp_path / "r")
    assert again.flows.equals(results.flows)
    assert again.manifest["counts"] == {"runs": 30, "ok": 30, "failed": 0}
    assert again.manifest["study_text"] == SMALL_STUDY


def test_common_random_numbers(small_study: Path, tmp_path: Path) -> None:
    """Losses differ between replications; without randomness replications are the same."""
    flows = Study.load(small_study).run(out=tmp_path / "r", experiments=["base"]).flows
    spread = flows.group_by("transport", "rate", "loss").agg(pl.col("completion_s").n_unique())
    assert spread.filter(pl.col("loss") == "0%")["completion_s"].to_list() == [1] * 4
    assert spread.filter(pl.col("loss") == "2%")["completion_s"].max() == 3


def many_runs() -> str:
    return SMALL_STUDY.replace("replications = 3", "replications = 60").replace("300kB", "6MB")


def test_a_killed_campaign_goes_on_where_it_stopped(small_study: Path, tmp_path: Path) -> None:
    (small_study / "study.toml").write_text(many_runs())
    Study.load(small_study).run(out=tmp_path / "whole")
    parts = tmp_path / "killed" / "parts"
    finished = set[str]()
    for round_ in range(3):
        before = len(list(parts.glob("part-*")))
        process = subprocess.Popen(
            [*COMMAND, "run", "small", "--out", "killed"], cwd=tmp_path, stdout=subprocess.DEVNULL
        )
        while process.poll() is None and len(list(parts.glob("part-*"))) == before:
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.wait()
        now = set(Campaign(Study.load(small_study), out=tmp_path / "killed").parts.read())
        assert now > finished, f"round {round_}: what was written stays, and more has come"
        finished = now
    subprocess.run([*COMMAND, "run", "small", "--out", "killed"], cwd=tmp_path, check=True, capture_output=True)
    assert tables(tmp_path / "killed") == tables(tmp_path / "whole")


def test_ctrl_c_ends_cleanly_and_says_how_to_go_on(small_study: Path, tmp_path: Path) -> None:
    (small_study / "study.toml").write_text(many_runs().replace("replications = 60", "replications = 5000"))
    process = subprocess.Popen(
        [*COMMAND, "run", "small", "--out", "stopped"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    while process.poll() is None and not list((tmp_path / "stopped" / "parts").glob("part-*")):
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "of 50000 runs are written in stopped; go on with:" in said
    assert "haltere run small --replications 5000 --out stopped" in said
    assert "Traceback" not in said
    written = int(said.split("stopped: ")[1].split(" ")[0])
    assert len(Campaign(Study.load(small_study), out=tmp_path / "stopped").parts.read()) == written > 0


def test_more_replications_keep_the_runs_that_are_there(small_study: Path, tmp_path: Path) -> None:
    study = Study.load(small_study)
    study.run(out=tmp_path / "grown", replications=1)
    grown = study.run(out=tmp_path / "grown", replications=3)
    assert [session["runs"] for session in grown.manifest["sessions"]] == [10, 20]
    study.run(out=tmp_path / "whole")
    assert tables(tmp_path / "grown") == tables(tmp_path / "whole")
    assert study.run(out=tmp_path / "grown").manifest["sessions"] == grown.manifest["sessions"]


def test_damaged_and_foreign_parts_are_run_again(small_study: Path, tmp_path: Path) -> None:
    study = Study.load(small_study)
    study.run(out=tmp_path / "whole")
    study.run(out=tmp_path / "r")
    for part in (tmp_path / "r" / "parts").glob("part-*"):
        part.write_bytes(part.read_bytes()[:-20])
    foreign = tmp_path / "r" / "parts" / "part-000900.jsonl.gz"
    foreign.write_bytes(gzip.compress(b'{"haltere": "0.0.0", "core": "other"}\nx\t{}'))
    (tmp_path / "r" / "parts" / ".part-000901.jsonl.gz").write_bytes(b"half")
    campaign = Campaign(study, out=tmp_path / "r")
    assert len(campaign.unfinished()) == 30
    assert campaign.parts.ignored >= 2
    campaign.run()
    assert tables(tmp_path / "r") == tables(tmp_path / "whole")
    assert not list((tmp_path / "r" / "parts").glob(".part-*"))


class BreakingExecutor:
    """Runs tasks, except that the core breaks down in every tenth."""

    def execute(self, tasks: Iterable[Task], stop: threading.Event | None = None) -> Iterator[Outcome]:
        for number, task in enumerate(tasks):
            scenario = "not JSON" if number % 10 == 0 else task.scenario
            yield Outcome(task.key, core.run(scenario, task.seed, task.replication))


def test_a_failed_run_is_a_row_with_its_error(small_study: Path, tmp_path: Path) -> None:
    results = Campaign(Study.load(small_study), out=tmp_path / "r").run(engine=lambda _: BreakingExecutor())
    failed = results.runs.filter(pl.col("status") == "failed")
    assert (failed.height, results.runs.height) == (3, 30)
    assert failed["error"].null_count() == 0
    assert results.manifest["counts"] == {"runs": 30, "ok": 27, "failed": 3}


def test_a_request_to_stop_keeps_what_has_finished(small_study: Path, tmp_path: Path) -> None:
    campaign = Campaign(Study.load(small_study), out=tmp_path / "r")

    def stop_after_five(finished: int, everything: int) -> None:
        assert everything == 30
        if finished == 5:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Interrupted, match=r"stopped: \d+ of 30 runs are written"):
        campaign.run(workers=1, on_progress=stop_after_five)
    assert 5 <= 30 - len(campaign.unfinished()) < 30
    with pytest.raises(InputError, match="the campaign has not finished"):
        package.load(tmp_path / "r")


def test_two_campaigns_do_not_write_into_one_folder(small_study: Path, tmp_path: Path) -> None:
    study = Study.load(small_study)
    campaign = Campaign(study, out=tmp_path / "r")
    with campaign.parts.locked(), pytest.raises(HaltereError, match="another campaign is writing into"):
        Campaign(study, out=tmp_path / "r").run()


def test_an_executor_yields_every_outcome_once() -> None:
    tasks = [Task(str(i), "not JSON", 1, i) for i in range(50)]
    outcomes = list(ThreadExecutor(3).execute(tasks))
    assert sorted(int(o.key) for o in outcomes) == list(range(50))
    assert {json.loads(o.result_json)["status"] for o in outcomes} == {"failed"}


def test_a_dry_run_counts_and_estimates(small_study: Path, haltere: Haltere, tmp_path: Path) -> None:
    done = haltere("run", "small", "--dry-run", "--replications", "20")
    assert done.returncode == 0, done.stderr
    assert "200 runs (20 replications of each treatment)" in done.stdout
    assert "an estimate, from running 8 of them" in done.stdout
    assert not (tmp_path / "results").exists()


def test_the_estimate_weighs_groups_by_their_size(monkeypatch: pytest.MonkeyPatch) -> None:
    study = Study.parse(SMALL_STUDY)
    runs = list(study.runs(replications=10))

    def timed(where: str, drawn: list[Run], workers: int, budget_s: float) -> list[estimate.Spent | None]:
        return [estimate.Spent(3.0 if run.treatment.experiment == "pairs" else 1.0) for run in drawn]

    monkeypatch.setattr(estimate, "_timed", timed)
    guess = estimate.estimate(runs, workers=2)
    assert (guess.runs, guess.workers, guess.seconds) == (100, 2, (80 * 1.0 + 20 * 3.0) / 2)


LONG_STUDY = """
[study]
name = "long"
seed = 1
replications = 4
[experiments.base.factors]
duration = ["10ms", "100000s"]
[experiments.base.scenario]
duration = "{duration}"
topology = { kind = "point-to-point", link = { rate = "1Gbit/s", delay = "1ms", queue = "100p" } }
flows = [{ contender = "tcp/cubic" }]
"""


@pytest.mark.parametrize(("durations", "sampled"), [('"10ms", "100000s"', 1), ('"100000s"', 0)])
def test_the_estimate_of_long_runs_ends_in_time_and_is_a_lower_bound(
    durations: str, sampled: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run of 100000 s at 1 Gbit/s takes hours."""
    monkeypatch.setattr(estimate, "BUDGET_S", 1.5)
    study = Study.parse(LONG_STUDY.replace('"10ms", "100000s"', durations))
    began = time.monotonic()
    guess = study.estimate(workers=2)
    assert time.monotonic() - began < 10
    assert (guess.at_least, guess.sampled) == (True, sampled)
    assert guess.seconds is not None
    assert 1.0 < guess.seconds < 10


def test_runs_that_were_not_tried_count_as_the_others_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def timed(where: str, drawn: list[Run], workers: int, budget_s: float) -> list[estimate.Spent | None]:
        tried = [None if run.treatment.experiment == "pairs" else estimate.Spent(1.0) for run in drawn]
        return [*tried[:-1], estimate.Spent(0.5, ended=False)]

    monkeypatch.setattr(estimate, "_timed", timed)
    guess = estimate.estimate(list(Study.parse(SMALL_STUDY).runs(replications=10)), workers=2)
    assert (guess.seconds, guess.at_least) == (100 * 1.0 / 2, False)
    monkeypatch.setattr(estimate, "_timed", lambda where, drawn, workers, budget_s: [None] * len(drawn))
    assert estimate.estimate(list(Study.parse(SMALL_STUDY).runs()), workers=2).seconds is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--workers", "0"], "--workers: is not a number of workers"),
        (["--replications", "0"], "--replications: is not a number of replications"),
        (["--replications", "900000"], "replications: the campaign has 9\u202f000\u202f000 runs"),
        (["--variant", "x"], "--variant: the study has no such variant"),
        (["--experiment", "x"], "--experiment: the study has no such experiment"),
        (["--out", "small/study.toml"], "--out: is a file"),
    ],
)
def test_wrong_options_of_run(arguments: list[str], words: str, small_study: Path, haltere: Haltere) -> None:
    done = haltere("run", "small", *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert "right: " in done.stderr


def test_a_folder_that_cannot_be_written(small_study: Path, tmp_path: Path, haltere: Haltere) -> None:
    (tmp_path / "file").write_text("")
    done = haltere("run", "small", "--out", "file/inside")
    assert done.returncode == 2
    assert done.stderr.startswith("error: file/inside")
    assert "Not a directory" in done.stderr
    assert "Traceback" not in done.stderr


def test_results_that_are_not_there(tmp_path: Path, haltere: Haltere) -> None:
    for command in (["report", "nowhere"],):
        done = haltere(*command)
        assert done.returncode == 2
        assert done.stderr.startswith("error: nowhere: no results here")
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(InputError, match=r"manifest\.json: cannot be read"):
        package.load(tmp_path)
