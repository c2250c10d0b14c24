"""Changes between two results folders: which are called real, and how often chance is."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from conftest import SMALL_STUDY, Haltere
from haltere import Results, Study, load
from haltere.claims.difference import compare
from haltere.errors import InputError
from haltere.stats import holm, paired_p, welch_p

TREATMENTS = 12


def synthetic(path: Path, seconds: Callable[[int, int], float], *, seed: int = 1, replications: int = 10) -> Results:
    """Results with a factor of twelve levels, in which a run takes `seconds(treatment, replication)`."""
    levels = [f"{treatment + 1}Mbit/s" for treatment in range(TREATMENTS)]
    rows = [
        (f"{t}-{r}", "base", t, levels[t], r, "ok", None, seconds(t, r))
        for t in range(TREATMENTS)
        for r in range(replications)
    ]
    names = ["run_id", "experiment", "treatment", "rate", "replication", "status", "error", "completion_s"]
    frame = pl.DataFrame(rows, names, orient="row")
    manifest: dict[str, Any] = {
        "haltere": "0", "seed": seed, "replications": replications, "counts": {"runs": len(rows), "failed": 0},
        "study": {"name": "s"}, "experiments": {"base": {"factors": {"rate": levels}}},
    }  # fmt: skip
    results = Results(path, manifest)
    results.__dict__.update(
        runs=frame.drop("completion_s"),
        flows=frame.select("run_id", "completion_s"),
        latency=pl.DataFrame(),
        links=pl.DataFrame(),
    )
    return results


def drawn(rng: np.random.Generator, shape: str) -> np.ndarray:
    """Ten replications of twelve treatments between which nothing differs."""
    if shape == "normal":
        return np.asarray(np.exp(rng.normal(0, 0.2, (TREATMENTS, 10))))
    if shape == "skewed":
        return np.asarray(0.2 + rng.exponential(1.0, (TREATMENTS, 10)))
    return np.asarray(1.0 + (rng.random((TREATMENTS, 10)) < 0.3))


@pytest.mark.parametrize("shape", ["normal", "skewed", "two values"])
@pytest.mark.parametrize("test", ["paired", "welch"])
def test_chance_is_called_real_in_at_most_six_of_a_hundred_folders(shape: str, test: str) -> None:
    rng = np.random.default_rng(11)
    times, wrong = 3000, 0
    for _ in range(times):
        a, b = np.log(drawn(rng, shape)), np.log(drawn(rng, shape))
        found = [paired_p(y - x) if test == "paired" else welch_p(x, y) for x, y in zip(a, b, strict=True)]
        wrong += any(p is not None and p <= 0.05 for p in holm(found))
    assert wrong / times <= 0.06


def test_the_whole_comparison_does_as_its_tests(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    for seeds in ((1, 1), (1, 2)):
        tables = [drawn(rng, "normal"), drawn(rng, "normal")]
        a, b = (
            synthetic(tmp_path, lambda t, r, own=own: float(own[t, r]), seed=seed)
            for own, seed in zip(tables, seeds, strict=True)
        )
        logs = [np.log(own) for own in tables]
        test = (lambda x, y: paired_p(y - x)) if seeds == (1, 1) else welch_p
        expected = holm([test(x, y) for x, y in zip(*logs, strict=True)])
        assert [change.p for change in compare(a, b).changes] == pytest.approx(expected)


def test_a_true_change_of_one_treatment_is_found_and_named(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    luck = rng.normal(0, 0.3, (TREATMENTS, 10))
    before = synthetic(tmp_path, lambda t, r: float(np.exp(luck[t, r])))
    after = synthetic(tmp_path, lambda t, r: float(np.exp(luck[t, r] + rng.normal(0, 0.02))) * (1.2 if t == 4 else 1.0))
    found = compare(before, after)
    assert found.paired and found.tests == TREATMENTS
    (change,) = found.real
    assert change.levels == {"rate": "5Mbit/s"}
    assert change.change == pytest.approx(1.2, rel=0.05)
    assert change.better is False and not change.small
    page = found._repr_html_()
    assert "1 real changes" in page and "5 Mbit/s" in page and "%, worse" in page and found.table.height == 1
    # Without pairs the luck of the replications hides it.
    apart = synthetic(tmp_path, lambda t, r: float(np.exp(luck[t, r])), seed=2)
    assert not compare(apart, after).real and not compare(apart, after).paired


def test_what_never_varies_is_a_fact_and_two_replications_decide_nothing_else(tmp_path: Path) -> None:
    one = synthetic(tmp_path, lambda t, r: 1.0)
    other = synthetic(tmp_path, lambda t, r: 1.0 if t else 1.01)
    found = compare(one, other)
    assert [(change.levels["rate"], change.p, change.small) for change in found.real] == [("1Mbit/s", None, True)]
    assert found.counts()["same"] == TREATMENTS - 1
    few = [synthetic(tmp_path, lambda t, r, s=s: 1.0 + r * s + s, replications=2) for s in (0.0, 1.0)]
    assert compare(*few).counts() == {"same": 0, "real": 0, "not shown": 0, "undecided": TREATMENTS}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("two")
    slower = SMALL_STUDY.replace('delay = "20ms", loss', 'delay = "30ms", loss').replace('"2%"]', '"2%", "3%"]')
    for name, text in (("a", SMALL_STUDY), ("b", slower)):
        Study.parse(text).run(out=folder / name, replications=4)
    return folder / "a", folder / "b"


def test_the_command_says_what_changed_by_its_exit_code_and_as_json(
    folders: tuple[Path, Path], haltere: Haltere
) -> None:
    a, b = map(str, folders)
    same = haltere("diff", a, a)
    assert same.returncode == 0, same.stderr
    assert "0 real changes" in same.stdout
    changed = haltere("diff", a, b, "--metric", "completion_time")
    assert changed.returncode == 5, changed.stderr
    assert "only in B: 4 treatments" in changed.stdout
    assert "worse" in changed.stdout and "5 Mbit/s" in changed.stdout
    data = json.loads(haltere("diff", a, b, "--metric", "completion_time", "--json").stdout)
    assert data["paired"] and data["counts"]["same"] == 3, "the experiment of pairs is as it was"
    flows = [one["flow"] for one in data["changes"] if one["experiment"] == "pairs"]
    assert sorted(flows) == ["tcp/bbr", "tcp/cubic", "tcp/cubic"]
    for change in data["changes"]:
        rows = [
            load(folder).flows.filter(
                pl.col("experiment") == change["experiment"],
                *(pl.col(factor) == level for factor, level in change["levels"].items()),
                pl.col("label") == (change["flow"] or pl.col("label")),
            )["completion_s"]
            for folder in folders
        ]
        assert change["a"] == pytest.approx(rows[0].mean()) and change["b"] == pytest.approx(rows[1].mean())
    exact = [one for one in data["changes"] if one["levels"].get("loss") == "0%"]
    assert exact and all(one["standing"] == "real" and one["p"] is None for one in exact)


def test_what_cannot_be_compared_is_refused(folders: tuple[Path, Path], haltere: Haltere, tmp_path: Path) -> None:
    other = Study.parse(SMALL_STUDY.replace("rate = [", "speed = [").replace("{rate}", "{speed}"))
    other.run(out=tmp_path / "c", replications=1, experiments=["base"])
    refused = haltere("diff", str(folders[0]), "c")
    assert refused.returncode == 2
    assert "no experiment with the same factors" in refused.stderr and "speed" in refused.stderr
    unknown = haltere("diff", str(folders[0]), str(folders[1]), "--metric", "speed")
    assert unknown.returncode == 2 and "completion_time" in unknown.stderr
    with pytest.raises(InputError):
        compare(load(folders[0]), load(folders[1]), metrics=["nothing"])
