"""All congestion controls of the model by the sections of RFC 9743: a table whose cells lead to figures and numbers."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from haltere.figures import on_paper
from haltere.figures.parts import Axis, Dot, Figure, Line, Panel, Series

KEPT = Path("studies") / "evaluate" / "kept" / "controls.json"
MARKER = "<!-- generated: controls -->"
SIGNS = {"worse": "✗", "no worse": "=", "better": "✓", "undecided": "?"}
_LOOKS = {"worse": "second", "no worse": "quiet", "better": "first", "undecided": "ink"}
_FAR = 6.0
"""Effects beyond so many margins are drawn at the end of the axis."""

Row = Mapping[str, Any]


def place(root: Path, source: Path) -> None:
    """Write the page's table, figures and numbers from what the campaign `controls` of the study `evaluate` found."""
    page = source / "controls.md"
    kept = json.loads((root / KEPT).read_text(encoding="utf-8"))["values"]["effects"]
    rows: list[Row] = [dict(zip(kept["columns"], row, strict=True)) for row in kept["rows"]]
    text = "\n".join([*_table(rows), *_sections(rows, source / "static")])
    page.write_text(page.read_text(encoding="utf-8").replace(MARKER, text), encoding="utf-8")


def _names(rows: list[Row], column: str) -> list[str]:
    return list(dict.fromkeys(str(row[column]) for row in rows))


def _anchor(section: str) -> str:
    return "s-" + section.replace(",", "").replace(".", "-").replace(" ", "-")


def _table(rows: list[Row]) -> Iterator[str]:
    sections = _names(rows, "section")
    standing = {(row["control"], row["section"]): str(row["standing"]) for row in rows}
    heads = "".join(f'<th scope="col"><a href="#{_anchor(one)}">{one}</a></th>' for one in sections)
    yield '<div style="overflow-x: auto"><table class="docutils"><thead><tr><th scope="col">control</th>'
    yield f"{heads}</tr></thead><tbody>"
    for control in _names(rows, "control"):
        cells = []
        for section in sections:
            word = standing.get((control, section), "")
            sign = f'<a href="#{_anchor(section)}" title="{word}">{SIGNS.get(word, "–")}</a>' if word else "–"
            cells.append(f"<td>{sign}</td>")
        yield f'<tr><th scope="row">{html.escape(control)}</th>{"".join(cells)}</tr>'
    yield "</tbody></table></div>\n"


def _sections(rows: list[Row], static: Path) -> Iterator[str]:
    for section in _names(rows, "section"):
        those = [row for row in rows if row["section"] == section]
        yield f"({_anchor(section)})=\n## {section} {those[0]['title']}\n"
        for number, (what, place) in enumerate(dict.fromkeys((row["what"], row["place"]) for row in those)):
            name = f"controls-{_anchor(section)}-{number}"
            here = [row for row in those if (row["what"], row["place"]) == (what, place)]
            on_paper.draw(_figure(name, here), static / name, formats=["svg"])
            title = f"{str(what)[:1].upper()}{str(what)[1:]}" + (f" at {place}" if place else "")
            yield f"{title}:\n\n![{title}](static/{name}.svg)\n"
        yield "<details><summary>The numbers</summary>\n\n" + "".join(_numbers(those)) + "</details>\n"


def _numbers(rows: list[Row]) -> Iterator[str]:
    yield (
        '<table class="docutils"><thead><tr>'
        + "".join(
            f'<th scope="col">{head}</th>'
            for head in ("control", "verdict", "what and where", "its own", "CUBIC's", "effect", "margin")
        )
        + "</tr></thead><tbody>\n"
    )
    for control, group in groupby(rows, key=lambda row: str(row["control"])):
        for row in group:
            what = ", ".join(str(row[name]) for name in ("what", "place") if row[name])
            cells = [control, row["standing"], what, row["newcomer"], row["other"], row["effect"], row["margin"]]
            yield "<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in cells) + "</tr>\n"
    yield "</tbody></table>\n"


def _figure(name: str, rows: list[Row]) -> Figure:
    controls = _names(rows, "control")[::-1]
    at = {control: float(i) for i, control in enumerate(controls)}
    y = Axis("", -0.6, len(controls) - 0.4, names=[(i, one) for one, i in at.items()], listed=True)
    x = Axis("worse than CUBIC, in margins", -_FAR - 0.2, _FAR + 0.2)
    series = [Series("quiet", "", [Line([(end, y.low), (end, y.high)], dash=":")]) for end in (-1.0, 1.0)]
    for word, look in _LOOKS.items():
        dots = [_dot(row, at[str(row["control"])]) for row in rows if row["standing"] == word]
        series += [Series(look, word, dots)] if dots else []
    return Figure(name, "", [Panel("", x, y, series)])


def _number(kept: object) -> float:
    """Read a number, which kept files have as pages show it."""
    return float(re.sub(r"\s", "", str(kept)).replace("−", "-"))


def _dot(row: Row, y: float) -> Dot:
    low, value, high = (min(max(_number(row[one]), -_FAR), _FAR) for one in ("excess_low", "excess", "excess_high"))
    return Dot(value, y, x_ends=(low, high))
