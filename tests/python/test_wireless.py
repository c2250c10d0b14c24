"""Presets on the command line and from Python, and the page on wireless links."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

import haltere as package
from conftest import ROOT, Haltere
from haltere import Scenario, core, run
from haltere.adhoc.conditions import Conditions, PathConditions
from haltere.errors import InputError

PAGE = (ROOT / "docs" / "reference" / "wireless.md").read_text()


def test_presets_are_listed_and_shown_with_the_source_of_each_number(haltere: Haltere) -> None:
    known = json.loads(haltere("presets", "--json").stdout)
    assert known == core.presets()
    links = ["4g", "5g", "geo", "leo", "lorawan-backhaul", "dsl", "datacentre"]
    assert [one["name"] for one in known] == ["wifi", "ns3", *links]
    table = haltere("presets").stdout
    for one in known:
        assert one["name"] in table
        assert json.loads(haltere("presets", one["name"], "--json").stdout) == one
        shown = haltere("presets", one["name"]).stdout
        assert all(setting["field"] in shown and setting["value"] in shown for setting in one["settings"])
        assert all(setting["source"] for setting in one["settings"])
        assert f"| `{one['name']}` |" in PAGE, "the page lists each preset"
    refused = haltere("presets", "6g")
    assert refused.returncode == 2
    assert "lorawan-backhaul" in refused.stderr


def test_the_scenarios_of_the_page_run() -> None:
    blocks = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 5
    for block in blocks:
        assert run(Scenario.from_toml(block)).status == "ok", block


def test_the_commands_of_the_page_run(haltere: Haltere) -> None:
    commands = re.findall(r"^\$ haltere (compare .*)$", PAGE, re.MULTILINE)
    assert len(commands) >= 3
    for command in commands:
        done = haltere(*shlex.split(command), "--size", "20kB", "--replications", "1")
        assert done.returncode == 0, done.stderr


def test_what_stands_beside_a_preset_replaces_its_values(haltere: Haltere) -> None:
    path = PathConditions.parse("preset=dsl,queue=fq_codel,loss=1%")
    assert path.link() == {"preset": "dsl", "queue": "fq_codel", "down": {"loss": "1%"}}
    assert path.described() == "preset dsl, loss 1%, queue fq_codel"
    # A value that is the usual one of other links is given too.
    assert Conditions(preset="4g", rate="40Mbit/s").link() == {"preset": "4g", "rate": "40Mbit/s"}
    delays = {"down": {"delay": "5000000ns"}, "up": {"delay": "5000000ns"}}
    assert Conditions(preset="dsl", rtt="10ms").link() == {"preset": "dsl", **delays}
    refused = haltere("compare", "tcp/cubic", "--preset", "wifi", "--loss", "0%")
    assert refused.returncode == 2
    assert "--loss: is given besides the preset wifi, a cell" in refused.stderr
    unknown = haltere("compare", "tcp/cubic", "--preset", "6g")
    assert unknown.returncode == 2
    assert "--preset" in unknown.stderr and "lorawan-backhaul" in unknown.stderr


def test_a_preset_gives_the_same_numbers_as_the_one_path(haltere: Haltere) -> None:
    """Random streams are named after links, so that the one path must be the link."""
    common = ("compare", "tcp/cubic", "--size", "300kB", "--replications", "2", "--json")
    for condition in ("4g", "dsl"):
        one = haltere(*common, "--preset", condition)
        assert one.returncode == 0, one.stderr
        assert one.stdout == haltere(*common, "--path", condition).stdout
    given = haltere(*common, "--rate", "10Mbit/s", "--loss", "1%")
    assert given.stdout == haltere(*common, "--path", "rate=10Mbit/s,loss=1%").stdout


STUDY = """
[study]
name = "preset"
title = "A preset"
question = "Which numbers does it have?"
seed = 1
replications = 1

[experiments.base]
title = "Base"

[experiments.base.factors]
queue = ["100p", "fq_codel"]

[experiments.base.scenario.topology]
kind = "point-to-point"
link = { preset = "dsl", queue = "{queue}" }

[[experiments.base.scenario.flows]]
contender = "tcp/cubic"
size = "20kB"
"""


def test_a_manifest_states_the_numbers_of_presets(tmp_path: Path) -> None:
    folder = tmp_path / "preset"
    folder.mkdir()
    (folder / "study.toml").write_text(STUDY)
    results = package.Study.load(folder).run(out=tmp_path / "out")
    (link,) = results.manifest["experiments"]["base"]["links"]
    assert (link["name"], link["path"]) == ("link", "topology.link")
    assert link["down"][0] == "50Mbit/s, delay 22ms, queue drop-tail (limit 100p)"
    assert link["up"][1].startswith("10Mbit/s, delay 22ms, queue fq_codel (limit 10240p, ")


def test_a_preset_becomes_a_link_or_a_cell() -> None:
    assert Conditions(preset="geo").data(["tcp/cubic"])["topology"] == {
        "kind": "point-to-point",
        "link": {"preset": "geo"},
    }
    assert Conditions(preset="wifi").data(["tcp/cubic"])["topology"]["kind"] == "cell"
    path = PathConditions.parse("preset=4g,backup")
    assert path.link() == {"preset": "4g", "backup": True}
    assert path.described() == "preset 4g, in reserve"


def test_real_hosts_refuse_what_they_cannot_build() -> None:
    flows = [{"contender": "tcp/cubic", "size": "1kB"}]
    with pytest.raises(InputError, match="virtual time only"):
        Scenario({"topology": {"kind": "cell", "cell": {}}, "flows": flows}, fidelity="linux")
    for preset, what in (("4g", "a cellular base station"), ("leo", "satellites")):
        topology = {"kind": "point-to-point", "link": {"preset": preset}}
        with pytest.raises(InputError, match=what):
            Scenario({"topology": topology, "flows": flows}, fidelity="linux")


def test_cells_have_a_table_of_their_own() -> None:
    flows = [{"contender": "tcp/cubic", "size": "100kB", "pairs": "all"}]
    made = package.run(Scenario({"topology": {"kind": "cell", "cell": {"stations": 3}}, "flows": flows}))
    assert made.cells["stations"].to_list() == [3]
    assert made.links.filter(link="station 2").height == 2


def test_a_preset_is_a_path_under_each_of_its_names(haltere: Haltere) -> None:
    for name in ("lte", "starlink", "dsl", "wifi", "datacentre", "geo"):
        done = haltere(
            "compare", "tcp/cubic", "--path", name, "--size", "20kB", "--replications", "1", "--json", "--app", "raw"
        )
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)[0]["completion_s"] > 0
    two = Conditions(paths=[PathConditions.parse("lte"), PathConditions.parse("starlink,backup")]).data(["mptcp/lia"])
    assert two["topology"]["paths"] == [{"preset": "lte"}, {"preset": "starlink", "backup": True}]
    refused = haltere("compare", "mptcp/lia", "--path", "wifi", "--path", "lte")
    assert refused.returncode == 2
    assert "is a cell" in refused.stderr


def test_a_preset_becomes_a_file_that_can_be_changed(haltere: Haltere, tmp_path: Path) -> None:
    for one in core.presets():
        text = haltere("presets", one["name"], "--toml").stdout
        assert all(setting["source"] in text for setting in one["settings"])
        (tmp_path / "same.toml").write_text(text)
        told = [
            json.loads(
                haltere(
                    "compare", "quic/cubic", "--path", path, "--size", "30kB", "--replications", "2", "--json"
                ).stdout
            )
            for path in ("same.toml", one["name"])
        ]
        assert told[0] == told[1], one["name"]
    text = haltere("presets", "dsl", "--toml").stdout.replace('"10Mbit/s"', '"10Mb"')
    (tmp_path / "mine.toml").write_text(text)
    refused = haltere("compare", "tcp/cubic", "--path", "mine.toml")
    assert refused.returncode == 2
    line = next(number for number, one in enumerate(text.splitlines(), 1) if one.startswith("up.rate"))
    assert f"mine.toml:{line}" in refused.stderr
    assert "10Mb" in refused.stderr
    (tmp_path / "other.toml").write_text("rate = 1\n")
    assert "[link] or [cell]" in haltere("compare", "tcp/cubic", "--path", "other.toml").stderr
