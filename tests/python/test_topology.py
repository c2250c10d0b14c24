"""Nodes and links as output, at the levels of addresses, prefixes, routers and autonomous systems."""

from __future__ import annotations

import bz2
import gzip
import ipaddress
import json
import math
import sqlite3
import struct
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import polars as pl
import pytest
from scipy import stats as reference

import lakes
from conftest import Haltere
from haltere.errors import InputError
from haltere.evolution import Options, measure
from haltere.paths.graph import COLUMNS, partial_view, places_of, routes
from haltere.paths.label_files import Prefixes, read_aliases, read_exchanges, read_pfx2as
from haltere.paths.lake import Lake
from haltere.paths.levels import Labels, Level, relabelled
from haltere.paths.topology import Topology, adjusted, changes, estimated, graphml, topology
from haltere.paths.turnover import lengths, turnover


def packed(text: str) -> bytes:
    return ipaddress.ip_address(text).packed


def trace(source: str | None, *answers: tuple[int, str, int]) -> dict[str, Any]:
    return {
        "src": None if source is None else packed(source),
        "hop_ttl": [ttl for ttl, _, _ in answers],
        "hop_addr": [packed(address) for _, address, _ in answers],
        "hop_rtt_us": [rtt for _, _, rtt in answers],
    }


def frame(*rows: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=COLUMNS)


PFX2AS = "# a remark\n10.0.0.0\t8\t1\n10.1.0.0\t16\t2\n10.2.0.0\t16\t3_4\n10.3.0.0\t16\t5,6\n2001:db8::\t32\t7\n"


@pytest.fixture
def pfx2as(tmp_path: Path) -> Path:
    path = tmp_path / "pfx2as.gz"
    path.write_bytes(gzip.compress(PFX2AS.encode()))
    return path


def test_the_longest_prefix_counts(pfx2as: Path) -> None:
    label = read_pfx2as(pfx2as)
    found = {
        a: label(packed(a)) for a in ("10.9.9.9", "10.1.255.1", "10.2.0.0", "10.3.0.1", "192.0.2.1", "2001:db8::9")
    }
    assert list(found.values()) == ["AS1", "AS2", "AS3_4", "AS5,6", None, "AS7"]
    assert label(b"") is None


def test_prefixes_are_looked_up_as_a_plain_search_does() -> None:
    label, every = Prefixes(), []
    for i in range(300):
        length = 8 + i % 25
        network = ipaddress.ip_network(((i * 2654435761) % 2**32, length), strict=False)
        every.append((network, f"AS{i}"))
        label.add(network, f"AS{i}")
    for i in range(2000):
        address = ipaddress.ip_address((i * 40503 * 65537 + 12345) % 2**32)
        holding = [(n.prefixlen, at, name) for at, (n, name) in enumerate(every) if address in n]
        assert label(address.packed) == (max(holding)[2] if holding else None)


def test_a_path_of_addresses_becomes_one_of_ases(pfx2as: Path) -> None:
    label = read_pfx2as(pfx2as)
    rows = frame(
        trace("10.0.0.1", (1, "10.0.0.2", 10), (2, "10.1.0.1", 20), (3, "10.1.0.2", 30), (4, "10.2.0.1", 40)),
        trace("10.0.0.1", (1, "10.1.0.1", 20), (3, "10.1.0.2", 30), (5, "10.2.0.1", 40)),
        trace("10.0.0.1", (1, "192.0.2.1", 20), (2, "10.1.0.2", 30), (2, "10.2.0.9", 31)),
        trace(None, (1, "10.1.0.1", 20), (2, "10.0.0.1", 30), (3, "10.1.0.1", 40)),
        trace(None),
    )
    found = relabelled(rows, label)
    assert found["src"].to_list() == [b"AS1", b"AS1", b"AS1", None, None]
    assert found["hop_addr"].to_list() == [
        [b"AS2", b"AS3_4"],
        [b"AS2", b"AS3_4"],
        [b"AS2"],
        [b"AS2", b"AS1", b"AS2"],
        [],
    ]
    # A silent TTL within an AS is none between ASes; one between them is a gap.
    assert found["hop_ttl"].to_list() == [[1, 2], [1, 3], [2], [1, 2, 3], []]
    assert found["hop_rtt_us"].to_list()[0] == [20, 40]
    spanned, cut = (topology(rows, labels=Labels(label), gaps=gaps) for gaps in ("span", "cut"))
    assert spanned.links.select("a", "b", "hops", "traces").rows() == [("AS1", "AS2", 1, 4), ("AS2", "AS3_4", 1, 2)]
    assert cut.links.select("a", "b", "traces").rows() == [("AS1", "AS2", 3), ("AS2", "AS3_4", 1)]
    assert dict(spanned.nodes.select("node", "traces").iter_rows()) == {"AS1": 4, "AS2": 4, "AS3_4": 2}


def test_addresses_of_exchanges_are_left_out(pfx2as: Path, tmp_path: Path) -> None:
    (tmp_path / "ixp").write_text("10.3.0.0/16 Some Exchange\n")
    as_json = {"data": [{"prefix": "10.3.0.0/16", "ixlan_id": 26}]}
    (tmp_path / "ixpfx.json").write_text(json.dumps(as_json))
    rows = frame(trace("10.0.0.1", (1, "10.1.0.1", 1), (2, "10.3.0.7", 2), (3, "10.2.0.1", 3)))
    label = read_pfx2as(pfx2as)
    for name, expected in (("ixp", "Some Exchange"), ("ixpfx.json", "IXP LAN 26")):
        exchanges = read_exchanges(tmp_path / name)
        assert exchanges(packed("10.3.1.1")) == expected
        found = topology(rows, labels=Labels(label, exchanges), gaps="cut")
        assert found.links.select("a", "b", "hops").rows() == [("AS1", "AS2", 1), ("AS2", "AS3_4", 1)]
    assert topology(rows, labels=Labels(label)).nodes["node"].to_list() == ["AS1", "AS2", "AS3_4", "AS5,6"]


def test_alias_sets_make_routers(tmp_path: Path) -> None:
    (tmp_path / "midar.nodes").write_text("# ITDK\nnode N1:  10.0.0.2 10.1.0.1\nnode N2:  2001:db8::1\n")
    assert read_aliases(tmp_path / "midar.nodes")[packed("2001:db8::1")] == "N2"
    rows = frame(
        trace("10.0.0.1", (1, "10.0.0.2", 10), (2, "10.9.0.1", 20)), trace(None, (1, "10.1.0.1", 1), (2, "10.9.0.1", 2))
    )
    found = topology(rows, labels=Level("router", aliases=tmp_path / "midar.nodes").labels())
    assert found.links.select("a", "b", "traces").rows() == [("10.0.0.1", "N1", 1), ("10.9.0.1", "N1", 2)]


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("as", "10.0.0.0\t8\t1\n10.0.0.0\t33\t1\n", 2),
        ("as", "10.0.0.0\t8\tx\n", 1),
        ("router", "node N1: 10.0.0.300\n", 1),
    ],
)
def test_what_is_none_of_the_form_is_named(tmp_path: Path, name: Any, text: str, line: int) -> None:
    (tmp_path / "bad").write_text(text)
    with pytest.raises(InputError, match=rf"bad:{line}: is not of the form"):
        Level(name, pfx2as=tmp_path / "bad", aliases=tmp_path / "bad").labels()
    with pytest.raises(InputError, match="aliases: is needed" if name == "router" else "pfx2as: is needed"):
        Level(name).labels()


def test_tables_are_the_partial_views(tmp_path: Path) -> None:
    rows = pl.DataFrame([r for r in lakes.traces(300, 4) if r["class"] == "clean"], schema=lakes.SCHEMA)
    found = topology(rows)
    passed = Counter(a for row in rows.iter_rows(named=True) for a in {row["src"], *row["hop_addr"]})
    assert {packed(node): n for node, n in found.nodes.select("node", "traces").iter_rows()} == passed
    graph = nx.parse_graphml(graphml(found))
    assert dict(graph.degree()) == dict(found.nodes.select("node", "degree").iter_rows())
    assert {frozenset(e) for e in graph.edges} == {frozenset(e) for e in found.links.select("a", "b").iter_rows()}
    edge = found.links.row(0, named=True)
    assert graph.edges[edge["a"], edge["b"]]["traces"] == edge["traces"]
    assert sum(data["monitor"] for _, data in graph.nodes(data=True)) == 2


def links(traces: int, seen: dict[tuple[str, str], int]) -> Topology:
    table = pl.DataFrame(
        [(*ends, n) for ends, n in seen.items()],
        schema={"a": pl.String, "b": pl.String, "traces": pl.UInt32},
        orient="row",
    )
    return Topology(pl.DataFrame(), table, traces)


def test_what_is_unseen_need_not_be_gone() -> None:
    first = links(100, {("a", "b"): 90, ("a", "c"): 1, ("a", "d"): 5})
    second = links(300, {("a", "b"): 3, ("a", "e"): 20})
    found = {row["b"]: row for row in changes(first, second).iter_rows(named=True)}
    assert {b: row["became"] for b, row in found.items()} == {"b": "stayed", "c": "went", "d": "went", "e": "came"}
    assert found["b"]["p"] is None
    for b, n, share in (("c", 1, 0.25), ("d", 5, 0.25), ("e", 20, 0.75)):
        all_of_one = [reference.binomtest(n, n, one, "greater").pvalue for one in (share, 1 - share)]
        assert found[b]["p"] == pytest.approx(sum(all_of_one))
    p = pl.Series([0.01, None, 0.04, 0.03])
    assert adjusted(p).to_list() == [pytest.approx(0.04), None, pytest.approx(0.09), pytest.approx(0.09)]


def test_chance_alone_seldom_lets_a_link_come_or_go() -> None:
    """Of 400 pairs of periods without a change at most 6 % may have a link with a p of Holm below 0.05."""
    # Independent traces, shown by 1 to 24 of them, at two fifths and three fifths of all.
    dice, wrong = np.random.default_rng(1), 0
    for _ in range(400):
        shown = dice.integers(1, 25, 200)
        each = dice.binomial(shown, 0.4)
        periods = [
            links(total, {("a", f"b{at}"): int(n) for at, n in enumerate(some) if n})
            for total, some in ((4000, each), (6000, shown - each))
        ]
        holm = adjusted(changes(*periods)["p"]).drop_nulls()
        wrong += bool((holm < 0.05).any())
    assert wrong <= 24


def test_only_monitors_of_both_periods_say_what_came_and_went() -> None:
    def rows(*said: tuple[str, str, int]) -> pl.DataFrame:
        each = [
            trace(f"10.9.0.{ord(monitor[0])}", (1, "10.0.0.1", 10), (2, router, 20))
            for monitor, router, times in said
            for _ in range(times)
        ]
        monitors = [monitor for monitor, _, times in said for _ in range(times)]
        return frame(*each).with_columns(pl.Series("monitor", monitors))

    first = rows(("a", "10.0.0.2", 40), ("b", "10.0.0.3", 40), ("b", "10.0.0.4", 1), ("lost", "10.0.0.5", 90))
    second = rows(("a", "10.0.0.2", 40), ("b", "10.0.0.6", 40), ("new", "10.0.0.7", 90))
    found = turnover(first, second, Labels())
    assert found is not None and found.traces == (81, 80)
    became = {row["node"]: row["became"] for row in found.tables["nodes"].iter_rows(named=True)}
    expected = {"10.0.0.3": "went", "10.0.0.4": "went", "10.0.0.6": "came", "10.0.0.2": "stayed"}
    assert {node: became[node] for node in expected} == expected
    assert not {"10.0.0.5", "10.0.0.7"} & set(became)
    assert found.counts("nodes") == {"stayed": 4, "came": 1, "went": 2}
    assert found.seen["links"] == (5, 4)
    assert turnover(first.filter(monitor="lost"), second, Labels()) is None


def test_lengths_at_a_level_count_its_nodes(pfx2as: Path) -> None:
    path = ((1, "10.1.0.2", 10), (2, "10.1.0.3", 20), (3, "10.2.0.1", 30), (5, "10.3.0.1", 40))
    rows = frame(trace("10.0.0.1", *path), trace("10.0.0.1", (1, "10.0.0.2", 10)))
    rows = rows.with_columns(pl.Series("monitor", ["a", "b"]), pl.Series("rtt_us", [700, None], dtype=pl.UInt32))
    found = lengths(rows, Labels(read_pfx2as(pfx2as)), {"b": "others"})
    # AS 1, 2, 3_4, and across a silent hop 5,6; and a path that does not leave AS 1.
    counted = {(row["group"], row["hops"], row["traces"]) for row in found.table.iter_rows(named=True)}
    assert counted == {("a", 4, 1), ("others", 0, 1)}
    assert found.delays().total == 1


def test_the_estimate_is_chaos() -> None:
    assert estimated(pl.Series([1, 1, 1, 2, 5])) == pytest.approx(5 + 3 * 2 / (2 * 2))
    assert estimated(pl.Series([4, 5])) == 2


def test_paths_of_ases_are_measured_like_others(pfx2as: Path) -> None:
    rows = frame(*[trace("10.0.0.1", (1, "10.0.0.2", 10), (2, f"10.{n}.0.1", 20), (3, "10.3.0.1", 30)) for n in (1, 2)])
    view = partial_view(relabelled(rows, read_pfx2as(pfx2as)))
    found = routes(view, sources=3, destinations=3, k=2, seed=1)
    assert found.filter(k=1)["hops"].max() == 2


def test_commands_list_and_write(tmp_path: Path, haltere: Haltere) -> None:
    for year, seed, monitors in (("2006", 1, "ab"), ("2011", 2, "bc")):
        lakes.write(tmp_path / year, {("ark", "2011-03-01", "x"): lakes.traces(400, seed, monitors=monitors)})
    done = haltere("paths", "topology", str(tmp_path / "2006"), "--out", str(tmp_path / "l.csv"))
    assert done.returncode == 0, done.stderr
    whole = topology(Lake(tmp_path / "2006").sample(1000, 1))
    assert pl.read_csv(tmp_path / "l.csv").select("a", "b").rows() == whole.links.select("a", "b").rows()
    (tmp_path / "as").write_text("10.0.0.0 8 1\n192.0.2.0 24 2\n")
    level = ("--level", "as", "--pfx2as", str(tmp_path / "as"))
    done = haltere(
        "paths", "topology", str(tmp_path / "2006"), "--of", "nodes", *level, "--out", str(tmp_path / "n.graphml")
    )
    assert done.returncode == 0, done.stderr
    assert sorted(nx.read_graphml(tmp_path / "n.graphml").edges) == [("AS1", "AS2")]
    both = (str(tmp_path / "2006"), "--against", str(tmp_path / "2011"))
    done = haltere("paths", "topology", *both, "--out", str(tmp_path / "c.parquet"))
    assert done.returncode == 0, done.stderr
    assert "by the 1 monitor of both lakes: b" in done.stdout
    ours = topology(Lake(tmp_path / "2006").sample(1000, 1).filter(pl.col("monitor") == "b"))
    found = pl.read_parquet(tmp_path / "c.parquet")
    assert found["traces_first"].sum() == ours.links["traces"].sum()
    for wrong, told in (
        (("--out", "x.txt"), ".graphml"),
        (("--level", "as"), "--pfx2as"),
        (("--out", "x.graphml"), "no graph"),
    ):
        refused = haltere("paths", "topology", *both, *wrong)
        assert refused.returncode != 0
        assert told in refused.stderr
    lakes.write(tmp_path / "2012", {("ark", "2012-03-01", "x"): lakes.traces(50, 3, monitors="z")})
    refused = haltere("paths", "topology", str(tmp_path / "2006"), "--against", str(tmp_path / "2012"))
    assert "--monitors all" in refused.stderr


def database(path: Path, rows: list[tuple[str, int]]) -> Path:
    """A database as bdrmapit writes it."""
    with closing(sqlite3.connect(path)) as made:
        made.execute("CREATE TABLE annotation (addr TEXT, router TEXT, asn INT, conn_asn INT, org TEXT)")
        made.executemany("INSERT INTO annotation (addr, asn) VALUES (?, ?)", rows)
        made.commit()
    return path


def test_annotations_go_before_prefixes(pfx2as: Path, tmp_path: Path) -> None:
    made = database(tmp_path / "annotations.db", [("10.1.0.1", 9), ("10.2.0.1", 0), ("2001:db8::2", 8)])
    both = Level("as", pfx2as=pfx2as, annotations=made).labels().label
    alone = Level("as", annotations=made).labels().label
    assert both is not None and alone is not None
    addresses = ("10.1.0.1", "10.1.0.2", "10.2.0.1", "2001:db8::2")
    assert [both(packed(a)) for a in addresses] == ["AS9", "AS2", "AS3_4", "AS8"]
    assert [alone(packed(a)) for a in addresses] == ["AS9", None, None, "AS8"]
    (tmp_path / "midar.nodes").write_text("node N1:  10.0.0.2 10.1.0.1\nnode N2:  10.2.0.1\n")
    (tmp_path / "midar.nodes.as").write_text("# ITDK\nnode.AS N1 77 refinement\nnode.AS N2 -3 none\n")
    itdk = Level("as", annotations=tmp_path / "midar.nodes.as", aliases=tmp_path / "midar.nodes").labels().label
    assert itdk is not None
    assert [itdk(packed(a)) for a in ("10.0.0.2", "10.1.0.1", "10.2.0.1", "10.3.0.1")] == ["AS77", "AS77", None, None]
    with pytest.raises(InputError, match="`aliases`"):
        Level("as", annotations=tmp_path / "midar.nodes.as").labels()
    (tmp_path / "midar.nodes.as").write_text("node.AS N1 77 refinement\nnode.AS N2\n")
    with pytest.raises(InputError, match=r"nodes\.as:2: is not of the form"):
        Level("as", annotations=tmp_path / "midar.nodes.as", aliases=tmp_path / "midar.nodes").labels()
    made.write_bytes(made.read_bytes()[:3000])
    with pytest.raises(InputError, match=r"annotations\.db"):
        Level("as", annotations=made).labels()


def test_exchanges_are_nodes_at_their_level(pfx2as: Path, tmp_path: Path) -> None:
    dump = {
        "ix": {"data": [{"id": 26, "name": "AMS-IX"}, {"id": 27, "name": "DE-CIX"}]},
        "ixlan": {"data": [{"id": 26, "ix_id": 26}, {"id": 900, "ix_id": 27}]},
        "ixpfx": {
            "data": [{"prefix": "10.3.0.0/16", "ixlan_id": 26}, {"prefix": "10.4.0.0/16", "ixlan_id": 900}],
        },
    }
    lans = {
        "data": [
            {"id": 26, "ix": {"name": "AMS-IX"}, "ixpfx_set": [{"prefix": "10.3.0.0/16"}]},
            {"id": 900, "name": "DE-CIX", "ixpfx_set": [{"prefix": "10.4.0.0/16"}]},
        ]
    }
    rows = frame(trace("10.0.0.1", (1, "10.1.0.1", 1), (2, "10.3.0.7", 2), (3, "10.2.0.1", 3), (4, "10.4.0.1", 4)))
    for name, content in (("dump.json", dump), ("ixlan.json", lans)):
        (tmp_path / name).write_text(json.dumps(content))
        labels = Level("ixp", pfx2as=pfx2as, exchanges=tmp_path / name).labels()
        assert labels.paths(rows)["hop_addr"].to_list() == [[b"AS2", b"AMS-IX", b"AS3_4", b"DE-CIX"]]
    with pytest.raises(InputError, match="exchanges: is needed"):
        Level("ixp", pfx2as=pfx2as).labels()
    (tmp_path / "bad.json").write_text('{"data": [{"prefix": "10.3.0.0/16"}]}')
    with pytest.raises(InputError, match="lacks 'ixlan_id'"):
        read_exchanges(tmp_path / "bad.json")


PLACES = {"10.0.0.1": (0.0, 0.0), "10.0.1.1": (10.0, 0.0), "10.0.1.2": (10.0, 0.0), "10.0.1.3": (0.0, 50.0)}
PLACES |= {"10.0.2.1": (20.0, 0.0), "10.0.2.9": (0.0, 90.0), "10.0.3.1": (30.0, 0.0)}


def locate(addresses: pl.Series) -> pl.DataFrame:
    known = [PLACES.get(str(ipaddress.ip_address(address)), (None, None)) for address in addresses]
    return pl.DataFrame(known, schema={"latitude": pl.Float64, "longitude": pl.Float64}, orient="row")


def test_a_router_is_where_most_of_its_addresses_are(tmp_path: Path) -> None:
    (tmp_path / "nodes").write_text("node N1:  10.0.1.1 10.0.1.2 10.0.1.3\nnode N2:  10.0.2.1 10.0.2.9 10.0.2.5\n")
    rows = frame(
        *(trace("10.0.0.1", (1, f"10.0.1.{n}", 100), (2, "10.0.2.1", 200), (3, "10.0.3.1", 900)) for n in (1, 2, 3)),
        trace("10.0.0.1", (1, "10.0.1.1", 100), (2, "10.0.2.9", 200), (3, "10.0.4.4", 300)),
    )
    view = Level("router", aliases=tmp_path / "nodes").labels().view(rows)
    places, several = places_of(view, locate)
    found = dict(zip(view.names(), places["latitude"], strict=True))
    # Two of N1's three addresses agree; of N2's two places the least address tells; nothing is known of 10.0.4.4.
    assert found == {"10.0.0.1": 0.0, "N1": 10.0, "N2": 20.0, "10.0.3.1": 30.0, "10.0.4.4": None}
    assert several == 2
    number = {name: node for node, name in enumerate(view.names())}
    paths = routes(view, sources=[number["10.0.0.1"]], destinations=[number["10.0.3.1"]], k=1, seed=1, locate=locate)
    # Along one meridian: the way over the routers is as long as the great circle.
    assert paths["dispersion"].item() == pytest.approx(0.0, abs=1e-9)
    assert paths["path_km"].item() == pytest.approx(math.radians(30) * 6371, rel=2e-3)


def test_without_aliases_routers_are_as_dispersed_as_addresses(tmp_path: Path) -> None:
    (tmp_path / "nodes").write_text("node N1:  203.0.113.1 203.0.113.2\n")
    lakes.write(tmp_path / "a", {("ark", "2006-03-01", "x"): lakes.traces(150, 1)})
    rows = Lake(tmp_path / "a").sample(150, 1, columns=list(COLUMNS))

    def everywhere(addresses: pl.Series) -> pl.DataFrame:
        return pl.DataFrame(
            {"latitude": [a[2] % 90 * 1.0 for a in addresses], "longitude": [a[3] / 2 for a in addresses]}
        )

    address, router = Level().labels().view(rows), Level("router", aliases=tmp_path / "nodes").labels().view(rows)
    by_name = dict(zip(router.names(), places_of(router, everywhere)[0].rows(), strict=True))
    assert by_name == dict(zip(address.names(), places_of(address, everywhere)[0].rows(), strict=True))
    found = routes(router, sources=3, destinations=20, k=3, seed=1, locate=everywhere)
    assert found.height and found["dispersion"].null_count() == 0


def test_networks_have_no_place(pfx2as: Path) -> None:
    view = (
        Level("as", pfx2as=pfx2as).labels().view(frame(trace("10.0.0.1", (1, "10.1.0.1", 100), (2, "10.2.0.1", 200))))
    )
    assert not view.has_places
    with pytest.raises(InputError, match="networks, which have no place"):
        places_of(view, locate)


def test_every_level_compares(tmp_path: Path) -> None:
    prefixes = [f"10.{a}.{b}.0 24 {1 + (40 * a + b) % 29}" for a in range(4) for b in range(256)]
    (tmp_path / "pfx2as").write_text("\n".join([*prefixes, "192.0.2.0 24 99"]))
    lakes.write(tmp_path / "a", {("ark", "2006-03-01", "x"): lakes.traces(150, 1)})
    lakes.write(tmp_path / "b", {("ark", "2011-03-01", "x"): lakes.traces(150, 2)})
    (tmp_path / "nodes").write_text("node N1:  10.0.0.2 10.1.0.1\n")
    (tmp_path / "ixp").write_text("10.1.135.0/24 Some Exchange\n")
    for name in ("address", "prefix", "router", "as", "ixp"):
        files = {"pfx2as": tmp_path / "pfx2as", "aliases": tmp_path / "nodes", "exchanges": tmp_path / "ixp"}
        level = Level(name, **files)
        options = Options(traces=100, sources=2, destinations=5, k=2, draws=2, level=level)
        found = measure(Lake(tmp_path / "a"), Lake(tmp_path / "b"), options, on_progress=lambda *_: None)
        assert found.evolution.first.level == name
        assert found.evolution.turnover is not None
        assert (found.evolution.at_level is None) == (name == "address")
        assert found.evolution.first.routes is not None and found.evolution.first.routes.height


def rib(prefix: str, *origins: int) -> bytes:
    """A RIB_IPV4_UNICAST or RIB_IPV6_UNICAST record (RFC 6396 section 4.3.2), in which each peer tells one origin."""
    network = ipaddress.ip_network(prefix)
    body = struct.pack(">IB", 1, network.prefixlen) + network.network_address.packed[: (network.prefixlen + 7) // 8]
    body += struct.pack(">H", len(origins))
    for origin in origins:
        path = struct.pack(">BBII", 2, 2, 64999, origin)  # AS_SEQUENCE (RFC 4271 section 4.3) of four-byte numbers
        attributes = b"\x40\x01\x01\x00" + b"\x40\x02" + bytes([len(path)]) + path
        body += struct.pack(">HIH", 0, 0, len(attributes)) + attributes
    return struct.pack(">IHHI", 1299000000, 13, 2 if network.version == 4 else 4, len(body)) + body


_PEER = [0, 0, 0, 1, 0, 0, 0, 1, 2, 0, 0, 0, 9, 192, 0, 2, 1, 0, 0, 253, 231]
PEERS = struct.pack(">IHHI", 1299000000, 13, 1, len(_PEER)) + bytes(_PEER)


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress], ids=["plain", "gzip", "bzip2"])
def test_a_routing_table_tells_origins(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    dump = PEERS + rib("10.0.0.0/8", 1) + rib("10.1.0.0/16", 2, 3, 3) + rib("2001:db8::/32", 400_000)
    path = tmp_path / "rib.20110301.0000"
    path.write_bytes(pack(dump))
    label = read_pfx2as(path)
    addresses = ("10.9.9.9", "10.1.255.1", "192.0.2.1", "2001:db8::9")
    assert [label(packed(a)) for a in addresses] == ["AS1", "AS3_2", None, "AS400000"]
    assert label.size == 3


def test_a_damaged_routing_table_is_told_with_its_place(tmp_path: Path) -> None:
    first = PEERS + rib("10.0.0.0/8", 1)
    whole = first + rib("10.1.0.0/16", 2)
    path = tmp_path / "rib"
    path.write_bytes(whole[:-5])
    with pytest.raises(InputError, match=f"rib: is damaged at byte {len(first)}"):
        read_pfx2as(path)
    path.write_bytes(gzip.compress(whole)[:-12])
    with pytest.raises(InputError, match="rib"):
        read_pfx2as(path)
    path.write_bytes(PEERS)
    with pytest.raises(InputError, match="no prefix"):
        read_pfx2as(path)
