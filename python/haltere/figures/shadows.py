"""What congestion controls in the shadow of a flow's ask for, beside what the flow's asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from haltere.figures.parts import Axis, Line, Panel, Series
from haltere.figures.peaks import end_without_peaks

_COLOURS = ("#009E73", "#CC79A7", "#0072B2", "#D55E00", "#E69F00", "#56B4E9", "#666666", "#000000")
"""Those of Okabe and Ito; a shadow gets one that no flow has."""
PANELS = (("cwnd", "Asked window (kB)", 1e3), ("pacing_rate", "Asked rate (Mbit/s)", 1e6))
"""The series of a shadow that are drawn, their labels and divisors."""

_MOST = 4.0
"""How many times the flow's own largest window a panel shows: losses may never end the slow start of a shadow."""

Thin = Callable[[Mapping[str, Any]], tuple[NDArray[np.float64], NDArray[np.float64]]]


def is_asked(who: str) -> bool:
    """Whether a series is what a congestion control asks for where shadows are recorded."""
    return "shadow" in who.split() or who.endswith(" controller")


def asked(series: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, float, list[Mapping[str, Any]]]]:
    """Return the panels that there is something to draw in: name, label, divisor and series."""
    members = [one for one in series if is_asked(str(one["who"]))]
    panels = [(name, label, by, [one for one in members if one["name"] == name]) for name, label, by in PANELS]
    return [panel for panel in panels if any("shadow" in str(one["who"]).split() for one in panel[3])]


def panel(
    asked: tuple[str, str, float, list[Mapping[str, Any]]],
    trace: Mapping[str, Any],
    colours: Mapping[str, tuple[str, float]],
    x: Axis,
    thin: Thin,
) -> Panel:
    """One panel; a dotted line marks where each shadow parts."""
    name_of, label, divisor, members = asked
    shadows = {_who(one): one for one in trace.get("shadows", ())}
    used = {colour for colour, _ in colours.values()}
    free = [colour for colour in _COLOURS if colour not in used]
    several = len({str(one["who"]).split(" shadow ")[0] for one in members if "shadow" in str(one["who"])}) > 1
    series, parted = [], []
    own = top = 0.0
    for one in members:
        who = str(one["who"])
        times, values = thin(one)
        top = max(top, float(np.nanmax(values)) / divisor)
        if who in shadows:
            colour, strength = free[(int(shadows[who]["shadow"]) - 1) % len(free)], 1.0
            name, dash = shadows[who]["contender"], "--"
            if shadows[who]["parted"] is not None:
                parted.append((colour, float(shadows[who]["parted"]["t_s"])))
        else:
            colour, strength = colours.get(who.removesuffix(" controller"), ("ink", 1.0))
            name, dash = "the flow's own", "-"
            own = max(own, float(np.nanmax(values)) / divisor)
        points = list(zip(times.tolist(), (values / divisor).tolist(), strict=True))
        line = Line(points, steps=True, strength=strength, dash=dash, weight=0.9)
        series.append(Series(colour, f"{name} ({who})" if several else name, [line]))
    top *= 1.05
    if name_of == "cwnd" and own > 0:
        top = min(top, _MOST * own)
    end = end_without_peaks(members, divisor) if name_of == "pacing_rate" else None
    top = end or top or 1.0
    series += [Series(colour, "", [Line([(at, 0.0), (at, top)], dash=":", weight=0.8)]) for colour, at in parted]
    return Panel("", x, Axis(label, 0.0, top), series)


def _who(shadow: Mapping[str, Any]) -> str:
    path = f" path {shadow['path']}" if shadow["path"] else ""
    return f"flow {shadow['flow']}{path} shadow {shadow['shadow']}"
