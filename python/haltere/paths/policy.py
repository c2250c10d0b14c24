"""The routing policy of autonomous systems (ASes): their relationships, and what these make of a graph's links.

A path is valley-free if it climbs from customers to providers, follows at most one link between peers, and descends
from providers to customers (L. Gao, "On inferring autonomous system relationships in the Internet", IEEE/ACM
Transactions on Networking 9(6), 2001). Links within an AS may stand anywhere on it.

The relationships are CAIDA's (M. Luckie et al., "AS relationships, customer cones, and validation", IMC 2013).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from haltere.errors import InputError, Place, as_written
from haltere.paths.graph import PartialView
from haltere.paths.label_files import Label, text_in
from haltere.paths.levels import Level

Unknown = Literal["refuse", "peer", "free"]
"""Links between ASes of no known relationship: no path follows them; they join peers; any path may follow them."""

RIGHT = (
    "CAIDA's AS relationships: `<provider>|<customer>|-1` or `<peer>|<peer>|0` (serial-1), perhaps with the source "
    "as a fourth field (serial-2), such as `64500|64501|-1|bgp`"
)
_LEVELS = ("address", "router", "as")
_MOST = 2**32 - 1

FREE, UP, DOWN, PEER, REFUSED = range(5)
"""The relation of a link to a path from its end `a` to its end `b`, as the core numbers it: within an AS, from customer
to provider, from provider to customer, between peers, closed."""
_REVERSED = {UP: DOWN, DOWN: UP}
_UNKNOWN: dict[Unknown, int] = {"refuse": REFUSED, "peer": PEER, "free": FREE}


@dataclass(frozen=True)
class Relationships:
    """Which ASes are customers of which, and which are peers.

    Attributes:
        of: `UP`, `DOWN` or `PEER` of two AS numbers, the lower first, as a path from the lower to the higher sees it.
    """

    of: Mapping[tuple[int, int], int]

    def between(self, first: tuple[int, ...], second: tuple[int, ...]) -> int | None:
        """Return what a link between two nodes is to a path from the first to the second; None if it is not known.

        Args:
            first: the ASes of the node: one; several where a prefix has several origins; none if it is not known.
            second: those of the other one. Nodes with an AS in common are in one AS. Otherwise all known relationships
                between the two must be the same.
        """
        if set(first) & set(second):
            return FREE
        found = {one for a in first for b in second if (one := self._of_two(a, b)) is not None}
        return found.pop() if len(found) == 1 else None

    def _of_two(self, a: int, b: int) -> int | None:
        found = self.of.get((min(a, b), max(a, b)))
        return found if found is None or a < b else _REVERSED.get(found, found)


def read_as_relationships(path: Path) -> Relationships:
    """Read CAIDA's AS relationships (serial-1 and serial-2), packed by gzip or bzip2 or not.

    Raises:
        InputError: with file and line, if a line is not of the form, or contradicts an earlier one; if there is none.
    """
    found: dict[tuple[int, int], tuple[int, int]] = {}
    for line, text in enumerate(text_in(path, RIGHT).splitlines(), 1):
        if not text.strip() or text.startswith("#"):
            continue
        pair, relation = _read(path, line, text)
        first, before = found.setdefault(pair, (relation, line))
        if first != relation:
            right = f"the relationship of line {before}, or one of the two lines"
            raise InputError(
                f"contradicts line {before}", place=Place(str(path), line), given=text.strip()[:80], right=right
            )
    if not found:
        raise InputError("holds no relationship", field=str(path), right=RIGHT)
    return Relationships({pair: relation for pair, (relation, _) in found.items()})


def _read(path: Path, line: int, text: str) -> tuple[tuple[int, int], int]:
    fields = [field.strip() for field in text.split("|")]
    numbers = [int(field) for field in fields[:2] if field.isascii() and field.isdigit() and len(field) <= 10]
    known = len(fields) in (3, 4) and len(numbers) == 2 and fields[2] in ("-1", "0")
    if not known or not all(0 < number <= _MOST for number in numbers) or numbers[0] == numbers[1]:
        raise InputError("is not of the form", place=Place(str(path), line), given=text.strip()[:80], right=RIGHT)
    first, second = numbers
    relation = PEER if fields[2] == "0" else DOWN if first < second else UP
    return (min(first, second), max(first, second)), relation


@dataclass(frozen=True)
class Links:
    """The relations of a graph's links.

    Attributes:
        relations: of each link, in the order of `PartialView.links`: `FREE`, `UP`, `DOWN`, `PEER` or `REFUSED`; uint8.
        inside: how many links are within an AS.
        transit: how many join a customer and its provider.
        peering: how many join peers.
        unknown: how many have no known relationship.
    """

    relations: npt.NDArray[np.uint8]
    inside: int
    transit: int
    peering: int
    unknown: int


@dataclass(frozen=True)
class Rules:
    """A policy whose files have been read.

    Attributes:
        relationships: of ASes.
        systems: the AS of each address, such as `AS64500`.
        unknown: what is done with links of no known relationship.
    """

    relationships: Relationships
    systems: Label
    unknown: Unknown = "refuse"

    def links(self, view: PartialView) -> Links:
        """Return the relations of a graph's links.

        The AS of a router is that of most of its addresses; of ASes with as many, the first in the order of text. Nodes
        without an AS have no known relationship.
        """
        systems = self._systems(view)
        codes = np.empty(view.links.height, np.uint8)
        unknown = 0
        for i, (a, b) in enumerate(view.links.select("a", "b").iter_rows()):
            found = self.relationships.between(systems[a], systems[b])
            unknown += found is None
            codes[i] = _UNKNOWN[self.unknown] if found is None else found
        closed = {"refuse": REFUSED, "peer": PEER, "free": FREE}[self.unknown]
        counts = np.bincount(codes, minlength=5)
        counts[closed] -= unknown
        return Links(codes, int(counts[FREE]), int(counts[UP] + counts[DOWN]), int(counts[PEER]), unknown)

    def _systems(self, view: PartialView) -> list[tuple[int, ...]]:
        """The ASes of each node."""
        if view.members is not None:
            return [_numbers(self._most(addresses)) for addresses in view.members]
        names = view.nodes["address"]
        return [_numbers(name.decode() if view.labelled else self.systems(name)) for name in names]

    def _most(self, addresses: tuple[bytes, ...]) -> str | None:
        found = [one for one in map(self.systems, addresses) if one is not None]
        return min(found, key=lambda one: (-found.count(one), one), default=None)


def _numbers(label: str | None) -> tuple[int, ...]:
    """The AS numbers of a label such as `AS64500` or, of several origins, `AS64500_64501`."""
    if label is None or not label.startswith("AS"):
        return ()
    parts = label[2:].replace("_", ",").split(",")
    return tuple(int(part) for part in parts) if all(part.isascii() and part.isdigit() for part in parts) else ()


@dataclass(frozen=True)
class Policy:
    """The choice that paths are valley-free.

    Attributes:
        relationships: a file of AS relationships (`read_as_relationships`).
        unknown: what is done with links between nodes of no known relationship. `refuse` is what a graph of the known
            relationships does, which has no other links. `peer` takes them for peering, which is what tables of routes
            miss most (R. Oliveira et al., "The (in)completeness of the observed Internet AS-level structure", IEEE/ACM
            Transactions on Networking 18(1), 2010). `free` lets any path follow them, as links between siblings.
    """

    relationships: Path
    unknown: Unknown = "refuse"

    def rules(self, level: Level) -> Rules:
        """Read the files.

        Args:
            level: what a node of the graph is, and the files that tell the AS of an address.

        Raises:
            InputError: if a file cannot be read, `unknown` is not known, or nodes of the level are in no AS.
            ArgumentError: if no file tells the AS of an address.
        """
        if self.unknown not in get_args(Unknown):
            right = ", ".join(get_args(Unknown))
            raise InputError("is not known", field="unknown", given=as_written(self.unknown), right=right)
        if level.name not in _LEVELS:
            raise InputError(
                "has nodes of which no AS is known, so that no path is valley-free",
                field="level",
                given=level.name,
                right=", ".join(_LEVELS),
            )
        return Rules(read_as_relationships(self.relationships), level.systems("valley-free paths"), self.unknown)

    def says(self) -> dict[str, str]:
        """Return what the design of results says of it."""
        return {"paths": "valley-free", "as_relationships": self.relationships.name, "unknown": self.unknown}
