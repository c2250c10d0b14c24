"""Output into a pipe is never cut or wrapped, however narrow the terminal is that somebody may have."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import lakes
from conftest import COMMAND, Haltere
from haltere import core
from haltere import paths as store
from haltere.adhoc.validation import Quantity, Validation
from haltere.cli import exits
from haltere.cli import validate as validate_command
from haltere.rig import kernel, programs

LONG = "with-a-name-" * 20 + "that-is-long"
CONTENDER = "tcp/cubic+nohystart+ecn+nodelack+nosackcompression+rto1s+notimestamps+stockbuffers+tls12"
QUICK = ("--rate", "10Mbit/s", "--size", "20kB", "--replications", "1")


def lines_with(text: str, word: str) -> int:
    return sum(word in line for line in text.splitlines())


def test_the_lists_of_contenders_hold_every_word_whole(haltere: Haltere) -> None:
    text = haltere("algorithms").stdout
    known = {**core.algorithms(), "programs": programs.rows()}
    for kind in ("transports", "congestion", "schedulers", "stacks", "switches", "programs"):
        for item in known[kind]:
            assert lines_with(text, item["name"])
            assert lines_with(text, item["summary"]), item["summary"]


@pytest.mark.parametrize("columns", [None, "20"])
def test_a_process_with_a_pipe_cuts_nothing(columns: str | None) -> None:
    env = {name: value for name, value in os.environ.items() if name != "COLUMNS"} | {"FORCE_COLOR": "1"}
    if columns is not None:
        env["COLUMNS"] = columns
    done = subprocess.run([*COMMAND, "algorithms"], capture_output=True, text=True, env=env, check=True)
    assert "…" not in done.stdout
    assert "tcp@apache+wget2_http11" in done.stdout


def test_compare_keeps_a_contender_whole(haltere: Haltere) -> None:
    other = CONTENDER.replace("cubic", "newreno")
    alone = haltere("compare", CONTENDER, other, *QUICK).stdout
    assert lines_with(alone, CONTENDER) >= 1
    assert lines_with(alone, other) >= 1
    shared = haltere("compare", CONTENDER, other, "--share", "--duration", "11s", "--replications", "1").stdout
    assert lines_with(shared, f"{CONTENDER} ") >= 1


def test_validate_keeps_a_contender_whole(haltere: Haltere, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    quantity = Quantity(0, "completion_s", None, None)
    found = Validation((CONTENDER,), (quantity, replace(quantity, flow=-1)), {}, 0.01, {"version": LONG})
    monkeypatch.setattr(validate_command, "validate", lambda *_arguments, **_options: found)
    monkeypatch.setattr("haltere.figures.trace.trace_figure", lambda *_: None)
    text = haltere("validate", CONTENDER, "--out", str(tmp_path)).stdout
    assert lines_with(text, CONTENDER) == 1
    assert lines_with(text, LONG) == 1


def test_a_dry_run_keeps_a_study_s_title_and_names_whole(haltere: Haltere, small_study: Path) -> None:
    file = small_study / "study.toml"
    title = "A small study of many long words " * 10 + "with an end"
    file.write_text(file.read_text().replace("A small study", title).replace("experiments.base", f"experiments.{LONG}"))
    text = haltere("run", "small", "--dry-run").stdout
    assert lines_with(text, title) == 1
    assert lines_with(text, f"{LONG} ") == 1


def test_the_kernels_are_named_whole(haltere: Haltere, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    there = kernel.Kernel(LONG, tmp_path / "linux", "6.12.0", 250, "abc")
    monkeypatch.setattr(kernel, "built", lambda: [there])
    monkeypatch.setattr(kernel, "unknown_options", lambda _kernel: [f"CONFIG_{number}_{LONG}" for number in range(3)])
    text = haltere("kernel", "check").stdout
    assert lines_with(text, f"{LONG} ") == 1
    assert lines_with(text, ", ".join(f"CONFIG_{number}_{LONG}" for number in range(3))) == 1


def test_the_benchmark_s_cases_are_named_whole(haltere: Haltere, monkeypatch: pytest.MonkeyPatch) -> None:
    case: dict[str, Any] = {"case": LONG, "data_packets": 1, "cpu_s": 1.0, "packets_per_cpu_s": 1.0}
    monkeypatch.setattr(core, "bench", lambda: [case, case | {"bytes_per_packet_in_flight": 312.0}])
    assert lines_with(haltere("bench").stdout, f"{LONG} ") == 2


def test_measured_paths_keep_files_sources_and_titles_whole(haltere: Haltere, tmp_path: Path) -> None:
    files = tmp_path / LONG
    store.generate(files, traces=300)
    (file,) = files.rglob("*.gz")
    assert lines_with(haltere("paths", "count", str(file)).stdout, str(file)) == 1
    ingested = haltere("paths", "ingest", str(files), "--source", LONG[:60], "--out", LONG[::-1])
    assert ingested.returncode == 0, ingested.stderr
    assert lines_with(ingested.stdout, f"{LONG[:60]} ") == 1
    assert lines_with(ingested.stdout, LONG[::-1]) == 1
    assert lines_with(haltere("paths", "lake", LONG[::-1]).stdout, f"{LONG[:60]} ") == 1
    small = ("--traces", "100", "--sources", "2", "--destinations", "5", "--k", "2", "--draws", "2")
    graph = haltere("paths", "graph", LONG[::-1], *small).stdout
    assert lines_with(graph, f"{LONG[::-1]}: the graph, 2 draws: median (least – greatest)") == 1
    assert lines_with(graph, "K shortest paths: medians; of differences the mean") == 1


def test_summaries_are_whole(haltere: Haltere, tmp_path: Path) -> None:
    lakes.write(tmp_path / "lake", {("ark", "2011-03-01", "x"): lakes.traces(900, 1)})
    done = haltere("paths", "summary", "lake", "--paths", "10", "--out", f"{LONG[:200]}.json")
    assert done.returncode == 0, done.stderr
    assert lines_with(done.stdout, LONG[:200]) >= 1
    for line in haltere("paths", "summaries").stdout.splitlines():
        assert not line or line[0] in "┏┃┡│└├" or ": " in line or line.startswith("each quantile")


def haltere_into(stdout: int, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *words], stdout=stdout, stderr=subprocess.PIPE, text=True, check=False)


@pytest.mark.parametrize("words", [("algorithms",), ("presets", "--json")])
def test_a_reader_that_ends_early_is_no_fault_of_ours(words: tuple[str, ...]) -> None:
    """`haltere algorithms | head -1`: the code is that of SIGPIPE, and nothing is said."""
    reading, writing = os.pipe()
    os.close(reading)
    done = haltere_into(writing, *words)
    os.close(writing)
    assert (done.returncode, done.stderr) == (exits.CLOSED_PIPE, "")


@pytest.mark.parametrize("locale", ["C.UTF-8", "POSIX"])
def test_a_full_disk_behind_the_output_is_said(locale: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a stream keeps what it could not write depends on its encoding."""
    monkeypatch.setenv("LC_ALL", locale)
    with Path("/dev/full").open("wb") as full:
        done = haltere_into(full.fileno(), "presets")
    assert done.returncode == exits.FAULTY_DISK, done.stderr
    assert "cannot be written: No space left on device" in done.stderr


def test_an_ascii_locale_gets_characters_that_are_alike() -> None:
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}
    for words in (("presets",), ("presets", "--json"), ("queues",)):
        done = subprocess.run([*COMMAND, *words], capture_output=True, env=os.environ | ascii_only, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
        assert done.stdout.isascii()
    assert b"Hoiland" in done.stdout
