"""Probes and loads beside the flows of a rig, on sockets of our own."""

from __future__ import annotations

import time
from typing import Any, Self

from haltere.rig.beside import loads, probes
from haltere.rig.beside.base import NUMBER, Span, Stop, Worker
from haltere.rig.namespaces import Rig
from haltere.rig.plan import FIRST_PORT, Load, Plan, Probe

Json = dict[str, Any]
__all__ = ["Beside", "refusal"]


def refusal(what: Plan) -> tuple[str, str] | None:
    """Return why a rig cannot carry a plan's probes and loads, and the field, if that is so."""
    for number, load in enumerate(what.loads):
        if load.kind == "replay":
            words = 'a load of kind replay runs in the simulator only: choose fidelity "model" or "stack"'
            return words, f"loads[{number}].kind"
        for field, size in (("size", load.size_bytes), ("answer", load.answer_bytes)):
            if size is not None and size < NUMBER:
                return (
                    f"{size}B: on real hosts a payload holds its number: give at least {NUMBER}B",
                    f"loads[{number}].{field}",
                )
    for number, probe in enumerate(what.probes):
        if probe.kind != "tcp" and probe.size_bytes < NUMBER:
            size = probe.size_bytes
            return (
                f"{size}B: on real hosts a payload holds its number: give at least {NUMBER}B",
                f"probes[{number}].size",
            )
    return None


class Beside:
    """The probes and loads of a run. Their sockets are made at once, and used from the beginning of the run on."""

    def __init__(self, rig: Rig) -> None:
        what = rig.plan
        self._plan = what
        self._stop = Stop()
        port = FIRST_PORT + len(what.flows)
        self._probes = [probes.make(rig, one, port + n, self._stop) for n, one in enumerate(what.probes)]
        port += len(what.probes)
        self._loads = [loads.make(rig, one, port + n, self._stop) for n, one in enumerate(what.loads)]
        self._epoch = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end_all()

    def start(self, epoch: int) -> None:
        """Tell all when the run begins, on the monotonic clock in ns."""
        self._epoch = epoch
        end = self._end()
        whole = Span(epoch, epoch, end, end)
        for prober, echo in self._probes:
            if echo is not None:
                echo.begin(whole)
            prober.begin(self._span(prober.probe))
        for source, sink in self._loads:
            sink.begin(whole)
            source.begin(self._span(source.load))

    def finish(self) -> Json:
        """Wait for the probes and loads that end by themselves, end the others, and return all results.

        Without flows, and if none ends by itself, they go on until the run's duration is over.
        """
        senders = self._senders()
        ending = [worker for worker, what in senders if what.ends]
        # As in the simulator, a run is over when its flows are, and all else that ends by itself.
        endless = not ending and not self._plan.flows
        for worker in [worker for worker, _ in senders] if endless else ending:
            worker.join()
        over = self._end_all()
        return {
            "probes": [prober.result(number) for number, (prober, _) in enumerate(self._probes)],
            "loads": [source.result(number, sink) for number, (source, sink) in enumerate(self._loads)],
            "virtual_s": (over - self._epoch) * 1e-9,
        }

    def _end_all(self) -> int:
        """End all threads and close their sockets; return when the threads had ended."""
        workers = [worker for pair in (*self._probes, *self._loads) for worker in pair if worker is not None]
        self._stop.set()
        for worker in workers:
            worker.join()
        over = time.monotonic_ns()
        for worker in workers:
            worker.close()
        return over

    def _senders(self) -> list[tuple[Worker, Probe | Load]]:
        return [(p, p.probe) for p, _ in self._probes] + [(s, s.load) for s, _ in self._loads]

    def _end(self) -> int:
        return self._epoch + (self._plan.duration_ns or self._plan.time_limit_ns)

    def _span(self, what: Probe | Load) -> Span:
        start, end = self._epoch + what.start_ns, self._end()
        return Span(self._epoch, start, end if what.duration_ns is None else start + what.duration_ns, end)
