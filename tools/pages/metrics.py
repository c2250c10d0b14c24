"""The metrics of figures, claims and tables, as a page."""

from __future__ import annotations

from collections.abc import Iterator

from haltere.metrics import METRICS, Metric


def markdown() -> str:
    """Return a definition of each metric, in the order of the report."""
    return "\n".join(line for metric in METRICS.values() for line in _entry(metric))


def _entry(metric: Metric) -> Iterator[str]:
    said = [metric.label + (f", in {metric.unit}" if metric.unit else "")]
    said += [] if metric.better == "neither" else [f"{metric.better} is better"]
    said += [f"alike within {_margin(metric)}"]
    yield f"`{metric.name}` — {'; '.join(said)}\n: {_plain(metric.definition)}\n"


def _margin(metric: Metric) -> str:
    return f"{metric.alike:.0%}" if metric.comparison == "ratio" else f"a difference of {metric.alike:g}"


def _plain(text: str) -> str:
    return text.replace("<", "&lt;").replace("*", r"\*").replace("[", r"\[")
