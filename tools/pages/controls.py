"""All congestion controls of the model by the sections of RFC 9743: a table whose cells lead to figures and numbers."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from haltere.figures import on_paper
from haltere.figures.parts import Axis, Dot, Figure, Line, Panel, Series

KEPT = Path("studies") / "evaluate" / "kept" / "controls.json"
MARKER = "<!-- generated: controls -->"
LOOKS = {"✗": ("worse", "second"), "=": ("no worse", "quiet"), "✓": ("better", "first"), "?": ("undecided", "ink")}
_FAR = 6.0
"""Effects beyond so many margins are drawn at the end of the axis."""

Row = Mapping[str, Any]


def place(root: Path, source: Path) -> None:
    """Write the page's table, figures and numbers from what the campaign `controls` of the study `evaluate` found."""
    page = source / "controls.md"
    values = json.loads((root / KEPT).read_text(encoding="utf-8"))["values"]
    standing = {row["control"]: row for row in _rows(values["controls"])}
    effects = _rows(values["effects"])
    text = "\n".join([*_table(standing), *_sections(standing, effects, source / "static")])
    page.write_text(page.read_text(encoding="utf-8").replace(MARKER, text), encoding="utf-8")


def _rows(kept: Mapping[str, Any]) -> list[Row]:
    return [dict(zip(kept["columns"], row, strict=True)) for row in kept["rows"]]


def _anchor(section: str) -> str:
    return "s-" + section.replace(",", "").replace(".", "-").replace(" ", "-")


def _table(standing: Mapping[str, Row]) -> Iterator[str]:
    sections = [name for name in next(iter(standing.values())) if name != "control"]
    heads = "".join(f'<th scope="col"><a href="#{_anchor(one)}">{one}</a></th>' for one in sections)
    yield '<div style="overflow-x: auto"><table class="docutils"><thead><tr><th scope="col">control</th>'
    yield f"{heads}</tr></thead><tbody>"
    for control, row in standing.items():
        cells = "".join(f'<td><a href="#{_anchor(one)}">{row[one]}</a></td>' for one in sections)
        yield f'<tr><th scope="row">{html.escape(control)}</th>{cells}</tr>'
    yield "</tbody></table></div>\n"


def _sections(standing: Mapping[str, Row], effects: list[Row], static: Path) -> Iterator[str]:
    for section, group in groupby(effects, key=lambda row: str(row["section"])):
        rows = list(group)
        yield f"({_anchor(section)})=\n## {section} {rows[0]['title']}\n"
        for number, row in enumerate(rows):
            name = f"controls-{_anchor(section)}-{number}"
            signs = {control: str(of[section]) for control, of in standing.items()}
            on_paper.draw(_figure(name, row, signs), static / name, formats=["svg"])
            yield f"{_title(row)}, margin {row['margin']}:\n\n![{_title(row)}](static/{name}.svg)\n"
        yield "<details><summary>The numbers, in margins</summary>\n\n" + "".join(_numbers(rows, list(standing)))
        yield "</details>\n"


def _title(row: Row) -> str:
    what = f"{str(row['what'])[:1].upper()}{str(row['what'])[1:]}"
    return what + (f" at {row['place']}" if row["place"] else "")


def _numbers(rows: list[Row], controls: list[str]) -> Iterator[str]:
    heads = "".join(f'<th scope="col">{html.escape(_title(row))}</th>' for row in rows)
    yield f'<table class="docutils"><thead><tr><th scope="col">control</th>{heads}</tr></thead><tbody>\n'
    for control in controls:
        cells = "".join(f"<td>{_said(row[control])}</td>" for row in rows)
        yield f'<tr><th scope="row">{html.escape(control)}</th>{cells}</tr>\n'
    yield "</tbody></table>\n"


def _said(kept: object) -> str:
    if kept is None:
        return "–"
    value, low, high = str(kept).replace("-", "−").split()
    return f"{value} [{low}, {high}]"


def _figure(name: str, row: Row, signs: Mapping[str, str]) -> Figure:
    controls = list(signs)[::-1]
    y = Axis("", -0.6, len(controls) - 0.4, names=[(float(i), one) for i, one in enumerate(controls)], listed=True)
    x = Axis("worse than CUBIC, in margins", -_FAR - 0.2, _FAR + 0.2)
    series = [Series("quiet", "", [Line([(end, y.low), (end, y.high)], dash=":")]) for end in (-1.0, 1.0)]
    for sign, (word, look) in LOOKS.items():
        there = [(i, one) for i, one in enumerate(controls) if signs[one] == sign and row[one] is not None]
        series += [Series(look, word, [_dot(row[one], float(i)) for i, one in there])] if there else []
    return Figure(name, "", [Panel("", x, y, series)])


def _dot(kept: object, y: float) -> Dot:
    value, low, high = (min(max(float(end), -_FAR), _FAR) for end in str(kept).split())
    return Dot(value, y, x_ends=(low, high))
