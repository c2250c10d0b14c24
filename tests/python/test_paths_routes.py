"""The K shortest paths node by node, at every level, and in other people's graphs."""

from __future__ import annotations

import bz2
import gzip
import itertools
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import polars as pl
import pytest

import lakes
from conftest import Haltere
from haltere.errors import InputError
from haltere.paths.graph import graph_of, partial_view, routes
from haltere.paths.graph_files import read_graph
from haltere.paths.lake import Lake
from haltere.paths.topology import of_routes

LINKS = "a b 2\nb c 3\nc d 1\na d 9\nb d 4\n"


def plain(view_links: pl.DataFrame) -> nx.Graph:
    graph = nx.Graph()
    for a, b, hops in view_links.select("a", "b", "hops").iter_rows():
        graph.add_edge(a, b, hops=hops)
    return graph


def test_the_nodes_of_paths_are_those_that_are_measured() -> None:
    rows = pl.DataFrame([r for r in lakes.traces(300, 7) if r["class"] == "clean"], schema=lakes.SCHEMA)
    view = partial_view(rows)
    found = routes(view, sources=3, destinations=12, k=6, seed=2, nodes=True, threads=2)
    bare = routes(view, sources=3, destinations=12, k=6, seed=2)
    assert found.drop("path").equals(bare)
    graph = plain(view.links)
    for (source, destination), of_pair in found.group_by("source", "destination", maintain_order=True):
        paths = of_pair["path"].to_list()
        assert len({tuple(path) for path in paths}) == len(paths)
        for path, hops in zip(paths, of_pair["hops"], strict=True):
            assert (path[0], path[-1]) == (source, destination) and len(set(path)) == len(path)
            assert sum(graph.edges[ends]["hops"] for ends in itertools.pairwise(path)) == hops
        expected = itertools.islice(nx.shortest_simple_paths(graph, source, destination, weight="hops"), 6)
        lengths = [nx.path_weight(graph, path, "hops") for path in expected]
        assert of_pair["hops"].to_list() == lengths


def test_what_paths_take_is_a_topology() -> None:
    links = {"a": list("abcab"), "b": list("bcddd"), "hops": [2, 3, 1, 9, 4], "delay_us": [None] * 5}
    view = graph_of(pl.DataFrame(links, schema_overrides={"delay_us": pl.Int64}))
    found = routes(view, sources=[0], destinations=[3], k=3, seed=1, nodes=True)
    assert found["path"].to_list() == [[0, 1, 3], [0, 1, 2, 3], [0, 3]]
    used = of_routes(view, found)
    assert dict(used.nodes.select("node", "paths").iter_rows()) == {"a": 3, "b": 2, "c": 1, "d": 3}
    assert {row[:2]: row[2] for row in used.links.select("a", "b", "paths").iter_rows()} == {
        ("a", "b"): 2, ("a", "d"): 1, ("b", "c"): 1, ("b", "d"): 1, ("c", "d"): 1,
    }  # fmt: skip
    with pytest.raises(InputError, match="is no node"):
        routes(view, sources=[9], seed=1)


def test_links_twice_are_one_and_addresses_are_addresses() -> None:
    table = pl.DataFrame(
        {
            "a": ["10.0.0.1", "10.0.0.2", "10.0.0.2", "2001:db8::1"],
            "b": ["10.0.0.2", "10.0.0.1", "2001:db8:0::1", "10.0.0.1"],
            "hops": [3, 2, 1, 1],
            "delay_us": [0, 7, None, 9],
        }
    )
    view = graph_of(table, ["10.0.0.9"])
    assert not view.labelled
    assert view.names().to_list() == ["10.0.0.1", "10.0.0.2", "10.0.0.9", "2001:db8::1"]
    assert view.links.rows() == [(0, 1, 2, 1, 0), (0, 3, 1, 9, 0), (1, 3, 1, None, 0)]
    assert (view.raised, view.components) == (1, 2)


def written(path: Path, form: str) -> None:
    """The links of `LINKS` in a form."""
    graph = nx.Graph()
    rows = [line.split() for line in LINKS.splitlines()]
    for a, b, weight in rows:
        graph.add_edge(a, b, weight=int(weight))
    networkxs: dict[str, Any] = {
        "graphml": nx.write_graphml,
        "gml": nx.write_gml,
        "net": nx.write_pajek,
        "edges": nx.write_edgelist,
    }
    if form in networkxs:
        networkxs[form](graph, path)
        return
    text = {
        "commas": "# a remark\n" + LINKS.replace(" ", ","),
        "tabs": LINKS.replace(" ", "\t"),
        "header": "hops,target,source\n" + "".join(f"{w},{b},{a}\n" for a, b, w in rows),
    }.get(form, LINKS)
    packed = {"gz": gzip.compress, "bz2": bz2.compress}.get(form, bytes)
    path.write_bytes(packed(text.encode()))


@pytest.mark.parametrize("form", ["spaces", "commas", "tabs", "header", "edges", "gz", "bz2", "graphml", "gml", "net"])
def test_a_graph_is_the_same_in_every_form(tmp_path: Path, form: str) -> None:
    written(tmp_path / f"graph.{form}", form)
    view = read_graph(tmp_path / f"graph.{form}", None if form == "header" else "hops")
    assert view.names().to_list() == ["a", "b", "c", "d"]
    assert view.links.select("a", "b", "hops").rows() == [(0, 1, 2), (0, 3, 9), (1, 2, 3), (1, 3, 4), (2, 3, 1)]


def test_weights_may_be_delays_and_must_be_said(tmp_path: Path) -> None:
    path = tmp_path / "weighted"
    path.write_text("x y 1.5\n")
    assert read_graph(path, "ms").links.row(0) == (0, 1, 1, 1500, 0)
    assert read_graph(path, "us").links.row(0) == (0, 1, 1, 2, 0)
    assert read_graph(path, "none").links.row(0) == (0, 1, 1, None, 0)
    with pytest.raises(InputError, match="`weights`: hops, ms, us"):
        read_graph(path)
    with pytest.raises(InputError, match=r"(?s)weighted:1: .*hops"):
        read_graph(path, "hops")


def test_the_links_of_an_itdk(tmp_path: Path) -> None:
    path = tmp_path / "midar-iff.links"
    path.write_text("# ITDK\nlink L1:  N1:10.0.0.1 N2\nlink L2:  N2:10.0.0.2 N3 N7:10.0.0.9\n")
    view = read_graph(path)
    assert view.names().to_list() == ["N1", "N2", "N3", "N7"]
    assert view.links.select("a", "b").rows() == [(0, 1), (1, 2), (1, 3), (2, 3)]


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.txt", "a b\nlonely\n", r"a\.txt:2: is no link"),
        ("a.txt", "a b\na b c d\n", r"a\.txt:2: is no link"),
        ("a.csv", "source,target,hops\na,b,1\na,b,many\n", r"(?s)a\.csv:3: .*a number"),
        ("a.csv", "source,target,hops\na,b,300\n", r"(?s)a\.csv:2: .*255"),
        ("a.links", "link L1:  N1 N2\nlink L2:  N1\n", r"a\.links:2: is no link"),
        ("a.links", "link L1:  N1 N2\nlink L2:  N1 Nx\n", r"a\.links:2: is no link"),
        ("a.links", "link L1:  " + " ".join(f"N{i}" for i in range(1001)), r"a\.links:1: joins 1001 nodes"),
        ("a.graphml", "<graphml>\n<graph>\n<node", r"a\.graphml:3: cannot be read"),
        ("a.gml", "graph [\n node [", "cannot be read"),
        ("a.txt", "", "holds no link"),
        ("a.gz", "\x1f", "holds no link|no link"),
    ],
)
def test_damage_is_told_with_its_place(tmp_path: Path, name: str, text: str, told: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=told):
        read_graph(tmp_path / name)


def test_no_damage_goes_by_as_a_fault_of_ours(tmp_path: Path) -> None:
    """Bytes of each form are changed or cut; what comes is a graph or an error that names the file."""
    rng = np.random.default_rng(5)
    graph = nx.karate_club_graph()
    forms = {"g.graphml": nx.write_graphml, "g.gml": nx.write_gml, "g.net": nx.write_pajek, "g.txt": nx.write_edgelist}
    refused = 0
    for name, write in forms.items():
        path = tmp_path / name
        write(graph, path)
        whole = bytearray(path.read_bytes())
        for _ in range(40):
            damaged = whole[: int(rng.integers(len(whole)))] if rng.random() < 0.3 else bytearray(whole)
            for place in rng.integers(0, max(1, len(damaged)), 3):
                damaged[place : place + 1] = bytes([int(rng.integers(256))])
            path.write_bytes(damaged)
            try:
                read_graph(path, "none")
            except InputError as error:
                refused += 1
                assert name in str(error)
    assert refused > 40


def test_the_command_writes_paths_at_a_level(tmp_path: Path, haltere: Haltere) -> None:
    lakes.write(tmp_path / "lake", {("ark", "2011-03-01", "x"): lakes.traces(400, 1)})
    (tmp_path / "as").write_text("10.0.0.0 8 1\n10.0.27.0 24 3\n192.0.2.0 24 2\n10.1.0.0 16 4\n")
    base = ("paths", "routes", str(tmp_path / "lake"), "--sources", "2", "--destinations", "5", "--k", "3")
    for level, words in {
        "address": (),
        "prefix": (),
        "as": ("--pfx2as", str(tmp_path / "as")),
    }.items():
        for ending in ("csv", "parquet", "graphml"):
            out = tmp_path / f"{level}.{ending}"
            done = haltere(*base, "--level", level, *words, "--out", str(out))
            assert done.returncode == 0, done.stderr
        csv, parquet = pl.read_csv(tmp_path / f"{level}.csv"), pl.read_parquet(tmp_path / f"{level}.parquet")
        assert csv["path"].str.split(" | ").to_list() == parquet["path"].to_list()
        for path, *ends in parquet.select("path", "source", "destination").iter_rows():
            assert [path[0], path[-1]] == ends
        taken = {frozenset(e) for p in parquet["path"].to_list() for e in itertools.pairwise(p)}
        assert {frozenset(e) for e in nx.read_graphml(tmp_path / f"{level}.graphml").edges} == taken
    assert set(pl.read_parquet(tmp_path / "as.parquet")["source"]) <= {"AS1", "AS2", "AS3", "AS4"}


def test_the_command_takes_named_nodes_and_files(tmp_path: Path, haltere: Haltere) -> None:
    (tmp_path / "g.txt").write_text(LINKS)
    words = ("paths", "routes", str(tmp_path / "g.txt"), "--weights", "hops", "--k", "3")
    done = haltere(*words, "--from", "a", "--to", "d", "--out", str(tmp_path / "p.csv"))
    assert done.returncode == 0, done.stderr
    assert pl.read_csv(tmp_path / "p.csv")["path"].to_list() == ["a | b | d", "a | b | c | d", "a | d"]
    told = haltere(*words, "--from", "e")
    assert told.returncode == 2 and "is no node of the graph of g.txt" in told.stderr
    told = haltere(*words, "--level", "prefix")
    assert told.returncode == 2 and "is for lakes" in told.stderr
    done = haltere("paths", "graph", str(tmp_path / "g.txt"), "--weights", "hops", "--draws", "2")
    assert done.returncode == 0, done.stderr
    assert "nodes" in done.stdout


def test_graphs_of_lakes_have_levels(tmp_path: Path, haltere: Haltere) -> None:
    lakes.write(tmp_path / "lake", {("ark", "2011-03-01", "x"): lakes.traces(300, 1)})
    out = tmp_path / "paths.parquet"
    done = haltere("paths", "graph", str(tmp_path / "lake"), "--level", "prefix", "--draws", "1", "--out", str(out))
    assert done.returncode == 0, done.stderr
    found = pl.read_parquet(out)
    assert found["source"].str.ends_with("/24").all()
    assert Lake(tmp_path / "lake").name in done.stdout
