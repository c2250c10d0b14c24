"""Comparisons of periods by the monitors that measured: pairs, intervals, and how often they see what is not there."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import special

from haltere.paths.periods import Evolution, Period, compare
from haltere.paths.resampling import cells, draw, effective, interval
from haltere.paths.tallies import Tallies, delay_bin
from haltere.report.evolution import as_data, data_rows, effect_row, findings

SCHEMA = {"group": pl.String, "class": pl.String, "hops": pl.UInt8, "bin": pl.UInt32, "traces": pl.UInt64}


def measured(name: str, monitors: dict[str, tuple[int, float]], *, delay_us: float = 40_000) -> Period:
    """A period of monitors, each with some number of traces and an effect on the logarithm of delays and on lengths."""
    steps = np.linspace(-1.5, 1.5, 13)
    shares = np.exp(-(steps**2) / 0.5)
    rows = [
        {
            "group": m,
            "class": "clean",
            "hops": max(1, round(14 + 6 * effect + 3 * step)),
            "us": delay_us * np.exp(effect + step),
        }
        | {"traces": max(1, round(traces * share / shares.sum()))}
        for m, (traces, effect) in monitors.items()
        for step, share in zip(steps, shares, strict=True)
    ]
    table = pl.DataFrame(rows).with_columns(delay_bin(pl.col("us").round().cast(pl.UInt32)).alias("bin"))
    cast = table.select(pl.col(name).cast(dtype) for name, dtype in SCHEMA.items())
    summed = cast.group_by("group", "class", "hops", "bin").agg(pl.col("traces").sum())
    return Period(name, Tallies(summed), ["2011-03-01"])


def population(
    rng: np.random.Generator, both: int, first: int, second: int, uneven: float
) -> tuple[dict[str, tuple[int, float]], dict[str, tuple[int, float]]]:
    """Monitors of two periods between which nothing changed but for chance: of each monitor, and of each in a
    period."""
    sizes, effects = rng.lognormal(9, uneven, both + first + second), rng.normal(0, 0.4, both + first + second)

    def period(members: list[int]) -> dict[str, tuple[int, float]]:
        return {
            f"m{i:02}": (int(sizes[i] * rng.lognormal(0, uneven / 2)) + 100, effects[i] + rng.normal(0, 0.2))
            for i in members
        }

    every = list(range(both + first + second))
    return period(every[: both + first]), period([*every[:both], *every[both + first :]])


def false_alarms(both: int, first: int, second: int, uneven: float, *, trials: int, seed: int = 1) -> dict[str, float]:
    """How often the interval of each measure leaves out "no change"."""
    rng = np.random.default_rng(seed)
    wrong: dict[str, int] = {}
    for trial in range(trials):
        one, other = population(rng, both, first, second, uneven)
        found = compare(measured("x", one), measured("y", other), seed=trial, resamples=199)
        for effect in found.effects:
            low, high = effect.change.low, effect.change.high
            assert low is not None and high is not None
            none = 1 if effect.measure.compared == "ratio" else 0
            wrong[effect.measure.name] = wrong.get(effect.measure.name, 0) + (not low <= none <= high)
    return {name: count / trials for name, count in wrong.items()}


MANY = {f"m{i:02}": (1000 + 100 * i, 0.1 * (i % 7 - 3)) for i in range(12)}


def test_a_lake_against_itself_has_changed_by_nothing() -> None:
    found = compare(measured("x", MANY), measured("x", MANY), resamples=300)
    for effect in found.effects:
        none = 1 if effect.measure.compared == "ratio" else 0
        assert effect.paired is not None and effect.reweighted is not None
        for change in (effect.change, effect.paired, effect.reweighted):
            assert (change.value, change.low, change.high) == pytest.approx((none, none, none))
        assert effect.first.low is not None and effect.first.high is not None
        assert effect.first.low < effect.first.value < effect.first.high  # what each period is alone stays unsure
    assert (found.slower.low, found.slower.high) == pytest.approx((0.5, 0.5))


def test_pairs_show_a_change_that_the_monitors_differences_hide() -> None:
    slower = {name: (n, effect + 0.05) for name, (n, effect) in MANY.items()}
    others = {name.replace("m", "n"): given for name, given in slower.items()}
    pairs = compare(measured("x", MANY), measured("y", slower), resamples=300).effect("delay_median").change
    apart = compare(measured("x", MANY), measured("y", others), resamples=300).effect("delay_median").change
    assert pairs.value == apart.value
    assert pairs.low is not None and apart.low is not None
    assert apart.low < 1 < pairs.low


def test_monitors_of_one_period_are_named_and_left_out_of_pairs() -> None:
    first = {**MANY, "old": (20_000, -1.0)}
    second = {**MANY, "new-1": (20_000, 1.0), "new-2": (20_000, 1.0)}
    one, other = measured("2006", first), measured("2011", second)
    found = compare(one, other, resamples=300)
    assert (found.monitors.first, found.monitors.second) == (("old",), ("new-1", "new-2"))
    assert found.monitors.both == tuple(sorted(MANY))
    median = found.effect("delay_median")
    assert median.paired is not None and (median.paired.value, median.paired.low) == (1, 1)
    assert median.paired.n == 12
    assert median.change.value > 1.5
    evolution = Evolution(one, other, found)
    rows = {row["label"]: row for row in data_rows(evolution)}
    assert rows["in this period alone"]["second"] == "2: new-1, new-2"
    assert rows["of them in both periods"]["first"] == "12"
    assert as_data(evolution, findings(evolution, None))["monitors"]["first"] == ["old"]
    assert effect_row(median)["paired"].startswith("× 1.00 [1.00, 1.00]")
    assert "Over the 12 monitors of both periods alone the factor of the median delay is 1.00" in " ".join(
        findings(evolution, None).answer
    )


def test_monitors_are_drawn_within_cells_of_some_size() -> None:
    eu, na = {f"e{i}": "EU" for i in range(4)}, {f"n{i}": "NA" for i in range(3)}
    found = cells(({**eu, **na, "a": "AS", "o": "OC"}, {**eu, **na, "z": "EU"}))
    assert sorted(map(tuple, found)) == [("a", "e0", "e1", "e2", "e3", "o", "z"), ("n0", "n1", "n2")]
    assert cells(({"a": ""}, {"b": ""})) == [["a", "b"]]


def test_weights_vary_as_independent_monitors_would() -> None:
    names = {f"m{i}": "" for i in range(5)}
    found = draw((names, names), 20_000, np.random.default_rng(1))
    assert (found.first[0] == 1).all() and (found.first == found.second).all()
    values = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    means = found.first[1:] @ values / 5
    assert means.mean() == pytest.approx(values.mean(), rel=0.01)
    assert means.var() == pytest.approx(values.var(ddof=1) / 5, rel=0.03)  # not by (n - 1) / n too small


def test_effective_monitors() -> None:
    assert effective(np.array([7.0, 7.0, 7.0])) == pytest.approx(3)
    assert effective(np.array([1000.0, 1.0, 1.0])) == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize(("both", "first", "second", "uneven"), [(19, 0, 0, 0.0), (6, 4, 8, 0.8), (4, 0, 0, 0.0)])
def test_false_alarms_are_as_rare_as_promised(both: int, first: int, second: int, uneven: float) -> None:
    """At a nominal 5 %, over 60 pairs of periods: more than 12 % would be seen once in 90 times.

    docs/reference/traces.md has the rates of 600 pairs each.
    """
    found = false_alarms(both, first, second, uneven, trials=60, seed=3)
    assert max(found.values()) <= 0.12, found


@pytest.mark.parametrize("resamples", [199, 1999])
def test_quantiles_of_resamples_leave_out_what_they_promise(resamples: int) -> None:
    """Another resample lies outside with the probability of both tails, however few resamples there are."""
    rng = np.random.default_rng(8)
    outside = []
    for _ in range(3000):
        found = interval(np.concatenate([[0.0], rng.normal(size=resamples)]), 19, 19.0)
        assert found.low is not None and found.high is not None
        outside.append(special.ndtr(found.low) + special.ndtr(-found.high))
    promised = 2 * special.ndtr(-special.stdtrit(18, 0.975))
    assert np.mean(outside) == pytest.approx(promised, rel=0.04)


def test_delays_are_shown_in_the_unit_that_fits() -> None:
    def row(delay_us: float) -> dict[str, str]:
        periods = [measured(name, MANY, delay_us=delay_us) for name in "xy"]
        return effect_row(compare(*periods, resamples=50).effect("delay_median"))

    assert row(300)["label"] == "Median delay, µs"
    assert float(row(300)["first"].split(" ")[0]) == pytest.approx(300, rel=0.2)
    assert row(30_000)["label"] == "Median delay, ms"
    assert row(30_000_000)["label"] == "Median delay, s"
    for delay_us in (0.4, 300, 900, 1100, 30_000, 5_000_000):
        assert not row(delay_us)["first"].startswith("0.0 "), delay_us
