"""The requests of congestion controls in the shadow of a flow's, beside the requests of the flow's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from haltere.figures import style
from haltere.figures.peaks import end_without_peaks

_COLOURS = ("#009E73", "#CC79A7", "#0072B2", "#D55E00", "#E69F00", "#56B4E9", "#666666", "#000000")
"""The colours of Okabe and Ito; a shadow gets one that no flow has."""
PANELS = (("cwnd", "Asked window (kB)", 1e3), ("pacing_rate", "Asked rate (Mbit/s)", 1e6))
"""The series of a shadow that are drawn, their labels and divisors."""

_MOST = 4.0
"""How many times the flow's own largest window a panel shows: losses may never end the slow start of a shadow."""

Thin = Callable[[Mapping[str, Any], float], tuple[NDArray[np.float64], NDArray[np.float64]]]


def is_asked(who: str) -> bool:
    """Whether a series is what a congestion control asks for where shadows are recorded."""
    return "shadow" in who.split() or who.endswith(" controller")


def asked(series: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, float, list[Mapping[str, Any]]]]:
    """Return the panels that there is something to draw in: name, label, divisor and series."""
    members = [one for one in series if is_asked(str(one["who"]))]
    panels = [(name, label, by, [one for one in members if one["name"] == name]) for name, label, by in PANELS]
    return [panel for panel in panels if any("shadow" in str(one["who"]).split() for one in panel[3])]


def draw(
    axes: Axes,
    panel: tuple[str, str, float, list[Mapping[str, Any]]],
    trace: Mapping[str, Any],
    colours: Mapping[str, tuple[str, float]],
    *,
    thin: Thin,
    end: float,
) -> None:
    """Draw one panel; a dotted line marks where each shadow parts."""
    name_of, label, divisor, members = panel
    shadows = {_who(one): one for one in trace.get("shadows", ())}
    used = {colour for colour, _ in colours.values()}
    free = [colour for colour in _COLOURS if colour not in used]
    handles, own = [], 0.0
    line: Literal["-", "--"]
    for one in members:
        who = str(one["who"])
        times, values = thin(one, end)
        if who in shadows:
            colour = free[(int(shadows[who]["shadow"]) - 1) % len(free)]
            name, line, opacity = shadows[who]["contender"], "--", 1.0
            parted = shadows[who]["parted"]
            if parted is not None:
                axes.axvline(parted["t_s"], color=colour, linestyle=":", linewidth=0.8)
        else:
            of = who.removesuffix(" controller")
            colour, opacity = colours.get(of, (style.INK, 1.0))
            name, line = "the flow's own", "-"
            own = max(own, float(np.nanmax(values)))
        axes.plot(times, values / divisor, line, drawstyle="steps-post", color=colour, alpha=opacity, linewidth=0.9)
        several = len({str(one["who"]).split(" shadow ")[0] for one in members if "shadow" in str(one["who"])}) > 1
        handles.append(Line2D([], [], color=colour, linestyle=line, label=f"{name} ({who})" if several else name))
    axes.set_ylabel(label)
    axes.set_ylim(bottom=0)
    if name_of == "cwnd" and 0 < _MOST * own / divisor < axes.get_ylim()[1]:
        axes.set_ylim(top=_MOST * own / divisor)
    ends = end_without_peaks(members, divisor) if name_of == "pacing_rate" else None
    if ends is not None:
        axes.set_ylim(top=ends)
    axes.grid(visible=True, axis="both")
    axes.legend(handles=handles, loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0, ncols=len(handles))


def _who(shadow: Mapping[str, Any]) -> str:
    path = f" path {shadow['path']}" if shadow["path"] else ""
    return f"flow {shadow['flow']}{path} shadow {shadow['shadow']}"
