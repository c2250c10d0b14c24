"""One run on one time axis: which path carried what, windows, RTT, rates, the receive buffer and the queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from haltere.figures import shadows
from haltere.figures.parts import AnyMark, Axis, Dot, Figure, Line, Outline, Panel, Point, Rect, Series
from haltere.figures.peaks import end_without_peaks
from haltere.metrics.contenders import keys, look

_COLUMNS = 1000
"""Pixel columns that a line is thinned to: finer than any print of the figure."""


@dataclass(frozen=True, slots=True)
class _Quantity:
    """One kind of line in a panel."""

    name: str
    label: str
    line: Literal["-", "--", ":"]
    weight: float


@dataclass(frozen=True, slots=True)
class _Panel:
    """One row of the figure: values divided by `divisor` are in `unit`."""

    title: str
    unit: str
    divisor: float
    quantities: tuple[_Quantity, ...]


_PANELS = (
    _Panel(
        "Window",
        "kB",
        1e3,
        (
            _Quantity("cwnd", "congestion window", "-", 1.1),
            _Quantity("ssthresh", "slow-start threshold", ":", 0.9),
            _Quantity("bytes_in_flight", "bytes in flight", "-", 0.5),
            _Quantity("inflight_longterm", "long-term bound", "--", 0.7),
        ),
    ),
    _Panel("Held", "kB", 1e3, (_Quantity("held", "data held behind missing data", "-", 0.7),)),
    _Panel("RTT", "ms", 1e-3, (_Quantity("rtt", "RTT sample", "-", 0.7),)),
    _Panel(
        "Rate",
        "Mbit/s",
        1e6,
        (
            _Quantity("delivery_rate", "delivery rate", "-", 0.7),
            _Quantity("pacing_rate", "pacing rate", "--", 0.9),
            _Quantity("max_bw", "largest bandwidth", ":", 0.9),
        ),
    ),
    _Panel("Queue", "kB", 1e3, (_Quantity("queue", "waiting bytes", "-", 0.7),)),
    _Panel(
        "Stages",
        "packets",
        1,
        (_Quantity("qdisc_packets", "queue discipline", "-", 0.7), _Quantity("ring_packets", "ring", ":", 0.7)),
    ),
)
_PATHS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#666666", "#000000")
"""The colours of paths (Okabe and Ito). Of several paths of one flow each has its own."""
_LINK_COLOURS = ("#444444", "#999999", "#CC79A7")
_QUEUE_SHARE = 0.1
"""Queues that never hold this share of what the longest one holds are not drawn: access links seldom matter."""
_PALE, _SHADE = 0.18, 0.15
"""Opacity of the area below bytes in flight, and of the time in which data is held."""

Drawn = tuple[str, float]
"""A colour and its opacity."""


def trace_figure(trace: Mapping[str, Any], out: Path) -> list[Path]:
    """Draw a trace as `haltere._core.trace` returns it (parsed from JSON) and return the paths written.

    `out` ending in .svg, .pdf or .png is written in that format; any other `out` is a stem, to which .svg and .pdf are
    added. Raises `ValueError` if the trace holds no series at all.
    """
    from haltere.figures import on_paper  # noqa: PLC0415 (drawing is slow to load)

    return on_paper.write(figure_of(trace), out)


def figure_of(trace: Mapping[str, Any]) -> Figure:
    """A trace as a figure.

    Every flow keeps its contender's colour; further flows of the same contender are drawn paler. If there is one flow
    and it has several paths, each path has a colour, and a panel that shows which data it carried when; the panel of
    held data is shaded while the receiver waits for missing data. Panels without a series are left out. Raises
    `ValueError` if the trace holds no series at all.
    """
    everything = [one for one in trace.get("series", ()) if len(one["t_s"]) > 0]
    series = _worth_drawing([one for one in everything if not shadows.is_asked(str(one["who"]))])
    asked = shadows.asked(everything)
    panels = [panel for panel in _PANELS if any(one["name"] in _names(panel) for one in series)]
    if not panels:
        raise ValueError("the trace holds no series: nothing to draw")
    flows = trace.get("result", {}).get("flows", ())
    colours = _colours(flows)
    schedule = _schedule(trace)
    if schedule is not None:
        colours |= _path_colours(schedule)
    end = max(float(one["t_s"][-1]) for one in series)
    ends = {f"flow {flow['flow']}": min(end, _end_of(flow, end)) for flow in flows}
    ends = {who: ends.get(" ".join(who.split()[:2]), end) for who in {str(one["who"]) for one in series} | set(ends)}
    x = Axis("time (s)", 0.0, end)
    drawn = [] if schedule is None else _scheduled(schedule, x)
    drawn += [shadows.panel(one, trace, colours, x, lambda one: thin(one, end)) for one in asked]
    drawn += [_states(one, colours, x) for one in series if one["name"] == "bbr_state"]
    drawn += [_panel(panel, series, colours, ends, x) for panel in panels]
    named = _flow_keys(flows, colours) if schedule is None else _path_keys(flows, schedule)
    return Figure("trace", "", drawn, wide=True, keys=named)


def _worth_drawing(series: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The series without the queues that hardly ever hold anything."""
    longest = max((max(one["v"]) for one in series if one["name"] == "queue"), default=0.0)
    return [one for one in series if one["name"] != "queue" or max(one["v"]) >= _QUEUE_SHARE * longest]


def _end_of(flow: Mapping[str, Any], end: float) -> float:
    """When a flow had its last byte; the end of the trace if it never had."""
    took = flow.get("completion_s")
    return end if took is None else float(flow.get("start_s") or 0.0) + float(took)


def _names(panel: _Panel) -> set[str]:
    return {quantity.name for quantity in panel.quantities}


def _colours(flows: Sequence[Mapping[str, Any]]) -> dict[str, Drawn]:
    """Colour and opacity of each flow, by the name it has in the series."""
    seen: dict[str, int] = {}
    colours = {}
    drawn = keys(list(dict.fromkeys(str(flow["contender"]) for flow in flows)))
    for flow in flows:
        contender = str(flow["contender"])
        earlier = seen.get(contender, 0)
        seen[contender] = earlier + 1
        colours[f"flow {flow['flow']}"] = (look(drawn[contender]).light, max(0.3, 1.0 - 0.3 * earlier))
    return colours


def _flow_keys(flows: Sequence[Mapping[str, Any]], colours: Mapping[str, Drawn]) -> list[Series]:
    labels = {f"flow {flow['flow']}": look(str(flow["contender"])).name for flow in flows}
    several = len(labels) > 1
    return [key(f"{label} ({who})" if several else label, *colours[who]) for who, label in labels.items()]


def key(label: str, colour: str, strength: float = 1.0, dash: str = "-", weight: float = 1.0) -> Series:
    """A line in a legend that stands for several in the panels, or for one of many that look like it."""
    return Series(colour, label, (), Line((), strength=strength, dash=dash, weight=weight))


def _schedule(trace: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The schedule of the only flow, if it used several paths."""
    schedules = trace.get("schedule", ())
    alone = len(trace.get("result", {}).get("flows", ())) == 1
    several = [one for one in schedules if len(set(one["path"])) > 1]
    return several[0] if alone and several else None


def _path_colours(schedule: Mapping[str, Any]) -> dict[str, Drawn]:
    """The colour of each path, by the name it has in the series."""
    flow = f"flow {schedule['flow']}"
    paths = sorted(set(schedule["path"]))
    return {flow if path == 0 else f"{flow} path {path}": (_PATHS[path % len(_PATHS)], 1.0) for path in paths}


def _path_keys(flows: Sequence[Mapping[str, Any]], schedule: Mapping[str, Any]) -> list[Series]:
    contender = look(str(flows[0]["contender"])).name
    paths = sorted(set(schedule["path"]))
    return [key(f"path {path}" if path else f"{contender}, path 0", _PATHS[path % len(_PATHS)]) for path in paths]


def _scheduled(schedule: Mapping[str, Any], x: Axis) -> list[Panel]:
    """A panel a path with each packet by when it was sent and where its data ends.

    Crosses are data that was sent before. Of several streams, the one with the most packets is drawn.
    """
    times = np.asarray(schedule["t_s"], dtype=np.float64)
    ends = (np.asarray(schedule["start"], dtype=np.float64) + np.asarray(schedule["bytes"])) / 1e6
    paths, again = np.asarray(schedule["path"]), np.asarray(schedule["again"], dtype=bool)
    numbers, counts = np.unique(np.asarray(schedule["stream"]), return_counts=True)
    drawn = np.asarray(schedule["stream"]) == numbers[np.argmax(counts)]
    top = 1.05 * float(ends[drawn].max())
    panels = []
    for number, path in enumerate(sorted(set(schedule["path"]))):
        series = []
        for repeated in (False, True):
            chosen = np.flatnonzero((paths == path) & (again == repeated) & drawn)
            chosen = chosen[_distinct(times[chosen], ends[chosen])]
            points = zip(times[chosen].tolist(), ends[chosen].tolist(), strict=True)
            form: Literal["grain", "cross"] = "cross" if repeated else "grain"
            series.append(Series(_PATHS[path % len(_PATHS)], "", [Dot(*point, form=form) for point in points]))
        if number == 0:
            series += [
                Series("quiet", "data of a packet", (), Dot(0, 0, form="grain")),
                Series("quiet", "data sent before", (), Dot(0, 0, form="cross")),
            ]
        panels.append(Panel("", x, Axis(f"Path {path} (MB)", 0.0, top), series, height=0.8))
    return panels


def _distinct(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.intp]:
    """The places of the points that do not fall on others in print."""
    cells = [(of / max(float(of.max(initial=0.0)), 1e-9) * fine).astype(np.int64) for of, fine in ((x, 2000), (y, 600))]
    _, places = np.unique(np.stack(cells), axis=1, return_index=True)
    return np.sort(places)


def _panel(
    panel: _Panel,
    series: Sequence[Mapping[str, Any]],
    colours: Mapping[str, Drawn],
    ends: Mapping[str, float],
    x: Axis,
) -> Panel:
    by_name = {quantity.name: quantity for quantity in panel.quantities}
    # Thresholds last: an initial threshold of "infinity" would flatten every other line, so it is left out.
    members = sorted((one for one in series if one["name"] in by_name), key=lambda one: one["name"] == "ssthresh")
    alone = len(members) == 1
    shown: dict[str, _Quantity] = {}
    drawn: list[Series] = []
    links: list[Series] = []
    top = 0.0
    for one in members:
        quantity, who = by_name[one["name"]], str(one["who"])
        times, values = thin(one, ends.get(who, x.high))
        values = values / panel.divisor
        if quantity.name == "ssthresh":
            values = np.where(values > 4 * top, np.nan, values)
        if np.isnan(values).all():
            continue
        top = max(top, float(np.nanmax(values)))
        shown[quantity.name] = quantity
        colour = colours.get(who) or (_LINK_COLOURS[len(links) % len(_LINK_COLOURS)], 1.0)
        if quantity.name == "held" and alone:
            drawn.append(Series("quiet", "", _spans(times, values)))
            colour = ("ink", 1.0)
        elif who not in colours:
            links.append(key(who, colour[0]))
        points = _points(times, values)
        line = Line(points, steps=True, strength=colour[1], dash=quantity.line, weight=quantity.weight)
        area = len(colours) == 1 and quantity.name == "bytes_in_flight"
        drawn.append(Series(colour[0], "", [_below(points) if area else line]))
    named = [_key(quantity, area=len(colours) == 1) for quantity in shown.values()] if len(by_name) > 1 else []
    if "held" in shown and alone:
        named = [key("data behind missing data", "ink", weight=0.7)]
        named.append(Series("quiet", "head-of-line blocked", (), Outline((), _SHADE)))
    end = end_without_peaks(members, panel.divisor) if panel.title == "Rate" else None
    y = Axis(f"{panel.title} ({panel.unit})", 0.0, 1.05 * top if end is None else end)
    return Panel("", x, y if y.high > 0 else Axis(y.label, 0.0, 1.0), [*drawn, *named, *links])


def _states(one: Mapping[str, Any], colours: Mapping[str, Drawn], x: Axis) -> Panel:
    """The states of a congestion control over time, those that occur."""
    there = sorted({int(value) for value in one["v"]})
    row = {value: float(i) for i, value in enumerate(there)}
    points = [(float(t), row[int(value)]) for t, value in zip(one["t_s"], one["v"], strict=True)]
    line = Line([*points, (x.high, points[-1][1])], steps=True, weight=1.0)
    names = [(row[value], str(one["values"][value])) for value in there]
    y = Axis("State", -0.5, len(there) - 0.5, names=names)
    return Panel("", x, y, [Series(colours.get(str(one["who"]), ("ink", 1.0))[0], "", [line])], height=0.8)


def _points(times: NDArray[np.float64], values: NDArray[np.float64]) -> list[Point]:
    return list(zip(times.tolist(), values.tolist(), strict=True))


def _below(points: Sequence[Point]) -> Outline:
    """The area below a line that is level between its points."""
    corners = [points[0]]
    for point in points[1:]:
        corners += [(point[0], corners[-1][1]), point]
    return Outline([(corners[0][0], 0.0), *corners, (corners[-1][0], 0.0)], _PALE)


def _spans(times: NDArray[np.float64], values: NDArray[np.float64]) -> list[AnyMark]:
    """The time in which data is held: the application waits (head-of-line blocking)."""
    held = np.flatnonzero(values[:-1] > 0)
    top = 1.05 * float(np.nanmax(values))
    return [Rect((float(times[i]), float(times[i + 1])), (0.0, top), _SHADE) for i in held]


def _key(quantity: _Quantity, *, area: bool) -> Series:
    if area and quantity.name == "bytes_in_flight":
        return Series("quiet", quantity.label, (), Outline((), 2 * _PALE))
    return key(quantity.label, "quiet", dash=quantity.line, weight=quantity.weight)


def thin(one: Mapping[str, Any], end: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The series held until the end, thinned so that no pixel column loses its first, last, least or largest value."""
    times = np.asarray(one["t_s"], dtype=np.float64)
    values = np.asarray([np.nan if v is None else v for v in one["v"]], dtype=np.float64)
    if times[-1] < end:
        times, values = np.append(times, end), np.append(values, values[-1])
    if len(times) <= 2 * _COLUMNS:
        return times, values
    column = np.minimum((times / times[-1] * _COLUMNS).astype(np.int64), _COLUMNS - 1)
    starts = np.flatnonzero(np.diff(column, prepend=-1))
    keep = {0, len(times) - 1}
    for begin, stop in zip(starts, np.append(starts[1:], len(times)), strict=True):
        part = values[begin:stop]
        keep |= {int(begin), int(stop) - 1}
        if not np.isnan(part).all():
            keep |= {int(begin + np.nanargmin(part)), int(begin + np.nanargmax(part))}
    index = np.array(sorted(keep))
    return times[index], values[index]
