"""What claims about two periods of measured paths are made of: numbers as evidence reads, and the rule by intervals."""

from __future__ import annotations

import math

from haltere.claims import Evidence, Outcome, remark
from haltere.metrics.text import decimals, fixed, significant
from haltere.paths.periods import Effect
from haltere.stats import Interval


def text(found: Interval, places: int, unit: str = "", scale: float = 1.0, *, signed: bool = False) -> str:
    """An interval as evidence reads: `168 ms [160, 177]`."""

    def one(value: float) -> str:
        shown = fixed(scale * value, places)
        return f"+{shown}" if signed and value > 0 and shown.strip("0.,") else shown

    value = f"{one(found.value)}{' ' + unit if unit else ''}"
    if found.low is None or found.high is None:
        return f"{value} (no interval)"
    return f"{value} (exact)" if found.exact else f"{value} [{one(found.low)}, {one(found.high)}]"


def delay_unit(*values_us: float) -> tuple[str, float]:
    """Return the unit in which delays given in µs are shown, and how much of it a microsecond is: µs, ms or s.

    The largest of them decides, so that those that are shown together have the same unit.
    """
    largest = max((abs(value) for value in values_us if math.isfinite(value)), default=0.0)
    return ("µs", 1.0) if largest < 1000 else ("ms", 1e-3) if largest < 10_000_000 else ("s", 1e-6)


def duration(found: Interval) -> str:
    """A delay in µs as evidence reads: with three digits, in the unit that fits its size."""
    unit, scale = delay_unit(found.value)
    return text(found, decimals(scale * found.value), unit, scale)


def delay_text(delay_us: float) -> str:
    """A delay given in µs as a reader sees it: with three digits, in the unit that fits its size."""
    unit, scale = delay_unit(delay_us)
    return f"{significant(scale * delay_us)} {unit}"


def within(what: str, found: Interval, low: float, high: float, numbers: str) -> Evidence:
    """The part "this number lies between": by the whole interval; without one, undecided."""

    def rule(found: Interval) -> Outcome:
        if found.low is None or found.high is None:
            return Outcome.UNDECIDED
        if low <= found.low and found.high <= high:
            return Outcome.CONFIRMED
        return Outcome.CONTRADICTED if found.high < low or found.low > high else Outcome.UNDECIDED

    return Evidence(what, numbers, rule(found), found, rule)


def further(what: str, effect: Effect) -> list[Evidence]:
    """Remarks: the change over the monitors of both periods, and with the monitors' mix made equal, where known."""
    signed = effect.measure.compared == "difference"
    said = {"monitors of both periods": effect.paired, "monitors' mix made equal": effect.reweighted}
    return [remark(f"{what}, {how}", text(found, 2, signed=signed)) for how, found in said.items() if found is not None]
