"""Files that say what addresses belong to: prefixes of ASes and exchanges, alias sets, annotations of routers."""

from __future__ import annotations

import bz2
import gzip
import ipaddress
import json
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import IO, Any, cast

from haltere import _core
from haltere.errors import ArgumentError, InputError, Place

Label = Callable[[bytes], str | None]
"""From an address of 4 or 16 bytes to its label; None if it is not known."""

RIGHT = {
    "pfx2as": "CAIDA's prefix-to-AS data: prefix, length and AS in columns, such as `192.0.2.0 24 64500`; or a dump of "
    "a routing table (MRT), as RouteViews and RIPE RIS publish them",
    "nodes": "the .nodes file of CAIDA's ITDK, such as `node N1:  192.0.2.1 198.51.100.1`",
    "ixp": "prefixes and names of exchanges, such as `192.0.2.0/24 AMS-IX`, or PeeringDB's JSON of ixpfx or ixlan",
    "annotations": "bdrmapit's database (SQLite, table `annotation`), or the .nodes.as file of an ITDK, such as "
    "`node.AS N1 64500 method`",
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
    """Read CAIDA's prefix-to-AS data (Routeviews Prefix to AS mappings) or a routing table's dump, packed or not.

    A dump in MRT's form (RFC 6396: TABLE_DUMP, TABLE_DUMP_V2) is known by its first record. Its origins are the last
    ASes of the paths, those that most peers tell first. Packed files are of gzip or bzip2.

    Several origins (`64500_64501`) and sets (`64500,64501`) stay one label, as it is not known which AS it is.

    Raises:
        InputError: with file and line, if a line is none of the form; with the byte, if a dump is damaged.
    """
    found = _dump(path)
    if found is not None:
        return found
    found = Prefixes()
    for line, words in _rows(path, RIGHT["pfx2as"]):
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
        raise InputError("holds no prefix", field=str(path), right=RIGHT["pfx2as"])
    return found


def _dump(path: Path) -> Prefixes | None:
    """The origins of a dump in MRT's form; None if the file is none."""
    try:
        with _unpacked(path) as file:
            head = file.read(12)
        # The type of the first record (RFC 6396 section 2): TABLE_DUMP or TABLE_DUMP_V2. No text has such bytes.
        if len(head) < 12 or int.from_bytes(head[4:6]) not in (12, 13):
            return None
        with _unpacked(path) as file:
            rows = _core.prefix_origins(file)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise InputError(str(error) or "ends too early", field=str(path), right=RIGHT["pfx2as"]) from None
    found = Prefixes()
    for prefix, origin in rows:
        found.add(ipaddress.ip_network(prefix, strict=False), f"AS{origin}")
    if not found.size:
        raise InputError("holds no prefix with an origin", field=str(path), right=RIGHT["pfx2as"])
    return found


def _unpacked(path: Path) -> IO[bytes]:
    """A file's plain bytes, by the first of those that are stored."""
    with path.open("rb") as file:
        head = file.read(3)
    if head.startswith(b"\x1f\x8b"):
        return cast("IO[bytes]", gzip.open(path))
    return cast("IO[bytes]", bz2.open(path)) if head == b"BZh" else path.open("rb")


def read_exchanges(path: Path) -> Prefixes:
    """Read the prefixes of exchanges' peering networks: lines of prefix and name, or PeeringDB's JSON.

    Of PeeringDB, `/api/ixpfx`, `/api/ixlan?depth=2`, or a dump of all its tables (as CAIDA keeps them), whose exchanges
    have names; without those an exchange is called by the number of its peering network, `IXP LAN 26`.

    Raises:
        InputError: if the file is of neither form.
    """
    text = text_in(path, RIGHT["ixp"])
    if text.lstrip().startswith("{"):
        return _peeringdb(path, text)
    found = Prefixes()
    for line, words in _rows(path, RIGHT["ixp"]):
        try:
            found.add(ipaddress.ip_network(words[0]), " ".join(words[1:]) or words[0])
        except ValueError:
            raise _wrong(path, line, words, "ixp") from None
    if not found.size:
        raise InputError("holds no prefix", field=str(path), right=RIGHT["ixp"])
    return found


def _peeringdb(path: Path, text: str) -> Prefixes:
    found = Prefixes()
    try:
        whole = json.loads(text)
        tables = whole if "ixpfx" in whole else {"ixpfx": whole}
        names = {int(ix["id"]): str(ix["name"]) for ix in tables.get("ix", {}).get("data", ())}
        exchange = {int(lan["id"]): int(lan["ix_id"]) for lan in tables.get("ixlan", {}).get("data", ())}
        for one in tables["ixpfx"]["data"]:
            inner = one.get("ixpfx_set")
            name = _exchange(one, names, exchange) if inner is None else _exchange_of_lan(one)
            for prefix in [one] if inner is None else inner:
                found.add(ipaddress.ip_network(prefix["prefix"]), name)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        said = f"lacks {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(f"cannot be read: {said}", field=str(path), right=RIGHT["ixp"]) from None
    if not found.size:
        raise InputError("holds no prefix", field=str(path), right=RIGHT["ixp"])
    return found


def _exchange(prefix: Mapping[str, Any], names: Mapping[int, str], exchange: Mapping[int, int]) -> str:
    lan = int(prefix["ixlan_id"])
    return names.get(exchange.get(lan, lan), f"IXP LAN {lan}")


def _exchange_of_lan(lan: Mapping[str, Any]) -> str:
    exchange = lan.get("ix")
    name = exchange.get("name") if isinstance(exchange, dict) else None
    return str(name or lan.get("name") or f"IXP LAN {lan['id']}")


def read_aliases(path: Path) -> dict[bytes, str]:
    """Read the alias sets of CAIDA's ITDK (`.nodes`): the router of each address.

    Raises:
        InputError: with file and line, if a line is none of the form.
    """
    found: dict[bytes, str] = {}
    for line, words in _rows(path, RIGHT["nodes"]):
        if len(words) < 2 or words[0] != "node" or not words[1].endswith(":"):
            raise _wrong(path, line, words, "nodes")
        for word in words[2:]:
            try:
                found[ipaddress.ip_address(word).packed] = words[1][:-1]
            except ValueError:
                raise _wrong(path, line, words, "nodes") from None
    return found


def read_annotations(path: Path, aliases: Path | None = None) -> Label:
    """Read which AS operates the router of each address, as bdrmapit infers it.

    (A. Marder et al., "Pushing the Boundaries with bdrmapIT", IMC 2018.) Either its database (SQLite: the columns
    `addr` and `asn` of the table `annotation`), or the assignment of an ITDK (`.nodes.as`), which names nodes, so that
    their addresses are needed too. Numbers below 1 are none.

    Args:
        path: the database or the file.
        aliases: the `.nodes` file of the same ITDK.

    Raises:
        InputError: with file and line where there are lines, if the file cannot be read, or `aliases` is needed.
    """
    try:
        with path.open("rb") as file:
            database = file.read(16) == b"SQLite format 3\0"
    except OSError as error:
        raise InputError(f"cannot be read: {error}", field=str(path), right=RIGHT["annotations"]) from None
    return _database(path) if database else _assigned(path, aliases)


def _database(path: Path) -> Label:
    found: dict[bytes, str] = {}
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
            for address, number in database.execute("SELECT addr, asn FROM annotation"):
                if isinstance(number, int) and number > 0:
                    found[ipaddress.ip_address(address).packed] = f"AS{number}"
    except (sqlite3.Error, ValueError) as error:
        raise InputError(f"cannot be read: {error}", field=str(path), right=RIGHT["annotations"]) from None
    return found.get


def _assigned(path: Path, aliases: Path | None) -> Label:
    if aliases is None:
        right = f"{RIGHT['nodes']}, of the same ITDK"
        raise ArgumentError("names nodes, whose addresses are not known", field=str(path), right=f"`aliases`: {right}")
    numbers: dict[str, str] = {}
    for line, words in _rows(path, RIGHT["annotations"]):
        if len(words) < 3 or words[0] != "node.AS" or not words[2].lstrip("-").isdigit():
            raise _wrong(path, line, words, "annotations")
        if int(words[2]) > 0:
            numbers[words[1].rstrip(":")] = f"AS{int(words[2])}"
    routers = read_aliases(aliases)
    return lambda address: numbers.get(routers.get(address, ""))


def text_in(path: Path, right: str) -> str:
    """Return the text of a file, packed by gzip or bzip2 or not.

    Args:
        path: the file.
        right: what it should be, for the error.

    Raises:
        InputError: if it cannot be read, or is no text.
    """
    try:
        with _unpacked(path) as file:
            return file.read().decode()
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise InputError(f"cannot be read: {error}", field=str(path), right=right) from None


def _rows(path: Path, right: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the words of each line that is neither empty nor a remark, and the line's number."""
    for number, line in enumerate(text_in(path, right).splitlines(), 1):
        words = line.split()
        if words and not line.startswith("#"):
            yield number, words


def _wrong(path: Path, line: int, words: list[str], form: str) -> InputError:
    return InputError("is not of the form", place=Place(str(path), line), given=" ".join(words)[:80], right=RIGHT[form])
