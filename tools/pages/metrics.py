"""The metrics of figures, claims and tables, and the columns of results, as a page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from haltere.fidelity import NAMES
from haltere.metrics import METRICS, Metric
from haltere.results import columns

TITLES = {
    "run": "`runs`: a row a run",
    "flow": "`flows`: a row a flow",
    "link": "`links`: a row a link and direction",
    "probe": "`latency`: a row a probe",
    "request": "`probes`: a row a request of a probe",
    "load": "`loads`: a row a load",
    "cell": "`cells`: a row a cell of 802.11 or LTE",
}


def markdown() -> str:
    """Return a definition of each metric, in the order of the report."""
    return "\n".join(line for metric in METRICS.values() for line in _entry(metric))


def _entry(metric: Metric) -> Iterator[str]:
    said = [metric.label + (f", in {metric.unit}" if metric.unit else "")]
    said += [] if metric.better == "neither" else [f"{metric.better} is better"]
    said += [f"alike within {_margin(metric)}"]
    yield f"`{metric.name}` — {'; '.join(said)}\n: {_plain(metric.definition)}\n"


def of_columns() -> str:
    """Return the columns of each table with type, unit, meaning, and where they are known if not everywhere."""
    return "\n".join(line for of, title in TITLES.items() for line in _table(title, columns.of(of).values()))


def _table(title: str, found: Iterable[columns.Column]) -> Iterator[str]:
    yield f"### {title}\n"
    for column in found:
        said = [f"list of {column.kind}s" if column.list else column.kind, *([column.unit] if column.unit else [])]
        said += [] if set(column.at) == set(NAMES) else [f"at {', '.join(column.at)}"]
        yield f"`{column.name}` — {'; '.join(said)}\n: {_plain(column.meaning)}\n"


def _margin(metric: Metric) -> str:
    return f"{metric.alike:.0%}" if metric.comparison == "ratio" else f"a difference of {metric.alike:g}"


def _plain(text: str) -> str:
    return text.replace("<", "&lt;").replace("*", r"\*").replace("[", r"\[")
