"""The packets at a sender's interface, of two runs, and the first at which they differ.

Both runs are seen from the server's host, which sends the data. Times count from the first packet that reaches it, the
SYN, so that a run's beginning does not matter. Packets are compared in each direction by their place: the n-th that one
server sends with the n-th that the other sends, and so for those that arrive.
"""

from __future__ import annotations

import json
import re
import tempfile
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from haltere import core
from haltere.adhoc.conditions import Conditions
from haltere.errors import ArgumentError, HaltereError, InputError
from haltere.fidelity import Fidelity
from haltere.rig import nodes
from haltere.rig.kernel import Kernel, find
from haltere.scenario import Scenario

Way = Literal["sent", "received"]
WAYS: tuple[Way, Way] = ("sent", "received")
NEAR = 10
"""How many packets before and after the first difference are kept."""
_COMPARED = "SRAEC"
"""Flags that are compared. Not PSH and URG: they change nothing that a sender does, and qlog has no PSH. Not FIN: the
model's client ends its stream with its request, a kernel's does it apart."""


@dataclass(frozen=True)
class State:
    """The state that a sender's congestion control and loss recovery knew after a packet; None is what is not known.

    Bytes and seconds. `state` is `slow_start`, `congestion_avoidance`, `recovery` or `timeout_recovery`.
    """

    cwnd: float | None = None
    ssthresh: float | None = None
    bytes_in_flight: float | None = None
    srtt_s: float | None = None
    state: str | None = None


@dataclass(frozen=True)
class Packet:
    """A packet at the sender's interface; `seq`, `ack` and `sack` are positions in the data, SYN and FIN not counted.

    `window` is what it offers to receive, bytes; None for QUIC.

    Of QUIC `seq` is the packet number, `ack` the largest that is acknowledged, and `sack` all that are.
    """

    t_s: float
    way: Way
    seq: int
    len: int
    length: int
    flags: str
    ack: int
    sack: tuple[tuple[int, int], ...] = ()
    window: int | None = None
    state: State = field(default_factory=State, compare=False)
    quic: bool = False

    @property
    def fields(self) -> tuple[object, ...]:
        """The fields that must be the same, which the time is not."""
        return (self.seq, self.len, self.length, self.flags, self.ack, self.sack, self.window)

    def __str__(self) -> str:
        """Return it as one reads packets: `14480:15928 A ack 1 win 65536`, SACK blocks behind."""
        span = f"{self.seq}:{self.seq + self.len}" if self.len else str(self.seq)
        blocks = " ".join(f"{start}-{end}" for start, end in self.sack)
        window = "" if self.window is None else f" win {self.window}"
        return f"{span} {self.flags} ack {self.ack}{window}" + (f" sack {blocks}" if blocks else "")


@dataclass(frozen=True)
class Pair:
    """A packet in both runs, or in one alone; `known` is one that there is."""

    known: Packet
    first: Packet | None
    second: Packet | None

    def json(self) -> list[Any]:
        """Both, for programs."""
        return [None if packet is None else asdict(packet) for packet in (self.first, self.second)]


@dataclass(frozen=True)
class Side:
    """One of the two runs: its name, its packets in the order of time, and when its transfer was complete."""

    name: str
    packets: tuple[Packet, ...]
    end_s: float

    def of(self, way: Way) -> list[Packet]:
        """The packets of one direction."""
        return [packet for packet in self.packets if packet.way == way]


@dataclass(frozen=True)
class Difference:
    """The comparison of two runs of a flow; `pair` is the first pair that differs, None if there is none.

    `near` has the pairs around it, up to ten before and ten after, in the order of time; `place` is its place there.
    `number` counts the packets of its direction from 1, and `of_kind` those with data, or those without.
    """

    flow: int
    names: tuple[str, str]
    tolerance_s: float
    compared: int
    pair: Pair | None = None
    number: int = 0
    of_kind: int = 0
    near: tuple[Pair, ...] = ()
    place: int = 0

    @property
    def agrees(self) -> bool:
        """Whether no packet differs."""
        return self.pair is None

    @property
    def sentence(self) -> str:
        """The difference in one sentence."""
        first, second = self.names
        if self.pair is None:
            return (
                f"no packet differs: {self.compared} packets of {first} and {second} have the same fields, at times at "
                f"most {_ms(self.tolerance_s)} apart"
            )
        a, b, there = self.pair.first, self.pair.second, self.pair.known
        what = "data packet" if there.len else "packet without data"
        does = "leaves" if there.way == "sent" else "reaches"
        if a is None or b is None:
            who, other = (second, first) if a is None else (first, second)
            return (
                f"{who}'s {_ordinal(self.of_kind)} {what} ({there}) {does} the sender at {_ms(there.t_s)}; "
                f"{other} has no such packet"
            )
        if a.fields == b.fields:
            later = "later" if a.t_s > b.t_s else "earlier"
            return (
                f"{first}'s {_ordinal(self.of_kind)} {what} ({a}) {does} the sender {_ms(abs(a.t_s - b.t_s))} {later} "
                f"than {second}'s, at {_ms(a.t_s)}"
            )
        return (
            f"the {_ordinal(self.number)} packet that {does} the sender, at {_ms(min(a.t_s, b.t_s))}, differs in its "
            f"{_fields(a, b)}: {first} has {a}, {second} has {b}"
        )

    def json(self) -> dict[str, Any]:
        """All of it, for programs."""
        return {
            "flow": self.flow,
            "names": list(self.names),
            "agrees": self.agrees,
            "sentence": self.sentence,
            "tolerance_s": self.tolerance_s,
            "compared": self.compared,
            "number": self.number or None,
            "pair": None if self.pair is None else self.pair.json(),
            "near": [pair.json() for pair in self.near],
            "place": self.place,
        }


def compare(flow: int, first: Side, second: Side, tolerance_s: float) -> Difference:
    """Find the first packet that differs between two runs of a flow.

    Packets differ if a field does, or if their times are more than the tolerance apart. A packet that one run alone
    has differs as well, unless it came as the other's transfer was just complete.
    """
    rows: list[tuple[float, int, Pair]] = []
    for way in WAYS:
        ours, theirs = first.of(way), second.of(way)
        for i, (a, b) in enumerate(zip_longest(ours, theirs)):
            known = [packet for packet in (a, b) if packet is not None]
            rows.append((min(packet.t_s for packet in known), i, Pair(known[0], a, b)))
    rows.sort(key=lambda row: row[:2])
    compared = 0
    for place, (_, i, pair) in enumerate(rows):
        if not _differ(pair, first, second, tolerance_s):
            compared += pair.first is not None and pair.second is not None
            continue
        own = (second if pair.first is None else first).of(pair.known.way)
        begin = max(0, place - NEAR)
        return Difference(
            flow,
            (first.name, second.name),
            tolerance_s,
            compared,
            pair,
            number=i + 1,
            of_kind=sum(bool(packet.len) == bool(pair.known.len) for packet in own[: i + 1]),
            near=tuple(row[2] for row in rows[begin : place + NEAR + 1]),
            place=place - begin,
        )
    return Difference(flow, (first.name, second.name), tolerance_s, compared)


def _differ(pair: Pair, first: Side, second: Side, tolerance_s: float) -> bool:
    a, b = pair.first, pair.second
    if a is not None and b is not None:
        return a.fields != b.fields or abs(a.t_s - b.t_s) > tolerance_s
    own, other = (second, first) if a is None else (first, second)
    return pair.known.t_s < other.end_s - tolerance_s or own.end_s > other.end_s + tolerance_s


def of_simulated(name: str, log: Path, flow: Mapping[str, Any]) -> Side:
    """Read a run of the simulator from the qlog file of the flow's server; `flow` is its row of the result."""
    packets = list(_read(log))
    zero = next((packet.t_s for packet in packets if packet.way == "received"), 0.0)
    return _side(name, packets, zero, flow)


def _side(name: str, packets: Sequence[Packet], zero: float, flow: Mapping[str, Any]) -> Side:
    took = flow.get("completion_s")
    last = max((packet.t_s for packet in packets), default=zero)
    end = last if took is None else float(flow.get("start_s") or 0.0) + float(took)
    packets = _without_fin(packets)
    moved = (replace(p, t_s=p.t_s - zero) for p in packets if p.t_s <= end)
    return Side(name, tuple(moved), end - zero)


def _without_fin(packets: Sequence[Packet]) -> list[Packet]:
    """Return the packets with positions that do not count a FIN behind the data."""

    def without(packet: Packet) -> Packet:
        end = ends[other[packet.way]]
        sack = tuple((start, min(until, end)) for start, until in packet.sack if start < end)
        return replace(packet, seq=min(packet.seq, ends[packet.way]), ack=min(packet.ack, end), sack=sack)

    ends = {way: max((p.seq + p.len for p in packets if p.way == way and p.len), default=0) for way in WAYS}
    other: dict[Way, Way] = {"sent": "received", "received": "sent"}
    return [packet if packet.quic else without(packet) for packet in packets]


def _sorted(letters: str) -> str:
    return "".join(letter for letter in _COMPARED if letter in letters)


_METRICS = {
    "congestion_window": ("cwnd", 1.0),
    "ssthresh": ("ssthresh", 1.0),
    "bytes_in_flight": ("bytes_in_flight", 1.0),
    "smoothed_rtt": ("srtt_s", 1e-3),
}


def _read(log: Path) -> Iterator[Packet]:
    """Yield the packets of a qlog file, each with the state after what it caused."""
    state, waiting = State(state="slow_start"), None
    for record in log.read_text(encoding="utf-8").split("\x1e")[1:]:
        event = json.loads(record)
        if "name" not in event:
            continue
        data = event["data"]
        if event["name"] in ("transport:packet_sent", "transport:packet_received"):
            if waiting is not None:
                yield replace(waiting, state=state)
            waiting = _packet(event["time"] * 1e-3, "sent" if event["name"].endswith("sent") else "received", data)
        elif event["name"] == "recovery:metrics_updated":
            changed = {name: data[key] * by for key, (name, by) in _METRICS.items() if key in data}
            state = replace(state, **changed)
        elif event["name"] == "recovery:congestion_state_updated":
            state = replace(state, state=data["new"])
    if waiting is not None:
        yield replace(waiting, state=state)


def _packet(t_s: float, way: Way, data: Mapping[str, Any]) -> Packet:
    header, raw, tcp = data["header"], data["raw"], data.get("tcp")
    ip = 20 + (0 if tcp else 8)
    if tcp is None:
        acks = [tuple(span) for frame in data.get("frames") or () for span in frame.get("acked_ranges") or ()]
        return Packet(
            t_s=t_s,
            way=way,
            seq=header["packet_number"],
            len=sum(frame.get("length") or 0 for frame in data.get("frames") or () if frame["frame_type"] == "stream"),
            length=raw["length"] + ip,
            flags=header["packet_type"],
            ack=max((end for _, end in acks), default=0),
            sack=tuple(acks),
            quic=True,
        )
    return Packet(
        t_s=t_s,
        way=way,
        seq=header["packet_number"],
        len=raw["payload_length"],
        length=raw["length"] + ip,
        flags=_sorted(tcp["flags"]),
        ack=tcp["ack"],
        sack=tuple((start, end) for start, end in tcp.get("sack") or ()),
        window=tcp["window"],
    )


_NAMES = ("sequence number", "bytes of data", "length", "flags", "acknowledgement number", "SACK blocks", "window")


def _fields(a: Packet, b: Packet) -> str:
    return ", ".join(name for name, ours, theirs in zip(_NAMES, a.fields, b.fields, strict=True) if ours != theirs)


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.3f} ms"


NODE = ("+network-card=virtio", "+clock-step=256ns")
"""The mechanisms of every kernel that is a node: what memory its network card takes, and its clock."""
SIMULATED = ("model", "stack")
"""The fidelities whose packets can be read."""
KERNEL = "linux"
"""The implementation of TCP that is a kernel's."""
TOLERANCE_S = 0.0001
"""How far apart the times of a packet may be. A kernel's readings of its clock move virtual time, 256 ns each."""


def first_difference(
    contenders: Sequence[str],
    conditions: Conditions,
    *,
    seed: int = 1,
    replication: int = 0,
    tolerance_s: float = TOLERANCE_S,
    over: Mapping[str, Any] = MappingProxyType({}),
    of_flows: Mapping[str, Any] = MappingProxyType({}),
) -> list[Difference]:
    """Run contenders in the model and on Linux kernels in the same network; compare their packets.

    Return a comparison for each flow, in their order. A kernel's BBR begins its cycles of gains at random; the model is
    given the phases that it drew, which its name then says. `over` is laid on top of the scenario, such as an outage,
    and `of_flows` on top of each flow, such as a supply; a field that is None there is taken away.

    Raises:
        InputError: if something given is wrong, a contender is not TCP, or no kernel has been built.
        HaltereError: if a run fails.
    """
    if not contenders:
        raise InputError("no contender was given", field="contender", right="such as tcp/cubic")
    _check_tolerance(tolerance_s)
    for contender in contenders:
        if core.contender(contender)["transport"] != "tcp":
            raise InputError(
                "cannot be compared packet by packet with a kernel",
                field="contender",
                given=contender,
                right="a contender of tcp: packets of QUIC are encrypted, and those of MPTCP take several paths",
            )
    kernel = find()

    def sides(fidelity: Fidelity, contenders: Sequence[str]) -> list[Side]:
        bare = replace(conditions, fidelity=fidelity).scenario(contenders)
        flows = [{k: v for k, v in (flow | of_flows).items() if v is not None} for flow in bare.data["flows"]]
        return _sides(bare.merged({**over, "flows": flows}), seed, replication)

    theirs = sides("stack", [_on_kernel(one) for one in contenders])
    return _with_drawn_phases(
        [like_a_node(contender, kernel) for contender in contenders],
        lambda ours: _compared(sides("model", ours), theirs, tolerance_s),
    )


STARTS = "+cycle-starts="
"""The parameter of the model's BBR that says in which phases its cycles of gains begin."""
_PHASES = "1345678"
"""The phases in which a kernel's BBR begins its cycles, one of them at random each time."""
_MOST_STARTS = 8


def _with_drawn_phases(ours: list[str], compared: Callable[[list[str]], list[Difference]]) -> list[Difference]:
    """Compare, and give the model's BBR the phases that a kernel's drew for its cycles of gains.

    Nothing tells which a kernel drew: each is the one of the seven with which most packets agree, one cycle after
    another, as long as they become more.
    """
    best = compared(ours)
    drawn = {i: "" for i, one in enumerate(ours) if core.contender(one)["congestion"] == "bbr"}
    improved = True
    while improved:
        improved = False
        for i in [i for i in drawn if not best[i].agrees and len(drawn[i]) < _MOST_STARTS]:
            before = drawn[i]
            for phase in _PHASES:
                given = {**drawn, i: before + phase}
                found = compared([_starting(one, given.get(k)) for k, one in enumerate(ours)])
                if _agreement(found) > _agreement(best):
                    best, drawn, improved = found, given, True
    return best


def _starting(contender: str, phases: str | None) -> str:
    return f"{contender}{STARTS}{phases}" if phases else contender


def _agreement(found: list[Difference]) -> tuple[int, int]:
    """How much agrees: flows without a difference, then packets before the first one."""
    return sum(one.agrees for one in found), sum(one.compared for one in found)


def like_a_node(contender: str, kernel: Kernel) -> str:
    """A contender with the mechanisms of a kernel that is a node and of its version, unless it says otherwise."""
    parts = (f"+as={_bundle(kernel)}", *NODE)
    return contender + "".join(part for part in parts if part.partition("=")[0] not in contender)


def _bundle(kernel: Kernel) -> str:
    """The bundle of the newest series of Linux that is not newer than a kernel's; of the oldest if all are."""
    series: dict[tuple[int, int], str] = {}
    for bundle in core.algorithms()["bundles"]:
        if found := re.fullmatch(r"linux-(\d+)\.(\d+)", bundle["name"]):
            series[int(found[1]), int(found[2])] = bundle["name"]
    return series[max((one for one in series if one <= kernel.series), default=min(series))]


def _on_kernel(contender: str) -> str:
    """A contender of TCP as a Linux kernel's."""
    transport, _, rest = contender.partition("/")
    return f"{transport.partition('@')[0]}@{KERNEL}/{rest}"


def between(
    first: Scenario, second: Scenario, *, seed: int = 1, replication: int = 0, tolerance_s: float = TOLERANCE_S
) -> list[Difference]:
    """Run two scenarios in the simulator and compare the packets of their flows, the first with the first and so on.

    Raises:
        InputError: if a scenario does not run in the model, or their numbers of flows differ.
        HaltereError: if a run fails.
    """
    _check_tolerance(tolerance_s)
    for scenario in (first, second):
        if scenario.fidelity not in SIMULATED:
            right = " or ".join(SIMULATED)
            raise InputError("has packets that cannot be read", field="fidelity", given=scenario.fidelity, right=right)
    return _compared(_sides(first, seed, replication), _sides(second, seed, replication), tolerance_s)


def _sides(scenario: Scenario, seed: int, replication: int) -> list[Side]:
    return simulated(scenario.concrete(seed, replication), seed, replication, fidelity=scenario.fidelity)


def _compared(first: list[Side], second: list[Side], tolerance_s: float) -> list[Difference]:
    if len(first) != len(second):
        counts = f"{len(first)} and {len(second)}"
        raise InputError("have different numbers of flows", field="scenarios", given=counts, right="as many in both")
    return [compare(i, a, b, tolerance_s) for i, (a, b) in enumerate(zip(first, second, strict=True))]


def _check_tolerance(tolerance_s: float) -> None:
    if not 0 <= tolerance_s < float("inf"):
        raise ArgumentError("is not a time", field="tolerance_s", given=str(tolerance_s), right="such as 1ms")


def simulated(
    scenario: core.Scenario, seed: int, replication: int, *, fidelity: str = "model", states: bool = True
) -> list[Side]:
    """Run a concrete scenario in the simulator; return the packets of each flow's sender.

    A kernel that is asked for its state wakes a process, which moves its packets by some hundred nanoseconds. It runs
    twice: the packets are those of the run in which nobody asks, and their states those of the other. Without `states`
    that other run is left out.
    """
    if not states:
        return _traced(scenario, seed, replication, fidelity, metrics=False)
    asked = _traced(scenario, seed, replication, fidelity, metrics=True)
    if not any(_is_on_kernel(side.name) for side in asked):
        return asked
    alone = _traced(scenario, seed, replication, fidelity, metrics=False)
    return [_with_states(*both) if _is_on_kernel(both[0].name) else both[0] for both in zip(alone, asked, strict=True)]


def _traced(scenario: core.Scenario, seed: int, replication: int, fidelity: str, *, metrics: bool) -> list[Side]:
    with tempfile.TemporaryDirectory(prefix="haltere-") as folder:
        try:
            traced = nodes.trace(scenario, seed, replication, fidelity, qlog=Path(folder), metrics=metrics)
        except core.ScenarioProblem as problem:
            raise InputError(problem.message, field=problem.path or None) from None
        result = traced["result"]
        if result["status"] != "ok":
            raise HaltereError(f"the run at fidelity {fidelity} failed: {result['error']}")
        return [
            of_simulated(flow["contender"], Path(folder) / f"flow-{flow['flow']}-server.sqlog", flow)
            for flow in result["flows"]
        ]


def _is_on_kernel(contender: str) -> bool:
    return bool(core.contender(contender)["implementation"] == KERNEL)


def _with_states(alone: Side, asked: Side) -> Side:
    """Return the packets of one run with the states that another knew last at their times."""
    times = [packet.t_s for packet in asked.packets]

    def known(packet: Packet) -> State:
        place = bisect_right(times, packet.t_s)
        return asked.packets[place - 1].state if place else State()

    return replace(alone, packets=tuple(replace(packet, state=known(packet)) for packet in alone.packets))
