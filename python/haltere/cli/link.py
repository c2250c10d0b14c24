"""`haltere link`: a command behind an emulated link.

The modules that print are loaded only after the link was made: they load numpy, which starts threads, and a process
with threads cannot move into a user namespace.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from haltere import core
from haltere.cli.commands.link import Options
from haltere.errors import HaltereError, InputError, Place, refuse_below
from haltere.plugins import store

DIRECTIONS = ("down", "up")
SHOWN = ("offered", "delivered", "Mbit/s", "queue full", "lost", "too big", "copies", "queueing\nms")
LATENESS = ("p50", "p90", "p99", "p999", "max")


def table(options: Options) -> dict[str, Any]:
    """Return the link as a table of a scenario."""
    common = {"rate": options.rate, "ring": options.ring, "bql": options.bql}
    link = {"queue": options.queue, "mtu": options.mtu} | _given(common)
    for way in DIRECTIONS:
        fields = {name: _of(options, name, way) for name in ("rate", "delay", "loss", "queue", "jitter", "duplication")}
        link[way] = _given(fields)
    return link


def _given(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _of(options: Options, field: str, direction: str) -> Any:
    """The value of a field of one direction; None means the link's value."""
    value = getattr(options, _flag(field, direction)[2:].replace("-", "_"))
    return options.delay if field == "delay" and value is None else value


def spec(options: Options) -> dict[str, Any]:
    """Return the emulator's specification; raise `InputError` with the option's name."""
    refuse_below(0, seed=options.seed, replication=options.replication)
    for option in ("--queue", *(_flag("queue", way) for way in DIRECTIONS)):
        queue = getattr(options, option[2:].replace("-", "_"))
        if store.queue_file(queue):
            right = "a discipline that is built in: one of a file runs in the simulator alone"
            raise InputError("is a file", field=option, given=queue, right=right)
    try:
        both = core.link_config(table(options))
    except core.ScenarioProblem as problem:
        raise InputError(problem.message, field=_option(problem.path)) from None
    for way in DIRECTIONS:
        trace = _of(options, "trace", way)
        if trace is not None:
            if options.rate is not None or _of(options, "rate", way) is not None:
                raise InputError("a trace is a rate: give one of them", field=_flag("trace", way))
            both[way]["trace_ms"] = _trace(trace)
    if options.rtt is not None:
        _split(options, both)
    manner = {"coalesce": options.coalesce, "spin_ns": _time(options.spin, "--spin"), "realtime": options.realtime}
    return {"seed": options.seed, "replication": options.replication, **manner, **both}


def _split(options: Options, both: dict[str, Any]) -> None:
    if any(_of(options, "delay", way) is not None for way in DIRECTIONS):
        right = "--rtt, or --delay, --down-delay and --up-delay"
        raise InputError("stands beside a delay one way", field="--rtt", given=options.rtt, right=right)
    whole = _time(options.rtt or "0ms", "--rtt")
    both["down"]["delay_ns"], both["up"]["delay_ns"] = whole - whole // 2, whole // 2


def _flag(field: str, direction: str) -> str:
    """Return the option that sets a direction's field. Options such as `--loss` are those of `down`."""
    plain = field in ("loss", "jitter", "duplication", "trace") and direction == "down"
    return f"--{field}" if plain else f"--{direction}-{field}"


def _option(path: str) -> str:
    direction, _, field = path.rpartition(".")
    if direction in DIRECTIONS:
        return _flag(field, direction)
    return f"--{field}"


def _time(text: str, option: str) -> int:
    try:
        return int(core.link_config({"delay": text})["down"]["delay_ns"])
    except core.ScenarioProblem as problem:
        raise InputError(problem.message, field=option) from None


def _trace(file: Path) -> list[int]:
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError("cannot be read", place=Place(str(file)), given=error.strerror or str(error)) from None
    except UnicodeDecodeError:
        raise InputError("is no text", place=Place(str(file)), right="a mahimahi packet-delivery trace") from None
    try:
        return core.rate_trace(text)
    except core.ScenarioProblem as problem:
        raise InputError(problem.message, place=Place(str(file), int(problem.path))) from None


def command(options: Options, words: list[str], json_file: Path | None) -> NoReturn:
    """Run the words as a command behind the link, print the link's counters, and end with the command's exit code."""
    wanted = spec(options)
    words = words or [os.environ.get("SHELL") or "/bin/sh"]
    try:
        shell = core.link_shell(wanted)
        sys.stderr.write(f"haltere link: {_where(shell)}\n")
        with _left_to_the_command():
            code, answer = shell.run(words)
    except core.LinkProblem as problem:
        field = "COMMAND" if problem.path == "command" else None
        raise HaltereError(": ".join(part for part in (field, problem.message) if part)) from None
    report = json.loads(answer)
    if json_file is not None:
        json_file.write_text(json.dumps({"exit_code": code, **report}, indent=1) + "\n", encoding="utf-8")
    _print(report)
    if options.realtime and not report["realtime"]:
        sys.stderr.write("--realtime was not allowed: it needs root (CAP_SYS_NICE)\n")
    sys.exit(code)


def _where(shell: Any) -> str:
    said = f"the other end is {shell.base} (HALTERE_BASE), the command's {shell.address}"
    if shell.apart:
        said += (
            "; without root both ends lie in a user namespace, apart from the machine's network: start a peer with"
            " nsenter --net=$HALTERE_BASE_NETNS PROGRAM from within COMMAND"
        )
    return said


@contextmanager
def _left_to_the_command() -> Iterator[None]:
    """Let Ctrl-C end the command but not this process, which has yet to print the table; the terminal signals both."""
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGQUIT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _print(report: Mapping[str, Any]) -> None:
    from haltere.cli import show

    elapsed = max(report["elapsed_s"], 1e-9)
    counts = ("dropped_queue", "dropped_loss", "dropped_mtu", "duplicated_packets")
    rows = [
        (
            *(str(link[name]) for name in ("direction", "offered_packets", "delivered_packets")),
            show.number(8e-6 * link["delivered_bytes"] / elapsed, 3),
            *(str(link[name]) for name in counts),
            show.number(1e3 * link["mean_queueing_delay_s"], 3),
        )
        for link in report["links"]
    ]
    late, named = report["lateness_s"], {"p999": "p99.9", "p50": "median"}
    parts = [f"{named.get(name, name)} {show.number(1e6 * late[name], 3)}" for name in LATENESS]
    show.err().print(show.table("link", *SHOWN, rows=rows, box=None))
    show.note(f"late (µs): {', '.join(parts)}; CPU {show.number(report['cpu_s'], 2)} s")
