"""Single runs on one time axis.

Of one run, the RTT of a probe above and what the stages of a link hold below; of one run for each level of a factor,
the congestion window of a flow above and its bytes in flight below. All of this may be drawn for each level of another
factor.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from haltere import core
from haltere.fidelity import of
from haltere.figures.parts import Axis, Figure, Line, NotInResultsError, Panel, Point, Series
from haltere.figures.spec import Data, Description, FigureList, Kind, Named, Time
from haltere.figures.trace import thin
from haltere.metrics import quantities
from haltere.metrics.contenders import is_contender, look
from haltere.study import Run, Study

_WINDOW = ("cwnd", "bytes_in_flight")
_IN_KILOBYTES = {"cwnd": "congestion window (kB)", "bytes_in_flight": "bytes in flight (kB)"}
_SCALES = {"bit/s": (1e-6, "Mbit/s"), "s": (1e3, "ms")}
"""Units of series, and in what they are shown."""
_WORDS = {"rtt": "RTT"}
_SAMPLED = ("rtt", "glass_to_glass")
"""Series whose values are samples, each joined with the next."""
_LOOKS = ("first", "second", "ink")
_STAGES = (("qdisc_packets", "queue discipline", "first"), ("ring_packets", "ring", "second"))

Recorded = Mapping[tuple[str, str], Mapping[str, Any]]
"""The series that a run recorded, by whose they are and their names."""


class Timeline(Kind):
    """One run over time, of the treatment at `where`: the RTT of `probe`, and what the stages of `link` hold.

    `show` names series of a trace, such as `cwnd` and `rtt`, to be shown instead, a plot each; `goodput` is made of the
    data that each flow's receiver has, and `capacity` is the rate of `link` where it changes. Names with `+` between
    them, such as `goodput+capacity`, share a plot. With `series`, a factor
    that `where` does not name, there is one run for each of its `levels` (at most three; all, if none are given), and
    the plots have a line a level: of `show`, or else of congestion window and bytes in flight, of `flow`. With
    `panels`, another such factor, all of this is drawn for each of its levels, or of those in `only`. With `together`,
    the goodput of flows of one label, or of one contender, is one line: their sum.

    A run of the simulator is a function of its scenario, seed and replication, so what is shown is the run of the
    results, up to `until`.
    """

    description = Description("timelines", "over_time", "One run over time.", section="Single runs over time")
    factors = ("series", "panels")

    where: Mapping[str, str] = Field(default_factory=dict)
    replication: int = 0
    until: Time = "60s"
    probe: str = "probe 0"
    link: str = "bottleneck down"
    show: tuple[str, ...] = ()
    series: str = ""
    levels: Annotated[tuple[str, ...], Field(max_length=3)] = ()
    panels: str = ""
    only: tuple[str, ...] = ()
    together: bool = False
    flow: str = "flow 0"

    def named_levels(self) -> Iterator[Named]:
        """The levels of factors that the figure names."""
        if self.series:
            yield "levels", self.series, self.levels
        if self.panels:
            yield "only", self.panels, self.only

    def figure(self, data: Data) -> Figure:
        """Compute what is drawn."""
        if data.study is None:
            raise NotInResultsError("a figure over time is made of a run of a study, not of tables")
        study = data.study()
        if not self.panels:
            panels = self._plots(data.words, study, self.where)
        else:
            panels = []
            for level in self.only or _levels(study, self.experiment, self.panels):
                plots = self._plots(data.words, study, {**self.where, self.panels: level})
                panels += [replace(one, title=data.words.level(self.panels, level)) for one in plots]
        if not panels:
            raise NotInResultsError(f"experiment {self.experiment} has no factor {self.panels}")
        return Figure(self.name, self.title or data.words.all_levels(self.single), _to_one_scale(panels), self.source)

    def _plots(self, words: FigureList, study: Study, where: Mapping[str, Any]) -> list[Panel]:
        """The plots of the run at some levels, or of the runs that are compared there."""
        if self.series:
            return self._compared(study, where, words)
        if not self.show:
            return self._stages(study, where)
        scenario = json.loads(_run(study, self.experiment, where, self.replication).scenario_json)
        flows = _flows(scenario, numbered=not self.together)
        every = list(self._record(study, where).values())
        if any("goodput" in name.split("+") for name in self.show):
            received = [one for one in every if one["name"] == "received"]
            every += self._goodputs(received, flows)
        return [self._shown(name, every, flows) for name in self.show]

    def _goodputs(self, received: Sequence[Mapping[str, Any]], flows: Mapping[str, str]) -> list[Mapping[str, Any]]:
        """The goodput of each flow over time, or of those of one label together."""
        end = quantities.value(self.until) or 0.0
        found: list[Mapping[str, Any]] = [_goodput(one, end) for one in received]
        if not self.together:
            return found
        sums: dict[str, Mapping[str, Any]] = {}
        for one in found:
            label = flows.get(str(one["who"]), str(one["who"]))
            so_far = sums.get(label)
            sums[label] = one if so_far is None else {**so_far, "v": so_far["v"] + one["v"]}
        return list(sums.values())

    def _record(self, study: Study, where: Mapping[str, Any]) -> Recorded:
        return record(study, self.experiment, where, self.replication, self.until)

    def _compared(self, study: Study, where: Mapping[str, Any], words: FigureList) -> list[Panel]:
        """A plot for each series of the flow, with a line for each level."""
        levels = self.levels or _levels(study, self.experiment, self.series)
        if not 0 < len(levels) <= len(_LOOKS):
            message = f"{len(levels)} levels of {self.series!r}: name one to {len(_LOOKS)} of them in levels"
            raise NotInResultsError(message)
        recorded = {level: self._record(study, {**where, self.series: level}) for level in levels}
        panels = []
        for name in self.show or _WINDOW:
            members = [
                (words.level(self.series, level), look, series[self.flow, name])
                for look, (level, series) in zip(_LOOKS, recorded.items(), strict=False)
                if (self.flow, name) in series
            ]
            if not members:
                raise NotInResultsError(f"the runs record no {name} of {self.flow}")
            panels.append(self._panel(name, members))
        return panels

    def _stages(self, study: Study, where: Mapping[str, Any]) -> list[Panel]:
        by_name = self._record(study, where)
        panels = []
        rtt = by_name.get((self.probe, "rtt"))
        if rtt is not None:
            panels.append(self._plot("RTT (ms)", [("", "ink", rtt)], [1e3], steps=False))
        stages = [
            (label, look, by_name[self.link, name]) for name, label, look in _STAGES if (self.link, name) in by_name
        ]
        if stages:
            panels.append(self._plot("packets", stages, [1.0] * len(stages)))
        if not panels:
            raise NotInResultsError(f"the run records neither {self.probe} nor the stages of {self.link}")
        return panels

    def _shown(self, shown: str, series: Sequence[Mapping[str, Any]], flows: Mapping[str, str]) -> Panel:
        """The plot of one series, or of several: a line for each flow, path or link that has it."""
        names = shown.split("+")
        found = [one for name in names for one in self._members(name, series)]
        alone = len(found) == len(names)
        texts = []
        for one in found:
            who, words = flows.get(str(one["who"]), str(one["who"])), str(one["name"]).replace("_", " ")
            own = "" if alone or one["name"] == "capacity" else who
            texts.append(" ".join(part for part in (own, words if len(names) > 1 else "") if part))
        looks = iter([*_LOOKS, *(f"level {at}" for at in range(len(_LOOKS), len(found)))])
        named = [
            (text, "ink" if one["name"] == "capacity" and len(names) > 1 else next(looks), one)
            for text, one in zip(texts, found, strict=True)
        ]
        return self._panel(names[0], named)

    def _members(self, name: str, series: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """The series of a name, by whose they are; of capacities that of the link alone."""
        found = [one for one in series if one["name"] == name and len(one["t_s"])]
        if name == "capacity":
            found = [one for one in found if one["who"] == self.link]
        if not found:
            there = ", ".join(sorted({str(one["name"]) for one in series}))
            raise NotInResultsError(f"the run records no series {name}; it has {there}")
        return sorted(found, key=lambda one: str(one["who"]))

    def _panel(self, name: str, members: Sequence[tuple[str, str, Mapping[str, Any]]]) -> Panel:
        """The plot of one series of several runs or parts of a run: each with the text and the look of its line."""
        if name in _IN_KILOBYTES:
            return self._plot(_IN_KILOBYTES[name], members, [1e-3] * len(members))
        shown = [_SCALES.get(str(one["unit"]), (1.0, str(one["unit"]))) for *_, one in members]
        units = list(dict.fromkeys(unit for _, unit in shown))
        if len(units) > 1:
            raise NotInResultsError(f"series in {' and '.join(units)}: only series of one unit share a plot")
        words = "rate" if len({one["name"] for *_, one in members}) > 1 else name.replace("_", " ")
        label = _WORDS.get(name, words) + (f" ({units[0]})" if units[0] else "")
        return self._plot(label, members, [scale for scale, _ in shown], steps=name not in _SAMPLED)

    def _plot(
        self,
        label: str,
        members: Sequence[tuple[str, str, Mapping[str, Any]]],
        scales: Sequence[float],
        *,
        steps: bool = True,
    ) -> Panel:
        end = quantities.value(self.until) or 0.0
        lines = [(text, look, _pieces(one, end, by)) for (text, look, one), by in zip(members, scales, strict=True)]
        top = max((y for *_, pieces in lines for points in pieces for _, y in points), default=0.0)
        series = [Series(look, text, [Line(points, steps) for points in pieces]) for text, look, pieces in lines]
        return Panel("", Axis("time (s)", 0.0, end), Axis(label, 0.0, 1.05 * top or 1.0), series)


def _levels(study: Study, experiment: str, factor: str) -> Sequence[str]:
    """The levels of a factor of an experiment; none if there is no such factor or experiment."""
    if experiment not in study.file.experiments:
        return ()
    found = [treatment.levels.get(factor) for treatment in study.select([experiment])]
    return list(dict.fromkeys(level for level in found if level is not None))


def _to_one_scale(panels: Sequence[Panel]) -> list[Panel]:
    """Give plots that stand side by side, as all have one quantity, one axis."""
    top = max(one.y.high for one in panels)
    alike = len({one.y.label for one in panels}) == 1
    return [replace(one, y=replace(one.y, high=top)) for one in panels] if alike else list(panels)


_DASH = 200
"""A single value between two gaps is a dash of this part of the axis."""

_SAMPLES = 60
"""At least so many values has a goodput over time; where it is longer than so many seconds, one a second."""


def _goodput(received: Mapping[str, Any], end: float) -> dict[str, Any]:
    """The rate at which a flow's data arrived, from the bytes received in each part of the time."""
    times, data = (np.asarray(received[name], dtype=np.float64) for name in ("t_s", "v"))
    edges = np.linspace(0.0, end, max(_SAMPLES, round(end)) + 1)
    rates = np.diff(np.interp(edges, times, data)) * 8 / np.diff(edges) / 1e6
    return {"who": received["who"], "name": "goodput", "unit": "Mbit/s", "t_s": edges[:-1], "v": rates}


def _flows(scenario: Mapping[str, Any], *, numbered: bool = True) -> dict[str, str]:
    """Flows as their labels or contenders, and probes, by their names in a trace; flows of one name with a number."""
    if any(flow.get("pairs") for flow in scenario.get("flows", ())):
        return {}
    labels = [
        str(flow.get("label") or flow.get("contender") or "")
        for flow in scenario.get("flows", ())
        for _ in range(int(flow.get("copies", 1)))
    ]
    probes = scenario.get("probes", ())
    named = {f"probe {at}": f"probe ({one['kind']})" for at, one in enumerate(probes) if "kind" in one}
    shown = [look(label).name if is_contender(label) else label for label in _plain(labels)]
    return named | {
        f"flow {at}": f"{text} {labels[:at].count(labels[at]) + 1}"
        if numbered and labels.count(labels[at]) > 1
        else text
        for at, text in enumerate(shown)
        if text
    }


def _plain(labels: Sequence[str]) -> list[str]:
    """The contenders of a run without their switches, if they can be told apart without: a legend is narrow."""
    short = [re.sub(r"(/[^-+]*)[-+].*", r"\1", label) if is_contender(label) else label for label in labels]
    return short if len(set(short)) == len(set(labels)) else list(labels)


def record(study: Study, experiment: str, where: Mapping[str, str], replication: int, until: str) -> Recorded:
    """Run what a study has at `where` once more, up to a time, and return all that it recorded.

    Raises `NotInResultsError` if the study has no such run in the simulator.
    """
    run = _run(study, experiment, where, replication)
    scenario: dict[str, Any] = json.loads(run.scenario_json)
    scenario.pop("time_limit", None)
    scenario["duration"] = until
    if (quantities.value(str(scenario.get("measure_from", "0s"))) or 0.0) >= (quantities.value(until) or 0.0):
        scenario.pop("measure_from", None)
    traced = core.trace(core.parse(scenario), run.seed, run.replication, run.fidelity)
    recorded = {(one["who"], one["name"]): one for one in traced["series"]}
    for probe in traced["result"].get("probes") or ():
        name = (f"probe {probe['probe']}", "rtt")
        if name in recorded:
            recorded[name] = _with_losses(recorded[name], probe)
    return recorded


def _with_losses(rtt: Mapping[str, Any], probe: Mapping[str, Any]) -> Mapping[str, Any]:
    """The RTTs of a probe with a gap wherever a request had no answer."""
    lost = [(sent, None) for sent, answer in zip(probe["sent_s"], probe["rtt_s"], strict=True) if answer is None]
    both = sorted([*zip(rtt["t_s"], rtt["v"], strict=True), *lost], key=lambda one: one[0])
    return {**rtt, "t_s": [t for t, _ in both], "v": [v for _, v in both]}


def _run(study: Study, experiment: str, where: Mapping[str, str], replication: int) -> Run:
    if experiment in study.file.experiments:
        for run in study.runs(experiments=[experiment]):
            levels = run.treatment.levels
            same = all(name in levels and quantities.same(levels[name], of) for name, of in where.items())
            if same and run.replication == replication and _repeats(run):
                return run
    sought = ", ".join(f"{factor} {level}" for factor, level in where.items())
    raise NotInResultsError(f"no run of experiment {experiment} in the simulator at {sought}")


def _repeats(run: Run) -> bool:
    """Whether a run can be had again as it was: in the simulator, and without kernels, which need not be there."""
    return of(run.fidelity).simulated and not core.parse(json.loads(run.scenario_json)).has_kernels(run.fidelity)


def _pieces(series: Mapping[str, Any], end: float, scale: float) -> list[list[Point]]:
    """The points up to the end, in pieces between the times without a value; a point by itself is a dash."""
    times, values = thin(series, end)
    pieces: list[list[Point]] = [[]]
    for t, v in zip(times, values, strict=True):
        if t <= end and math.isfinite(v):
            pieces[-1].append((float(t), scale * float(v)))
        elif pieces[-1]:
            pieces.append([])
    dash = end / _DASH
    drawn = [piece if len(piece) > 1 else [piece[0], (piece[0][0] + dash, piece[0][1])] for piece in pieces if piece]
    return drawn or [[]]
