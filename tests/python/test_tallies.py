"""Counts of lakes, and comparisons of two periods by them."""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference

import lakes
from haltere.errors import InputError
from haltere.evolution import measuring
from haltere.paths import engine, generate, ingest, tallies
from haltere.paths.engine import Dask
from haltere.paths.lake import SCHEMA, Lake, Selection
from haltere.paths.periods import Mix, Period, compare, superiority
from haltere.paths.tallies import Distribution, Tallies, bin_bounds, delay_bin, tally


def lake(folder: Path, *, monitors: Sequence[str] = ("a", "b", "c", "d"), scale: float = 1.0, files: int = 3) -> Lake:
    parts = {
        ("ark", f"2011-03-{i + 1:02}", "x"): lakes.traces(400, i, monitors=monitors, rtt_scale=scale)
        for i in range(files)
    }
    return Lake(lakes.write(folder, parts))


@given(st.lists(st.integers(0, 2**32 - 1), min_size=1))
def test_a_delay_lies_in_its_bin_which_is_narrow(values: list[int]) -> None:
    bins = pl.DataFrame({"v": pl.Series(values, dtype=pl.UInt32)}).select(delay_bin(pl.col("v"))).to_series().to_numpy()
    low, width = bin_bounds(bins)
    given_values = np.array(values, dtype=np.float64)
    assert (low <= given_values).all()
    assert (given_values < low + width).all()
    assert (width <= np.maximum(given_values / 256, 1)).all()


def test_counts_and_quantiles_are_those_of_the_rows(tmp_path: Path) -> None:
    source = lake(tmp_path / "l")
    counted, clean = tally(source), source.clean().collect()
    assert counted.traces() == 1200
    by_class = dict(source.scan().collect().group_by("class").len().iter_rows())
    assert {name: n for name, n in counted.classes().items() if n} == by_class
    assert counted.monitors() == dict(clean.group_by("monitor").len().iter_rows())
    for share in (0.05, 0.5, 0.8, 0.95):
        exact = float(np.quantile(clean["hops"].to_numpy(), share, method="inverted_cdf"))
        assert counted.hops().quantile(share) == exact
        exact = float(np.quantile(clean["rtt_us"].to_numpy(), share, method="inverted_cdf"))
        assert counted.delays().quantile(share) == pytest.approx(exact, rel=1 / 256)
    assert counted.hops().share_up_to(8) == (clean["hops"] <= 8).mean()
    assert counted.hops().mean() == pytest.approx(clean["hops"].mean())
    joint = counted.joint()
    assert joint["weight"].sum() == clean.height
    ranks = clean.select(pl.col("hops", "rtt_us").rank()).to_numpy()
    expanded = joint.select(pl.all().repeat_by(pl.col("weight").cast(pl.UInt32)).explode())
    assert reference.spearmanr(expanded["hops"], expanded["delay_us"]).statistic == pytest.approx(
        np.corrcoef(ranks.T)[0, 1], abs=1e-3
    )


def test_counts_do_not_depend_on_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = lake(tmp_path / "l")
    whole = tally(source)
    monkeypatch.setattr(engine, "BATCH_BYTES", 1)
    told: list[tuple[int, int]] = []
    parts = tally(source, on_progress=lambda done, of: told.append((done, of)))
    assert parts.table.equals(whole.table)
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_many_monitors_are_counted_in_groups(tmp_path: Path) -> None:
    names = [f"probe {i}" for i in range(tallies.MAX_GROUPS + 100)]
    rows = lakes.traces(3000, 1, monitors=names)
    found = tally(Lake(lakes.write(tmp_path / "l", {("atlas", "2011-03-01", "x"): rows})))
    assert 1 < len(found.groups) <= tallies.MAX_GROUPS
    assert found.traces() == 3000


def test_a_cluster_counts_as_this_machine_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    source = lake(tmp_path / "l")
    monkeypatch.setattr(engine, "BATCH_BYTES", 1)
    options: dict[str, Any] = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with distributed.LocalCluster(**options, host="127.0.0.1", protocol="tcp") as cluster:
        there_engine = Dask(cluster.scheduler_address)
        try:
            assert tally(source, there_engine).table.equals(tally(source).table)
            there, here = source.samples(40, (1, 2), engine=there_engine), source.samples(40, (1, 2))
            assert [one.equals(other) for one, other in zip(there, here, strict=True)] == [True, True]
        finally:
            there_engine.close()


def test_a_cluster_that_does_not_answer_is_named() -> None:
    pytest.importorskip("distributed")
    with pytest.raises(InputError, match="no scheduler answers"):
        Dask("nonsense://nowhere")


def period(name: str, rows: dict[str, tuple[int, int]], regions: dict[str, str] | None = None) -> Period:
    """A period in which all traces of a monitor have one delay: monitor → (traces, delay in µs)."""
    table = pl.DataFrame(
        [
            {"group": monitor, "class": "clean", "hops": 10, "bin": delay, "traces": traces}
            for monitor, (traces, delay) in rows.items()
        ],
        schema={"group": pl.String, "class": pl.String, "hops": pl.UInt8, "bin": pl.UInt32, "traces": pl.UInt64},
    )
    return Period(name, Tallies(table), ["2011-03-01"], regions or {})


def test_a_change_of_the_mix_alone_goes_with_an_equal_mix() -> None:
    regions = {"a": "EU", "b": "EU", "c": "NA", "d": "NA"}
    first = period("2006", {"a": (450, 100), "b": (450, 100), "c": (50, 300), "d": (50, 300)}, regions)
    second = period("2011", {"a": (50, 100), "b": (50, 100), "c": (450, 300), "d": (450, 300)}, regions)
    found = compare(first, second, resamples=200)
    median = found.effect("delay_median")
    assert median.change.value == pytest.approx(3)
    assert found.mix.distance == pytest.approx(0.8)
    assert found.mix.changed
    assert median.reweighted is not None
    assert median.reweighted.value == pytest.approx(1)
    # slower: 300 after 100 (0.9 x 0.9), and half of the ties (100: 0.9 x 0.1; 300: 0.1 x 0.9)
    assert found.slower.value == pytest.approx(0.81 + 0.09 / 2 + 0.09 / 2)


def test_without_monitors_in_common_there_is_no_equal_mix() -> None:
    found = compare(
        period("2006", {"a": (10, 100), "b": (10, 120)}), period("2011", {"c": (10, 200), "d": (9, 220)}), resamples=50
    )
    assert found.mix.common == []
    assert found.mix.distance == pytest.approx(1)
    assert found.effect("delay_median").reweighted is None
    assert found.effect("delay_median").change.low is None  # two monitors are too few


def test_intervals_are_over_monitors_not_over_traces() -> None:
    few = {name: (100_000, 100 + 40 * i) for i, name in enumerate("abcde")}
    others = {name.upper(): given for name, given in few.items()}
    change = compare(period("x", few), period("y", others), resamples=400).effect("delay_median").change
    assert change.value == 1
    assert change.low is not None and change.high is not None
    assert change.low < 0.9 < 1.1 < change.high


def test_superiority_is_the_share_of_pairs() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.integers(0, 30, 200), rng.integers(5, 40, 150)

    def distribution(values: np.ndarray) -> Distribution:
        low, count = np.unique(values, return_counts=True)
        return Distribution(low.astype(float), np.zeros(low.size), count.astype(float))

    pairs = np.sign(y[:, None] - x[None, :])
    assert superiority(distribution(x), distribution(y)) == pytest.approx(((pairs + 1) / 2).mean())


def test_the_standard_mix_is_the_mean_of_both() -> None:
    mix = Mix({"a": 0.5, "b": 0.3, "z": 0.2}, {"a": 0.1, "b": 0.9})
    assert mix.standard() == pytest.approx({"a": 0.3 / 0.9, "b": 0.6 / 0.9})


def test_a_lake_without_delays_has_lengths(tmp_path: Path) -> None:
    rows = [{**row, "rtt_us": None} for row in lakes.traces(100, 1)]
    found = tally(Lake(lakes.write(tmp_path / "l", {("s", "unknown", "x"): rows})))
    assert found.delays().total == 0
    assert found.hops().total > 0
    assert tally(Lake(tmp_path / "l", Selection(family=6))).traces() == 0


def test_each_trace_counts_once(tmp_path: Path) -> None:
    rows = lakes.traces(500, 1)
    once = tally(Lake(lakes.write(tmp_path / "once", {("ark", "2011-03-01", "x"): rows})))
    days = {("ark", "2011-03-01", "x"): rows, ("ark", "2011-03-01", "y"): rows[:300]}
    twice = Lake(lakes.write(tmp_path / "twice", days))
    counted = tally(twice)
    assert counted.table.equals(once.table)
    assert (counted.copies, once.copies) == (300, 0)
    clean = sum(row["class"] == "clean" for row in rows)
    assert twice.sample(10_000, 1).height == clean


def encoded_again(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row of the same trace from another format, which says neither the monitor's name nor the list."""
    return {**row, "key": row["key"] ^ 0xFF, "monitor": "192.0.2.1", "list_id": 0, "cycle_id": 0, "stop": "NONE"}


def test_a_trace_in_another_encoding_is_the_same_trace(tmp_path: Path) -> None:
    rows = lakes.traces(300, 1)
    later = {**encoded_again(rows[0]), "key": 3, "start": rows[0]["start"] + timedelta(microseconds=1)}
    rerouted = {**encoded_again(rows[1]), "key": 4, "hop_addr": [lakes.address(9), *rows[1]["hop_addr"][1:]]}
    undated = [{**rows[2], "start": None, "key": 1}, {**rows[2], "start": None, "key": 2}]
    again = [encoded_again(row) for row in rows[:100]]
    days = {
        ("ark", "2011-03-01", "x"): [*rows, undated[0]],
        ("atlas", "2011-03-01", "y"): [*again, later, rerouted, undated[1]],
    }
    lake = Lake(lakes.write(tmp_path / "two", days))
    counted = tally(lake)
    assert (counted.traces(), counted.copies) == (300 + 2 + 2, 100)
    # Of the two keys of a trace the lesser stays, in samples too.
    keys = {min(row["key"], row["key"] ^ 0xFF) for row in rows[:100] if row["class"] == "clean"}
    sampled = set(lake.sample(10_000, 1)["key"])
    assert keys <= sampled
    assert not {key ^ 0xFF for key in keys} & sampled
    assert len(sampled) == counted.classes()["clean"]
    # The same rows of one format are different measurements.
    one = Lake(lakes.write(tmp_path / "one", {("ark", "2011-03-01", "x"): [*rows, *again]}))
    assert tally(one).copies == 0


def test_a_file_and_its_packed_copy_are_the_same_traces(tmp_path: Path) -> None:
    generate(tmp_path / "files", traces=200, monitors=1)
    (packed,) = (tmp_path / "files").glob("*.gz")
    (tmp_path / "files" / "plain.warts").write_bytes(gzip.decompress(packed.read_bytes()))
    ingest([str(packed)], tmp_path / "one")
    ingest([str(tmp_path / "files")], tmp_path / "both")
    assert Lake(tmp_path / "both").scan().collect().height == 400
    both = tally(Lake(tmp_path / "both"))
    assert both.table.equals(tally(Lake(tmp_path / "one")).table)
    assert both.copies == 200


def test_groups_keep_periods_and_regions_apart(tmp_path: Path) -> None:
    first, second = ({f"probe {i}" for i in range(a, a + 900)} for a in (0, 300))
    regions = {f"probe {i}": "EU" if i % 2 else "NA" for i in range(1200)}
    groups = measuring._groups([first, second], [regions, regions])
    assert set(groups) == first | second
    assert len(set(groups.values())) <= tallies.MAX_GROUPS
    for group in set(groups.values()):
        members = {name for name, of in groups.items() if of == group}
        assert len({regions[name] for name in members}) == 1
        assert len({(name in first, name in second) for name in members}) == 1
    assert measuring._groups([{"a"}, {"b"}], [{}, {}]) == {}


def test_repeats_count_as_clean_if_wanted(tmp_path: Path) -> None:
    rows = lakes.traces(300, 1)
    clean = [i for i, row in enumerate(rows) if row["class"] == "clean"]
    for i in clean[:40]:
        rows[i]["class"] = "repeat"
    folder = lakes.write(tmp_path / "l", {("ark", "2011-03-01", "x"): rows})
    by_study, with_repeats = Lake(folder), Lake(folder, Selection(repeats=True))
    assert tally(by_study).classes()["repeat"] == 40
    assert tally(by_study).hops().total == by_study.sample(1000, 1).height == len(clean) - 40
    assert tally(with_repeats).hops().total == with_repeats.sample(1000, 1).height == len(clean)
    assert with_repeats.clean().collect().height == len(clean)


@pytest.mark.parametrize("newer", ["a", "b"])
def test_a_lake_may_have_parts_of_both_formats(tmp_path: Path, newer: str) -> None:
    parts = {("ark", "2011-01-01", name): lakes.traces(50, seed=seed) for seed, name in enumerate("ab")}
    plain = tally(Lake(lakes.write(tmp_path / "plain", parts)))
    mixed = lakes.write(tmp_path / "mixed", parts)
    part = next(mixed.rglob(f"{newer}.parquet"))
    more = [pl.lit(None, dtype).alias(name) for name, dtype in SCHEMA.items() if name not in lakes.SCHEMA]
    assert more
    pl.read_parquet(part).with_columns(more).write_parquet(part)
    found = tally(Lake(mixed))
    assert found.table.equals(plain.table) and found.table.height > 0
