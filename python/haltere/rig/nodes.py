"""Programs and modules in kernels that are nodes of the simulator: prepares what they need, and reads their reports.

The core runs the programs and knows none: it says which flows programs carry, and where (`Scenario.programs`), and is
given what to start. Programs see one folder of this machine's that they can write, below a path that is the same in
every run, so that no byte that they send depends on its name here.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from haltere import _core, core
from haltere.core import Scenario, ScenarioProblem
from haltere.plugins import store

Json = dict[str, Any]
_BARE = "linux"
"""The implementation of bare transfers, which need no program, but perhaps a module."""
UNLIMITED = 1 << 34
"""The object of a flow without a size, bytes: a file with a hole, which takes no room."""
MADE_AT = 1_700_000_000
"""The time at which all files were made, s since 1970: servers tell it."""
_PREFIX = "haltere-programs-"
_YOUNG_S = 60
"""A folder that is younger may not be locked yet, s."""
CERTIFICATES = Path(__file__).with_name("certificates")
"""One authority and one server's certificate for all runs: the lengths of signatures depend on the key."""
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_NO_DICE_OF_THE_PROCESSOR = "~0x4000000000000010"
"""Instructions that OpenSSL must not use (`OPENSSL_ia32cap`): RDTSC and RDRAND are not the kernel's clock and dice."""
_HIDDEN = ("/run", "/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 (names of folders inside the kernel)
"""Folders of this machine's that a kernel has as memory of its own (`MEMORY` of haltere-node's `children.rs`)."""


def run(scenario: Scenario | str, seed: int, replication: int, fidelity: str = "model") -> str:
    """Run one scenario as `core.run` does, with the programs that carry its flows."""
    try:
        parsed = Scenario(scenario) if isinstance(scenario, str) else scenario
    except _core.ScenarioError:
        # The core says what is wrong, as of any run that fails.
        return core.run(scenario, seed, replication, fidelity)
    try:
        with prepared(parsed, seed, replication, fidelity) as flows:
            if not flows:
                return core.run(parsed, seed, replication, fidelity)
            answer = core.run(parsed, seed, replication, fidelity, programs=_told(flows))
            return _with_reports(answer, flows)
    except (ScenarioProblem, OSError) as problem:
        return json.dumps(core.failed(str(problem)))


def trace(scenario: Scenario, seed: int, replication: int, fidelity: str = "model", **files: Any) -> Json:
    """Run one scenario as `core.trace` does, with the programs that carry its flows."""
    with prepared(scenario, seed, replication, fidelity) as flows:
        if not flows:
            return core.trace(scenario, seed, replication, fidelity, **files)
        answer = core.trace(scenario, seed, replication, fidelity, programs=_told(flows), **files)
        return answer | {"result": json.loads(_with_reports(json.dumps(answer["result"]), flows))}


def check(scenario: Scenario, fidelity: str) -> None:
    """Raise `ScenarioProblem` if a program of a scenario cannot run in a kernel."""
    placed = core.placed(scenario, 0, 0, fidelity)
    if not placed:
        return
    from haltere.rig import programs  # noqa: PLC0415 (most runs have no programs)

    by_node: dict[int, tuple[str, str]] = {}
    for one in placed:
        path = f"flows[{one['flow']}].contender"
        if one["implementation"] == _BARE:
            continue
        name = f"{one['transport']}@{one['implementation']}"
        try:
            program = programs.find(one["transport"], one["implementation"], virtual=True)
            if not programs.on_nodes(program):
                raise programs.ProgramError(f'{name} does not run in a node of the simulator: choose fidelity "linux"')
            _check_app(program, one)
            word = program.congestion.word(one["congestion"])
        except programs.ProgramError as error:
            stacks = ", ".join(stack["name"] for stack in core.algorithms()["stacks"])
            known = (one["transport"], one["implementation"]) in programs.every() or one["transport"] != "quic"
            raise ScenarioProblem(f"{error}" if known else f"{error}; production stacks are {stacks}", path) from None
        if one["lacking"]:
            raise ScenarioProblem(one["lacking"], path)
        if program.congestion.by == "namespace" and by_node.setdefault(one["node"], (word, name))[0] != word:
            raise ScenarioProblem(
                f"{by_node[one['node']][1]} sets the congestion control of all connections of its server's kernel: "
                f"give {name} hosts of its own (a dumbbell's pairs)",
                path,
            )
    _check_messages(scenario, placed)


def _check_app(program: Any, one: Json) -> None:
    """Raise `ProgramError` if a flow is none that a program carries."""
    from haltere.rig.programs import ProgramError  # noqa: PLC0415

    name, messages = f"{program.transport}@{program.name}", _with_messages(one)
    if messages and program.app != "mqtt":
        raise ProgramError(f"{name} is no broker of MQTT")
    if not messages and program.app != one["app"]:
        right = "give the flow a table mqtt" if program.app == "mqtt" else f'write app = "{program.app}"'
        raise ProgramError(f"{name} does not speak {one['app']}: {right}")


def _with_messages(one: Json) -> bool:
    return one["epochs_ns"] is not None


def _check_messages(scenario: Scenario, placed: list[Json]) -> None:
    """Raise `ScenarioProblem` if a broker that is a program cannot carry a flow's messages."""
    numbers = [one["flow"] for one in placed if _with_messages(one) and one["implementation"] != _BARE]
    if not numbers:
        return
    from haltere.rig import messages, programs  # noqa: PLC0415
    from haltere.rig.plan import of_nodes  # noqa: PLC0415

    plan = of_nodes(scenario)
    for flow in (plan.flows[number] for number in numbers):
        path, mqtt = f"flows[{flow.number}]", flow.mqtt
        assert mqtt is not None  # noqa: S101 (for the type checker)
        if (refused := messages.refusal(plan, flow)) is not None:
            raise ScenarioProblem(refused[0], f"{path}.{refused[1]}")
        if any(store.DIGEST in one for one in (flow.congestion, mqtt.congestion)):
            raise ScenarioProblem(messages.NO_FILE, f"{path}.contender")
        try:
            programs.find_broker(mqtt.transport, mqtt.implementation).congestion.word(mqtt.congestion)
        except programs.ProgramError as error:
            raise ScenarioProblem(str(error), f"{path}.mqtt.delivery") from None
        try:
            messages.broker(plan, [flow], messages.setup(plan, [flow], Path("/"), CERTIFICATES))
        except programs.ProgramError as error:
            raise ScenarioProblem(str(error), f"{path}.contender") from None
        if len(_of_kernel(flow)) > 1:
            raise ScenarioProblem(
                f"the broker's kernel has one congestion control for all its connections: {mqtt.contender} and "
                f"{flow.contender} want two",
                f"{path}.mqtt.delivery",
            )


def _of_kernel(flow: Any) -> set[str]:
    """Return the congestion controls that the connections of a broker take from its kernel."""
    ends = ((flow.transport, flow.congestion), (flow.mqtt.transport, flow.mqtt.congestion))
    return {core.in_kernel(congestion) for transport, congestion in ends if transport == "tcp"}


@dataclass(frozen=True)
class _Flow:
    """A flow that is prepared."""

    number: int
    told: Json
    """Its programs and its module, as the core is told of them."""
    program: Any = None
    here: Any = None
    """Its program's setup as this machine sees it."""
    messages: Any = None
    """With MQTT: the plan of the run, and the files in which its publishers and its subscriber note what they see."""


@contextlib.contextmanager
def prepared(scenario: Scenario, seed: int, replication: int, fidelity: str) -> Iterator[list[_Flow]]:
    """Prepare the programs of a run, in a folder that lasts as long as the block."""
    placed = core.placed(scenario, seed, replication, fidelity)
    if not placed:
        yield []
        return
    from haltere.rig.programs import ProgramError  # noqa: PLC0415 (most runs have no programs)

    check(scenario, fidelity)
    with _folder() as folder:
        shutil.copytree(CERTIFICATES, folder / "certificates")
        flows = []
        for one in placed:
            try:
                if not _with_messages(one):
                    flows.append(_prepare(one, folder))
            except ProgramError as error:
                raise ScenarioProblem(str(error), f"flows[{one['flow']}].contender") from None
        talking = {one["flow"]: one for one in placed if _with_messages(one)}
        if talking:
            flows += _with_brokers(scenario, (seed, replication), talking, folder)
        for path in folder.rglob("*"):
            os.utime(path, (MADE_AT, MADE_AT))
        yield flows


def _memory() -> str:
    shm = "/dev/shm"  # noqa: S108 (the folder below has a name that nobody else can have)
    return shm if os.access(shm, os.W_OK) else tempfile.gettempdir()


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    """Make a folder for a run's programs. Whatever processes that were killed have left of theirs is removed first."""
    import fcntl  # noqa: PLC0415 (there are systems without it, and they have no kernels)

    for old in Path(_memory()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            lock = os.open(old, os.O_RDONLY | os.O_DIRECTORY)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if time.time() - os.fstat(lock).st_mtime > _YOUNG_S:
                    shutil.rmtree(old, ignore_errors=True)
            finally:
                os.close(lock)
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=_memory()))
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        folder.chmod(0o755)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _prepare(one: Json, folder: Path) -> _Flow:
    from haltere.rig.programs import ProgramError  # noqa: PLC0415

    module = None
    if store.DIGEST in one["congestion"]:
        try:
            module = _module(one, folder)
        except ValueError as wrong:
            raise ProgramError(str(wrong)) from None
    if one["implementation"] == _BARE:
        return _Flow(one["flow"], {"module": module})
    flow = _with_programs(one if module is None else one | {"congestion": module["name"]}, folder)
    return dataclasses.replace(flow, told={"programs": flow.told, "module": module})


def _module(one: Json, folder: Path) -> Json:
    """Build the module of a file for the kernel that nodes have."""
    from haltere.rig import kernel, modules  # noqa: PLC0415 (most runs have no modules)

    name, image, options = modules.renamed(one["congestion"], kernel.find(), one["parameters"])
    path = folder / f"{name}.ko"
    path.write_bytes(image)
    return {"name": name, "path": str(path), "options": options}


def _with_programs(one: Json, folder: Path) -> _Flow:
    from haltere.rig import programs  # noqa: PLC0415
    from haltere.rig.programs.base import Setup  # noqa: PLC0415

    program = programs.find(one["transport"], one["implementation"], virtual=True)
    home = Path(one["home"])
    own = f"flow{one['flow']}"
    shown = folder / own / "shown"
    shown.mkdir(parents=True)
    for path in (folder / own, shown):
        path.chmod(0o777)
    thing = shown / "index.html"
    with thing.open("wb") as file:
        file.truncate(UNLIMITED if one["size"] is None else one["size"])
    thing.chmod(0o644)
    inside = Setup(
        server=one["server"],
        client=one["client"],
        port=one["port"],
        congestion=one["congestion"],
        folder=home / own,
        certificates=home / "certificates",
        object=home / own / "shown" / thing.name,
        size=one["size"],
        as_root=True,
    )
    here = dataclasses.replace(inside, folder=folder / own, certificates=folder / "certificates", object=thing)
    server, client = program.server(inside), program.client(inside)
    _write((server, client), home, folder)
    told = {
        "folder": str(folder),
        "server": None if server is None else _server(server, inside.folder),
        "client": _launch(client, inside.folder, "client"),
        "congestion": program.congestion.word(one["congestion"]) if program.congestion.by == "namespace" else None,
    }
    return _Flow(one["flow"], told, program, here)


def _with_brokers(scenario: Scenario, seeds: tuple[int, int], placed: dict[int, Json], folder: Path) -> Iterator[_Flow]:
    """Prepare the flows with MQTT: their brokers, publishers and subscribers."""
    from haltere.rig import messages  # noqa: PLC0415
    from haltere.rig.plan import of_nodes  # noqa: PLC0415

    plan = of_nodes(scenario, *seeds)
    clients = {one["flow"]: one for one in json.loads(scenario.mqtt_clients(*seeds))}
    flows = [plan.flows[number] for number in placed]
    home = Path(next(iter(placed.values()))["home"])

    def place(name: str, those: list[Any]) -> Any:
        own = folder / name
        own.mkdir(exist_ok=True)
        own.chmod(0o777)
        return messages.setup(plan, those, home / name, home / "certificates")

    for flow in flows:
        sharing = [other for other in flows if other.server == flow.server]
        at, within = place(f"broker{flow.server}", sharing), place(f"flow{flow.number}", [flow])
        broker = messages.broker(plan, sharing, at)
        work, (first, second) = clients[flow.number], placed[flow.number]["epochs_ns"]
        publishers = messages.clients(plan, flow, work, {"publishers": None}, first, within)
        subscriber = messages.clients(plan, flow, work, {"subscriber": None}, second, within)
        _write((broker, publishers.command, subscriber.command), home, folder)
        congestion = next(iter(_of_kernel(flow)), None)
        told = {
            "folder": str(folder),
            "server": _server(broker, at.folder),
            "client": _launch(publishers.command, within.folder, "publishers"),
            "subscriber": _launch(subscriber.command, within.folder, "subscriber"),
            "congestion": congestion,
        }
        notes = [folder / one.notes.relative_to(home) for one in (publishers, subscriber)]
        yield _Flow(flow.number, {"programs": told}, messages=(plan, notes))


def _write(commands: Iterable[Any], home: Path, folder: Path) -> None:
    """Write the files of commands that see a folder as their home."""
    for command in commands:
        for path, text in ({} if command is None else command.files).items():
            written = folder / path.relative_to(home)
            written.parent.mkdir(parents=True, exist_ok=True)
            written.write_text(text)


def _server(command: Any, folder: Path) -> Json:
    ready = None if command.ready is None else (command.ready.protocol, command.ready.port)
    return {"launch": _launch(command, folder, "server"), "ready": ready}


def _launch(command: Any, folder: Path, name: str) -> Json:
    program, home = Path(command.argv[0]), folder.parent
    hidden = next((one for one in _HIDDEN if program.is_relative_to(one) and not program.is_relative_to(home)), None)
    if hidden is not None:
        raise ScenarioProblem(
            f"{program} lies below {hidden}, of which a kernel has its own: put haltere and its Python elsewhere", name
        )
    environment = {
        "PATH": _PATH,
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "OPENSSL_ia32cap": _NO_DICE_OF_THE_PROCESSOR,
        **command.environment,
    }
    return {
        "argv": list(command.argv),
        "environment": list(environment.items()),
        "folder": str(folder),
        "log": str(folder / f"{name}.log"),
    }


def _told(flows: list[_Flow]) -> str:
    return json.dumps({flow.number: flow.told for flow in flows})


def _with_reports(answer: str, flows: list[_Flow]) -> str:
    """Return a run's result with what the clients report of their transfers."""
    result: Json = json.loads(answer)
    rows = {row["flow"]: row for row in result["flows"]}
    reports = [_report(flow, rows[flow.number]) for flow in flows if flow.program and flow.number in rows]
    with_messages = [flow for flow in flows if flow.messages and flow.number in rows]
    reports += [_report_of_messages(flow, rows[flow.number]) for flow in with_messages]
    return _core.with_reports(answer, json.dumps(reports))


def _report(flow: _Flow, row: Json) -> Json:
    from haltere.rig.programs import ProgramError  # noqa: PLC0415
    from haltere.rig.programs.process import last_lines  # noqa: PLC0415

    report: Json = {"flow": flow.number, "encrypted": flow.program.transport == "quic"}
    if row["status"] != "ok":
        return report | {"error": f"{row['error']}: {last_lines(flow.here.client_log)}"}
    if row["completion_s"] is None:
        # It was still fetching when the measured time was over.
        return report
    try:
        measured = dataclasses.asdict(flow.program.read(flow.here))
    except (ProgramError, OSError, LookupError) as error:
        return report | {"error": str(error)}
    names = ("completion_s", "handshake_s", "first_byte_s", "bytes", "error")
    return report | {name: measured[name] for name in names}


_UNFINISHED = "not finished after"
"""The first words of the core's error for a flow without an end, of which the clients say more."""


def _report_of_messages(flow: _Flow, row: Json) -> Json:
    """Return what both ends of a flow with MQTT report of its messages."""
    from haltere.rig import messages  # noqa: PLC0415
    from haltere.rig.programs import ProgramError  # noqa: PLC0415
    from haltere.rig.programs.process import last_lines  # noqa: PLC0415

    plan, notes = flow.messages
    planned = plan.flows[flow.number]
    report: Json = {"flow": flow.number, "encrypted": planned.transport == "quic", "error": row["error"]}
    if row["error"] is not None and not row["error"].startswith(_UNFINISHED):
        logs = [file.with_suffix(".log") for file in notes]
        said = [last_lines(log) for log in logs if log.is_file() and log.stat().st_size]
        report["error"] = ": ".join((row["error"], *said))
    try:
        seen = messages.seen(notes, plan.measure_from_ns)
        told = messages.outcome(plan, planned, seen)
    except (ProgramError, OSError, ValueError) as wrong:
        return report | {"error": report["error"] or str(wrong)}
    if row["error"] is None or row["error"].startswith(_UNFINISHED):
        report["error"] = told.get("error")
    if plan.duration_ns is not None:
        report["measured_s"] = (plan.duration_ns - plan.measure_from_ns) * 1e-9
        if told["completion_s"] is None:
            told["bytes"] = seen["measured_bytes"]
    names = ("completion_s", "handshake_s", "first_byte_s", "bytes", "messages")
    return report | {name: told[name] for name in names}
