"""The model against the kernel's measurements: bounds that the shipped sample must keep."""

from __future__ import annotations

import cases


def test_completion_times_stay_near_the_kernel_s() -> None:
    measured = cases.cases()
    samples = cases.simulate(measured, replications=200)
    errors = [(case.lossy, abs(cases.error(case, sample))) for case, sample in zip(measured, samples, strict=True)]
    free = [error for lossy, error in errors if not lossy]
    lossy = [error for lossy, error in errors if lossy]
    assert (len(free), len(lossy)) == (12, 15)
    assert cases.quantile(free, 0.5) <= 0.005
    assert cases.quantile(free, 0.9) <= 0.02
    assert cases.quantile(lossy, 0.5) <= 0.06
    assert cases.quantile(lossy, 0.9) <= 0.20


def test_random_losses_come_as_often_as_at_the_kernel() -> None:
    """A case with fewer losses than expected would be quick for no merit of the model."""
    measured = [case for case in cases.cases() if case.lossy]
    samples = cases.simulate(measured, replications=200)
    ours = sum(sum(s.random_drops) / len(s.random_drops) for s in samples)
    theirs = sum(sum(c.measured["random_drops"]) / len(c.times) for c in measured)
    assert abs(ours / theirs - 1) < 0.05


def test_two_flows_share_as_at_the_kernel() -> None:
    shares = cases.shares(replications=4)
    assert len(shares) == 4
    for share in shares:
        assert abs(share.difference) <= 0.1, share
