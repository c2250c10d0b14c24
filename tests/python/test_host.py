"""The door to real transfers and taps; what is behind it is tested in Rust (`crates/host`)."""

from __future__ import annotations

import json
import sys

import pytest

from haltere import _core

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="real hosts are Linux only")


def test_the_kernel_tells_its_congestion_controls() -> None:
    assert "reno" in _core.congestion_controls()


@pytest.mark.parametrize(
    ("spec", "path", "remedy"),
    [
        ({"flows": [], "time_limit_ns": -1}, "time_limit_ns", "expected u64"),
        ({"flows": [], "time_limit_ns": 1, "sample_ns": 0}, "sample_ns", "give a number above 0"),
        ({"flows": [], "time_limit_ns": 1, "epoch_ns": 1}, "epoch_ns", "give a later one"),
    ],
)
def test_a_wrong_specification_is_refused_with_its_place(spec: dict[str, object], path: str, remedy: str) -> None:
    with pytest.raises(_core.RigError) as refusal:
        _core.transfers(json.dumps(spec))
    message, place = refusal.value.args
    assert place == path
    assert remedy in message


def test_a_capture_must_be_started_before_it_is_stopped() -> None:
    capture = _core.Capture('{"taps": []}')
    with pytest.raises(_core.RigError, match="start it first"):
        capture.stop()
    capture.start()
    with pytest.raises(_core.RigError, match="runs already"):
        capture.start()
    assert json.loads(capture.stop())["records"] == 0
