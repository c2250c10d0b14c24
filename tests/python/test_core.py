"""The seam to the extension module: what its stub promises, and what the tables take from its answers."""

from __future__ import annotations

import ast
import json

import pytest

from conftest import ROOT
from haltere import Scenario, _core, core, documents, run, trace
from haltere.results import columns

OF_CALLS = ("frames_", "picture_rate", "freezes", "frozen_", "glass_to_glass_", "rate_variation", "key_frames")
OF_FILMS = ("startup_", "stalls", "stalled_", "played_", "quality_switches", "chunks_played", "qoe_lin_")
RARE = ("concealed_", "dropped_lifetime", "dropped_tunnel", "dropped_breaker", "tripped_", *OF_CALLS, *OF_FILMS)
"""The beginnings of columns that results lack where nothing expires, is tunnelled, guarded, called or watched."""
QUICK = Scenario.point_to_point(
    ["tcp/cubic", "quic/bbr"], rate="10Mbit/s", down_delay="5ms", up_delay="5ms", size="50kB", loss="1%"
)


def test_the_stub_names_what_the_module_has() -> None:
    stub = ast.parse((ROOT / "python" / "haltere" / "_core.pyi").read_text())
    named = {node.name for node in stub.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    public = {name for name in dir(_core) if not name.startswith("_")}
    assert named == public


def test_the_tables_have_a_column_for_every_figure_of_a_result() -> None:
    result = json.loads(core.run(QUICK.merged({"rate_window": "10ms"}).concrete(), 1, 0))
    reached = {"convergence_s", "response_s"}
    assert set(result) == {"status", "error", "virtual_s", "events", "data_packets", "flows", "links"} | reached
    elsewhere = {name for name in columns.of("flow") if name.startswith(("radio_", "messages_", "delivery_", *RARE))}
    assert {key for flow in result["flows"] for key in flow} == set(columns.of("flow")) - elsewhere
    usual = {name for name in columns.of("link") if not name.startswith(RARE)}
    assert {key for link in result["links"] for key in link} == usual


def test_the_tables_have_a_column_for_every_figure_of_a_call() -> None:
    link = {"rate": "10Mbit/s", "delay": "5ms"}
    topology = {"kind": "point-to-point", "link": link}
    scenario = Scenario({"duration": "2s", "topology": topology, "flows": [{"contender": "rtp/nada"}]})
    (found,) = json.loads(core.run(scenario.concrete(), 1, 0))["flows"]
    assert {name for name in columns.of("flow") if name.startswith(OF_CALLS)} <= set(found)


def test_the_tables_have_a_column_for_every_figure_of_a_film() -> None:
    topology = {"kind": "point-to-point", "link": {"rate": "10Mbit/s", "delay": "5ms"}}
    flows = [{"contender": "tcp/cubic", "video": {"length": "8s"}}]
    (found,) = json.loads(core.run(Scenario({"topology": topology, "flows": flows}).concrete(), 1, 0))["flows"]
    assert {name for name in columns.of("flow") if name.startswith(OF_FILMS)} <= set(found)


def test_columns_of_what_is_rare_are_in_the_tables_where_it_is_there() -> None:
    link = {
        "rate": "10Mbit/s",
        "delay": "5ms",
        "queue": "9p",
        "tunnel": {},
        "breaker": {"interval": "100ms", "intervals": 1},
    }
    scenario = Scenario(
        {
            "topology": {"kind": "point-to-point", "link": link},
            "flows": [{"contender": "tcp/cubic+optimistic-acks", "app": "raw"}],
            "loads": [{"kind": "constant", "rate": "15Mbit/s", "size": "1kB", "start": "1s"}],
            "duration": "2s",
        }
    )
    made = run(scenario)
    assert made.flows["concealed_bytes"].item() > 0
    down = made.links.filter(direction="down")
    assert down["tripped_flows"].item() >= 1 and 0.1 <= down["tripped_s"].item() <= 2
    assert down["dropped_breaker"].item() > 0 and down["dropped_tunnel"].item() == 0


def test_a_cell_has_a_row_with_a_column_for_each_of_its_figures() -> None:
    flows = [{"contender": "tcp/cubic", "size": "100kB", "pairs": "all"}]
    cell = Scenario({"topology": {"kind": "cell", "cell": {"stations": 2}}, "flows": flows})
    made = run(cell, seed=1)
    carriers = {"down_used_ratio", "up_used_ratio", "down_efficiency", "up_efficiency"}
    assert {key for one in made.data["cells"] for key in one} == set(columns.of("cell")) - carriers
    assert made.cells["stations"].to_list() == [2]
    assert made.cells["frames"].item() >= made.links.filter(link="station 0")["delivered_packets"].sum()
    lte = run(Scenario({"topology": {"kind": "lte", "lte": {"users": 2}}, "flows": flows}), seed=1)
    assert {key for one in lte.data["cells"] for key in one} == set(columns.of("cell"))
    assert 0 < lte.cells["down_used_ratio"].item() <= 1 and 0 < lte.cells["down_efficiency"].item() <= 4.4


def test_the_tables_have_a_column_for_every_figure_of_messages() -> None:
    link = {"rate": "10Mbit/s", "delay": "5ms"}
    links = [{"from": "a", "to": "b", "link": link}, {"from": "b", "to": "c", "link": link}]
    mqtt = {"subscriber": "c", "messages": 2}
    flow = {"contender": "quic/cubic", "server": "b", "client": "a", "mqtt": mqtt}
    scenario = Scenario({"rate_window": "1s", "topology": {"kind": "graph", "links": links}, "flows": [flow]})
    (found,) = json.loads(core.run(scenario.concrete(), 1, 0))["flows"]
    assert set(found) == {name for name in columns.of("flow") if not name.startswith(("radio_", *RARE))}
    assert run(scenario).flows["messages_delivered"].to_list() == [2]


def test_a_run_is_a_pure_function_of_its_arguments() -> None:
    first = run(QUICK, seed=3, replication=1)
    assert run(QUICK, seed=3, replication=1).data == first.data
    assert run(QUICK, seed=4, replication=1).data != first.data
    assert trace(QUICK, seed=3, replication=1).result.data == first.data
    assert (first.status, first.error, first.flows.height) == ("ok", None, 2)
    assert first.links["delivered_packets"].sum() > 0


def test_lines_and_columns_of_values() -> None:
    text = '[topology]\nkind = "dumbbell"\nlink = { rate = "1Mbit/s",  down = { loss = "1%" } }\n'
    text += '[[flows]]\n[[flows]]\n  size = "1kB"\n'
    assert core.locate(text, "topology.kind") == (2, 8)
    assert core.locate(text, "topology.link.down.loss")[0] == 3
    assert core.locate(text, "flows[1].size") == (6, 10)
    assert core.locate(text, "flows[1].start")[0] in (5, 6)
    assert core.locate("", "x") == (1, 1)


@pytest.mark.parametrize("path", ["flows[0].contender", "a.b[1][2].c", "x", ""])
def test_paths_split_and_join(path: str) -> None:
    assert documents.join(documents.steps(path)) == path
