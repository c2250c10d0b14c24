"""From the metric of mixtures to the effect of each part, with its interval over replications."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from haltere.explanation.game import Orders, along
from haltere.stats import Interval, holm, mean, paired_p

Worths = NDArray[np.float64]
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Effect:
    """The contribution of a part: on the logarithm of the metric, or on the metric itself if it is no ratio.

    Attributes:
        values: one a replication.
        interval: their mean with Student's t interval.
        p: of the t test that the mean is 0, corrected for all parts by Holm's method; None if all values are the same.
    """

    values: tuple[float, ...]
    interval: Interval
    p: float | None

    @property
    def real(self) -> bool | None:
        """Whether it is shown to be other than 0; None if there are too few replications to tell."""
        if len(self.values) < 2:
            return None
        if self.p is None:
            return self.interval.value != 0
        return self.p <= 1 - CONFIDENCE

    @property
    def nothing(self) -> bool:
        """Whether it changed nothing in any replication."""
        return not any(self.values)


def effects(values: NDArray[np.float64]) -> list[Effect]:
    """Return the effects of a matrix with a row a part and a column a replication."""
    # Sums of the same numbers in another order differ by rounding, which is no effect.
    scale = np.abs(values).sum(axis=0)
    rounded = np.where(np.abs(values) <= 1e-12 * scale, 0.0, values)
    same = [bool(np.ptp(row) <= 1e-12 * np.abs(row).max()) for row in rounded]
    rows = [np.full_like(row, row[0]) if alike else row for row, alike in zip(rounded, same, strict=True)]
    raw = [None if alike or row.size < 2 else paired_p(row) for row, alike in zip(rows, same, strict=True)]
    return [Effect(tuple(row.tolist()), mean(row), p) for row, p in zip(rows, holm(raw), strict=True)]


def attributed(orders: Orders, worths: Worths) -> list[Effect]:
    """Return the effect of each part.

    Args:
        orders: the orders through the mixtures.
        worths: a row for each of `orders.masks`, a column a replication.
    """
    return effects(orders.values() @ worths)


def interacting(orders: Orders, worths: Worths) -> dict[tuple[int, int], Effect]:
    """Return by how much the effect of one part grows with the other, for each pair that can be seen apart."""
    weights = orders.interactions()
    if not weights:
        return {}
    found = effects(np.array(list(weights.values())) @ worths)
    return dict(zip(weights, found, strict=True))


def sampled(
    players: int, orders: Sequence[Sequence[Sequence[int]]], worth: Mapping[tuple[int, int], float]
) -> list[Effect]:
    """Return the effect of each part, estimated by some orders.

    Each replication has orders of its own, so that the spread over replications holds what comes of the sample as well.

    Args:
        players: how many parts there are.
        orders: for each replication some orders.
        worth: of a mixture in a replication.
    """
    values = np.zeros((players, len(orders)))
    for replication, some in enumerate(orders):
        for order in some:
            masks = along(order)
            for player, before, after in zip(order, masks[:-1], masks[1:], strict=True):
                values[player, replication] += worth[after, replication] - worth[before, replication]
        values[:, replication] /= len(some)
    return effects(values)
