"""`haltere compare` with several queues, directions of the data, and a figure."""

from __future__ import annotations

from pathlib import Path

import pytest

import haltere as package
from conftest import Haltere
from haltere.errors import InputError
from test_compare import MEAN_WAIT, QUICK


def test_queues_compete(haltere: Haltere) -> None:
    link = ("--preset", "dsl", "--size", "2MB", "--replications", "2")
    done = haltere("compare", "tcp/cubic", "tcp/bbr", *link, "--queue", "256kB", "--queue", "fq_codel")
    for name in ("tcp/cubic, 256kB", "tcp/bbr, 256kB", "tcp/cubic, fq_codel", "tcp/bbr, fq_codel"):
        assert name in done.stdout
    table = package.compare(["tcp/cubic"], preset="dsl", size="2MB", replications=2, queues=["256kB", "fq_codel"])
    alone = package.compare(["tcp/cubic"], preset="dsl", size="2MB", replications=2, queue="fq_codel")
    assert table.filter(queue="fq_codel")["completion_s"].to_list() == alone["completion_s"].to_list()
    with pytest.raises(InputError, match="queues: is given besides `queue`"):
        package.compare(["tcp/cubic"], queue="5p", queues=["5p", "6p"])


def test_data_goes_up_and_both_ways() -> None:
    what = {"preset": "dsl", "size": "1MB", "replications": 1}
    down, up = (package.compare(["tcp/cubic"], direction=way, **what) for way in ("down", "up"))
    # The line has 50 Mbit/s down and 10 up.
    assert up["goodput_bps"][0] < 10e6 < down["goodput_bps"][0]
    both = package.compare(["tcp/cubic", "tcp/bbr"], direction="both", **what)
    assert both.select("contender", "direction").rows() == [
        (contender, way) for contender in ("tcp/cubic", "tcp/bbr") for way in ("down", "up")
    ]
    assert both[MEAN_WAIT][0] != both[MEAN_WAIT][1]
    assert "the lowest mean time down" in both.verdict and "the lowest mean time up" in both.verdict
    with pytest.raises(InputError, match="direction: is no direction"):
        package.compare(["tcp/cubic"], direction="upp")  # type: ignore[arg-type]


@pytest.mark.parametrize("ending", ["svg", "pdf", "png"])
def test_a_figure_is_written_by_the_ending_of_its_name(ending: str, haltere: Haltere, tmp_path: Path) -> None:
    what = ("compare", "tcp/cubic", "tcp/cubic", *QUICK, "--loss", "1%", "--replications", "6")
    done = haltere(*what, "--out", f"found.{ending}")
    assert (done.returncode, f"figure: found.{ending}" in done.stdout) == (0, True)
    begins = {"svg": b"<?xml", "pdf": b"%PDF", "png": b"\x89PNG"}[ending]
    assert (tmp_path / f"found.{ending}").read_bytes().startswith(begins)


def test_a_figure_of_another_format_is_refused_before_anything_runs(haltere: Haltere) -> None:
    done = haltere("compare", "tcp/cubic", "--size", "1TB", "--out", "found.jpg")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: --out: is no file of a figure")
