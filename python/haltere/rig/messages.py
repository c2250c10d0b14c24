"""Flows with MQTT on real kernels: a broker that is a program, and our own clients around it (`crates/peers`).

On a rig, publishers and subscriber are one process, as all namespaces have one kernel; on nodes of the simulator they
are two (`rig.nodes`). They note what they see.

When messages come is drawn by the simulator (`_core.Scenario.mqtt_clients`): model and broker have the same arrivals.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from haltere import _core, core
from haltere.rig import namespaces, programs
from haltere.rig.namespaces import Rig, inside
from haltere.rig.plan import Flow, Mqtt, Plan
from haltere.rig.programs.base import NAME, Broker, Command, Listener, ProgramError, Setup, certificates
from haltere.rig.programs.process import Process

Json = dict[str, Any]
End = Literal["publishers", "subscriber"]
_PATIENCE_S = 5.0
"""How much later than told the clients may end, seconds."""


NO_FILE = 'brokers of MQTT take no congestion control from a file: choose fidelity "model", or one that is built in'


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


@dataclass(frozen=True)
class Clients:
    """Clients of a flow in one process: how it is started, and the file in which it notes what they see."""

    command: Command
    notes: Path


def clients(
    plan: Plan, flow: Flow, work: Json, spaces: Mapping[End, str | None], epoch_ns: int, place: Setup
) -> Clients:
    """Return the clients at one end of a flow or at both, with their work as `_core.Scenario.mqtt_clients` has it.

    `spaces` has the ends, each with the network namespace of its node, or None if the process is there. The clock of
    the process shows `epoch_ns` when the run begins. It writes into the folder of `place` alone.
    """
    spec: Json = {name: value for name, value in work.items() if name != "flow"} | {
        "epoch_ns": epoch_ns,
        "end_ns": plan.duration_ns or plan.time_limit_ns,
        "ca": str(place.ca),
        "name": NAME,
        "published": str(place.folder / "published"),
    }
    fields: tuple[tuple[End, str], ...] = (("publishers", "publish"), ("subscriber", "deliver"))
    for end, field in fields:
        spec[field] = _route(plan, flow, end) | {"netns": spaces[end]} if end in spaces else None
    name = "clients" if len(spaces) > 1 else next(iter(spaces))
    file, notes = place.folder / f"{name}.json", place.folder / f"{name}.notes"
    words = ("messages", "--spec", str(file), "--out", str(notes))
    argv = (sys.executable, "-m", "haltere.rig.programs._peer", *words)
    return Clients(Command(argv, files={file: json.dumps(spec)}, peer=words), notes)


def seen(notes: Iterable[Path], since_ns: int) -> Json:
    """Return what clients have noted, the publishers first; the measured time begins at `since_ns`.

    Raises:
        ProgramError: if one has noted nothing.
    """
    try:
        answer: Json = json.loads(_core.messages_seen([str(file) for file in notes], since_ns))
    except OSError as error:
        raise ProgramError(f"a client left no report: {error}") from None
    return answer


def _route(plan: Plan, flow: Flow, end: End) -> Json:
    mqtt = flow.mqtt
    assert mqtt is not None  # noqa: S101 (for the type checker: only flows with MQTT come here)
    path, port, transport, congestion = (
        (flow.paths[0], flow.port, flow.transport, flow.congestion)
        if end == "publishers"
        else (mqtt.path, plan.delivery_port(flow), mqtt.transport, mqtt.congestion)
    )
    return {
        "own": plan.addresses[path.client].ip,
        "broker": f"{plan.addresses[path.server].ip}:{port}",
        "carrier": _carrier(transport, mqtt),
        "congestion": core.in_kernel(congestion),
        "nagle": flow.switches.get("nagle") == "on",
    }


class Messages:
    """The flows with MQTT of a rig whose brokers stand ready."""

    def __init__(self, rig: Rig, flows: list[Flow], scratch: Path) -> None:
        self.rig, self.flows, self.scratch = rig, flows, scratch

    def exchange(self, flow: Flow, work: Json, epoch: int, answers: list[Json]) -> None:
        """Run a flow's clients, and add their results to the answers."""
        assert flow.mqtt is not None  # noqa: S101 (for the type checker)
        plan, nodes = self.rig.plan, self.rig.nodes
        answer: Json = {"flow": flow.number, "start_s": flow.start_ns * 1e-9, "status": "ok", "error": None}
        answer |= dict.fromkeys(("completion_s", "handshake_s", "first_byte_s")) | {"bytes": 0}
        end = plan.duration_ns or plan.time_limit_ns
        folder = self.scratch / f"clients{flow.number}"
        folder.mkdir()
        spaces: dict[End, str | None] = {
            "publishers": nodes[flow.client].path,
            "subscriber": nodes[flow.mqtt.subscriber].path,
        }
        try:
            place = setup(plan, [flow], folder, self.scratch / "certificates")
            both = clients(plan, flow, work, spaces, epoch, place)
            with inside(nodes[flow.client].fd):
                process = Process(both.command, folder, "clients")
                try:
                    process.wait((epoch + end - time.monotonic_ns()) * 1e-9 + _PATIENCE_S)
                finally:
                    process.end()
            answer |= outcome(plan, flow, seen([both.notes], plan.measure_from_ns))
        except (ProgramError, OSError, ValueError) as error:
            answer |= {"status": "failed", "error": str(error)}
        answers.append(answer)


def _carrier(transport: str, mqtt: Mqtt) -> str:
    return "quic" if transport == "quic" else "tls" if mqtt.tls else "tcp"


def outcome(plan: Plan, flow: Flow, saw: Json) -> Json:
    """Return what results hold of a flow, from what its clients saw (`_core.messages_seen`)."""
    assert flow.mqtt is not None  # noqa: S101 (for the type checker)
    ns, start = 1e-9, flow.start_ns
    counted = {name: saw[name] for name in ("published", "delivered", "duplicated", "deliveries")}
    messages = json.loads(_core.messages_result(json.dumps(counted | {"since": plan.measure_from_ns})))
    # A queue drops messages inside the broker, which does not say which.
    messages["messages_dropped"] = None
    took, deliveries, completed = saw["handshakes"], saw["deliveries"], saw["completed"]
    answer: Json = {
        "handshake_s": sum(took) / len(took) * ns if took else None,
        "first_byte_s": (deliveries[0][0] - start) * ns if deliveries else None,
        "completion_s": None if completed is None else (completed - start) * ns,
        "bytes": saw["bytes"],
        "messages": messages,
        "details": {"lost_connections": saw["lost_connections"], "last_loss": saw["last_loss"]},
    }
    lost, finite = messages["messages_lost"], plan.duration_ns is None
    error = saw["error"]
    if error is None and not took:
        error = f"no publisher was accepted: {saw['last_loss'] or 'none tried'}"
    if error is None and finite and completed is None:
        error = f"not finished in time: {saw['delivered']} of {saw['published']} messages came; give time_limit more"
    if error is None and finite and lost and flow.mqtt.qos > 0:
        error = f"{lost} of {saw['published']} messages were not delivered"
    return answer | ({"status": "failed", "error": error} if error else {})


def setup(plan: Plan, flows: list[Flow], folder: Path, certificates: Path) -> Setup:
    """Return the setup of the programs of flows that have one broker."""
    first = flows[0]
    return Setup(
        server=plan.addresses[first.paths[0].server].ip,
        client=plan.addresses[first.paths[0].client].ip,
        port=first.port,
        congestion=first.congestion,
        folder=folder,
        certificates=certificates,
        object=folder / "none",
    )


def broker(plan: Plan, flows: list[Flow], at: Setup) -> Command:
    """Return the broker of flows, which waits for their publishers and their subscribers.

    Raises:
        ProgramError: if it cannot be as they want it.
    """
    first, listeners = flows[0], []
    for flow in flows:
        assert flow.mqtt is not None  # noqa: S101 (for the type checker: only flows with MQTT come here)
        for address, port, transport in (
            (flow.paths[0].server, flow.port, flow.transport),
            (flow.mqtt.path.server, plan.delivery_port(flow), flow.mqtt.transport),
        ):
            listeners.append(Listener(plan.addresses[address].ip, port, _carrier(transport, flow.mqtt)))
    assert first.mqtt is not None  # noqa: S101 (for the type checker)
    how = Broker(tuple(listeners), dict(first.mqtt.limits), nagle=first.switches.get("nagle") == "on")
    return programs.find_broker(first.transport, first.implementation).broker(at, how)


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
    first = flows[0]
    _set_routes(rig, flows)
    folder = scratch / f"broker{first.server}"
    folder.mkdir()
    folder.chmod(0o777)
    with inside(rig.nodes[first.server].fd):
        command = broker(rig.plan, flows, setup(rig.plan, flows, folder, scratch / "certificates"))
        process = Process.ready(command, folder, "broker")
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
