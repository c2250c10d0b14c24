"""The plan of a small Internet: nodes, cables, who has which addresses, and the routes between them. Pure data.

All addresses are from ranges that no real host has: RFC 2544 (198.18.0.0/15), RFC 5737 (192.0.2.0/24) and RFC 3849
(2001:db8::/32). A node's interfaces have addresses of its own block, and routers answer probes from the interface by
which these came, as real ones do: the nodes of a measured graph are interfaces.
"""

from __future__ import annotations

import dataclasses
import heapq
from dataclasses import dataclass, field
from typing import Any, Literal

Answers = Literal["always", "never", "seldom"]
"""How a router answers probes that expire at it: "seldom" is once a second and target, Linux's default."""
Fate = Literal["hosts", "monitor", "silent", "blackhole", "unreachable", "prohibited", "loop"]
"""The fate of packets to a prefix: its hosts answer; they hear and say nothing; the last router drops or refuses them
(!H, !X); or routers pass them round in a circle."""


@dataclass(frozen=True)
class Node:
    """A router, or the machine of hosts; `city` is where it stands."""

    name: str
    city: str
    block: int
    """Number of its own range of addresses, 1 to 254."""
    answers: Answers = "always"
    leaf: bool = False
    """It forwards nothing and sends everything to its one neighbour."""


@dataclass(frozen=True)
class Cable:
    """A link between two nodes."""

    ends: tuple[str, str]
    cost: int
    delay_us: int = 0
    """Propagation, one way."""
    queue_us: int = 0
    """Mean wait at either end, one way; waits are exponential."""
    alias: tuple[str, str] | None = None
    """(node, node): the first one's interface here has the address of the second one's loopback, in IPv4."""


@dataclass(frozen=True)
class Prefix:
    """A range of addresses, IPv4 and IPv6 alike, and the node that has it; for a loop, the nodes of the circle."""

    fate: Fate
    at: tuple[str, ...]
    number: int

    @property
    def v4(self) -> str:
        """The range: a /24 of hosts, or a monitor's one address."""
        return f"192.0.2.{self.number}/32" if self.fate == "monitor" else f"198.19.{self.number}.0/24"

    @property
    def v6(self) -> str:
        """The prefix in IPv6."""
        return f"2001:db8:ffff::{self.number:x}/128" if self.fate == "monitor" else f"2001:db8:f{self.number:03x}::/48"

    def host(self, version: int, number: int) -> str:
        """Return the address of a host in it, 1 to 254."""
        if self.fate == "monitor":
            return (self.v4 if version == 4 else self.v6).partition("/")[0]
        return f"198.19.{self.number}.{number}" if version == 4 else f"2001:db8:f{self.number:03x}::{number:x}"


@dataclass
class Internet:
    """The plan of a small Internet."""

    nodes: list[Node] = field(default_factory=list)
    cables: list[Cable] = field(default_factory=list)
    prefixes: list[Prefix] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)
    """The numbers given so far. Two Internets that share them give the same addresses to what both have."""

    def _number(self, kind: str, name: str) -> int:
        taken = sum(key.startswith(f"{kind} ") for key in self.numbers)
        return self.numbers.setdefault(f"{kind} {name}", taken + 1)

    def node(self, name: str, city: str, answers: Answers = "always", *, leaf: bool = False) -> str:
        """Add a node."""
        self.nodes.append(Node(name, city, self._number("node", name), answers, leaf))
        return name

    def cable(self, a: str, b: str, cost: int = 1, **more: Any) -> None:
        """Add a cable."""
        self.cables.append(Cable((a, b), cost, **more))

    def prefix(self, fate: Fate, *at: str) -> Prefix:
        """Give a node the next range of addresses."""
        number = self._number("monitor" if fate == "monitor" else "network", f"{fate} {at[0]}")
        self.prefixes.append(Prefix(fate, at, number))
        return self.prefixes[-1]

    def monitor(self, name: str) -> Prefix:
        """Return a monitor's address."""
        return next(p for p in self.prefixes if p.fate == "monitor" and p.at == (name,))

    def address(self, node: str, interface: int, version: int = 4) -> str:
        """Return a node's address: its loopback's is number 0."""
        block = next(n.block for n in self.nodes if n.name == node)
        return f"198.18.{block}.{interface + 1}" if version == 4 else f"2001:db8:{block:x}::{interface + 1:x}"

    def json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            name: [dataclasses.asdict(one) for one in getattr(self, name)] for name in ("nodes", "cables", "prefixes")
        }

    @classmethod
    def of(cls, data: dict[str, Any]) -> Internet:
        """Return what `json` gave."""
        return cls(
            [Node(**n) for n in data["nodes"]],
            [Cable(**(c | {"ends": tuple(c["ends"])})) for c in data["cables"]],
            [Prefix(p["fate"], tuple(p["at"]), p["number"]) for p in data["prefixes"]],
        )


Hop = tuple[int, str]
"""A cable's number and the node at its other end."""


def neighbours(net: Internet) -> dict[str, list[Hop]]:
    """Return each node's cables, in the order of its interfaces 1, 2, …"""
    found: dict[str, list[Hop]] = {node.name: [] for node in net.nodes}
    for number, cable in enumerate(net.cables):
        a, b = cable.ends
        found[a].append((number, b))
        found[b].append((number, a))
    return found


def next_hops(net: Internet, target: str) -> dict[str, list[Hop]]:
    """Return for each node all its next hops on shortest paths to another one."""
    beside = neighbours(net)
    leaves = {node.name for node in net.nodes if node.leaf}
    distance = {target: 0}
    heap = [(0, target)]
    while heap:
        far, name = heapq.heappop(heap)
        if far > distance[name] or (name in leaves and name != target):
            continue
        for number, other in beside[name]:
            through = far + net.cables[number].cost
            if through < distance.get(other, through + 1):
                distance[other] = through
                heapq.heappush(heap, (through, other))
    return {
        name: [
            (number, other)
            for number, other in beside[name]
            if other in distance
            and (other not in leaves or other == target)
            and distance[other] + net.cables[number].cost == far
        ]
        for name, far in distance.items()
        if name != target
    }


def routes(net: Internet, prefix: Prefix) -> dict[str, list[Hop]]:
    """Return each forwarding node's next hops to a prefix; the nodes of a loop pass it on to the next of them."""
    found = next_hops(net, prefix.at[0])
    beside = neighbours(net)
    if prefix.fate == "loop":
        for name, after in zip(prefix.at, prefix.at[1:] + prefix.at[:1], strict=True):
            found[name] = [hop for hop in beside[name] if hop[1] == after][:1]
    return found


def paths(net: Internet, source: str, prefix: Prefix) -> list[list[str]]:
    """Return every path of nodes that packets from a node to a prefix may take, source and target included.

    Raises:
        ValueError: for a loop, whose paths have no end.
    """
    if prefix.fate == "loop":
        raise ValueError("a path into a loop has no end")
    found = routes(net, prefix)
    grown = [[source]]
    while any(path[-1] != prefix.at[0] for path in grown):
        grown = [
            [*path, *step]
            for path in grown
            for step in ([[]] if path[-1] == prefix.at[0] else [[other] for _, other in found[path[-1]]])
        ]
    return grown
