"""The waterfall of an explanation, the heat maps of one over a study, and a page with all of each."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from pathlib import Path

from haltere import core
from haltere.explanation.answer import Explanation, factor_text
from haltere.explanation.equals import ABOUT
from haltere.explanation.maps import Map
from haltere.figures import on_paper, on_screen
from haltere.figures.pages import page
from haltere.figures.parts import Axis, Figure, Panel, Rect, Series
from haltere.figures.waterfall import Step, plain
from haltere.figures.waterfall import waterfall as drawn
from haltere.files import write_whole
from haltere.metrics import quantities
from haltere.when.changes import transport_of

EXPLANATION = "explanation"
WIDEST = 44
"""Labels of bars have so many letters at most; longer ones are the part's name alone."""


def waterfall(found: Explanation) -> Figure:
    """Return the waterfall of an explanation: its parts from the largest on, and those that change nothing left out."""
    ratio = found.measure.ratio
    level, steps = found.levels[0], []
    for part, effect in found.ranked:
        if effect.nothing:
            continue
        by = effect.interval.value
        after = level * math.exp(by) if ratio else level + by
        text = f"×{factor_text(math.exp(by))}" if ratio else f"{'+' if by > 0 else ''}{plain(by)}"
        changes = f"{part.name}: {part.before} → {part.after}"
        if part.name == "handshake" or len(changes) > WIDEST:
            changes = part.name
        steps.append(Step(changes, text, level, after, effect.real is True))
        level = after
    unit = f" ({found.measure.unit})"
    label = found.measure.label
    return drawn(
        found.conditions if len(found.conditions) < 70 else "",
        f"{label}{unit}{', logarithmic' if ratio else ''}",
        (found.a, found.levels[0]),
        (found.b, found.levels[1]),
        steps,
        log=ratio,
    )


def write(found: Explanation, folder: Path) -> list[Path]:
    """Write the figure (SVG, PDF), the page (HTML) and the numbers (JSON) into a folder; the paths written."""
    figure = waterfall(found)
    return store(folder / EXPLANATION, figure, html(found, figure), found.data())


def store(stem: Path, figure: Figure, text: str, numbers: object) -> list[Path]:
    """Write a figure, a page and its numbers into files with the endings of their kinds; the paths written."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    written = on_paper.draw(figure, stem)
    for ending, content in ((".html", text), (".json", json.dumps(numbers, indent=1, allow_nan=False) + "\n")):
        path = stem.with_name(stem.name + ending)
        write_whole(path, content)
        written.append(path)
    return written


def html(found: Explanation, figure: Figure) -> str:
    """Return the page: the answer, the waterfall, the table, the pairs that interact, and what the numbers mean."""
    answer = [found.answer, *([f"{found.rest[:1].upper()}{found.rest[1:]}."] if found.rest else [])]
    about = {**_summaries(found), **ABOUT}
    return page("explanation.html.j2", found=found, answer=answer, about=about, svgs=on_screen.svgs(figure))


def _summaries(found: Explanation) -> dict[str, str]:
    """Return what each switch of both contenders is, as a sentence; those of the second go first."""
    about: dict[str, str] = {}
    for contender in (found.b, found.a):
        transport = transport_of(contender)
        for one in core.algorithms()["switches"]:
            if one["transport"] in (transport, transport.removeprefix("mp")):
                text = str(one["summary"])
                about.setdefault(str(one["name"]), f"{text[:1].upper()}{text[1:]}.")
    return about


MAP = "map"
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
                said = ", ".join(map(quantities.named, (*row, *column), (*down, *across)))
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


def write_map(found: Map, folder: Path) -> list[Path]:
    """Write the heat maps (SVG, PDF), the page (HTML) and the numbers (JSON) into a folder; the paths written."""
    figure = effect_map(found)
    return store(folder / MAP, figure, map_html(found, figure), found.data())


def map_html(found: Map, figure: Figure) -> str:
    """Return the page: the answer, the heat maps, the effect of each part at each level, and what the numbers mean."""
    heads = [("over all", found.pooled())]
    heads += [
        (quantities.named(level, name), found.pooled({name: level}))
        for name, levels in found.factors.items()
        for level in levels
    ]
    answer = [found.answer[:1].upper() + found.answer[1:]]
    return page("map.html.j2", found=found, answer=answer, figure=figure, svgs=on_screen.svgs(figure), columns=heads)
