"""The graph in use: its links, and the K shortest paths in it, against plain models and networkx."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import polars as pl
import pytest
from mmdb_writer import MMDBWriter
from netaddr import IPSet

import lakes
from conftest import Haltere
from haltere.errors import InputError
from haltere.paths.geography import Locator
from haltere.paths.graph import COLUMNS, PartialView, partial_view, routes

Row = Mapping[str, Any]


def view_of(rows: Iterable[Row], **options: Any) -> PartialView:
    return partial_view(
        pl.DataFrame([{name: row[name] for name in COLUMNS} for row in rows], schema=COLUMNS), **options
    )


def trace(*answers: tuple[int, int, int | None], source: int | None = None) -> Row:
    """A trace of answers (TTL, node, microseconds)."""
    return {
        "src": None if source is None else lakes.address(source),
        "hop_ttl": [ttl for ttl, _, _ in answers],
        "hop_addr": [lakes.address(node) for _, node, _ in answers],
        "hop_rtt_us": [rtt for _, _, rtt in answers],
    }


def plain(rows: Iterable[Row], gaps: str) -> dict[tuple[bytes, bytes], tuple[int, int | None, int]]:
    """The links by their definition: hops, delay, traces."""
    seen: dict[tuple[bytes, bytes], list[tuple[int, int | None]]] = {}
    for row in rows:
        path: dict[int, tuple[bytes, int | None]] = {} if row["src"] is None else {0: (row["src"], 0)}
        for ttl, address, rtt in zip(row["hop_ttl"], row["hop_addr"], row["hop_rtt_us"], strict=True):
            path.setdefault(ttl, (address, rtt))
        for near, far in itertools.pairwise(sorted(path)):
            (a, t), (b, u) = path[near], path[far]
            if a != b and (gaps == "span" or far - near == 1):
                later = None if t is None or u is None else u - t
                seen.setdefault((min(a, b), max(a, b)), []).append((far - near, later))
    links = {}
    for ends, of in seen.items():
        known = sorted(later for _, later in of if later is not None)
        middle = (known[(len(known) - 1) // 2] + known[len(known) // 2]) // 2 if known else None
        links[ends] = (min(hops for hops, _ in of), None if middle is None else max(1, middle), len(of))
    return links


def shown(view: PartialView) -> dict[tuple[bytes, bytes], tuple[int, int | None, int]]:
    address = view.nodes["address"].to_list()
    return {(address[a], address[b]): (hops, delay, traces) for a, b, hops, delay, traces in view.links.iter_rows()}


@pytest.mark.parametrize("gaps", ["span", "cut"])
def test_a_partial_view_is_what_its_definition_says(gaps: Any) -> None:
    rows = [row for row in lakes.traces(400, 5) if row["class"] == "clean"]
    rng = np.random.default_rng(1)
    for row in rows[::3]:
        row["hop_rtt_us"][int(rng.integers(len(row["hop_rtt_us"])))] = None
    for row in rows[::5]:
        row["src"] = None
    view = view_of(rows, gaps=gaps)
    assert shown(view) == plain(rows, gaps)
    answered = {row["hop_addr"][row["hop_ttl"].index(ttl)] for row in rows for ttl in row["hop_ttl"]}
    assert view.nodes["address"].to_list() == sorted(answered | {row["src"] for row in rows if row["src"]})
    assert view.nodes["node"].to_list() == list(range(view.nodes.height))
    monitors = view.nodes.filter("monitor")["address"].to_list()
    assert monitors == [bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2])]
    assert view.traces == len(rows)
    assert (view.links["hops"].max() == 1) == (gaps == "cut")


def test_components_are_networkx_components() -> None:
    rows = [row for row in lakes.traces(60, 6, routers=4000) if row["class"] == "clean"]
    view = view_of(rows, gaps="cut")
    graph = nx.Graph(view.links.select("a", "b").rows())
    graph.add_nodes_from(range(view.nodes.height))
    assert view.components == nx.number_connected_components(graph) > 3
    by_size = sorted((len(c) for c in nx.connected_components(graph)), reverse=True)
    assert view.nodes["component"].value_counts().sort("component")["count"].to_list() == by_size


def test_the_order_of_traces_changes_nothing() -> None:
    rows = [row for row in lakes.traces(300, 7) if row["class"] == "clean"]
    one, other = view_of(rows), view_of(rows[::-1])
    assert one.nodes.equals(other.nodes)
    assert one.links.equals(other.links)
    asked: dict[str, Any] = {"sources": 3, "destinations": 40, "k": 4, "seed": 3}
    paths = routes(one, **asked, threads=1)
    assert paths.equals(routes(other, **asked, threads=3))
    assert not paths.equals(routes(one, **{**asked, "seed": 4}))
    assert not paths.drop("draw").equals(routes(one, **asked, draw=1).drop("draw"))


def test_gaps_delays_and_what_is_not_known() -> None:
    rows = [
        trace((1, 1, 100), (4, 2, 90), (4, 3, 500), source=0),
        trace((1, 1, None), (2, 5, 900), source=0),
        trace(),
        trace((3, 9, 50)),
    ]
    view = view_of(rows)
    assert view.links.rows() == [(0, 1, 1, 100, 2), (1, 2, 3, 1, 1), (1, 3, 1, None, 1)]
    assert (view.nodes.height, view.components, view.raised, view.traces) == (5, 2, 1, 4)
    found = routes(view, sources=4, destinations=9, k=2, seed=1)
    assert found.filter(source=0, destination=2).select("hops", "delay_us").rows() in ([], [(4, 101)])
    assert found.filter(source=0, destination=3).select("hops", "delay_us").rows() in ([], [(2, None)])


def levenshtein(a: Sequence[int], b: Sequence[int]) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a):
        corner, row[0] = i, i + 1
        for j, y in enumerate(b):
            corner, row[j + 1] = row[j + 1], min(corner + (x != y), row[j] + 1, row[j + 1] + 1)
    return row[-1]


def chain(links: Iterable[tuple[int, int]], rng: np.random.Generator) -> list[Row]:
    """Traces of a link each, of some delay."""
    return [trace((1, a, 10), (2, b, 10 + int(rng.integers(1, 5000)))) for a, b in links]


GRAPHS = {
    "random": lambda: nx.gnm_random_graph(60, 140, seed=4),
    "sparse": lambda: nx.connected_watts_strogatz_graph(60, 4, 0.1, seed=4),
    "AS-like": lambda: nx.random_internet_as_graph(150, seed=4),
    "tree": lambda: nx.random_labeled_tree(40, seed=4),
}


@pytest.mark.parametrize("cost", ["hops", "delay"])
@pytest.mark.parametrize("name", GRAPHS)
def test_paths_cost_what_networkx_finds(name: str, cost: Any) -> None:
    view = view_of(chain(GRAPHS[name]().edges(), np.random.default_rng(2)))
    graph = nx.Graph()
    for a, b, hops, delay, _ in view.links.iter_rows():
        graph.add_edge(a, b, hops=hops, delay=delay)
    found = routes(view, sources=3, destinations=12, k=7, seed=5, cost=cost)
    pairs = found.partition_by("source", "destination", as_dict=True)
    assert len(pairs) == 36
    for (source, destination), rows in pairs.items():
        first = nx.shortest_simple_paths(graph, source, destination, weight=cost)
        expected = [nx.path_weight(graph, path, cost) for path in itertools.islice(first, 7)]
        assert rows["hops" if cost == "hops" else "delay_us"].to_list() == expected
        assert rows["k"].to_list() == list(range(1, len(expected) + 1))


def test_differences_and_diversity() -> None:
    # Two ways from 0 to 3, of two and of three hops, and no other.
    view = view_of([trace((1, 0, 5), (2, 1, 15), (3, 3, 40)), trace((1, 0, 5), (2, 4, 6), (3, 5, 7), (4, 3, 108))])
    paths = [[0, 1, 3], [0, 4, 5, 3]]
    for draw in range(20):
        found = routes(view, sources=2, destinations=9, k=5, seed=1, draw=draw)
        address = {row["node"]: int.from_bytes(row["address"][1:]) for row in view.nodes.iter_rows(named=True)}
        ends = found.with_columns(pl.col("source", "destination").replace_strict(address))
        rows = ends.filter((pl.col("source") == 0) & (pl.col("destination") == 3))
        if rows.height:
            difference = levenshtein(*paths) / 4
            assert rows["difference"].to_list() == [None, difference]
            assert rows["diversity"].to_list() == [difference] * 2
            assert rows.select("hops", "delay_us").rows() == [(2, 35), (3, 103)]
            return
    pytest.fail("no draw had this pair")


def test_sources_may_be_monitors() -> None:
    view = view_of([row for row in lakes.traces(200, 8) if row["class"] == "clean"])
    found = routes(view, sources=5, destinations=30, k=1, seed=1, among="monitors")
    assert set(found["source"].unique()) == set(view.nodes.filter("monitor")["node"])
    assert not set(found["source"].unique()) & set(found["destination"].unique())
    with pytest.raises(InputError, match="no monitors"):
        routes(view_of([trace((1, 1, 1), (2, 2, 2))]), seed=1, among="monitors")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"sources": 0}, "sources"),
        ({"destinations": 0}, "destinations"),
        ({"k": 0}, "k"),
        ({"threads": -1}, "threads"),
        ({"among": "hosts"}, "among"),
    ],
)
def test_questions_that_cannot_be_asked_are_refused(change: dict[str, Any], field: str) -> None:
    view = view_of([trace((1, 1, 1), (2, 2, 2))])
    with pytest.raises(InputError) as refused:
        routes(view, **{"seed": 1, **change})
    assert refused.value.field == field


def test_rows_that_are_no_traces_are_refused() -> None:
    good = pl.DataFrame([trace((1, 1, 1), (2, 2, 2))], schema=COLUMNS)
    with pytest.raises(InputError, match="hop_ttl: is no column of traces"):
        partial_view(good.drop("hop_ttl"))
    with pytest.raises(InputError, match="hop_addr: is no column of traces"):
        partial_view(good.with_columns(hop_addr=pl.lit("10.0.0.1")))
    with pytest.raises(InputError, match="row 0: has lists of different lengths"):
        partial_view(good.with_columns(pl.col("hop_ttl").list.head(1)))
    with pytest.raises(InputError, match="without TTL or address"):
        partial_view(good.with_columns(pl.Series("hop_addr", [[b"\1\2\3\4", None]])))
    with pytest.raises(InputError, match="span or cut"):
        partial_view(good, gaps="bridge")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="the graph has no nodes"):
        routes(partial_view(good.clear()), seed=1)


def database(path: Path, places: Mapping[str, Any], **options: Any) -> Path:
    writer = MMDBWriter(database_type="Test-City", **options)
    for network, record in places.items():
        writer.insert_network(IPSet([network]), record)
    writer.to_db_file(str(path))
    return path


def place(latitude: float, longitude: float) -> dict[str, Any]:
    return {"location": {"latitude": latitude, "longitude": longitude}}


def test_addresses_are_located(tmp_path: Path) -> None:
    record = {**place(-22.25, -43.75), "continent": {"code": "SA"}, "country": {"iso_code": "BR"}}
    places = {
        "200.0.2.0/24": record,
        "200.0.3.0/24": {"continent": {"code": "SA"}},
        "200.0.4.0/24": place(95.0, 0.0),
        "2001:db8::/32": {**place(1.0, 2.0), "country": "not a record"},
    }
    path = database(tmp_path / "city.mmdb", places, ip_version=6, ipv4_compatible=True, float_type="f64")
    v6 = bytes.fromhex("20010db8") + bytes(12)
    asked = [bytes([200, 0, n, 1]) for n in (2, 3, 4)] + [bytes([10, 0, 0, 1]), v6, b"", None]
    locate = Locator(path)
    found = locate(pl.Series(asked, dtype=pl.Binary))
    assert found.rows() == [
        (-22.25, -43.75, "SA", "BR"),
        (None, None, "SA", None),
        (None, None, None, None),
        (None, None, None, None),
        (1.0, 2.0, None, None),
        (None, None, None, None),
        (None, None, None, None),
    ]
    locate.close()
    only_v4 = Locator(database(tmp_path / "four.mmdb", {"200.0.2.0/24": record}, ip_version=4, float_type="f64"))
    assert only_v4(pl.Series([v6, asked[0]])).rows() == [(None,) * 4, (-22.25, -43.75, "SA", "BR")]
    only_v4.close()


def test_what_is_no_database_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        Locator(tmp_path / "none.mmdb")
    for content in (b"", b"no database", b"\xab\xcd\xefMaxMind.com", b"\xab\xcd\xefMaxMind.com\xff\xff"):
        (tmp_path / "other").write_bytes(content)
        with pytest.raises(InputError, match="is no database of places"):
            Locator(tmp_path / "other")
    with pytest.raises(InputError, match="is no database of places"):
        Locator(tmp_path)


def test_paths_on_the_earth(tmp_path: Path) -> None:
    # Along the equator 0°, 10°, 30°, and a way round by 90° north; node 4 is nowhere, 5 is where 0 is.
    at = {0: place(0, 0), 1: place(0, 10), 2: place(0, 30), 3: place(90, 0), 5: place(0, 0)}
    networks = {f"10.0.0.{node}/32": record for node, record in at.items()}
    locate = Locator(database(tmp_path / "city.mmdb", networks, ip_version=4, float_type="f64"))
    rows = [trace((1, 0, 0), (2, 1, 9000), (3, 2, 66_716)), trace((1, 0, 0), (2, 3, 1), (3, 2, 200_000))]
    view = view_of([*rows, trace((1, 4, 1), (2, 0, 2)), trace((1, 5, 1), (2, 1, 2))])
    found = (
        pl.concat(routes(view, sources=2, destinations=9, k=2, seed=s, locate=locate) for s in range(30))
        .drop("draw")
        .unique()
    )
    locate.close()
    degree = np.pi / 180 * 6371.0088

    def path(a: int, b: int, k: int) -> dict[str, Any]:
        ends = pl.col("source").is_in([a, b]) & pl.col("destination").is_in([a, b])
        return found.filter(ends, k=k).row(0, named=True)

    straight = path(0, 2, 1)
    assert straight["hops"] == 2
    assert straight["path_km"] == pytest.approx(30 * degree)
    assert straight["dispersion"] == pytest.approx(0, abs=1e-12)
    assert straight["dispersion"] >= 0
    assert straight["least_delay_us"] == pytest.approx(2 * 30 * degree / (2 / 3 * 299_792.458) * 1e6)
    assert straight["delay_dispersion"] == pytest.approx(66_716 / straight["least_delay_us"])
    assert straight["located"] == 1
    by_the_pole = path(0, 2, 2)
    assert by_the_pole["path_km"] == pytest.approx(180 * degree)
    assert by_the_pole["dispersion"] == pytest.approx(5)
    from_nowhere = path(4, 1, 1)
    assert [from_nowhere[name] for name in ("direct_km", "dispersion", "delay_dispersion")] == [None] * 3
    assert from_nowhere["path_km"] == pytest.approx(10 * degree)
    assert from_nowhere["located"] == pytest.approx(2 / 3)
    home = path(0, 5, 1)
    assert (home["direct_km"], home["dispersion"], home["least_delay_us"], home["delay_dispersion"]) == (
        0,
        None,
        0,
        None,
    )
    assert not found.select(pl.col(pl.Float64).is_infinite().any()).row(0).count(True)
    unlocated = routes(view, sources=2, destinations=9, k=2, seed=1)
    assert unlocated["located"].null_count() == unlocated["dispersion"].null_count() == unlocated.height


def test_a_place_that_is_none_is_refused() -> None:
    def nowhere(addresses: pl.Series) -> pl.DataFrame:
        return pl.DataFrame({"latitude": [0.0] * len(addresses), "longitude": [200.0] * len(addresses)})

    with pytest.raises(ValueError, match="node 0 is at no place on earth"):
        routes(view_of([trace((1, 1, 1), (2, 2, 2))]), seed=1, locate=nowhere)


def test_whoever_waits_may_end_it() -> None:
    view = view_of([row for row in lakes.traces(300, 9) if row["class"] == "clean"])

    def stop(done: int, pairs: int) -> None:
        assert 0 <= done <= pairs
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        routes(view, sources=4, destinations=100, seed=1, on_progress=stop)


def test_the_command_tells_what_graphs_are_like(haltere: Haltere, tmp_path: Path) -> None:
    lake = lakes.write(tmp_path / "2011", {("ark", "2011-03-01", "x"): lakes.traces(900, 1)})
    locations = {f"10.{n}.0.0/16": place(10.0 * n, 20.0 * n) for n in range(3)}
    mmdb = database(tmp_path / "city.mmdb", locations, ip_version=4, float_type="f64")
    out = tmp_path / "routes.parquet"
    asked = ["--traces", "300", "--sources", "3", "--destinations", "50", "--k", "4", "--draws", "3"]
    done = haltere("paths", "graph", str(lake), *asked, "--mmdb", str(mmdb), "--out", str(out))
    assert done.returncode == 0, done.stderr
    for word in ("nodes", "links", "components", "3 draws", "Spearman", "geographic dispersion", "nodes located"):
        assert word in done.stdout
    again = haltere("paths", "graph", str(lake), *asked, "--threads", "1", "--mmdb", str(mmdb))
    assert again.stdout == done.stdout
    assert haltere("paths", "graph", str(lake), *asked, "--seed", "2").stdout != done.stdout
    assert "same traces" not in done.stderr
    assert "same traces" in haltere("paths", "graph", str(lake), *asked, "--traces", "5000", "--draws", "2").stderr
    found = pl.read_parquet(out)
    assert found["draw"].unique().sort().to_list() == [0, 1, 2]
    assert found["source"].dtype == pl.Binary
    assert found.select("draw", "source", "destination").n_unique() == 3 * 3 * 50
    hops = [found.filter(k=1, draw=draw)["hops"].median() for draw in range(3)]
    assert f"{statistics.median(hops):.0f}" in done.stdout  # type: ignore[type-var]


def test_the_command_refuses_what_cannot_be(haltere: Haltere, tmp_path: Path) -> None:
    lake = lakes.write(tmp_path / "2011", {("ark", "2011-03-01", "x"): lakes.traces(30, 1)})
    for arguments, told in (
        ([str(tmp_path)], "is no lake"),
        ([str(lake), "--mmdb", str(tmp_path / "none")], "there is no such file"),
        ([str(lake), "--out", str(tmp_path / "none" / "x.parquet")], "there is no such folder"),
    ):
        done = haltere("paths", "graph", *arguments)
        assert done.returncode == 2
        assert told in done.stderr
        assert "Traceback" not in done.stderr
