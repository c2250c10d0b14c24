"""Rates together: Jain's fairness index, harm to others, and the benefit of several paths over the best of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal


def jain(rates: Sequence[float]) -> float:
    """Return Jain's index of some rates, (sum of x) squared over n times the sum of x squared.

    1 when all get the same, 1/n when one gets everything; nan when nobody gets anything.

    Raises:
        ValueError: if there are no rates or one is negative or not finite.

    Source: R. Jain, D.-M. Chiu, W. Hawe, "A Quantitative Measure of Fairness and Discrimination for Resource
    Allocation in Shared Computer Systems", DEC-TR-301, 1984.
    """
    if not rates or any(rate < 0 or not math.isfinite(rate) for rate in rates):
        raise ValueError(f"Jain's index needs finite rates of at least 0, got {list(rates)}")
    largest = max(rates)
    if largest == 0:
        return math.nan
    shares = [rate / largest for rate in rates]  # the index does not depend on the scale, and squares cannot overflow
    return math.fsum(shares) ** 2 / (len(shares) * math.fsum(share * share for share in shares))


def harm(alone: float, beside: float, better: Literal["lower", "higher"]) -> float:
    """Return the harm that somebody does to another's performance.

    0 if the other has what it has alone, 1 if nothing of it is left, negative if it has more. There is no harm where
    more is better and it has nothing alone, nor where less is better and it has nothing beside the one that is judged.

    Args:
        alone: the other's performance by itself, x.
        beside: its performance beside the one that is judged, y, in the same unit.
        better: `higher` if more is better, with harm (x - y) / x; `lower` if less is, with harm (y - x) / y.

    Raises:
        ValueError: if a number is negative or not finite.

    Source: R. Ware, M. K. Mukerjee, S. Seshan, J. Sherry, "Beyond Jain's Fairness Index: Setting the Bar For The
    Deployment of Congestion Control Algorithms", HotNets 2019, section 4.
    """
    if not all(math.isfinite(one) and one >= 0 for one in (alone, beside)):
        raise ValueError(f"harm needs finite numbers of at least 0, got {alone} and {beside}")
    of, lost = (alone, alone - beside) if better == "higher" else (beside, beside - alone)
    return lost / of if of > 0 else 0.0


def aggregation_benefit(goodput: float, single: Sequence[float]) -> float:
    """Return the aggregation benefit of a transfer over several paths.

    1 if it got the sum of what each path gives alone, 0 if it got what the best path gives, -1 if it got nothing. With
    G the goodput, C the paths' own and C_max the largest of them: (G - C_max) / (sum of C - C_max) from C_max upwards,
    (G - C_max) / C_max below it.

    Args:
        goodput: of the transfer over all paths, in any unit of rate.
        single: in the same unit, for each path its capacity, or the goodput of a transfer over this path alone (then
            the benefit is called experimental).

    Raises:
        ValueError: if there are fewer than two paths, a path gives nothing, or a number is negative or not finite.

    Source: D. Kaspar, "Multipath Aggregation of Heterogeneous Networks", PhD thesis, Oslo, 2012, as C. Paasch,
    R. Khalili, O. Bonaventure, "On the Benefits of Applying Experimental Design to Improve Multipath TCP",
    CoNEXT 2013, use it; experimental: Q. De Coninck, O. Bonaventure, "Multipath QUIC", CoNEXT 2017.
    """
    if not (math.isfinite(goodput) and goodput >= 0):
        raise ValueError(f"an aggregation benefit needs a finite goodput of at least 0, got {goodput}")
    if len(single) < 2 or not all(math.isfinite(one) and one > 0 for one in single):
        raise ValueError(f"an aggregation benefit needs two or more paths, each above 0, got {list(single)}")
    best = max(single)
    return (goodput - best) / (math.fsum(single) - best if goodput >= best else best)
