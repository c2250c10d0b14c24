"""`haltere algorithms`, `queues`, `presets`, `schema` and `bench`: lists, schemas, and the speed on this machine."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from rich.table import Table

from haltere import core
from haltere.cli import show
from haltere.errors import InputError, among, as_written, grouped


def algorithms(*, as_json: bool) -> None:
    """Print what a contender can consist of."""
    from haltere.rig import programs

    known = {**core.algorithms(), "programs": programs.rows()}
    if as_json:
        show.data(known)
        return
    console = show.out()
    columns = {
        "transports": ("name", "summary"),
        "congestion": ("name", "summary", "reference"),
        "media": ("name", "summary", "reference"),
        "adaptations": ("name", "summary", "reference"),
        "schedulers": ("name", "summary", "reference"),
        "stacks": ("name", "version", "congestion", "schedulers", "refused", "summary"),
        "switches": ("name", "type", "default", "summary", "source"),
        "settings": ("name", "applies_to", "means"),
        "bundles": ("name", "applies_to", "summary", "means", "lacks"),
        "programs": ("name", "role", "fidelities", "congestion", "missing", "summary"),
    }
    for kind, names in columns.items():
        if kind == "switches":
            for transport in known["transports"]:
                own = [item for item in known[kind] if item["transport"] == transport["name"]]
                console.print(_listing(f"{kind} of {transport['name']}", names, own))
        else:
            console.print(_listing(kind, names, known[kind]))
    show.say(
        "a contender is transport[@program]/congestion, then any of +switch (on), -switch (off) and +switch=value; "
        "+as=NAME sets what a bundle means; "
        "programs run on real Linux, stacks in virtual time"
    )


def queues(name: str | None, *, as_json: bool) -> None:
    """Print the queue disciplines, or one of them."""
    known = core.queues()
    if name is not None:
        names = [one["name"] for one in known]
        if name not in names:
            right = among(name, names)
            raise InputError("there is no such queue discipline", field="name", given=as_written(name), right=right)
        known = [known[names.index(name)]]
    if as_json:
        show.data(known if name is None else known[0])
        return
    console = show.out()
    if name is None:
        listed = [{**one, "parameters": [item["name"] for item in one["parameters"]]} for one in known]
        console.print(_listing("queue disciplines", ("name", "summary", "parameters", "reference"), listed))
        show.say(
            "a queue is a limit of a drop-tail queue (1000p, 64kB, 1bdp), or a discipline, then any of its parameters: "
            "NAME:PARAMETER=VALUE,PARAMETER=VALUE; `haltere queues NAME` has their defaults"
        )
        return
    (one,) = known
    show.say(f"{one['name']}: {one['summary']}")
    console.print(_listing("parameters", ("name", "default", "example", "summary"), one["parameters"]))
    show.say(f"source: {one['reference']}")


def presets(name: str | None, *, as_json: bool, as_toml: bool) -> None:
    """Print the presets of links and cells, or one of them with the source of each number, or as a file."""
    known = core.presets()
    if name is not None:
        known = [one for one in known if name in (one["name"], *one["also"])]
        if not known:
            right = among(name, [word for one in core.presets() for word in (one["name"], *one["also"])])
            raise InputError("there is no such preset", field="name", given=as_written(name), right=right)
    if as_toml:
        if name is None:
            raise InputError("needs a preset's name", field="--toml", right="such as haltere presets 4g --toml")
        print(_as_file(known[0]), end="")
        return
    if as_json:
        show.data(known if name is None else known[0])
        return
    console = show.out()
    if name is None:
        console.print(_listing("presets", ("name", "also", "of", "summary"), known))
        show.say(
            "in a scenario, preset = NAME in a link (or in topology.cell); on the command line, --path NAME; "
            "`haltere presets NAME` has its numbers with their sources, with --toml as a file to change"
        )
        return
    (one,) = known
    show.say(f"{one['name']} (a {one['of']}): {one['summary']}")
    console.print(_listing("settings", ("field", "value", "source"), one["settings"]))


def _as_file(preset: dict[str, Any]) -> str:
    """Return a preset as a file that `--path` takes, with the source of each number as a comment."""
    name, of = preset["name"], preset["of"]
    lines = [
        f"# {name}: {preset['summary']}",
        f"# Change it, and give its name as a path: --path my-{name}.toml",
        f"[{of}]",
    ]
    for setting in preset["settings"]:
        lines += [f"# {setting['source']}", f"{setting['field']} = {_toml(setting['value'])}"]
    return "\n".join(lines) + "\n"


def _toml(value: str) -> str:
    if value in ("true", "false"):
        return value
    try:
        float(value)
    except ValueError:
        return json.dumps(value, ensure_ascii=False)
    return value


def _listing(title: str, names: tuple[str, ...], items: list[dict[str, Any]]) -> Table:
    rows = [[_words(item.get(name)) for name in names] for item in items]
    table = show.table(*(name.replace("_", " ") for name in names), rows=rows, left=len(names), title=title)
    for name, column in zip(names, table.columns, strict=True):
        column.no_wrap = name == "name"
    return table


def _words(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(_words(item) for item in value)
    if isinstance(value, dict):
        return f"{value['name']}: {value['why']}"
    return "" if value is None else str(value)


def schema(of: str) -> None:
    """Print a JSON Schema."""
    if of == "scenario":
        found = core.scenario_schema()
    elif of == "study":
        from haltere.study.model import study_schema

        found = study_schema()
    elif of == "figures":
        from haltere.figures.kinds import model

        found = model().model_json_schema()
    else:
        right = among(of, ("scenario", "study", "figures"))
        raise InputError("there is no schema of that", field="schema", given=as_written(of), right=right)
    print(json.dumps(found, indent=2))


def bench(*, as_json: bool) -> None:
    """Run the benchmark cases and print them."""
    with show.err().status("measuring"):
        cases = core.bench()
    if as_json:
        show.data(cases)
        return
    console = show.out()
    memory = [case for case in cases if any(case.get(figure) is not None for figure in _MEMORY)]
    console.print(_figures("speed on this machine", [case for case in cases if case not in memory]))
    if memory:
        console.print(_figures("memory on this machine", memory))
    show.say(
        "data packets are those delivered across the bottleneck; CPU time is one thread's, the median of several runs; "
        "the share of the floor is the median of pairs of runs, the floor's and the case's in turn"
    )


_MEMORY = {
    "bytes_per_packet_in_flight": "memory a packet in flight (B)",
    "bytes_per_idle_connection": "memory an idle end (B)",
    "bytes_per_publisher": "memory an MQTT connection (B)",
}


def _getter(name: str) -> Callable[[dict[str, Any]], str]:
    return lambda case: _if_there(case.get(name))


def _if_there(value: float | None) -> str:
    return "" if value is None else show.number(value, 3)


def _figures(title: str, cases: list[dict[str, Any]]) -> Table:
    columns: dict[str, Callable[[dict[str, Any]], str]] = {
        "data packets": lambda case: f"{grouped(case['data_packets'])}",
        "CPU time (s)": lambda case: show.number(case["cpu_s"], 3),
        "packets a CPU-second": lambda case: f"{grouped(round(case['packets_per_cpu_s']))}",
    }
    if any(case.get("share_of_floor") is not None for case in cases):
        columns["share of the floor"] = _getter("share_of_floor")
    if any(case.get("share_of_ten_flows") is not None for case in cases):
        columns["share of ten flows"] = _getter("share_of_ten_flows")
    if any(case.get("times_real_time") is not None for case in cases):
        columns["times real time"] = _getter("times_real_time")
    for name, heading in _MEMORY.items():
        if any(case.get(name) is not None for case in cases):
            columns[heading] = _getter(name)
    rows = [(str(case["case"]), *(figure(case) for figure in columns.values())) for case in cases]
    return show.table("case", *columns, rows=rows, title=title)
