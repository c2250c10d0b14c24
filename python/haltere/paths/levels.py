"""Levels of a topology: the same traces as paths of addresses, prefixes, routers, autonomous systems or exchanges.

A level gives each address a label. Answers that follow each other with the same label are one node of the path.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import polars as pl

from haltere.errors import ArgumentError, InputError, as_written
from haltere.paths.graph import COLUMNS, Gaps, PartialView, partial_view, text_of
from haltere.paths.label_files import RIGHT, Label, read_aliases, read_annotations, read_exchanges, read_pfx2as

LevelName = Literal["address", "prefix", "router", "as", "ixp"]

_PREFIX = {4: 24, 16: 48}


@dataclass(frozen=True)
class Level:
    """A level, and the files that it needs.

    Attributes:
        name: `address`; `prefix`, the /24 or /48; `router`, by alias sets, and the address itself of one that is in
            none; `as`, by annotations of routers, or else by the longest prefix; `ixp`, ASes with the exchanges
            between them.
        pfx2as: prefix-to-AS data, or a dump of a routing table.
        annotations: what bdrmapit infers (`haltere.paths.label_files.read_annotations`).
        aliases: alias sets of an ITDK.
        exchanges: peering networks of exchanges. At the level `ixp` they are nodes; at others, addresses in them are
            left out without a gap, as they belong to the router of a member.
    """

    name: LevelName = "address"
    pfx2as: Path | None = None
    annotations: Path | None = None
    aliases: Path | None = None
    exchanges: Path | None = None

    def labels(self) -> Labels:
        """Read the files; raise `InputError` if the level needs a file that is not given, or a file cannot be read."""
        if self.name not in get_args(LevelName):
            right = ", ".join(get_args(LevelName))
            raise InputError("there is no such level", field="level", given=as_written(self.name), right=right)
        exchanges = None if self.exchanges is None else read_exchanges(self.exchanges)
        if self.name == "address":
            return Labels(None, exchanges, placed=True)
        if self.name == "prefix":
            return Labels(_prefix, exchanges)
        if self.name == "router":
            aliases = read_aliases(_needed(self.aliases, "aliases", "nodes", "the level router"))
            return Labels(lambda address: aliases.get(address) or text_of(address), exchanges, placed=True)
        systems = self.systems(f"the level {self.name}")
        if self.name == "as":
            return Labels(systems, exchanges)
        known = read_exchanges(_needed(self.exchanges, "exchanges", "ixp", "the level ixp"))
        return Labels(lambda address: known(address) or systems(address), None)

    def systems(self, purpose: str) -> Label:
        """Return the AS of each address, by annotations of routers or else by the longest prefix.

        Args:
            purpose: what needs it, for the error.

        Raises:
            InputError: if a file cannot be read.
            ArgumentError: if neither annotations nor prefixes are given.
        """
        if self.annotations is None:
            return read_pfx2as(_needed(self.pfx2as, "pfx2as", "pfx2as", purpose))
        inferred = read_annotations(self.annotations, self.aliases)
        if self.pfx2as is None:
            return inferred
        prefixes = read_pfx2as(self.pfx2as)
        return lambda address: inferred(address) or prefixes(address)


def _needed(path: Path | None, field: str, form: str, purpose: str) -> Path:
    if path is None:
        raise ArgumentError(f"is needed for {purpose}", field=field, right=RIGHT[form])
    return path


@dataclass(frozen=True)
class Labels:
    """The labels of addresses at a level.

    Attributes:
        label: the label of each address; None where each is its own.
        exchanges: labels those in peering networks of exchanges that are left out; None if none are.
        placed: whether nodes are where their addresses are, as those of routers.
    """

    label: Label | None = None
    exchanges: Label | None = None
    placed: bool = False

    def paths(self, traces: pl.DataFrame) -> pl.DataFrame:
        """Return traces as paths of this level (`relabelled`), or as they are if each address is its own label."""
        whole = self.label is None and self.exchanges is None
        return traces if whole else relabelled(traces, self.label, self.exchanges)

    def view(self, traces: pl.DataFrame, *, gaps: Gaps = "span") -> PartialView:
        """Return the graph that traces show at this level (`haltere.paths.graph.partial_view`)."""
        rows = self.paths(traces)
        view = partial_view(rows, gaps=gaps, labelled=rows is not traces)
        if not view.labelled or not self.placed:
            return view
        of: dict[bytes, list[bytes]] = {}
        seen = pl.concat([traces["hop_addr"].explode(), traces["src"].alias("hop_addr")]).drop_nulls().unique().sort()
        for address in seen:
            label = (self.label or text_of)(address)
            if label is not None:
                of.setdefault(label.encode(), []).append(address)
        return replace(view, members=tuple(tuple(of.get(label, ())) for label in view.nodes["address"]))


def relabelled(traces: pl.DataFrame, label: Label | None, exchanges: Label | None = None) -> pl.DataFrame:
    """Return traces as paths of labels, as `haltere.paths.graph.partial_view` takes them.

    Answers that follow each other with the same label are one node, timed by the first. The TTLs count nodes:
    neighbours that answered side by side are one hop apart, and two where a silent hop or one without a label lies
    between, so that `gaps="cut"` makes no link there. An address in the peering network of an exchange belongs to the
    router behind it: such answers are left out, and no gap is seen there.

    Args:
        traces: rows of a lake.
        label: of addresses; None labels each by itself.
        exchanges: labels those in peering networks of exchanges.

    Returns:
        The columns that a partial view needs, and all others as they were.
    """
    known: dict[bytes, str | None] = {}

    def of(address: bytes | None) -> str | None:
        if address is None:
            return None
        if address not in known:
            known[address] = (label or text_of)(address)
        return known[address]

    rows = [_path(row, of, exchanges) for row in traces.select(list(COLUMNS)).iter_rows()]
    return traces.with_columns(pl.DataFrame(rows, schema=COLUMNS, orient="row").get_columns())


def _path(row: tuple[Any, ...], of: Callable[[bytes | None], str | None], exchanges: Label | None) -> tuple[Any, ...]:
    src, ttls, addresses, rtts = row
    source = of(src)
    nodes: list[tuple[int, bytes, int | None]] = []
    last, last_ttl, at = source, 0, 0
    gap = src is not None and source is None
    for ttl, address, rtt in sorted(zip(ttls or (), addresses or (), rtts or (), strict=True), key=lambda a: a[0]):
        if ttl == last_ttl and nodes:
            continue
        found = of(address)
        if exchanges is not None and exchanges(address) is not None:
            last_ttl = ttl if ttl == last_ttl + 1 else last_ttl
            continue
        gap = gap or ttl > last_ttl + 1
        last_ttl = ttl
        if found is None:
            gap = True
            continue
        if found != last:
            at = min(at + (2 if gap and (nodes or source) else 1), 255)
            nodes.append((at, found.encode(), rtt))
            last = found
        gap = False
    columns = [list(column) for column in zip(*nodes, strict=True)] or [[], [], []]
    return (source.encode() if source is not None else None, *columns)


def _prefix(address: bytes) -> str:
    length = _PREFIX[len(address)]
    return str(ipaddress.ip_network((address, length), strict=False))
