"""Flows with MQTT on real hosts: a broker that is a program, and our own clients around it (`crates/peers`).

When messages come is drawn by the simulator (`_core.Scenario.mqtt_clients`): model and broker have the same arrivals.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from haltere import _core, core
from haltere.rig import namespaces, programs
from haltere.rig.namespaces import Rig, inside
from haltere.rig.plan import Flow, Mqtt, Plan
from haltere.rig.programs.base import NAME, Broker, Command, Listener, ProgramError, Setup, certificates
from haltere.rig.programs.process import Process

Json = dict[str, Any]
_PATIENCE_S = 5.0
"""How much later than told the clients may end, seconds."""


def refusal(plan: Plan, flow: Flow) -> tuple[str, str] | None:
    """Return why a rig cannot carry a flow's messages, and the field of the flow, if that is so."""
    if flow.mqtt is None:
        return None
    mqtt = flow.mqtt
    for field in mqtt.only_modelled:
        return f'real clients have no {field} yet: choose fidelity "model", or leave it out', f"mqtt.{field}"
    if (mqtt.implementation, mqtt.switches) != (flow.implementation, flow.switches):
        return (
            f"one broker has one implementation and one set of switches: {mqtt.contender} differs from "
            f"{flow.contender}",
            "mqtt.delivery",
        )
    for other in plan.flows:
        if other.mqtt is None or other.server != flow.server:
            continue
        if (other.implementation, other.switches) != (flow.implementation, flow.switches):
            return f"{other.contender} and {flow.contender} share a broker: give them one implementation", "contender"
        if _towards(other) | _towards(flow) != _towards(flow) | _towards(other):
            return (
                f"{other.contender} and {flow.contender} want one route of their broker set differently: give each "
                "clients of its own",
                "contender",
            )
    return _beyond(flow, mqtt)


def _beyond(flow: Flow, mqtt: Mqtt) -> tuple[str, str] | None:
    """Return a setting of a broker's table that its program cannot apply, and the field."""
    limits = mqtt.limits
    broker = programs.find_broker(flow.transport, flow.implementation)
    if mqtt.qos == 2 and broker.forwards_at_once != bool(limits["forwards_at_once"]):
        when = "when they come" if broker.forwards_at_once else "once they are released"
        right = "publish" if broker.forwards_at_once else "release"
        return (
            f'{broker.name} passes messages of QoS 2 on {when}: write forward = "{right}" in the table brokers of '
            "its node",
            "mqtt.qos",
        )
    if limits["drops_oldest"]:
        return 'real brokers drop the newest message: choose fidelity "model", or leave drop out', "mqtt"
    if limits["window"] != limits["receive_maximum"]:
        return "real brokers have one number for window and receive_maximum: give both the same", "mqtt"
    return None


def _towards(flow: Flow) -> dict[int, str]:
    """Return the congestion control of a broker's connections to each node."""
    assert flow.mqtt is not None  # noqa: S101 (for the type checker: only flows with MQTT come here)
    ends = {flow.client: flow.congestion} if flow.kernel else {}
    return ends | ({flow.mqtt.subscriber: flow.mqtt.congestion} if flow.mqtt.transport == "tcp" else {})


class Messages:
    """The flows with MQTT of a rig whose brokers stand ready."""

    def __init__(self, rig: Rig, flows: list[Flow], scratch: Path) -> None:
        self.rig, self.flows, self.scratch = rig, flows, scratch

    def exchange(self, flow: Flow, clients: Json, epoch: int, answers: list[Json]) -> None:
        """Run a flow's clients, and add their results to the answers."""
        plan = self.rig.plan
        outcome: Json = {"flow": flow.number, "start_s": flow.start_ns * 1e-9, "status": "ok", "error": None}
        outcome |= dict.fromkeys(("completion_s", "handshake_s", "first_byte_s")) | {"bytes": 0}
        end = plan.duration_ns or plan.time_limit_ns
        folder = self.scratch / f"clients{flow.number}"
        folder.mkdir()
        report = folder / "seen.json"
        try:
            command = self._command(flow, clients, epoch, end, folder)
            with inside(self.rig.nodes[flow.client].fd):
                process = Process(command, folder, "clients")
                try:
                    process.wait((epoch + end - time.monotonic_ns()) * 1e-9 + _PATIENCE_S)
                finally:
                    process.end()
            outcome |= _outcome(plan, flow.start_ns, clients["qos"], json.loads(report.read_text()))
        except (ProgramError, OSError, ValueError) as error:
            outcome |= {"status": "failed", "error": str(error)}
        answers.append(outcome)

    def _command(self, flow: Flow, clients: Json, epoch: int, end: int, folder: Path) -> Command:
        mqtt, plan = flow.mqtt, self.rig.plan
        assert mqtt is not None  # noqa: S101 (for the type checker)
        broker, subscriber = mqtt.path.server, mqtt.path.client
        told = {name: value for name, value in clients.items() if name != "flow"}
        nagle = flow.switches.get("nagle") == "on"
        spec = told | {
            "epoch_ns": epoch,
            "end_ns": end,
            "ca": str(self.scratch / "certificates" / "ca.pem"),
            "name": NAME,
            "publish": {
                "netns": self.rig.nodes[flow.client].path,
                "own": plan.addresses[flow.paths[0].client].ip,
                "broker": f"{plan.addresses[flow.paths[0].server].ip}:{flow.port}",
                "carrier": _carrier(flow.transport, mqtt),
                "congestion": core.in_kernel(flow.congestion),
                "nagle": nagle,
            },
            "deliver": {
                "netns": self.rig.nodes[mqtt.subscriber].path,
                "own": plan.addresses[subscriber].ip,
                "broker": f"{plan.addresses[broker].ip}:{plan.delivery_port(flow)}",
                "carrier": _carrier(mqtt.transport, mqtt),
                "congestion": core.in_kernel(mqtt.congestion),
                "nagle": nagle,
            },
        }
        file = folder / "clients.json"
        words = ("messages", "--spec", str(file), "--out", str(folder / "seen.json"))
        argv = (sys.executable, "-m", "haltere.rig.programs._peer", *words)
        return Command(argv, files={file: json.dumps(spec)}, peer=words)


def _carrier(transport: str, mqtt: Mqtt) -> str:
    return "quic" if transport == "quic" else "tls" if mqtt.tls else "tcp"


def _outcome(plan: Plan, start: int, qos: int, seen: Json) -> Json:
    """Return what results hold of a flow that starts then (ns), from what its clients saw."""
    ns = 1e-9
    counted = {name: seen[name] for name in ("published", "delivered", "duplicated", "deliveries")}
    messages = json.loads(_core.messages_result(json.dumps(counted | {"since": plan.measure_from_ns})))
    # A queue drops messages inside the broker, which does not say which.
    messages["messages_dropped"] = None
    took, deliveries, completed = seen["handshakes"], seen["deliveries"], seen["completed"]
    answer: Json = {
        "handshake_s": sum(took) / len(took) * ns if took else None,
        "first_byte_s": (deliveries[0][0] - start) * ns if deliveries else None,
        "completion_s": None if completed is None else (completed - start) * ns,
        "bytes": seen["bytes"],
        "messages": messages,
        "details": {"lost_connections": seen["lost_connections"], "last_loss": seen["last_loss"]},
    }
    lost, ends = messages["messages_lost"], plan.duration_ns is None
    error = seen["error"]
    if error is None and not took:
        error = f"no publisher was accepted: {seen['last_loss'] or 'none tried'}"
    if error is None and ends and completed is None:
        error = f"not finished in time: {seen['delivered']} of {seen['published']} messages came; give time_limit more"
    if error is None and ends and lost and qos > 0:
        error = f"{lost} of {seen['published']} messages were not delivered"
    return answer | ({"status": "failed", "error": error} if error else {})


@contextlib.contextmanager
def serving(rig: Rig, flows: list[Flow], scratch: Path) -> Iterator[Messages]:
    """Start a broker on each node that flows name, and end them."""
    certificates(scratch / "certificates")
    with contextlib.ExitStack() as stack:
        for node in sorted({flow.server for flow in flows}):
            stack.enter_context(_broker(rig, [flow for flow in flows if flow.server == node], scratch))
        yield Messages(rig, flows, scratch)


@contextlib.contextmanager
def _broker(rig: Rig, flows: list[Flow], scratch: Path) -> Iterator[None]:
    first, plan = flows[0], rig.plan
    program = programs.find_broker(first.transport, first.implementation)
    _set_routes(rig, flows)
    folder = scratch / f"broker{first.server}"
    folder.mkdir()
    folder.chmod(0o777)
    listeners = []
    for flow in flows:
        assert flow.mqtt is not None  # noqa: S101 (for the type checker)
        for address, port, transport in (
            (flow.paths[0].server, flow.port, flow.transport),
            (flow.mqtt.path.server, plan.delivery_port(flow), flow.mqtt.transport),
        ):
            listeners.append(Listener(plan.addresses[address].ip, port, _carrier(transport, flow.mqtt)))
    assert first.mqtt is not None  # noqa: S101 (for the type checker)
    setup = Setup(
        server=listeners[0].address,
        client=plan.addresses[first.paths[0].client].ip,
        port=first.port,
        congestion=first.congestion,
        folder=folder,
        certificates=scratch / "certificates",
        object=folder / "none",
    )
    broker = Broker(tuple(listeners), dict(first.mqtt.limits), nagle=first.switches.get("nagle") == "on")
    with inside(rig.nodes[first.server].fd):
        process = Process.ready(program.broker(setup, broker), folder, "broker")
    try:
        yield
    finally:
        process.end()


def _set_routes(rig: Rig, flows: list[Flow]) -> None:
    """Give a broker's connections their congestion control, which its kernel takes from the route."""
    for flow in flows:
        for node, congestion in _towards(flow).items():
            for route in rig.plan.routes_between(flow.server, node):
                namespaces.set_route(rig, route, congestion=core.in_kernel(congestion))
