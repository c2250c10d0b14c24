"""Single runs on one time axis in a study's report.

Of one run, the RTT of a probe above and what the stages of a link hold below; of one run for each level of a factor,
the congestion window of a flow above and its bytes in flight below.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from haltere import core
from haltere.figures import style
from haltere.figures.data import NotInResultsError, levels_text
from haltere.figures.plots import COLOURS, Axis, Line, Plot, Point
from haltere.figures.plots_paper import fill
from haltere.figures.plots_screen import plot_svg
from haltere.figures.spec import Timeline
from haltere.figures.trace import thin
from haltere.metrics import quantities
from haltere.study import Run, Study

_WINDOW = ("cwnd", "bytes_in_flight")
_IN_KILOBYTES = {"cwnd": "congestion window (kB)", "bytes_in_flight": "bytes in flight (kB)"}
_COLOURS = ("first", "second", "ink")
_STAGES = (("qdisc_packets", "queue discipline", "first"), ("ring_packets", "ring", "second"))


@dataclass(frozen=True, slots=True)
class TimelineFigure:
    """The data of a figure on a time axis: plots that share it, from top to bottom."""

    spec: Timeline
    title: str
    plots: tuple[Plot, ...]


def timeline(study: Study, spec: Timeline) -> TimelineFigure:
    """Run what the figure shows once more, and record it.

    A run of the model is a function of its scenario, seed and replication, so this is the run of the results, up to
    `spec.until`. Raises `NotInResultsError` if the study has no such run, or not in the model.
    """
    end = quantities.value(spec.until) or 0.0
    x = Axis("time (s)", 0.0, end)
    if spec.series:
        plots = _compared(study, spec, x)
    elif spec.show:
        recorded = record(study, spec.experiment, spec.where, spec.replication, spec.until)
        plots = [_shown(spec, name, list(recorded.values()), x) for name in spec.show]
    else:
        plots = _stages(study, spec, x)
    title = spec.title or levels_text(list(spec.where), list(spec.where.values()))
    return TimelineFigure(spec, title, tuple(plots))


Series = Mapping[tuple[str, str], Mapping[str, Any]]
"""What a run recorded, by whose it is and its name."""


def record(study: Study, experiment: str, where: Mapping[str, str], replication: int, until: str) -> Series:
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


def _compared(study: Study, spec: Timeline, x: Axis) -> list[Plot]:
    """A plot for each series of the flow, with a line for each level."""
    levels: Sequence[str] = spec.levels
    if not levels and spec.experiment in study.file.experiments:
        found = [treatment.levels.get(spec.series) for treatment in study.select([spec.experiment])]
        levels = list(dict.fromkeys(level for level in found if level is not None))
    if not 0 < len(levels) <= len(_COLOURS):
        message = f"{len(levels)} levels of {spec.series!r}: name one to {len(_COLOURS)} of them in levels"
        raise NotInResultsError(message)
    recorded = {
        level: record(study, spec.experiment, {**spec.where, spec.series: level}, spec.replication, spec.until)
        for level in levels
    }
    plots = []
    for name in spec.show or _WINDOW:
        members = [
            (quantities.text(level), colour, series[spec.flow, name])
            for colour, (level, series) in zip(_COLOURS, recorded.items(), strict=False)
            if (spec.flow, name) in series
        ]
        if not members:
            message = f"the runs record no {name} of {spec.flow}"
            raise NotInResultsError(message)
        plots.append(_of_series(spec, name, members, x))
    return plots


def _stages(study: Study, spec: Timeline, x: Axis) -> list[Plot]:
    by_name = record(study, spec.experiment, spec.where, spec.replication, spec.until)
    end = x.high
    plots = []
    rtt = by_name.get((spec.probe, "rtt"))
    if rtt is not None:
        lines = [Line("", "ink", _points(rtt, end, 1e3))]
        plots.append(_plot(spec, "rtt", "RTT (ms)", x, lines))
    lines = [
        Line(label, colour, _points(by_name[spec.link, name], end), steps=True)
        for name, label, colour in _STAGES
        if (spec.link, name) in by_name
    ]
    if lines:
        plots.append(_plot(spec, "occupancy", "packets", x, lines))
    if not plots:
        message = f"the run records neither {spec.probe} nor the stages of {spec.link}"
        raise NotInResultsError(message)
    return plots


def _shown(spec: Timeline, name: str, series: Sequence[Mapping[str, Any]], x: Axis) -> Plot:
    """The plot of one series: a line for each flow, path or link that has it."""
    members = [one for one in series if one["name"] == name and len(one["t_s"])]
    if not members:
        there = ", ".join(sorted({str(one["name"]) for one in series}))
        message = f"the run records no series {name}; it has {there}"
        raise NotInResultsError(message)
    several = len(members) > 1
    hues = list(COLOURS)
    named = [(str(one["who"]) if several else "", hues[at % len(hues)], one) for at, one in enumerate(members)]
    return _of_series(spec, name, named, x)


def _of_series(spec: Timeline, name: str, members: Sequence[tuple[str, str, Mapping[str, Any]]], x: Axis) -> Plot:
    """The plot of one series of several runs or parts of a run: each with the text and the colour of its line."""
    scale = 1e-3 if name in _IN_KILOBYTES else 1.0
    lines = [Line(text, hue, _points(one, x.high, scale), steps=True) for text, hue, one in members]
    unit = str(members[0][2]["unit"])
    label = name.replace("_", " ")
    return _plot(spec, name, _IN_KILOBYTES.get(name, f"{label} ({unit})" if unit else label), x, lines)


def _run(study: Study, experiment: str, where: Mapping[str, str], replication: int) -> Run:
    if experiment in study.file.experiments:
        for run in study.runs(experiments=[experiment]):
            levels = run.treatment.levels
            same = all(name in levels and quantities.same(levels[name], of) for name, of in where.items())
            if same and run.replication == replication and run.fidelity == "model":
                return run
    sought = ", ".join(f"{factor} {level}" for factor, level in where.items())
    message = f"no run of experiment {experiment} in the model at {sought}"
    raise NotInResultsError(message)


def _points(series: Mapping[str, Any], end: float, scale: float = 1.0) -> Sequence[Point]:
    times, values = thin(series, end)
    return [(float(t), scale * float(v)) for t, v in zip(times, values, strict=True) if t <= end and math.isfinite(v)]


def _plot(spec: Timeline, part: str, label: str, x: Axis, lines: Sequence[Line]) -> Plot:
    top = max((value for line in lines for _, value in line.points), default=0.0)
    return Plot(f"{spec.name}-{part}", spec.title, spec.source, x, Axis(label, 0.0, 1.05 * top or 1.0), lines)


def timeline_svgs(figure: TimelineFigure) -> list[str]:
    """The SVG elements of the plots, from top to bottom."""
    return [plot_svg(plot) for plot in figure.plots]


def draw_timeline(figure: TimelineFigure, stem: Path, font: str = "") -> list[Path]:
    """Draw the plots above each other, one column wide; the paths written."""
    with style.paper(font):
        canvas = Figure(figsize=(style.COLUMN_IN, 0.5 + 1.25 * len(figure.plots)))
        rows = canvas.subplots(len(figure.plots), 1, sharex=True, squeeze=False)[:, 0]
        for axes, plot in zip(rows, figure.plots, strict=True):
            fill(axes, plot)
            axes.set_ylabel(plot.y.label)
            if axes.get_legend() is not None:
                axes.legend(loc="lower right", bbox_to_anchor=(1, 0.97), ncols=len(plot.lines))
            if axes is not rows[-1]:
                axes.set_xlabel("")
        rows[0].set_title(figure.title, loc="left", color=style.QUIET)
        canvas.align_ylabels()
        return style.save(canvas, stem)
