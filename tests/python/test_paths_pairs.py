"""Paths of monitors to destinations that are the same, or others, in a later period."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from scipy import stats as reference

import lakes
from conftest import Haltere
from haltere.paths.levels import Labels
from haltere.paths.pairs import changed_paths, wilson

SCHEMA = {"monitor": pl.String, "src": pl.Binary, "dst": pl.Binary} | {
    name: lakes.SCHEMA[name] for name in ("hop_ttl", "hop_addr", "hop_rtt_us")
}


def packed(text: str) -> bytes:
    return ipaddress.ip_address(text).packed


def trace(monitor: str, *answers: str) -> dict[str, Any]:
    """A trace to the last address; `*` is a silent hop."""
    heard = [(ttl, packed(a)) for ttl, a in enumerate(answers, 1) if a != "*"]
    return {
        "monitor": monitor,
        "src": packed("192.0.2.1"),
        "dst": packed(answers[-1]),
        "hop_ttl": [ttl for ttl, _ in heard],
        "hop_addr": [address for _, address in heard],
        "hop_rtt_us": [1000 * ttl for ttl, _ in heard],
    }


def frame(*rows: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=SCHEMA)


def test_pairs_are_the_same_changed_or_unclear() -> None:
    first = frame(
        trace("m", "10.0.0.1", "10.9.0.1"),
        trace("m", "10.0.0.1", "10.9.0.1"),
        trace("m", "10.0.0.2", "10.9.0.1"),
        trace("m", "10.0.0.1", "10.9.0.2"),
        trace("m", "*", "10.9.0.3"),
        trace("n", "*", "10.9.0.3"),
        trace("m", "10.0.0.1", "10.9.0.4"),
    )
    second = frame(
        trace("m", "10.0.0.1", "10.9.0.1"),
        trace("m", "10.0.0.3", "10.9.0.2"),
        trace("m", "10.0.0.1", "10.9.0.3"),
        trace("n", "*", "10.9.0.3"),
        trace("n", "10.0.0.1", "10.9.0.5"),
        trace("n", "10.0.0.1", "10.9.0.6"),
    )
    found = changed_paths(first, second)
    assert found.pairs.select("monitor", "destination", "became").rows() == [
        ("m", "10.9.0.1", "same"),
        ("m", "10.9.0.2", "changed"),
        ("m", "10.9.0.3", "unclear"),
        ("n", "10.9.0.3", "same"),
    ]
    assert (found.first, found.second) == (1, 2)
    row = found.pairs.row(0, named=True)
    assert (row["traces_first"], row["paths_first"], row["path_first"]) == (3, 2, ["192.0.2.1", "10.0.0.1", "10.9.0.1"])
    shares = found.shares()
    assert shares["monitor"].to_list() == [None, "m", "n"]
    assert shares.row(0)[1:5] == (4, 2, 1, 1)
    assert shares["share"].to_list() == [pytest.approx(1 / 3), 0.5, 0]
    assert shares["unsteady"].to_list() == [1, 1, None]


def test_a_change_within_an_as_is_none_between_ases() -> None:
    labels = Labels(lambda address: f"AS{address[1]}" if address[0] == 10 else "AS7")
    first, second = (frame(trace("m", router, "10.9.0.1")) for router in ("10.1.0.1", "10.1.0.2"))
    assert changed_paths(first, second).pairs["became"].to_list() == ["changed"]
    found = changed_paths(first, second, labels)
    assert found.pairs["became"].to_list() == ["same"]
    assert found.pairs["path_first"].to_list() == [["AS7", "AS1", "AS9"]]


def test_destinations_of_a_prefix_are_one() -> None:
    first, second = (frame(trace("m", "10.1.0.1", end)) for end in ("10.9.0.1", "10.9.0.2"))
    assert changed_paths(first, second).pairs.is_empty()
    labels = Labels(lambda address: f"AS{address[1]}")
    for destination, name in (("prefix", "10.9.0.0/24"), ("label", "AS9")):
        found = changed_paths(first, second, labels, destination=destination)  # type: ignore[arg-type]
        assert found.pairs.select("destination", "became").rows() == [(name, "same")]


@pytest.mark.parametrize(("k", "n"), [(0, 9), (3, 10), (50, 100), (9, 9)])
def test_wilsons_interval_is_scipys(k: int, n: int) -> None:
    found = wilson(k, n)
    expected = reference.binomtest(k, n).proportion_ci(method="wilson")
    assert (found.low, found.high) == (pytest.approx(expected.low), pytest.approx(expected.high))


def test_the_command_lists_and_writes(tmp_path: Path, haltere: Haltere) -> None:
    rows = lakes.traces(300, 1)
    lakes.write(tmp_path / "2006", {("ark", "2006-03-01", "x"): rows})
    lakes.write(tmp_path / "2011", {("ark", "2011-03-01", "x"): rows[:200]})
    words = ("paths", "changed", str(tmp_path / "2006"), str(tmp_path / "2011"))
    done = haltere(*words, "--out", str(tmp_path / "pairs.csv"))
    assert done.returncode == 0, done.stderr
    pairs = pl.read_csv(tmp_path / "pairs.csv")
    assert set(pairs["became"]) <= {"same", "unclear", "changed"} and pairs.height > 50
    once = pairs.filter((pl.col("traces_first") == 1) & (pl.col("traces_second") == 1))
    assert set(once["became"]) == {"same"}
    done = haltere(*words, "--level", "prefix", "--destination", "prefix", "--out", str(tmp_path / "pairs.parquet"))
    assert done.returncode == 0, done.stderr
    assert pl.read_parquet(tmp_path / "pairs.parquet")["destination"].str.ends_with("/24").all()
    lakes.write(tmp_path / "else", {("ark", "2011-03-01", "x"): lakes.traces(20, 3, monitors="z")})
    refused = haltere("paths", "changed", str(tmp_path / "2006"), str(tmp_path / "else"))
    assert refused.returncode == 2 and "--destination prefix" in refused.stderr
