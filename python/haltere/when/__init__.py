"""Under what a claim would hold: the smallest sets of changes to a study that turn the verdict of a claim.

`changes` says what may be varied, `variants` makes a study's treatments with changes, `judging` runs them and judges
claims, `search` looks for the changes that turn a verdict, and `results` keeps what was found beside the results.
"""

from __future__ import annotations

from haltere.when.results import Found, Search, Tried, read
from haltere.when.search import Plan, search

__all__ = ["Found", "Plan", "Search", "Tried", "read", "search"]
