"""Levels of a topology: the same traces as paths of addresses, prefixes, routers or autonomous systems.

A level gives each address a label. Answers that follow each other with the same label are one node of the path.
"""

from __future__ import annotations

import gzip
import ipaddress
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, get_args

import polars as pl

from haltere.errors import InputError, Place, as_written
from haltere.paths.graph import COLUMNS

LevelName = Literal["address", "prefix", "router", "as"]
Label = Callable[[bytes], str | None]
"""From an address of 4 or 16 bytes to its label; None if it is not known."""

_PREFIX = {4: 24, 16: 48}
_RIGHT = {
    "pfx2as": "CAIDA's prefix-to-AS data: prefix, length and AS in columns, such as `192.0.2.0 24 64500`",
    "nodes": "the .nodes file of CAIDA's ITDK, such as `node N1:  192.0.2.1 198.51.100.1`",
    "ixp": "prefixes and names of exchanges, such as `192.0.2.0/24 AMS-IX`, or PeeringDB's JSON of ixpfx",
}


class Prefixes:
    """Labels of prefixes, looked up by the longest one that an address is in.

    Attributes:
        size: how many prefixes there are.
    """

    def __init__(self) -> None:
        self._of: dict[int, dict[int, dict[int, str]]] = {4: {}, 16: {}}
        self.size = 0

    def add(self, prefix: ipaddress.IPv4Network | ipaddress.IPv6Network, label: str) -> None:
        """Add a prefix; of two labels of the same one the later stays."""
        bits = prefix.max_prefixlen
        table = self._of[bits // 8].setdefault(prefix.prefixlen, {})
        table[int(prefix.network_address) >> (bits - prefix.prefixlen)] = label
        self.size += 1

    def __call__(self, address: bytes) -> str | None:
        """Return the label of the longest prefix that holds the address, or None."""
        tables = self._of.get(len(address), {})
        number, bits = int.from_bytes(address), 8 * len(address)
        for length in sorted(tables, reverse=True):
            found = tables[length].get(number >> (bits - length))
            if found is not None:
                return found
        return None


def read_pfx2as(path: Path) -> Prefixes:
    """Read CAIDA's prefix-to-AS data (Routeviews Prefix to AS mappings), packed by gzip or not.

    Several origins (`64500_64501`) and sets (`64500,64501`) stay one label, as it is not known which AS it is.

    Raises:
        InputError: with file and line, if a line is none of the form.
    """
    found = Prefixes()
    for line, words in _rows(path, _RIGHT["pfx2as"]):
        try:
            prefix, length, origin = words
            network = ipaddress.ip_network(f"{prefix}/{length}")
            numbers = origin.replace("_", ",").split(",")
            if not all(number.isascii() and number.isdigit() for number in numbers):
                raise ValueError(origin)
        except ValueError:
            raise _wrong(path, line, words, "pfx2as") from None
        found.add(network, f"AS{origin}")
    if not found.size:
        raise InputError("holds no prefix", field=str(path), right=_RIGHT["pfx2as"])
    return found


def read_exchanges(path: Path) -> Prefixes:
    """Read the prefixes of exchanges' peering networks: lines of prefix and name, or PeeringDB's JSON (`/api/ixpfx`).

    Raises:
        InputError: if the file is of neither form.
    """
    found = Prefixes()
    text = _text(path, _RIGHT["ixp"])
    if text.lstrip().startswith("{"):
        try:
            for one in json.loads(text)["data"]:
                found.add(ipaddress.ip_network(one["prefix"]), f"IXP LAN {one['ixlan_id']}")
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"cannot be read: {error}", field=str(path), right=_RIGHT["ixp"]) from None
        return found
    for line, words in _rows(path, _RIGHT["ixp"]):
        try:
            found.add(ipaddress.ip_network(words[0]), " ".join(words[1:]) or words[0])
        except ValueError:
            raise _wrong(path, line, words, "ixp") from None
    return found


def read_aliases(path: Path) -> dict[bytes, str]:
    """Read the alias sets of CAIDA's ITDK (`.nodes`): the router of each address.

    Raises:
        InputError: with file and line, if a line is none of the form.
    """
    found: dict[bytes, str] = {}
    for line, words in _rows(path, _RIGHT["nodes"]):
        if len(words) < 2 or words[0] != "node" or not words[1].endswith(":"):
            raise _wrong(path, line, words, "nodes")
        for word in words[2:]:
            try:
                found[ipaddress.ip_address(word).packed] = words[1][:-1]
            except ValueError:
                raise _wrong(path, line, words, "nodes") from None
    return found


def text_of(address: bytes) -> str:
    """Return an address of 4 or 16 bytes as text."""
    return str(ipaddress.ip_address(address))


def label_of(name: LevelName, file: Path | None) -> Label | None:
    """Return what labels addresses at a level; None for addresses, which are their own labels.

    Args:
        name: `address`; `prefix`, the /24 or /48; `router`, by the alias sets of an ITDK, and the address itself of one
            that is in none; `as`, by prefix-to-AS data.
        file: the alias sets or the prefix-to-AS data.

    Raises:
        InputError: if the level needs a file that is not given, or the file cannot be read.
    """
    if name == "address":
        return None
    if name == "prefix":
        return _prefix
    if name not in get_args(LevelName):
        right = ", ".join(get_args(LevelName))
        raise InputError("there is no such level", field="level", given=as_written(name), right=right)
    if file is None:
        option, right = ("--aliases", _RIGHT["nodes"]) if name == "router" else ("--pfx2as", _RIGHT["pfx2as"])
        raise InputError(f"is needed for the level {name}", field=option, right=right)
    if name == "as":
        return read_pfx2as(file)
    aliases = read_aliases(file)
    return lambda address: aliases.get(address) or text_of(address)


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
    """
    known: dict[bytes, str | None] = {}

    def of(address: bytes | None) -> str | None:
        if address is None:
            return None
        if address not in known:
            known[address] = (label or text_of)(address)
        return known[address]

    rows = [_path(row, of, exchanges) for row in traces.select(list(COLUMNS)).iter_rows()]
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")


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


def _text(path: Path, right: str) -> str:
    try:
        raw = path.read_bytes()
        return (gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw).decode()
    except (OSError, EOFError, ValueError) as error:
        raise InputError(f"cannot be read: {error}", field=str(path), right=right) from None


def _rows(path: Path, right: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the words of each line that is neither empty nor a remark, and the line's number."""
    for number, line in enumerate(_text(path, right).splitlines(), 1):
        words = line.split()
        if words and not line.startswith("#"):
            yield number, words


def _wrong(path: Path, line: int, words: list[str], form: str) -> InputError:
    return InputError(
        "is not of the form", place=Place(str(path), line), given=" ".join(words)[:80], right=_RIGHT[form]
    )
