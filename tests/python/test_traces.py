"""Recorded rates of links: what a file becomes in a scenario, and what is said of one that is no trace."""

from __future__ import annotations

from pathlib import Path

import pytest

from haltere import Scenario, core, run
from haltere.core import ScenarioProblem
from haltere.scenario import files


def test_names_of_files_become_their_milliseconds(tmp_path: Path) -> None:
    (tmp_path / "LTE.down").write_text("1\n2\n10\n")
    rate = {"trace": "LTE.down"}
    read = {"trace": [1, 2, 10]}
    links = [{"from": "a", "to": "b", "link": {"rate": rate}}, {"from": "b", "to": "c", "link": {"rate": "1Mbit/s"}}]
    paths = [{"rate": rate}, {"up": {"rate": rate}}]
    scenario = {"topology": {"link": {"down": {"rate": rate}}, "links": links, "paths": paths}}
    inlined = files.inline(scenario, tmp_path)
    assert inlined["topology"]["link"] == {"down": {"rate": read}}
    assert inlined["topology"]["links"] == [{**links[0], "link": {"rate": read}}, links[1]]
    assert inlined["topology"]["paths"] == [{"rate": read}, {"up": {"rate": read}}]
    assert scenario["topology"]["links"][0]["link"] == {"rate": rate}, "the scenario itself is not changed"
    assert core.link_config(inlined["topology"]["link"])["down"]["trace_ms"] == [1, 2, 10]


def test_what_is_no_trace_is_refused_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "wrong").write_text("1\nx\n")
    for name, hint in (("missing", "cannot be read"), ("wrong", "wrong line 2")):
        with pytest.raises(ScenarioProblem, match=hint) as caught:
            files.inline({"topology": {"bottleneck": {"up": {"rate": {"trace": name}}}}}, tmp_path)
        assert caught.value.path == "topology.bottleneck.up.rate.trace"


@pytest.mark.parametrize(
    "topology",
    [
        {"kind": "graph", "links": [{"from": "a", "to": "b", "link": {"rate": {"trace": "rate"}}}]},
        {"kind": "multipath", "paths": [{"rate": {"trace": "rate"}}, {"rate": "1Mbit/s"}]},
    ],
)
def test_scenarios_of_several_links_run_over_traces(tmp_path: Path, topology: dict[str, object]) -> None:
    (tmp_path / "rate").write_text("1\n2\n3\n")
    ends = {"server": "a", "client": "b"} if topology["kind"] == "graph" else {}
    flow = {"contender": "tcp/cubic", "size": "100kB", "app": "raw", **ends}
    scenario = files.inline({"topology": topology, "flows": [flow]}, tmp_path)
    result = run(Scenario(scenario))
    assert result.status == "ok"
