"""haltere: a laboratory for transport protocols.

>>> import haltere
>>> table = haltere.compare(["tcp/cubic", "quic/bbr"], rate="40Mbit/s", rtt="50ms", loss="1%", size="8MiB")
>>> study = haltere.Study.load("studies/quic-dumbbell")
>>> results = study.run(replications=3)
>>> results.flows            # a polars data frame, a row a flow

Names are loaded when first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from haltere.adhoc.comparison import compare
    from haltere.adhoc.conditions import Conditions, PathConditions
    from haltere.adhoc.single import RunFailedError, RunResult, Trace, run, trace
    from haltere.errors import HaltereError, InputError
    from haltere.explanation import explain
    from haltere.results import Results, load
    from haltere.runner.study import Study
    from haltere.scenario import Scenario

__all__ = [
    "Conditions",
    "HaltereError",
    "InputError",
    "PathConditions",
    "Results",
    "RunFailedError",
    "RunResult",
    "Scenario",
    "Study",
    "Trace",
    "compare",
    "explain",
    "load",
    "run",
    "trace",
]

_HOMES = {
    "Conditions": "haltere.adhoc.conditions",
    "HaltereError": "haltere.errors",
    "InputError": "haltere.errors",
    "PathConditions": "haltere.adhoc.conditions",
    "Results": "haltere.results",
    "RunFailedError": "haltere.adhoc.single",
    "RunResult": "haltere.adhoc.single",
    "Scenario": "haltere.scenario",
    "Study": "haltere.runner.study",
    "Trace": "haltere.adhoc.single",
    "compare": "haltere.adhoc.comparison",
    "explain": "haltere.explanation",
    "load": "haltere.results",
    "run": "haltere.adhoc.single",
    "trace": "haltere.adhoc.single",
}


def __getattr__(name: str) -> object:
    if name == "__version__":
        return import_module("haltere.core").VERSION
    if name == "figures":
        return import_module("haltere.figures")
    if name not in _HOMES:
        raise AttributeError(f"module 'haltere' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
