"""Writes findings into a folder: the scenarios, a figure of both contenders over time, and all numbers."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tomli_w

from haltere import core
from haltere.attack.results import Answer, Attack
from haltere.attack.scenario import document
from haltere.documents import shown
from haltere.figures import trace_figure
from haltere.files import write_whole
from haltere.plugins import store
from haltere.rig import nodes

NAME = "attack"


def write(found: Attack, folder: Path, command: str) -> list[Path]:
    """Write the findings of an attack in the place of earlier ones, and return the paths written.

    `attack-1.toml` has the scenario of the first finding, `attack-1-against.toml` the other contender's, `attack-1.svg`
    and `.pdf` both over time; `attack.json` has everything.

    Args:
        found: what was found.
        folder: where it goes.
        command: the command line that finds it again.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob(f"{NAME}-[0-9]*"):
        if old.suffix in (".toml", ".svg", ".pdf"):
            old.unlink()
    written = []
    for number, answer in enumerate(found.findings, 1):
        stem = folder / f"{NAME}-{number}"
        rivals = found.rivals
        both = {stem.with_suffix(".toml"): rivals.contender, folder / f"{stem.name}-against.toml": rivals.against}
        for file, contender in both.items():
            write_whole(file, scenario(found, answer, contender, file, command))
            written.append(file)
        written += trace_figure(_traces(found, answer), stem)
    numbers = folder / f"{NAME}.json"
    write_whole(numbers, json.dumps(found.data(), indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    return [*written, numbers]


def scenario(found: Attack, answer: Answer, contender: str, file: Path, command: str) -> str:
    """Return the text of a scenario file: the finding in comments, and the scenario of a contender."""
    seed = found.seeds["fresh"]
    lines = [
        *answer.sentences(found.rivals)[:1],
        *(f"- {event.words}" for event in answer.events),
        f"Seed {seed}, replications 0 to {len(answer.judged.pairs) - 1 if answer.judged else 0}, as in:",
        f"  haltere trace {shown(file)} --seed {seed} --replication 0",
        "Found by:",
        f"  {command}",
    ]
    head = "".join(f"# {line}\n" for line in lines)
    named = _seen_from(contender, file.parent)
    tables = document(found.rivals.base, answer.events, named, answer.harm.place)
    return f"{head}\n{tomli_w.dumps(tables)}"


def _seen_from(contender: str, folder: Path) -> str:
    """Return a contender whose files are named as seen from a folder, as scenario files name them."""
    text = store.shown(contender)
    for name in store.files_of(text):
        seen = Path(os.path.relpath(name, folder)).as_posix()
        text = text.replace(name, seen if seen.startswith("../") else f"./{seen}")
    return text


def _traces(found: Attack, answer: Answer) -> dict[str, Any]:
    """The first fresh replication of both contenders as one trace, in which the other's flows follow."""
    rivals, traces = found.rivals, []
    for contender in (rivals.contender, rivals.against):
        parsed = core.parse(document(rivals.base, answer.events, contender, answer.harm.place))
        traces.append(nodes.trace(parsed, found.seeds["fresh"], 0, rivals.fidelity))
    mine, other = traces
    count = len(mine["result"]["flows"])
    names = {f"flow {number}": f"flow {number + count}" for number in range(len(other["result"]["flows"]))}
    flows = [{**flow, "flow": flow["flow"] + count} for flow in other["result"]["flows"]]
    return {
        "series": [*_lines(mine["series"], {}), *_lines(other["series"], names)],
        "result": {**mine["result"], "flows": [*mine["result"]["flows"], *flows]},
    }


_DRAWN = ("cwnd", "rtt", "delivery_rate")


def _lines(series: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> list[dict[str, Any]]:
    """The series of flows that the figure shows, by other names where `names` has some."""
    return [
        {**one, "who": names.get(str(one["who"]), str(one["who"]))}
        for one in series
        if one["name"] in _DRAWN and str(one["who"]).startswith("flow")
    ]
