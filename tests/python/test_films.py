"""Films (video on demand) on the command line and from Python."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import haltere as package
from conftest import Haltere
from haltere.adhoc.conditions import Conditions
from haltere.adhoc.noticed import FILM, noticed
from haltere.errors import InputError
from haltere.scenario import Scenario

REPEATED = 1000
SHORT = ("--replications", "2", "--rate", "3Mbit/s", "--queue", "2bdp")


def _entries(startup_s: float, stalled_s: float, mbit_s: float) -> list[dict[str, Any]]:
    return [{"error": None, "startup_s": startup_s, "stalled_s": stalled_s, "played_bps": 1e6 * mbit_s}] * 10


def _said(*groups: list[dict[str, Any]]) -> str:
    return noticed("abcd"[: len(groups)], groups, FILM)


def test_what_is_noticed_is_late_stalled_or_coarse() -> None:
    fine, late, stalled = _entries(0.5, 0, 3), _entries(3.2, 0, 2.9), _entries(0.6, 12, 1.2)
    said = _said(fine, late, stalled)
    assert said.startswith("A viewer would notice that b begins after 3.2 s (a: 0.5 s); c ")
    assert "c stalls for 12.0 s (a: 0 s) and plays at 1.2 Mbit/s (a: 3 Mbit/s)" in said
    # Up to 2 s of start, less than a second of stalls, and less than a fifth of the bit rate are not seen.
    said = _said(fine, _entries(1.9, 0.7, 2.5))
    assert (
        "no difference: films begin after 0.5 s to 1.9 s, stalls last 0 s to 0.7 s in all, and the bit rate is 2.5"
        in said
    )
    assert _said(fine) == "This film begins after 0.5 s, never stalls and plays at 3 Mbit/s."
    nothing = [{"error": None, "startup_s": None, "stalled_s": 0.0, "played_bps": None}]
    assert _said(nothing) == "A viewer would see nothing: no film began."


def test_few_runs_and_runs_that_scatter_tell_nothing() -> None:
    fine, late = _entries(0.5, 0, 3), _entries(4, 0, 3)
    scattered = [one | {"stalled_s": 20.0 * (at % 5 == 0)} for at, one in enumerate(fine)]
    for said in (_said(fine[:3], late[:3]), _said(fine, scattered)):
        assert said.startswith("The runs cannot tell whether a viewer would notice a difference")


@pytest.mark.parametrize(("contenders", "replications"), [(2, 6), (3, 10), (4, 20)])
def test_of_equal_films_a_difference_is_seldom_told(contenders: int, replications: int) -> None:
    """Starts with long tails, stalls in some runs only, bit rates that have a ceiling."""
    dice = np.random.default_rng(7)
    told = 0
    for _ in range(REPEATED):
        groups = [
            [
                {"error": None, "startup_s": start, "stalled_s": float(stalled), "played_bps": rate}
                for start, stalled, rate in zip(
                    2.0 * dice.lognormal(sigma=0.8, size=replications),
                    dice.negative_binomial(0.5, 0.1, replications),
                    4.3e6 - dice.exponential(1e6, replications).clip(max=4e6),
                    strict=True,
                )
            ]
            for _ in range(contenders)
        ]
        told += "would notice that" in _said(*groups)
    assert told <= binom.ppf(0.9999, REPEATED, 0.05)


def test_a_difference_that_is_there_is_told() -> None:
    dice = np.random.default_rng(8)

    def of(median_s: float) -> list[dict[str, Any]]:
        stalled = median_s * dice.lognormal(sigma=0.3, size=10)
        return [one | {"stalled_s": value} for one, value in zip(_entries(1, 0, 3), stalled, strict=True)]

    assert sum("b stalls for" in _said(of(2), of(8)) for _ in range(200)) > 190


def test_films_are_judged_by_their_quality(haltere: Haltere) -> None:
    done = haltere("compare", "tcp/cubic", "tcp/bbr", "quic/cubic", "--video", "bba", *SHORT)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    assert "films by bba over https; 2 replications" in lines[0]
    told = next(at for at, line in enumerate(lines) if line.startswith(("A viewer", "The runs cannot tell")))
    assert "quality of experience (qoe_lin)" in " ".join(lines[told:]).lower()
    assert "completion" not in done.stdout


def test_entries_of_films_have_their_columns(haltere: Haltere) -> None:
    done = haltere("compare", "tcp/cubic", "--video", "throughput", *SHORT, "--json")
    for entry in json.loads(done.stdout):
        assert entry["error"] is None
        assert entry["chunks_played"] == 48
        assert 0.2 < entry["startup_s"] < 1
        assert 0.3e6 < entry["qoe_lin_bps"] < entry["played_bps"] < 3e6


def test_another_metric_may_decide(haltere: Haltere) -> None:
    done = haltere("compare", "tcp/cubic", "quic/cubic", "--video", "bba", *SHORT, "--metric", "startup_time")
    assert "start-up time" in done.stdout


def test_from_python_and_sharing_the_verdict_is_that_of_films() -> None:
    what: dict[str, Any] = {"replications": 2, "rate": "3Mbit/s", "queue": "2bdp", "video": "mpc"}
    found = package.compare(["tcp/cubic", "quic/cubic"], **what)
    assert "a viewer would notice" in found.verdict
    assert set(found.leads["metric"]) == {"qoe_lin"}
    found = package.compare(["tcp/cubic", "quic/cubic"], share=True, duration="30s", **what | {"rate": "8Mbit/s"})
    assert "viewer would notice" in found.verdict
    assert set(found.leads["metric"]) == {"goodput", "qoe_lin"}


def test_a_film_has_no_size_and_calls_are_none() -> None:
    data = Conditions(video="bba").data(["tcp/cubic"])
    assert data["flows"] == [{"contender": "tcp/cubic", "app": "https", "video": {"adaptation": "bba"}}]
    assert "duration" not in data
    assert "video" not in Conditions().data(["tcp/cubic"])["flows"][0]
    shared = Conditions(video="bba", share=True).data(["rtp/gcc", "tcp/cubic"])["flows"]
    assert ["video" in flow for flow in shared] == [False, True]


def test_what_is_wrong_is_said_with_the_option(haltere: Haltere) -> None:
    wrong = haltere("compare", "tcp/cubic", "--video", "mcp")
    assert wrong.returncode != 0
    assert "--video" in wrong.stderr
    assert 'did you mean "mpc"?' in wrong.stderr
    wrong = haltere("compare", "tcp/cubic", "--video", "bba", "--app", "raw")
    assert "a film is fetched over HTTP" in " ".join(wrong.stderr.split())
    wrong = haltere("validate", "tcp/cubic", "--video", "bba")
    assert wrong.returncode != 0
    assert "--video: is a film, and real hosts have none" in wrong.stderr
    wrong = haltere("compare", "tcp/cubic", "--video", "bba", "--fidelity", "linux")
    assert "--video: only the model has video" in wrong.stderr


@pytest.mark.parametrize("fidelity", ["linux", "testbed"])
def test_real_hosts_have_no_films(fidelity: Any) -> None:
    link = {"rate": "3Mbit/s", "delay": "25ms", "queue": "100p"}
    data = {
        "topology": {"kind": "point-to-point", "link": link},
        "flows": [{"contender": "tcp/cubic", "video": {}}],
        "ticks": "shared",
        "links": "haltere",
    }
    with pytest.raises(InputError, match='only the model has video: choose fidelity "model"'):
        Scenario(data, fidelity=fidelity)
