"""Figures: described as data beside a study, drawn for paper (SVG, PDF) and for the report (interactive SVG)."""

from __future__ import annotations

from haltere.figures.trace import trace_figure

__all__ = ["trace_figure"]
