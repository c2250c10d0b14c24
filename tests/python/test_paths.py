"""Measured paths: what files hold, a file and in all, and what is said of those that cannot be read."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from conftest import Haltere
from haltere import paths
from haltere.errors import InputError

CLEAN = """traceroute to 192.0.2.9 (192.0.2.9), 30 hops max, 60 byte packets
 1  10.0.0.1  0.512 ms
 2  *
 3  192.0.2.9  9.000 ms
"""
LOOP = """traceroute to 192.0.2.8 (192.0.2.8), 30 hops max, 60 byte packets
 1  10.0.0.1  0.5 ms
 2  10.0.0.2  0.6 ms
 3  10.0.0.1  0.7 ms
"""
RESULT = {
    "type": "traceroute",
    "prb_id": 1,
    "dst_addr": "192.0.2.9",
    "result": [{"hop": 1, "result": [{"from": "10.0.0.1", "rtt": 0.5}, {"x": "*"}]}],
}


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    text, packed, broken = tmp_path / "text", tmp_path / "packed", tmp_path / "broken"
    text.write_text(CLEAN + LOOP)
    packed.write_bytes(gzip.compress((json.dumps(RESULT) + "\n").encode()))
    broken.write_text(json.dumps([RESULT, RESULT, RESULT]).replace('"rtt":', '"rtt"=', 1))
    return [str(path) for path in (text, packed, broken)]


def test_counts_of_each_file_and_of_all(files: list[str]) -> None:
    counted = paths.count(files)
    assert [file["file"] for file in counted["files"]] == files
    assert [(file["format"], file["compression"]) for file in counted["files"]] == [
        ("text", "none"),
        ("json", "gzip"),
        ("json", "none"),
    ]
    total = counted["total"]
    assert (total["traces"], total["damaged"]) == (5, 1)
    assert total["flags"]["complete"] + total["flags"]["incomplete"] == 5
    assert total["classes"] == {"clean": 1, "incomplete": 3, "toolong": 0, "loop": 1, "repeat": 0}
    assert counted["files"][2]["damage"][0]["offset"] == 1


def test_the_command_prints_a_table_and_what_is_damaged(haltere: Haltere, files: list[str]) -> None:
    done = haltere("paths", "count", *files)
    assert done.returncode == 0
    assert "in all" in done.stdout
    assert "at byte 1: " in done.stderr
    as_json = haltere("paths", "count", "--json", *files)
    assert json.loads(as_json.stdout) == paths.count(files)


def test_a_file_that_holds_no_traces_is_told(haltere: Haltere, tmp_path: Path) -> None:
    other, empty = tmp_path / "notes", tmp_path / "empty"
    other.write_text("nothing of the kind\n")
    empty.touch()
    done = haltere("paths", "count", str(other), str(empty))
    assert done.returncode == 1
    assert "not a file of traceroutes" in done.stderr
    assert "Traceback" not in done.stderr
    assert paths.count([str(empty)])["total"]["traces"] == 0


def test_a_name_that_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        paths.count([str(tmp_path / "none")])
    with pytest.raises(InputError, match="is a folder"):
        paths.count([str(tmp_path)])


def test_traces_as_text(haltere: Haltere, files: list[str]) -> None:
    assert haltere("paths", "show", files[0], "-n", "1").stdout == (
        "traceroute to 192.0.2.9, unknown, COMPLETED: clean\n"
        "  1  10.0.0.1  0.512 ms\n  2  *\n  3  192.0.2.9  9.000 ms\n"
    )
    everything = haltere("paths", "show", files[2])
    assert everything.stdout.count("traceroute to") == 2
    assert "damaged record at byte 1" in everything.stdout
    refused = haltere("paths", "show", files[0] + "x")
    assert refused.returncode == 2


def test_damaged_text_is_told_with_its_place(haltere: Haltere, tmp_path: Path) -> None:
    opening = "traceroute to 192.0.2.9 (192.0.2.9), 30 hops max, 60 byte packets\n"
    whole = opening + " 1  10.0.0.1  0.5 ms\n 2  192.0.2.9  1.0 ms\n"
    (tmp_path / "t.txt").write_text(
        whole + whole.replace("traceroute", "tr\x01ceroute") + whole.replace("10.0.0.1", "10.0.0.999")
    )
    done = haltere("paths", "count", "--json", str(tmp_path / "t.txt"))
    (file,) = json.loads(done.stdout)["files"]
    assert (file["traces"], file["damaged"], file["classes"]["clean"]) == (1, 2, 1)
    assert [one["offset"] for one in file["damage"]] == [len(whole), 2 * len(whole)]
    assert "10.0.0.999" not in done.stdout
