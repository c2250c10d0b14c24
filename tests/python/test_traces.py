"""Recorded rates of links: what a file becomes in a scenario, and what is said of one that is no trace."""

from __future__ import annotations

from pathlib import Path

import pytest

from haltere import core, traces
from haltere.core import ScenarioProblem


def test_names_of_files_become_their_milliseconds(tmp_path: Path) -> None:
    (tmp_path / "LTE.down").write_text("1\n2\n10\n")
    rate = {"trace": "LTE.down"}
    scenario = {"topology": {"link": {"down": {"rate": rate}}, "links": [{"rate": rate}, {"rate": "1Mbit/s"}]}}
    inlined = traces.inline(scenario, tmp_path)
    assert inlined["topology"]["link"] == {"down": {"rate": {"trace": [1, 2, 10]}}}
    assert inlined["topology"]["links"] == [{"rate": {"trace": [1, 2, 10]}}, {"rate": "1Mbit/s"}]
    assert scenario["topology"]["links"][0] == {"rate": {"trace": "LTE.down"}}, "the scenario itself is not changed"
    assert core.link_config(inlined["topology"]["link"])["down"]["trace_ms"] == [1, 2, 10]


def test_what_is_no_trace_is_refused_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "wrong").write_text("1\nx\n")
    for name, hint in (("missing", "cannot be read"), ("wrong", "wrong line 2")):
        with pytest.raises(ScenarioProblem, match=hint) as caught:
            traces.inline({"topology": {"bottleneck": {"up": {"rate": {"trace": name}}}}}, tmp_path)
        assert caught.value.path == "topology.bottleneck.up.rate.trace"
