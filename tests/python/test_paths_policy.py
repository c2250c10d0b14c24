"""Valley-free paths: AS relationships are read, links get their relation, and the policy's effect is measured."""

from __future__ import annotations

import bz2
import gzip
import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lakes
from conftest import ROOT, Haltere
from haltere.claims.comparison import MissingDataError
from haltere.errors import ArgumentError, InputError
from haltere.evolution import Options, PathsStudy, measure
from haltere.paths.graph import graph_of, partial_view, routes
from haltere.paths.lake import Lake
from haltere.paths.levels import Level
from haltere.paths.periods import Period
from haltere.paths.policy import DOWN, FREE, PEER, REFUSED, UP, Policy, Relationships, Rules, read_as_relationships
from haltere.paths.policy_effect import effect, longer_share
from haltere.paths.tallies import Tallies
from haltere.results import read_manifest

FIXTURE = ROOT / "tests" / "data" / "paths"
SERIAL_1 = "# source: a comment\n64500|64501|-1\n64502|64501|-1\n64500|64502|0\n"
SERIAL_2 = "# source: a comment\n64500|64501|-1|bgp\n64502|64501|-1|bgp\n64500|64502|0|mlp\n"
KNOWN = {(64500, 64501): DOWN, (64501, 64502): UP, (64500, 64502): PEER}


@pytest.mark.parametrize("text", [SERIAL_1, SERIAL_2])
@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress])
def test_both_serials_are_read_packed_or_not(tmp_path: Path, text: str, pack: Any) -> None:
    (tmp_path / "as-rel").write_bytes(pack(text.encode()))
    assert read_as_relationships(tmp_path / "as-rel").of == KNOWN


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("1|2|-1\n1|2\n", 2, "is not of the form"),
        ("1|2|1\n", 1, "is not of the form"),
        ("# only\n1 2 -1\n", 2, "is not of the form"),
        ("1|1|0\n", 1, "is not of the form"),
        ("0|1|0\n", 1, "is not of the form"),
        ("1|4294967296|0\n", 1, "is not of the form"),
        ("1|٢|0\n", 1, "is not of the form"),
        ("1|2|0|bgp|more\n", 1, "is not of the form"),
        ("1|2|-1\n\n2|1|-1\n", 3, "contradicts line 1"),
        ("1|2|-1\n2|1|0\n", 2, "contradicts line 1"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, text: str, line: int, problem: str) -> None:
    (tmp_path / "as-rel").write_text(text)
    with pytest.raises(InputError, match=problem) as raised:
        read_as_relationships(tmp_path / "as-rel")
    assert raised.value.place is not None and raised.value.place.line == line
    assert raised.value.given and raised.value.right


def test_a_file_without_relationships_is_refused(tmp_path: Path) -> None:
    (tmp_path / "as-rel").write_text("# nothing\n")
    with pytest.raises(InputError, match="holds no relationship"):
        read_as_relationships(tmp_path / "as-rel")
    with pytest.raises(InputError, match="cannot be read"):
        read_as_relationships(tmp_path / "missing")


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.binary(max_size=60), st.text("0123456789|-#\n ab", max_size=60).map(str.encode)))
def test_any_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.as-rel"
    path.write_bytes(data)
    try:
        found = read_as_relationships(path)
    except InputError as error:
        assert error.right
    else:
        assert all(a < b and one in (UP, DOWN, PEER) for (a, b), one in found.of.items())


@given(
    st.dictionaries(st.tuples(st.integers(1, 9), st.integers(10, 19)), st.sampled_from([UP, DOWN, PEER]), min_size=1)
)
def test_relationships_are_read_as_they_are_written(
    tmp_path_factory: pytest.TempPathFactory, of: dict[tuple[int, int], int]
) -> None:
    path = tmp_path_factory.getbasetemp() / "written.as-rel"
    ways = {UP: "{1}|{0}|-1\n", DOWN: "{0}|{1}|-1\n", PEER: "{1}|{0}|0\n"}
    path.write_text("".join(ways[one].format(*pair) for pair, one in of.items()))
    read = read_as_relationships(path)
    assert read.of == of
    back = {UP: DOWN, DOWN: UP, PEER: PEER}
    for (a, b), one in of.items():
        assert (read.between((a,), (b,)), read.between((b,), (a,))) == (one, back[one])


def test_nodes_of_several_ases_and_of_none() -> None:
    known = Relationships(KNOWN)
    assert known.between((64500,), (64500,)) == FREE
    assert known.between((64500, 7), (7, 9)) == FREE
    assert known.between((64500, 7), (64501,)) == DOWN
    assert known.between((64500, 64501), (64502,)) is None  # a peer and a customer: not the same
    assert known.between((64500,), (9,)) is None
    assert known.between((), (64500,)) is None


def view_of(ends: list[tuple[str, str]]) -> Any:
    links = {"a": [a for a, _ in ends], "b": [b for _, b in ends], "hops": [1] * len(ends), "delay_us": [5] * len(ends)}
    return graph_of(pl.DataFrame(links))


def each_link(view: Any, relations: Any) -> Any:
    return zip(view.links["a"], view.links["b"], relations.tolist(), strict=True)


def systems(address: bytes) -> str | None:
    """10.N.0.0/16 is AS N; 10.0.0.0/16 is of no AS."""
    return f"AS{address[1]}" if address[1] else None


@pytest.mark.parametrize(("unknown", "code"), [("refuse", REFUSED), ("peer", PEER), ("free", FREE)])
def test_links_get_the_relation_of_their_ends(unknown: Any, code: int) -> None:
    # The addresses of a link stand in the other order too, so that the direction of each relation is tested.
    view = view_of(
        [
            ("10.1.0.1", "10.1.0.2"),
            ("10.1.0.1", "10.2.0.1"),
            ("10.3.0.1", "10.2.0.1"),
            ("10.1.0.2", "10.3.0.1"),
            ("10.0.0.1", "10.1.0.1"),
            ("10.3.0.1", "10.4.0.1"),
        ]
    )
    found = Rules(Relationships({(1, 2): UP, (2, 3): DOWN, (1, 3): PEER}), systems, unknown).links(view)
    names = dict(enumerate(view.names()))
    of = {
        (names[a], names[b]): one for a, b, one in zip(view.links["a"], view.links["b"], found.relations, strict=True)
    }
    assert of == {
        ("10.1.0.1", "10.1.0.2"): FREE,
        ("10.1.0.1", "10.2.0.1"): UP,
        ("10.2.0.1", "10.3.0.1"): DOWN,
        ("10.1.0.2", "10.3.0.1"): PEER,
        ("10.0.0.1", "10.1.0.1"): code,
        ("10.3.0.1", "10.4.0.1"): code,
    }
    assert (found.inside, found.transit, found.peering, found.unknown) == (1, 2, 1, 2)


def test_a_customer_is_no_transit() -> None:
    # AS 1 and AS 3 are peers; AS 2 is a customer of both, and the way through it is shorter.
    view = view_of(
        [
            ("10.1.0.1", "10.2.0.1"),
            ("10.2.0.1", "10.3.0.1"),
            ("10.1.0.1", "10.1.0.2"),
            ("10.1.0.2", "10.3.0.2"),
            ("10.3.0.2", "10.3.0.1"),
        ]
    )
    node = {name: i for i, name in enumerate(view.names())}
    ends: dict[str, Any] = {"sources": [node["10.1.0.1"]], "destinations": [node["10.3.0.1"]], "seed": 1, "k": 5}
    rules = Rules(Relationships({(1, 2): DOWN, (2, 3): UP, (1, 3): PEER}), systems)
    assert routes(view, **ends)["hops"].to_list() == [2, 3]
    for cost in ("hops", "delay"):
        found = routes(view, relations=rules.links(view).relations, cost=cost, nodes=True, **ends)
        names = [[view.names()[n] for n in path] for path in found["path"]]
        assert names == [["10.1.0.1", "10.1.0.2", "10.3.0.2", "10.3.0.1"]]


def _allowed(relations: dict[tuple[int, int], int], path: list[int]) -> bool:
    """Gao's rule over the relations of a path's links: up, at most one between peers, down."""
    seen = [relations[ends] for ends in itertools.pairwise(path)]
    word = "".join({FREE: "", UP: "u", PEER: "p", DOWN: "d", REFUSED: "x"}[one] for one in seen)
    climbed = word.lstrip("u")
    return climbed.removeprefix("p").strip("d") == ""


def test_the_fixtures_paths_are_valley_free_and_keep_their_pairs(tmp_path: Path) -> None:
    study = PathsStudy.load("internet-paths-policy")
    assert study.options.policy is not None
    study.run(tmp_path / "out", command="x", draws=1, on_progress=lambda *_: None)
    lake = Lake(tmp_path / "out" / "lakes" / "2006")
    view = partial_view(lake.sample(2000, seed=1, columns=["src", "hop_ttl", "hop_addr", "hop_rtt_us"]))
    links = study.options.policy.rules(study.options.level).links(view)
    assert links.unknown == 0 and min(links.inside, links.transit, links.peering) > 0
    back = {UP: DOWN, DOWN: UP}
    relation = {}
    for a, b, one in each_link(view, links.relations):
        relation[a, b], relation[b, a] = one, back.get(one, one)
    sizes: dict[str, Any] = {"sources": 4, "destinations": 30, "k": 6, "seed": 3}
    under = routes(view, relations=links.relations, nodes=True, **sizes)
    plain = routes(view, nodes=True, **sizes)
    assert all(_allowed(relation, path) for path in under["path"].to_list())
    assert not all(_allowed(relation, path) for path in plain["path"].to_list()), "the policy forbids nothing"
    both = under.join(plain, on=["source", "destination", "k"], suffix="_any")
    assert both.height == under.height and (both["hops"] >= both["hops_any"]).all()
    free = routes(view, relations=np.full(view.links.height, FREE, np.uint8), **sizes)
    shown = ("source", "destination", "k", "hops")
    assert free.select(shown).equals(plain.select(shown))

    manifest = read_manifest(tmp_path / "out") or {}
    said = {"paths": "valley-free", "as_relationships": "carriers.as-rel", "unknown": "refuse"}
    assert [one["routing"] for one in manifest["periods"]] == [said, said]
    measured = pl.read_parquet(tmp_path / "out" / "runs.parquet")
    assert (
        measured["links"].to_list()
        == measured.select(pl.sum_horizontal("inside", "transit", "peering", "unknown"))["inside"].to_list()
    )


def test_routers_are_in_the_as_of_most_of_their_addresses() -> None:
    view = view_of([("x", "y"), ("y", "z")])
    members = (
        (lakes.address(1 << 16), lakes.address(2 << 16), lakes.address((2 << 16) + 1)),
        (lakes.address(3 << 16), lakes.address(1 << 16)),
        (lakes.address(9),),
    )
    rules = Rules(Relationships({(1, 2): UP}), systems)
    found = rules.links(replace(view, members=members))
    assert found.relations.tolist() == [DOWN, REFUSED]  # AS 2 to AS 1, the first of two with as many; then none


def test_ases_are_their_own_names() -> None:
    view = view_of([("AS1", "AS2"), ("AS2", "AS3_4"), ("AS3_4", "AMS-IX"), ("AS2", "ASx")])
    found = Rules(Relationships({(1, 2): UP, (2, 3): PEER}), systems).links(view)
    names = view.names()
    of = {
        (names[a], names[b]): one for a, b, one in zip(view.links["a"], view.links["b"], found.relations, strict=True)
    }
    assert of == {("AS1", "AS2"): UP, ("AS2", "AS3_4"): PEER, ("AMS-IX", "AS3_4"): REFUSED, ("AS2", "ASx"): REFUSED}


def test_a_policy_needs_ases(tmp_path: Path) -> None:
    (tmp_path / "as-rel").write_text(SERIAL_1)
    policy = Policy(tmp_path / "as-rel")
    with pytest.raises(ArgumentError, match="needed for valley-free paths") as missing:
        policy.rules(Level())
    assert missing.value.field == "pfx2as"
    for level in ("prefix", "ixp"):
        with pytest.raises(InputError, match="no AS is known") as raised:
            policy.rules(Level(level, FIXTURE / "carriers.pfx2as"))
        assert raised.value.given == level
    with pytest.raises(InputError, match="is not known"):
        Policy(tmp_path / "as-rel", "maybe").rules(Level(pfx2as=FIXTURE / "carriers.pfx2as"))  # type: ignore[arg-type]


def test_relations_are_one_for_each_link() -> None:
    view = view_of([("10.1.0.1", "10.1.0.2")])
    with pytest.raises(InputError, match="not as many as links"):
        routes(view, relations=np.zeros(2, np.uint8), seed=1)
    with pytest.raises(ValueError, match="no relation is 9"):
        view.network(relations=np.array([9], np.uint8))


NO_TRACES = Tallies(
    pl.DataFrame(
        schema={"group": pl.String, "class": pl.String, "hops": pl.UInt8, "bin": pl.UInt32, "traces": pl.UInt64}
    )
)


def period(under: list[tuple[int, int, int]], without: list[tuple[int, int, int]]) -> Period:
    """A period of three draws with these paths in each: destination, k, hops."""

    def table(rows: list[tuple[int, int, int]]) -> pl.DataFrame:
        each = [
            {"draw": draw, "source": 0, "destination": d, "k": k, "hops": hops, "delay_us": 1000 * hops}
            for draw in range(3)
            for d, k, hops in rows
        ]
        return pl.DataFrame(each)

    return Period("x", NO_TRACES, [], routes=table(under), unconstrained=table(without), drawing="half")


def test_the_change_of_a_share_and_of_a_length_has_one_direction() -> None:
    # Of one pair each, of which one draw in three loses its path, and another has a longer one.
    found = period([(1, 1, 3)], [(1, 1, 3)])
    assert found.routes is not None
    uneven = found.routes.with_columns(hops=pl.col("hops") + 4 * (pl.col("draw") == 2).cast(pl.Int64))
    length = effect(replace(found, routes=uneven), "hops")
    assert length.change.low == 0 and (length.change.high or 0) > 4
    two = period([(1, 1, 3), (2, 1, 3)], [(1, 1, 3), (2, 1, 3)])
    assert two.routes is not None
    less = two.routes.filter((pl.col("draw") > 0) | (pl.col("destination") == 1))
    assert effect(replace(two, routes=less), "paths").change.high == 0


def test_effects_compare_the_kth_with_the_kth() -> None:
    found = period([(1, 1, 9), (1, 2, 10), (2, 1, 4)], [(1, 1, 3), (1, 2, 4), (1, 3, 5), (2, 1, 4), (3, 1, 2)])
    length = effect(found, "hops")
    assert (length.without.value, length.under.value, length.change.value) == (11 / 3, 23 / 3, 4)
    assert effect(found, "delay").change.value == 5000
    assert effect(found, "paths").under.value == pytest.approx(2 / 3)
    assert (effect(found, "paths").texts()["change"], length.texts()["change"]) == (
        "−33.3 points [−33.3, −33.3]",
        "+4.0 hops [+4.0, +4.0]",
    )
    assert longer_share(found, 5).values == (0.5, 0.5, 0.5)
    assert longer_share(found, 6).values == (0.0, 0.0, 0.0)


def test_without_a_policy_there_is_no_effect() -> None:
    with pytest.raises(MissingDataError, match="as_relationships"):
        effect(Period("x", NO_TRACES, []), "hops")


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    lakes.write(tmp_path / "lake", {("ark", "2006-03-01", "x"): lakes.traces(400, 1)})
    (tmp_path / "pfx2as").write_text("10.0.0.0\t25\t64500\n10.0.0.0\t8\t64501\n")
    (tmp_path / "as-rel").write_text("64500|64501|-1\n")
    return tmp_path


SIZES = ("--traces", "200", "--sources", "2", "--destinations", "20", "--k", "3", "--draws", "2")
RULED = ("--pfx2as", "pfx2as", "--as-relationships", "as-rel")


def test_commands_take_relationships(lake: Path, haltere: Haltere) -> None:
    done = haltere("paths", "compare", "lake", "lake", *SIZES, *RULED, "--unknown-relationships", "free")
    assert done.returncode == 0, done.stderr
    said = json.loads((lake / "comparison" / "comparison.json").read_text())
    assert said["routing"] == {"paths": "valley-free", "as_relationships": "as-rel", "unknown": "free"}
    assert any("valley-free" in one and "any path may follow them" in one for one in said["cautions"])
    assert {"Pairs with a path, lake", "Mean length, lake"} <= {row["label"] for row in said["policy"]}
    page = (lake / "comparison" / "report.html").read_text()
    assert "The routing policy" in page and "links of customer and provider" in page
    assert pl.read_parquet(lake / "comparison" / "unconstrained.parquet").height > 0
    # A comparison without a policy into the same folder leaves nothing of it.
    assert haltere("paths", "compare", "lake", "lake", *SIZES).returncode == 0
    assert not (lake / "comparison" / "unconstrained.parquet").exists()
    assert "The routing policy" not in (lake / "comparison" / "report.html").read_text()

    shown = haltere("paths", "graph", "lake", *SIZES, *RULED)
    assert shown.returncode == 0 and "links of customer and provider" in shown.stdout
    listed = haltere("paths", "routes", "lake", *SIZES, *RULED, "--out", "k.csv")
    assert listed.returncode == 0, listed.stderr
    plain = haltere("paths", "routes", "lake", *SIZES, "--out", "any.csv")
    assert plain.returncode == 0
    under, every = (pl.read_csv(lake / name) for name in ("k.csv", "any.csv"))
    inside = [word.split(".")[2:] for word in under["path"][0].split(" | ")]
    assert inside and under["path"].to_list() != every["path"].to_list()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--as-relationships", "as-rel"), "pfx2as"),
        (("--unknown-relationships", "peer"), "--as-relationships"),
        ((*RULED, "--level", "prefix"), "no AS is known"),
        (("--pfx2as", "pfx2as", "--as-relationships", "pfx2as"), "is not of the form"),
    ],
)
def test_commands_refuse_what_makes_no_policy(
    lake: Path, haltere: Haltere, options: tuple[str, ...], problem: str
) -> None:
    for line in (("compare", "lake", "lake"), ("graph", "lake"), ("routes", "lake")):
        done = haltere("paths", *line, *SIZES, *options)
        assert done.returncode == 2 and problem in done.stderr, line


def test_files_of_graphs_have_no_ases(lake: Path, haltere: Haltere) -> None:
    (lake / "edges").write_text("a b 1\n")
    done = haltere("paths", "routes", "edges", "--weights", "hops", "--as-relationships", "as-rel")
    assert done.returncode == 2 and "is for lakes" in done.stderr


def test_a_study_states_a_policy_whole(tmp_path: Path) -> None:
    text = (ROOT / "studies" / "internet-paths-policy" / "study.toml").read_text()
    text = text.replace("../internet-paths/", f"{ROOT}/studies/internet-paths/")
    kept = [line for line in text.splitlines() if not line.startswith("as_relationships")]
    (tmp_path / "study.toml").write_text("\n".join([*kept, 'unknown_relationships = "peer"']))
    with pytest.raises(InputError, match="is for valley-free paths") as raised:
        PathsStudy.load(tmp_path)
    assert raised.value.place is not None


def test_measuring_twice_gives_the_same(lake: Path) -> None:
    policy = Policy(lake / "as-rel")
    options = Options(
        200, sources=2, destinations=20, k=3, draws=2, level=Level(pfx2as=lake / "pfx2as"), policy=policy, threads=1
    )
    found = [
        measure(Lake(lake / "lake"), Lake(lake / "lake"), options, on_progress=lambda *_: None).evolution.first
        for _ in range(2)
    ]
    for name in ("routes", "unconstrained", "views"):
        assert getattr(found[0], name).equals(getattr(found[1], name))
