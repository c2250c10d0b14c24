"""From measured paths to scenarios: summaries, the paths that runs draw from them, and what is said of wrong ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

import lakes
from conftest import ROOT, Haltere
from haltere import Scenario, Study, core, run
from haltere.errors import InputError
from haltere.paths import summary
from haltere.paths.summary import MeasuredPath, Summary
from haltere.scenario.measured import STREAM
from internet import published

SCENARIO = """
[topology]
from = "paths"
paths = "ark-2011"
quantile = "median"

[topology.link]
rate = "10Mbit/s"
queue = "1bdp"

[[flows]]
contender = "quic/cubic"
size = "30kB"
"""
STUDY = """
[study]
name = "over-paths"
seed = 5
replications = 4

[experiments.base.factors]
period = ["skitter-2006", "ark-2011"]
quantile = ["random", "p95", 0.25]
protocol = ["tcp/cubic", "quic/cubic"]

[experiments.base.scenario.topology]
from = "paths"
paths = "{period}"
quantile = "{quantile}"
[experiments.base.scenario.topology.link]
rate = "10Mbit/s"
queue = "1bdp"
down = { loss = "1%" }
[[experiments.base.scenario.flows]]
contender = "{protocol}"
size = "30kB"
"""
MEDIAN_US = 167_857
"""The 500th of 1000 paths of ark-2011."""


def shipped(name: str) -> Summary:
    return summary.read(summary.shipped()[name])


def network(text: str) -> dict[str, Any]:
    return core.network(text)


def delays_ns(text: str, way: str) -> list[int]:
    return [link[way]["delay_ns"] for link in network(text)["links"]]


# What is shipped


@pytest.mark.parametrize("year", published.YEARS, ids=lambda year: year.name)
def test_the_shipped_files_are_what_the_script_makes(year: published.Published) -> None:
    assert summary.shipped()[year.name].read_text(encoding="utf-8") == published.reconstruct(year).text()


@pytest.mark.parametrize("year", published.YEARS, ids=lambda year: year.name)
def test_the_shipped_paths_have_the_published_numbers(year: published.Published) -> None:
    found = shipped(year.name)
    times, hops = [path.rtt_us for path in found.paths], [path.hops for path in found.paths]
    assert len(times) == 1000
    # A quantile of 1000 strata is off by at most a stratum; a stratum at the 95th percentile is 0.7 % wide.
    assert found.quantiles["rtt_us"]["median"] == pytest.approx(1000 * year.median_ms, rel=0.005)
    assert found.quantiles["rtt_us"]["p95"] == pytest.approx(1000 * year.p95_ms, rel=0.01)
    assert found.quantiles["hops"]["median"] == year.median_hops
    assert sum(n <= year.p80_hops for n in hops) / 1000 == pytest.approx(0.8, abs=0.002)
    # The coefficient of 1000 draws strays by some (1 - ρ²) ÷ √1000; rounding to hops takes a little more.
    assert spearmanr(times, hops).statistic == pytest.approx(year.spearman, abs=3 * (1 - year.spearman**2) / 1000**0.5)
    assert times == sorted(times)


def test_the_shipped_say_that_they_are_not_measured() -> None:
    assert list(summary.shipped()) == ["ark-2011", "skitter-2006"]
    for name in summary.shipped():
        found = shipped(name)
        assert found.origin == "reconstructed"
        assert found.about.startswith("Not measured paths")
        assert all(path.hop_rtt_us is None for path in found.paths)


# Hops


def test_hops_take_what_lies_between_them() -> None:
    # The second hop answers later than the third; the fourth is silent.
    path = MeasuredPath(rtt_us=100, hops=5, hop_rtt_us=(10, 50, 40, None, 100))
    assert path.hop_delays_ns() == [5_000, 15_000, 0, 15_000, 15_000]
    assert MeasuredPath(rtt_us=9, hops=3).hop_delays_ns() == [1_500, 1_500, 1_500]


@st.composite
def some_path(draw: st.DrawFn) -> MeasuredPath:
    hops = draw(st.integers(1, summary.MAX_HOPS))
    time = st.integers(0, 2_000_000)
    times = draw(st.none() | st.lists(st.none() | time, min_size=hops, max_size=hops).map(tuple))
    return MeasuredPath(rtt_us=draw(time), hops=hops, hop_rtt_us=times)


@given(some_path())
def test_hops_add_up_to_their_path(path: MeasuredPath) -> None:
    delays = path.hop_delays_ns()
    assert len(delays) == path.hops
    assert min(delays) >= 0
    assert 2 * sum(delays) == 1000 * path.rtt_us


def test_a_quantile_is_a_path_of_the_summary() -> None:
    paths = tuple(MeasuredPath(rtt_us=us, hops=1) for us in (10, 20, 30, 40))
    found = Summary("four", "", "measured", "", paths)
    shares = (0, 0.25, 0.2500001, 0.5, 0.75, 0.9, 1)
    assert [found.at(share).rtt_us for share in shares] == [10, 10, 20, 20, 30, 40, 40]


# Scenarios


def test_half_the_round_trip_goes_each_way() -> None:
    text = Scenario.from_toml(SCENARIO).concrete()
    assert delays_ns(text, "down") == delays_ns(text, "up") == [500 * MEDIAN_US]
    assert Scenario.from_toml(SCENARIO) == Scenario.from_toml(SCENARIO)
    assert run(Scenario.from_toml(SCENARIO)).flows["min_rtt_s"][0] >= MEDIAN_US / 1e6


def test_a_graph_has_a_link_a_hop_and_is_the_same_path() -> None:
    plain = Scenario.from_toml(SCENARIO)
    chain = plain.merged({"topology": {"kind": "graph"}})
    hops = shipped("ark-2011").at(0.5).hops
    found = network(chain.concrete())
    assert len(found["links"]) == hops > 1
    assert 2 * sum(delays_ns(chain.concrete(), "down")) == 1000 * MEDIAN_US
    assert found["links"][-1]["name"] == "bottleneck"
    # A queue of one BDP is one of the whole path's BDP, as it is on a single link.
    (alone,) = network(plain.concrete())["links"]
    assert found["links"][-1]["down"]["queue"] == alone["down"]["queue"]
    assert [link["down"]["rate_bps"] for link in found["links"][:-1]] == [None] * (hops - 1)
    assert run(chain).flows["completion_s"].to_list() == run(plain).flows["completion_s"].to_list()


@pytest.mark.parametrize("up_queue", ["2bdp", "drop-tail:limit=2bdp"])
def test_the_narrow_links_fields_stay_where_they_are(up_queue: str, tmp_path: Path) -> None:
    write_summary(tmp_path / "three.json", MeasuredPath(rtt_us=100_000, hops=3, hop_rtt_us=(10_000, None, 100_000)))
    up = f'up = {{ queue = "{up_queue}", rate = "1Mbit/s" }}'
    link = f'mtu = "1400B"\nmark = "20p"\n{up}\ndown = {{ loss = "2%" }}'
    text = SCENARIO.replace('"ark-2011"', '"three.json"\nkind = "graph"').replace('queue = "1bdp"', link)
    (tmp_path / "s.toml").write_text(text)
    first, middle, last = network(Scenario.load(tmp_path / "s.toml").concrete())["links"]
    assert (first["down"]["delay_ns"], middle["up"]["delay_ns"], last["down"]["delay_ns"]) == (
        5_000_000,
        22_500_000,
        22_500_000,
    )
    assert {way["mtu"] for link in (first, middle, last) for way in (link["down"], link["up"])} == {1400}
    queue = {"discipline": "drop-tail", "mark": "20p"}
    assert last["up"]["queue"] == queue | {"limit": f"{round(2 * 1e6 / 8 * 0.1 / 1400)}p"}
    assert last["down"]["queue"] == queue | {"limit": "1000p"}
    assert last["down"]["loss"]["model"] == "uniform"
    assert first["down"]["loss"] == middle["up"]["loss"] == {"model": "none"}


def test_treatments_of_a_replication_meet_the_same_rank() -> None:
    early, late = shipped("skitter-2006").paths, shipped("ark-2011").paths
    study = Study.parse(STUDY)
    drawn: dict[tuple[int, str], set[int]] = {}
    for one in study.runs(replications=50):
        if one.treatment.levels["quantile"] == "random" and one.path is not None:
            period = one.treatment.levels["period"]
            rank = (early if period == "skitter-2006" else late).index(one.path)
            drawn.setdefault((one.replication, period), set()).add(rank)
    ranks = [[drawn[number, period] for number in range(50)] for period in ("skitter-2006", "ark-2011")]
    assert ranks[0] == ranks[1]
    assert all(len(of_one) == 1 for of_one in ranks[0])
    assert len({rank for of_one in ranks[0] for rank in of_one}) > 40
    shares = [core.uniform(5, number, STREAM) for number in range(50)]
    assert [int(share * 1000) for share in shares] == [rank for of_one in ranks[0] for rank in of_one]


def test_the_seed_draws_others() -> None:
    random = Scenario.from_toml(SCENARIO.replace('"median"', '"random"'))
    assert len({random.concrete(seed, number) for seed in (1, 2) for number in range(5)}) == 10
    assert random.concrete(1, 3) == random.concrete(1, 3)
    assert Scenario.from_toml(SCENARIO).concrete(1, 0) == Scenario.from_toml(SCENARIO).concrete(2, 5)


@pytest.mark.parametrize("kind", ["point-to-point", "graph"])
@pytest.mark.parametrize("fidelity", ["stack", "linux"])
def test_every_fidelity_takes_it(kind: str, fidelity: Any) -> None:
    text = SCENARIO.replace('"median"', f'"random"\nkind = "{kind}"')
    data = Scenario.from_toml(text).data
    assert Scenario(data, fidelity=fidelity).concrete() == Scenario(data).concrete()


def test_results_tell_the_path_and_are_the_same_with_any_number_of_workers(tmp_path: Path) -> None:
    study = Study.parse(STUDY)
    one, two = (study.run(out=tmp_path / str(n), workers=n) for n in (1, 2))
    for table in ("runs", "flows", "links"):
        assert (one.path / f"{table}.parquet").read_bytes() == (two.path / f"{table}.parquet").read_bytes()
    assert one.runs.height == 2 * 3 * 2 * 4
    for row in one.runs.iter_rows(named=True):
        share = {"random": core.uniform(5, row["replication"], STREAM), "p95": 0.95, "0.25": 0.25}[row["quantile"]]
        path = shipped(row["period"]).at(share)
        assert (row["path_rtt_s"], row["path_hops"]) == (path.rtt_us / 1e6, path.hops)
    rtt = one.runs.join(one.flows, on="run_id").select(over=pl.col("min_rtt_s") / pl.col("path_rtt_s"))
    assert rtt["over"].is_between(1, 1.3).all()
    about = one.manifest["paths"]
    assert {name: told["origin"] for name, told in about.items()} == dict.fromkeys(summary.shipped(), "reconstructed")
    again = study.run(out=tmp_path / "1", replications=5)
    assert again.manifest["sessions"][-1]["runs"] == 12, "only the fifth replication was missing"


def test_a_run_over_no_measured_path_says_so(small_study: Path, tmp_path: Path) -> None:
    results = Study.load(small_study).run(out=tmp_path / "r", replications=1)
    assert results.runs["path_rtt_s"].null_count() == results.runs["path_hops"].null_count() == results.runs.height
    assert results.manifest["paths"] == {}


# What is refused


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"ark-2011"', '"ark-2012"', ["topology.paths", "ark-2011, skitter-2006", 'given: "ark-2012"']),
        ('"ark-2011"', f'"{"x" * 5000}"', ["topology.paths", "neither a shipped summary nor"]),
        ('"ark-2011"', '"\\u0000"', ["topology.paths", "neither a shipped summary nor"]),
        ('"ark-2011"', "5", ["topology.paths", "given: 5"]),
        ('"ark-2011"', '""', ["topology.paths", "neither a shipped summary nor"]),
        ('rate = "10', 'delay = "5ms"\nrate = "10', ["topology.link.delay", "measured path"]),
        ('queue = "1bdp"', 'up = { delay = "5ms" }', ["topology.link.up.delay", "leave it out"]),
        ('"median"', '"middle"', ["topology.quantile", "p95", 'given: "middle"']),
        ('"median"', "1.5", ["topology.quantile", "from 0 to 1"]),
        ('"median"', '"median"\nkind = "dumbbell"', ["topology.kind", "point-to-point"]),
        ('from = "paths"', 'from = "path"', ["topology.from", "paths"]),
        ('from = "paths"', "", ["topology", "missing field `from`"]),
        ('"10Mbit/s"', '"fast"', ["topology.link.rate", 'given: "fast"']),
        ('rate = "10', 'speed = 1\nrate = "10', ["topology.link.speed", "unknown field"]),
        ('"quic/cubic"', '"quic/cubic"\npair = 0\nserver = "x"', ["flows[0]"]),
    ],
)
def test_an_error_names_file_line_and_field(tmp_path: Path, old: str, new: str, said: list[str]) -> None:
    text = SCENARIO.replace(old, new, 1)
    (tmp_path / "s.toml").write_text(text)
    with pytest.raises(InputError) as caught:
        Scenario.load(tmp_path / "s.toml")
    for part in [r"s.toml:", *said]:
        assert part in str(caught.value)
    changed = [number for number, line in enumerate(text.splitlines(), 1) if line not in SCENARIO.splitlines()]
    place = caught.value.place
    assert place is not None
    assert place.line in changed or "missing" in said[-1], str(caught.value)


def test_the_level_of_a_factor_is_named() -> None:
    with pytest.raises(InputError, match=r"study.toml:\d+:\d+: experiments.base.factors.period\[1\]: \"ark-2012\" is"):
        Study.parse(STUDY.replace('"ark-2011"', '"ark-2012"'))
    with pytest.raises(InputError, match=r"experiments.base.factors.quantile\[1\]"):
        Study.parse(STUDY.replace('"p95"', '"p200"'))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"format": 1', '"format": 2', "newer haltere"),
        ('"format": 1', '"form": 1', "no summary"),
        ('"hops":2', '"hops":0', "paths[0].hops"),
        ('"hops":2', '"hops":3', "for each of the 3 hops"),
        ('"rtt_us":7', '"rtt_us":-7', "paths[0].rtt_us"),
        ('"rtt_us":7', '"rtt_us":900', "paths[1].rtt_us: is out of order"),
        ('"rtt_us":7', '"rtt_us":7.5', "paths[0].rtt_us"),
        ("{", "[", "is not JSON"),
    ],
)
def test_a_damaged_summary_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    file = tmp_path / "two.json"
    write_summary(
        file, MeasuredPath(rtt_us=7, hops=2, hop_rtt_us=(None, 7)), MeasuredPath(rtt_us=8, hops=1, hop_rtt_us=(8,))
    )
    file.write_text(file.read_text().replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        summary.read(file)
    assert said in str(caught.value)
    (tmp_path / "s.toml").write_text(SCENARIO.replace("ark-2011", "two.json"))
    with pytest.raises(InputError, match=r"s\.toml:4.*topology\.paths.*two\.json"):
        Scenario.load(tmp_path / "s.toml")


def write_summary(file: Path, *paths: MeasuredPath) -> Summary:
    made = Summary(file.stem, "made for a test", "measured", "", summary.ordered(paths))
    made.write(file)
    return made


# Lakes


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A lake of 60 clean traces over two days, and one of each kind that cannot be used."""
    parts = {}
    for day in (1, 2):
        rows: list[dict[str, Any]] = [
            {
                "key": day << 60 | (n * 0x9E3779B97F4A7C15 & ((1 << 60) - 1)),
                "class": "clean",
                "hops": 3,
                "rtt_us": 1000 * day + n,
                "hop_ttl": [1, 1, 3],
                "hop_rtt_us": [900, 800, 1000 * day + n],
            }
            for n in range(30)
        ]
        rows.append({**rows[0], "key": day, "class": "loop", "rtt_us": 1})
        rows.append({**rows[0], "key": day + 2, "rtt_us": None})
        parts["ark", f"2011-01-0{day}", "a"] = rows
    return lakes.write(tmp_path / "lake", parts)


def test_a_summary_is_drawn_from_a_lake(lake: Path) -> None:
    found = summary.from_lake(lake, paths=20, seed=3)
    assert len(found.paths) in (18, 19, 20), "a trace without a time may have been drawn"
    assert len(set(found.paths)) == len(found.paths), "none twice"
    assert (found.origin, found.sources, found.traces) == ("measured", ("ark",), 62)
    assert (found.first_day, found.last_day) == ("2011-01-01", "2011-01-02")
    assert found.paths[0].hop_rtt_us == (800, None, found.paths[0].rtt_us), "the soonest answer at a TTL"
    assert found == summary.from_lake(lake, paths=20, seed=3)
    assert found != summary.from_lake(lake, paths=20, seed=4)
    assert len(summary.from_lake(lake).paths) == 60


def test_paths_of_a_lake_are_as_long_as_they_were_measured(tmp_path: Path) -> None:
    rows = lakes.traces(400, seed=1)
    folder = lakes.write(tmp_path / "lake", {("ark", "2011-01-01", "a"): rows})
    found = summary.from_lake(folder, paths=400)
    clean = [row for row in rows if row["class"] == "clean"]
    assert sorted((path.rtt_us, path.hops) for path in found.paths) == sorted((r["rtt_us"], r["hops"]) for r in clean)
    for path in found.paths:
        assert 2 * sum(path.hop_delays_ns()) == 1000 * path.rtt_us


def test_the_command_writes_what_scenarios_read(lake: Path, haltere: Haltere, tmp_path: Path) -> None:
    said = haltere("paths", "summary", "lake", "--paths", "10", "--from", "2011-01-02", "--out", "studies/mine.json")
    assert said.returncode == 0, said.stderr
    found = summary.read(tmp_path / "studies" / "mine.json")
    assert found.quantiles["rtt_us"]["min"] >= 2000
    assert found.traces == 31
    assert json.loads((tmp_path / "studies" / "mine.json").read_text())["fields"]["rtt_us"]
    (tmp_path / "studies" / "s.toml").write_text(SCENARIO.replace("ark-2011", "mine.json"))
    assert Scenario.load(tmp_path / "studies" / "s.toml").measured is not None
    shown = json.loads(haltere("paths", "summaries", "studies/mine.json", "--json").stdout)
    assert [one["origin"] for one in shown] == ["measured"]


def test_real_traceroutes_become_a_scenario(haltere: Haltere, tmp_path: Path) -> None:
    fixture = ROOT / "tests" / "data" / "paths" / "2011"
    assert haltere("paths", "ingest", str(fixture), "--source", "ark", "--out", "lake").returncode == 0
    (tmp_path / "s.toml").write_text(SCENARIO.replace('"ark-2011"', '"lake"\nkind = "graph"'))
    scenario = Scenario.load(tmp_path / "s.toml")
    assert scenario.measured is not None
    path = scenario.measured.path(1, 0)
    assert path.hop_rtt_us is not None
    assert any(path.hop_rtt_us[:-1]), "hops between have answered"
    assert len(delays_ns(scenario.concrete(), "down")) == path.hops
    assert run(scenario).flows["min_rtt_s"][0] == pytest.approx(path.rtt_us / 1e6, rel=0.05)


def test_a_lake_can_stand_in_a_scenario(lake: Path, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SCENARIO.replace("ark-2011", "lake"))
    scenario = Scenario.load(tmp_path / "s.toml")
    assert delays_ns(scenario.concrete(), "up") == [500 * summary.from_lake(lake).at(0.5).rtt_us]
    assert scenario.merged({"topology": {"quantile": "max"}}).concrete() != scenario.concrete()


def test_a_damaged_lake_is_refused(lake: Path) -> None:
    (part, *_) = lake.glob("traces/*/*/a.parquet")
    part.write_bytes(part.read_bytes()[:-20])
    with pytest.raises(InputError, match="is damaged: its end is missing"):
        summary.from_lake(lake)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nolake", "--out", "x.json"], "lake.json"),
        (["lake", "--out", "x.json", "--from", "soon"], "--from"),
        (["lake", "--out", "x.json", "--from", "2011-01-02", "--to", "2011-01-01"], "--to"),
        (["lake", "--out", "x.json", "--paths", "0"], "--paths"),
        (["lake", "--out", "x.json", "--seed", "-1"], "--seed"),
        (["lake", "--out", "lake"], "--out"),
        (["lake", "--out", "x.json", "--source", "atlas"], "nothing of what was selected"),
    ],
)
def test_wrong_options_are_refused(lake: Path, haltere: Haltere, arguments: list[str], said: str) -> None:
    answer = haltere("paths", "summary", *arguments)
    assert answer.returncode != 0
    assert said in answer.stderr
    assert "Traceback" not in answer.stderr


# The command line


def test_the_shipped_are_listed_with_where_they_are_from(haltere: Haltere) -> None:
    told = haltere("paths", "summaries")
    assert told.returncode == 0, told.stderr
    for part in ("ark-2011", "skitter-2006", "reconstructed", "167.9", "121.9", "Not measured paths"):
        assert part in told.stdout
    assert "ark-2011, skitter-2006" in haltere("paths", "summaries", "nosuch").stderr


def test_the_schema_knows_it(haltere: Haltere) -> None:
    topology = json.loads(haltere("schema").stdout)["$defs"]["Measured"]
    assert {"from", "paths", "quantile", "kind", "link"} == topology["properties"].keys()
    assert topology["required"] == ["from", "paths"]


def test_run_trace_and_report_say_what_the_paths_are(haltere: Haltere, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY.replace("replications = 4", "replications = 2"))
    assert "reconstructed, not measured" in haltere("run", "study.toml", "--out", "r").stdout
    assert haltere("report", "r").returncode == 0
    page = (tmp_path / "r" / "report.html").read_text()
    assert "Not measured paths" in page
    assert "Measured paths: ark-2011" in page or "skitter-2006 · ark-2011" in page
    (tmp_path / "s.toml").write_text(SCENARIO.replace('"median"', '"random"'))
    assert haltere("trace", "s.toml", "--replication", "3", "--out", "t").returncode == 0
    path = json.loads((tmp_path / "t" / "run.json").read_text())["path"]
    assert path["rtt_us"] == shipped("ark-2011").at(core.uniform(1, 3, STREAM)).rtt_us
