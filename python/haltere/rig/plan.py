"""The plan of a rig: nodes, the links between them, addresses and routes. Pure data, from a scenario."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from haltere import core
from haltere.plugins import store
from haltere.rig import disciplines
from haltere.rig.programs.base import Call

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
    ring: Json | None = None
    trace_ms: list[int] | None = None
    rate_profile: Json | None = None
    delay_profile: Json | None = None
    delay_reorders: bool = False
    outages: Json | None = None
    orbit: Json | None = None
    cellular: Json | None = None

    @property
    def queue_packets(self) -> int:
        """How many packets may wait; a queue in bytes holds that many full ones."""
        limit = str(self.queue["limit"])
        number = int(limit.rstrip("pB"))
        return number if limit.endswith("p") else -(-number // self.mtu)

    @property
    def plain(self) -> bool:
        """Whether the queue is drop-tail with a limit in packets, which the qdisc that makes the rate has."""
        return self.queue["discipline"] == "drop-tail" and str(self.queue["limit"]).endswith("p")

    @property
    def shaped(self) -> bool:
        """Whether the queue is a discipline of the kernel of its own, below a shaper."""
        return self.rate_bps is not None and not self.plain

    @property
    def ends(self) -> disciplines.Link:
        """The properties of this direction that a queue discipline is told."""
        return disciplines.Link(self.rate_bps or 0, self.mtu)

    @property
    def beyond_kernel(self) -> str | None:
        """The first property of this direction that the kernel's links cannot have, in words; None if there is none."""
        discipline = self.queue["discipline"]
        cannot = {
            "jitter": self.jittery,
            "duplication": self.duplication > 0,
            "a queue that marks at a length": discipline == "drop-tail" and "mark" in self.queue,
            f"a {discipline} without a link's rate": self.rate_bps is None and discipline in ("tbf", "cake"),
            "a ring": self.ring is not None,
            "a recorded rate": self.trace_ms is not None,
            "a rate that changes": self.rate_profile is not None,
            "a delay that changes": self.delay_profile is not None,
            "satellites": self.orbit is not None,
            "outages": self.outages is not None,
            "a cellular base station": self.cellular is not None,
        }
        wrong = next((what for what, asked in cannot.items() if asked), None)
        if wrong is None and self.shaped and (why := disciplines.refusal(self.queue, self.ends)) is not None:
            return f"a queue ({why})"
        return wrong

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
class FlowPath:
    """A path of a flow: the numbers of its ends' addresses, and of the link next to each end.

    A path with `backup` is in reserve.
    """

    client: int
    server: int
    client_link: int
    server_link: int
    backup: bool = False


@dataclass(frozen=True)
class Mqtt:
    """The parts of a flow with MQTT beside its publishers: a broker, which is its server, and a subscriber."""

    subscriber: int
    """The subscriber's node."""
    path: FlowPath
    """The path between subscriber and broker."""
    tls: bool
    """Whether there is TLS over TCP."""
    qos: int
    contender: str
    transport: Literal["tcp", "quic", "mptcp", "mpquic"]
    implementation: str
    congestion: str
    switches: dict[str, str]
    """Of the subscriber's connection."""
    limits: dict[str, int]
    """The broker's: `queue`, `drops_oldest`, `queue_qos0`, `window`, `receive_maximum`, `topic_alias_maximum`,
    `forwards_at_once`."""
    only_modelled: tuple[str, ...] = ()
    """Fields of `mqtt` that only the model heeds."""


@dataclass(frozen=True)
class Linux:
    """How a kernel is told what a contender switches."""

    refused: str | None
    """Why it cannot be."""
    parameters: dict[str, str | None]
    """The parameters of both hosts; `None`: the kernel's own."""
    metrics: dict[str, int]
    """The metrics of the routes between them: `advmss` in bytes, `initcwnd` in segments."""
    paced: bool
    acks_at_once: bool
    without_hystart: bool
    announces: bool
    """Whether the server announces its addresses, and the client waits for that."""


@dataclass(frozen=True)
class Flow:
    """A transfer between two nodes."""

    number: int
    contender: str
    transport: Literal["tcp", "quic", "mptcp", "mpquic", "rtp", "roq"]
    implementation: str
    congestion: str
    switches: dict[str, str]
    """The switches that the contender sets, with values as contenders write them; `on` and `off` are words."""
    parameters: dict[str, float]
    """The parameters of its congestion control that the contender sets."""
    linux: Linux
    app: Literal["https", "http1", "raw", "mqtt", "call"]
    pair: int
    server: int
    client: int
    paths: tuple[FlowPath, ...]
    """Its paths, that on which it connects first. A transport with a single path has no other."""
    mtu: int
    size: int | None
    start_ns: int
    tos: int | None = None
    """The type-of-service byte of both ends' packets."""
    mqtt: Mqtt | None = None
    """With MQTT the client's node is the publishers', the server's the broker's."""
    call: Call | None = None
    """The encoder, if it is a call."""
    only_modelled: tuple[str, ...] = ()
    """Fields of the flow that only the model heeds."""
    label: str | None = None
    """The label that the scenario gives it."""
    direction: Literal["down", "up"] = "down"

    @property
    def kernel(self) -> bool:
        """Whether the kernel carries it: TCP or MPTCP."""
        return self.transport in ("tcp", "mptcp")

    @property
    def file(self) -> str | None:
        """The file of its congestion control; None if it has one that is built in."""
        name, digest, _ = self.congestion.partition(store.DIGEST)
        return name if digest else None

    @property
    def port(self) -> int:
        """The server's port: every flow has its own."""
        return FIRST_PORT + self.number


@dataclass(frozen=True, kw_only=True)
class Sending:
    """Packets from one node to another beside flows. Times in ns."""

    size_bytes: int
    timeout_ns: int
    pair: int
    sender: int
    receiver: int
    start_ns: int
    count: int | None
    duration_ns: int | None

    @property
    def ends(self) -> bool:
        """Whether it ends by itself."""
        return self.count is not None or self.duration_ns is not None


@dataclass(frozen=True, kw_only=True)
class Probe(Sending):
    """Requests."""

    kind: Literal["icmp", "udp", "tcp"]
    mode: Literal["stop-and-wait", "free-running"]
    interval_ns: int


@dataclass(frozen=True, kw_only=True)
class Load(Sending):
    """Datagrams; the rate in bit/s."""

    kind: Literal["trains", "constant", "on-off", "replay"]
    rate_bps: int | None
    packets: int | None
    answer_bytes: int | None
    gap_ns: int
    periods_ns: list[int]
    """On-off: the lengths of its periods in turn, with packets and without."""


@dataclass(frozen=True)
class Address:
    """An IPv4 address of a node; with a `link`, that of the node's end of this link."""

    number: int
    node: int
    link: int | None

    @property
    def ip(self) -> str:
        """The address, dotted."""
        return f"10.{self.number >> 8}.{self.number & 255}.1"


@dataclass(frozen=True)
class Route:
    """At `node`, packets to the address `to` take `link`.

    With `source`, this holds for packets from this address of the node only. `crossing` routes join addresses that
    are not a pair, for further subflows of MPTCP.
    """

    node: int
    source: int | None
    to: int
    link: int
    crossing: bool = False


@dataclass(frozen=True)
class Plan:
    """A whole rig."""

    nodes: tuple[str, ...]
    addresses: tuple[Address, ...]
    """All of them, by number."""
    links: tuple[Link, ...]
    routes: tuple[Route, ...]
    flows: tuple[Flow, ...]
    probes: tuple[Probe, ...]
    loads: tuple[Load, ...]
    made_by: Literal["kernel", "haltere"]
    time_limit_ns: int
    duration_ns: int | None
    measure_from_ns: int

    def addresses_of(self, node: int) -> tuple[Address, ...]:
        """The addresses of a node, its first one first."""
        return tuple(address for address in self.addresses if address.node == node)

    def address(self, node: int) -> str:
        """The first IPv4 address of a node."""
        return self.addresses_of(node)[0].ip

    def route(self, node: int, to: int) -> Route:
        """The route at one node that leads to the first address of another."""
        target = self.addresses_of(to)[0].number
        return next(route for route in self.routes if (route.node, route.to) == (node, target))

    def routes_between(self, node: int, to: int) -> tuple[Route, ...]:
        """All routes at one node that lead to an address of another."""
        return tuple(r for r in self.routes if r.node == node and self.addresses[r.to].node == to)

    def delivery_port(self, flow: Flow) -> int:
        """The port at which a broker waits for a flow's subscriber."""
        return FIRST_PORT + len(self.flows) + len(self.probes) + len(self.loads) + flow.number

    def packets(self) -> int:
        """More packets than any link direction will see: how long lists of losses must be."""
        seconds = (self.duration_ns or self.time_limit_ns) * 1e-9
        rates = [d.rate_bps for link in self.links for _, d in link.directions if d.lossy]
        if self.probes or self.loads or any(flow.size is None or flow.mqtt is not None for flow in self.flows):
            most = max((rate for rate in rates if rate), default=10_000_000_000) * seconds / 8 / 400
        else:
            most = sum(flow.size or 0 for flow in self.flows) / 1000 * 2
        return min(int(most) + 20_000, 1 << 26)


DEFAULT_TIME_LIMIT_NS = 3600 * 10**9


def default_implementation(transport: str, app: str) -> str:
    """The implementation of a contender that names none, on real Linux: our own pair, a broker, or a bare socket."""
    if transport == "mpquic":
        return "none"
    if app == "mqtt":
        return "mochi" if transport == "quic" else "mosquitto"
    if transport == "quic":
        return "quinn"
    return "linux" if app == "raw" else "hyper"


def plan(scenario: core.Scenario, seed: int = 0, replication: int = 0) -> Plan:
    """Plan the rig of a scenario for one run.

    Raises:
        ScenarioProblem: if the scenario is wrong, or asks of the kernel's links what they cannot do.
    """
    network = core.network(scenario, seed, replication)
    links = tuple(
        Link(i, link["name"], (link["from"], link["to"]), Direction(**link["down"]), Direction(**link["up"]))
        for i, link in enumerate(network["links"])
    )
    _check_code(links)
    if network["made_by"] == "kernel":
        _check_kernel_links(links)
    return _plan(network, links)


def of_nodes(scenario: core.Scenario, seed: int = 0, replication: int = 0) -> Plan:
    """Plan what programs on nodes of the simulator do in one run. Links are the simulator's, and no part of it."""
    return _plan(core.network_of_nodes(scenario, seed, replication), ())


def _plan(network: Json, links: tuple[Link, ...]) -> Plan:
    flows = tuple(_flow(flow) for flow in network["flows"])
    return Plan(
        nodes=tuple(network["nodes"]),
        links=links,
        addresses=tuple(Address(number, **address) for number, address in enumerate(network["addresses"])),
        routes=tuple(Route(r["node"], r["from"], r["to"], r["link"], r["crossing"]) for r in network["routes"]),
        flows=flows,
        probes=tuple(Probe(**probe) for probe in network["probes"]),
        loads=tuple(Load(**load) for load in network["loads"]),
        made_by=network["made_by"],
        time_limit_ns=network["time_limit_ns"] or DEFAULT_TIME_LIMIT_NS,
        duration_ns=network["duration_ns"],
        measure_from_ns=network["measure_from_ns"] or 0,
    )


def _flow(flow: Json) -> Flow:
    if (mqtt := flow.pop("mqtt")) is not None:
        flow["app"] = "mqtt"
    if (call := flow.pop("call")) is not None:
        flow["app"] = "call"
    return Flow(
        number=flow["flow"],
        implementation=flow.pop("implementation") or default_implementation(flow["transport"], flow["app"]),
        only_modelled=tuple(flow.pop("only_modelled")),
        paths=_paths(flow.pop("ways"), flow["transport"]),
        mqtt=None if mqtt is None else _mqtt(mqtt),
        call=None if call is None else Call(**call),
        linux=Linux(**flow.pop("linux")),
        **{key: value for key, value in flow.items() if key != "flow"},
    )


def _mqtt(mqtt: Json) -> Mqtt:
    delivery = mqtt["delivery"]
    named = delivery.pop("implementation")
    return Mqtt(
        subscriber=mqtt["subscriber"],
        path=FlowPath(**mqtt["ways"][0]),
        tls=mqtt["tls"],
        qos=mqtt["qos"],
        implementation=named or default_implementation(delivery["transport"], "mqtt"),
        limits=mqtt["broker"],
        only_modelled=tuple(mqtt["only_modelled"]),
        **delivery,
    )


def _paths(ways: list[Json], transport: str) -> tuple[FlowPath, ...]:
    """Return the paths that a transport uses of those that a flow has."""
    several = transport in ("mptcp", "mpquic")
    return tuple(FlowPath(**way) for way in (ways if several else ways[:1]))


def _check_code(links: tuple[Link, ...]) -> None:
    """Refuse queues whose discipline is a file of code: nobody would hear of it if that fails."""
    for link in links:
        for name, direction in link.directions:
            if direction.queue["discipline"].startswith((".", "/")):
                where = f"the queue of the link {link.name!r} {name} is a file, which the simulator alone runs"
                raise core.ScenarioProblem(where + ': choose another one, or fidelity "model"', "topology")


def _check_kernel_links(links: tuple[Link, ...]) -> None:
    for link in links:
        for name, direction in link.directions:
            what = direction.beyond_kernel
            if what:
                where = f"the link {link.name!r} has {what} {name}, which the kernel's links here do not know"
                raise core.ScenarioProblem(where + ': set links = "haltere"', "links")
