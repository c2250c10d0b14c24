"""Points that fill a space: the unit cube, a dimension a factor. The same for the same seed."""

from __future__ import annotations

import math
import warnings
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Sampling = Literal["lhs", "lhs-maximin", "wsp", "sobol"]
Points = NDArray[np.float64]
"""A row a point, a column a dimension, each number from 0 to 1."""

MAX_BY_DISTANCE = 1000
"""The most points of a sampling that compares all distances."""
_HYPERCUBES = 5
_CANDIDATES_A_POINT = 40
_PRECISION = 1e-4


def points(sampling: Sampling, count: int, dimensions: int, seed: int) -> Points:
    """Return `count` points.

    - `lhs`: a Latin hypercube (M. D. McKay, R. J. Beckman, W. J. Conover, Technometrics 21(2), 1979), of all drawn the
      one of the least centred discrepancy. In each dimension every one of `count` equal intervals holds one point.
    - `lhs-maximin`: of some such hypercubes the one whose two nearest points are farthest apart (M. E. Johnson,
      L. M. Moore, D. Ylvisaker, J. Stat. Plan. Inference 26(2), 1990).
    - `wsp`: of many random candidates those that are at least a distance apart (J. Santiago, M. Claeys-Bruno,
      M. Sergent, Chemom. Intell. Lab. Syst. 113, 2012); see `_wsp`.
    - `sobol`: the first points of a scrambled Sobol sequence (A. B. Owen, J. Complexity 14(4), 1998). Only a power
      of two of them is balanced.
    """
    if sampling == "wsp":
        return _wsp(count, dimensions, np.random.default_rng(seed))
    from scipy.stats import qmc  # noqa: PLC0415 (slow to load, and most studies have no such design)

    if sampling == "lhs":
        return qmc.LatinHypercube(dimensions, optimization="random-cd", rng=seed).random(count)
    if sampling == "lhs-maximin":
        generator = np.random.default_rng(seed)
        sampler = qmc.LatinHypercube(dimensions, optimization="random-cd", rng=generator)
        return max((sampler.random(count) for _ in range(_HYPERCUBES)), key=nearest)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The balance properties of Sobol", category=UserWarning)
        return qmc.Sobol(dimensions, scramble=True, rng=seed).random(count)


def nearest(found: Points) -> float:
    """Return the least distance between two of the points; infinite if there are fewer than two."""
    from scipy.spatial.distance import pdist  # noqa: PLC0415 (slow to load)

    return float(pdist(found).min()) if len(found) > 1 else math.inf


def _wsp(count: int, dimensions: int, generator: np.random.Generator) -> Points:
    """Choose points by the algorithm of Wootton, Sergent and Phan-Tan-Luu, as Santiago et al. describe it.

    It begins with the candidate nearest to the centre. Each step drops the candidates that are nearer to the last
    chosen point than the least distance, and chooses the nearest of those left. The least distance is found by
    bisection. Where none gives the wanted number, the points with the nearest neighbours are dropped from the next
    larger number.
    """
    candidates = generator.random((max(1000, _CANDIDATES_A_POINT * count), dimensions))
    few, many = math.sqrt(dimensions), 0.0
    chosen = candidates
    while few - many > _PRECISION:
        middle = (few + many) / 2
        kept = _apart(candidates, middle, most=2 * count)
        if len(kept) < count:
            few = middle
            continue
        many, chosen = middle, candidates[kept]
        if len(kept) == count:
            break
    return _thinned(chosen, count)


def _apart(candidates: Points, least: float, most: int) -> list[int]:
    """Return the candidates that WSP chooses for a least distance; no more than `most` of them."""
    left = np.arange(len(candidates))
    current = int(np.argmin(((candidates - 0.5) ** 2).sum(axis=1)))
    chosen = [current]
    while len(chosen) < most:
        distances = ((candidates[left] - candidates[current]) ** 2).sum(axis=1)
        far = (distances >= least**2) & (left != current)
        left, distances = left[far], distances[far]
        if not left.size:
            break
        current = int(left[np.argmin(distances)])
        chosen.append(current)
    return chosen


def _thinned(chosen: Points, count: int) -> Points:
    from scipy.spatial.distance import pdist, squareform  # noqa: PLC0415 (slow to load)

    distances = squareform(pdist(chosen))
    np.fill_diagonal(distances, math.inf)
    kept = np.arange(len(chosen))
    while len(kept) > count:
        kept = np.delete(kept, int(np.argmin(distances[np.ix_(kept, kept)].min(axis=1))))
    return chosen[kept]
