"""Means and medians with confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from haltere import _core, extras

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from scipy import special
else:  # a comparison needs neither
    np = extras.module("numpy")
    special = extras.module("scipy.special")

RESAMPLES = 9999
SAME = "identical values"
"""The method of an interval of values that are all the same."""
OF_LOGARITHMS = " of logarithms"
"""The end of an interval's `method` if it was made of logarithms."""


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

    @classmethod
    def of(cls, estimate: tuple[float, float | None, float | None, str], n: int, confidence: float) -> Interval:
        """Return an interval from what the core says of `n` values: estimate, both ends and method."""
        value, low, high, method = estimate
        return cls(value, low, high, n, confidence, method)

    @property
    def exact(self) -> bool:
        """Whether every value was the same, as in a scenario in which nothing is random."""
        return self.method == SAME

    def at(self, confidence: float) -> Interval:
        """Return the interval of the same values with another confidence.

        Student's t and Clopper and Pearson's intervals are made anew. Any other is stretched by the quantiles of the
        normal distribution, which is exact for large samples. An exact interval, or none, stays as it is.
        """
        if self.exact or self.low is None or self.high is None:
            return self
        before, after = (1 - self.confidence) / 2, (1 - confidence) / 2
        if self.method == "Clopper and Pearson":
            low, high = clopper_pearson(self.value, self.n, after)
        else:
            by = self._quantile(1 - after) / self._quantile(1 - before)
            low, high = self._stretched(self.low, by), self._stretched(self.high, by)
        return replace(self, low=low, high=high, confidence=confidence)

    def _quantile(self, probability: float) -> float:
        if self.method.startswith("Student's t"):
            return float(special.stdtrit(self.n - 1, probability))
        return float(special.ndtri(probability))

    def _stretched(self, end: float, by: float) -> float:
        """An end moved away from the value by this factor, on the scale on which the interval was made."""
        if self.method.endswith(OF_LOGARITHMS):
            return float(self.value * (end / self.value) ** by)
        return self.value + by * (end - self.value)


def together(count: int, confidence: float = 0.95) -> float:
    """Return the confidence of each of so many intervals that makes all of them hold together with `confidence`.

    Maps and the sentences that count their cells share this rule: a cell stands out where this interval leaves out
    equality.

    Source: Z. Šidák, "Rectangular Confidence Regions for the Means of Multivariate Normal Distributions", JASA 62(318),
    1967.
    """
    return float(confidence ** (1 / max(1, count)))


def from_logarithms(found: Interval) -> Interval:
    """Return an interval of logarithms as one of what they are the logarithms of."""
    low, high = (None if end is None else math.exp(end) for end in (found.low, found.high))
    method = found.method if found.exact else found.method + OF_LOGARITHMS
    return replace(found, value=math.exp(found.value), low=low, high=high, method=method)


def clopper_pearson(share: float, n: int, tail: float) -> tuple[float, float]:
    """Return the ends of the interval of a share found in `n` trials that leaves out `tail` on each side.

    Source: C. J. Clopper, E. S. Pearson, "The Use of Confidence or Fiducial Limits", Biometrika 26, 1934.
    """
    yes = share * n
    low = float(special.betaincinv(yes, n - yes + 1, tail)) if yes > 0 else 0.0
    high = float(special.betaincinv(yes + 1, n - yes, 1 - tail)) if yes < n else 1.0
    return low, high


def checked(values: Sequence[float] | npt.ArrayLike) -> list[float]:
    """Return values as a list; raise `ValueError` if there are none or some are not finite."""
    given: Any = values
    given = given.tolist() if hasattr(given, "tolist") else given
    try:
        listed = [float(value) for value in given]
    except (TypeError, ValueError):
        listed = []
    if not listed or not all(map(math.isfinite, listed)):
        raise ValueError(f"an interval needs a non-empty list of finite numbers, got {given}")
    return listed


def _simple(array: npt.NDArray[np.float64], value: float, confidence: float) -> Interval | None:
    if array.size >= 2 and (array == array[0]).all():
        same = float(array[0])
        return Interval(same, same, same, array.size, confidence, SAME)
    if array.size < 3:
        return Interval(value, None, None, array.size, confidence, "too few values")
    return None


def mean(values: Sequence[float] | npt.ArrayLike, confidence: float = 0.95) -> Interval:
    """Return the mean with Student's t interval; raise `ValueError` if there are no values or some are not finite."""
    listed = checked(values)
    return Interval.of(_core.mean(listed, confidence), len(listed), confidence)


def mean_of_amounts(
    values: Sequence[float] | npt.ArrayLike, ceiling: float | None = None, confidence: float = 0.95
) -> Interval:
    """Return the mean of values that cannot be negative, with an interval that holds no impossible value.

    Above 0 the interval is that of the mean's logarithm, whose standard error is the mean's relative one (the delta
    method): of 95.9 with a half width of 220.2 it is 9.7 to 953. With a ceiling, or where a value is 0, it is
    Student's, cut off at 0 and at the ceiling.

    Raises:
        ValueError: as `mean` does.
    """
    found = mean(values, confidence)
    if found.exact or found.low is None or found.high is None:
        return found
    if ceiling is None and min(checked(values)) > 0:
        by = math.exp((found.high - found.value) / found.value)
        return replace(found, low=found.value / by, high=found.value * by, method=found.method + OF_LOGARITHMS)
    return replace(found, low=max(found.low, 0.0), high=found.high if ceiling is None else min(found.high, ceiling))


def median(values: Sequence[float] | npt.ArrayLike, confidence: float = 0.95, seed: int = 0) -> Interval:
    """Return the median with a bootstrap interval: bias-corrected and accelerated (BCa) if defined, else percentile.

    The resampling is seeded, so that the same values always give the same interval.

    Raises:
        ValueError: if there are no values or some are not finite.

    Source: B. Efron, "Better Bootstrap Confidence Intervals", JASA 82(397), 1987.
    """
    array = np.asarray(checked(values))
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
