"""Means and medians with confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

RESAMPLES = 9999


@dataclass(frozen=True)
class Interval:
    """An estimate and its confidence interval.

    `low` and `high` are None when there is too little data for an interval (fewer than 3 values, unless they are all
    the same). `method` says how the interval was made.
    """

    value: float
    low: float | None
    high: float | None
    n: int
    confidence: float
    method: str

    @property
    def exact(self) -> bool:
        """Whether every value was the same, as in a scenario in which nothing is random."""
        return self.method == "identical values"


def _checked(values: Sequence[float] | npt.ArrayLike) -> npt.NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or array.size == 0 or not np.isfinite(array).all():
        raise ValueError(f"an interval needs a non-empty list of finite numbers, got {array.tolist()}")
    return array


def _simple(array: npt.NDArray[np.float64], value: float, confidence: float) -> Interval | None:
    if array.size >= 2 and (array == array[0]).all():
        same = float(array[0])
        return Interval(same, same, same, array.size, confidence, "identical values")
    if array.size < 3:
        return Interval(value, None, None, array.size, confidence, "too few values")
    return None


def mean(values: Sequence[float] | npt.ArrayLike, confidence: float = 0.95) -> Interval:
    """Return the mean with Student's t interval.

    Raises:
        ValueError: if there are no values or some are not finite.
    """
    array = _checked(values)
    value = float(array.mean())
    simple = _simple(array, value, confidence)
    if simple:
        return simple
    standard_error = float(array.std(ddof=1)) / math.sqrt(array.size)
    half = float(special.stdtrit(array.size - 1, (1 + confidence) / 2)) * standard_error
    return Interval(value, value - half, value + half, array.size, confidence, "Student's t")


def median(values: Sequence[float] | npt.ArrayLike, confidence: float = 0.95, seed: int = 0) -> Interval:
    """Return the median with a bootstrap interval: bias-corrected and accelerated (BCa) if defined, else percentile.

    The resampling is seeded, so that the same values always give the same interval.

    Raises:
        ValueError: if there are no values or some are not finite.

    Source: B. Efron, "Better Bootstrap Confidence Intervals", JASA 82(397), 1987.
    """
    array = _checked(values)
    value = float(np.median(array))
    simple = _simple(array, value, confidence)
    if simple:
        return simple
    generator = np.random.default_rng(seed)
    resampled = np.median(generator.choice(array, (RESAMPLES, array.size)), axis=1)
    jackknife = np.array([np.median(np.delete(array, i)) for i in range(array.size)])
    tails = _bca_tails(resampled, jackknife, value, confidence)
    method = "BCa bootstrap" if tails else "percentile bootstrap"
    low, high = np.quantile(resampled, tails or ((1 - confidence) / 2, (1 + confidence) / 2))
    return Interval(value, float(low), float(high), array.size, confidence, method)


def _bca_tails(
    resampled: npt.NDArray[np.float64], jackknife: npt.NDArray[np.float64], value: float, confidence: float
) -> tuple[float, float] | None:
    """Return the quantiles of the bootstrap distribution to read the interval at (Efron 1987, eq. 6.8), if defined."""
    spread = jackknife.mean() - jackknife
    scale = float((spread**2).sum()) ** 1.5
    below = (np.count_nonzero(resampled < value) + np.count_nonzero(resampled <= value)) / (2 * resampled.size)
    if scale == 0 or not 0 < below < 1:
        return None
    acceleration = float((spread**3).sum()) / (6 * scale)
    bias = float(special.ndtri(below))
    tails = []
    for probability in ((1 - confidence) / 2, (1 + confidence) / 2):
        z = bias + float(special.ndtri(probability))
        tails.append(float(special.ndtr(bias + z / (1 - acceleration * z))))
    return (tails[0], tails[1]) if tails[0] < tails[1] else None
