"""Graphs of measured paths: partial views of the Internet from sampled traces, and K shortest paths of many pairs."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, get_args

import numpy as np
import numpy.typing as npt
import polars as pl

from haltere import _core as core
from haltere.errors import InputError, as_written

Gaps = Literal["span", "cut"]
Cost = Literal["hops", "delay"]
Among = Literal["nodes", "monitors"]
Locate = Callable[[pl.Series], pl.DataFrame]

COLUMNS: dict[str, Any] = {
    "src": pl.Binary,
    "hop_ttl": pl.List(pl.UInt8),
    "hop_addr": pl.List(pl.Binary),
    "hop_rtt_us": pl.List(pl.UInt32),
}
"""The columns of a lake that a partial view needs."""

_ROUTES: dict[str, npt.DTypeLike] = {
    "source": np.uint32,
    "destination": np.uint32,
    "k": np.uint32,
    "hops": np.uint32,
    "delay_us": np.uint64,
    "difference": np.float64,
    "diversity": np.float64,
    "path_km": np.float64,
    "direct_km": np.float64,
    "dispersion": np.float64,
    "least_delay_us": np.float64,
    "delay_dispersion": np.float64,
    "located": np.float64,
}
_LINKS: dict[str, npt.DTypeLike] = {
    "a": np.uint32,
    "b": np.uint32,
    "hops": np.uint8,
    "delay_us": np.uint32,
    "traces": np.uint32,
}
_core: Any = core
"""With no types, as an array is no `Buffer` to type checkers before Python 3.12."""
_UNKNOWN = 2**32 - 1
_UNKNOWN_SUM = 2**64 - 1


class Network(Protocol):
    """A graph of numbered nodes as the core keeps it: numbers go in as arrays and come out as bytes.

    `PartialView.network` makes one; `routes` is the same with tables.
    """

    def components(self) -> bytes:
        """Return the component of each node (uint32), numbered by size from 0, the largest."""

    def routes(
        self,
        sources: npt.NDArray[Any],
        destinations: npt.NDArray[Any],
        k: int,
        coordinates: tuple[npt.NDArray[Any], ...] | None = None,
        threads: int = 1,
        on_progress: Callable[[int], None] | None = None,
    ) -> dict[str, bytes]:
        """Return the columns of `haltere.paths.graph.routes` for these nodes (uint32).

        Unknown delays are 2^64 - 1, other values that cannot be said NaN. `coordinates` are latitudes and longitudes of
        all nodes in degrees (float64, NaN: not known). `on_progress` is called with the pairs that are done.
        """

    def nodes(self, source: int, destinations: npt.NDArray[Any], k: int, threads: int = 1) -> tuple[bytes, bytes]:
        """Return the nodes of the paths that `routes` measures from one source, in its order.

        Where each path ends (uint64), and the nodes of all paths, each from source to destination (uint32).
        """


@dataclass(frozen=True)
class PartialView:
    """A graph of the addresses that traces show.

    Attributes:
        nodes: one row a node, in the order of `node`: `node` (its number, the rank of its address), `address` (4 or 16
            bytes), `monitor` (whether traces begin there), `component` (0 is the largest).
        links: one row a link, in the order of its ends: `a`, `b` (nodes, a < b), `hops` (how many it stands for),
            `delay_us` (there and back; null if no trace timed both ends), `traces` (how many show it).
        traces: how many traces it is made of.
        gaps: what became of silent TTLs.
        raised: links whose delay came out below 1 µs and was raised to that.
        labelled: whether `address` holds labels (UTF-8) in place of addresses, as above the level of addresses.
        members: the addresses of each node, ascending, in the order of `node`, where labels are those of routers; else
            None.
    """

    nodes: pl.DataFrame
    links: pl.DataFrame
    traces: int
    gaps: Gaps
    raised: int
    labelled: bool = False
    members: tuple[tuple[bytes, ...], ...] | None = None

    @property
    def has_places(self) -> bool:
        """Whether its nodes are somewhere: addresses are, and routers where their addresses are; networks are not."""
        return not self.labelled or self.members is not None

    @property
    def components(self) -> int:
        """How many components the graph has."""
        return self.nodes["component"].n_unique()

    def names(self) -> pl.Series:
        """Return what each node is called: its address as text, or its label; in the order of `node`."""
        read = bytes.decode if self.labelled else text_of
        return pl.Series("name", [read(address) for address in self.nodes["address"]], dtype=pl.String)

    def network(self, cost: Cost = "hops", relations: npt.NDArray[np.uint8] | None = None) -> Network:
        """Return the graph itself, whose paths are short in `cost`.

        Args:
            cost: hops or delay.
            relations: of each link, as `haltere.paths.policy.Links` has them: paths are valley-free then.
        """
        columns = (_array(self.links[name].fill_null(_UNKNOWN), dtype) for name, dtype in list(_LINKS.items())[:4])
        network: Network = _core.PathNetwork(self.nodes.height, *columns, by_delay=cost == "delay", relations=relations)
        return network


def text_of(address: bytes) -> str:
    """Return an address of 4 or 16 bytes as text."""
    return str(ipaddress.ip_address(address))


def partial_view(traces: pl.DataFrame, *, gaps: Gaps = "span", labelled: bool = False) -> PartialView:
    """Return the graph of the links that traces show; their order changes nothing.

    The path of a trace is its source, if known, at TTL 0, then the first answer of each TTL; other answers are left
    out. Answers at neighbouring TTLs are joined. A link's `hops` are the fewest and its delay is the median, over the
    traces that show it, of how much later its farther end answered (the mean of the two in the middle, rounded down),
    at least 1 µs.

    Args:
        traces: rows of a lake, with the columns of `COLUMNS`; which of them are consistent is the caller's to say.
        gaps: `span` joins answers across silent TTLs by a link of as many hops as TTLs it passes, so that graphs stay
            connected and lengths true; `cut` does not join them.
        labelled: whether `src` and `hop_addr` hold labels, as `haltere.paths.levels.relabelled` returns them.

    Raises:
        InputError: if a column is missing or of another type, or the lists of a row differ in length.
    """
    if gaps not in get_args(Gaps):
        raise InputError("is not known", field="gaps", given=as_written(gaps), right="span or cut")
    _check(traces)
    answers, lengths = _first_answers(traces)
    addresses = pl.concat([answers["hop_addr"], traces["src"].alias("hop_addr")])
    # Ranks of addresses in sorted order: a node's number depends neither on the order of rows nor on that of answers.
    numbers = (addresses.rank("dense").cast(pl.UInt32) - 1).fill_null(_UNKNOWN)
    sources = numbers.tail(traces.height)
    columns, raised = _core.path_links(
        _array(sources, np.uint32),
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint64),
        _array(answers["hop_ttl"], np.uint8),
        _array(numbers.head(answers.height), np.uint32),
        _array(answers["hop_rtt_us"].fill_null(_UNKNOWN), np.uint32),
        span=gaps == "span",
    )
    links = _frame(columns, _LINKS).with_columns(_null_if("delay_us", _UNKNOWN))
    nodes = addresses.drop_nulls().unique().sort().alias("address").to_frame().with_row_index("node")
    nodes = nodes.with_columns(pl.col("node").is_in(sources.unique().implode()).alias("monitor"))
    return _with_components(PartialView(nodes, links, traces.height, gaps, raised, labelled))


def graph_of(links: pl.DataFrame, nodes: Sequence[str] = ()) -> PartialView:
    """Return a graph of links that no trace showed, such as those of a file of somebody else's.

    Args:
        links: `a`, `b` (names of nodes), `hops` (1 to 255) and `delay_us` (there and back; null if not known). They
            are undirected. Of several between two nodes the fewest hops and the least delay count; a link of a node
            with itself is left out, but the node stays.
        nodes: further nodes, which may have no link.

    Returns:
        The graph; its nodes are addresses if all names are, and labels otherwise. Delays below 1 µs are raised to that.

    Raises:
        InputError: if there is no node, or a link's hops are not from 1 to 255.
    """
    names = pl.concat([links["a"], links["b"], pl.Series("a", list(nodes), dtype=pl.String)]).unique()
    if names.is_empty():
        raise InputError("has no node", field="links", right="a link at least")
    packed = [_packed(name) for name in names]
    labelled = any(address is None for address in packed)
    addresses = [name.encode() for name in names] if labelled else packed
    table = pl.DataFrame({"name": names, "address": pl.Series(addresses, dtype=pl.Binary)}).sort("address")
    # Two ways to write an address are one node.
    table = table.with_columns((pl.col("address").rank("dense").cast(pl.UInt32) - 1).alias("node"))
    number = dict(table.select("name", "node").iter_rows())
    ends = [links[end].replace_strict(number, return_dtype=pl.UInt32).alias(end) for end in ("a", "b")]
    hops, delay = links["hops"].cast(pl.Int64), links["delay_us"].cast(pl.Int64)
    if hops.null_count() or not hops.is_between(1, 255).all():
        raise InputError("has a link of no number of hops", field="links", right="a whole number from 1 to 255")
    ordered = (each("a", "b").alias(end) for each, end in ((pl.min_horizontal, "a"), (pl.max_horizontal, "b")))
    numbered = pl.DataFrame([*ends, hops, delay]).select(*ordered, "hops", "delay_us")
    joined = numbered.filter(pl.col("a") != pl.col("b")).group_by("a", "b").agg(pl.col("hops", "delay_us").min())
    raised = int((joined["delay_us"] < 1).sum())
    kept = joined.sort("a", "b").select(
        "a",
        "b",
        pl.col("hops").cast(pl.UInt8),
        pl.col("delay_us").clip(1, _UNKNOWN - 1).cast(pl.UInt32),
        pl.lit(0, pl.UInt32).alias("traces"),
    )
    known = table.unique("node").sort("node").select("node", "address", pl.lit(value=False).alias("monitor"))
    return _with_components(PartialView(known, kept, 0, "span", raised, labelled))


def _packed(name: str) -> bytes | None:
    try:
        return ipaddress.ip_address(name).packed
    except ValueError:
        return None


def _with_components(view: PartialView) -> PartialView:
    component = pl.Series("component", np.frombuffer(view.network().components(), np.uint32))
    return replace(view, nodes=view.nodes.with_columns(component))


def routes(
    view: PartialView,
    *,
    sources: int | Sequence[int] = 10,
    destinations: int | Sequence[int] = 10_000,
    k: int = 10,
    seed: int,
    draw: int = 0,
    among: Among = "nodes",
    cost: Cost = "hops",
    relations: npt.NDArray[np.uint8] | None = None,
    locate: Locate | None = None,
    nodes: bool = False,
    threads: int | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> pl.DataFrame:
    """Return the K shortest loopless paths from sources to destinations drawn at random, one row a path.

    Sources and destinations are different nodes of the largest component, and every source has all destinations; if the
    component has fewer, all others are destinations. The answer depends on view, seed and draw alone.

    Args:
        view: the graph.
        sources: how many nodes are sources, or which (numbers of `view.nodes`).
        destinations: how many nodes are destinations, or which.
        k: how many paths a pair.
        seed: of the draw of nodes.
        draw: the number of the draw: another one gives other nodes.
        among: `monitors` takes as sources only nodes where traces begin.
        cost: what paths are short in. By `delay`, links without a delay are left out.
        relations: of each link of the view, as `haltere.paths.policy.Rules.links` returns them: paths are valley-free
            then, and a pair may have none. The pairs are those that are drawn without relations.
        locate: from addresses to latitudes and longitudes, such as a `haltere.paths.geography.Locator`; only for a view
            that `has_places`.
        nodes: whether the column `path` is returned too. The paths are then looked for twice.
        threads: one a CPU if not given; each holds all shortest paths to one source.
        on_progress: called now and then with the pairs that are done and their number.

    Returns:
        `draw`, `source`, `destination` (nodes), `k` (from 1), `hops`; `delay_us`, the sum of its links' delays there
        and back; `difference` to the pair's first path (Levenshtein's over the nodes of the longer; null of the
        first); `diversity`, the mean difference of every two paths of the pair; `path_km` (D_p), the great circles
        between its located nodes one after the other; `direct_km` (D_r), the great circle between its ends;
        `dispersion`, (D_p - D_r) / D_r; `least_delay_us`, there and back between its ends in straight fibre;
        `delay_dispersion`, delay over least delay; `located`, the share of its nodes with a place. Null is what cannot
        be said. `path` is the list of a path's nodes from source to destination. (Study of the evolution of end-to-end
        paths, UFJF 2013, section 2.2.3.)

    Raises:
        InputError: if a number is below 1, no node can be a source, a node is none of the graph, or there are not as
            many relations as links.
    """
    if relations is not None and len(relations) != view.links.height:
        raise InputError(
            "are not as many as links", field="relations", given=str(len(relations)), right=f"{view.links.height}"
        )
    for name, value in {"sources": sources, "destinations": destinations, "k": k, "threads": threads or 1}.items():
        if isinstance(value, int) and value < 1:
            raise InputError("is below 1", field=name, given=as_written(value), right="a whole number from 1")
    network = view.network(cost, relations)
    chosen, others = _draw(view, network, (sources, destinations), (seed, draw), among)
    coordinates = None
    if locate is not None:
        places, _ = places_of(view, locate)
        coordinates = tuple(
            _array(places[name].fill_null(float("nan")), np.float64) for name in ("latitude", "longitude")
        )
    pairs = chosen.size * others.size
    progress = None if on_progress is None else lambda done: on_progress(done, pairs)
    most = threads or os.cpu_count() or 1
    columns = network.routes(chosen, others, k, coordinates, most, progress)
    found = _frame(columns, _ROUTES).select(
        pl.lit(draw, dtype=pl.UInt32).alias("draw"),
        pl.all().exclude("delay_us", *_floats()),
        _null_if("delay_us", _UNKNOWN_SUM),
        pl.col(_floats()).fill_nan(None),
    )
    if not nodes:
        return found
    lists = [_paths(*network.nodes(int(source), others, k, most)) for source in chosen]
    return found.with_columns(pl.concat(lists).alias("path") if lists else pl.lit(None, pl.List(pl.UInt32)))


def places_of(view: PartialView, locate: Locate) -> tuple[pl.DataFrame, int]:
    """Return where the nodes of a graph are, and how many routers of it have addresses in several places.

    A router is where most of its addresses with a place are; of places with as many, that of the least address counts.

    Returns:
        `latitude` and `longitude` of each node, degrees, null where nothing says it; the number of routers.

    Raises:
        InputError: if the nodes have no places, as those of networks and exchanges.
    """
    if not view.labelled:
        return locate(view.nodes["address"]).select("latitude", "longitude"), 0
    if view.members is None:
        raise InputError("nodes are networks, which have no place", field="locate", right="addresses or routers")
    owner = [node for node, addresses in enumerate(view.members) for _ in addresses]
    each = pl.Series("address", [one for addresses in view.members for one in addresses], dtype=pl.Binary)
    known = (
        locate(each)
        .select("latitude", "longitude")
        .with_columns(pl.Series("node", owner, dtype=pl.UInt32), pl.Series("rank", range(len(owner)), dtype=pl.UInt32))
        .drop_nulls()
        .group_by("node", "latitude", "longitude")
        .agg(pl.len().alias("addresses"), pl.col("rank").min())
        .sort("node", "addresses", "rank", descending=[False, True, False])
    )
    several = known.group_by("node").len().filter(pl.col("len") > 1).height
    first = known.unique("node", keep="first", maintain_order=True).select("node", "latitude", "longitude")
    places = view.nodes.select("node").join(first, on="node", how="left", maintain_order="left")
    return places.select("latitude", "longitude"), several


def _paths(ends: bytes, nodes: bytes) -> pl.Series:
    """Lists of nodes, of which the arrays say where each ends."""
    last = np.frombuffer(ends, np.uint64)
    path = np.repeat(np.arange(last.size), np.diff(last, prepend=np.uint64(0)).astype(np.int64))
    table = pl.DataFrame({"of": path, "path": np.frombuffer(nodes, np.uint32)})
    return table.group_by("of", maintain_order=True).agg("path")["path"]


def _draw(
    view: PartialView,
    network: Network,
    wanted: tuple[int | Sequence[int], int | Sequence[int]],
    of: tuple[int, int],
    among: Among,
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """The nodes that are sources and those that are destinations."""
    component = np.frombuffer(network.components(), np.uint32)
    inside = component == 0
    if among not in get_args(Among):
        raise InputError("is not known", field="among", given=as_written(among), right="nodes or monitors")
    may_begin = inside & view.nodes["monitor"].to_numpy() if among == "monitors" else inside
    if not may_begin.any() or not view.links.height:
        right = "traces whose source is known" if view.links.height else "traces with two answers at least"
        raise InputError(f"the graph has no {among} that paths could begin at", field="traces", right=right)

    def drawn(candidates: npt.NDArray[np.bool_], n: int | Sequence[int], name: str) -> npt.NDArray[np.uint32]:
        if not isinstance(n, int):
            return _named(view, n, name)
        nodes = np.flatnonzero(candidates).astype(np.uint32)
        return np.frombuffer(_core.draw_nodes(nodes, n, *of, f"paths/graph/{name}"), np.uint32)

    # The two ends differ, so that every pair is valid.
    sources = drawn(may_begin, wanted[0], "sources")
    inside[sources] = False
    return sources, drawn(inside, wanted[1], "destinations")


def _named(view: PartialView, nodes: Sequence[int], name: str) -> npt.NDArray[np.uint32]:
    for node in nodes:
        if not 0 <= node < view.nodes.height:
            right = f"a number from 0 to {view.nodes.height - 1}"
            raise InputError("is no node of the graph", field=name, given=as_written(node), right=right)
    return np.array(list(dict.fromkeys(nodes)), np.uint32)


def _first_answers(traces: pl.DataFrame) -> tuple[pl.DataFrame, npt.NDArray[np.intp]]:
    """The first answer of each TTL, trace after trace, and how many each trace has."""
    lengths = traces["hop_ttl"].list.len().fill_null(0).to_numpy()
    every = pl.DataFrame([traces[name].explode(empty_as_null=False, keep_nulls=False) for name in list(COLUMNS)[1:]])
    if every["hop_ttl"].null_count() or every["hop_addr"].null_count():
        raise InputError("has an answer without TTL or address", field="traces", right="null in hop_rtt_us alone")
    trace = np.repeat(np.arange(traces.height), lengths)
    first = pl.Series(trace * 256 + every["hop_ttl"].to_numpy()).is_first_distinct()
    return every.filter(first), np.bincount(trace[first.to_numpy()], minlength=traces.height)


def _check(traces: pl.DataFrame) -> None:
    for name, wanted in COLUMNS.items():
        found = traces.schema.get(name)
        if found != wanted:
            given = "nothing" if found is None else str(found)
            raise InputError("is no column of traces", field=name, given=given, right=f"{wanted}, as a lake has it")
    lengths = [pl.col(name).list.len().fill_null(0) for name in list(COLUMNS)[1:]]
    uneven = traces.select((lengths[0] != lengths[1]) | (lengths[0] != lengths[2])).to_series().arg_true()
    if len(uneven):
        right = "hop_ttl, hop_addr and hop_rtt_us of the same length"
        raise InputError("has lists of different lengths", field=f"traces, row {uneven[0]}", right=right)


def _array(values: pl.Series, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    return np.ascontiguousarray(values.to_numpy(), dtype=dtype)


def _frame(columns: dict[str, bytes], dtypes: dict[str, npt.DTypeLike]) -> pl.DataFrame:
    return pl.DataFrame({name: np.frombuffer(columns[name], dtype) for name, dtype in dtypes.items()})


def _floats() -> list[str]:
    return [name for name, dtype in _ROUTES.items() if dtype is np.float64]


def _null_if(name: str, value: int) -> pl.Expr:
    return pl.when(pl.col(name) != value).then(pl.col(name)).alias(name)
