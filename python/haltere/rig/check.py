"""Checks that a rig can carry a scenario, before it is built."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from haltere import core
from haltere.core import Scenario, ScenarioProblem
from haltere.plugins import store
from haltere.rig import beside, disciplines, hosts, kernel, messages, modules, programs
from haltere.rig.plan import Flow, Plan, plan


@dataclass(frozen=True)
class Machine:
    """The machine that a rig stands on.

    Args:
        virtual: whether its clock is virtual.
        congestion: its kernel's congestion controls.
        check: raises `ScenarioProblem` for links that it cannot make.
        take: makes sure that it can take the congestion control of a file, whose name has a digest; raises
            `ValueError`, which says why it cannot.
    """

    virtual: bool
    congestion: tuple[str, ...]
    check: Callable[[Plan], None]
    take: Callable[[str], None]


def user_mode() -> Machine:
    """Return a user-mode Linux; `kernel.config` builds in all congestion controls that the model shares with Linux."""
    return Machine(virtual=True, congestion=core.kernel_congestion(), check=check_queues, take=_take_as_module)


def this_machine() -> Machine:
    """Return the machine that this process runs on."""
    available = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    return Machine(virtual=False, congestion=tuple(available), check=_check_netem, take=_take_none)


_NO_CALL = (
    "real hosts have no congestion control of calls: write rtp@gstreamer/constant for a call of a constant rate, or "
    'choose fidelity "model"'
)


def check(scenario: Scenario, machine: Machine) -> None:
    """Raise `ScenarioProblem` if the rig cannot carry the scenario."""
    what = plan(scenario)
    if (refused := beside.refusal(what)) is not None:
        raise ScenarioProblem(*refused)
    machine.check(what)
    for flow in what.flows:
        path = f"flows[{flow.number}].contender"
        if flow.transport in core.OF_CALLS and (flow.transport, flow.implementation) not in programs.every():
            raise ScenarioProblem(_NO_CALL, path)
        if (reason := hosts.refusal(flow) or hosts.path_refusal(flow)) is not None:
            raise ScenarioProblem(reason, path)
        for field in flow.only_modelled:
            raise ScenarioProblem(
                f'only the model has {field}: choose fidelity "model", or leave it out',
                f"flows[{flow.number}].{field}",
            )
        _check_implementation(machine, flow, path)
        if (refused := messages.refusal(what, flow)) is not None:
            raise ScenarioProblem(refused[0], f"flows[{flow.number}].{refused[1]}")
    _check_shared_routes(what.flows)
    try:
        hosts.settings(what.flows)
        hosts.metrics(what.flows)
        hosts.endpoints(what.flows)
    except ValueError as error:
        raise ScenarioProblem(str(error), "flows") from None


def check_queues(what: Plan) -> None:
    """Refuse queue disciplines that the kernel in use was built without."""
    if not kernel.built():
        return
    found = kernel.find()
    options = kernel.options(found)
    for link in what.links if what.made_by == "kernel" else ():
        for name, direction in link.directions:
            if not direction.shaped:
                continue
            discipline, _ = disciplines.named(direction.queue)
            missing = [option for option in discipline.needs if option not in options]
            if missing:
                raise ScenarioProblem(
                    f"the link {link.name!r} has the queue discipline {discipline.kind} ({name}), which Linux "
                    f"{found.version} here is without ({', '.join(missing)}): build it again (`haltere kernel build`), "
                    'choose a newer one (dualpi2 is in 7.3), or fidelity "model"',
                    "topology",
                )


def _take_as_module(congestion: str) -> None:
    modules.sources(congestion)
    if kernel.built():
        modules.built(congestion, kernel.find())


def _take_none(congestion: str) -> None:
    raise ValueError(
        f"{store.shown(congestion)} would be loaded into this machine's own kernel, which haltere does not do: choose "
        'fidelity "linux" or "model"'
    )


def _check_file(machine: Machine, flow: Flow, path: str) -> None:
    """Refuse a congestion control from a file that no kernel of the machine can take."""
    if flow.mqtt is not None and any(store.DIGEST in one for one in (flow.congestion, flow.mqtt.congestion)):
        raise ScenarioProblem(messages.NO_FILE, path)
    if flow.file is None:
        return
    if not flow.kernel:
        raise ScenarioProblem(
            f"QUIC programs have congestion controls of their own, and {flow.file} is none of them: name it over tcp, "
            'or choose fidelity "model"',
            path,
        )
    for name, value in flow.parameters.items():
        if not value.is_integer():
            raise ScenarioProblem(
                f"{name} is {value:g}: it is a parameter of a module of Linux, give a whole number", path
            )
    try:
        machine.take(flow.congestion)
    except ValueError as error:
        raise ScenarioProblem(str(error), path) from None


def _check_implementation(machine: Machine, flow: Flow, path: str) -> None:
    if flow.transport == "mpquic":
        raise ScenarioProblem(
            'no program here speaks multipath QUIC: choose fidelity "model", or mptcp for several paths', path
        )
    _check_file(machine, flow, path)
    if flow.file is None and flow.kernel and core.in_kernel(flow.congestion) not in machine.congestion:
        coupled = "; it couples no subflows" if flow.transport == "mptcp" else ""
        raise ScenarioProblem(
            f"the kernel has no congestion control {store.shown(flow.congestion)!r}: there are "
            f"{', '.join(machine.congestion)}{coupled}",
            path,
        )
    if flow.tos is not None and flow.implementation != "linux":
        raise ScenarioProblem(
            f'{flow.implementation} sets no type of service: write app = "raw" for a bare transfer, or leave tos out',
            path.replace("contender", "tos"),
        )
    if flow.implementation == "model":
        raise ScenarioProblem("the model's endpoints cannot meet a real kernel: leave @model out", path)
    if flow.implementation == "linux":
        if flow.app != "raw":
            raise ScenarioProblem(
                f'{flow.transport}@linux is a bare transfer: write app = "raw", or leave @linux out for HTTP/2',
                path,
            )
        return
    try:
        program = programs.find(flow.transport, flow.implementation, virtual=machine.virtual)
        if program.app != flow.app:
            if flow.mqtt is not None:
                raise programs.ProgramError(f"{flow.transport}@{program.name} is no broker of MQTT")
            right = "give the flow a table mqtt" if program.app == "mqtt" else f'write app = "{program.app}"'
            raise programs.ProgramError(f"{flow.transport}@{program.name} does not speak {flow.app}: {right}")
        program.congestion.word(flow.congestion)
    except programs.ProgramError as error:
        raise ScenarioProblem(str(error), path) from None


def _check_shared_routes(flows: tuple[Flow, ...]) -> None:
    """Refuse flows that share a route but need different congestion controls.

    Programs that use the kernel's default get it by the route, which all flows between two hosts share.
    """
    by_route = {}
    for flow in flows:
        real = flow.kernel and flow.implementation != "linux"
        if real and programs.find(flow.transport, flow.implementation).congestion.by == "namespace":
            by_route[flow.server, flow.client] = flow
    for flow in flows:
        other = by_route.get((flow.server, flow.client))
        if other is not None and flow.kernel and _in_kernel(flow) != _in_kernel(other):
            raise ScenarioProblem(
                f"{other.contender} sets the congestion control of all connections between its two hosts: give "
                f"{flow.contender} hosts of its own (a dumbbell's pairs)",
                f"flows[{flow.number}].contender",
            )


def _in_kernel(flow: Flow) -> tuple[str, dict[str, float]]:
    """Return what the kernel of a flow is to have: the name of a control, or a file and its parameters."""
    return core.in_kernel(flow.congestion), flow.parameters


def _check_netem(what: Plan) -> None:
    if what.made_by == "kernel" and not Path("/sys/module/sch_netem").exists():
        raise ScenarioProblem(
            'this machine\'s kernel has no netem to make links of; "haltere", our emulator, needs none', "links"
        )
