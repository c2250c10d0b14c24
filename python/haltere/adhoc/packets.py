"""The packets at a sender's interface, of two runs, and the first at which they differ.

Both runs are seen from the server's host, which sends the data. Times count from the first packet that reaches it, the
SYN, so that a run's beginning does not matter. Packets are compared in each direction by their place: the n-th that one
server sends with the n-th that the other sends, and so for those that arrive.
"""

from __future__ import annotations

import json
import tempfile
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal

from haltere import core
from haltere import fidelity as fidelities
from haltere.adhoc.conditions import Conditions
from haltere.adhoc.single import sample_ns
from haltere.errors import ArgumentError, HaltereError, InputError
from haltere.executor import Task
from haltere.scenario import Scenario

Way = Literal["sent", "received"]
WAYS: tuple[Way, Way] = ("sent", "received")
NEAR = 10
"""How many packets before and after the first difference are kept."""
_LETTERS = "FSRPAUEC"
_COMPARED = "SRAEC"
"""Flags that are compared. Not PSH and URG: they change nothing that a sender does, and qlog has no PSH. Not FIN: the
model's client ends its stream with its request, the rig's does not end it at all."""
_CA_STATES = ("open", "disorder", "cwr", "recovery", "loss")


@dataclass(frozen=True)
class State:
    """The state that a sender's congestion control and loss recovery knew; None is what is not known.

    Bytes and seconds. `state` is, in the model, `slow_start`, `congestion_avoidance`, `recovery` or
    `timeout_recovery`; at a kernel `open`, `disorder`, `cwr`, `recovery` or `loss` (`tcpi_ca_state`). A kernel's state
    is the last that was sampled: `as_of_s` is when it was last seen to change. The model's is that after the packet.
    """

    cwnd: float | None = None
    ssthresh: float | None = None
    bytes_in_flight: float | None = None
    srtt_s: float | None = None
    state: str | None = None
    as_of_s: float | None = None


@dataclass(frozen=True)
class Packet:
    """A packet at the sender's interface; `seq`, `ack` and `sack` are positions in the data, SYN and FIN not counted.

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
    state: State = field(default_factory=State, compare=False)
    quic: bool = False

    @property
    def fields(self) -> tuple[object, ...]:
        """The fields that must be the same, which the time is not."""
        return (self.seq, self.len, self.length, self.flags, self.ack, self.sack)

    def __str__(self) -> str:
        """Return it as one reads packets: `14480:15928 A ack 1`, SACK blocks behind."""
        span = f"{self.seq}:{self.seq + self.len}" if self.len else str(self.seq)
        blocks = " ".join(f"{start}-{end}" for start, end in self.sack)
        return f"{span} {self.flags} ack {self.ack}" + (f" sack {blocks}" if blocks else "")


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


def of_model(name: str, log: Path, flow: Mapping[str, Any]) -> Side:
    """Read a run of the simulator from the qlog file of the flow's server; `flow` is its row of the result."""
    packets = list(_read(log))
    zero = next((packet.t_s for packet in packets if packet.way == "received"), 0.0)
    return _side(name, packets, zero, flow)


def of_kernel(name: str, result: Mapping[str, Any], number: int) -> Side:
    """Read a run on real Linux from its result, which has all packets (`packets` of `haltere.rig.run`)."""
    columns = result["packets"]
    flow = next(one for one in result["flows"] if one["flow"] == number)
    taps = next(one for one in result["taps"] if one["flow"] == number)
    names = ("t_ns", "tap", "outgoing", "flow", "from_server", "length", "payload", "seq", "ack", "flags", "sack")
    every = (dict(zip(names, row, strict=True)) for row in zip(*(columns[name] for name in names), strict=True))
    rows = sorted((row for row in every if row["flow"] == number), key=lambda row: row["t_ns"])
    # The taps have a clock of their own. The client's SYN leaves when the transfer begins.
    opened = next((row for row in rows if row["tap"] == taps["client"]["tap"] and not row["from_server"]), None)
    shift = 0.0 if opened is None else float(flow.get("start_s") or 0.0) - opened["t_ns"] * 1e-9
    rows = [row for row in rows if row["tap"] == taps["server"]["tap"] and row["outgoing"] == row["from_server"]]
    # Positions count from the byte after each end's SYN.
    isn = {row["from_server"]: row["seq"] + 1 for row in reversed(rows) if row["flags"] & 2}
    states = _states(result.get("series") or [], f"flow {number}")
    packets = []
    for row in rows:
        letters = "".join(letter for bit, letter in enumerate(_LETTERS) if row["flags"] & 1 << bit)
        if "R" in letters:
            break  # the end of a transfer on the rig
        own, peer = isn.get(row["from_server"], 0), isn.get(not row["from_server"], 0)
        syn = "S" in letters
        t_s = row["t_ns"] * 1e-9 + shift
        packets.append(
            Packet(
                t_s=t_s,
                way="sent" if row["from_server"] else "received",
                seq=0 if syn else _offset(row["seq"], own),
                len=row["payload"],
                length=row["length"],
                flags=_sorted(letters),
                ack=_offset(row["ack"], peer) if "A" in letters else 0,
                sack=tuple((_offset(start, peer), _offset(end, peer)) for start, end in row["sack"]),
                state=states.at(t_s),
            )
        )
    zero = next((packet.t_s for packet in packets if packet.way == "received"), 0.0)
    return _side(name, packets, zero, flow)


def _side(name: str, packets: Sequence[Packet], zero: float, flow: Mapping[str, Any]) -> Side:
    took = flow.get("completion_s")
    last = max((packet.t_s for packet in packets), default=zero)
    end = last if took is None else float(flow.get("start_s") or 0.0) + float(took)
    packets = _without_fin(packets)
    moved = (
        replace(p, t_s=p.t_s - zero, state=replace(p.state, as_of_s=_less(p.state.as_of_s, zero)))
        for p in packets
        if p.t_s <= end
    )
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


def _less(time: float | None, zero: float) -> float | None:
    return None if time is None else time - zero


def _offset(number: int, isn: int) -> int:
    """A position, of a sequence number that wraps."""
    return (number - isn) % (1 << 32)


def _sorted(letters: str) -> str:
    return "".join(letter for letter in _COMPARED if letter in letters)


class _Samples:
    """A kernel's state at each time it was asked, and changed."""

    def __init__(self, series: Mapping[str, tuple[Sequence[float], Sequence[float]]]) -> None:
        self._series = series

    def at(self, t_s: float) -> State:
        values: dict[str, tuple[float, float]] = {}
        for name, (times, of) in self._series.items():
            place = bisect_right(times, t_s) - 1
            if place >= 0:
                values[name] = (times[place], of[place])
        get = {name: value for name, (_, value) in values.items()}
        ca = get.get("ca_state")
        known = _CA_STATES[int(ca)] if ca is not None and int(ca) < len(_CA_STATES) else None
        as_of = max((time for time, _ in values.values()), default=None)
        return State(get.get("cwnd"), get.get("ssthresh"), get.get("bytes_in_flight"), get.get("rtt"), known, as_of)


def _states(series: Sequence[Mapping[str, Any]], who: str) -> _Samples:
    return _Samples({one["name"]: (one["t_s"], one["v"]) for one in series if one["who"] == who})


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
    )


_NAMES = ("sequence number", "bytes of data", "length", "flags", "acknowledgement number", "SACK blocks")


def _fields(a: Packet, b: Packet) -> str:
    return ", ".join(name for name, ours, theirs in zip(_NAMES, a.fields, b.fields, strict=True) if ours != theirs)


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.3f} ms"


TOLERANCE_S = 0.0001
"""How far apart the times of a packet may be. A kernel's readings of its clock move virtual time, 256 ns each: without
a difference, packets were at most 10 µs apart."""
_FINER = 4
"""How many times more often than for a trace a kernel is asked for its state."""


def first_difference(
    contenders: Sequence[str],
    conditions: Conditions,
    *,
    seed: int = 1,
    replication: int = 0,
    tolerance_s: float = TOLERANCE_S,
) -> list[Difference]:
    """Run contenders in the model and on the kernel of fidelity `linux`, with the same losses; compare their packets.

    Return a comparison for each flow, in their order.

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
    model = conditions.scenario(list(contenders)).concrete()
    real = replace(conditions, fidelity="linux").scenario(list(contenders)).concrete()
    theirs = on_linux(real, seed, replication)
    ours = in_model(model, seed, replication, name="the model")
    return [compare(i, a, b, tolerance_s) for i, (a, b) in enumerate(zip(ours, theirs, strict=True))]


def between(
    first: Scenario, second: Scenario, *, seed: int = 1, replication: int = 0, tolerance_s: float = TOLERANCE_S
) -> list[Difference]:
    """Run two scenarios of the model and compare the packets of their flows, the first with the first and so on.

    Raises:
        InputError: if a scenario does not run in the model, or their numbers of flows differ.
        HaltereError: if a run fails.
    """
    _check_tolerance(tolerance_s)
    for scenario in (first, second):
        if not fidelities.of(scenario.fidelity).modelled:
            raise InputError(
                "has packets that cannot be read", field="fidelity", given=scenario.fidelity, right="model"
            )
    sides = [in_model(one.concrete(seed, replication), seed, replication) for one in (first, second)]
    if len(sides[0]) != len(sides[1]):
        counts = f"{len(sides[0])} and {len(sides[1])}"
        raise InputError("have different numbers of flows", field="scenarios", given=counts, right="as many in both")
    return [compare(i, a, b, tolerance_s) for i, (a, b) in enumerate(zip(*sides, strict=True))]


def _check_tolerance(tolerance_s: float) -> None:
    if not 0 <= tolerance_s < float("inf"):
        raise ArgumentError("is not a time", field="tolerance_s", given=str(tolerance_s), right="such as 1ms")


def on_linux(scenario: core.Scenario, seed: int, replication: int) -> list[Side]:
    """Run a concrete scenario (JSON) of bare TCP transfers on the kernel; return the packets of each flow's sender."""
    extra = {"packets": True, "sample_ns": max(100_000, sample_ns(scenario) // _FINER)}
    (outcome,) = fidelities.executor("linux", 1, extra).execute([Task("0", scenario, seed, replication)])
    kernel: dict[str, Any] = json.loads(outcome.result_json)
    if kernel["status"] != "ok":
        raise HaltereError(f"the run at fidelity linux failed: {kernel['error']}")
    name = f"Linux {kernel['kernel']}"
    return [of_kernel(name, kernel, flow["flow"]) for flow in kernel["flows"]]


def in_model(scenario: core.Scenario, seed: int, replication: int, *, name: str | None = None) -> list[Side]:
    """Run a concrete scenario in the model; return the packets of each flow's sender.

    A side is called as its flow's contender if no name is given.
    """
    with tempfile.TemporaryDirectory(prefix="haltere-") as folder:
        try:
            traced = core.trace(scenario, seed, replication, qlog=Path(folder))
        except core.ScenarioProblem as problem:
            raise InputError(problem.message, field=problem.path or None) from None
        result = traced["result"]
        if result["status"] != "ok":
            raise HaltereError(f"the run in the model failed: {result['error']}")
        return [
            of_model(name or flow["contender"], Path(folder) / f"flow-{flow['flow']}-server.sqlog", flow)
            for flow in result["flows"]
        ]
