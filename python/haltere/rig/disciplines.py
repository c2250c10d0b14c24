"""The queue disciplines of a kernel: how a scenario's queue is set in one, and what its counters mean.

Names and parameters are those of tc(8), which the model's are too. `DISCIPLINES` is the mapping, as data: for each
parameter the number of its netlink attribute (linux/pkt_sched.h) and its unit there. A few disciplines take a structure
instead of attributes; each of these has a function.

A discipline here is the child of a shaper that dequeues at the link's rate (`queues`): packets wait in it alone.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from haltere.rig.tc import attribute

Values = Mapping[str, str]
_TICK_NS = 64
"""The unit of some times in netlink (PSCHED_TICKS2NS)."""
_NS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
_SIZES = {"kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "B": 1}
_RATES = {"kbit/s": 10**3, "Mbit/s": 10**6, "Gbit/s": 10**9, "bit/s": 1}


class Unsupported(ValueError):
    """A queue discipline that the kernel cannot set up as it is asked for; the message says why."""


def _scaled(text: str, units: Mapping[str, int], what: str) -> int:
    for unit, factor in units.items():
        number = text.strip().removesuffix(unit)
        if number != text.strip():
            try:
                return round(float(number) * factor)
            except ValueError:
                break
    raise Unsupported(f"{text!r} is not {what}")


def ns(text: str) -> int:
    """Read a time as the core writes it (`5ms`), in ns."""
    return _scaled(text, _NS, "a time")


def size(text: str) -> int:
    """Read a number of bytes (`64kB`)."""
    return _scaled(text, _SIZES, "a number of bytes")


def packets(text: str) -> int:
    """Read a number of packets (`1000p`)."""
    if not text.endswith("p"):
        raise Unsupported(f"the kernel counts this limit in packets, not {text!r}")
    return int(text[:-1])


def _flag(text: str) -> int:
    if text not in ("true", "false"):
        raise Unsupported(f"{text!r} is neither true nor false")
    return int(text == "true")


def _word(**words: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if text not in words:
            raise Unsupported(f"the kernel knows {', '.join(words)}, not {text!r}")
        return words[text]

    return read


@dataclass(frozen=True)
class Unit:
    """How a value is written in an attribute: a `struct` format, and the number that the text stands for."""

    format: str
    read: Callable[[str], int | tuple[int, ...]]

    def write(self, text: str) -> bytes:
        """Encode a value; raise `Unsupported` if the kernel has no such value."""
        value = self.read(text)
        try:
            return struct.pack(self.format, *(value if isinstance(value, tuple) else (value,)))
        except struct.error:
            raise Unsupported(f"{text!r} is out of the kernel's range") from None


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise Unsupported(f"{text!r} is not a whole number") from None


def _numbers(text: str, count: int) -> tuple[int, ...]:
    found = tuple(_whole(one) for one in text.split())
    if len(found) != count:
        raise Unsupported(f"the kernel wants {count} numbers with spaces between, not {text!r}")
    return found


PACKETS = Unit("=I", packets)
BYTES = Unit("=I", size)
NUMBER = Unit("=I", _whole)
MICROSECONDS = Unit("=I", lambda text: ns(text) // 1000)
NANOSECONDS = Unit("=I", ns)
FLAG = Unit("=I", _flag)
FLAG8 = Unit("=B", _flag)
NUMBER8 = Unit("=B", _whole)
SCALED = Unit("=I", lambda text: round(float(text) * 256))
"""A number in units of 1/256."""
PERCENT = Unit("=B", lambda text: _whole(text.removesuffix("%")))
LINE_BYTES = Unit("=i", lambda text: _whole(text.removesuffix("B")))
ETHERNET = 14
"""Ethernet's header, bytes. The lengths that disciplines see in a rig are those of IP packets (see `queues.build`)."""
STEP_THRESH_PACKETS = (7, PACKETS)
"""The attribute of a dualpi2's threshold if it is a number of packets."""
RATE64 = Unit("=Q", lambda text: 0 if text == "unlimited" else _scaled(text, _RATES, "a rate") // 8)
RATE32 = Unit("=I", lambda text: min(0xFFFF_FFFF, _scaled(text, _RATES, "a rate") // 8))


@dataclass(frozen=True)
class Link:
    """The properties of its link that a discipline is told."""

    rate_bps: int
    mtu: int


@dataclass(frozen=True)
class Discipline:
    """A queue discipline of the kernel."""

    kind: str
    """Its name there."""
    attributes: Mapping[str, tuple[int, Unit]] = field(default_factory=dict)
    """For each parameter the number of its attribute and the unit there."""
    defaults: Callable[[Link], Values] = lambda _: {}
    """Parameters that are set to the model's default, where the kernel has another."""
    structure: Callable[[Values, Link], bytes] | None = None
    """Writes the options of a discipline that takes a structure; `attributes` is empty then."""
    parameters: tuple[str, ...] = ()
    """The parameters that `structure` reads."""
    xstats: tuple[str, ...] = ()
    """The words of its own statistics, by name, up to the last that is read."""
    overlimit: tuple[str, ...] = ()
    """Statistics that count drops for lack of room; others are early drops. Without any, all are for lack of room."""
    early: bool = False
    """Whether all drops count as early ones: the kernel does not tell which were for lack of room, which are rare."""
    marks: tuple[str, ...] = ()
    """Statistics that count marked packets."""
    also_needs: tuple[str, ...] = ()
    """Options of the kernel's configuration beside its own."""

    @property
    def needs(self) -> tuple[str, ...]:
        """The options of the kernel's configuration without which it is not there; the simplest ones always are."""
        simple = self.kind in ("pfifo", "bfifo", "pfifo_head_drop", "pfifo_fast")
        return () if simple else (f"NET_SCH_{self.kind.upper()}", *self.also_needs)

    @property
    def known(self) -> tuple[str, ...]:
        """The names of the parameters that a kernel has."""
        return tuple(self.attributes) or self.parameters

    def options(self, values: Values, link: Link) -> bytes:
        """Return what TCA_OPTIONS holds.

        Args:
            values: the parameters of the scenario's queue by name, as text with units.
            link: the link that it stands at.

        Raises:
            Unsupported: if the kernel has no such parameter or value.
        """
        self.check(values)
        if self.structure is not None:
            return self.structure(values, link)
        wanted = {**self.defaults(link), **values}
        written = []
        for name, text in wanted.items():
            number, unit = self.attributes[name]
            if name == "step_thresh" and text.endswith("p"):
                number, unit = STEP_THRESH_PACKETS
            try:
                written.append(attribute(number, unit.write(text)))
            except Unsupported as error:
                raise Unsupported(f"{name}: {error}") from None
        return b"".join(written)

    def check(self, values: Values) -> None:
        """Raise `Unsupported` if the kernel has no such parameter."""
        for name in values:
            if name not in self.known:
                has = ", ".join(self.known) or "none"
                raise Unsupported(f"the kernel's {self.kind} has no parameter {name!r}: it has {has}")


def _fifo(unit: Unit) -> Callable[[Values, Link], bytes]:
    def write(values: Values, _: Link) -> bytes:
        return unit.write(values.get("limit", "1000p"))

    return write


def _pfifo_fast(values: Values, _: Link) -> bytes:
    """No options: the length of the rings is the interface's, and how they free their places is part of the kernel."""
    if values.get("batch", "16") != "16":
        raise Unsupported("batch: the kernel's pfifo_fast frees 16 places at a time")
    return b""


def rate_spec(bps: int) -> bytes:
    """`struct tc_ratespec`: cell_log, linklayer, overhead, cell_align, mpu, rate in byte/s (longer ones in RATE64)."""
    return struct.pack("=BBHhHI", 0, 1, 0, 0, 0, min(0xFFFF_FFFF, bps // 8))


def _tbf(values: Values, link: Link) -> bytes:
    """`struct tc_tbf_qopt`, and the bursts in bytes. A limit in packets is that of a child."""
    rate = _scaled(values["rate"], _RATES, "a rate") if "rate" in values else link.rate_bps
    peak = _scaled(values["peakrate"], _RATES, "a rate") if "peakrate" in values else 0
    limit = values.get("limit", "1000p")
    room = 0 if limit.endswith("p") else size(limit)
    parms = rate_spec(rate) + (rate_spec(peak) if peak else bytes(12)) + struct.pack("=III", room, 0, 0)
    written = attribute(1, parms) + attribute(4, struct.pack("=Q", rate // 8))
    written += attribute(6, struct.pack("=I", size(values["burst"]) if "burst" in values else link.mtu))
    if peak:
        written += attribute(5, struct.pack("=Q", peak // 8))
        written += attribute(7, struct.pack("=I", size(values["mtu"]) if "mtu" in values else link.mtu))
    return written


def _sfq(values: Values, link: Link) -> bytes:
    """`struct tc_sfq_qopt_v1`, without its part of RED."""
    first = struct.pack(
        "=IiIII",
        size(values["quantum"]) if "quantum" in values else link.mtu,
        ns(values["perturb"]) // 10**9 if "perturb" in values else 0,
        packets(values.get("limit", "127p")),
        _whole(values.get("divisor", "1024")),
        _whole(values.get("flows", "128")),
    )
    depth = packets(values["depth"]) if values.get("depth", "").endswith("p") else _whole(values.get("depth", "127"))
    return first + struct.pack("=II", depth, _flag(values.get("headdrop", "false"))) + bytes(12 + 4 + 4 + 24)


def _red(values: Values, link: Link) -> bytes:
    """`struct tc_red_qopt`, the table for idle times and the exact probability, as tc-red(8) computes them.

    Sources: Floyd and Jacobson, "Random Early Detection gateways for congestion avoidance" (1993), section 11 for the
    weight; include/net/red.h of Linux for how the numbers are used.
    """
    if _flag(values.get("gentle", "false")):
        raise Unsupported("gentle: the kernel's red has no gentle part: it drops all above max")
    limit = size(values.get("limit", "400kB"))
    most = size(values["max"]) if "max" in values else limit // 4
    least = size(values["min"]) if "min" in values else most // 3
    average = size(values["avpkt"]) if "avpkt" in values else 1000
    probability = float(values["probability"]) if "probability" in values else 0.02
    burst = _whole(values["burst"]) if "burst" in values else max(1, (2 * least + most) // (3 * average))
    rate = _scaled(values["bandwidth"], _RATES, "a rate") if "bandwidth" in values else link.rate_bps
    weight = _red_weight(least, burst, average)
    slope = _red_slope(most - least, probability)
    cells, table = _red_idle(weight, average, rate)
    names = ("ecn", "harddrop", "adaptive", "nodrop")
    flags = sum(_flag(values.get(name, "false")) << bit for bit, name in enumerate(names))
    historic, others = flags & 7, flags & 8
    written = attribute(1, struct.pack("=IIIBBBB", limit, least, most, weight, slope, cells, 0 if others else historic))
    written += attribute(2, table) + attribute(3, struct.pack("=I", min(0xFFFF_FFFF, int(probability * 2**32))))
    if others:
        written += attribute(4, struct.pack("=II", flags, flags))  # struct nla_bitfield32: value, selector
    return written


def _red_weight(least: int, burst: int, average: int) -> int:
    """The weight's negative logarithm: the least with which a burst keeps the average below the threshold."""
    wanted = burst + 1 - least / average
    if wanted < 1:
        raise Unsupported(f"burst: {burst} is too small for this min: give {math.ceil(least / average)} or more")
    for logarithm in range(1, 32):
        weight = 0.5**logarithm
        if wanted <= (1 - (1 - weight) ** burst) / weight:
            return logarithm
    raise Unsupported(f"burst: no weight is small enough for {burst}")


def _red_slope(range_bytes: int, probability: float) -> int:
    if range_bytes <= 0:
        raise Unsupported("max: it must be above min")
    if not 0 < probability <= 1:
        raise Unsupported(f"probability: {probability} is not between 0 and 1")
    return min(31, max(0, math.ceil(math.log2(range_bytes / probability))))


def _red_idle(weight: int, average: int, rate_bps: int) -> tuple[int, bytes]:
    """By how much an idle time lowers the average, in steps of 2^cells us: shifts of the average, at most 31."""
    decay = -math.log(1 - 0.5**weight) / math.log(2) / (average * 8e6 / rate_bps)
    longest = 31 / decay
    cells = next((c for c in range(32) if longest / 2**c < 512), 31)
    steps = [min(31, int((i << cells) * decay)) for i in range(255)]
    return cells, bytes([*steps, 31])


def _prio(values: Values, _: Link) -> bytes:
    """`struct tc_prio_qopt`."""
    bands = _whole(values.get("bands", "3"))
    return struct.pack("=i16B", bands, *_numbers(values.get("priomap", LINUX_PRIOMAP), 16))


LINUX_PRIOMAP = "1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1"
"""The band of each priority in `pfifo_fast` and by default in `prio`."""


def _mtu_quantum(link: Link) -> Values:
    return {"quantum": f"{link.mtu}B"}


_CAKE_FLOWS = _word(
    **{"flowblind": 0, "srchost": 1, "dsthost": 2, "hosts": 3, "flows": 4}
    | {"dual-srchost": 5, "dual-dsthost": 6, "triple-isolate": 7}
)
_CAKE_TINS = _word(diffserv3=0, diffserv4=1, diffserv8=2, besteffort=3, precedence=4)

_CODEL = ("maxpacket", "count", "lastcount", "ldelay", "drop_next", "drop_overlimit", "ecn_mark", "dropping", "ce_mark")
_FQ_CODEL = (
    *("type", "maxpacket", "drop_overlimit", "ecn_mark", "new_flow_count", "new_flows_len", "old_flows_len"),
    *("ce_mark", "memory_usage", "drop_overmemory"),
)
_FQ = (*(f"word {number}" for number in range(20)), "ce_mark")
_PIE = (
    *("prob_low", "prob_high", "delay", "avg_dq_rate", "dq_rate_estimating", "packets_in", "dropped", "overlimit"),
    *("maxq", "ecn_mark"),
)
_FQ_PIE = ("packets_in", "dropped", "overlimit", "overmemory", "ecn_mark")
_DUALPI2 = ("prob", "delay_c", "delay_l", "packets_in_c", "packets_in_l", "maxq", "ecn_mark", "step_marks")
_RED = ("early", "pdrop", "other", "marked")
_PI = {"alpha": NUMBER, "beta": NUMBER}

DISCIPLINES: dict[str, Discipline] = {
    "pfifo": Discipline("pfifo", structure=_fifo(PACKETS), parameters=("limit",)),
    "bfifo": Discipline("bfifo", structure=_fifo(BYTES), parameters=("limit",)),
    "pfifo_head_drop": Discipline("pfifo_head_drop", structure=_fifo(PACKETS), parameters=("limit",)),
    # Its limit is the length of the interface's queue.
    "pfifo_fast": Discipline("pfifo_fast", structure=_pfifo_fast, parameters=("limit", "batch")),
    "prio": Discipline("prio", structure=_prio, parameters=("bands", "priomap", "limit")),
    "tbf": Discipline("tbf", structure=_tbf, parameters=("rate", "burst", "limit", "peakrate", "mtu")),
    "sfq": Discipline(
        "sfq",
        structure=_sfq,
        parameters=("limit", "quantum", "perturb", "divisor", "flows", "depth", "headdrop"),
    ),
    # Its classes are made by `queues`: one a flow, by the hash of a filter.
    "drr": Discipline(
        "drr", structure=lambda *_: b"", parameters=("limit", "quantum", "flows"), also_needs=("NET_CLS_FLOW",)
    ),
    "red": Discipline(
        "red",
        structure=_red,
        parameters=(
            *("limit", "min", "max", "avpkt", "burst", "bandwidth", "probability"),
            *("ecn", "harddrop", "adaptive", "nodrop", "gentle"),
        ),
        xstats=_RED,
        overlimit=("pdrop",),
        marks=("marked",),
    ),
    "codel": Discipline(
        "codel",
        {
            "target": (1, MICROSECONDS),
            "limit": (2, PACKETS),
            "interval": (3, MICROSECONDS),
            "ecn": (4, FLAG),
            "ce_threshold": (5, MICROSECONDS),
        },
        xstats=_CODEL,
        overlimit=("drop_overlimit",),
        marks=("ecn_mark", "ce_mark"),
    ),
    "fq_codel": Discipline(
        "fq_codel",
        {
            "target": (1, MICROSECONDS),
            "limit": (2, PACKETS),
            "interval": (3, MICROSECONDS),
            "ecn": (4, FLAG),
            "flows": (5, NUMBER),
            "quantum": (6, BYTES),
            "ce_threshold": (7, MICROSECONDS),
            "drop_batch": (8, NUMBER),
            "memory_limit": (9, BYTES),
        },
        defaults=_mtu_quantum,
        xstats=_FQ_CODEL,
        overlimit=("drop_overlimit",),
        marks=("ecn_mark", "ce_mark"),
    ),
    "fq": Discipline(
        "fq",
        {
            "limit": (1, PACKETS),
            "flow_limit": (2, PACKETS),
            "quantum": (3, BYTES),
            "initial_quantum": (4, BYTES),
            "pacing": (5, FLAG),
            "maxrate": (7, RATE32),
            "refill_delay": (9, MICROSECONDS),
            "low_rate_threshold": (11, RATE32),
            "ce_threshold": (12, MICROSECONDS),
            "timer_slack": (13, NANOSECONDS),
            "horizon": (14, MICROSECONDS),
            "horizon_drop": (15, FLAG8),
            "priomap": (16, Unit("=i16B", lambda text: (3, *_numbers(text, 16)))),
            "weights": (17, Unit("=3i", lambda text: _numbers(text, 3))),
        },
        defaults=lambda link: {"quantum": f"{2 * link.mtu}B", "initial_quantum": f"{10 * link.mtu}B"},
        xstats=_FQ,
        marks=("ce_mark",),
    ),
    "pie": Discipline(
        "pie",
        {
            "target": (1, MICROSECONDS),
            "limit": (2, PACKETS),
            "tupdate": (3, MICROSECONDS),
            **{name: (number, unit) for number, (name, unit) in enumerate(_PI.items(), 4)},
            "ecn": (6, FLAG),
            "bytemode": (7, FLAG),
            "dq_rate_estimator": (8, FLAG),
        },
        xstats=_PIE,
        overlimit=("overlimit",),
        marks=("ecn_mark",),
    ),
    "fq_pie": Discipline(
        "fq_pie",
        {
            "limit": (1, PACKETS),
            "flows": (2, NUMBER),
            "target": (3, MICROSECONDS),
            "tupdate": (4, MICROSECONDS),
            **{name: (number, unit) for number, (name, unit) in enumerate(_PI.items(), 5)},
            "quantum": (7, BYTES),
            "memory_limit": (8, BYTES),
            "ecn_prob": (9, NUMBER),
            "ecn": (10, FLAG),
            "bytemode": (11, FLAG),
            "dq_rate_estimator": (12, FLAG),
        },
        defaults=_mtu_quantum,
        xstats=_FQ_PIE,
        overlimit=("overlimit", "overmemory"),
        marks=("ecn_mark",),
    ),
    "cake": Discipline(
        "cake",
        {
            "bandwidth": (2, RATE64),
            "diffserv": (3, Unit("=I", _CAKE_TINS)),
            "flowmode": (5, Unit("=I", _CAKE_FLOWS)),
            "atm": (4, Unit("=I", _word(noatm=0, atm=1, ptm=2))),
            "overhead": (6, Unit("=i", lambda text: ETHERNET + _whole(text.removesuffix("B")))),
            "rtt": (7, MICROSECONDS),
            "target": (8, MICROSECONDS),
            "memlimit": (10, BYTES),
            "wash": (13, FLAG),
            "mpu": (14, LINE_BYTES),
            "ingress": (15, FLAG),
            "ack_filter": (16, Unit("=I", _word(false=0, true=1, aggressive=2))),
        },
        # With an overhead that is given CAKE takes Ethernet's header off a packet's length; here it is off already.
        defaults=lambda _: {"overhead": "0"},
        early=True,
    ),
    "dualpi2": Discipline(
        "dualpi2",
        {
            "limit": (1, PACKETS),
            "memlimit": (2, BYTES),
            "target": (3, MICROSECONDS),
            "tupdate": (4, MICROSECONDS),
            "alpha": (5, SCALED),
            "beta": (6, SCALED),
            "step_thresh": (8, MICROSECONDS),
            "min_qlen_step": (9, NUMBER),
            "coupling_factor": (10, NUMBER8),
            "drop_on_overload": (11, FLAG8),
            "drop_enqueue": (12, FLAG8),
            "classic_protection": (13, PERCENT),
            "any_ect": (14, Unit("=B", lambda text: 3 if _flag(text) else 1)),
            "split_gso": (15, FLAG8),
        },
        defaults=lambda _: {"limit": "10000p"},
        xstats=_DUALPI2,
        marks=("ecn_mark",),
        early=True,
    ),
}
"""By the name in scenarios. `drop-tail` and `head-drop` stand for the kernel's fifos, see `named`."""


def named(queue: Mapping[str, str]) -> tuple[Discipline, dict[str, str]]:
    """Return the kernel's discipline for a scenario's queue, and its parameters.

    Raises:
        Unsupported: if no kernel has it.
    """
    values = {name: str(value) for name, value in queue.items() if name != "discipline"}
    name = queue["discipline"]
    if name == "drop-tail":
        name = "pfifo" if values.get("limit", "1000p").endswith("p") else "bfifo"
    elif name == "head-drop":
        name = "pfifo_head_drop"
    if name not in DISCIPLINES:
        raise Unsupported(f"the kernel has no queue discipline {name!r}: there are {', '.join(DISCIPLINES)}")
    return DISCIPLINES[name], values


def check(queue: Mapping[str, str], link: Link) -> None:
    """Raise `Unsupported` if no kernel can do what a scenario's queue asks for."""
    discipline, values = named(queue)
    discipline.options(values, link)


def refusal(queue: Mapping[str, str], link: Link) -> str | None:
    """Return why no kernel can do what a scenario's queue asks for, if that is so."""
    try:
        check(queue, link)
    except Unsupported as error:
        return str(error)
    return None
