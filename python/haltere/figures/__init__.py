"""Figures: described as data beside a study, drawn for paper (SVG, PDF, PNG) and for the screen (interactive SVG).

The kinds of `figures.toml` are functions here: `haltere.figures.line(results, metric="goodput", x="rate")`; `dir` lists
them. They take the fields of the kind as keywords and return a `haltere.figures.api.Drawing`. `ax` and `fig` are axes
or a figure of Matplotlib to draw into. `register` adds a kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from haltere.figures.api import Drawing
    from haltere.figures.spec import Kind


def trace_figure(trace: Mapping[str, Any], out: Path) -> list[Path]:
    """Draw a trace, see `haltere.figures.trace.trace_figure`."""
    drawn: list[Path] = import_module("haltere.figures.trace").trace_figure(trace, out)
    return drawn


def register(kind: type[Kind]) -> type[Kind]:
    """Add a kind of figure, see `haltere.figures.kinds.register`."""
    added: type[Kind] = import_module("haltere.figures.kinds").register(kind)
    return added


def _functions() -> dict[str, Callable[..., Drawing]]:
    found: dict[str, Callable[..., Drawing]] = import_module("haltere.figures.api").functions()
    return found


def __dir__() -> list[str]:
    return ["register", "trace_figure", *_functions()]


def __getattr__(name: str) -> Callable[..., Drawing]:
    # `from haltere.figures import parts` asks here first: a module of the package must not load all kinds.
    is_module = name.startswith("_") or find_spec(f"haltere.figures.{name}") is not None
    function = None if is_module else _functions().get(name)
    if function is None:
        raise AttributeError(f"module 'haltere.figures' has no attribute {name!r}")
    return function
