"""Statistics on results, all deterministic.

Intervals, paired comparisons over common random numbers, rank correlation, fairness, aggregation of paths.
"""

from haltere.stats.aggregation import aggregation_benefit
from haltere.stats.correlation import spearman
from haltere.stats.fairness import jain
from haltere.stats.independent import difference
from haltere.stats.intervals import Interval, mean, median
from haltere.stats.paired import Paired, holm, paired, sign_flip
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
