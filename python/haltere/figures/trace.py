"""One run on one time axis: which path carried what, windows, RTT, rates, the receive buffer and the queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from haltere.figures import shadows, style
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
        ),
    ),
    _Panel("Held", "kB", 1e3, (_Quantity("held", "data held behind missing data", "-", 0.7),)),
    _Panel("RTT", "ms", 1e-3, (_Quantity("rtt", "RTT sample", "-", 0.7),)),
    _Panel(
        "Rate",
        "Mbit/s",
        1e6,
        (_Quantity("delivery_rate", "delivery rate", "-", 0.7), _Quantity("pacing_rate", "pacing rate", "--", 0.9)),
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
_DOTS = 20_000
"""Packets beyond which their marks are drawn as an image."""
_QUEUE_SHARE = 0.1
"""Queues that never hold this share of what the longest one holds are not drawn: access links seldom matter."""


def trace_figure(trace: Mapping[str, Any], out: Path) -> list[Path]:
    """Draw a trace as `haltere._core.trace` returns it (parsed from JSON) and return the paths written.

    `out` ending in .svg, .pdf or .png is written in that format; any other `out` is a stem, to which .svg and .pdf are
    added. Every flow keeps its contender's colour; further flows of the same contender are drawn paler. If there is one
    flow and it has several paths, each path has a colour, and a panel that shows which data it carried when;
    the panel of held data is shaded while the receiver waits for missing data. Panels without a series are left out.
    Raises `ValueError` if the trace holds no series at all.
    """
    everything = [one for one in trace.get("series", ()) if len(one["t_s"]) > 0]
    series = _worth_drawing([one for one in everything if not shadows.is_asked(str(one["who"]))])
    asked = shadows.asked(everything)
    panels = [panel for panel in _PANELS if any(one["name"] in _names(panel) for one in series)]
    if not panels:
        message = "the trace holds no series: nothing to draw"
        raise ValueError(message)
    result = trace.get("result", {})
    colours = _colours(result.get("flows", ()))
    schedule = _schedule(trace)
    if schedule is not None:
        colours |= _path_colours(schedule)
    end = max(float(one["t_s"][-1]) for one in series)
    ends = {f"flow {flow['flow']}": min(end, _end_of(flow, end)) for flow in result.get("flows", ())}
    ends = {who: ends.get(" ".join(who.split()[:2]), end) for who in {str(one["who"]) for one in series} | set(ends)}
    with style.paper():
        first = 0 if schedule is None else len(set(schedule["path"]))
        count = first + len(asked) + len(panels)
        heights = [0.8] * first + [1.0] * (len(asked) + len(panels))
        canvas = Figure(figsize=(style.PAGE_IN, 0.45 + 1.35 * sum(heights)))
        rows = canvas.subplots(count, 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
        if schedule is not None:
            _draw_schedule(list(rows[:first]), schedule)
        for axes, compared in zip(rows[first:], asked, strict=False):
            shadows.draw(axes, compared, trace, colours, thin=thin, end=end)
        for axes, panel in zip(rows[first + len(asked) :], panels, strict=True):
            _draw_panel(axes, panel, series, colours, ends, end)
        canvas.align_ylabels()
        rows[-1].set_xlabel("time (s)")
        rows[-1].set_xlim(0, end)
        named = _legend(result, colours) if schedule is None else _path_legend(result, schedule)
        handles = [Line2D([], [], color=colour, label=label) for label, colour in named]
        style.legend(canvas, handles, place="outside upper left")
        if out.suffix in (".svg", ".pdf", ".png"):
            return style.save(canvas, out.with_suffix(""), (out.suffix[1:],))
        return style.save(canvas, out)


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


def _colours(flows: Sequence[Mapping[str, Any]]) -> dict[str, tuple[str, float]]:
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


def _legend(result: Mapping[str, Any], colours: Mapping[str, tuple[str, float]]) -> list[tuple[str, tuple[str, float]]]:
    flows = result.get("flows", ())
    labels = {f"flow {flow['flow']}": look(str(flow["contender"])).name for flow in flows}
    several = len(labels) > 1
    return [(f"{label} ({who})" if several else label, colours[who]) for who, label in labels.items()]


def _schedule(trace: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The schedule of the only flow, if it used several paths."""
    schedules = trace.get("schedule", ())
    alone = len(trace.get("result", {}).get("flows", ())) == 1
    several = [one for one in schedules if len(set(one["path"])) > 1]
    return several[0] if alone and several else None


def _path_colours(schedule: Mapping[str, Any]) -> dict[str, tuple[str, float]]:
    """The colour of each path, by the name it has in the series."""
    flow = f"flow {schedule['flow']}"
    paths = sorted(set(schedule["path"]))
    return {flow if path == 0 else f"{flow} path {path}": (_PATHS[path % len(_PATHS)], 1.0) for path in paths}


def _path_legend(result: Mapping[str, Any], schedule: Mapping[str, Any]) -> list[tuple[str, tuple[str, float]]]:
    contender = look(str(result["flows"][0]["contender"])).name
    paths = sorted(set(schedule["path"]))
    return [
        (f"{contender}, path {path}" if path == 0 else f"path {path}", (_PATHS[path % len(_PATHS)], 1.0))
        for path in paths
    ]


def _draw_schedule(rows: Sequence[Axes], schedule: Mapping[str, Any]) -> None:
    """Draw each packet of each path by when it was sent and where its data ends.

    Crosses are data that was sent before. Of several streams, the one with the most packets is drawn.
    """
    times = np.asarray(schedule["t_s"], dtype=np.float64)
    ends = (np.asarray(schedule["start"], dtype=np.float64) + np.asarray(schedule["bytes"])) / 1e6
    paths, again = np.asarray(schedule["path"]), np.asarray(schedule["again"], dtype=bool)
    numbers, counts = np.unique(np.asarray(schedule["stream"]), return_counts=True)
    drawn = np.asarray(schedule["stream"]) == numbers[np.argmax(counts)]
    for axes, path in zip(rows, sorted(set(schedule["path"])), strict=True):
        colour = _PATHS[path % len(_PATHS)]
        for repeated, marker, size in ((False, ".", 1.8), (True, "x", 2.6)):
            chosen = np.flatnonzero((paths == path) & (again == repeated) & drawn)
            chosen = chosen[_distinct(times[chosen], ends[chosen])]
            axes.plot(
                times[chosen],
                ends[chosen],
                marker,
                color=colour,
                markersize=size,
                markeredgewidth=0.5,
                rasterized=len(chosen) > _DOTS,
            )
        axes.set_ylabel(f"Path {path} (MB)")
        axes.set_ylim(0, 1.05 * float(ends[drawn].max()))
        axes.grid(visible=True, axis="both")
    keys = [
        Line2D([], [], color=style.QUIET, marker=".", markersize=3, linestyle="none", label="data of a packet"),
        Line2D([], [], color=style.QUIET, marker="x", markersize=3, linestyle="none", label="data sent before"),
    ]
    rows[0].legend(handles=keys, loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0, ncols=2)


def _distinct(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.intp]:
    """The places of the points that do not fall on others in print."""
    cells = [(of / max(float(of.max(initial=0.0)), 1e-9) * fine).astype(np.int64) for of, fine in ((x, 2000), (y, 600))]
    _, places = np.unique(np.stack(cells), axis=1, return_index=True)
    return np.sort(places)


def _shade(axes: Axes, times: NDArray[np.float64], values: NDArray[np.float64]) -> None:
    """Shade the time in which data is held: the application waits (head-of-line blocking)."""
    axes.fill_between(
        times,
        0,
        1,
        where=values > 0,
        step="post",
        transform=axes.get_xaxis_transform(),
        color=style.QUIET,
        alpha=0.15,
        linewidth=0,
    )


def _draw_panel(
    axes: Axes,
    panel: _Panel,
    series: Sequence[Mapping[str, Any]],
    colours: Mapping[str, tuple[str, float]],
    ends: Mapping[str, float],
    end: float,
) -> None:
    by_name = {quantity.name: quantity for quantity in panel.quantities}
    # Thresholds last: an initial threshold of "infinity" would flatten every other line, so it is left out.
    members = sorted((one for one in series if one["name"] in by_name), key=lambda one: one["name"] == "ssthresh")
    shown: dict[str, _Quantity] = {}
    links: list[Line2D] = []
    top = 0.0
    for one in members:
        quantity = by_name[one["name"]]
        times, values = thin(one, ends.get(str(one["who"]), end))
        values = values / panel.divisor
        if quantity.name == "ssthresh":
            values = np.where(values > 4 * top, np.nan, values)
        if np.isnan(values).all():
            continue
        top = max(top, float(np.nanmax(values)))
        shown[quantity.name] = quantity
        if quantity.name == "held" and _is_alone(members):
            _shade(axes, times, values)
        colour = colours.get(str(one["who"])) or (_LINK_COLOURS[len(links) % len(_LINK_COLOURS)], 1.0)
        if quantity.name == "held" and _is_alone(members):
            colour = (style.INK, 1.0)
        elif one["who"] not in colours:
            links.append(Line2D([], [], color=colour, label=str(one["who"])))
        if quantity.name == "bytes_in_flight" and len(colours) == 1:
            axes.fill_between(times, values, step="post", color=colour[0], alpha=0.18 * colour[1], linewidth=0)
        else:
            axes.plot(times, values, quantity.line, drawstyle="steps-post", color=colour, linewidth=quantity.weight)
    axes.set_ylabel(f"{panel.title} ({panel.unit})")
    _limit(axes, members, panel)
    axes.grid(visible=True, axis="both")
    keys: list[Artist] = (
        [_key(quantity, filled=len(colours) == 1) for quantity in shown.values()] if len(panel.quantities) > 1 else []
    )
    keys += links
    if "held" in shown and _is_alone(members):
        shade = Patch(color=style.QUIET, alpha=0.15, linewidth=0, label="head-of-line blocked")
        keys += [Line2D([], [], color=style.INK, linewidth=0.7, label="data behind missing data"), shade]
    if keys:
        axes.legend(handles=keys, loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0, ncols=len(keys))


def _limit(axes: Axes, members: Sequence[Mapping[str, Any]], panel: _Panel) -> None:
    """Begin the panel at 0, and end one of rates where short peaks would flatten all else."""
    axes.set_ylim(bottom=0)
    end = end_without_peaks(members, panel.divisor) if panel.title == "Rate" else None
    if end is not None:
        axes.set_ylim(top=end)


def _is_alone(members: Sequence[Mapping[str, Any]]) -> bool:
    return len(members) == 1


def _key(quantity: _Quantity, *, filled: bool) -> Line2D:
    wide = filled and quantity.name == "bytes_in_flight"
    return Line2D(
        [],
        [],
        color=style.QUIET,
        linestyle=quantity.line,
        linewidth=5.0 if wide else quantity.weight,
        alpha=0.35 if wide else 1.0,
        label=quantity.label,
    )


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
