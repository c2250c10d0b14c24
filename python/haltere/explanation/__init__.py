"""Which mechanisms make the difference between two contenders, and how much each: Shapley values over mixtures.

| module | holds |
|---|---|
| `mixtures` | what differs, and the contenders between the two |
| `equals` | what of one transport equals which value of another |
| `game` | Shapley values where not every mixture can run |
| `runs` | runs mixtures on common random numbers |
| `attribution` | effects with intervals over replications |
| `explaining` | all of it, one after the other |
| `answer` | the answer |
| `page` | its figure and its page |
"""

from haltere.explanation.answer import Explanation, Interaction
from haltere.explanation.attribution import Effect
from haltere.explanation.explaining import explain, explained
from haltere.explanation.mixtures import Part, Space
from haltere.explanation.runs import MEASURES

__all__ = ["MEASURES", "Effect", "Explanation", "Interaction", "Part", "Space", "explain", "explained"]
