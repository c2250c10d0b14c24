"""Figures for the report: SVG inside the page, coloured by the page's style sheet, each mark with a text of its own.

Drawn by hand rather than by a charting library: a page of nineteen figures stays below two hundred kilobytes, follows
the reader's light or dark setting without being drawn again, and every mark carries its numbers as a title, which
browsers show and screen readers read even without the page's script.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape

from haltere.figures.data import BarFigure, Cell, OverviewFigure, Panel, Series, crowded, levels_text
from haltere.metrics import Metric, quantities
from haltere.metrics.contenders import css_name, look
from haltere.metrics.tables import standing
from haltere.metrics.text import decimals, fixed, number, strength
from haltere.stats import Interval

Scale = Callable[[float], float]

_WIDTH, _HEIGHT = 320, 200
_LEFT, _RIGHT, _TOP, _BOTTOM = 42, 4, 10, 40
_SLANTED = 34
"""How much higher a figure with slanted labels is."""


def bars_svg(figure: BarFigure) -> str:
    """The SVG element of a figure of grouped bars."""
    ticks = axis_ticks(figure.spec.baseline, figure.metric.ceiling or figure.top)
    top = ticks[-1]

    def y(value: float) -> float:
        share = (value - figure.spec.baseline) / (top - figure.spec.baseline)
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _BOTTOM - _TOP)

    extra = _SLANTED if crowded(figure.ticks()[0]) else 0
    parts = [open_plot(_WIDTH, _HEIGHT + extra, f"{figure.metric.label}: {figure.title}, by {figure.x_label}")]
    places = next(p for p in range(9) if all(round(tick, p) == tick for tick in ticks))
    for tick in ticks:
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>')
        parts.append(
            f'<text class="tick" x="{_LEFT - 6}" y="{y(tick) + 3.5:.1f}" text-anchor="end">{fixed(tick, places)}</text>'
        )
    slot = (_WIDTH - _LEFT - _RIGHT) / len(figure.x_levels)
    width = min(44.0, slot * 0.8 / len(figure.series))
    labels, x_label = figure.ticks()
    slanted = crowded(labels)
    for i, level in enumerate(figure.x_levels):
        centre = _LEFT + slot * (i + 0.5)
        at = f'x="{centre:.1f}" y="{_HEIGHT - _BOTTOM + (12 if slanted else 16)}"'
        how = f'text-anchor="end" transform="rotate(-35 {centre:.1f} {_HEIGHT - _BOTTOM + 12})"'
        how = how if slanted else 'text-anchor="middle"'
        parts.append(f'<text class="tick" {at} {how}>{escape(labels[i])}</text>')
        for j, series in enumerate(figure.series):
            bar = series.bars[i]
            if bar is not None:
                left = centre + (j - len(figure.series) / 2) * width
                parts.append(_bar(figure, series, level, bar, left, width, y))
    foot = y(figure.spec.baseline)
    parts.append(f'<line class="axis" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{foot:.1f}" y2="{foot:.1f}"/>')
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(
        f'<text class="label" x="{middle}" y="{_HEIGHT + extra - 6}" text-anchor="middle">{escape(x_label)}</text>'
    )
    parts.append("</svg>")
    return "".join(parts)


def _bar(figure: BarFigure, series: Series, level: str, bar: Interval, left: float, width: float, y: Scale) -> str:
    x, wide = left + 1, width - 2
    head, foot = y(bar.value), y(figure.spec.baseline)
    shape = f'x="{x:.1f}" y="{head:.1f}" width="{wide:.1f}" height="{max(0.0, foot - head):.1f}"'
    answer = (
        f"{series.label}, {figure.x_label} {quantities.text(level, figure.spec.x)}\n{value_text(bar, figure.metric)}"
    )
    parts = [f'<g class="mark" style="--c:var(--c-{css_name(series.contender)})"><title>{escape(answer)}</title>']
    parts.append(f'<rect class="fill" {shape}/>')
    hatch = look(series.contender).hatch
    if hatch:
        parts.append(f'<rect fill="url(#{hatch_name(hatch)})" {shape}/>')
    ends = figure.ends(bar)
    if ends is not None:
        middle, low, high = x + wide / 2, y(ends[0]), y(ends[1])
        parts.append(
            f'<path class="whisker" d="M{middle:.1f} {low:.1f}V{high:.1f}'
            f'M{middle - 4:.1f} {low:.1f}h8M{middle - 4:.1f} {high:.1f}h8"/>'
        )
    return "".join([*parts, "</g>"])


def panel_svg(figure: OverviewFigure, panel: Panel) -> str:
    """The SVG element of one map of an overview."""
    row_labels = [levels_text(figure.spec.rows, row) for row in figure.rows]
    left, top, right = room_for(row_labels), 34 if len(figure.spec.columns) > 1 else 16, 2
    wide, high, gap = 35.0, 28.0, 4.0
    outer = figure.groups() if len(figure.spec.columns) > 1 else [("", 0, len(figure.columns))]
    offsets = [
        left + x * wide + group * gap for group, (_, start, stop) in enumerate(outer) for x in range(start, stop)
    ]
    width = offsets[-1] + wide + right
    height = top + high * len(figure.rows) + 4
    parts = [open_plot(width, height, f"{figure.title}: {panel.title}" if panel.title else figure.title)]
    for label, start, stop in outer:
        middle = (offsets[start] + offsets[stop - 1] + wide) / 2
        if label:
            parts.append(f'<text class="label" x="{middle:.1f}" y="11" text-anchor="middle">{escape(label)}</text>')
    for offset, label in zip(offsets, map(escape, figure.inner()), strict=True):
        parts.append(
            f'<text class="tick" x="{offset + wide / 2:.1f}" y="{top - 6}" text-anchor="middle">{label}</text>'
        )
    for i, (label, cells) in enumerate(zip(row_labels, panel.cells, strict=True)):
        y = top + i * high
        at = f'x="{left - 6:g}" y="{y + high / 2 + 3.5:.1f}"'
        parts.append(f'<text class="tick" {at} text-anchor="end">{escape(label)}</text>')
        parts += [_cell(figure, cell, offset, y, wide, high) for offset, cell in zip(offsets, cells, strict=True)]
    parts.append("</svg>")
    return "".join(parts)


def _cell(figure: OverviewFigure, cell: Cell, x: float, y: float, wide: float, high: float) -> str:
    middle = f'x="{x + wide / 2:.1f}" y="{y + high / 2 + 4:.1f}" text-anchor="middle"'
    place = ", ".join(quantities.text(level, factor) for factor, level in cell.levels.items())
    if cell.found is None:
        answer = f"{place}\nno completed pair of runs"
        return f'<g class="mark none"><title>{escape(answer)}</title><text {middle}>–</text></g>'
    side, opacity = strength(cell.found.value, figure.metric, clear=cell.standing != "unclear")
    colour = css_name(figure.colours[side != "of"])
    answer = f"{place}\n{figure.title}: {comparison_text(cell.found)}\n{_standing_text(figure, cell)}"
    return (
        f'<g class="mark {cell.standing}" style="--c:var(--c-{colour})"><title>{escape(answer)}</title>'
        f'<rect class="fill" x="{x + 0.5:.1f}" y="{y + 0.5:.1f}" width="{wide - 1:.1f}" height="{high - 1:.1f}" '
        f'fill-opacity="{opacity:.2f}"/><text {middle}>{number(cell.found.value, figure.metric.comparison)}</text></g>'
    )


def _standing_text(figure: OverviewFigure, cell: Cell) -> str:
    side = standing(cell.found, figure.metric)
    if side in ("of", "to"):
        return f"{figure.ahead(figure.spec.of if side == 'of' else figure.spec.to)}"
    return "no practical difference" if side == "alike" else "the runs cannot tell"


def value_text(found: Interval, metric: Metric) -> str:
    """A mean with its interval and n, as the text of a mark: `4.21 s, 95 % interval 4.05 to 4.38, n = 10`."""
    places = decimals(found.value)
    unit = f" {metric.unit}" if metric.unit else ""
    value = f"{fixed(found.value, places)}{unit}"
    if found.low is None or found.high is None:
        return f"{value}, n = {found.n}"
    if found.exact:
        return f"{value}, the same in all {found.n} replications"
    return f"{value}, 95 % interval {fixed(found.low, places)} to {fixed(found.high, places)}, n = {found.n}"


def comparison_text(found: Interval) -> str:
    """A ratio or difference with its interval and n, as the text of a cell."""
    value = fixed(found.value, 3)
    if found.low is None or found.high is None:
        return f"{value}, n = {found.n}"
    if found.exact:
        return f"{value}, the same in all {found.n} replications"
    return f"{value}, 95 % interval {fixed(found.low, 3)} to {fixed(found.high, 3)}, n = {found.n}"


def axis_ticks(bottom: float, top: float) -> list[float]:
    """About five round values from `bottom` up, the last at or just above `top`."""
    span = top - bottom
    if span <= 0:
        return [bottom, bottom + 1.0]
    power = 10.0 ** math.floor(math.log10(span / 4))
    step = next(power * m for m in (1, 2, 2.5, 5, 10) if power * m * 5 >= span)
    count = math.ceil(span / step - 1e-9)
    return [round(bottom + i * step, 8) for i in range(count + 1)]


def hatch_name(hatch: str) -> str:
    """The id of the page's pattern for a hatch."""
    return (
        "hatch-"
        + {
            "/": "slash",
            "\\": "backslash",
            ".": "dots",
            "x": "cross",
            "|": "bars",
            "-": "rules",
        }[hatch[0]]
    )


def swatch(key: str) -> str:
    """The mark of a series in a legend, with its colour and its hatch."""
    hatch = look(key).hatch
    over = f'<rect width="14" height="14" rx="2" fill="url(#{hatch_name(hatch)})"/>' if hatch else ""
    return (
        f'<svg class="swatch" width="14" height="14" aria-hidden="true" style="--c:var(--c-{css_name(key)})">'
        f'<rect width="14" height="14" rx="2" class="fill"/>{over}</svg>'
    )


def _pattern(name: str, path: str, turn: int = 0) -> str:
    return (
        f'<pattern id="hatch-{name}" class="hatch" width="6" height="6" patternUnits="userSpaceOnUse" '
        f'patternTransform="rotate({turn})"><path d="{path}"/></pattern>'
    )


HATCHES = (
    '<svg width="0" height="0" style="position:absolute" aria-hidden="true" focusable="false"><defs>'
    + _pattern("slash", "M0 0V6", 45)
    + _pattern("backslash", "M0 0V6", -45)
    + _pattern("cross", "M0 0V6M0 0H6", 45)
    + _pattern("dots", "M2 3h2")
    + _pattern("bars", "M3 0V6")
    + _pattern("rules", "M0 3H6")
    + "</defs></svg>"
)
"""The patterns that the figures of a page share; stands once in the page."""


def room_for(labels: Sequence[str]) -> float:
    """The width that the longest row label of a map needs, with its gap to the map, in units of the drawing."""
    return 6.5 * max((len(label) for label in labels), default=0) + 6.0


def open_plot(width: float, height: float, name: str) -> str:
    """The opening tag of a figure of this size, which is shown at half as much again at most."""
    # Wider than so, text and cells of a small figure would be giants beside the page's own.
    return (
        f'<svg class="plot" style="max-width:{1.5 * width:g}px" viewBox="0 0 {width:g} {height:g}" role="group" '
        f'aria-label="{escape(name)}" tabindex="0">'
    )
