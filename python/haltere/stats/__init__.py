"""Statistics on results, all deterministic.

Intervals, paired comparisons over common random numbers, rank correlation, fairness, aggregation of paths.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from haltere import lazy

if TYPE_CHECKING:
    from haltere.stats.correlation import spearman
    from haltere.stats.intervals import Interval, mean, mean_of_amounts, median
    from haltere.stats.pairs import Paired, holm, paired
    from haltere.stats.ranking import Lead, leads, replications_needed
    from haltere.stats.rates import aggregation_benefit, harm, jain
    from haltere.stats.student import difference, paired_p, welch_p
    from haltere.stats.trimmed import p_of_shift, trimmed_mean, typical

__all__ = [
    "Interval",
    "Lead",
    "Paired",
    "aggregation_benefit",
    "difference",
    "harm",
    "holm",
    "jain",
    "leads",
    "mean",
    "mean_of_amounts",
    "median",
    "p_of_shift",
    "paired",
    "paired_p",
    "replications_needed",
    "spearman",
    "trimmed_mean",
    "typical",
    "welch_p",
]

__getattr__, __dir__ = lazy.names_of(
    __name__,
    {
        "correlation": ["spearman"],
        "intervals": ["Interval", "mean", "mean_of_amounts", "median"],
        "pairs": ["Paired", "holm", "paired"],
        "ranking": ["Lead", "leads", "replications_needed"],
        "rates": ["aggregation_benefit", "harm", "jain"],
        "student": ["difference", "paired_p", "welch_p"],
        "trimmed": ["p_of_shift", "trimmed_mean", "typical"],
    },
)
