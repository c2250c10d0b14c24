"""Figures: described as data beside a study, drawn for paper (SVG, PDF) and for the report (interactive SVG).

The kinds of `figures.toml` are functions here: `haltere.figures.line(results, metric="goodput", x="rate")`, and `bar`,
`box`, `overview`, `point`, `choice`, `cdf`, `violin`, `scatter`, `heatmap`, `over_time` (of `[[timelines]]`). They take
the fields of the kind as keywords and return a `haltere.figures.api.Drawing`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from haltere.figures.trace import trace_figure

__all__ = [
    "bar",
    "box",
    "cdf",
    "choice",
    "heatmap",
    "line",
    "over_time",
    "overview",
    "point",
    "scatter",
    "trace_figure",
    "violin",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'haltere.figures' has no attribute {name!r}")
    return _function(name)


def _function(name: str) -> Any:
    def function(results: Any, **fields: Any) -> Any:
        """Draw a figure of some results; the keywords are the fields of its kind in `figures.toml`."""
        return import_module("haltere.figures.api").draw(name, results, fields)

    function.__name__ = name
    return function
