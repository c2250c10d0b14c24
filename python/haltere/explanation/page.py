"""The waterfall of an explanation, and a page with all of it."""

from __future__ import annotations

import json
import math
from pathlib import Path

from haltere import core
from haltere.explanation.answer import Explanation, factor_text
from haltere.explanation.equals import ABOUT
from haltere.figures import on_paper, on_screen
from haltere.figures.pages import page
from haltere.figures.parts import Figure
from haltere.figures.waterfall import Step, plain
from haltere.figures.waterfall import waterfall as drawn
from haltere.when.contenders import transport_of

STEM = "explanation"
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
    return store(folder / STEM, figure, html(found, figure), found.data())


def store(stem: Path, figure: Figure, text: str, numbers: object) -> list[Path]:
    """Write a figure, a page and its numbers into files with the endings of their kinds; the paths written."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    written = on_paper.draw(figure, stem)
    for ending, content in ((".html", text), (".json", json.dumps(numbers, indent=1, allow_nan=False) + "\n")):
        path = stem.with_name(stem.name + ending)
        path.write_text(content, encoding="utf-8")
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
