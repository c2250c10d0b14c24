"""Makes the transfers of a run: bare ones by the core, the others by programs."""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from haltere import _core, core
from haltere.rig import hosts, messages, namespaces, programs
from haltere.rig.beside import Beside
from haltere.rig.messages import Messages
from haltere.rig.namespaces import Rig, inside
from haltere.rig.plan import Flow
from haltere.rig.programs.base import Program, ProgramError, Setup, certificates
from haltere.rig.programs.process import Process

Json = dict[str, Any]
PHASE_NS = 2_048_000_000
"""The coarsest grain of kernel timers that matters: 512 ticks at HZ = 250."""
FIRST_TICK_NS = 264 * 4_000_000
"""A kernel counts ticks from 300 s before zero, which is so long after a multiple of that grain."""
UNLIMITED = 1 << 34
"""The object of a flow without a size, bytes: a file with a hole, which takes no room."""


def next_epoch(phase_ns: int) -> int:
    """Return the next instant, on the monotonic clock in ns, at which a run may begin.

    Args:
        phase_ns: how long after a multiple of `PHASE_NS` of the kernel's count of ticks; the model's is the same.
    """
    return (time.monotonic_ns() // PHASE_NS + 2) * PHASE_NS + (phase_ns - FIRST_TICK_NS) % PHASE_NS


def make(rig: Rig, job: Json, *, phase_ns: int, begin: Callable[[int], None]) -> Json:
    """Make the transfers of a run, with its probes and loads beside them.

    `job` is that of `run.run_job`. `begin` is told when the run begins, on the monotonic clock in ns, before anything
    is sent.

    Returns:
        What `_core.transfers` returns: `flows` in the plan's order, `series`, `virtual_s`; with probes or loads theirs.
    """
    bare = [flow for flow in rig.plan.flows if flow.implementation == "linux"]
    others = [flow for flow in rig.plan.flows if flow.implementation != "linux"]
    sample_ns = job.get("sample_ns")
    with Beside(rig) as beside:
        if others:
            with _serving(rig, others, job) as stage:
                epoch = next_epoch(phase_ns)
                begin(epoch)
                answer = stage.fetch(bare, sample_ns, epoch, beside)
        else:
            epoch = next_epoch(phase_ns)
            begin(epoch)
            beside.start(epoch)
            answer = _bare(rig, bare, epoch, sample_ns) if bare else {"flows": [], "series": []}
        answer["flows"].sort(key=lambda flow: flow["flow"])
        if rig.plan.probes or rig.plan.loads:
            answer |= beside.finish()
    return answer


def _bare(rig: Rig, flows: list[Flow], epoch_ns: int, sample_ns: int | None) -> Json:
    answer: Json = json.loads(_core.transfers(json.dumps(_spec(rig, flows, epoch_ns, sample_ns))))
    return answer


def _spec(rig: Rig, flows: list[Flow], epoch_ns: int, sample_ns: int | None) -> Json:
    what = rig.plan
    specs = [
        {
            "flow": flow.number,
            "server": {
                "netns": rig.nodes[flow.server].path,
                "address": what.addresses[flow.paths[0].server].ip,
                "port": flow.port,
            },
            "client": {"netns": rig.nodes[flow.client].path, "address": what.addresses[flow.paths[0].client].ip},
            "congestion": core.in_kernel(flow.congestion),
            "size": flow.size,
            "start_ns": flow.start_ns,
            "request": 1,
            "options": hosts.options(flow),
        }
        for flow in flows
    ]
    return {
        "flows": specs,
        "time_limit_ns": what.time_limit_ns,
        "duration_ns": what.duration_ns,
        "measure_from_ns": what.measure_from_ns or None,
        "sample_ns": sample_ns,
        "epoch_ns": epoch_ns,
    }


class _Stage:
    """Programs whose servers stand ready, and flows with MQTT with what their clients are to do."""

    def __init__(
        self, rig: Rig, flows: list[tuple[Flow, Program, Setup]], messages: Messages, clients: dict[int, Json]
    ) -> None:
        self.rig, self.flows, self.messages, self.clients = rig, flows, messages, clients

    def fetch(self, bare: list[Flow], sample_ns: int | None, epoch: int, beside: Beside) -> Json:
        beside.start(epoch)
        answers: list[Json] = []
        threads = [threading.Thread(target=self._fetch, args=(*one, epoch, answers)) for one in self.flows]
        threads += [
            threading.Thread(target=self.messages.exchange, args=(flow, self.clients[flow.number], epoch, answers))
            for flow in self.messages.flows
        ]
        for thread in threads:
            thread.start()
        whole: Json = {"flows": [], "series": []}
        if bare:
            whole = _bare(self.rig, bare, epoch, sample_ns)
        for thread in threads:
            thread.join()
        whole["flows"] += answers
        whole["virtual_s"] = (time.monotonic_ns() - epoch) * 1e-9
        return whole

    def _fetch(self, flow: Flow, program: Program, at: Setup, epoch: int, answers: list[Json]) -> None:
        start = epoch + flow.start_ns
        outcome: Json = {
            "flow": flow.number,
            "start_s": flow.start_ns * 1e-9,
            "status": "ok",
            "error": None,
            "bytes": 0,
        }
        plan = self.rig.plan
        end = epoch + (plan.duration_ns or plan.time_limit_ns)
        try:
            time.sleep(max(0, start - time.monotonic_ns()) * 1e-9)
            with inside(self.rig.nodes[flow.client].fd):
                process = Process(program.client(at), at.folder, "client")
                try:
                    process.wait(max(0.001, (end - time.monotonic_ns()) * 1e-9))
                finally:
                    process.end()
            measured = asdict(program.read(at))
            outcome["details"] = measured.pop("details")
            outcome |= {name: value for name, value in measured.items() if value is not None}
            if flow.size is not None and outcome["bytes"] in (0, None):
                outcome["bytes"] = flow.size
            if outcome["error"]:
                outcome["status"] = "failed"
        except (ProgramError, OSError) as error:
            outcome |= {"status": "failed", "error": str(error)}
        answers.append(outcome)


@contextlib.contextmanager
def _serving(rig: Rig, flows: list[Flow], job: Json) -> Iterator[_Stage]:
    """Start the servers, and end them."""
    scratch = Path(tempfile.mkdtemp(prefix="haltere-", dir="/run"))
    scratch.chmod(0o755)
    try:
        certificates(scratch / "certificates")
        with contextlib.ExitStack() as stack:
            stage = []
            for flow in (flow for flow in flows if flow.mqtt is None):
                program = programs.find(flow.transport, flow.implementation)
                setup = _setup(rig, flow, scratch)
                stack.enter_context(_server(rig, flow, program, setup))
                stage.append((flow, program, setup))
            with_messages = [flow for flow in flows if flow.mqtt is not None]
            talking = stack.enter_context(messages.serving(rig, with_messages, scratch))
            clients = {}
            if with_messages:
                told = json.loads(job["scenario"].mqtt_clients(job["seed"], job["replication"]))
                clients = {one["flow"]: one for one in told}
            yield _Stage(rig, stage, talking, clients)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _setup(rig: Rig, flow: Flow, scratch: Path) -> Setup:
    folder = scratch / f"flow{flow.number}"
    shown = folder / "shown"
    shown.mkdir(parents=True)
    for path in (folder, shown):
        path.chmod(0o777)
    thing = shown / "index.html"
    with thing.open("wb") as file:
        file.truncate(flow.size or UNLIMITED)
    plan = rig.plan
    return Setup(
        server=plan.addresses[flow.paths[0].server].ip,
        client=plan.addresses[flow.paths[0].client].ip,
        port=flow.port,
        congestion=flow.congestion,
        folder=folder,
        certificates=scratch / "certificates",
        object=thing,
        size=flow.size,
        duration_s=None if plan.duration_ns is None else (plan.duration_ns - flow.start_ns) * 1e-9,
        call=flow.call,
    )


@contextlib.contextmanager
def _server(rig: Rig, flow: Flow, program: Program, at: Setup) -> Iterator[None]:
    if program.congestion.by == "namespace":
        # Set by the route: a namespace's default may only be an algorithm that the machine's owner has allowed for all.
        # What switches have set of the route stays.
        metrics = hosts.metrics(rig.plan.flows).get((flow.server, flow.client))
        congestion = program.congestion.word(flow.congestion)
        for route in rig.plan.routes_between(flow.server, flow.client):
            namespaces.set_route(rig, route, congestion=congestion, metrics=metrics)
    with inside(rig.nodes[flow.server].fd):
        command = program.server(at)
        process = Process.ready(command, at.folder, "server") if command is not None else None
    try:
        yield
    finally:
        if process is not None:
            process.end()
