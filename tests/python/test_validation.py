"""The model against the kernel's measurements: bounds that the shipped sample must keep."""

from __future__ import annotations

import pytest

import cases
from cases import Case, Sample


@pytest.fixture(scope="module")
def simulated() -> list[tuple[Case, Sample]]:
    """Every case of the kernel's with the same downloads in the simulator: 200 of each that has losses."""
    measured = cases.cases()
    return list(zip(measured, cases.simulate(measured, replications=200), strict=True))


def test_completion_times_stay_near_the_kernel_s(simulated: list[tuple[Case, Sample]]) -> None:
    errors = [(case.lossy, abs(cases.error(case, sample))) for case, sample in simulated]
    free = [error for lossy, error in errors if not lossy]
    lossy = [error for lossy, error in errors if lossy]
    assert (len(free), len(lossy)) == (12, 15)
    assert cases.quantile(free, 0.5) <= 0.005
    assert cases.quantile(free, 0.9) <= 0.02
    assert cases.quantile(lossy, 0.5) <= 0.06
    assert cases.quantile(lossy, 0.9) <= 0.20


def test_random_losses_come_as_often_as_at_the_kernel(simulated: list[tuple[Case, Sample]]) -> None:
    """A case with fewer losses than expected would be quick for no merit of the model."""
    lossy = [(case, sample) for case, sample in simulated if case.lossy]
    ours = sum(sum(sample.random_drops) / len(sample.random_drops) for _, sample in lossy)
    theirs = sum(sum(case.measured["random_drops"]) / len(case.times) for case, _ in lossy)
    assert abs(ours / theirs - 1) < 0.05


def test_two_flows_share_as_at_the_kernel() -> None:
    shares = cases.shares(replications=4)
    assert len(shares) == 4
    for share in shares:
        assert abs(share.difference) <= 0.1, share
