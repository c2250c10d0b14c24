"""The conditions of `compare`, `trace` and `validate`: the paths between two hosts, and what crosses them.

Each condition is stated once, as a field of a class here. The options of the commands (`haltere.cli.options`), the
keywords of `haltere.compare`, the keys of `--path`, the value's place in the scenario and the words of errors are all
made from the fields. This module loads nothing heavy, as the help of the commands needs it.
"""

# The fields' annotations are read when the commands are made, so they must not be strings.

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

from haltere import fidelity as fidelities
from haltere.adhoc import moves, probes
from haltere.adhoc.presets import FILE, known_preset, preset_table, refuse_beside_preset
from haltere.errors import ArgumentError, InputError, Place, among, as_written, refuse_below
from haltere.fidelity import Fidelity, summaries

if TYPE_CHECKING:
    from haltere.scenario import Scenario

LINK, RUNS = "The link", "How"
"""Headings under which the help of the commands lists options; the others stand under no heading."""
SHARE_MEASURED_FROM = "10s"
_BARE = frozenset({"quic", "mpquic"})
"""Contenders that are a production stack at `stack` and the model's elsewhere."""
_OF_OBJECTS = ("size", "app", "video")
"""Conditions of flows that calls have not."""
STAGGER_MS = 100
_SWITCHED = {"true": True, "false": False}
USUAL = {"rate": "40Mbit/s", "queue": "1000p", "mtu": "1500B"}
"""Values of a path that is no preset, where none is given."""
USUAL_RTT = "50ms"
NO_LOSS = "0%"


@dataclass(frozen=True)
class About:
    """A condition, besides its name, its type and its default.

    Args:
        help: what it is, for the help of the commands and the documentation of the Python function.
        panel: the heading in the help.
        at: where it goes in the scenario: in the table of its path for a field of `PathConditions`, in each flow if it
            begins with `flows.`, in the scenario otherwise. Nothing if it does not go there as it was given.
        option: the option's name if it is not the field's.
        key: whether it is a key of `--path` only, and no option.
    """

    help: str
    panel: str | None = None
    at: str | None = None
    option: str | None = None
    key: bool = False


@dataclass(frozen=True, kw_only=True)
class PathConditions:
    """One path between the server and the client; quantities as in scenario files.

    Fields that are given beside a preset replace its values.

    Raises:
        InputError: if something is given besides a preset that has no such value: a cell, or a file.
    """

    rate: Annotated[str | None, About("Rate of the link (default 40Mbit/s).", LINK, at="rate")] = None
    rtt: Annotated[str | None, About("Two-way delay, split evenly (default 50ms).", LINK)] = None
    down_delay: Annotated[str | None, About("Delay from server to client.", LINK, at="down.delay")] = None
    up_delay: Annotated[str | None, About("Delay from client to server.", LINK, at="up.delay")] = None
    loss: Annotated[str | None, About("Random loss from server to client (default 0%).", LINK, at="down.loss")] = None
    queue: Annotated[
        str | None,
        About(
            "A limit (64kB, 1bdp; default 1000p) or a discipline (`red:ecn=true`; see `haltere queues`).",
            LINK,
            at="queue",
        ),
    ] = None
    ring: Annotated[str | None, About("Packets of the driver's ring behind the queue (256p).", LINK, at="ring")] = None
    bql: Annotated[bool | None, About("Byte queue limits keep the ring short (default: yes).", LINK, at="bql")] = None
    mtu: Annotated[str | None, About("Largest IP packet (default 1500B).", LINK, at="mtu")] = None
    backup: Annotated[
        bool | None,
        About("Whether the path is in reserve: it carries data only while no other can.", LINK, at="backup", key=True),
    ] = None
    preset: Annotated[
        str | None,
        About(
            "A typical link or cell with all its values, which the options beside it replace: one of "
            "`haltere presets`, or a file that `haltere presets NAME --toml` wrote.",
            LINK,
            at="preset",
        ),
    ] = None

    def __post_init__(self) -> None:
        if self.preset is not None:
            refuse_beside_preset(self.preset, self._given())

    def _given(self) -> list[str]:
        """Return the names of the fields of the one path that are given."""
        return [field.name for field in fields(PathConditions) if getattr(self, field.name) is not None]

    @classmethod
    def parse(cls, text: str) -> "PathConditions":
        """Return the path that `--path` gives as a text such as `rate=20Mbit/s,rtt=10ms,queue=50p,loss=1%`.

        It may begin with a preset or the file of one: `4g`, `my-line.toml`. Semicolons separate the parameters of a
        queue here, as commas separate keys: `queue=tbf:rate=1Mbit/s;burst=9kB`.

        Raises:
            InputError: naming the key that is wrong and those that there are.
        """
        keys = {option_name(field)[2:]: field.name for field in fields(PathConditions)}
        switches = ("bql", "backup")
        right = f"KEY=VALUE, separated by commas; the keys are {', '.join(keys)}"
        given: dict[str, Any] = {}
        for part in text.split(","):
            key, equals, value = _word(part, first=not given)
            problem = None
            if not equals or not key:
                problem = f"{as_written(part.strip())} is not KEY=VALUE"
            elif key not in keys:
                problem = f"there is no key {as_written(key)}"
            elif keys[key] in given:
                problem = f"{key} is given twice"
            elif not value:
                problem = f"{key} has no value"
            elif key in switches and value not in _SWITCHED:
                problem = f"{key} is neither true nor false"
            if problem:
                if ":" in given.get("queue", ""):
                    right = f"{right}; a queue's parameters are separated by semicolons"
                raise ArgumentError(problem, field="paths", given=text, right=right)
            given[keys[key]] = _SWITCHED[value] if key in switches else value
        return PathConditions(**given)

    def delays(self) -> tuple[str, str]:
        """Return the delays down (server to client) and up; `rtt` is split evenly, the default is an RTT of 50 ms."""
        if self.down_delay is not None or self.up_delay is not None:
            if self.rtt is not None:
                raise ArgumentError(
                    "stands beside a delay for one direction",
                    field="rtt",
                    given=self.rtt,
                    right="`rtt`, or `down_delay` and `up_delay`",
                )
            return self.down_delay or "0ms", self.up_delay or "0ms"
        rtt = self.rtt or USUAL_RTT
        from haltere import core  # noqa: PLC0415 (help loads nothing heavy)

        try:
            nanoseconds = core.nanoseconds(rtt)
        except ValueError:
            raise ArgumentError(
                "is not a time",
                field="rtt",
                given=as_written(rtt),
                right="a number and a unit (ns, us, ms, s), such as 50ms",
            ) from None
        return f"{nanoseconds - nanoseconds // 2}ns", f"{nanoseconds // 2}ns"

    def link(self) -> dict[str, Any]:
        """Return the path's link as a scenario has it."""
        if self.preset is not None:
            of, own = preset_table(self.preset)
            if of == "cell":
                raise ArgumentError(
                    "is a cell, and no link",
                    field="preset",
                    given=as_written(self.preset),
                    right="it as the only path",
                )
            return own | self._table()
        table = USUAL | self._table()
        table.setdefault("down", {}).setdefault("loss", NO_LOSS)
        for direction, delay in zip(("down", "up"), self.delays(), strict=True):
            _put(table, f"{direction}.delay", delay)
        return table

    def _table(self) -> dict[str, Any]:
        """Return what is given of the path, but for its preset, as a scenario has it."""
        table: dict[str, Any] = {}
        for field, about in stated(PathConditions):
            value = getattr(self, field.name)
            if about.at is not None and value is not None and field.name != "preset":
                _put(table, about.at, value)
        if self.rtt is not None:
            for direction, delay in zip(("down", "up"), self.delays(), strict=True):
                _put(table, f"{direction}.delay", delay)
        return table

    def described(self) -> str:
        """Return the path in a line for people."""
        reserve = ", in reserve" if self.backup else ""
        if self.preset is not None:
            own = [name for name in self._given() if name not in ("preset", "backup")]
            instead = "".join(f", {name.replace('_', ' ')} {getattr(self, name)}" for name in own)
            return f"preset {self.preset}{instead}{reserve}"
        down, up = self.delays()
        one_way = self.down_delay is not None or self.up_delay is not None
        delay = f"delay {down} down, {up} up" if one_way else f"RTT {self.rtt or USUAL_RTT}"
        rate, queue = self.rate or USUAL["rate"], self.queue or USUAL["queue"]
        return f"{rate}, {delay}, loss {self.loss or NO_LOSS}, queue {queue}{reserve}"


@dataclass(frozen=True, kw_only=True)
class Conditions(PathConditions):
    """The path that contenders run over, and the data that they send: one path, or those in `paths` instead.

    Raises:
        InputError: if something of the one path is given besides `paths`.
    """

    paths: Annotated[
        Sequence[PathConditions],
        About(
            "A path, instead of the options above, such as `rate=20Mbit/s,rtt=10ms,queue=50p,loss=1%`; several paths "
            "if it is given again. mptcp and mpquic use all of them, others the first. One with `backup` is used only "
            "while no other works.",
            LINK,
            option="--path",
        ),
    ] = ()
    swap: Annotated[bool, About("Connect on the second path, instead of the first.", LINK)] = False
    migrate: Annotated[
        Sequence[str],
        About(
            "The client moves to another path: TIME:PATH, such as `2s:1`; again if it is given again. QUIC goes on "
            "there, mptcp and mpquic give up the path that it leaves, and a connection of TCP ends.",
            LINK,
        ),
    ] = ()
    rebind: Annotated[
        Sequence[str],
        About(
            "A NAT gives the client another port: TIME, such as `2s`, or another address, too: `2s:address`; again if "
            "it is given again.",
            LINK,
        ),
    ] = ()
    size: Annotated[str, About("The object each contender fetches.", at="flows.size")] = "32MiB"
    app: Annotated[
        str,
        About(
            "`https` (TLS 1.3 with HTTP/2, or HTTP/3), `raw` (connect, one byte up, the bytes back) or `ssh` (scp).",
            at="flows.app",
        ),
    ] = "https"
    video: Annotated[
        str | None,
        About(
            "A film on demand instead of an object: the rate adaptation of its player, `bba`, `throughput` or `mpc`.",
            at="flows.video.adaptation",
        ),
    ] = None
    share: Annotated[bool, About("Let them share the link for --duration instead of fetching one after the other.")] = (
        False
    )
    duration: Annotated[
        str, About("How long they share, with goodput from 10 s on; and how long calls last.", at="duration")
    ] = "60s"
    flows: Annotated[
        int, About("Flows of each contender at once. The starts of several are spread at random over 100 ms.")
    ] = 1
    direction: Annotated[
        Literal["down", "up", "both"],
        About("Which way the data goes: `down` to the client, `up` from it, or `both`, with flows each way at once."),
    ] = "down"
    probe: Annotated[
        str | None,
        About(
            "Measure the RTT under load: KIND:SIZE:INTERVAL, such as `icmp:1450B:1s` (or `udp`, `tcp`). The client "
            "sends requests of this size from the beginning on, as ping at every interval; the answers share the queue "
            "of the data. With `:stop-and-wait` added, a request waits for the last one's answer, at most 5 s."
        ),
    ] = None
    fidelity: Annotated[
        Fidelity,
        About(
            f"Where: {summaries()}. A comparison of rtp@str0m, tcp@linux and their like is at stack by itself, unless "
            "quic/… stands beside them, which is a production stack there.",
            RUNS,
        ),
    ] = "model"

    links: Annotated[
        Literal["kernel", "haltere"],
        About(
            "What makes the links at `linux` and `testbed`: the kernel's own queues and netem, or our emulator.",
            RUNS,
            at="links",
        ),
    ] = "kernel"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("paths", *moves.WORDS):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if self.paths:
            refuse_beside_paths(self._given())

    @property
    def each_path(self) -> tuple[PathConditions, ...]:
        """The paths there are: one or more."""
        return tuple(self.paths) or (self,)

    def data(self, contenders: Sequence[str], *, reverse_starts: bool = False) -> dict[str, Any]:
        """Return the scenario in which these contenders run at once, as nested tables.

        Raises:
            InputError: naming the option that is wrong.
        """
        ways = self.each_way() * len(contenders)
        flows: list[dict[str, Any]] = [
            {"contender": contender} | ({} if way == "down" else {"direction": way})
            for contender, way in zip(self.each_flow(contenders), ways, strict=True)
        ]
        scenario: dict[str, Any] = {"topology": self._topology(), "flows": flows}
        lasting = self.share or any(map(is_call, contenders))
        unused = {"size" if lasting else "duration", *(("size",) if self.video is not None else ("video",))}
        for field, about in stated(type(self)):
            if about.at is None or field.name in unused or field.name in _PATH_FIELDS:
                continue
            if about.at.startswith("flows."):
                for flow in _with(field.name, flows):
                    _put(flow, about.at.removeprefix("flows."), getattr(self, field.name))
            else:
                _put(scenario, about.at, getattr(self, field.name))
        if not fidelities.of(self.fidelity).simulated:
            # Hosts that are namespaces of one kernel tick together.
            scenario["ticks"] = "shared"
        self._start(scenario, reverse_starts=reverse_starts)
        if self.swap:
            if len(self.paths) < 2:
                given = f"{len(self.each_path)} path"
                raise ArgumentError("needs a second path", field="swap", given=given, right="`paths` with two of them")
            for flow in flows:
                flow["first_path"] = 1
        if self.probe is not None:
            scenario["probes"] = [probes.parse(self.probe)]
        return scenario

    def _start(self, scenario: dict[str, Any], *, reverse_starts: bool) -> None:
        """Say when the flows of a scenario start, and when their clients move."""
        flows = scenario["flows"]
        given = {name: getattr(self, name) for name in moves.WORDS if getattr(self, name)}
        for flow in flows:
            flow.update({name: [moves.parse(name, text) for text in texts] for name, texts in given.items()})
        if self.share:
            scenario["measure_from"] = SHARE_MEASURED_FROM
            of_each = len(self.each_way())
            groups = [flows[at : at + of_each] for at in range(0, len(flows), of_each)]
            for place, group in enumerate(reversed(groups) if reverse_starts else groups):
                for flow in group:
                    flow["start"] = f"{STAGGER_MS * place}ms"
        if self.flows > 1:
            for flow in flows:
                flow["start_spread"] = f"{STAGGER_MS}ms"

    def each_flow(self, contenders: Sequence[str]) -> list[str]:
        """Return the contender of each flow: `flows` of the first each way, then as many of the next."""
        refuse_below(1, flows=self.flows)
        return [contender for contender in contenders for _ in self.each_way()]

    @property
    def ways(self) -> tuple[str, ...]:
        """The directions in which data goes.

        Raises:
            InputError: if there is no such direction.
        """
        directions = {"down": ("down",), "up": ("up",), "both": ("down", "up")}
        if self.direction not in directions:
            given, right = as_written(self.direction), among(str(self.direction), directions)
            raise ArgumentError("is no direction", field="direction", given=given, right=right)
        return directions[self.direction]

    def each_way(self) -> list[str]:
        """Return the direction of each flow of a contender."""
        return [way for way in self.ways for _ in range(self.flows)]

    def _topology(self) -> dict[str, Any]:
        preset = self.each_path[0].preset
        if len(self.each_path) == 1 and preset is not None:
            of, table = preset_table(preset)
            if of == "cell":
                return {"kind": "cell", "cell": table}
        if not self.paths:
            return {"kind": "point-to-point", "link": self.link()}
        links = []
        for number, path in enumerate(self.paths):
            try:
                links.append(path.link())
            except InputError as error:
                raise _of_path(error, number) from None
        # One path is the one link, with the same random streams.
        if len(links) == 1:
            return {"kind": "point-to-point", "link": links[0]}
        return {"kind": "multipath", "paths": links}

    def scenario(self, contenders: Sequence[str], *, reverse_starts: bool = False) -> "Scenario":
        """Return the scenario in which these contenders run at once.

        Raises:
            InputError: naming the option (or argument) that is wrong.
        """
        from haltere.scenario import Scenario  # noqa: PLC0415 (help loads nothing heavy)

        data = self.data(contenders, reverse_starts=reverse_starts)
        try:
            return Scenario(data, fidelity=self.fidelity)
        except InputError as error:
            raise self._of_arguments(error) from None

    def _of_arguments(self, error: InputError) -> InputError:
        """Return a scenario's error with the condition in the place of the scenario's field."""
        place = error.field or ""
        for number, path in enumerate(self.each_path):
            prefix = f"topology.paths[{number}]." if len(self.paths) > 1 else "topology.link."
            if place.startswith(prefix):
                inside = place.removeprefix(prefix)
                if path.preset is not None and path.preset.endswith(FILE):
                    return _in_file(error, Path(path.preset), f"link.{inside}")
                if path.rtt is not None and inside.endswith(".delay"):
                    error = _at(error, "rtt", given=as_written(path.rtt))
                else:
                    error = _at(error, _condition_at(inside, PathConditions) or inside)
                return _of_path(error, number) if self.paths else error
        own = self.each_path[0].preset
        if place.startswith("topology.cell.") and own is not None and own.endswith(FILE):
            return _in_file(error, Path(own), place.removeprefix("topology."))
        flow, _, inside = place.partition(".")
        given = None
        if flow.startswith("flows[") and inside.partition("[")[0] in moves.WORDS:
            name: str | None = inside.partition("[")[0]
        elif flow.startswith("flows["):
            name = "contender" if inside == "contender" else _condition_at(f"flows.{inside}", type(self))
        elif place == "measure_from":
            return ArgumentError(
                f"is too short: flows that share a link are measured from {SHARE_MEASURED_FROM} on",
                field="duration",
                given=as_written(self.duration),
                right=f"more than {SHARE_MEASURED_FROM}, such as 30s",
            )
        elif place.startswith("probes"):
            name, given = "probe", as_written(self.probe)
        else:
            name = _condition_at(place, type(self))
        return _at(error, name or place, place=None if name else Place("scenario"), given=given)


@dataclass(frozen=True, kw_only=True)
class Comparison(Conditions):
    """Conditions, and how often they are run.

    Raises:
        InputError: if queues are given besides a queue or several paths.
    """

    queues: Annotated[
        Sequence[str],
        About("Several queues in the place of one: each contender runs over each of them.", LINK, option="--queue"),
    ] = ()
    replications: Annotated[int, About("How often, each time with other losses.", RUNS)] = 10
    seed: Annotated[int, About("Names the random losses; every contender meets the same ones.", RUNS)] = 1
    metric: Annotated[
        str | None,
        About(
            "What decides, a metric of flows such as `freezes` (default completion_time, of calls glass_to_glass_p95, "
            "of films qoe_lin, of flows that share a link goodput).",
            RUNS,
        ),
    ] = None
    workers: Annotated[int | None, About("Runs at once (default: one a CPU).", RUNS)] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.queues, str):
            right = "a list of queues, or `queue` for a single one"
            raise ArgumentError("is a single text", field="queues", given=as_written(self.queues), right=right)
        object.__setattr__(self, "queues", tuple(self.queues))
        if self.queues and (self.queue is not None or self.paths):
            right = "`queues` alone; each of several paths has its own queue, such as rate=20Mbit/s,queue=50p"
            beside = "`queue`" if self.queue is not None else "`paths`"
            raise ArgumentError(f"is given besides {beside}", field="queues", right=right)

    def suited(self, contenders: Sequence[str]) -> "Comparison":
        """Return the conditions at the fidelity that the contenders need.

        That is `stack` in the place of the model, if one of them is a real stack, kernel or program. Beside `quic/…`,
        which is another contender there, it stays as it is, and the contender is refused with what would be right.
        """
        names = {one.partition("/")[0] for one in contenders}
        real = any("@" in name and not name.endswith("@model") for name in names)
        if not fidelities.of(self.fidelity).modelled or not real or names & _BARE:
            return self
        return replace(self, fidelity="stack")

    @property
    def each(self) -> "tuple[Comparison, ...]":
        """The conditions with each of the queues: one or more."""
        return tuple(replace(self, queue=queue, queues=()) for queue in self.queues) or (self,)


_PATH_FIELDS = frozenset(field.name for field in fields(PathConditions))


def is_call(contender: str) -> bool:
    """Whether a contender carries calls."""
    from haltere import core  # noqa: PLC0415 (help loads nothing heavy)

    return contender.partition("/")[0].partition("@")[0] in core.OF_CALLS


def _with(condition: str, flows: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    """Return the flows that have a condition."""
    return [flow for flow in flows if not (condition in _OF_OBJECTS and is_call(flow["contender"]))]


def stated(kind: type[PathConditions]) -> Iterator[tuple[Field[Any], About]]:
    """Yield the conditions of a class, each with what is known of it."""
    hints: Mapping[str, Any] = get_type_hints(kind, include_extras=True)
    for field in fields(kind):
        yield field, hints[field.name].__metadata__[0]


def option_name(field: Field[Any], about: About | None = None) -> str:
    """Return the option of a condition."""
    return (about.option if about else None) or "--" + field.name.replace("_", "-")


def refuse_beside_paths(names: Collection[str]) -> None:
    """Raise `InputError` if one of the fields that are given besides `paths` belongs to the one path."""
    beside = [field.name for field in fields(PathConditions) if field.name in names]
    if beside:
        raise ArgumentError(
            "is given besides `paths`, which have their own values",
            field=", ".join(beside),
            right="`paths` alone, each such as rate=20Mbit/s,rtt=10ms; or the conditions of the one link alone",
        )


def _word(part: str, *, first: bool) -> tuple[str, str, str]:
    """Return key, equals sign and value of a part of `--path`; two of its keys may stand without one or the other."""
    key, equals, value = (word.strip() for word in part.partition("="))
    if key == "backup" and not equals:
        return key, "=", "true"
    if key and not equals and first:
        return "preset", "=", known_preset(key, "paths")
    return key, equals, value


def _in_file(error: InputError, file: Path, field: str) -> InputError:
    from haltere.documents import Document  # noqa: PLC0415 (help loads nothing heavy)

    return _at(error, field, place=Document.read(file).place(field))


def _condition_at(at: str, kind: type[PathConditions]) -> str | None:
    """Return the condition whose value stands at a place of the scenario, if there is one."""
    found = (
        field.name
        for field, about in stated(kind)
        if about.at
        and (at.startswith(about.at) or (at.startswith("flows.") and about.at.startswith(f"{at}.")))
        and (kind is PathConditions or field.name not in _PATH_FIELDS)
    )
    return next(found, None)


def _at(error: InputError, field: str, *, place: Place | None = None, given: str | None = None) -> InputError:
    kind = InputError if place else ArgumentError
    return kind(
        error.problem,
        place=place,
        field=field or None,
        given=error.given if given is None else given,
        right=error.right,
        notes=error.notes,
    )


def _of_path(error: InputError, number: int) -> InputError:
    """Return an error about a condition of the one link as one about a path."""
    return _at(error, f"paths: path {number}: {error.field}")


def _put(table: dict[str, Any], at: str, value: Any) -> None:
    *inner, last = at.split(".")
    for name in inner:
        table = table.setdefault(name, {})
    table[last] = value
