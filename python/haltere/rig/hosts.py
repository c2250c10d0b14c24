"""The kernel parameters of a rig's hosts: how a contender's switches are set in a kernel."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from haltere.rig.namespaces import Rig, inside, set_kernel
from haltere.rig.plan import Flow

TUNED = {"net.ipv4.tcp_rmem": "4096 16777216 134217728", "net.ipv4.tcp_wmem": "4096 16777216 134217728"}
"""Buffers that never limit a transfer, as the model's hosts have them; `stockbuffers` leaves the kernel's own."""

_HYSTART = Path("/sys/module/tcp_cubic/parameters/hystart")
_OF_CLIENTS = {"nosackcompression": ("net.ipv4.tcp_comp_sack_nr", "0")}
_OF_SERVERS = {"rto1s": ("net.ipv4.tcp_rto_min_us", "1000000")}
_OF_BOTH = {"notimestamps": ("net.ipv4.tcp_timestamps", "0"), "ecn": ("net.ipv4.tcp_ecn", "1")}
KNOWN = {"stockbuffers", "paced", "nodelack", "hystart", "nohystart", *_OF_CLIENTS, *_OF_SERVERS, *_OF_BOTH}
"""The switches of a contender that a kernel has."""


def congestion(flow: Flow) -> str:
    """Return the kernel's name of a flow's congestion control."""
    return "reno" if flow.congestion == "newreno" else flow.congestion


def settings(flows: tuple[Flow, ...]) -> dict[int, dict[str, str]]:
    """Return the kernel parameters of each node.

    Raises:
        ValueError: if two flows want a node set in different ways.
    """
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
    stock = "stockbuffers" in flow.switches
    both = (flow.server, flow.client)
    for name, value in TUNED.items():
        yield from ((node, name, None if stock else value) for node in both)
    for table, nodes in ((_OF_CLIENTS, (flow.client,)), (_OF_SERVERS, (flow.server,)), (_OF_BOTH, both)):
        for switch, (name, value) in table.items():
            on = switch in flow.switches or (switch == "ecn" and flow.congestion == "dctcp")
            yield from ((node, name, value if on else None) for node in nodes)


@contextlib.contextmanager
def prepared(rig: Rig) -> Iterator[None]:
    """Set the parameters of a rig's hosts and, while the run lasts, those that are common to the whole kernel."""
    for node, parameters in settings(rig.plan.flows).items():
        with inside(rig.nodes[node].fd):
            for name, value in parameters.items():
                set_kernel(name, value)
    with _hystart(rig.plan.flows):
        yield


@contextlib.contextmanager
def _hystart(flows: tuple[Flow, ...]) -> Iterator[None]:
    """CUBIC's HyStart is a parameter of the whole kernel."""
    wanted = {"nohystart" not in flow.switches for flow in flows if flow.congestion == "cubic"}
    if wanted != {False}:
        if len(wanted) > 1:
            raise ValueError("HyStart is on or off for a whole kernel: cubic and cubic-nohystart cannot meet")
        yield
        return
    before = _HYSTART.read_text()
    _HYSTART.write_text("0")
    try:
        yield
    finally:
        _HYSTART.write_text(before)
