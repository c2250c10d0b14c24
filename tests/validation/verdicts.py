"""Measures how often verdicts call chance a difference, and how often they find a true one: `verdicts.py [CASES]`.

Draws paired values of contenders of which nothing differs, or one by a known amount, and prints the tables of
`docs/explanation/statistics.md`. `tests/python/test_false_alarms.py` bounds the same rates with fewer cases.
"""

from __future__ import annotations

import sys

import numpy as np
from scipy import stats as scipy_stats

from draws import SHAPES, Floats, real
from haltere.claims import Outcome, ahead
from haltere.claims.comparison import Comparison
from haltere.metrics import METRICS
from haltere.stats import mean, p_of_shift

SIGNS = 1 - 2 * ((np.arange(1024)[:, None] >> np.arange(10)) & 1)
"""All ways to give ten values signs."""


def row(*cells: str) -> None:
    """Write a row of a Markdown table."""
    sys.stdout.write(f"| {' | '.join(cells)} |\n")
    sys.stdout.flush()


def differences(shape: str, generator: np.random.Generator, count: int, n: int) -> Floats:
    """Differences of the logarithms of two equal contenders, a row a case; heavy ones are Student's with 3 degrees."""
    if shape == "heavy":
        heavy: Floats = 0.3 * generator.standard_t(3, (count, n))
        return heavy
    first, second = SHAPES[shape](generator, (2, count, n))
    difference: Floats = first - second
    return difference


def student_and_flips(values: Floats) -> bool:
    """Whether Student's interval of the mean leaves out 0 and its sign-flip test is significant."""
    flips = np.abs(SIGNS @ values)
    found = mean(values)
    assert found.low is not None
    assert found.high is not None
    return bool((flips >= abs(values.sum()) - 1e-9).mean() <= 0.05 and (found.low > 0 or found.high < 0))


def alarms_of_pairs(cases: int) -> None:
    """Two equal contenders: p of at most 5 %, which is an interval that leaves out equality."""
    sizes = (6, 8, 10, 14, 20)
    row("values", *(f"{n} replications" for n in sizes))
    row("---", *["--:"] * len(sizes))
    for shape in (*SHAPES, "heavy"):
        generator = np.random.default_rng(1)
        rates = [np.mean([p_of_shift(one) <= 0.05 for one in differences(shape, generator, cases, n)]) for n in sizes]
        row(shape, *(f"{100 * rate:.1f} %" for rate in rates))


def alarms_of_rankings(cases: int) -> None:
    """The best of equal contenders: called ahead of any other."""
    sizes = ((2, 6), (2, 10), (3, 10), (6, 10), (6, 12))
    row("values", *(f"{k} × {n}" for k, n in sizes))
    row("---", *["--:"] * len(sizes))
    for shape in SHAPES:
        rates = []
        for count, n in sizes:
            generator = np.random.default_rng(2)
            drawn = SHAPES["normal"](generator, (cases, 1, n)) + SHAPES[shape](generator, (cases, count, n))
            rates.append(np.mean([real(case, picked_last=False) for case in np.exp(drawn)]))
        row(shape, *(f"{100 * rate:.1f} %" for rate in rates))


def alarms_of_claims(cases: int) -> None:
    """Two equal contenders over some treatments: `ahead` confirmed for either."""
    sizes = ((1, 5), (1, 10), (8, 5), (8, 10))
    row("values", *(f"{k} × {n}" for k, n in sizes))
    row("---", *["--:"] * len(sizes))
    for shape in SHAPES:
        rates = []
        for count, n in sizes:
            generator = np.random.default_rng(3)
            logs = SHAPES[shape](generator, (cases, count, n)) - SHAPES[shape](generator, (cases, count, n))
            logs += 0.1 * generator.standard_normal((cases, 1, n))
            names = tuple({"cell": str(number)} for number in range(count))
            rates.append(np.mean([_confirmed(names, matrix) for matrix in logs]))
        row(shape, *(f"{100 * rate:.1f} %" for rate in rates))


def _confirmed(names: tuple[dict[str, str], ...], matrix: Floats) -> bool:
    found = Comparison(METRICS["completion_time"], "a", "b", names, matrix)
    sides = (ahead("", found.pooled(), found.metric, side) for side in ("of", "to"))
    return any(one.outcome is Outcome.CONFIRMED for one in sides)


def power(cases: int) -> None:
    """A true difference at ten replications, in standard deviations of a pair's difference."""
    row("values", "difference", "trimmed mean", "Student's interval and sign flips of the mean")
    row("---", *["--:"] * 3)
    for shape in (*SHAPES, "heavy"):
        spread = float(np.std(differences(shape, np.random.default_rng(4), 100_000, 1)))
        if shape == "heavy":
            spread = 0.3 * float(scipy_stats.t(3).std())
        for shift in (0.6, 1.0):
            drawn = differences(shape, np.random.default_rng(5), cases, 10) + shift * spread
            ours = np.mean([p_of_shift(one) <= 0.05 for one in drawn])
            theirs = np.mean([student_and_flips(one) for one in drawn])
            row(shape, str(shift), f"{100 * ours:.0f} %", f"{100 * theirs:.0f} %")


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    for table in (alarms_of_pairs, alarms_of_rankings, alarms_of_claims, power):
        table(count)
        sys.stdout.write("\n")
