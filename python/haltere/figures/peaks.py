"""Where a panel of rates may end: short peaks that would flatten all else are cut."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_SHARE, _TIMES, _ROOM = 0.02, 2.0, 1.1


def end_without_peaks(series: Sequence[Mapping[str, Any]], divisor: float) -> float | None:
    """Return the value at which the panel of these series ends, in units of `divisor`; None if nothing is cut.

    A first pacing rate, of a window over a guessed round-trip time, is up to a hundred times what follows: if it is
    more than twice all that follows, the panel ends just above that. Besides, a peak is what stands above twice the
    rest for less than 2 % of the time.
    """
    end = max((one["t_s"][-1] for one in series), default=0.0)
    known = [one for one in (_held(one, divisor, end) for one in series) if len(one[1])]
    changing = [(times, values) for times, values in known if len(values) > 1]
    later = [values[1:].max() if len(values) > 1 else values[0] for _, values in known]
    first = max((float(values[0]) for _, values in changing), default=0.0)
    highest = float(max(later, default=0.0))
    if 0 < _TIMES * highest < first:
        known = [(times[1:], values[1:]) for times, values in changing]
    else:
        highest = max(highest, first)
    usual = _usual(known)
    if 0 < _TIMES * usual < highest:
        return _TIMES * usual
    return _ROOM * highest if 0 < _TIMES * highest < first else None


def _held(one: Mapping[str, Any], divisor: float, end: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How long each known value was held, the last until `end`, and the values."""
    times = np.asarray(one["t_s"], dtype=np.float64)
    values = np.asarray([np.nan if v is None else v for v in one["v"]], dtype=np.float64) / divisor
    known = np.isfinite(values)
    held = np.diff(times, append=end)
    return held[known], values[known]


def _usual(known: Sequence[tuple[NDArray[np.float64], NDArray[np.float64]]]) -> float:
    """The value that is not exceeded but for 2 % of the time; 0 if nothing is known."""
    if not known:
        return 0.0
    weight, value = (np.concatenate([one[at] for one in known]) for at in (0, 1))
    if not weight.sum():
        return 0.0
    order = np.argsort(value)
    share = np.cumsum(weight[order]) / weight.sum()
    return float(value[order][min(int(np.searchsorted(share, 1 - _SHARE)), len(order) - 1)])
