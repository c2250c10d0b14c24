"""How hosts of a rig are set: their kernel parameters for the switches of contenders, and the addresses of MPTCP.

A client opens a subflow from each of its other addresses as soon as the server has acknowledged data (`subflow`
endpoints). All of these go to the server's first address; the client's address decides which path they take. With the
switch `add-addr` it is the server that announces its other addresses (`signal` endpoints), and the client connects to
them.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from pathlib import Path

from pyroute2 import MPTCP

from haltere.rig.namespaces import Rig, inside, set_kernel, set_route
from haltere.rig.plan import Flow

_HYSTART = Path("/sys/module/tcp_cubic/parameters/hystart")
_OF_SOCKETS = ("pacing", "delack")
"""The switches that are options of sockets."""


def refusal(flow: Flow) -> str | None:
    """Return why a kernel cannot do what a flow's contender switches, if it cannot."""
    switches = {name: value for name, value in flow.switches.items() if name != "stockbuffers"}
    if not flow.kernel:
        for switch in switches | flow.parameters:
            return (
                f"a QUIC program has mechanisms of its own, which {switch!r} does not reach: leave it out, or choose "
                'fidelity "model"'
            )
        return None
    if flow.linux.refused is not None:
        return flow.linux.refused
    if flow.mqtt is None and switches.get("nagle") == "on":
        return (
            f"{flow.implementation} sets TCP_NODELAY: leave nagle out, which brokers of MQTT may have, or choose "
            'fidelity "model"'
        )
    if "pacing" in switches and flow.transport == "mptcp":
        return 'sockets of MPTCP have no option for pacing: leave it out, or choose fidelity "model"'
    for switch in _OF_SOCKETS:
        if switch in switches and flow.implementation != "linux":
            return (
                f"{switch!r} is an option of sockets, and {flow.implementation} does not set it: leave it out, write "
                'app = "raw" for a bare transfer, or choose fidelity "model"'
            )
    return None


def options(flow: Flow) -> dict[str, bool | int | None]:
    """Return the options of a bare transfer's sockets."""
    return {
        "multipath": flow.transport == "mptcp",
        "paced": flow.linux.paced,
        "quickack": flow.linux.acks_at_once,
        "buffer": None,
        "tos": flow.tos,
    }


def settings(flows: tuple[Flow, ...]) -> dict[int, dict[str, str]]:
    """Return the kernel parameters of each node; raise `ValueError` if two flows want a node set in different ways."""
    wanted: dict[tuple[int, str], tuple[str | None, str]] = {}
    for flow in flows:
        nodes = (flow.server, flow.client) if flow.mqtt is None else (flow.server, flow.client, flow.mqtt.subscriber)
        for node, (name, value) in itertools.product(nodes, flow.linux.parameters.items()):
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


def metrics(flows: tuple[Flow, ...]) -> dict[tuple[int, int], dict[str, int]]:
    """Return what the routes from node to node tell the connections across them.

    Raises:
        ValueError: if two flows want one route set in different ways.
    """
    wanted: dict[tuple[int, int], tuple[dict[str, int], str]] = {}
    for flow in flows:
        if not flow.kernel:
            continue
        values = flow.linux.metrics
        for ends in ((flow.server, flow.client), (flow.client, flow.server)):
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
    wanted = {not flow.linux.without_hystart for flow in flows if flow.congestion == "cubic"}
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
    return flow.linux.announces


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
