"""Statistics against values known from elsewhere, and properties that must always hold."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special
from scipy import stats as scipy_stats

from haltere import _core
from haltere.metrics import METRICS
from haltere.metrics.plain import number
from haltere.metrics.tables import from_scale
from haltere.stats import Interval, aggregation_benefit, harm, holm, jain, mean, median, paired
from haltere.stats.intervals import _bca_tails, clopper_pearson

positive = st.floats(1e-3, 1e9)


def test_jain_is_one_when_all_get_the_same_and_1_over_n_when_one_gets_all() -> None:
    assert jain([5.0, 5.0, 5.0]) == 1
    assert jain([7.0, 0.0, 0.0, 0.0]) == 0.25
    assert jain([1.0, 3.0]) == pytest.approx(16 / 20)
    assert math.isnan(jain([0.0, 0.0]))
    for bad in ([], [1.0, -1.0], [math.nan]):
        with pytest.raises(ValueError, match="Jain"):
            jain(bad)


@given(st.lists(positive, min_size=1, max_size=20), st.floats(1e-6, 1e6))
def test_jain_lies_between_1_over_n_and_1_and_knows_no_scale(rates: list[float], scale: float) -> None:
    index = jain(rates)
    assert 1 / len(rates) <= index * (1 + 1e-12)
    assert index <= 1 + 1e-12
    assert jain([rate * scale for rate in rates]) == pytest.approx(index)


def test_harm_is_the_share_of_what_somebody_has_alone() -> None:
    # Goodput: 10 Mbit/s alone, 4 beside; completion time: 5 s alone, 20 beside.
    assert harm(10.0, 4.0, "higher") == pytest.approx(0.6)
    assert harm(5.0, 20.0, "lower") == pytest.approx(0.75)
    for better in ("higher", "lower"):
        assert harm(3.0, 3.0, better) == 0
        assert harm(0.0, 0.0, better) == 0
    assert harm(10.0, 0.0, "higher") == 1 and harm(0.0, 1.0, "lower") == 1
    assert harm(10.0, 12.0, "higher") == pytest.approx(-0.2), "who helps does negative harm"
    for bad in (-1.0, math.inf, math.nan):
        with pytest.raises(ValueError, match="harm"):
            harm(1.0, bad, "higher")


def test_mean_has_student_s_interval() -> None:
    # Moore & McCabe's worked example: vitamin C content of 8 samples of corn-soy blend (mg/100 g), 16.5 to 28.5.
    interval = mean([26, 31, 23, 22, 11, 22, 14, 31])
    assert interval.value == 22.5
    assert interval.low == pytest.approx(16.5, abs=0.05)
    assert interval.high == pytest.approx(28.5, abs=0.05)
    assert (interval.n, interval.confidence, interval.method) == (8, 0.95, "Student's t")


@pytest.mark.parametrize(("yes", "n"), [(0, 10), (1, 10), (7, 10), (10, 10), (54, 108)])
def test_shares_have_the_exact_interval_of_scipy(yes: int, n: int) -> None:
    theirs = scipy_stats.binomtest(yes, n).proportion_ci(confidence_level=0.95, method="exact")
    assert clopper_pearson(yes / n, n, 0.025) == pytest.approx((theirs.low, theirs.high))


def test_the_tails_of_a_bootstrap_are_moved_as_efron_s_equation_says() -> None:
    """Equation 6.8 of Efron (1987), by hand: a bias of 0.5 and values of the jackknife that lie to one side."""
    resampled = np.array([1.0] * 60 + [2.0] * 19 + [3.0] * 21)
    jackknife = np.array([0.0, 0.0, 0.0, 4.0])
    spread = [1.0, 1.0, 1.0, -3.0]
    acceleration = sum(one**3 for one in spread) / (6 * sum(one**2 for one in spread) ** 1.5)
    bias = scipy_stats.norm.ppf((60 + 79) / 200)
    wanted = [
        scipy_stats.norm.cdf(bias + (bias + z) / (1 - acceleration * (bias + z)))
        for z in scipy_stats.norm.ppf([0.025, 0.975])
    ]
    assert _bca_tails(resampled, jackknife, 2.0, 0.95) == pytest.approx(tuple(wanted))
    for outside in (0.5, 4.0):  # all resamples lie on one side
        assert _bca_tails(resampled, jackknife, outside, 0.95) is None
    assert _bca_tails(resampled, np.full(4, 1.0), 2.0, 0.95) is None


def test_jain_s_index_of_rates_whose_squares_overflow() -> None:
    assert jain([1e200, 1e200, 0.0]) == pytest.approx(2 / 3)


def test_the_benefit_of_paths_below_one_in_their_unit() -> None:
    assert aggregation_benefit(0.75, [0.5, 0.5]) == pytest.approx(0.5)


def test_median_agrees_with_scipy_s_bca_bootstrap() -> None:
    values = np.random.default_rng(3).lognormal(0, 1, 41)
    ours = median(values)
    theirs = scipy_stats.bootstrap(
        (values,), np.median, method="BCa", n_resamples=9999, rng=np.random.default_rng(1)
    ).confidence_interval
    assert ours.method == "BCa bootstrap"
    assert ours.low == pytest.approx(theirs.low, rel=0.1)
    assert ours.high == pytest.approx(theirs.high, rel=0.1)


def test_the_median_s_interval_covers_the_median_about_as_often_as_it_says() -> None:
    generator = np.random.default_rng(11)
    intervals = [median(generator.exponential(1.0, 20)) for _ in range(300)]
    covered = sum((i.low or 0) <= math.log(2) <= (i.high or 0) for i in intervals) / len(intervals)
    assert 0.90 <= covered <= 0.99


def test_identical_values_are_a_fact_and_too_few_have_no_interval() -> None:
    for estimate in (mean, median):
        assert (estimate([2.0, 2.0]).low, estimate([2.0, 2.0]).exact) == (2.0, True)
        assert (estimate([2.0]).low, estimate([2.0, 3.0]).high, estimate([2.0]).exact) == (None, None, False)
        for bad in ([], [math.nan], [math.inf, 1.0]):
            with pytest.raises(ValueError, match="finite"):
                estimate(bad)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=15))
def test_intervals_are_deterministic_and_hold_their_estimate(values: list[float]) -> None:
    for estimate in (mean, median):
        interval = estimate(values)
        assert interval == estimate(values)
        assert interval.low is not None
        assert interval.high is not None
        assert interval.low <= interval.value + 1e-6
        assert interval.high >= interval.value - 1e-6


def test_a_clear_difference_is_real_and_noise_is_not() -> None:
    generator = np.random.default_rng(5)
    noise = generator.lognormal(0, 0.5, 10)
    slower = noise * generator.lognormal(math.log(1.3), 0.02, 10)
    clear = paired(slower, noise)
    assert clear.real is True
    assert clear.ratio.value == pytest.approx(1.3, rel=0.03)
    assert clear.ratio.low is not None
    assert clear.ratio.low > 1.2
    assert clear.p == pytest.approx(2 / 2**10), "all 10 signs agree: two of the 1024 ways are as extreme"
    assert paired(noise, generator.permutation(noise)).real is False
    assert clear == paired(slower, noise)


def test_pairing_finds_what_unpaired_data_hide() -> None:
    generator = np.random.default_rng(8)
    common = generator.lognormal(0, 1, 12)
    assert paired(common * 1.02, common).real is True
    assert scipy_stats.ttest_ind(common * 1.02, common).pvalue > 0.5


def test_identical_replications_need_no_test_and_few_cannot_tell() -> None:
    exact = paired([2.0, 2.0, 2.0], [1.0, 1.0, 1.0])
    assert (exact.exact, exact.real, exact.p, exact.ratio.low) == (True, True, None, 2.0)
    assert paired([1.0, 1.0], [1.0, 1.0]).real is False
    assert paired([2.0], [1.0]).real is None
    assert paired([2.0, 2.1, 2.2], [1.0, 1.1, 1.2]).real is None
    same_pairs = paired([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    assert (same_pairs.real, same_pairs.p) == (False, 1.0)


def test_pairs_that_cannot_be_compared_are_refused() -> None:
    for a, b in (([1.0], [1.0, 2.0]), ([], []), ([1.0], [0.0]), ([1.0], [math.nan])):
        with pytest.raises(ValueError, match="paired comparison needs"):
            paired(a, b)


def test_holm_adjusts_as_in_the_textbook() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([None, 0.5, 0.9]) == [None, 1.0, 1.0]


@pytest.mark.parametrize(
    ("goodput", "single", "benefit"),
    [
        (25.0, [20.0, 5.0], 1.0),
        (20.0, [20.0, 5.0], 0.0),
        (0.0, [20.0, 5.0], -1.0),
        (22.0, [5.0, 20.0], 0.4),
        (15.0, [20.0, 5.0], -0.25),
        (30.0, [20.0, 5.0], 2.0),
        (16.0, [8.0, 10.0, 2.0], 0.6),
    ],
)
def test_aggregation_is_1_for_the_sum_of_all_paths_and_0_for_the_best(
    goodput: float, single: list[float], benefit: float
) -> None:
    assert aggregation_benefit(goodput, single) == pytest.approx(benefit)
    assert aggregation_benefit(1000 * goodput, [1000 * one for one in single]) == pytest.approx(benefit)


@pytest.mark.parametrize(
    ("goodput", "single"), [(1.0, [1.0]), (1.0, [0.0, 1.0]), (-1.0, [1.0, 1.0]), (math.nan, [1.0, 1.0])]
)
def test_aggregation_needs_two_paths_that_give_something(goodput: float, single: list[float]) -> None:
    with pytest.raises(ValueError, match="aggregation benefit"):
        aggregation_benefit(goodput, single)


def test_an_interval_at_a_higher_confidence_is_that_of_the_same_values() -> None:
    values = [1.0, 1.4, 0.8, 1.9, 1.2]
    found, wide = mean(values).at(0.99), mean(values, 0.99)
    assert (found.low, found.high, found.confidence) == (pytest.approx(wide.low), pytest.approx(wide.high), 0.99)
    metric = METRICS["completion_time"]
    ratio, wider = (from_scale(mean(np.log(values), c), metric) for c in (0.95, 0.99))
    assert (ratio.at(0.99).low, ratio.at(0.99).high) == pytest.approx((wider.low, wider.high))
    assert mean([2.0, 2.0]).at(0.99) == mean([2.0, 2.0])
    share = Interval(0.2, *clopper_pearson(0.2, 10, 0.025), 10, 0.95, "Clopper and Pearson")
    assert (share.at(0.99).low, share.at(0.99).high) == pytest.approx(clopper_pearson(0.2, 10, 0.005))
    assert Interval(1.0, 0.0, 2.0, 9, 0.95, "BCa bootstrap").at(0.99).high == pytest.approx(1 + 2.5758 / 1.96, abs=1e-4)


@pytest.mark.parametrize("freedom", [1, 2, 3, 7, 12, 33, 80, 500])
def test_student_s_distribution_is_scipy_s(freedom: int) -> None:
    """Also far out, where p-values are small, and near 0."""
    for t in -np.logspace(-6, 2, 60):
        theirs = float(special.stdtr(freedom, t))
        assert _core.student_below(freedom, t) == pytest.approx(theirs, rel=1e-10)
        assert _core.student_below(freedom, -t) == pytest.approx(1 - theirs, rel=1e-10)
    for probability in [*np.linspace(0.51, 0.999, 40), 1 - 1e-6]:
        theirs = float(special.stdtrit(freedom, probability))
        assert _core.student_quantile(freedom, probability) == pytest.approx(theirs, rel=1e-10)


def test_a_mean_is_numpy_s_to_the_last_digit() -> None:
    generator = np.random.default_rng(5)
    for n in (2, 7, 8, 9, 31, 128, 129, 1000):
        row = np.round(generator.normal(1.0, 1.0, n), 1)
        assert mean(row).value == float(row.mean())


def test_numbers_are_written_as_python_writes_them() -> None:
    """Halves, powers of ten and thousands too."""
    generator = np.random.default_rng(6)
    values = [*(10.0 ** generator.uniform(-9, 9, 500)), *(10.0**power for power in range(-12, 16))]
    for value in [*values, 0.125, 2.5, 0.00099995, 9999.5, 12345.5, 999999.5]:
        for digits in (2, 3, 4):
            decimals = max(0, digits - 1 - math.floor(math.log10(value)))
            whole = value == round(value) and value < 10**digits
            expected = f"{value:.0f}" if whole else f"{value:,.{decimals}f}".replace(",", "\u202f")
            assert number(value, digits) == expected
            assert number(-value, digits) == f"-{expected}"
    assert [number(value) for value in (0.0, math.inf, math.nan)] == ["0", "inf", "nan"]
