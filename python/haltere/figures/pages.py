"""Pages: one HTML file each, with its figures, styles and scripts in it. Their templates are `haltere/templates`."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

from haltere.errors import counted, grouped
from haltere.figures import on_screen


def page(template: str, *, script: bool = False, **values: object) -> str:
    """Return a page: a template with these values, the style of all pages and, if asked for, the script of reports."""
    more = {"script": asset("page.js")} if script else {}
    return _templates().get_template(template).render(style=asset("style.css"), **more, **values)


def asset(name: str) -> str:
    """Return a file from the folder of the templates."""
    return (files("haltere") / "templates" / name).read_text(encoding="utf-8")


def coded(text: str) -> Markup:
    """Return a text as HTML in which what stands in backquotes is set as code."""
    parts = re.split(r"`([^`]+)`", text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if at % 2 else escape(part) for at, part in enumerate(parts)
    )


@cache
def _templates() -> Environment:
    made = Environment(
        loader=FunctionLoader(asset), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.filters["swatch"] = on_screen.swatch
    made.filters["count_of"] = counted
    made.filters["grouped"] = grouped
    made.filters["coded"] = coded
    nothing: dict[str, object] = {"study": {}, "answer": (), "broken_answer": "", "judged": (), "command": ""}
    made.globals |= nothing | {"when": {}, "why": {}, "asked": None}
    return made
