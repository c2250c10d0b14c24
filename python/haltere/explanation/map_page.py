"""The heat maps of an explanation over a study, and a page with them."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

from haltere.explanation.maps import Map
from haltere.explanation.page import filled
from haltere.figures.effects import EffectMap, EffectPanel, draw
from haltere.metrics import quantities

STEM = "map"
PANELS = 9
"""The most parts that have a panel: those that move the metric most."""


def effect_map(found: Map) -> EffectMap:
    """Return the heat maps: the first half of the factors down, the others across."""
    names = list(found.factors)
    down, across = names[: len(names) // 2], names[len(names) // 2 :]
    rows, columns = (list(itertools.product(*(found.factors[name] for name in side))) for side in (down, across))
    place = {tuple(cell[name] for name in (*down, *across)): number for number, cell in enumerate(found.cells)}
    panels = []
    for part in found.ranked[:PANELS]:
        values = [
            [None if (*row, *column) not in place else found.mean(part, place[*row, *column]) for column in columns]
            for row in rows
        ]
        panels.append(EffectPanel(found.parts[part].name, values))
    what = "factor on" if found.measure.ratio else "difference in"
    return EffectMap(
        f"{found.a} → {found.b}: {what} {found.measure.label}, {found.study}",
        [_said(down, row) for row in rows],
        [_said(across, column) for column in columns],
        " · ".join(down),
        " · ".join(across),
        panels,
        found.measure.ratio,
    )


def _said(names: list[str], levels: tuple[str, ...]) -> str:
    return " · ".join(quantities.text(level, name) for name, level in zip(names, levels, strict=True))


def write(found: Map, folder: Path) -> list[Path]:
    """Write the heat maps (SVG, PDF), the page (HTML) and the numbers (JSON) into a folder; the paths written."""
    folder.mkdir(parents=True, exist_ok=True)
    written = draw(effect_map(found), folder / STEM)
    page = folder / f"{STEM}.html"
    page.write_text(html(found, (folder / f"{STEM}.svg").read_text(encoding="utf-8")), encoding="utf-8")
    numbers = folder / f"{STEM}.json"
    numbers.write_text(json.dumps(found.data(), indent=1, allow_nan=False) + "\n", encoding="utf-8")
    return [*written, page, numbers]


def html(found: Map, svg: str) -> str:
    """Return the page: the answer, the heat maps, the effect of each part at each level, and what the numbers mean."""
    heads = [("over all", found.pooled())]
    heads += [
        (f"{name} {quantities.text(level, name)}", found.pooled({name: level}))
        for name, levels in found.factors.items()
        for level in levels
    ]
    return filled("map.html.j2", svg, found=found, columns=heads)
