"""Claims that the studies of agreement share, and those of `agreement-queues`, on worlds whose truth is known."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from haltere import Study, claims
from haltere.claims import Outcome
from haltere.claims.agreement import Sides, log_ratio, quantile, side_by_side, within, worst
from haltere.claims.loading import load
from haltere.metrics.tables import Tables
from haltere.rig.disciplines import DISCIPLINES

STUDY = Path(__file__).parents[2] / "studies" / "agreement-queues"
LOADED = load(STUDY)
CLAIMS, ANSWER = LOADED.claims, LOADED.answer
FACTORS = ("discipline", "rate", "rtt", "limit", "flows", "ecn")
LEVELS: dict[str, list[str]] = {name: [] for name in FACTORS}
CONFIRMED, CONTRADICTED, UNDECIDED = Outcome.CONFIRMED, Outcome.CONTRADICTED, Outcome.UNDECIDED
SIDES = Sides("fidelity", "model", "linux")

Draw = Callable[[np.random.Generator, int], NDArray[np.float64]]


def normal(spread: float, shift: float = 0.0) -> Draw:
    return lambda dice, count: dice.normal(shift, spread, count)


def at_the_bounds(median: float, largest: float) -> Draw:
    """Log ratios whose median size and whose 90th percentile are these."""

    def draw(dice: np.random.Generator, count: int) -> NDArray[np.float64]:
        sizes = np.interp(dice.uniform(size=count), [0, 0.5, 0.9, 1], [0, median, largest, 2 * largest])
        drawn: NDArray[np.float64] = sizes * dice.choice([-1, 1], count)
        return drawn

    return draw


DELAY, GOODPUT, DROPS = normal(0.02), normal(0.003), normal(0.05)


def world(
    delay: Draw = DELAY,
    goodput: Draw = GOODPUT,
    drops: Draw = DROPS,
    *,
    seed: int = 1,
    points: int = 60,
    fails: bool = False,
) -> Tables:
    """Results in which the model differs from the kernel by these log ratios."""
    dice = np.random.default_rng(seed)
    names = [(name, point) for name in ("codel", "pie") for point in range(points)]
    count = len(names)
    ratios = {"delay": delay(dice, count), "goodput": goodput(dice, count), "drops": drops(dice, count)}
    runs, flows = [], []
    for index, (name, point) in enumerate(names):
        for side in ("model", "linux"):
            factor = {what: np.exp(values[index]) if side == "model" else 1.0 for what, values in ratios.items()}
            levels = {"discipline": name, "rate": f"{1 + point}Mbit/s", "rtt": f"{5 + point}ms", "limit": "100p"}
            run_id = f"{side} {index}"
            runs.append(
                {"run_id": run_id, "experiment": "packets", "treatment": index, "fidelity": side, "replication": 0}
                | levels
                | {"flows": "2", "ecn": ("off", "on")[point % 2]}
                | {"status": "failed" if fails and side == "linux" and point % 3 == 0 else "ok"}
                | {"bottleneck_mean_queueing_delay_s": 0.02 * factor["delay"]}
                | {"bottleneck_dropped_queue": 100.0, "bottleneck_dropped_early": 1100 * factor["drops"] - 100}
                | {"bottleneck_marked_packets": 400 * factor["drops"]}
            )
            flows += [{"run_id": run_id, "goodput_bps": 1e6 * factor["goodput"]} for _ in range(2)]
    return Tables(pl.DataFrame(runs), pl.DataFrame(flows), {"packets": LEVELS})


def verdict(name: str, tables: Tables) -> Outcome:
    return next(one for one in CLAIMS if one.name == name).verdict(tables).outcome


@pytest.mark.parametrize(
    ("name", "expected", "tables"),
    [
        ("queueing", CONFIRMED, world()),
        ("queueing", CONTRADICTED, world(delay=normal(0.0, 0.1))),
        ("queueing", CONTRADICTED, world(delay=normal(0.2))),
        ("queueing", UNDECIDED, world(delay=at_the_bounds(0.05, 0.2))),
        ("goodput", CONFIRMED, world()),
        ("goodput", CONTRADICTED, world(goodput=normal(0.05))),
        ("drops_and_marks", CONFIRMED, world()),
        ("drops_and_marks", CONTRADICTED, world(drops=normal(0.4))),
    ],
)
def test_claims_find_the_truth_of_a_known_world(name: str, expected: Outcome, tables: Tables) -> None:
    assert verdict(name, tables) == expected


def test_failed_runs_and_other_experiments_are_left_out() -> None:
    assert verdict("queueing", world(fails=True)) == CONFIRMED
    tables = world()
    elsewhere = Tables(tables.runs.with_columns(experiment=pl.lit("other")), tables.flows, {"other": LEVELS})
    assert {verdict(one.name, elsewhere) for one in CLAIMS} == {UNDECIDED}
    assert all(one.sentence.endswith(".") and one.source and one.rule for one in CLAIMS)
    assert ANSWER is not None and "120 treatments" in ANSWER.sentences(tables)[0]


def test_verdicts_at_the_bounds_are_seldom_wrong() -> None:
    """Where both quantiles lie on their bounds, either verdict is a false alarm: at most one in twenty is allowed, of
    each interval's two ends one in forty. Of 200 worlds that is 10, and 17 are more than chance gives once in 100."""
    draw, counts = at_the_bounds(0.05, 0.2), dict.fromkeys(Outcome, 0)
    for seed in range(200):
        values = draw(np.random.default_rng(seed), 300)
        parts = [within("", values, 0.5, 0.05), within("", values, 0.9, 0.2)]
        counts[claims.all_of(*parts).outcome] += 1
    assert counts[CONTRADICTED] <= 17, counts
    assert counts[CONFIRMED] <= 11, counts


def test_intervals_hold_the_true_quantile_as_often_as_they_say() -> None:
    draw, held = at_the_bounds(0.05, 0.2), 0
    for seed in range(200):
        _, low, high = quantile(draw(np.random.default_rng(1000 + seed), 300), 0.9)
        held += low <= 0.2 <= high
    assert held >= 180


def test_a_treatment_is_the_median_of_the_replications_that_ended_on_both_sides() -> None:
    rows = [
        {"run_id": f"{side} {n}", "experiment": "packets", "fidelity": side, "replication": n, "status": status}
        | {"discipline": "codel", "value": value}
        for side, n, value, status in [
            *(("model", n, 2.0 * n, "ok") for n in range(3)),
            *(("linux", n, 1.0 * n, "failed" if n == 0 else "ok") for n in range(3)),
        ]
    ]
    tables = Tables(pl.DataFrame(rows), pl.DataFrame({"run_id": []}), {"packets": {"discipline": ["codel"]}})
    frame = side_by_side(tables, "packets", "value", SIDES, flows=False)
    assert frame.select("first", "second").rows() == [(3.0, 1.5)]
    assert log_ratio(frame)[0] == pytest.approx(np.log(2))


def test_treatments_stay_in_order_so_that_an_interval_is_the_same_each_time() -> None:
    rates, sides = [f"{n}Mbit/s" for n in range(1, 201)], ("model", "linux")
    of_runs = [
        {"run_id": f"{rate} {side}", "experiment": "packets", "fidelity": side, "rate": rate, "replication": 0}
        for rate in rates
        for side in sides
    ]
    runs = pl.DataFrame([{**row, "status": "ok"} for row in of_runs])
    flows = pl.DataFrame([{"run_id": row["run_id"], "completion_s": 1.0 + n} for n, row in enumerate(of_runs)])
    tables = Tables(runs, flows.reverse(), {"packets": {"fidelity": list(sides), "rate": rates}})
    found = side_by_side(tables, "packets", "completion_s", Sides("fidelity", *sides), flows=True)
    assert found["rate"].to_list() == rates


def test_the_worst_treatments_are_named_with_their_factors() -> None:
    """The report of agreement-mqtt said `2, 5, true, 5.07Mbit/s` and left it to the reader what the numbers are."""
    times = {("model", "2Mbit/s"): 1.0, ("linux", "2Mbit/s"): 1.0, ("model", "8Mbit/s"): 1.0, ("linux", "8Mbit/s"): 2.0}
    of_runs = [
        {"run_id": f"{side} {rate}", "experiment": "packets", "fidelity": side, "rate": rate, "replication": 0}
        for side, rate in times
    ]
    runs = pl.DataFrame([{**row, "status": "ok"} for row in of_runs])
    flows = pl.DataFrame(
        [{"run_id": row["run_id"], "delivery_mean_s": time} for row, time in zip(of_runs, times.values(), strict=True)]
    )
    tables = Tables(runs, flows, {"packets": {"fidelity": ["model", "linux"], "rate": ["2Mbit/s", "8Mbit/s"]}})
    said = worst(tables, "packets", Sides("fidelity", "model", "linux"), 2, column="delivery_mean_s")
    assert said == "rate 8 Mbit/s: −0.69; rate 2 Mbit/s: 0.00"


def test_the_study_has_every_discipline_of_the_kernel_and_two_fidelities() -> None:
    # The kernel of this machine may be older than a discipline; the study's own fidelities stand in its header.
    study = Study.load(STUDY, fidelity=("model",))
    assert list(study.header.fidelity) == ["model", "linux"]
    queues = [treatment.scenario["topology"]["link"]["down"]["queue"] for treatment in study.treatments]
    assert {queue.partition(":")[0] for queue in queues} == set(DISCIPLINES) - {
        "pfifo",
        "bfifo",
        "pfifo_head_drop",
        "prio",
    }
    # A hundred points of every space, for each of the disciplines that it has.
    points = {name: len(study.select([name])) for name in ("packets", "bytes", "shapers")}
    assert points == {"packets": 900, "bytes": 200, "shapers": 200}
