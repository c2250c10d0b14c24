"""How hosts of a rig are set: their kernel parameters for the switches of contenders, and the addresses of MPTCP.

A client opens a subflow from each of its other addresses as soon as the server has acknowledged data (`subflow`
endpoints). All of these go to the server's first address; the client's address decides which path they take. With the
switch `add-addr` it is the server that announces its other addresses (`signal` endpoints), and the client connects to
them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pyroute2 import MPTCP

from haltere.rig.namespaces import Rig, inside, set_kernel, set_route
from haltere.rig.plan import Flow

TUNED = {"net.ipv4.tcp_rmem": "4096 16777216 134217728", "net.ipv4.tcp_wmem": "4096 16777216 134217728"}
"""Buffers that never limit a transfer, as the model's hosts have them; `stockbuffers` leaves the kernel's own."""

_FIRST_SEND_BUFFER = 16_384
"""The kernel's own first send buffer, bytes: how much MPTCP gives to its first subflow before there is another."""

_HYSTART = Path("/sys/module/tcp_cubic/parameters/hystart")
_TIMESTAMP_OPTION = 12
"""Bytes of the timestamp option, padded (RFC 7323)."""
_UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}

Side = Literal["client", "server", "both"]


@dataclass(frozen=True)
class Parameter:
    """A parameter of a host's network namespace that a switch sets."""

    side: Side
    name: str
    words: Callable[[str], str | None]
    """The parameter's value for the switch's; `None` if the kernel has no such."""


def _ns(text: str) -> int:
    """Return a time as the core writes it (`1ms`) in ns."""
    unit = text.lstrip("0123456789")
    return int(text.removesuffix(unit)) * _UNITS[unit]


def _word(**words: str) -> Callable[[str], str | None]:
    return words.get


def _number(text: str) -> str | None:
    return text if text.isdigit() else None


def _number_or_off(text: str) -> str | None:
    return "0" if text == "off" else _number(text)


def _bytes(text: str) -> str | None:
    return text[:-1] if text[:-1].isdigit() and text.endswith("B") else None


def _us(text: str) -> str | None:
    return str(max(1, _ns(text) // 1000))


PARAMETERS = {
    "timestamps": Parameter("both", "net.ipv4.tcp_timestamps", _word(on="1", off="0")),
    "ecn": Parameter("both", "net.ipv4.tcp_ecn", _word(on="1", rfc3168="1", off="0")),
    "sack": Parameter("both", "net.ipv4.tcp_sack", _word(on="1", off="0")),
    "rack": Parameter("server", "net.ipv4.tcp_recovery", _word(on="1", off="0")),
    "tlp": Parameter("server", "net.ipv4.tcp_early_retrans", _word(on="3", off="0")),
    "frto": Parameter("server", "net.ipv4.tcp_frto", _word(on="2", off="0")),
    "dsack": Parameter("client", "net.ipv4.tcp_dsack", _word(on="1", off="0")),
    "loss-threshold": Parameter("server", "net.ipv4.tcp_reordering", _number),
    "idle-restart": Parameter("server", "net.ipv4.tcp_slow_start_after_idle", _word(on="1", off="0")),
    "tso-defer": Parameter("server", "net.ipv4.tcp_tso_win_divisor", _number),
    "tso-least": Parameter("server", "net.ipv4.tcp_min_tso_segs", _number),
    "tsq": Parameter("server", "net.ipv4.tcp_limit_output_bytes", _bytes),
    "syn-retries": Parameter("client", "net.ipv4.tcp_syn_retries", _number),
    "data-retries": Parameter("server", "net.ipv4.tcp_retries2", _number),
    "sack-compression-acks": Parameter("client", "net.ipv4.tcp_comp_sack_nr", _number),
    "rto-min": Parameter("server", "net.ipv4.tcp_rto_min_us", _us),
}
"""The switches that one parameter of the kernel sets."""

SUBFLOWS = {"stale-after": Parameter("server", "net.mptcp.stale_loss_cnt", _number_or_off)}
"""The parameters of MPTCP."""

_ROUTES = ("initial-window", "segment")
_BUFFERS = ("receive-window", "max-receive-window")
_SOCKETS = {"pacing": ("on", "off"), "delack": ("on", "off")}
_OTHERS = {
    "hystart": ("linux", "off"),
    "rto": ("linux", "rfc6298"),
    "reno-friendly": ("linux",),
    "scheduler": ("linux",),
    "reinjection": ("timer",),
    "opportunistic": ("off",),
    "penalisation": ("off",),
    "add-addr": ("on", "off"),
    "subflow-buffer": ("auto",),
    "nagle": ("on", "off"),
    # The kernels in virtual time are built so; that of this machine may not be.
    "header-room": ("320B",),
}
KNOWN = {"stockbuffers", "sack-compression", *PARAMETERS, *SUBFLOWS, *_ROUTES, *_BUFFERS, *_SOCKETS, *_OTHERS}
"""The switches of a contender that a kernel has."""


def refusal(flow: Flow) -> str | None:
    """Return why a kernel cannot do what a flow's contender switches, if it cannot."""
    # The parameters of a file are its module's.
    of_ours = {} if flow.file else {name: str(value) for name, value in flow.parameters.items()}
    for switch, value in (of_ours | flow.switches).items():
        if switch not in KNOWN:
            known = ", ".join(sorted(KNOWN))
            return f'the kernel has no switch {switch!r}, the model has: choose fidelity "model", or of {known}'
        if switch == "stockbuffers":
            continue
        if not flow.kernel:
            return (
                f"a QUIC program has mechanisms of its own, which {switch!r} does not reach: leave it out, or choose "
                'fidelity "model"'
            )
        if switch == "nagle" and flow.mqtt is None and value == "on":
            return (
                f"{flow.implementation} sets TCP_NODELAY: leave nagle out, which brokers of MQTT may have, or choose "
                'fidelity "model"'
            )
        if switch == "pacing" and flow.transport == "mptcp":
            return 'sockets of MPTCP have no option for pacing: leave it out, or choose fidelity "model"'
        if switch in _SOCKETS and flow.implementation != "linux":
            return (
                f"{switch!r} is an option of sockets, and {flow.implementation} does not set it: leave it out, write "
                'app = "raw" for a bare transfer, or choose fidelity "model"'
            )
        words = (_SOCKETS | _OTHERS).get(switch)
        parameter = (PARAMETERS | SUBFLOWS).get(switch)
        if (words and value not in words) or (parameter and parameter.words(value) is None):
            return f'the kernel has no {switch}={value}, the model has: choose another value, or fidelity "model"'
    return None


def options(flow: Flow) -> dict[str, bool | int | None]:
    """Return the options of a bare transfer's sockets."""
    return {
        "multipath": flow.transport == "mptcp",
        "paced": flow.switches.get("pacing") == "on",
        "quickack": flow.switches.get("delack") == "off",
        "buffer": None,
        "tos": flow.tos,
    }


def settings(flows: tuple[Flow, ...]) -> dict[int, dict[str, str]]:
    """Return the kernel parameters of each node; raise `ValueError` if two flows want a node set in different ways."""
    wanted: dict[tuple[int, str], tuple[str | None, str]] = {}
    for flow in flows:
        for node, name, value in _wishes(flow):
            before, whose = wanted.setdefault((node, name), (value, flow.contender))
            if before != value:
                raise ValueError(
                    f"{flow.contender} and {whose} want {name} set differently on one host: give each its own hosts"
                )
    answer: dict[int, dict[str, str]] = {}
    for (node, name), (value, _) in wanted.items():
        if value is not None:
            answer.setdefault(node, {})[name] = value
    return answer


def _wishes(flow: Flow) -> Iterator[tuple[int, str, str | None]]:
    """Yield (node, parameter, value), None for the kernel's own value."""
    nodes: dict[Side, tuple[int, ...]] = {
        "client": (flow.client,),
        "server": (flow.server,),
        "both": (flow.server, flow.client),
    }
    if flow.mqtt is not None:
        # Messages and their acknowledgements go in both directions: each host is sender and receiver.
        nodes = dict.fromkeys(nodes, (flow.server, flow.client, flow.mqtt.subscriber))
    buffers = _buffers(flow)
    for name in TUNED:
        yield from ((node, name, buffers.get(name)) for node in nodes["both"])
    if not flow.kernel:
        return
    values = _parameters(flow)
    for parameter in {p.name: p for p in (*PARAMETERS.values(), *SUBFLOWS.values(), _COMPRESSION_DELAY)}.values():
        yield from ((node, parameter.name, values.get(parameter.name)) for node in nodes[parameter.side])


_COMPRESSION_DELAY = Parameter("client", "net.ipv4.tcp_comp_sack_delay_ns", lambda text: str(_ns(text)))


def _parameters(flow: Flow) -> dict[str, str]:
    """Return the parameters that a flow's switches set."""
    switches = dict(flow.switches)
    if flow.needs_ecn:
        switches.setdefault("ecn", "on")
    if switches.get("rto") == "rfc6298":
        # The kernel's timeout keeps its form; its least comes as near to the RFC's as it can.
        switches.setdefault("rto-min", "1s")
    values = {}
    for switch, parameter in (PARAMETERS | SUBFLOWS).items():
        value = parameter.words(switches[switch]) if switch in switches else None
        if value is not None:
            values[parameter.name] = value
    compression = switches.get("sack-compression")
    if compression == "off":
        values["net.ipv4.tcp_comp_sack_nr"] = "0"
    elif compression is not None:
        values[_COMPRESSION_DELAY.name] = str(_ns(compression))
    return values


def _buffers(flow: Flow) -> dict[str, str]:
    """Return the buffers of a flow's hosts; none for the kernel's own."""
    if "stockbuffers" in flow.switches:
        return {}
    least, first, most = TUNED["net.ipv4.tcp_rmem"].split()
    if (window := flow.switches.get("receive-window")) is not None:
        # A window is half of the buffer at first (`scaling_ratio` 128 of 256).
        first = str(2 * int(window.removesuffix("B")))
    if (window := flow.switches.get("max-receive-window")) is not None:
        most = str(max(int(first), int(window.removesuffix("B")) * 256 // 153))
    buffers = TUNED | {"net.ipv4.tcp_rmem": f"{least} {first} {most}"}
    if flow.transport == "mptcp":
        least, _, most = TUNED["net.ipv4.tcp_wmem"].split()
        buffers["net.ipv4.tcp_wmem"] = f"{least} {_FIRST_SEND_BUFFER} {most}"
    return buffers


def metrics(flows: tuple[Flow, ...]) -> dict[tuple[int, int], dict[str, int]]:
    """Return what the routes from node to node tell the connections across them.

    Raises:
        ValueError: if two flows want one route set in different ways.
    """
    wanted: dict[tuple[int, int], tuple[dict[str, int], str]] = {}
    for flow in flows:
        if not flow.kernel:
            continue
        ours: dict[str, int] = {}
        if "segment" in flow.switches:
            options = 0 if flow.switches.get("timestamps") == "off" else _TIMESTAMP_OPTION
            ours["advmss"] = int(flow.switches["segment"].removesuffix("B")) + options
        window = flow.switches.get("initial-window")
        down = ours if window is None else ours | {"initcwnd": int(window)}
        for ends, values in (((flow.server, flow.client), down), ((flow.client, flow.server), ours)):
            before, whose = wanted.setdefault(ends, (values, flow.contender))
            if before != values:
                raise ValueError(
                    f"{flow.contender} and {whose} want one route set differently: give each its own hosts"
                )
    return {ends: values for ends, (values, _) in wanted.items() if values}


@contextlib.contextmanager
def prepared(rig: Rig) -> Iterator[None]:
    """Set the parameters of a rig's hosts and, while the run lasts, those that are common to the whole kernel."""
    for node, parameters in settings(rig.plan.flows).items():
        with inside(rig.nodes[node].fd):
            for name, value in parameters.items():
                set_kernel(name, value)
    with _hystart(rig.plan.flows):
        yield


def tell_routes(rig: Rig) -> None:
    """Give the routes of a rig that has started what its flows want of them."""
    for (at, to), values in metrics(rig.plan.flows).items():
        for route in rig.plan.routes_between(at, to):
            set_route(rig, route, metrics=values)


@contextlib.contextmanager
def _hystart(flows: tuple[Flow, ...]) -> Iterator[None]:
    """CUBIC's HyStart is a parameter of the whole kernel."""
    wanted = {flow.switches.get("hystart") != "off" for flow in flows if flow.congestion == "cubic"}
    if wanted != {False}:
        if len(wanted) > 1:
            raise ValueError("HyStart is on or off for a whole kernel: cubic and cubic-hystart cannot meet")
        yield
        return
    before = _HYSTART.read_text()
    _HYSTART.write_text("0")
    try:
        yield
    finally:
        _HYSTART.write_text(before)


MOST_PATHS = 9
"""The first subflow and as many endpoints as the kernel takes (`MPTCP_PM_ADDR_MAX`)."""
_SIGNAL, _SUBFLOW, _BACKUP = 1, 2, 4


def path_refusal(flow: Flow) -> str | None:
    """Return why the kernel's path manager cannot do what a flow wants, if it cannot."""
    if len(flow.paths) > MOST_PATHS:
        return f"the kernel's MPTCP uses at most {MOST_PATHS} paths, and here are {len(flow.paths)}: leave some out"
    if announces(flow) and any(path.backup for path in flow.paths):
        return (
            "the kernel's client cannot hold paths in reserve that the server announces: leave add-addr or backup out"
        )
    return None


def announces(flow: Flow) -> bool:
    """Whether the server announces its addresses, and the client waits for that."""
    return flow.switches.get("add-addr") == "on"


def endpoints(flows: tuple[Flow, ...]) -> dict[tuple[int, int], int]:
    """Return the path manager's endpoints: (node, address) to flags.

    Raises:
        ValueError: if two flows want one host set in different ways.
    """
    several = [flow for flow in flows if flow.transport == "mptcp"]
    for flow in several:
        for other in several:
            shared = {flow.server, flow.client} & {other.server, other.client}
            if shared and announces(flow) != announces(other):
                raise ValueError(
                    f"{flow.contender} and {other.contender} want addresses announced differently: give each its own "
                    "hosts"
                )
    found: dict[tuple[int, int], int] = {}
    for flow in several:
        for path in flow.paths:
            if announces(flow):
                found[flow.server, path.server] = _SIGNAL
            else:
                found[flow.client, path.client] = _SUBFLOW | (_BACKUP if path.backup else 0)
    return found


def tell_addresses(rig: Rig) -> None:
    """Set the limits and endpoints of all hosts with MPTCP; addresses must be set by now."""
    plan = rig.plan
    wanted = endpoints(plan.flows)
    for node in {node for flow in plan.flows if flow.transport == "mptcp" for node in (flow.server, flow.client)}:
        with _manager(rig, node) as manager:
            manager.limits("set", subflows=MOST_PATHS - 1, rcv_add_addrs=MOST_PATHS - 1)
            for (at, address), flags in wanted.items():
                if at == node:
                    manager.endpoint("add", addr=plan.addresses[address].ip, flags=flags)


@contextlib.contextmanager
def _manager(rig: Rig, node: int) -> Iterator[MPTCP]:
    with inside(rig.nodes[node].fd), MPTCP() as manager:
        yield manager
