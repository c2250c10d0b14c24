"""The heat maps of an explanation over a study, and a page with them."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path

from haltere.explanation.maps import Map
from haltere.explanation.page import store
from haltere.figures import on_screen
from haltere.figures.pages import page
from haltere.figures.parts import Axis, Figure, Panel, Rect, Series
from haltere.metrics import quantities

STEM = "map"
PANELS = 9
"""The most parts that have a panel: those that move the metric most."""


def effect_map(found: Map) -> Figure:
    """Return the heat maps: the first half of the factors down, the others across; red adds, blue saves."""
    names = list(found.factors)
    down, across = names[: len(names) // 2], names[len(names) // 2 :]
    rows, columns = (list(itertools.product(*(found.factors[name] for name in side))) for side in (down, across))
    place = {tuple(cell[name] for name in (*down, *across)): number for number, cell in enumerate(found.cells)}
    parts = found.ranked[:PANELS]
    means = {(part, key): found.mean(part, at) for part in parts for key, at in place.items()}
    full = max(map(abs, means.values()), default=0.0) or 1.0
    x, y = _axis(across, columns), _axis(down, rows)
    panels = []
    for part in parts:
        marks: dict[str, list[Rect]] = {"up": [], "down": []}
        for (i, row), (j, column) in itertools.product(enumerate(rows), enumerate(columns)):
            mean = means.get((part, (*row, *column)))
            if mean is not None:
                text = f"{math.exp(mean):.2f}" if found.measure.ratio else f"{mean:+.2g}"
                said = ", ".join(_said(side, levels) for side, levels in ((down, row), (across, column)) if side)
                strength = 0.75 * min(1.0, abs(mean) / full) ** 0.7
                cell = Rect((j - 0.5, j + 0.5), (i - 0.5, i + 0.5), strength, [text], place=said, value=text)
                marks["up" if mean > 0 else "down"].append(cell)
        drawn = [Series(look, "", rects) for look, rects in marks.items()]
        panels.append(Panel(found.parts[part].name, x, replace(y, low=y.high, high=y.low), drawn))
    what = "factor on" if found.measure.ratio else "difference in"
    title = f"{found.a} → {found.b}: {what} {found.measure.spoken}, {found.study}"
    return Figure("map", title, panels, cell=(30.0, 20.0))


def _axis(factors: list[str], places: list[tuple[str, ...]]) -> Axis:
    names = [(float(at), _said(factors, levels)) for at, levels in enumerate(places)]
    return Axis(" · ".join(factors), -0.5, len(places) - 0.5, names=names, listed=True)


def _said(names: list[str], levels: tuple[str, ...]) -> str:
    return " · ".join(quantities.text(level, name) for name, level in zip(names, levels, strict=True))


def write(found: Map, folder: Path) -> list[Path]:
    """Write the heat maps (SVG, PDF), the page (HTML) and the numbers (JSON) into a folder; the paths written."""
    figure = effect_map(found)
    return store(folder / STEM, figure, html(found, figure), found.data())


def html(found: Map, figure: Figure) -> str:
    """Return the page: the answer, the heat maps, the effect of each part at each level, and what the numbers mean."""
    heads = [("over all", found.pooled())]
    heads += [
        (f"{name} {quantities.text(level, name)}", found.pooled({name: level}))
        for name, levels in found.factors.items()
        for level in levels
    ]
    answer = [found.answer[:1].upper() + found.answer[1:]]
    return page("map.html.j2", found=found, answer=answer, figure=figure, svgs=on_screen.svgs(figure), columns=heads)
