"""The capture of bufferbloat's background traffic has the published figures of the network that it stands for."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

FOLDER = Path("studies/bufferbloat")
SECONDS = 600


@pytest.fixture(scope="module")
def background() -> ModuleType:
    spec = importlib.util.spec_from_file_location("background", FOLDER / "background.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["background"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["D0", "D3", "D4"])
def test_rate_length_and_udp_are_the_published_ones(background: ModuleType, name: str) -> None:
    dataset = background.DATASETS[name]
    rows = background.packets(dataset, SECONDS, 1)
    lengths = np.array([row[1] for row in rows])
    assert len(rows) / SECONDS == pytest.approx(dataset.packets_per_second, rel=0.1)
    assert lengths.mean() == pytest.approx(dataset.mean_length, rel=0.02)
    udp = lengths[[row[2] == background.UDP for row in rows]].sum()
    assert udp / lengths.sum() == pytest.approx(dataset.udp, abs=0.06)


def test_the_traffic_is_self_similar(background: ModuleType) -> None:
    """The variance of rates falls as m^(2H - 2) over blocks of m; independent packets have H = 0.5."""
    rows = background.packets(background.DATASETS["D3"], SECONDS, 1)
    counts, _ = np.histogram([row[0] for row in rows], bins=SECONDS * 10, range=(0, SECONDS))
    blocks = np.array([1, 2, 5, 10, 20, 50, 100])
    variances = [counts[: len(counts) // m * m].reshape(-1, m).mean(axis=1).var() for m in blocks]
    slope = np.polyfit(np.log(blocks), np.log(variances), 1)[0]
    assert 0.65 < 1 + slope / 2 < 0.95


def test_the_shipped_capture_is_what_the_program_writes(background: ModuleType) -> None:
    rows = background.packets(background.DATASETS["D3"], 20, 1)
    assert (FOLDER / "background.pcap").read_bytes() == background.capture(rows)
