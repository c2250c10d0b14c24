"""Statistics on results, all deterministic.

Intervals, paired comparisons over common random numbers, rank correlation, fairness, aggregation of paths.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from haltere import lazy

if TYPE_CHECKING:
    from haltere.stats.aggregation import aggregation_benefit
    from haltere.stats.correlation import spearman
    from haltere.stats.fairness import jain
    from haltere.stats.independent import difference
    from haltere.stats.intervals import Interval, mean, median
    from haltere.stats.pairs import Paired, holm, paired, sign_flip
    from haltere.stats.ranking import Lead, leads, replications_needed
    from haltere.stats.student import paired_p, welch_p

__all__ = [
    "Interval",
    "Lead",
    "Paired",
    "aggregation_benefit",
    "difference",
    "holm",
    "jain",
    "leads",
    "mean",
    "median",
    "paired",
    "paired_p",
    "replications_needed",
    "sign_flip",
    "spearman",
    "welch_p",
]

__getattr__, __dir__ = lazy.names_of(
    __name__,
    {
        "aggregation": ["aggregation_benefit"],
        "correlation": ["spearman"],
        "fairness": ["jain"],
        "independent": ["difference"],
        "intervals": ["Interval", "mean", "median"],
        "pairs": ["Paired", "holm", "paired", "sign_flip"],
        "ranking": ["Lead", "leads", "replications_needed"],
        "student": ["paired_p", "welch_p"],
    },
)
