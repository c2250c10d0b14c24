"""Builds a plan out of network namespaces, veths, routes and queue disciplines.

Nothing has a name in the file system: a namespace lives as long as this process holds it open. However the process
ends, the kernel takes the whole rig down with it.

A link of the kernel's own is a chain of veths across one namespace of wires, so that a host never feels the queue of a
link through its own socket, and rate with queue is kept apart from delay and loss:

    node a ── x: netem rate, limit ── y: losses, netem delay ── node b

A queue that is not drop-tail in packets is a qdisc of the kernel. It stands below a shaper that takes packets from it
at the link's rate, and serialisation is a place of its own behind it (`queues.build`):

    node a ── x: htb with the qdisc ── s: netem rate ── y: losses, netem delay ── node b

Every interface has the same hardware address and asks nobody for one (NOARP); none has an IP address. Each node has one
address, on its loopback interface.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import itertools
import os
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyroute2 import IPRoute
from pyroute2.netlink.rtnl.tcmsg import sched_netem

from haltere import core
from haltere.rig import bpf, queues, tc
from haltere.rig.plan import Direction, Link, Plan, Route

MAC = "02:00:00:00:00:01"
_NEWNET = 0x40000000
_IP_ONLY = -14
"""Ethernet's header does not count: rates are those of IP packets, as everywhere in haltere."""
_NO_LIMIT = 1 << 30
_SIOCETHTOOL = 0x8946
_OFFLOADS = {"TSO": 0x1F, "GSO": 0x24, "GRO": 0x2C}
_libc = ctypes.CDLL(None, use_errno=True)


def _without_estimator(request: dict[str, Any]) -> None:
    request.pop("rate", None)


# pyroute2 0.9 gives a netem's rate to the qdisc's rate estimator as well, which the kernel refuses; its plugins for
# other disciplines have this hook against it.
sched_netem.fix_request = _without_estimator


def _checked(answer: int, what: str) -> None:
    if answer != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


@contextlib.contextmanager
def inside(namespace: int) -> Iterator[None]:
    """Be in a network namespace for a while (this thread only)."""
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        _checked(_libc.setns(namespace, _NEWNET), "setns")
        yield
    finally:
        _checked(_libc.setns(home, _NEWNET), "setns")
        os.close(home)


def new_namespace() -> int:
    """Make a network namespace; it lives as long as something holds it open."""
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        _checked(_libc.unshare(_NEWNET), "a new network namespace")
        made = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        _checked(_libc.setns(home, _NEWNET), "setns")
    finally:
        os.close(home)
    return made


def set_kernel(name: str, value: str) -> None:
    """Set a kernel parameter of the namespace that this thread is in, such as `net.ipv4.ip_forward`."""
    Path("/proc/sys", *name.split(".")).write_text(value)


class Namespace:
    """A network namespace with a netlink socket in it."""

    def __init__(self) -> None:
        self.fd = new_namespace()
        with inside(self.fd):
            self.route = IPRoute()
            self.netlink = tc.Socket()
        self._count = 0
        self.taps: list[str] = []

    @property
    def path(self) -> str:
        """Where other processes can open it, as long as this one lives."""
        return f"/proc/{os.getpid()}/fd/{self.fd}"

    def name(self, prefix: str) -> str:
        """Return a name that no interface here has."""
        self._count += 1
        return f"{prefix}{self._count}"

    def index(self, interface: str) -> int:
        """Return an interface's number."""
        with inside(self.fd):
            return socket.if_nametoindex(interface)

    def close(self) -> None:
        """Let it go."""
        self.route.close()
        self.netlink.close()
        os.close(self.fd)


@dataclass(frozen=True)
class Interface:
    """An end of a link or of a piece of one."""

    namespace: Namespace
    name: str
    index: int


@dataclass
class LinkTaps:
    """Where a link direction's packets are seen: as they are offered, at the end of serialisation, on arrival."""

    offered: tuple[Interface, str]
    departed: tuple[Interface, str] | None
    arrived: tuple[Interface, str]


@dataclass
class Rig:
    """A built plan."""

    plan: Plan
    nodes: list[Namespace]
    wires: Namespace | None = None
    ends: dict[tuple[int, int], Interface] = field(default_factory=dict)
    """(link, node) to the node's interface."""
    taps: dict[tuple[int, str], LinkTaps] = field(default_factory=dict)
    """(link, direction) to where it is watched; empty with the emulator's links, which count for themselves."""
    emulated: list[dict[str, Any]] = field(default_factory=list)
    droppers: list[bpf.Dropper] = field(default_factory=list)
    shaped: dict[tuple[int, str], Interface] = field(default_factory=dict)
    """(link, direction) to the interface that has a queue discipline of the kernel below a shaper."""

    def counts(self) -> dict[tuple[int, str], queues.Counts]:
        """Return what the queue disciplines have counted, by (link, direction)."""
        return {
            (number, way): queues.counts(
                place.namespace.netlink, place.index, dict(self.plan.links[number].directions)[way].queue
            )
            for (number, way), place in self.shaped.items()
        }

    def close(self) -> None:
        """Take it down."""
        for dropper in self.droppers:
            dropper.close()
        for namespace in [*self.nodes, *([self.wires] if self.wires else [])]:
            namespace.close()


def build(plan: Plan, scenario: core.Scenario, seed: int, replication: int) -> Rig:
    """Build a plan. With `links = "haltere"` the links themselves are left to the emulator: see `Rig.emulated`.

    Raises:
        OSError: if the kernel refuses something; nothing is left behind.
    """
    rig = Rig(plan, [])
    try:
        for _ in plan.nodes:
            rig.nodes.append(_node())
        if plan.made_by == "kernel":
            rig.wires = _quiet(Namespace())
            for link in plan.links:
                _kernel_link(rig, link, scenario, seed, replication)
        else:
            for link in plan.links:
                _emulated_link(rig, link)
    except BaseException:
        rig.close()
        raise
    return rig


def _quiet(namespace: Namespace) -> Namespace:
    """Without IPv6, whose own packets would count as traffic."""
    with inside(namespace.fd), contextlib.suppress(FileNotFoundError):  # a kernel without IPv6
        set_kernel("net.ipv6.conf.all.disable_ipv6", "1")
        set_kernel("net.ipv6.conf.default.disable_ipv6", "1")
    return namespace


def _node() -> Namespace:
    node = _quiet(Namespace())
    with inside(node.fd):
        for name, value in (
            ("net.ipv4.ip_forward", "1"),
            ("net.ipv4.conf.all.send_redirects", "0"),
            ("net.ipv4.conf.default.send_redirects", "0"),
            ("net.ipv4.conf.all.rp_filter", "0"),
            ("net.ipv4.conf.default.rp_filter", "0"),
            ("net.ipv4.tcp_no_metrics_save", "1"),
        ):
            set_kernel(name, value)
    return node


def start(rig: Rig) -> None:
    """Bring everything up and set addresses and routes; emulated links must be there by now."""
    plan = rig.plan
    for number, home in enumerate(rig.nodes):
        for address in plan.addresses_of(number):
            home.route.addr("add", index=1, address=address.ip, prefixlen=32)
        home.route.link("set", index=1, state="up")
    for spec in rig.emulated:
        for end in spec["ends"]:
            namespace = rig.nodes[end["node"]]
            name = end["interface"]
            rig.ends[spec["link"], end["node"]] = Interface(namespace, name, namespace.index(name))
    for number, home in enumerate(rig.nodes):
        for source in {route.source for route in plan.routes if route.node == number and route.source is not None}:
            home.route.rule("add", src=plan.addresses[source].ip, src_len=32, table=_table(source))
    for route in plan.routes:
        set_route(rig, route)


def _table(source: int) -> int:
    """The routing table for what comes from an address: behind those that the kernel keeps for itself."""
    return 1000 + source


def set_route(rig: Rig, route: Route, *, congestion: str | None = None, metrics: dict[str, int] | None = None) -> None:
    """Set a route.

    Connections across it have the congestion control, if one is given, and what `metrics` says, such as `initcwnd`.

    A route for one source address stands in a table of its own, and in the main one for sockets that are not bound yet.
    A crossing route stands in the former only.
    """
    plan = rig.plan
    home = rig.nodes[route.node].route
    source = plan.address(route.node) if route.source is None else plan.addresses[route.source].ip
    values: dict[str, int | str] = dict(metrics or {})
    if congestion is not None:
        values["cc_algo"] = congestion
    tables: list[dict[str, int]] = [] if route.source is None else [{"table": _table(route.source)}]
    for table in tables if route.crossing else [*tables, {}]:
        home.route(
            "replace",
            dst=f"{plan.addresses[route.to].ip}/32",
            oif=rig.ends[route.link, route.node].index,
            scope="link",
            prefsrc=source,
            **table,
            **({"metrics": values} if values else {}),
        )


def _emulated_link(rig: Rig, link: Link) -> None:
    ends = [{"node": n, "netns": rig.nodes[n].path, "interface": rig.nodes[n].name("t")} for n in link.ends]
    rig.emulated.append({"link": link.number, "name": link.name, "ends": ends})


def veth(a: Namespace, b: Namespace, mtu: int) -> tuple[Interface, Interface]:
    """Join two namespaces by a pair of interfaces that are up, have no address and ask for none."""
    names = a.name("v"), b.name("v")
    a.route.link(
        "add",
        ifname=names[0],
        kind="veth",
        address=MAC,
        mtu=mtu,
        flags=0x81,
        change=0x81,
        peer={"ifname": names[1], "net_ns_fd": b.fd, "address": MAC, "mtu": mtu},
    )
    made = []
    for namespace, name in zip((a, b), names, strict=True):
        index = namespace.index(name)
        namespace.route.link("set", index=index, flags=0x81, change=0x81)  # IFF_UP, IFF_NOARP
        with inside(namespace.fd), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as door:
            for command in _OFFLOADS.values():
                value = bytearray(struct.pack("II", command, 0))
                address = (ctypes.c_char * len(value)).from_buffer(value)
                request = struct.pack("16sP16x", name.encode(), ctypes.addressof(address))
                with contextlib.suppress(OSError):  # a driver without that offload
                    fcntl.ioctl(door, _SIOCETHTOOL, request)
        made.append(Interface(namespace, name, index))
    return made[0], made[1]


def _one_way(a: Namespace, b: Namespace, mtu: int) -> tuple[Interface, Interface]:
    """Join the place of a queue discipline with the next one by a pair for one direction only.

    A discipline takes an interface's MTU and Ethernet's header for the longest packet. As it sees the lengths of IP
    packets here, its interface has an MTU that is shorter by the header. Packets that came in there would be too long.
    """
    outward, inward = veth(a, b, mtu)
    a.route.link("set", index=outward.index, mtu=mtu + _IP_ONLY)
    return outward, inward


def _kernel_link(rig: Rig, link: Link, scenario: core.Scenario, seed: int, replication: int) -> None:
    wires = rig.wires
    if wires is None:
        raise AssertionError("kernel links need the namespace of wires")
    a, b = (rig.nodes[n] for n in link.ends)
    mtu = max(link.down.mtu, link.up.mtu)
    stages = [
        stage
        for stage, asked in (
            ("queue", any(d.rate_bps for _, d in link.directions)),
            ("serialiser", any(d.shaped for _, d in link.directions)),
            ("wire", any(d.wire for _, d in link.directions)),
        )
        if asked
    ]
    places = [a, *([wires] * len(stages)), b]
    chain = [end for pair in itertools.pairwise(places) for end in veth(*pair, mtu)]
    rig.ends[link.number, link.ends[0]] = chain[0]
    rig.ends[link.number, link.ends[1]] = chain[-1]
    for way, (name, direction) in enumerate(link.directions):
        path = chain if way == 0 else chain[::-1]
        if direction.shaped:
            path = [*path[:2], *_one_way(path[2].namespace, path[3].namespace, mtu), *path[4:]]
        bits = b""
        if direction.lossy:
            bits = core.losses(scenario, seed, replication, 2 * link.number + way, rig.plan.packets())
        # Both directions have the same stages, each in the order in which its packets pass them.
        for number, stage in enumerate(stages):
            _stage(rig, stage, path[2 * number + 1], path[2 * number + 2], direction, bits)
        if direction.shaped:
            rig.shaped[link.number, name] = path[2]
        departed = None
        if stages and stages != ["wire"]:
            behind = path[2 * len(stages) - 1 if stages[-1] == "wire" else -1]
            if behind is not path[-1] or direction.rate_bps:
                departed = (behind, "incoming")
        rig.taps[link.number, name] = LinkTaps((path[0], "outgoing"), departed, (path[-1], "incoming"))


def _stage(rig: Rig, stage: str, inward: Interface, outward: Interface, direction: Direction, bits: bytes) -> None:
    """Set forwarding and queue discipline at one place of a link, for one direction.

    Packets come in by `inward` and leave by `outward`. `bits` are the direction's losses.
    """
    shaped = stage == "queue" and direction.shaped
    if bits and stage == "wire":
        dropper = bpf.Dropper.make(bits, outward.index)
        rig.droppers.append(dropper)
        program = dropper.fd
    else:
        program = bpf.route(outward.index) if shaped else bpf.redirect(outward.index)
    inward.namespace.route.tc("add", "clsact", inward.index)
    inward.namespace.route.tc(
        "add-filter",
        "bpf",
        inward.index,
        ":1",
        fd=program,
        name="haltere",
        parent="ffff:fff2",
        classid=1,
        direct_action=True,
    )
    if not (bits and stage == "wire"):
        os.close(program)
    if shaped:
        length = queues.interface_queue(direction.queue)
        if length is not None:
            outward.namespace.route.link("set", index=outward.index, txqlen=length)
        queues.build(outward.namespace.netlink, outward.index, direction.queue, direction.ends)
    elif stage == "queue" and direction.rate_bps:
        _rate(outward, direction.rate_bps, direction.queue_packets + 1)
    elif stage == "serialiser" and direction.shaped and direction.rate_bps:
        _rate(outward, direction.rate_bps, _NO_LIMIT)
    elif stage == "wire" and direction.delay_ns:
        _netem(outward, limit=_NO_LIMIT, delay=direction.delay_ns / 1000)


def _rate(interface: Interface, bps: int, limit: int) -> None:
    _netem(interface, limit=limit, rate=f"{bps}bit", packet_overhead=_IP_ONLY)


def _netem(interface: Interface, **parameters: Any) -> None:
    interface.namespace.route.tc("add", "netem", interface.index, "1:", **parameters)
