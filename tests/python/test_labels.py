"""Flows keep their names: metrics ask for flows by label and direction, and nothing averages those that differ."""

from __future__ import annotations

import polars as pl
import pytest

import haltere
from haltere import Scenario
from haltere.figures import kinds
from haltere.metrics import METRICS, Metric
from haltere.metrics.tables import DifferentFlowsError, Tables
from haltere.report import treatments
from haltere.results.tables import fairness

GOODPUT = METRICS["goodput"]


def tables(flows: list[tuple[str, str, float]]) -> Tables:
    """Two runs with the same flows: label, direction and goodput in Mbit/s; in the second each has twice as much."""
    runs = pl.DataFrame({"run_id": ["a", "b"], "experiment": ["base"] * 2, "replication": [0, 1], "status": ["ok"] * 2})
    rows = [
        (name, label, way, 1e6 * times * value) for name, times in (("a", 1), ("b", 2)) for label, way, value in flows
    ]
    columns = ["run_id", "label", "direction", "goodput_bps"]
    return Tables(runs, pl.DataFrame(rows, schema=columns, orient="row"), {"base": {}})


def values(found: Tables, metric: Metric) -> list[float]:
    return found.values("base", metric)["value"].to_list()


def test_flows_of_one_label_are_averaged_and_those_of_several_are_not() -> None:
    assert values(tables([("prague", "down", 1.0), ("prague", "down", 3.0)]), GOODPUT) == [2.0, 4.0]
    two = tables([("prague", "down", 1.0), ("cubic", "down", 3.0)])
    with pytest.raises(DifferentFlowsError, match="cubic, prague"):
        values(two, GOODPUT)
    assert values(two, GOODPUT.of("prague")) == [1.0, 2.0]
    assert values(two, GOODPUT.of("all")) == [2.0, 4.0]
    assert values(two, GOODPUT.of("vegas")) == []


def test_flows_of_one_label_in_both_directions_are_not_averaged_either() -> None:
    both = tables([("bulk", "down", 1.0), ("bulk", "up", 3.0)])
    with pytest.raises(DifferentFlowsError):
        values(both, GOODPUT)
    assert values(both, GOODPUT.of(direction="up")) == [3.0, 6.0]
    assert [(part.flow, part.direction) for part in both.parted(GOODPUT)] == [("bulk", "down"), ("bulk", "up")]


def test_expressions_are_of_the_flows_that_are_asked_for() -> None:
    two = tables([("prague", "down", 1.0), ("cubic", "down", 3.0)])
    own = Metric("own", "Own", "", "expression", "goodput * 2 + goodput_bps / 1000000")
    assert values(two, own.of("cubic")) == [9.0, 18.0]
    with pytest.raises(DifferentFlowsError):
        values(two, own)


def test_tables_list_a_metric_for_each_kind_of_flows_where_they_differ() -> None:
    two = tables([("prague", "down", 1.0), ("cubic", "down", 3.0)])
    assert [part.label for part in two.parted(GOODPUT)] == ["Goodput (cubic)", "Goodput (prague)"]
    assert two.parted(METRICS["fairness"]) == [METRICS["fairness"]]
    assert tables([("prague", "down", 1.0)]).parted(GOODPUT) == [GOODPUT]


def test_no_treatment_is_lost_where_some_have_flows_both_ways() -> None:
    """A label that is derived says the direction only in runs with both."""
    ways = {"down": [("gcc", "down")], "up": [("gcc", "up")], "both": [("gcc down", "down"), ("gcc up", "up")]}
    runs = [(f"{way}{at}", "base", treatment, way, at, "ok") for treatment, way in enumerate(ways) for at in range(3)]
    columns = ["run_id", "experiment", "treatment", "way", "replication", "status"]
    flows = [
        (run, label, direction, 1e6 * (treatment + 1))
        for run, _, treatment, way, *_ in runs
        for label, direction in ways[way]
    ]
    found = Tables(
        pl.DataFrame(runs, schema=columns, orient="row"),
        pl.DataFrame(flows, schema=["run_id", "label", "direction", "goodput_bps"], orient="row"),
        {"base": {"way": list(ways)}},
    )
    (table,) = treatments.tables(found, kinds.model().model_validate({}), {"experiments": {"base": {}}})
    at = [head for head, *_ in table.factors].index("flow") + 1 + table.metrics.index(GOODPUT)
    assert [(row[0].text, row[1].text, row[at].text) for row in table.rows] == [
        ("down", "gcc down", "1.00"),
        ("up", "gcc up", "2.00"),
        ("both", "gcc down", "3.00"),
        ("both", "gcc up", "3.00"),
    ]


def test_fairness_is_within_a_direction() -> None:
    rows = [{"direction": way, "throughput_bps": rate} for way, rate in (("down", 1.0), ("down", 1.0), ("up", 9.0))]
    found = fairness(rows)
    assert (found["jain"], found["jain_up"]) == (1.0, None)
    assert found["jain_both"] == pytest.approx(121 / (3 * 83))
    assert fairness(rows[:2]) == {"jain": 1.0}
    assert fairness([{**row, "throughput_bps": 0.0} for row in rows[:2]]) == {"jain": None}


def test_a_flow_has_its_own_label_or_that_of_its_contender_and_direction() -> None:
    link = {"rate": "10Mbit/s", "delay": "5ms"}
    flows = [
        {"contender": "tcp/cubic", "size": "10kB"},
        {"contender": "tcp/cubic", "size": "10kB", "direction": "up"},
        {"contender": "tcp/bbr", "size": "10kB", "label": "mine"},
    ]
    made = haltere.run(Scenario({"topology": {"kind": "point-to-point", "link": link}, "flows": flows}))
    assert made.flows["label"].to_list() == ["tcp/cubic down", "tcp/cubic up", "mine"]
