"""Values of contenders of which nothing differs, for simulations of how often verdicts are wrong."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from haltere.stats import leads

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, ...]], Floats]


def _bursty(generator: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Values of which one in five is three times as large, as completion times with a timeout are."""
    values: Floats = np.log(3.0) * (generator.random(shape) < 0.2) + 0.1 * generator.standard_normal(shape)
    return values


SHAPES: dict[str, Draw] = {
    "normal": lambda generator, shape: 0.2 * generator.standard_normal(shape),
    "skewed": lambda generator, shape: 0.3 * generator.exponential(1.0, shape),
    "bursty": _bursty,
}


def real(values: Floats, *, picked_last: bool) -> bool:
    """Whether the best of some contenders is called really better than another, or than the worst alone."""
    means = values.mean(axis=1)
    first, last = int(means.argmin()), int(means.argmax())
    found = leads(values.tolist(), first)
    return any(lead.ahead and (lead.other == last or not picked_last) for lead in found)
