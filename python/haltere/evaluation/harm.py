"""Harm as Ware et al. (HotNets 2019) define it: how much of what a flow has by itself somebody beside it takes away.

The flow by itself is that of an experiment with nobody in the newcomer's place. It has the same factors, random losses
and starts, so that harm is told within each replication.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from haltere.claims.comparison import MissingDataError, complete
from haltere.evaluation.sheet import Part
from haltere.metrics import Metric
from haltere.metrics.tables import Tables
from haltere.stats import Interval, mean
from haltere.stats import harm as harm_of

NOBODY = "nobody"
_ALONE = "alone"


@dataclass(frozen=True)
class Harm:
    """The values of a flow without the newcomer, and the share of them that others take.

    Attributes:
        alone: the flow's mean value with nobody in the newcomer's place, in the metric's unit.
        instead: its mean value with others there, by the words for them.
        newcomer: the harm that the newcomer does, with its interval at 95 %.
        other: the harm that the one does that it is held against.
    """

    alone: float
    instead: Mapping[str, float]
    newcomer: Interval
    other: Interval


@dataclass(frozen=True)
class Place:
    """Where harm is told: a part of a sheet in some results, and the levels `over` of all factors but the sheet's."""

    tables: Tables
    part: Part
    metric: Metric
    factor: str
    over: Mapping[str, Sequence[str]]


def harm(place: Place, newcomer: str, other: str) -> Harm | None:
    """Return the harm of the newcomer and of the other in a place; None if the part, or the results, do not tell it."""
    there = {words: name for words, name in place.part.instead.items() if name in place.tables.factors}
    if NOBODY not in there or place.metric.better == "neither":
        return None
    try:
        its, others = (_harm(place, there[NOBODY], one) for one in (newcomer, other))
    except MissingDataError:
        return None
    alone = _mean(place, there.pop(NOBODY))
    return Harm(alone, {words: _mean(place, name) for words, name in there.items()}, its, others)


def _harm(place: Place, nobody: str, sender: str) -> Interval:
    """The harm of one sender, averaged over the place's treatments within each replication."""
    experiment, better = place.part.experiment, place.metric.better
    beside = place.tables.values(experiment, place.metric, {**place.over, place.factor: [sender]}).drop(place.factor)
    alone = place.tables.values(nobody, place.metric, place.over).rename({"value": _ALONE})
    pairs = beside.join(alone, on=[*place.over, "replication"], how="inner", nulls_equal=True, maintain_order="left")
    values = [harm_of(x, y, better) for x, y in pairs.select(_ALONE, "value").iter_rows() if better != "neither"]
    _, matrix = complete(
        place.tables, experiment, pairs.with_columns(pl.Series("value", values, pl.Float64)), place.over
    )
    return mean(matrix.mean(axis=0))


def _mean(place: Place, experiment: str) -> float:
    found = place.tables.values(experiment, place.metric, place.over).select(pl.col("value").mean()).item()
    return float("nan") if found is None else float(found)
