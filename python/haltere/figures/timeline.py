"""Single runs on one time axis.

Of one run, the RTT of a probe above and what the stages of a link hold below; of one run for each level of a factor,
the congestion window of a flow above and its bytes in flight below.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
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
_LOOKS = ("first", "second", "ink")
_STAGES = (("qdisc_packets", "queue discipline", "first"), ("ring_packets", "ring", "second"))

Recorded = Mapping[tuple[str, str], Mapping[str, Any]]
"""The series that a run recorded, by whose they are and their names."""


class Timeline(Kind):
    """One run over time, of the treatment at `where`: the RTT of `probe`, and what the stages of `link` hold.

    `show` names series of a trace, such as `cwnd` and `rtt`, to be shown instead, a plot each; `goodput` is made of the
    data that each flow's receiver has. With `series`, a factor
    that `where` does not name, there is one run for each of its `levels` (at most three; all, if none are given), and
    the plots have a line a level: of `show`, or else of congestion window and bytes in flight, of `flow`.

    A run of the model is a function of its scenario, seed and replication, so what is shown is the run of the results,
    up to `until`.
    """

    description = Description("timelines", "over_time", "One run over time.", section="Single runs over time")
    factors = ("series",)

    where: Mapping[str, str] = Field(default_factory=dict)
    replication: int = 0
    until: Time = "60s"
    probe: str = "probe 0"
    link: str = "bottleneck down"
    show: tuple[str, ...] = ()
    series: str = ""
    levels: Annotated[tuple[str, ...], Field(max_length=3)] = ()
    flow: str = "flow 0"

    def named_levels(self) -> Iterator[Named]:
        """The levels of factors that the figure names."""
        if self.series:
            yield "levels", self.series, self.levels

    def figure(self, data: Data) -> Figure:
        """Compute what is drawn."""
        if data.study is None:
            raise NotInResultsError("a figure over time is made of a run of a study, not of tables")
        study = data.study()
        if self.series:
            panels = self._compared(study, data.words)
        elif self.show:
            every = list(self._record(study, self.where).values())
            if "goodput" in self.show:
                every += [
                    _goodput(one, quantities.value(self.until) or 0.0) for one in every if one["name"] == "received"
                ]
            run = _run(study, self.experiment, self.where, self.replication)
            panels = [self._shown(name, every, _flows(json.loads(run.scenario_json))) for name in self.show]
        else:
            panels = self._stages(study)
        return Figure(self.name, self.title or data.words.all_levels(self.single), panels, self.source)

    def _record(self, study: Study, where: Mapping[str, Any]) -> Recorded:
        return record(study, self.experiment, where, self.replication, self.until)

    def _compared(self, study: Study, words: FigureList) -> list[Panel]:
        """A plot for each series of the flow, with a line for each level."""
        levels: Sequence[str] = self.levels
        if not levels and self.experiment in study.file.experiments:
            found = [treatment.levels.get(self.series) for treatment in study.select([self.experiment])]
            levels = list(dict.fromkeys(level for level in found if level is not None))
        if not 0 < len(levels) <= len(_LOOKS):
            message = f"{len(levels)} levels of {self.series!r}: name one to {len(_LOOKS)} of them in levels"
            raise NotInResultsError(message)
        recorded = {level: self._record(study, {**self.where, self.series: level}) for level in levels}
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

    def _stages(self, study: Study) -> list[Panel]:
        by_name = self._record(study, self.where)
        panels = []
        rtt = by_name.get((self.probe, "rtt"))
        if rtt is not None:
            panels.append(self._plot("RTT (ms)", [("", "ink", rtt)], 1e3, steps=False))
        stages = [
            (label, look, by_name[self.link, name]) for name, label, look in _STAGES if (self.link, name) in by_name
        ]
        if stages:
            panels.append(self._plot("packets", stages))
        if not panels:
            raise NotInResultsError(f"the run records neither {self.probe} nor the stages of {self.link}")
        return panels

    def _shown(self, name: str, series: Sequence[Mapping[str, Any]], flows: Mapping[str, str]) -> Panel:
        """The plot of one series: a line for each flow, path or link that has it."""
        members = [one for one in series if one["name"] == name and len(one["t_s"])]
        if not members:
            there = ", ".join(sorted({str(one["name"]) for one in series}))
            raise NotInResultsError(f"the run records no series {name}; it has {there}")
        members.sort(key=lambda one: str(one["who"]))
        several = len(members) > 1
        names = [flows.get(str(one["who"]), str(one["who"])) if several else "" for one in members]
        named = [(names[at], _LOOKS[at % len(_LOOKS)], one) for at, one in enumerate(members)]
        return self._panel(name, named)

    def _panel(self, name: str, members: Sequence[tuple[str, str, Mapping[str, Any]]]) -> Panel:
        """The plot of one series of several runs or parts of a run: each with the text and the look of its line."""
        if name == "rtt":
            return self._plot("RTT (ms)", members, 1e3, steps=False)
        unit, words = str(members[0][2]["unit"]), name.replace("_", " ")
        label = _IN_KILOBYTES.get(name, f"{words} ({unit})" if unit else words)
        return self._plot(label, members, 1e-3 if name in _IN_KILOBYTES else 1.0)

    def _plot(
        self,
        label: str,
        members: Sequence[tuple[str, str, Mapping[str, Any]]],
        scale: float = 1.0,
        *,
        steps: bool = True,
    ) -> Panel:
        end = quantities.value(self.until) or 0.0
        lines = [(text, look, _points(one, end, scale)) for text, look, one in members]
        top = max((y for *_, points in lines for _, y in points), default=0.0)
        series = [Series(look, text, [Line(points, steps)]) for text, look, points in lines]
        return Panel("", Axis("time (s)", 0.0, end), Axis(label, 0.0, 1.05 * top or 1.0), series)


_SAMPLES = 60
"""About so many values has a goodput over time."""


def _goodput(received: Mapping[str, Any], end: float) -> dict[str, Any]:
    """The rate at which a flow's data arrived, from the bytes received: a value for each of `_SAMPLES` parts."""
    times, data = (np.asarray(received[name], dtype=np.float64) for name in ("t_s", "v"))
    edges = np.linspace(0.0, end, _SAMPLES + 1)
    rates = np.diff(np.interp(edges, times, data)) * 8 / np.diff(edges) / 1e6
    return {"who": received["who"], "name": "goodput", "unit": "Mbit/s", "t_s": edges[:-1], "v": rates}


def _flows(scenario: Mapping[str, Any]) -> dict[str, str]:
    """Flows as their contenders, and probes, by their names in a trace; flows of one contender with a number."""
    labels = [str(flow.get("label") or flow.get("contender") or "") for flow in scenario.get("flows", ())]
    if any(flow.get("count") for flow in scenario.get("flows", ())):
        return {}
    probes = scenario.get("probes", ())
    named = {f"probe {at}": f"probe ({one['kind']})" for at, one in enumerate(probes) if "kind" in one}
    shown = [look(label).name if is_contender(label) else label for label in _plain(labels)]
    return named | {
        f"flow {at}": f"{text} {labels[:at].count(labels[at]) + 1}" if labels.count(labels[at]) > 1 else text
        for at, text in enumerate(shown)
        if text
    }


def _plain(labels: Sequence[str]) -> list[str]:
    """The contenders of a run without their switches, if they can be told apart without: a legend is narrow."""
    short = [re.sub(r"(/[^-+]*)[-+].*", r"\1", label) if is_contender(label) else label for label in labels]
    return short if len(set(short)) == len(set(labels)) else list(labels)


def record(study: Study, experiment: str, where: Mapping[str, str], replication: int, until: str) -> Recorded:
    """Run what a study has at `where` once more, up to a time, and return all that it recorded.

    Raises `NotInResultsError` if the study has no such run in the model.
    """
    run = _run(study, experiment, where, replication)
    scenario: dict[str, Any] = json.loads(run.scenario_json)
    scenario.pop("time_limit", None)
    scenario["duration"] = until
    if (quantities.value(str(scenario.get("measure_from", "0s"))) or 0.0) >= (quantities.value(until) or 0.0):
        scenario.pop("measure_from", None)
    traced = core.trace(core.parse(scenario), run.seed, run.replication)
    return {(one["who"], one["name"]): one for one in traced["series"]}


def _run(study: Study, experiment: str, where: Mapping[str, str], replication: int) -> Run:
    if experiment in study.file.experiments:
        for run in study.runs(experiments=[experiment]):
            levels = run.treatment.levels
            same = all(name in levels and quantities.same(levels[name], of) for name, of in where.items())
            if same and run.replication == replication and of(run.fidelity).modelled:
                return run
    sought = ", ".join(f"{factor} {level}" for factor, level in where.items())
    raise NotInResultsError(f"no run of experiment {experiment} in the model at {sought}")


def _points(series: Mapping[str, Any], end: float, scale: float) -> Sequence[Point]:
    times, values = thin(series, end)
    return [(float(t), scale * float(v)) for t, v in zip(times, values, strict=True) if t <= end and math.isfinite(v)]
