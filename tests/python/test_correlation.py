"""Spearman's coefficient: equal to scipy's, also of tables of counts, and its intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from haltere.stats import spearman


def pairs(n: int, correlation: float, seed: int, ties: int = 0) -> tuple[np.ndarray, np.ndarray]:
    x, y = np.random.default_rng(seed).multivariate_normal([0, 0], [[1, correlation], [correlation, 1]], n).T
    return (np.floor(x * ties), np.floor(y * ties)) if ties else (x, np.exp(y))


@pytest.mark.parametrize("ties", [0, 1, 5])
@pytest.mark.parametrize("correlation", [-0.9, 0.0, 0.4, 0.8])
def test_it_is_scipys(correlation: float, ties: int) -> None:
    x, y = pairs(300, correlation, 3, ties)
    assert spearman(x, y).value == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)


def test_a_table_of_counts_is_the_rows_written_out() -> None:
    rng = np.random.default_rng(5)
    x, y, counts = rng.integers(0, 9, 60), rng.integers(0, 9, 60), rng.integers(0, 30, 60)
    written_out = spearman(np.repeat(x, counts), np.repeat(y, counts))
    table = spearman(x, y, counts=counts)
    assert table.value == pytest.approx(
        stats.spearmanr(np.repeat(x, counts), np.repeat(y, counts)).statistic, abs=1e-12
    )
    assert (table.n, table.low, table.high) == (
        counts.sum(),
        pytest.approx(written_out.low),
        pytest.approx(written_out.high),
    )
    groups = rng.integers(0, 12, 60)
    by_groups = spearman(x, y, counts=counts, groups=groups)
    expanded = spearman(np.repeat(x, counts), np.repeat(y, counts), groups=np.repeat(groups, counts))
    assert (by_groups.low, by_groups.high) == (pytest.approx(expanded.low), pytest.approx(expanded.high))


def test_the_interval_of_independent_rows_is_bonett_and_wrights() -> None:
    x, y = pairs(50, 0.7, 1)
    found = spearman(x, y)
    half = 1.959964 * math.sqrt((1 + found.value**2 / 2) / 47)
    assert found.low == pytest.approx(math.tanh(math.atanh(found.value) - half), abs=1e-6)
    assert found.high == pytest.approx(math.tanh(math.atanh(found.value) + half), abs=1e-6)
    assert found.n == 50
    wider = spearman(x, y, confidence=0.99)
    assert wider.low < found.low < found.high < wider.high  # type: ignore[operator]


def ranked_anew(x: np.ndarray, y: np.ndarray, groups: np.ndarray, resamples: int) -> tuple[float, float]:
    """The interval by the plain bootstrap of groups: each resample written out and ranked."""
    rng = np.random.default_rng(11)
    members = [np.flatnonzero(groups == g) for g in np.unique(groups)]
    found = []
    for _ in range(resamples):
        rows = np.concatenate([members[g] for g in rng.integers(0, len(members), len(members))])
        found.append(stats.spearmanr(x[rows], y[rows]).statistic)
    low, high = np.quantile(found, (0.025, 0.975))
    return float(low), float(high)


@pytest.mark.parametrize(("correlation", "ties"), [(0.0, 0), (0.5, 2), (0.8, 0), (-0.9, 3)])
def test_the_interval_by_groups_is_the_plain_bootstraps(correlation: float, ties: int) -> None:
    # 150 groups of 1 to 7 rows that share a part of both values.
    rng = np.random.default_rng(2)
    groups = np.repeat(np.arange(150), rng.integers(1, 8, 150))
    (x, y), (u, v) = pairs(150, correlation, 8), pairs(groups.size, correlation, 9)
    x, y = x[groups] + 0.5 * u, np.log(y)[groups] + 0.5 * np.log(v)
    if ties:
        x, y = np.floor(x * ties), np.floor(y * ties)
    found = spearman(x, y, groups=groups)
    low, high = ranked_anew(x, y, groups, 600)
    width = high - low
    # Two bootstraps of this size differ by some per cent of their width.
    assert found.low == pytest.approx(low, abs=0.15 * width)
    assert found.high == pytest.approx(high, abs=0.15 * width)
    naive = spearman(x, y)
    assert found.high - found.low > 1.3 * (naive.high - naive.low), "rows of a group are not independent"  # type: ignore[operator]


def test_groups_of_one_row_are_independent_rows() -> None:
    x, y = pairs(2000, 0.6, 4)
    one, other = spearman(x, y), spearman(x, y, groups=np.arange(2000))
    assert other.value == one.value
    width = one.high - one.low  # type: ignore[operator]
    assert other.low == pytest.approx(one.low, abs=0.12 * width)
    assert other.high == pytest.approx(one.high, abs=0.12 * width)


def test_the_interval_covers_the_truth_as_often_as_it_says() -> None:
    # Of a bivariate normal distribution the coefficient is 6/pi asin(r/2) (Pearson 1907). Groups are of equal rows.
    truth = 6 / math.pi * math.asin(0.6 / 2)
    hits = 0
    for seed in range(200):
        x, y = (np.repeat(v, 5) for v in pairs(40, 0.6, seed))
        found = spearman(x, y, groups=np.repeat(np.arange(40), 5), seed=seed)
        hits += found.low <= truth <= found.high  # type: ignore[operator]
    # Percentile intervals of 40 groups are a little narrow; 95 % of 200 are 190, with a standard deviation of 3.
    assert hits >= 178


def test_the_order_of_rows_and_names_of_groups_mean_nothing() -> None:
    x, y = pairs(400, 0.3, 6)
    groups = np.arange(400) // 4
    found, turned = spearman(x, y, groups=groups), spearman(x[::-1], y[::-1], groups=groups[::-1] * 10 + 3)
    assert turned.value == pytest.approx(found.value, abs=1e-12)
    assert (turned.low, turned.high) == (pytest.approx(found.low), pytest.approx(found.high))
    assert spearman(x, y, groups=groups) == found
    assert spearman(x, y, groups=groups, seed=1).low != found.low


def test_what_has_no_interval() -> None:
    assert math.isnan(spearman([1, 1, 1, 1], [1, 2, 3, 4]).value)
    for found in (
        spearman([1, 1, 1, 1], [1, 2, 3, 4]),
        spearman([1, 2, 3, 4, 5], [2, 4, 6, 8, 9]),
        spearman([1, 2, 3], [1, 3, 2]),
        spearman([1, 2, 3, 4, 5], [1, 3, 2, 5, 4], groups=[0, 0, 1, 1, 1]),
    ):
        assert (found.low, found.high) == (None, None)
    assert spearman([1, 2, 3, 4, 5], [9, 4, 2, 1, 0]).value == -1


@pytest.mark.parametrize(
    ("x", "y", "more", "told"),
    [
        ([1, 2], [1], {}, "same length"),
        ([1, math.nan], [1, 2], {}, "finite"),
        ([], [], {}, "needs rows"),
        ([1, 2], [1, 2], {"counts": [1, -1]}, "not negative"),
        ([1, 2], [1, 2], {"counts": [0, 0]}, "needs rows"),
        ([1, 2, 3, 4], [1, 3, 2, 4], {"groups": [1, 2, 3]}, "a group for each row"),
    ],
)
def test_what_cannot_be_correlated_is_refused(
    x: list[float], y: list[float], more: dict[str, list[int]], told: str
) -> None:
    with pytest.raises(ValueError, match=told):
        spearman(x, y, **more)  # type: ignore[arg-type]


def test_the_influence_of_a_row_is_the_slope_of_the_coefficients_moments() -> None:
    from haltere.stats.correlation import _Rows

    rng = np.random.default_rng(3)
    x, y, counts = rng.integers(0, 5, 20), rng.integers(0, 5, 20), rng.integers(1, 4, 20).astype(float)
    rows = _Rows.checked(x, y, counts)
    step = 1e-6
    for row in (0, 7, 19):
        more = counts.copy()
        more[row] += step * counts.sum()
        for (value, influence), (other, _) in zip(
            rows.influences(), _Rows.checked(x, y, more).influences(), strict=True
        ):
            assert (other - value) / step == pytest.approx(influence[row], abs=1e-4)
