"""What a rig is made of: nodes, the links between them, addresses and routes. Pure data, from a scenario."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from haltere import core

Json = dict[str, Any]
FIRST_PORT = 5000


@dataclass(frozen=True)
class Direction:
    """One direction of a link. Rates in bit/s, times in ns, sizes in bytes."""

    rate_bps: int | None
    delay_ns: int
    mtu: int
    queue: Json
    loss: Json
    jitter: Json
    duplication: float
    trace_ms: list[int] | None = None
    mark: Json | None = None

    @property
    def queue_packets(self) -> int:
        """How many packets may wait; a queue in bytes holds that many full ones."""
        packets = self.queue.get("packets")
        return int(packets) if packets is not None else -(-int(self.queue["bytes"]) // self.mtu)

    @property
    def lossy(self) -> bool:
        """Whether packets are lost at random."""
        return bool(self.loss["model"] != "none")

    @property
    def jittery(self) -> bool:
        """Whether delays vary at random."""
        return bool(self.jitter["model"] != "none")

    @property
    def wire(self) -> bool:
        """Whether packets take time beyond the rate, or may be lost."""
        return self.delay_ns > 0 or self.lossy or self.jittery or self.duplication > 0


@dataclass(frozen=True)
class Link:
    """A link between two nodes; `down` goes from the first to the second."""

    number: int
    name: str
    ends: tuple[int, int]
    down: Direction
    up: Direction

    @property
    def directions(self) -> tuple[tuple[str, Direction], tuple[str, Direction]]:
        """Both directions by name."""
        return ("down", self.down), ("up", self.up)


@dataclass(frozen=True)
class Flow:
    """A transfer between two nodes."""

    number: int
    contender: str
    transport: Literal["tcp", "quic"]
    implementation: str
    congestion: str
    switches: dict[str, str]
    """What the contender switches, with values as contenders write them; `on` and `off` are words."""
    app: Literal["https", "http1", "raw"]
    pair: int
    server: int
    client: int
    mtu: int
    size: int | None
    start_ns: int
    only_modelled: tuple[str, ...] = ()
    """Fields of the flow that only the model heeds."""

    @property
    def port(self) -> int:
        """The server's port: every flow has its own."""
        return FIRST_PORT + self.number


@dataclass(frozen=True)
class Plan:
    """A whole rig."""

    nodes: tuple[str, ...]
    links: tuple[Link, ...]
    routes: tuple[tuple[int, int, int], ...]
    """(node, to, link): at `node`, what is for the node `to` goes onto `link`."""
    flows: tuple[Flow, ...]
    made_by: Literal["kernel", "haltere"]
    time_limit_ns: int
    duration_ns: int | None
    measure_from_ns: int

    def address(self, node: int) -> str:
        """The one IPv4 address of a node."""
        return f"10.{node >> 8}.{node & 255}.1"

    def packets(self) -> int:
        """More packets than any link direction will see: how long lists of losses must be."""
        seconds = (self.duration_ns or self.time_limit_ns) * 1e-9
        rates = [d.rate_bps for link in self.links for _, d in link.directions if d.lossy]
        if any(flow.size is None for flow in self.flows):
            most = max((rate for rate in rates if rate), default=10_000_000_000) * seconds / 8 / 400
        else:
            most = sum(flow.size or 0 for flow in self.flows) / 1000 * 2
        return min(int(most) + 20_000, 1 << 26)


DEFAULT_TIME_LIMIT_NS = 3600 * 10**9


def default_implementation(transport: str, app: str) -> str:
    """What carries a contender without an implementation on real Linux: our own pair, or a bare socket."""
    if transport == "quic":
        return "quinn"
    return "linux" if app == "raw" else "hyper"


def plan(scenario_json: str, seed: int = 0, replication: int = 0) -> Plan:
    """Plan the rig of a scenario for one run.

    Raises:
        ScenarioProblem: if the scenario is wrong, or asks of the kernel's links what they cannot do.
    """
    network = core.network(scenario_json, seed, replication)
    links = tuple(
        Link(i, link["name"], (link["from"], link["to"]), Direction(**link["down"]), Direction(**link["up"]))
        for i, link in enumerate(network["links"])
    )
    if network["made_by"] == "kernel":
        _check_kernel_links(links)
    flows = tuple(
        Flow(
            number=flow["flow"],
            implementation=flow.pop("implementation") or default_implementation(flow["transport"], flow["app"]),
            only_modelled=tuple(flow.pop("only_modelled")),
            **{key: value for key, value in flow.items() if key != "flow"},
        )
        for flow in network["flows"]
    )
    return Plan(
        nodes=tuple(network["nodes"]),
        links=links,
        routes=tuple((r["node"], r["to"], r["link"]) for r in network["routes"]),
        flows=flows,
        made_by=network["made_by"],
        time_limit_ns=network["time_limit_ns"] or DEFAULT_TIME_LIMIT_NS,
        duration_ns=network["duration_ns"],
        measure_from_ns=network["measure_from_ns"] or 0,
    )


def _check_kernel_links(links: tuple[Link, ...]) -> None:
    for link in links:
        for name, direction in link.directions:
            where = f"the link {link.name!r} has {{}} {name}, which the kernel's links here do not know"
            what = (
                "jitter"
                if direction.jittery
                else "duplication"
                if direction.duplication > 0
                else "a queue that marks"
                if direction.mark is not None
                else "a queue counted in bytes"
                if "packets" not in direction.queue and direction.rate_bps
                else None
            )
            if what:
                raise core.ScenarioProblem(where.format(what) + ': set links = "haltere"', "links")
