"""Scenarios whose topology is drawn from measured paths: `[topology] from = "paths"`.

Such a scenario stands for one concrete scenario for each replication. It becomes concrete before it is run: a path is
taken from a summary, by its quantile or by a number that depends on seed and replication alone, and becomes a
point-to-point link or a chain of links. No later step of a run knows of measured paths.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from haltere import core
from haltere.errors import InputError

if TYPE_CHECKING:
    from haltere.paths.summary import MeasuredPath, Summary

STREAM = "topology/path"
"""The random stream that draws a replication's path. Two summaries meet the same number, so they are compared at equal
ranks of their round-trip times (common random numbers)."""
NARROW = "bottleneck"
_DIRECTIONS = ("down", "up")


@dataclass(frozen=True)
class Measured:
    """A scenario before its path is drawn.

    Attributes:
        scenario: as written, pages read; it is not changed.
        summary: whose paths.
        share: which of them, from 0 to 1; None: each replication draws one.
        kind: what becomes of a path, `point-to-point` or `graph`.
    """

    scenario: Mapping[str, Any] = field(repr=False)
    summary: Summary
    share: float | None
    kind: str

    def path(self, seed: int, replication: int) -> MeasuredPath:
        """Return the path of a replication."""
        share = core.uniform(seed, replication, STREAM) if self.share is None else self.share
        return self.summary.at(share)

    def over(self, path: MeasuredPath) -> dict[str, Any]:
        """Return the scenario over a path, as the core reads it."""
        link = self.scenario["topology"].get("link") or {}
        if self.kind == "point-to-point":
            one = {"kind": self.kind, "link": {**link, "delay": f"{500 * path.rtt_us}ns"}}
            return {**self.scenario, "topology": one}
        flows = [
            {"server": "server", "client": "client", **flow} if isinstance(flow, Mapping) else flow
            for flow in self.scenario.get("flows", [])
        ]
        return {**self.scenario, "topology": {"kind": self.kind, "links": _chain(link, path)}, "flows": flows}

    def extremes(self) -> list[MeasuredPath]:
        """Return the paths with the greatest round-trip time and with the most hops: if these can be run, all can."""
        paths = [self.path(0, 0)] if self.share is not None else self.summary.paths
        slowest, longest = max(paths, key=lambda path: path.rtt_us), max(paths, key=lambda path: path.hops)
        return [slowest] if longest == slowest else [slowest, longest]


def parsed(measured: Measured) -> list[core.Scenario]:
    """Return the scenario over its extreme paths."""
    return [core.parse(measured.over(path)) for path in measured.extremes()]


def find(scenario: Any, folder: Path) -> Measured | None:
    """Return a scenario's measured topology; None if its topology is not drawn from measured paths.

    Args:
        scenario: a scenario; it is not changed.
        folder: where names of files begin.

    Raises:
        ScenarioProblem: if its topology is wrong, or its paths cannot be had.
    """
    topology = scenario.get("topology") if isinstance(scenario, Mapping) else None
    # A list of `paths` is that of several links between two hosts.
    if not isinstance(topology, Mapping) or not (
        {"from", "quantile"} & topology.keys() or ("paths" in topology and not isinstance(topology["paths"], list))
    ):
        return None
    said = core.measured_topology(topology)
    from haltere.paths import summary  # noqa: PLC0415 (polars is slow to load)

    try:
        found = summary.find(said["paths"], folder)
    except InputError as error:
        place = "" if error.place is None and error.field is None else f"{error.place or error.field}: "
        remedy = "" if error.right is None else f": give {error.right}"
        raise core.ScenarioProblem(f"{place}{error.problem}{remedy}", "topology.paths") from None
    return Measured(scenario, found, said["quantile"], said["kind"])


def _chain(link: Mapping[str, Any], path: MeasuredPath) -> list[dict[str, Any]]:
    """The links from `server` to `client`; the last one is the narrow link."""
    nodes = ["server", *(f"hop {number}" for number in range(1, path.hops)), "client"]
    wide = {key: link[key] for key in ("mtu",) if key in link}
    wide |= {way: {"mtu": link[way]["mtu"]} for way in _DIRECTIONS if "mtu" in (link.get(way) or {})}
    links = []
    for start, end, delay in zip(nodes, nodes[1:], path.hop_delays_ns(), strict=False):
        last = end == "client"
        fields = {**(_narrow(link, path) if last else wide), "delay": f"{delay}ns"}
        links.append({"from": start, "to": end, "link": fields} | ({"name": NARROW} if last else {}))
    return links


def _narrow(link: Mapping[str, Any], path: MeasuredPath) -> dict[str, Any]:
    """The narrow link, with queues in BDPs of the whole path, as the core would take the last hop's alone."""
    config = core.link_config({**link, "delay": f"{500 * path.rtt_us}ns"})

    ways = {
        way: {key: value for key, value in (link.get(way) or {}).items() if key not in ("queue", "mark")}
        | {"queue": config[way]["queue"]}
        for way in _DIRECTIONS
    }
    return {key: value for key, value in link.items() if key not in ("queue", "mark")} | ways
