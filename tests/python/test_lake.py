"""Lakes: what is selected, and samples that depend on the traces and the seed alone."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import lakes
from haltere.errors import InputError
from haltere.paths.lake import SCHEMA, Lake, Selection, _word, priority
from haltere.paths.tallies import tally


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    return lakes.write(
        tmp_path / "2011",
        {
            ("ark", "2011-03-01", "x"): lakes.traces(300, 1),
            ("ark", "2011-03-02", "y"): lakes.traces(200, 2),
            ("atlas", "unknown", "z"): lakes.traces(100, 3, monitors=("probe 1",)),
        },
    )


def test_a_selection_is_by_source_day_monitor_and_family(lake: Path) -> None:
    def rows(selection: Selection | None = None) -> int:
        return Lake(lake, selection).scan().collect().height

    assert rows() == 600
    assert rows(Selection(sources=("ark",))) == 500
    assert rows(Selection(first_day=date(2011, 3, 2))) == 200
    assert rows(Selection(last_day=date(2011, 3, 1))) == 300
    assert rows(Selection(monitors=("probe 1",))) == 100
    assert rows(Selection(family=4)) == 600
    assert rows(Selection(family=6)) == 0
    assert Lake(lake).days() == ["2011-03-01", "2011-03-02", "unknown"]
    assert Lake(lake).name == "2011"


def test_a_sample_does_not_depend_on_how_rows_lie_in_files(lake: Path, tmp_path: Path) -> None:
    every = Lake(lake).scan().collect()
    turned = tmp_path / "turned"
    lakes.write(turned, {("s", "2011-01-01", str(i)): every.reverse()[i::7].to_dicts() for i in range(7)})
    one, other = Lake(lake).sample(50, 9), Lake(turned).sample(50, 9)
    assert one.equals(other)
    assert one["class"].unique().to_list() == ["clean"]
    assert one["key"].n_unique() == 50
    assert Lake(lake).sample(20, 9).equals(one.head(20))
    assert not Lake(lake).sample(50, 10).equals(one)
    assert [
        each.equals(Lake(lake).sample(50, seed))
        for seed, each in zip((9, 10), Lake(lake).samples(50, (9, 10)), strict=True)
    ] == [True, True]


def test_copies_of_a_trace_are_drawn_once(tmp_path: Path) -> None:
    rows = [row for row in lakes.traces(80, 4) if row["class"] == "clean"]
    lake = lakes.write(tmp_path / "l", {("s", "2011-01-01", str(i)): rows for i in range(5)})
    assert Lake(lake).sample(len(rows) - 1, 1)["key"].n_unique() == len(rows) - 1
    assert Lake(lake).sample(1000, 1).height == len(rows)


def test_priorities_are_what_numpy_makes_of_the_same_steps() -> None:
    keys = np.random.default_rng(0).integers(0, 2**64, 1000, dtype=np.uint64)
    found = pl.DataFrame({"key": keys}).select(priority(3)).to_series().to_numpy()
    mixed = keys.copy()
    for first, second in ((0, 1), (2, 3)):
        mixed = (mixed ^ np.uint64(_word(3, first))) * np.uint64(_word(3, second) | 1)
        mixed ^= mixed >> np.uint64(32)
    assert (found == mixed).all()
    # SplitMix64 of seed 1234567, from its authors' test values
    assert [_word(1234567, i) for i in range(3)] == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_each_trace_is_as_likely_as_any_other(lake: Path) -> None:
    clean = Lake(lake).clean().collect()
    drawn = pl.concat([Lake(lake).sample(clean.height // 4, seed).select("key") for seed in range(40)])
    often = drawn.group_by("key").len()["len"].to_numpy()
    # 40 draws of a quarter: 10 times each; standard deviation sqrt(40 / 4 * 3 / 4) = 2.7
    assert abs(often.mean() * often.size / clean.height - 10) < 0.1
    assert 2.2 < often.std() < 3.3


def test_what_is_no_lake_says_what_would_be_one(lake: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no lake\.json"):
        Lake(tmp_path / "nowhere")
    with pytest.raises(InputError, match="nothing of what was selected"):
        Lake(lake, Selection(sources=("none",)))
    (lake / "lake.json").write_text(json.dumps({"format": 3}))
    with pytest.raises(InputError, match="newer"):
        Lake(lake)
    (lake / "lake.json").write_text("{}")
    with pytest.raises(InputError, match="cannot be read"):
        Lake(lake)
    with pytest.raises(InputError, match="number of traces"):
        (lake / "lake.json").write_text('{"format": 1}')
        Lake(lake).sample(0, 1)


def test_a_damaged_part_is_named_with_the_remedy(tmp_path: Path) -> None:
    lake = lakes.write(tmp_path / "l", {("ark", f"2011-03-0{i}", "x"): lakes.traces(300, i) for i in (1, 2)})
    part = lake / "traces" / "source=ark" / "day=2011-03-02" / "x.parquet"
    whole = part.read_bytes()
    part.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(
        InputError, match=r"day=2011-03-02/x\.parquet: is damaged: its end is missing\n.*ingest"
    ) as told:
        Lake(lake)
    assert "makes it anew" in str(told.value)
    assert Lake(lake, Selection(last_day=date(2011, 3, 1))).sample(10, 1).height == 10
    part.write_bytes(whole[:4] + bytes(len(whole) // 2) + whole[len(whole) // 2 + 4 :])
    opened = Lake(lake)
    for use in (lambda: tally(opened), lambda: opened.sample(50, 1)):
        with pytest.raises(InputError, match=r"day=2011-03-02/x\.parquet: is damaged"):
            use()


def test_parts_of_the_old_and_the_new_format_are_read_together(tmp_path: Path) -> None:
    lake = lakes.write(tmp_path / "l", {("ark", f"2011-03-0{i}", "x"): lakes.traces(20, i) for i in (1, 2)})
    part = lake / "traces" / "source=ark" / "day=2011-03-02" / "x.parquet"
    assert set(pl.read_parquet_schema(part)) < set(SCHEMA)
    later = [name for name in SCHEMA if name not in lakes.SCHEMA]
    values = [pl.lit(7 if name == "sport" else None).cast(SCHEMA[name]).alias(name) for name in later]
    values[later.index("hop_icmp_type")] = pl.concat_list(pl.lit(11, pl.UInt8)).alias("hop_icmp_type")
    pl.read_parquet(part).with_columns(values).write_parquet(part)
    rows = Lake(lake).scan().collect()
    assert dict(rows.schema) == SCHEMA
    assert rows["sport"].is_null().to_list() == [True] * 20 + [False] * 20
    assert rows["hop_icmp_type"].drop_nulls().to_list() == [[11]] * 20
    assert Lake(lake).sample(10, 1).columns == list(SCHEMA)
