"""The names and measures that claims of several themes use."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from haltere.claims import MissingDataError
from haltere.metrics.tables import Tables

Numbers = NDArray[np.float64]

NETWORKS = ["Wi-Fi", "4G", "satellite"]
LOSSES = ["0%", "1%", "2%", "3%", "5%"]
CONGESTION = ["newreno", "cubic", "bbr"]
THESIS = "Villegas Saiz 2021"


def each(tables: Tables, experiment: str, metric: str, **where: str) -> Numbers:
    """A metric, averaged within each replication over the factors that are not named."""
    values = tables.values(experiment, metric, where)
    if values.is_empty():
        raise MissingDataError(f"experiment {experiment} holds no run of {', '.join(where.values())}")
    return values.group_by("replication").agg(pl.col("value").mean()).sort("replication")["value"].to_numpy()
