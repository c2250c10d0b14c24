"""Congestion controls in the shadow of a flow's: what is said of them, drawn, and refused."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import haltere as package
from conftest import Haltere
from haltere.adhoc.single import Trace
from haltere.errors import InputError
from haltere.figures import shadows as figures

CONDITIONS = ("--rate", "20Mbit/s", "--rtt", "40ms", "--size", "1MB", "--app", "raw")


@pytest.fixture(scope="module")
def scenario() -> package.Scenario:
    return package.Scenario.point_to_point(
        ["tcp/cubic"], rate="20Mbit/s", down_delay="20ms", up_delay="20ms", size="1MB", app="raw"
    )


@pytest.fixture(scope="module")
def traced(scenario: package.Scenario) -> Trace:
    return package.trace(scenario, shadow=["cubic-hystart", "cubic", "bbr"])


def test_a_trace_says_where_each_shadow_parts(traced: Trace) -> None:
    without, same, bbr = traced.shadows
    assert (without.contender, without.who, without.number) == ("tcp/cubic-hystart", "flow 0 shadow 1", 1)
    assert same.parting is None
    assert same.sentence("tcp/cubic").endswith("never asks for anything else")
    assert without.parting is not None
    assert [decision.state for decision in without.parting.before] == ["slow_start", "slow_start"]
    assert [decision.state for decision in without.parting.after] == ["avoidance", "slow_start"]
    assert without.parting.what.startswith("at an ACK (delivers 1448 B, RTT ")
    assert without.sentence("tcp/cubic").startswith("tcp/cubic-hystart in the shadow of tcp/cubic parts at ")
    assert bbr.parting is not None


def test_windows_of_both_are_series(traced: Trace) -> None:
    windows = traced.series.filter(pl.col("name") == "cwnd")
    last = {who: frame["v"][-1] for (who,), frame in windows.group_by("who", maintain_order=True)}
    assert set(last) == {"flow 0", "flow 0 controller", "flow 0 shadow 1", "flow 0 shadow 2", "flow 0 shadow 3"}
    assert last["flow 0 controller"] == last["flow 0 shadow 2"] < last["flow 0 shadow 1"]
    # Rates are there of the algorithm that asks for one.
    rates = traced.series.filter((pl.col("name") == "pacing_rate") & pl.col("who").str.contains("shadow"))
    assert set(rates["who"]) == {"flow 0 shadow 3"}


def test_a_run_is_the_same_with_shadows(scenario: package.Scenario, traced: Trace) -> None:
    assert traced.result.data == package.run(scenario).data


def test_the_figure_has_panels_of_what_is_asked_for(traced: Trace, tmp_path: Path) -> None:
    assert [panel[0] for panel in figures.asked(traced.data["series"])] == ["cwnd", "pacing_rate"]
    traced.figure(tmp_path / "shadow.svg")
    assert "tcp/cubic-hystart" in (tmp_path / "shadow.svg").read_text()


def test_the_command_prints_writes_and_answers_programs(haltere: Haltere, tmp_path: Path) -> None:
    done = haltere("shadow", "tcp/cubic", *CONDITIONS, "--control", "cubic-hystart", "--out", "t")
    assert done.returncode == 0, done.stderr
    assert "tcp/cubic-hystart in the shadow of tcp/cubic parts at " in done.stdout
    written = json.loads((tmp_path / "t" / "run.json").read_text())["shadows"]
    answer = json.loads(haltere("shadow", "tcp/cubic", *CONDITIONS, "--control", "cubic-hystart", "--json").stdout)
    assert answer["shadows"] == written
    assert answer["shadows"][0]["parted"]["after"]["first"]["state"] == "avoidance"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("tcp/cubic", "--control", "cubik"), "no congestion control"),
        (("tcp/cubic", "--control", "quic/cubic"), "has the transport of no flow"),
        (("tcp/cubic", "--control", "cubic-rack"), "the transport's"),
        (("tcp/cubic", "--control", "cubic", "--fidelity", "linux"), "does not show"),
    ],
)
def test_what_cannot_be_a_shadow_is_refused(arguments: tuple[str, ...], words: str, haltere: Haltere) -> None:
    done = haltere("shadow", *arguments)
    assert done.returncode == 2
    assert words in " ".join(done.stderr.split())


def test_a_production_stack_has_no_shadow() -> None:
    scenario = package.Scenario.point_to_point(
        ["quic/cubic"], rate="20Mbit/s", down_delay="20ms", up_delay="20ms", size="1MB", fidelity="stack"
    )
    with pytest.raises(InputError, match="production stack"):
        package.trace(scenario, shadow="cubic")
