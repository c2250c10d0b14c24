"""Builds a small Internet of network namespaces. Nothing of it has a name, so that it ends with this process."""

from __future__ import annotations

import contextlib
import math
import struct
from dataclasses import dataclass, field
from typing import Any

from pyroute2.netlink import NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST, nlmsg
from pyroute2.netlink.rtnl import RTM_NEWQDISC, TC_H_ROOT

from haltere.rig.namespaces import MAC, Interface, Namespace, inside, set_kernel, veth
from internet.plan import Hop, Internet, Node, Prefix, neighbours, routes

MTU = 1500
_NODAD, _PERMANENT, _ONLINK, _NOARP = 2, 0x80, 4, 0x80  # linux/if_addr.h, neighbour.h, rtnetlink.h, if.h
_NEVER_MS = str((1 << 31) - 1)
_SECOND_MS = "1000"
_KERNEL: tuple[tuple[str, str], ...] = (
    ("net.ipv4.ip_forward", "1"),
    ("net.ipv4.conf.all.rp_filter", "0"),
    ("net.ipv4.conf.default.rp_filter", "0"),
    ("net.ipv4.conf.all.send_redirects", "0"),
    ("net.ipv4.conf.default.send_redirects", "0"),
    # Where two routers have one address, the answers of the one pass through the other.
    ("net.ipv4.conf.all.accept_local", "1"),
    ("net.ipv4.icmp_errors_use_inbound_ifaddr", "1"),
    # A flow is its five-tuple, as in most routers: Paris traceroute keeps it, classic traceroute does not.
    ("net.ipv4.fib_multipath_hash_policy", "1"),
    ("net.ipv6.fib_multipath_hash_policy", "1"),
    ("net.ipv6.conf.all.forwarding", "1"),
    ("net.ipv6.conf.default.accept_dad", "0"),
    ("net.ipv6.conf.default.accept_ra", "0"),
    ("net.ipv6.conf.default.router_solicitations", "0"),
    ("net.ipv6.conf.default.addr_gen_mode", "1"),
)
_SILENT = (("net.ipv4.icmp_echo_ignore_all", "1"), ("net.ipv6.icmp.echo_ignore_all", "1"))


@dataclass
class Built:
    """A small Internet that has been built."""

    net: Internet
    homes: dict[str, Namespace] = field(default_factory=dict)
    ends: dict[tuple[int, str], Interface] = field(default_factory=dict)
    """(cable, node) to the node's interface."""

    def close(self) -> None:
        """Remove it."""
        for home in self.homes.values():
            home.close()


def build(net: Internet, *, seed: int, delays: bool) -> Built:
    """Build it; without `delays` no queue discipline is needed of the kernel.

    Raises:
        OSError: if the kernel refuses something; nothing is left behind.
    """
    built = Built(net)
    try:
        for number, node in enumerate(net.nodes):
            built.homes[node.name] = _home(net, node, seed + number)
        for number in range(len(net.cables)):
            _lay(built, number, seed=seed if delays else None)
        for prefix in net.prefixes:
            _own(built, prefix)
            for name, hops in routes(net, prefix).items():
                if not _leaf(net, name):
                    _route(built, name, prefix, hops)
        for node in net.nodes:
            if node.leaf:
                _default(built, node.name)
    except BaseException:
        built.close()
        raise
    return built


def _leaf(net: Internet, name: str) -> bool:
    return next(node.leaf for node in net.nodes if node.name == name)


def _home(net: Internet, node: Node, seed: int) -> Namespace:
    home = Namespace()
    silent = any(p.fate == "silent" and p.at == (node.name,) for p in net.prefixes)
    with inside(home.fd):
        for name, value in (*_KERNEL, *_telling("never" if silent else node.answers), *(_SILENT if silent else ())):
            set_kernel(name, value)
        with contextlib.suppress(OSError):  # Linux before 6.11: which path a flow takes is not repeatable there
            set_kernel("net.ipv4.fib_multipath_hash_seed", str(seed + 1))
    home.route.link("set", index=1, state="up")
    _address(home, 1, f"{net.address(node.name, 0)}/32")
    _address(home, 1, f"{net.address(node.name, 0, 6)}/128")
    return home


def _address(home: Namespace, index: int, text: str) -> None:
    address, _, length = text.partition("/")
    # At once: nobody else can have it.
    home.route.addr("add", index=index, address=address, prefixlen=int(length), flags=_NODAD if ":" in address else 0)


def _telling(answers: str) -> list[tuple[str, str]]:
    """The kernel counts errors to each target against a limit; one that is long never lets the first through."""
    if answers == "always":
        return [("net.ipv4.icmp_ratelimit", "0"), ("net.ipv4.icmp_ratemask", "0"), ("net.ipv6.icmp.ratelimit", "0")]
    every = _NEVER_MS if answers == "never" else _SECOND_MS
    return [
        ("net.ipv4.icmp_ratelimit", every),
        ("net.ipv6.icmp.ratelimit", every),
    ]


def _lay(built: Built, number: int, *, seed: int | None) -> None:
    net, cable = built.net, built.net.cables[number]
    names = cable.ends
    for side, end in enumerate(veth(built.homes[names[0]], built.homes[names[1]], MTU)):
        name = names[side]
        built.ends[number, name] = end
        place = 1 + [hop[0] for hop in neighbours(net)[name]].index(number)
        address = net.address(name, place)
        if cable.alias and cable.alias[0] == name:
            address = net.address(cable.alias[1], 0)
        for text in (f"{address}/32", f"{net.address(name, place, 6)}/128", f"{_local(side)}/64"):
            _address(end.namespace, end.index, text)
        # What a leaf sends waits at the other end: programs see their probes leave behind their own interface's queue.
        times = 0 if _leaf(net, name) else 1 + _leaf(net, names[1 - side])
        if seed is not None and times and cable.delay_us + cable.queue_us:
            _delay(end, times * cable.delay_us, times * cable.queue_us, seed + 2 * number + side)


def _local(side: int) -> str:
    return f"fe80::{side + 1}"


def _own(built: Built, prefix: Prefix) -> None:
    for name in prefix.at:
        home = built.homes[name]
        for family, dst in ((2, prefix.v4), (10, prefix.v6)):
            if prefix.fate in ("hosts", "monitor", "silent"):
                home.route.route("add", family=family, type="local", table=255, dst=dst, oif=1, scope=254)
                if prefix.fate == "monitor":
                    _address(home, 1, dst)
            elif prefix.fate != "loop":
                kind = "prohibit" if prefix.fate == "prohibited" else prefix.fate
                home.route.route("add", family=family, type=kind, dst=dst)


def _nexthop(built: Built, name: str, hop: Hop, version: int) -> dict[str, Any]:
    number, other = hop
    oif = built.ends[number, name].index
    if version == 4:
        return {"oif": oif}
    # IPv6 has no multipath routes without gateways.
    return {"oif": oif, "gateway": _local(built.net.cables[number].ends.index(other))}


def _route(built: Built, name: str, prefix: Prefix, hops: list[Hop]) -> None:
    route = built.homes[name].route
    for version, dst in ((4, prefix.v4), (6, prefix.v6)):
        ways = [_nexthop(built, name, hop, version) for hop in hops]
        if len(ways) == 1:
            route.route("add", dst=dst, **ways[0], **({"scope": "link"} if version == 4 else {}))
        elif ways:
            route.route("add", dst=dst, multipath=ways)


def _default(built: Built, name: str) -> None:
    """Send everything of a leaf to its one neighbour."""
    (hop,) = neighbours(built.net)[name]
    route, oif = built.homes[name].route, built.ends[hop[0], name].index
    source: dict[int, dict[str, str]] = {4: {}, 6: {}}
    for prefix in built.net.prefixes:
        if prefix.at == (name,) and prefix.fate == "monitor":
            source = {version: {"prefsrc": prefix.host(version, 1)} for version in source}
            _answer(built, hop, prefix)
    place = 1 + [number for number, _ in neighbours(built.net)[hop[1]]].index(hop[0])
    gateway = built.net.address(hop[1], place)
    route.route("add", dst="0.0.0.0/0", gateway=gateway, oif=oif, flags=_ONLINK, **source[4])
    route.route("add", dst="::/0", **_nexthop(built, name, hop, 6), **source[6])


def _answer(built: Built, hop: Hop, monitor: Prefix) -> None:
    """Let a monitor's router say its hardware address, as scamper asks for it where it writes frames itself (-M)."""
    end = built.ends[hop]
    side = built.net.cables[hop[0]].ends.index(monitor.at[0])
    route = end.namespace.route
    route.link("set", index=end.index, flags=0, change=_NOARP)  # which forgets all neighbours
    for address in (monitor.host(4, 1), _local(side)):
        route.neigh("add", dst=address, lladdr=MAC, ifindex=end.index, state=_PERMANENT)


class _QueueMessage(nlmsg):  # type: ignore[misc]
    """A queue discipline with options as bytes: pyroute2 0.9 knows neither netem's tables nor its seed."""

    fields = (
        ("family", "B"),
        ("pad1", "B"),
        ("pad2", "H"),
        ("index", "i"),
        ("handle", "I"),
        ("parent", "I"),
        ("info", "I"),
    )
    nla_map = (("TCA_UNSPEC", "none"), ("TCA_KIND", "asciiz"), ("TCA_OPTIONS", "cdata"))


_SCALE = 8192
"""netem's tables are in units of the jitter divided by this (NETEM_DIST_SCALE)."""
_ENTRIES = 2048
_DIST, _LATENCY64, _JITTER64, _SEED = 2, 10, 11, 14  # linux/pkt_sched.h


def _waits() -> bytes:
    """Quantiles of the exponential distribution with mean 1; the table's numbers end at four times the mean."""
    quantiles = (-math.log1p(-(i + 0.5) / _ENTRIES) for i in range(_ENTRIES))
    return struct.pack(f"{_ENTRIES}h", *(min(round(q * _SCALE), (1 << 15) - 1) for q in quantiles))


def _attribute(kind: int, data: bytes) -> bytes:
    return struct.pack("HH", len(data) + 4, kind) + data + bytes(-len(data) % 4)


def _delay(end: Interface, delay_us: int, queue_us: int, seed: int) -> None:
    """Let packets out of an interface take their time: netem with propagation, and queues as jitter."""
    options = struct.pack("6I", 0, 1000, 0, 0, 0, 0)
    options += _attribute(_LATENCY64, struct.pack("q", delay_us * 1000))
    if queue_us:
        options += _attribute(_JITTER64, struct.pack("q", queue_us * 1000))
        options += _attribute(_DIST, _waits())
    options += _attribute(_SEED, struct.pack("Q", seed + 1))
    message = _QueueMessage()
    message["index"], message["handle"], message["parent"] = end.index, 0x10000, TC_H_ROOT
    message["attrs"] = [["TCA_KIND", "netem"], ["TCA_OPTIONS", options]]
    message["header"]["type"] = RTM_NEWQDISC
    message["header"]["flags"] = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL
    end.namespace.route.nlm_request_batch([message])
