"""`haltere algorithms`, `schema` and `bench`: lists, schemas, and the speed on this machine."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from rich.markup import escape
from rich.table import Table

from haltere import core
from haltere.cli import show
from haltere.errors import InputError, as_written


def algorithms(*, as_json: bool) -> None:
    """Print what a contender can consist of."""
    from haltere.rig import programs

    known = {**core.algorithms(), "programs": programs.rows()}
    if as_json:
        print(json.dumps(known, indent=1))
        return
    console = show.out()
    columns = {
        "transports": ("name", "summary"),
        "congestion": ("name", "summary", "reference"),
        "stacks": ("name", "version", "congestion", "refused", "summary"),
        "switches": ("name", "applies_to", "summary"),
        "programs": ("name", "role", "fidelities", "congestion", "missing", "summary"),
    }
    for kind, names in columns.items():
        table = show.table(title=kind)
        for name in names:
            table.add_column(name.replace("_", " "), overflow="fold")
        for item in known[kind]:
            table.add_row(*(escape(_words(item.get(name))) for name in names))
        console.print(table)
    console.print(
        "a contender is transport[@program]/congestion[-variant][+switch...]; programs run on real Linux, "
        "stacks in virtual time",
        markup=False,
    )


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
        from haltere.study.schema import study_schema

        found = study_schema()
    else:
        raise InputError("there is no schema of that", field="schema", given=as_written(of), right="scenario or study")
    print(json.dumps(found, indent=2))


def bench(*, as_json: bool) -> None:
    """Run the benchmark cases and print them."""
    with show.err().status("measuring"):
        cases = core.bench()
    if as_json:
        print(json.dumps(cases, indent=1))
        return
    console = show.out()
    memory = [case for case in cases if case.get("bytes_per_packet_in_flight") is not None]
    console.print(_figures("speed on this machine", [case for case in cases if case not in memory]))
    if memory:
        console.print(_figures("memory on this machine", memory))
    console.print(
        "data packets are those delivered across the bottleneck; CPU time is one thread's, the median of several runs",
        markup=False,
    )


def _figures(title: str, cases: list[dict[str, Any]]) -> Table:
    columns: dict[str, Callable[[dict[str, Any]], str]] = {
        "data packets": lambda case: f"{case['data_packets']:,}",
        "CPU time (s)": lambda case: show.number(case["cpu_s"], 3),
        "packets a CPU-second": lambda case: f"{case['packets_per_cpu_s']:,.0f}",
    }
    if all(case.get("bytes_per_packet_in_flight") is not None for case in cases):
        columns["memory a packet in flight (B)"] = lambda case: show.number(case["bytes_per_packet_in_flight"], 3)
    table = show.table(title=title)
    table.add_column("case", no_wrap=True)
    for heading in columns:
        table.add_column(heading, justify="right")
    for case in cases:
        table.add_row(escape(str(case["case"])), *(figure(case) for figure in columns.values()))
    return table
