"""Calls on the command line and from Python."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import haltere as package
from conftest import Haltere
from haltere.adhoc.conditions import Comparison, Conditions
from haltere.adhoc.noticed import noticed
from haltere.errors import InputError

REPEATED = 1000
SHORT = ("--duration", "8s", "--replications", "2", "--rate", "2Mbit/s", "--queue", "fq_codel")


def _entries(behind_s: float, freezes: float, rate: float) -> list[dict[str, Any]]:
    return [{"error": None, "glass_to_glass_p95_s": behind_s, "freezes": freezes, "picture_rate": rate}] * 10


def test_what_is_noticed_is_late_frozen_or_missing() -> None:
    fine, late, frozen = _entries(0.08, 0, 30), _entries(0.3, 0, 29.9), _entries(0.12, 4, 20)
    said = noticed(["a", "b", "c"], [fine, late, frozen])
    assert "b is up to 300 ms behind (a: 80 ms)" in said
    assert "c freezes 4 times (a: never) and shows 20 frames a second (a: 30)" in said
    said = noticed(["a", "b"], [fine, _entries(0.14, 0.2, 29)])
    assert "no difference: pictures are up to 80 ms to 140 ms behind (95 %), freeze never to 0.2 times" in said
    assert "On this call the picture is up to 80 ms behind" in noticed(["a"], [fine])
    unmeasured = {"error": None, "glass_to_glass_p95_s": None, "picture_rate": 29.0, "freezes": 2}
    assert "was not measured" in noticed(["a"], [[unmeasured]])
    assert "would see nothing" in noticed(["a"], [[{"error": "x", "glass_to_glass_p95_s": None}]])


def test_few_runs_and_runs_that_scatter_tell_nothing() -> None:
    fine, late = _entries(0.08, 0, 30), _entries(0.3, 0, 29.9)
    scattered = [one | {"freezes": 10 * (at % 5 == 0)} for at, one in enumerate(fine)]
    for said in (noticed(["a", "b"], [fine[:3], late[:3]]), noticed(["a", "b"], [fine, scattered])):
        assert said.startswith("The runs cannot tell whether a person on the call would notice a difference")
        assert "; b is up to" in said


@pytest.mark.parametrize(("contenders", "replications"), [(2, 6), (3, 10), (4, 20)])
def test_of_equal_calls_a_difference_is_seldom_told(contenders: int, replications: int) -> None:
    """Latencies with long tails, freezes in bursts, rates that have a ceiling: as calls under loss have them."""
    dice = np.random.default_rng(7)
    told = 0
    for _ in range(REPEATED):
        groups = [
            [
                {"error": None, "glass_to_glass_p95_s": late, "freezes": float(froze), "picture_rate": rate}
                for late, froze, rate in zip(
                    0.2 * dice.lognormal(sigma=0.8, size=replications),
                    dice.negative_binomial(0.5, 0.1, replications),
                    30 - dice.exponential(6, replications).clip(max=29),
                    strict=True,
                )
            ]
            for _ in range(contenders)
        ]
        told += "would notice that" in noticed([str(at) for at in range(contenders)], groups)
    assert told <= binom.ppf(0.9999, REPEATED, 0.05)


def test_a_difference_that_is_there_is_told() -> None:
    dice = np.random.default_rng(8)

    def of(median_s: float) -> list[dict[str, Any]]:
        late = median_s * dice.lognormal(sigma=0.3, size=10)
        return [one | {"glass_to_glass_p95_s": value} for one, value in zip(_entries(1, 0, 30), late, strict=True)]

    told = sum("b is up to" in noticed(["a", "b"], [of(0.1), of(0.3)]) for _ in range(200))
    assert told > 190


def test_calls_are_judged_by_their_latency(haltere: Haltere) -> None:
    done = haltere("compare", "rtp/gcc", "rtp/nada", "rtp/scream", *SHORT)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    told = next(
        at for at, line in enumerate(lines) if line.startswith(("A person on the call", "The runs cannot tell"))
    )
    assert "latency from glass to glass, 95th percentile" in " ".join(lines[told:])
    assert "calls of 8s" in lines[0]
    assert "https" not in lines[0]


def test_a_production_stack_beside_the_model_needs_no_option(haltere: Haltere) -> None:
    done = haltere("compare", "rtp/gcc", "rtp@str0m/gcc", "rtp/scream", *SHORT)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].endswith("2 replications; fidelity stack")
    assert any(line.startswith(("A person on the call", "The runs cannot tell")) for line in lines)
    what = Comparison(size="50kB", replications=2)
    assert what.suited(["tcp/cubic", "quic@quinn/cubic"]).fidelity == "stack"
    assert what.suited(["quic@model/cubic", "tcp/cubic"]).fidelity == "model"
    assert Comparison(fidelity="linux").suited(["tcp@apache+wget2/cubic"]).fidelity == "linux"
    with pytest.raises(InputError, match='choose fidelity "stack"'):
        package.compare(["quic/cubic", "quic@quinn/cubic"], size="50kB", replications=2)


def test_calls_over_quic_stand_beside_those_over_udp(haltere: Haltere) -> None:
    ways = ["rtp/gcc", "roq/gcc", "roq/gcc+streams=frame", "roq/gcc+streams=group+quic=bbr", "roq/gcc+quic=none"]
    done = haltere("compare", *ways, *SHORT, "--loss", "1%")
    assert done.returncode == 0, done.stderr
    words = done.stdout.split()
    assert all(way in words for way in ways), done.stdout
    stack = haltere("compare", "roq/gcc", "roq@quinn/gcc", "roq@noq/nada+streams=frame", *SHORT, "--loss", "1%")
    assert stack.returncode == 0, stack.stderr
    assert stack.stdout.splitlines()[0].endswith("fidelity stack")
    for wrong, hint in [
        ("rtp/gcc+streams=frame", "is for roq"),
        ("roq/gcc+streams=frames", "one of frame, group"),
        ("roq/gcc+quic=renew", "one of newreno, cubic"),
        ("roq@quiche/gcc", "there are model, quinn, noq"),
        ("roq@quinn/gcc+quic=bbr", "add +haltere"),
        ("roq@quinn/scream_l4s", "write roq/scream_l4s"),
        ("roq/gcc+haltere", "write roq@quinn/gcc"),
        ("roq/gcc+hystart", "roq knows quic, streams"),
    ]:
        refused = haltere("compare", wrong, *SHORT)
        assert refused.returncode != 0
        assert hint in " ".join(refused.stderr.split()), refused.stderr


def test_entries_of_calls_have_their_columns(haltere: Haltere) -> None:
    done = haltere("compare", "rtp/nada", *SHORT, "--json")
    for entry in json.loads(done.stdout):
        assert entry["completion_s"] is None
        assert entry["error"] is None
        assert 0.9 * 7 * 30 < entry["frames_shown"] <= entry["frames_sent"]
        assert 0.02 < entry["glass_to_glass_p95_s"] < 1


def test_another_metric_may_decide(haltere: Haltere) -> None:
    done = haltere("compare", "rtp/gcc", "rtp/nada", *SHORT, "--metric", "picture_rate")
    assert "picture rate" in done.stdout
    none = haltere("compare", "rtp/gcc", "rtp/nada", *SHORT, "--metric", "freezes")
    assert "no winner: all have the same freezes (rtp/gcc 0, rtp/nada 0)" in " ".join(none.stdout.split())
    some = haltere("compare", "rtp/gcc", "rtp/nada", *SHORT, "--loss", "30%", "--metric", "frozen_time")
    assert "time frozen" in some.stdout
    wrong = haltere("compare", "rtp/gcc", *SHORT, "--metric", "picturerate")
    assert wrong.returncode != 0
    assert "is no metric of flows" in wrong.stderr
    assert "picture_rate" in wrong.stderr


def test_from_python_the_verdict_is_that_of_calls() -> None:
    what: dict[str, Any] = {"duration": "8s", "replications": 2, "rate": "2Mbit/s"}
    found = package.compare(["rtp/gcc", "rtp/nada"], **what)
    assert found.verdict.startswith("The runs cannot tell whether a person on the call")
    assert found.leads["metric"].to_list() == ["glass_to_glass_p95"]


def test_calls_beside_objects_share(haltere: Haltere) -> None:
    with pytest.raises(InputError, match="no metric in common"):
        package.compare(["rtp/gcc", "tcp/cubic"], replications=1)
    done = haltere(
        "compare", "rtp/gcc", "tcp/cubic", "--share", "--duration", "14s", "--replications", "2", "--rate", "2Mbit/s"
    )
    assert done.returncode == 0, done.stderr
    assert "On this call the picture is" in done.stdout
    assert "goodput" in done.stdout


def test_a_call_has_no_size_and_others_have_one() -> None:
    flows = Conditions(share=False).data(["rtp/gcc"])
    assert flows["flows"] == [{"contender": "rtp/gcc"}]
    assert flows["duration"] == "60s"
    assert "duration" not in Conditions().data(["tcp/cubic"])


def test_real_hosts_have_no_calls(haltere: Haltere) -> None:
    done = haltere("compare", "rtp/gcc", "--fidelity", "linux", "--replications", "1")
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
