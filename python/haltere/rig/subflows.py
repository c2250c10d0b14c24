"""Tells the path manager of the kernel's MPTCP which addresses its hosts have (`net/mptcp/pm_kernel.c`).

A client opens a subflow from each of its other addresses as soon as the server has acknowledged data (`subflow`
endpoints). All of these go to the server's first address; the client's address decides which path they take. With the
switch `add-addr` it is the server that announces its other addresses (`signal` endpoints), and the client connects to
them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from pyroute2 import MPTCP

from haltere.rig.namespaces import Rig, inside
from haltere.rig.plan import Flow

MOST_PATHS = 9
"""The first subflow and as many endpoints as the kernel takes (`MPTCP_PM_ADDR_MAX`)."""
_SIGNAL, _SUBFLOW, _BACKUP = 1, 2, 4


def refusal(flow: Flow) -> str | None:
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


def tell(rig: Rig) -> None:
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
