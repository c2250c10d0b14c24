"""Two periods of measured paths: what is measured of them, as a study and as results, and their figures.

What is counted of paths, and how two periods compare, stands in `haltere.paths`.
"""

from haltere.evolution.measuring import Measured, Options, measure
from haltere.evolution.study import PathsStudy

__all__ = ["Measured", "Options", "PathsStudy", "measure"]
