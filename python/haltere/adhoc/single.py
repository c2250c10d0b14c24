"""One scenario, run once: its result, or its result with time series."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from haltere import core, extras
from haltere import fidelity as fidelities
from haltere.errors import HaltereError, InputError, grouped
from haltere.executor import Task
from haltere.export import flent
from haltere.notebook import notebook
from haltere.plugins import store
from haltere.results import columns, tables
from haltere.rig import nodes
from haltere.scenario import Scenario

if TYPE_CHECKING:
    import polars as pl
else:
    pl = extras.module("polars")  # a run needs none of it, its tables do

_EVENTS = {
    "start": "at the start",
    "established": "when the handshake is complete",
    "sent": "as a packet is sent",
    "ack": "at an ACK",
    "echo": "at an ACK with ECN",
    "arrival": "at an ACK, before its losses are looked for",
    "lost": "as a packet is found lost",
    "congestion": "as congestion is detected",
    "undo": "as a reduction proves spurious",
    "recovered": "at the end of recovery",
    "segment_size": "as the segment size changes",
}
_STATES = {
    "slow_start": "slow start",
    "avoidance": "congestion avoidance",
    "recovery": "recovery",
    "timeout": "timeout recovery",
}


@dataclass(frozen=True)
class Decision:
    """The requests of a congestion control: bytes and bit/s. `ssthresh` is None if it is not set.

    `pacing_rate_bps` is None if the algorithm asks for none. `state` is `slow_start`, `avoidance`, `recovery` or
    `timeout`.
    """

    cwnd: int
    ssthresh: int | None
    pacing_rate_bps: int | None
    state: str

    def __str__(self) -> str:
        """Return it in words, such as `46 336 B in slow start`."""
        pace = "" if self.pacing_rate_bps is None else f", {self.pacing_rate_bps / 1e6:.3g} Mbit/s"
        return f"{grouped(self.cwnd)} B{pace} in {_STATES.get(self.state, self.state)}"


@dataclass(frozen=True)
class Parting:
    """The first event after which two congestion controls ask for different things.

    Times are seconds of virtual time. The first of each pair is the flow's congestion control, the second the shadow's.
    """

    t_s: float
    event: Mapping[str, Any] = field(repr=False)
    bytes_in_flight: int
    before: tuple[Decision, Decision]
    after: tuple[Decision, Decision]

    @property
    def what(self) -> str:
        """The event in words."""
        event = self.event
        about = []
        if event["bytes"] is not None:
            verb = {"ack": "delivers ", "echo": "with marks since the start: "}.get(event["kind"], "")
            about.append(f"{verb}{grouped(event['bytes'])} B")
        if event["rtt_s"] is not None:
            about.append(f"RTT {1e3 * event['rtt_s']:.3f} ms")
        if event["idle_s"] is not None:
            about.append(f"after {event['idle_s']:.3f} s without data")
        if event["cause"] is not None:
            about.append(event["cause"])
        words = _EVENTS.get(event["kind"], event["kind"])
        return f"{words} ({', '.join(about)})" if about else words


@dataclass(frozen=True)
class Shadow:
    """A congestion control in the shadow of a flow's: its contender, and where it parted (None: never)."""

    flow: int
    path: int
    number: int
    contender: str
    parting: Parting | None

    @property
    def who(self) -> str:
        """Its name in the series."""
        path = f" path {self.path}" if self.path else ""
        return f"flow {self.flow}{path} shadow {self.number}"

    def sentence(self, first: str) -> str:
        """Say where it parts from the flow's congestion control, which is that of the contender `first`."""
        path = f" on path {self.path}" if self.path else ""
        if self.parting is None:
            return f"{self.contender} in the shadow of {first}{path} never asks for anything else"
        parting = self.parting
        return (
            f"{self.contender} in the shadow of {first}{path} parts at {parting.t_s:.6f} s, {parting.what}, with "
            f"{grouped(parting.bytes_in_flight)} B in flight: {first} from {parting.before[0]} to {parting.after[0]}; "
            f"the shadow from {parting.before[1]} to {parting.after[1]}"
        )


def shadows_of(data: Mapping[str, Any]) -> list[Shadow]:
    """Return the shadows of a trace, as `haltere._core.trace` returns it (parsed from JSON)."""
    return [
        Shadow(one["flow"], one["path"], one["shadow"], one["contender"], _parting(one["parted"]))
        for one in data.get("shadows", ())
    ]


def _parting(data: Mapping[str, Any] | None) -> Parting | None:
    if data is None:
        return None

    def both(moment: str) -> tuple[Decision, Decision]:
        return Decision(**data[moment]["first"]), Decision(**data[moment]["shadow"])

    return Parting(data["t_s"], data["event"], data["bytes_in_flight"], both("before"), both("after"))


SHOWN = ("flow", "contender", "completion_s", "goodput_bps", "retransmitted_packets", "error")
"""The columns of flows that a notebook shows of a result."""


class RunFailedError(HaltereError):
    """A run that failed, from `RunResult.raise_if_failed`."""


@dataclass(frozen=True)
class RunResult:
    """The result of one run. `status` is `ok`, or `failed` with the reason in `error`.

    `data` is the whole answer of the core: times in seconds, rates in bit/s, sizes in bytes.
    """

    data: dict[str, Any] = field(repr=False)

    @property
    def status(self) -> str:
        """Either `ok` or `failed`."""
        return str(self.data["status"])

    @property
    def error(self) -> str | None:
        """Why the run failed."""
        error = self.data["error"]
        return None if error is None else str(error)

    def raise_if_failed(self) -> RunResult:
        """Return itself.

        Raises:
            RunFailedError: if the run, or one of its flows, failed.
        """
        if self.status != "ok":
            raise RunFailedError(f"the run failed: {self.error or 'no reason is known'}")
        return self

    @cached_property
    def flows(self) -> pl.DataFrame:
        """A row a flow."""
        return pl.DataFrame(self.data["flows"], schema=columns.schema("flow"))

    @cached_property
    def links(self) -> pl.DataFrame:
        """A row a link and direction."""
        return pl.DataFrame(self.data["links"], schema=columns.schema("link"))

    @cached_property
    def latency(self) -> pl.DataFrame:
        """A row a probe: requests sent, answered and lost, the RTT's mean and quantiles, and RPM."""
        rows = [{name: probe[name] for name in columns.of("probe")} for probe in self.data.get("probes", [])]
        return pl.DataFrame(rows, schema=columns.schema("probe"))

    @cached_property
    def probes(self) -> pl.DataFrame:
        """A row a request of a probe: when it was sent, and its RTT, null if it was lost."""
        rows = [sample for probe in self.data.get("probes", []) for sample in tables.samples(probe)]
        return pl.DataFrame(rows, schema=columns.schema("request"), orient="row")

    @cached_property
    def loads(self) -> pl.DataFrame:
        """A row a load."""
        return pl.DataFrame(self.data.get("loads", []), schema=columns.schema("load"))

    @cached_property
    def cells(self) -> pl.DataFrame:
        """A row a cell of 802.11."""
        return pl.DataFrame(self.data.get("cells", []), schema=columns.schema("cell"))

    def __repr__(self) -> str:
        return f"<RunResult {self._said()}>"

    def _repr_html_(self) -> str:
        return notebook(f"Run {self._said()}", self.flows.select(SHOWN))

    def _said(self) -> str:
        if self.status != "ok":
            return f"FAILED: {self.error}"
        return f"ok: {len(self.data['flows'])} flows, {self.data['virtual_s']} s of virtual time"


@dataclass(frozen=True)
class Trace:
    """One run in detail: its result, and every change of its state as time series."""

    data: dict[str, Any] = field(repr=False)

    @property
    def result(self) -> RunResult:
        """The run's result, the same as without tracing."""
        return RunResult(self.data["result"])

    @cached_property
    def series(self) -> pl.DataFrame:
        """All series in one long frame: who, name, unit, t_s (seconds of virtual time), v."""
        schema = {"who": pl.String, "name": pl.String, "unit": pl.String, "t_s": pl.Float64, "v": pl.Float64}
        frames = [
            pl.DataFrame({"t_s": one["t_s"], "v": one["v"]}, schema={"t_s": pl.Float64, "v": pl.Float64}).select(
                pl.lit(one["who"]).alias("who"),
                pl.lit(one["name"]).alias("name"),
                pl.lit(one["unit"]).alias("unit"),
                "t_s",
                "v",
            )
            for one in self.data["series"]
        ]
        return pl.concat(frames) if frames else pl.DataFrame(schema=schema)

    @cached_property
    def schedule(self) -> pl.DataFrame:
        """A row a packet and stream of flows with several paths: which path carried which data when.

        `start` is the position of the first byte in the stream; `again` says that the data was sent before.
        """
        schema: dict[str, type[pl.DataType]] = {"flow": pl.Int64, "t_s": pl.Float64, "path": pl.Int64}
        schema |= {"stream": pl.Int64, "start": pl.Int64, "bytes": pl.Int64, "again": pl.Boolean}
        frames = [
            pl.DataFrame({**one, "flow": [one["flow"]] * len(one["t_s"])}, schema=schema)
            for one in self.data.get("schedule", ())
        ]
        return pl.concat(frames) if frames else pl.DataFrame(schema=schema)

    @cached_property
    def shadows(self) -> list[Shadow]:
        """The congestion controls in the shadow of each flow's, and where each parted from it."""
        return shadows_of(self.data)

    def __repr__(self) -> str:
        return f"<Trace of a {self.result!r}: {len(self.data['series'])} series, {self.series.height} samples>"

    def _repr_html_(self) -> str:
        series = self.series.group_by("who", "name", "unit", maintain_order=True).agg(pl.len().alias("samples"))
        return notebook(repr(self), series)

    def figure(self, out: str | Path) -> None:
        """Draw the series on one time axis into a file (SVG, PDF or PNG by its ending)."""
        from haltere.figures import trace_figure  # noqa: PLC0415 (drawing is slow to load)

        trace_figure(self.data, Path(out))

    def flent(self, out: str | Path, *, title: str = "haltere") -> Path:
        """Write goodput and the RTTs of probes over time as a data file of flent, and return its path.

        The file's name ends in `.flent.gz`. Traces of the simulator only.
        """
        return flent.write(self.data, title, Path(out))


def run(scenario: Scenario, *, seed: int = 1, replication: int = 0) -> RunResult:
    """Run a scenario once, at its fidelity. In the simulator, same arguments and version give the same answer.

    A run that fails is a result, whose `status` and `error` say so; `run(...).raise_if_failed()` raises instead.

    Raises:
        InputError: if it is not given a `Scenario`.
    """
    _checked(scenario)
    if fidelities.of(scenario.fidelity).simulated:
        return RunResult(
            json.loads(nodes.run(scenario.concrete(seed, replication), seed, replication, scenario.fidelity))
        )
    return RunResult(_once(scenario, seed, replication, {}))


def trace(
    scenario: Scenario,
    *,
    seed: int = 1,
    replication: int = 0,
    qlog: str | Path | None = None,
    pcap: str | Path | None = None,
    links: Sequence[str] = (),
    shadow: str | Sequence[str] = (),
) -> Trace:
    """Run a scenario once, recording cwnd, ssthresh, bytes in flight, RTT, delivery and pacing rate, and queues.

    The simulator records every change. A kernel is asked twenty times a round trip, and its queues are not recorded.

    Into the folder `qlog` goes what each end saw and decided, a qlog file an end; into the folder `pcap` what each of
    `links` delivered, or every link if none is named, a pcapng file a link (`docs/how-to/looking-inside.md`).
    Simulator only.

    `shadow` names congestion controls (`cubic-hystart`, or a contender) that receive the events of each flow's own.
    What they ask for is recorded and never used; `Trace.shadows` says where each parts from the flow's. Model only.
    """
    _checked(scenario)
    shadows = [shadow] if isinstance(shadow, str) else list(shadow)
    store.ask(*shadows)
    if fidelities.of(scenario.fidelity).simulated:
        logs, packets = None if qlog is None else Path(qlog), None if pcap is None else Path(pcap)
        run = (scenario.concrete(seed, replication), seed, replication, scenario.fidelity)
        try:
            return Trace(nodes.trace(*run, qlog=logs, pcap=packets, links=links, shadows=shadows))
        except core.ScenarioProblem as problem:
            raise InputError(problem.message, field=problem.path or None) from None
    refuse_files(scenario.fidelity, qlog=qlog, pcap=pcap)
    refuse_shadows(scenario.fidelity, shadows)
    result = _once(scenario, seed, replication, {"sample_ns": sample_ns(scenario.concrete(seed, replication))})
    return Trace({"series": result.pop("series", []), "result": result})


def _checked(scenario: object) -> None:
    if not isinstance(scenario, Scenario):
        raise InputError(
            f"is a {type(scenario).__name__}, not a scenario",
            field="scenario",
            right="haltere.Scenario({...}), haltere.Scenario.load(FILE) or haltere.Scenario.point_to_point([...])",
        )


def refuse_files(fidelity: fidelities.Fidelity, **folders: str | Path | None) -> None:
    """Raise `InputError` if a fidelity cannot write one of the files that are wanted."""
    for name, folder in folders.items():
        if folder is not None and not fidelities.of(fidelity).simulated:
            raise InputError(
                f"is written by the simulator, not at fidelity {fidelity!r}",
                field=name,
                given=str(folder),
                right=f"fidelity {' or '.join(fidelities.simulated())}; or programs' logs (docs/how-to/programs.md)",
            )


def refuse_shadows(fidelity: fidelities.Fidelity, shadows: Sequence[str]) -> None:
    """Raise `InputError` if a fidelity cannot feed congestion controls in the shadow of others."""
    if shadows and not fidelities.of(fidelity).simulated:
        raise InputError(
            f"needs the events of the congestion control, which fidelity {fidelity!r} does not show",
            field="shadow",
            given=", ".join(shadows),
            right="fidelity model",
        )


def sample_ns(scenario: core.Scenario) -> int:
    """Return how often a kernel's connections are asked for their state: a twentieth of the longest base RTT."""
    delays = [link["down"]["delay_ns"] + link["up"]["delay_ns"] for link in core.network(scenario)["links"]]
    return max(100_000, max(delays, default=0) // 20)


def _once(scenario: Scenario, seed: int, replication: int, extra: dict[str, Any]) -> dict[str, Any]:
    executor = fidelities.executor(scenario.fidelity, 1, extra)
    (outcome,) = executor.execute([Task("0", scenario.concrete(seed, replication), seed, replication)])
    answer: dict[str, Any] = json.loads(outcome.result_json)
    return answer
