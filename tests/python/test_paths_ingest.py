"""From files to a lake: rows as polars sees them, and lakes that are whole whatever happens meanwhile."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import time
from pathlib import Path

import polars as pl
import pytest

from conftest import COMMAND, Haltere
from haltere import paths
from haltere.errors import InputError
from haltere.paths.lake import SCHEMA

TEXT = """traceroute to 192.0.2.9 (192.0.2.9), 30 hops max, 60 byte packets
 1  10.0.0.1  0.512 ms
 2  *
 3  192.0.2.9  9.000 ms
"""


def tree(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != ".lock")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Two monitors and two days of warts."""
    folder = tmp_path / "files"
    paths.generate(folder, traces=4001, monitors=2, days=2)
    return folder


def test_polars_reads_every_column_as_it_is_meant(files: Path, tmp_path: Path) -> None:
    text = tmp_path / "mine.txt"
    text.write_text(TEXT)
    done = paths.ingest([str(files), str(text)], tmp_path / "lake")
    assert [file["became"] for file in done] == ["ingested"] * 5
    rows = pl.scan_parquet(tmp_path / "lake" / "traces", hive_schema={"source": pl.String, "day": pl.String})
    read = rows.collect()
    assert dict(read.drop("source", "day").schema) == SCHEMA
    assert read.drop("source", "day").columns == list(SCHEMA)
    # What generated files say: a time exceeded of each router, and labels at the places of answers.
    whole = read.filter(pl.col("class") == "clean", source="ark")
    assert whole["dport"].is_not_null().all()
    types = whole["hop_icmp_type"].to_list()
    assert {kind for of in types for kind in of[:-1]} == {11}
    assert {of[-1] for of in types} == {0}
    assert all(
        max(at, default=-1) < hops for at, hops in zip(read["mpls_hop"], read["hop_ttl"].list.len(), strict=True)
    )
    assert (read["mpls_label"].list.len() == read["mpls_hop"].list.len()).all()
    assert read["mpls_label"].list.len().sum() > 0
    assert read.height == 4002
    assert read["key"].n_unique() == 4002
    one = rows.filter(pl.col("day") == "2011-03-02", pl.col("source") == "ark").collect()
    assert 1999 < one.height < 2002
    assert set(one["monitor"]) == {"mon-01", "mon-02"}
    mine = rows.filter(source="text").drop("key").collect().to_dicts()
    assert mine == [
        {
            "monitor": "unknown",
            "src": None,
            "dst": bytes([192, 0, 2, 9]),
            "start": None,
            "method": "unknown",
            "stop": "COMPLETED",
            "class": "clean",
            "complete": True,
            "toolong": False,
            "loop": False,
            "gap": True,
            "adjdup": False,
            "multi": False,
            "hops": 3,
            "rtt_us": 9000,
            "list_id": 0,
            "cycle_id": 0,
            "hop_ttl": [1, 3],
            "hop_addr": [bytes([10, 0, 0, 1]), bytes([192, 0, 2, 9])],
            "hop_rtt_us": [512, 9000],
            "sport": None,
            "dport": None,
            "hop_icmp_type": [None, None],
            "hop_icmp_code": [None, None],
            "hop_reply_ttl": [None, None],
            "mpls_hop": [],
            "mpls_label": [],
            "mpls_ttl": [],
            "source": "text",
            "day": "unknown",
        }
    ]


def test_the_command_prints_counts_that_add_up(haltere: Haltere, files: Path, tmp_path: Path) -> None:
    (files / "notes").write_text("nothing of the kind\n")
    lake = tmp_path / "lake"
    done = haltere("paths", "ingest", str(files), "--out", str(lake), "--json")
    assert done.returncode == 1
    became = json.loads(done.stdout)["files"]
    assert [file["became"] for file in became] == ["ingested"] * 4 + ["unreadable"]
    counted = paths.count([str(path) for path in sorted(files.glob("*.gz"))])
    classes = paths.describe(lake)["sources"]["ark"]["classes"]
    assert classes == counted["total"]["classes"]
    assert sum(classes.values()) == 4001
    again = haltere("paths", "ingest", str(files), "--out", str(lake))
    assert again.returncode == 1
    assert "4 were there already, 1 could not be read" in again.stdout
    assert "not a file of traceroutes" in again.stderr
    shown = haltere("paths", "lake", str(lake))
    assert shown.returncode == 0
    assert "4001" in shown.stdout
    assert "2: 2011-03-01 to 2011-03-02" in shown.stdout
    held = json.loads(haltere("paths", "lake", str(lake), "--json").stdout)
    assert held == paths.describe(lake)
    part = next(lake.glob("traces/*/*/*.parquet"))
    whole = part.read_bytes()
    part.unlink()
    gone = haltere("paths", "lake", str(lake))
    assert gone.returncode == 1
    assert f"{part}: is missing" in gone.stderr
    part.write_bytes(whole[:-20])
    cut = haltere("paths", "lake", str(lake))
    assert cut.returncode == 1
    assert f"{part}: is damaged" in cut.stderr
    assert "makes these parts anew" in cut.stderr
    mended = haltere("paths", "ingest", str(files), "--out", str(lake))
    assert "1 file is in" in mended.stdout and "3 were there already" in mended.stdout
    assert part.read_bytes() == whole
    part.write_bytes(whole[:4] + bytes(2000) + whole[2004:])
    refused = haltere("paths", "compare", str(lake), str(lake), "--out", str(tmp_path / "out"))
    assert refused.returncode == 2
    assert f"{part}: is damaged" in refused.stderr and "remove it; ingesting" in refused.stderr
    part.unlink()
    haltere("paths", "ingest", str(files), "--out", str(lake))
    assert part.read_bytes() == whole
    assert haltere("paths", "lake", str(lake)).returncode == 0


def test_standard_input_needs_a_source(haltere: Haltere, files: Path, tmp_path: Path) -> None:
    file = next(files.iterdir())
    lake = tmp_path / "lake"
    refused = haltere("paths", "ingest", "-", "--out", str(lake))
    assert refused.returncode == 2
    assert "--source" in refused.stderr
    assert not lake.exists()
    command = [*COMMAND, "paths", "ingest", "-", "--out", str(lake), "--source", "mine"]
    with file.open("rb") as stdin:
        subprocess.run(command, stdin=stdin, check=True, capture_output=True)
    assert paths.describe(lake)["sources"]["mine"]["files"] == 1
    assert [file["became"] for file in paths.ingest([str(file)], lake, source="mine")] == ["known"]


def test_killed_and_gone_on_with_it_is_the_same_lake(tmp_path: Path) -> None:
    files = tmp_path / "files"
    paths.generate(files, traces=30_000, monitors=3, days=4)
    whole = tmp_path / "whole"
    paths.ingest([str(files)], whole, threads=2)
    lake = tmp_path / "lake"
    for wanted in (1, 3, 6):
        command = [*COMMAND, "paths", "ingest", str(files), "--out", str(lake), "--threads", "2"]
        ingest = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        while len(list(lake.glob("ingested/[0-9a-f]*.json"))) < wanted and ingest.poll() is None:
            time.sleep(0.001)
        ingest.send_signal(signal.SIGKILL)
        ingest.wait()
    became = [file["became"] for file in paths.ingest([str(files)], lake, threads=1)]
    assert became.count("known") >= 6
    assert tree(lake) == tree(whole)


def test_a_full_disk_leaves_nothing_half_written(files: Path, tmp_path: Path) -> None:
    lake = tmp_path / "lake"

    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    command = [*COMMAND, "paths", "ingest", str(files), "--out", str(lake)]
    refused = subprocess.run(command, preexec_fn=small_files, capture_output=True, text=True, check=False)
    assert refused.returncode == 2, refused.stderr
    assert "cannot be written" in refused.stderr
    assert "right: " in refused.stderr
    assert not list(lake.rglob("*.parquet"))
    paths.ingest([str(files)], lake)
    assert paths.describe(lake)["sources"]["ark"]["traces"] == 4001


def test_a_lake_that_cannot_be_described_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no lake\.json"):
        paths.describe(tmp_path)
    with pytest.raises(InputError, match="there is no such file"):
        paths.ingest([str(tmp_path / "none")], tmp_path / "lake")
    (tmp_path / "lake" / "lake.json").write_text('{"format": 3}')
    with pytest.raises(InputError, match="format 3"):
        paths.describe(tmp_path / "lake")


@pytest.mark.parametrize("kind", ["warts", "arts", "atlas"])
def test_generated_files_are_read_as_they_are_meant(kind: str, tmp_path: Path) -> None:
    made = paths.generate(tmp_path / "a", traces=301, monitors=2, days=2, kind=kind, threads=1)
    assert len(made) == 4
    counted = paths.count(made)
    assert (counted["total"]["traces"], counted["total"]["damaged"]) == (301, 0)
    paths.generate(tmp_path / "b", traces=301, monitors=2, days=2, kind=kind, threads=2)
    assert tree(tmp_path / "a") == tree(tmp_path / "b")
    paths.ingest(made, tmp_path / "lake")
    (held,) = paths.describe(tmp_path / "lake")["sources"].values()
    assert list(held["days"]) == ["2011-03-01", "2011-03-02"]
    assert len(held["monitors"]) == 2


def test_what_cannot_be_generated_is_told(tmp_path: Path) -> None:
    for wrong in ({"traces": 0}, {"kind": "json"}, {"start": "2011-02-29"}, {"start": "1969-01-01"}, {"days": 0}):
        with pytest.raises(InputError):
            paths.generate(tmp_path, **{"traces": 10, **wrong})
    with pytest.raises(InputError, match="no IPv6"):
        paths.generate(tmp_path, traces=1, kind="arts", ipv6=True)
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(InputError, match="cannot be written"):
        paths.generate(file / "below", traces=1)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_progress_of_several_inputs_is_told_in_bytes_of_all(tmp_path: Path) -> None:
    made = paths.generate(tmp_path / "files", traces=400, monitors=2, threads=1)
    pipe = tmp_path / "files" / "z"
    os.mkfifo(pipe)
    everything = sum(Path(file).stat().st_size for file in made)
    told: list[tuple[int, int]] = []

    def on_progress(done: int, of: int) -> None:
        told.append((done, of))
        if done == everything and (-1, of) not in told:
            # Both files are read, and ingest waits for the third input.
            descriptor = os.open(pipe, os.O_WRONLY)
            os.write(descriptor, TEXT.encode())
            os.close(descriptor)
            told.append((-1, of))

    found = paths.ingest([*made, str(pipe)], tmp_path / "lake", threads=1, on_progress=on_progress)
    assert [file["became"] for file in found] == ["ingested"] * 3
    before = [done for done, _ in told[: told.index((-1, everything))]]
    assert before == sorted(before)
    assert before[-1] == everything
