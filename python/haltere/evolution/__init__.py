"""Two periods of measured paths: what is measured of them, as a study and as results, and their figures.

The counts of paths, and the comparison of two periods, stand in `haltere.paths`.
"""

from haltere.evolution.measuring import Measured, Options, measure
from haltere.evolution.study import PathsStudy

__all__ = ["Measured", "Options", "PathsStudy", "measure"]
