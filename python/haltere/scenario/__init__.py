"""One concrete scenario as an object: checked when made, equal to another if their JSON is equal."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from haltere import core
from haltere.documents import Document, follow, steps
from haltere.errors import InputError, Place, as_written, hint
from haltere.fidelity import Fidelity, check
from haltere.notebook import notebook
from haltere.plugins import store
from haltere.scenario import files, measured


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return `base` with `over` laid on top: tables are merged key by key, anything else is replaced.

    A table of another `kind` is replaced as well: a graph has no use for the fields of a dumbbell.
    """
    merged = dict(base)
    for key, value in over.items():
        old = merged.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping) and _of_one_kind(old, value):
            merged[key] = merge(old, value)
        else:
            merged[key] = copy.deepcopy(value)
    return merged


def _of_one_kind(base: Mapping[str, Any], over: Mapping[str, Any]) -> bool:
    return "kind" not in over or over["kind"] == base.get("kind", over["kind"])


def _contenders(scenario: Mapping[str, Any]) -> list[str]:
    flows = scenario.get("flows")
    tables = [flow for flow in flows if isinstance(flow, Mapping)] if isinstance(flows, list) else []
    return [contender for flow in tables if isinstance(contender := flow.get("contender"), str)]


class Scenario:
    """A scenario that can be run: topology, flows and times, as nested tables (see `haltere schema`).

    >>> scenario = Scenario.point_to_point(["quic/bbr"], rate="9Mbit/s", down_delay="50ms", up_delay="0ms", size="2MB")
    >>> slower = scenario.merged({"topology": {"link": {"rate": "5Mbit/s"}}})

    Raises:
        InputError: if it cannot be run; the error names the field.
    """

    def __init__(
        self,
        data: Mapping[str, Any],
        *,
        source: Document | None = None,
        folder: Path | None = None,
        fidelity: Fidelity = "model",
    ) -> None:
        if not isinstance(data, Mapping):
            raise InputError(
                f"is a {type(data).__name__}, not a table",
                field="scenario",
                right='a dict with topology and flows, or haltere.Scenario.load("scenario.toml") for a file',
            )
        self.data: dict[str, Any] = copy.deepcopy(dict(data))
        self.fidelity: Fidelity = fidelity
        self.folder = folder or Path()
        if source is None:
            # Whoever names code in a program asks for it; that in a file is asked for otherwise.
            store.ask(*_contenders(self.data), queues=files.queues(self.data.get("topology")))
        try:
            self.data = files.inline(self.data, self.folder)
            self.measured = measured.find(self.data, self.folder)
            self.json: str = core.canonical(self.data)
            self._parsed = measured.parsed(self.measured) if self.measured else [core.parse(self.json)]
            for concrete in self._parsed:
                check(fidelity, concrete)
        except core.ScenarioProblem as problem:
            place = source.place(problem.path) if source else Place("scenario")
            given = follow(self.data, steps(problem.path)) if problem.path else None
            given = store.shown(given) if isinstance(given, str) else given
            raise InputError(
                problem.message,
                place=place,
                field=problem.path or None,
                given=None if given is None else as_written(given),
                right=hint(problem.message),
            ) from None
        except (TypeError, ValueError) as error:
            name = source.name if source else "scenario"
            raise InputError(
                f"holds a value that a scenario cannot have: {error}",
                place=Place(name),
                right="strings, finite numbers, booleans, tables, lists",
            ) from None

    def concrete(self, seed: int = 1, replication: int = 0) -> core.Scenario:
        """Return the concrete scenario of a replication, parsed: itself, or the one over the path it draws."""
        if self.measured is None:
            return self._parsed[0]
        return core.parse(self.measured.over(self.measured.path(seed, replication)))

    @classmethod
    def load(cls, path: str | Path, *, fidelity: Fidelity = "model") -> Scenario:
        """Read a scenario from a TOML file, for a fidelity."""
        document = Document.read(Path(path))
        return cls(document.data, source=document, folder=Path(path).parent, fidelity=fidelity)

    @classmethod
    def from_toml(cls, text: str, name: str = "scenario") -> Scenario:
        """Read a scenario from TOML text; `name` stands for the file in errors."""
        document = Document.parse(name, text)
        return cls(document.data, source=document)

    @classmethod
    def point_to_point(
        cls,
        contenders: Sequence[str],
        *,
        rate: str,
        down_delay: str,
        up_delay: str,
        loss: str = "0%",
        queue: str = "1000p",
        mtu: str = "1500B",
        app: str = "https",
        size: str | None = None,
        starts: Sequence[str] | None = None,
        duration: str | None = None,
        measure_from: str | None = None,
        probes: Sequence[Mapping[str, Any]] = (),
        loads: Sequence[Mapping[str, Any]] = (),
        fidelity: Fidelity = "model",
    ) -> Scenario:
        """One link, one flow a contender, loss in the data direction; units as in scenario files.

        Without `size` the flows are unlimited and `duration` must be given. `starts` are the flows' start times.
        `probes` and `loads` are tables as in scenario files (docs/how-to/probes.md):
        `[{"kind": "icmp", "interval": "1s"}]`.
        """
        flows = []
        for index, contender in enumerate(contenders):
            flow = {"contender": contender, "app": app}
            if size is not None:
                flow["size"] = size
            if starts is not None:
                flow["start"] = starts[index]
            flows.append(flow)
        link = {
            "rate": rate,
            "queue": queue,
            "mtu": mtu,
            "down": {"delay": down_delay, "loss": loss},
            "up": {"delay": up_delay},
        }
        data: dict[str, Any] = {"topology": {"kind": "point-to-point", "link": link}, "flows": flows}
        if duration is not None:
            data["duration"] = duration
        if measure_from is not None:
            data["measure_from"] = measure_from
        for name, tables in (("probes", probes), ("loads", loads)):
            if tables:
                data[name] = [dict(table) for table in tables]
        return cls(data, fidelity=fidelity)

    def merged(self, over: Mapping[str, Any]) -> Scenario:
        """Return this scenario with `over` laid on top of its tables; lists (such as `flows`) are replaced whole."""
        return Scenario(merge(self.data, over), folder=self.folder, fidelity=self.fidelity)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scenario) and self._identity() == other._identity()

    def _identity(self) -> tuple[object, ...]:
        """Its identity: the name of a summary may mean other paths in another folder."""
        return self.json, self.fidelity, None if self.measured is None else self.measured.summary

    def __hash__(self) -> int:
        return hash((self.json, self.fidelity))

    def _repr_html_(self) -> str:
        return notebook(repr(self)) + f"<pre>{escape(json.dumps(self.data, indent=1, default=str)[:4000])}</pre>"

    def __repr__(self) -> str:
        contenders = store.shown(", ".join(str(flow.get("contender")) for flow in self.data.get("flows", [])))
        shape = self.data["topology"].get("kind") or self.data["topology"].get("paths", "?")
        return f"<Scenario {shape}: {contenders}>"
