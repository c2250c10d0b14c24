"""The parts of contenders and links, as a page: the lists of `haltere algorithms` and `haltere presets`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from haltere import core
from haltere.rig import programs

TITLES = {
    "transports": "Transports",
    "congestion": "Congestion controls",
    "media": "Congestion controls of calls",
    "adaptations": "Rate adaptations of films",
    "schedulers": "Path schedulers",
    "stacks": "Production stacks",
    "switches": "Switches",
    "settings": "Settings of earlier versions",
    "bundles": "Bundles: stacks of some time or house",
    "programs": "Programs",
}


def contenders() -> str:
    """Return the sections of the page of contenders."""
    known: dict[str, list[dict[str, Any]]] = {**core.algorithms(), "programs": programs.rows()}
    return "\n".join(line for kind, rows in known.items() for line in _section(kind, rows))


def _section(kind: str, rows: list[dict[str, Any]]) -> Iterator[str]:
    yield f"## {TITLES.get(kind, kind.capitalize())}\n"
    transport = None
    for row in rows:
        if kind == "switches" and row["transport"] != transport:
            transport = row["transport"]
            yield f"### Switches of `{transport}`\n"
        more = [
            f"{name.replace('_', ' ')} {_words(value)}"
            for name, value in row.items()
            if name in ("type", "default", "applies_to", "version", "role") and value not in (None, "", [])
        ]
        said = [str(row[name]) for name in ("summary", "means") if row.get(name)]
        named = ("congestion", "schedulers", "values", "lacks")
        lists = [f"{name}: {_words(row[name])}" for name in named if row.get(name)]
        sources = [f"({row[name]})" for name in ("reference", "source") if row.get(name)]
        head = f"`{row['name']}`" + (f" — {', '.join(more)}" if more else "")
        yield f"{head}\n: {_plain('. '.join([*said, *lists]))} {_plain(' '.join(sources))}\n"


def _words(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _plain(text: str) -> str:
    return text.replace("<", "&lt;").replace("*", r"\*").replace("[", r"\[")
