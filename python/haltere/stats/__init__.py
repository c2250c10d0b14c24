"""Statistics on results, all deterministic.

Intervals, paired comparisons over common random numbers, rank correlation, fairness, aggregation of paths.
"""

from haltere.stats.aggregation import aggregation_benefit
from haltere.stats.correlation import spearman
from haltere.stats.fairness import jain
from haltere.stats.independent import difference
from haltere.stats.intervals import Interval, mean, median
from haltere.stats.paired import Paired, holm, paired

__all__ = [
    "Interval",
    "Paired",
    "aggregation_benefit",
    "difference",
    "holm",
    "jain",
    "mean",
    "median",
    "paired",
    "spearman",
]
