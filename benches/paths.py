"""Measures how fast measured paths are read: files, a lake's counts and draws.

    .venv/bin/python benches/paths.py [--traces 2000000] [--folder DIR] [--repeats 5]

It generates files of traces (320 bytes a trace, gzip'd) and reads them into a lake (120 bytes a trace) in a temporary
folder. Counts and draws are measured at half and at the full number of traces, which shows whether a time is in
proportion to that number. `gzip -dc` and our reader take turns on the same file. All times are medians; CPU is user and
system time of all threads. Where other programs run, CPU says more than the clock.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

from haltere import _core, paths
from haltere.paths.graph import COLUMNS
from haltere.paths.lake import Lake, Selection
from haltere.paths.tallies import tally

DAYS = 4
MONITORS = 4
AIM = 200_000_000
"""The traces for which the aims are stated."""
DRAWS = 5
DRAWN = 100_000 / AIM
"""Share of the traces that a draw of `paths compare` takes of so many."""


def cpu_s() -> float:
    """CPU time of this process and of the children that have ended, seconds."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """CPU and clock seconds that some work takes."""
    cpu, clock = cpu_s(), time.perf_counter()
    work()
    return cpu_s() - cpu, time.perf_counter() - clock


def medians(times: list[tuple[float, float]]) -> tuple[float, float]:
    """The medians of CPU and clock times."""
    return statistics.median(t[0] for t in times), statistics.median(t[1] for t in times)


def load() -> str:
    """The load averages of this machine."""
    return ", ".join(f"{average:.1f}" for average in os.getloadavg())


def line(what: str, traces: int, times: tuple[float, float]) -> None:
    """Print a line of figures, and what they come to at the number of traces of the aims."""
    cpu, clock = times
    each = cpu / traces
    print(
        f"{what:26} {traces:>11,} traces {cpu:8.2f} CPU-s {clock:8.2f} s {each * 1e6:7.3f} µs of CPU a trace"
        f" {each * AIM:7.0f} CPU-s for {AIM // 10**6} million"
    )


def decoding(file: Path, traces: int, repeats: int) -> None:
    """Our reader and `gzip -dc`, in turns."""
    ours, theirs = [], []
    for _ in range(repeats):
        theirs.append(timed(lambda: subprocess.run(["gzip", "-dc", file], stdout=subprocess.DEVNULL, check=True)))
        ours.append(timed(lambda: _core.count_paths([str(file)], 1)))
    line("gzip -dc", traces, medians(theirs))
    line("warts.gz read and counted", traces, medians(ours))
    by_cpu, by_clock = medians([(a[0] / b[0], a[1] / b[1]) for a, b in zip(theirs, ours, strict=True)])
    print(f"  our speed over gzip's: {by_cpu:.2f} by CPU, {by_clock:.2f} by the clock (the aim is 2)")


def counting(lake: Lake, traces: int, repeats: int) -> None:
    """Counts and draws of a lake, or of a part of it."""
    drawn = max(1, round(DRAWN * traces))
    line("counts (tally)", traces, medians([timed(lambda: tally(lake)) for _ in range(repeats)]))
    seeds, columns = range(1, DRAWS + 1), list(COLUMNS)
    draws = [timed(lambda: lake.samples(drawn, seeds, columns=columns)) for _ in range(repeats)]
    line(f"{DRAWS} draws of {drawn:,}", traces, medians(draws))


def main() -> None:
    """Measure everything."""
    parser = argparse.ArgumentParser(description="how fast measured paths are read: files, a lake's counts and draws")
    parser.add_argument("--traces", type=int, default=2_000_000)
    parser.add_argument("--folder", type=Path, help="where files go; a temporary folder if not given")
    parser.add_argument("--repeats", type=int, default=5)
    asked = parser.parse_args()
    print(f"{os.cpu_count()} CPUs, load {load()}")
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        made, lake = Path(folder) / "files", Path(folder) / "lake"
        files = [Path(f) for f in paths.generate(made, traces=asked.traces, monitors=MONITORS, days=DAYS)]
        decoding(files[0], asked.traces // len(files), asked.repeats)
        line("ingested", asked.traces, timed(lambda: paths.ingest([str(made)], lake, source="ark")))
        one = timed(lambda: paths.ingest([str(files[0])], Path(folder) / "one", source="ark", threads=1))
        line("one file ingested", asked.traces // len(files), one)
        for days in (DAYS // 2, DAYS):
            selected = Lake(lake, Selection(first_day=date(2011, 3, 1), last_day=date(2011, 3, days)))
            counting(selected, asked.traces * days // DAYS, asked.repeats)
    print(f"load {load()} at the end")


if __name__ == "__main__":
    main()
