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

from haltere import lazy

if TYPE_CHECKING:
    from haltere.adhoc.compared import compare
    from haltere.adhoc.conditions import Conditions, PathConditions
    from haltere.adhoc.single import RunFailedError, RunResult, Trace, run, trace
    from haltere.errors import HaltereError, InputError
    from haltere.evaluation import evaluate, run_suite
    from haltere.explanation import explain
    from haltere.notebook import to_pandas
    from haltere.plugins import compiled, parameter
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
    "compiled",
    "evaluate",
    "explain",
    "load",
    "parameter",
    "run",
    "run_suite",
    "to_pandas",
    "trace",
]

_get, _names = lazy.names_of(
    __name__,
    {
        "adhoc.compared": ["compare"],
        "adhoc.conditions": ["Conditions", "PathConditions"],
        "adhoc.single": ["RunFailedError", "RunResult", "Trace", "run", "trace"],
        "errors": ["HaltereError", "InputError"],
        "evaluation": ["evaluate", "run_suite"],
        "explanation": ["explain"],
        "notebook": ["to_pandas"],
        "plugins": ["compiled", "parameter"],
        "results": ["Results", "load"],
        "runner.study": ["Study"],
        "scenario": ["Scenario"],
    },
    modules=["figures", "stats"],
)


def __getattr__(name: str) -> object:
    return import_module("haltere.core").VERSION if name == "__version__" else _get(name)


def __dir__() -> list[str]:
    return [*_names(), "__version__"]
